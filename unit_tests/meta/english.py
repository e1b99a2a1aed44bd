#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""English that a non-native reader follows at once: english.py ROOT [--list] [FOLDER ...]

Counts, over all C++, Markdown and docstrings of Python that git tracks, what is hard to read; each count has a limit that may only shrink.
A fragment is a doc comment that begins with of, that, with, by or in, or in small letters with to, from, whose and their like, and so says neither a subject nor a noun. A long sentence has more
than 30 words; a span of code is one word. A pronoun is one that stands for a noun elsewhere: "that of", "those of", "of it", "be it". Exit status 1 where a limit is passed, or is so far above its count that it must be lowered.
--list names each place, in the folders or files that are given, or in all.
"""
import argparse
import ast
import collections
import pathlib
import re
import sys

from tracked import tracked

MOST_WORDS = 30
# At most so many in the tree. Lower the limit when you lower the count; a count below it by more than SLACK asks for that.
LIMITS = {"fragments": 20, "long sentences of comments": 29, "long sentences of pages": 27, "long sentences of docstrings": 15, "pronouns": 180}
SLACK = {"fragments": 20, "long sentences of comments": 29, "long sentences of pages": 27, "long sentences of docstrings": 15, "pronouns": 60}
SOURCES = ("*.hpp", "*.cpp", "*.h", "*.c", "*.in")

NOT_WORDS = re.compile(r"SPDX-|NOLINT|clang-format|https?://")
COMMENT = re.compile(r"^(?P<code>(?:[^\"/]|\"(?:\\.|[^\"\\])*\"|/(?!/))*?)(?P<mark>///<|///|//)(?P<text>.*)$")
LABEL = re.compile(r"^ ?(?:[A-Z][A-Za-z/]+(?:, [A-Z][a-z]+)* {2,}|[-*] |\d+\. )")
FRAGMENT = re.compile(r"^((?i:of|that|with|by|in)|to|from|or|over|whose|without|beside|along)\b")
# A clause that leads to a subject and a verb is no fragment: "In fp64, `solve` ...", "With MPI, all ranks ...".
LEADING = re.compile(r"^(With|By|In)\b[^,.;:]*, \S|^(With|By|In)\b.*\b(is|are|has|have|does|do|takes|needs|can|may|must|gives|returns)\b")
END = re.compile(r"(?<=[^.][.!?])[)\"*]*\s+|(?<=[.!?])[)\"*]*\s+(?=[A-Z`\[(*\"|])")
END_IN_LIST = re.compile(END.pattern + r"|;\s+")  # a contract, "Throws   A if ...; B if ...", is a list
PRONOUN = re.compile(r"\b(that of|those of|of it|be it)\b")
PARAMETER = re.compile(r"^ *[*\w]+(, [*\w]+)* : |^ *[A-Z]\w+\n *-+$")  # of a docstring as NumPy's are
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|cf|vs|Eq|Fig|Sec|Alg|pp|al)\.$")
WORD = re.compile(r"[A-Za-z]")


def comments(text):
    """(line, does a doc comment begin, is it of a label, text) of each paragraph of a comment.

    A comment behind code goes on in the next lines that have its mark alone. Lines that are drawn, with words more than one
    blank apart, are paragraphs of their own.
    """
    found, before, opened = [], None, False
    for number, line in enumerate(text.split("\n"), 1):
        match = COMMENT.match(line)
        if not match or NOT_WORDS.search(line):
            before = None
            continue
        begins = before != match["mark"] or bool(match["code"].strip())
        before = match["mark"]
        words = match["text"]
        label = LABEL.match(words)
        body = words[label.end():] if label else words.strip()
        is_drawn = re.search(r"\S {2,}\S", body) or words.startswith(" " * 12)
        if not body:
            opened = False
        elif opened and not begins and not label and not is_drawn:
            found[-1][3].append(body)
        else:
            found.append((number, begins and before != "//", bool(label), [body]))
            opened = not is_drawn
    return [(number, begins, labelled, " ".join(words)) for number, begins, labelled, words in found]


def with_lines(text):
    """A text of C whose comments, /* from here to there */, are those of lines, as `comments` takes them."""
    lines, is_open, mark = [], False, ""
    for line in text.split("\n"):
        opening = re.match(r"^([^\"]*?)/\*+ ?(.*)$", line)
        if not is_open and opening and "*/" in line:
            mark = "///<" if opening[1].strip() else "///"
            lines.append(f"{opening[1]}{mark} {opening[2].split('*/')[0]}")
        elif not is_open and opening:
            mark, is_open = "///<" if opening[1].strip() else "///", True
            lines.append(f"{opening[1]}{mark} {opening[2]}")
        elif is_open:
            is_open = "*/" not in line
            lines.append(f"{mark} " + re.sub(r"^\s*\* ?", "", line).split("*/")[0])
        else:
            lines.append(line)
    return "\n".join(lines)


def paragraphs(text):
    """(line, text) of each paragraph, item and cell of a Markdown page; code, headings and drawings are left out."""
    blank = lambda match: re.sub(r"[^\n]", " ", match[0])
    prose = re.sub(r"^```.*?^```|^    [^\n]*|<!--.*?-->|<[^>\n]+>|^#[^\n]*", blank, text, flags=re.M | re.S)
    found, open_ = [], False
    for number, line in enumerate(prose.split("\n"), 1):
        words = line.strip()
        item = re.match(r"([-*] |\d+\. |> ?)", words)
        if words.startswith("|"):
            found += [(number, cell.strip()) for cell in words.strip("|").split("|")]
            open_ = False
        elif not words:
            open_ = False
        elif open_ and not item:
            found[-1] = (found[-1][0], found[-1][1] + " " + words)
        else:
            found.append((number, words[item.end():] if item else words))
            open_ = True
    return found


def docstrings(text):
    """(line, text) of each paragraph of Python's docstrings; the name and type of a parameter begin one."""
    for node in ast.walk(ast.parse(text)):
        documented = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        if not documented or ast.get_docstring(node, clean=False) is None:
            continue
        first = node.body[0]
        found, open_ = [], False
        for number, line in enumerate(ast.get_docstring(node, clean=False).split("\n"), first.lineno):
            words = line.strip()
            if not words or PARAMETER.match(line) or re.fullmatch(r"-+|>>> .*", words):
                open_ = False
            elif open_:
                found[-1] = (found[-1][0], found[-1][1] + " " + words)
            else:
                found.append((number, words))
                open_ = True
        yield from found


def sentences(text, end=END):
    """The sentences of a paragraph, each span of code as one word, each link as its words."""
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text))
    text = re.sub(r"\$`?[^$]*`?\$|`[^`]*`", "code", text)
    begin = 0
    for match in end.finditer(text):
        if not ABBREVIATION.search(text[begin:match.start()]):
            yield text[begin:match.start()]
            begin = match.end()
    yield text[begin:]


def is_long(sentence):
    return sum(bool(WORD.search(word)) for word in sentence.split()) > MOST_WORDS


def pronouns(line, text):
    yield from ((line, "pronouns", text) for _ in PRONOUN.finditer(text))


def found_in(name, text):
    """(line, kind, words) of what is hard to read in a file."""
    of_pages = name.endswith(".md")
    if of_pages or name.endswith(".py"):
        kind = "long sentences of pages" if of_pages else "long sentences of docstrings"
        for line, paragraph in paragraphs(text) if of_pages else docstrings(text):
            yield from ((line, kind, sentence) for sentence in sentences(paragraph, END if of_pages else END_IN_LIST) if is_long(sentence))
            yield from pronouns(line, paragraph)
        return
    for line, begins, labelled, comment in comments(with_lines(text) if name.endswith((".h", ".c")) else text):
        if begins and FRAGMENT.match(comment) and not LEADING.match(comment):
            yield line, "fragments", comment
        yield from ((line, "long sentences of comments", sentence) for sentence in sentences(comment, END_IN_LIST if labelled else END) if is_long(sentence))
        yield from pronouns(line, comment)


def limit_offences(counts):
    for kind, most in LIMITS.items():
        if counts[kind] > most:
            yield f"{counts[kind]} {kind}, at most {most}: english.py . --list FOLDER names them"
        elif counts[kind] + SLACK[kind] < most:
            yield f"{counts[kind]} {kind}; the limit of unit_tests/meta/english.py is {most}: it may only shrink, so it does"


def self_test():
    kinds = lambda name, text: [(line, kind) for line, kind, _ in found_in(name, text)]
    good = ("int a;  ///< number of rows on this rank\n/// Solves a system.\n///\n/// of a paragraph\n/// In fp64, it is exact.\nint b;\n"
            "/// The sum\n/// of two.\nchar const* c = \"/// of x\";\n/// With MPI all ranks have the sum.\nint d;  // of no doc comment\n")
    assert not kinds("a.hpp", good), kinds("a.hpp", good)
    for bad, line in (("int a;  ///< of this rank\n", 1), ("int a;\n/// By rows.\nint b;\n", 2), ("int a;   ///< first\nint b;  ///< that it has\n", 2),
                      ("int a;  ///< the sum\n        ///< of two\nint b;  ///< in bytes\n", 3),
                      ("int a;  ///< to the next row\n", 1), ("int a;\n/// whose rows they are\nint b;\n", 2)):
        assert kinds("a.hpp", bad) == [(line, "fragments")], (bad, kinds("a.hpp", bad))
    assert kinds("a.h", "int a;  /* the sum\n         * of two */\nint b; /* of x */\n") == [(3, "fragments")]
    words = lambda count: "It has " + "very " * (count - 3) + "many"
    for mark, kind, name in (("/// ", "long sentences of comments", "a.hpp"), ("int x;  // ", "long sentences of comments", "a.cpp"),
                             ("", "long sentences of pages", "a.md"), ("- ", "long sentences of pages", "a.md")):
        assert kinds(name, f"{mark}{words(31)}.\n") == [(1, kind)], mark
        assert not kinds(name, f"{mark}{words(30)}. {words(30)}.\n"), mark
        assert not kinds(name, f"{mark}`{words(31)}`.\n"), mark
    assert kinds("a.h", f"/* A sum.\n * {words(31)}. */\n") == [(1, "long sentences of comments")]
    wrapped = words(31).replace("very very very very very", "very very very very\n/// very", 1)
    assert kinds("a.hpp", f"/// {wrapped}.\n") == [(1, "long sentences of comments")]
    assert kinds("a.hpp", f"/// Result   {words(31)}\n/// Throws   nothing\n") == [(1, "long sentences of comments")]
    assert kinds("a.py", f'def f():\n    """It is.\n\n    x : int\n        {words(31)}.\n    """\n') == [(5, "long sentences of docstrings")]
    assert not kinds("a.py", f'"""{words(30)}.\n\n{words(30)}."""\nx = "{words(31)}"  # {words(31)}\n')
    for bad in ("The norm is that of A.", "Half of it is read.", "Of two, be it one."):
        for name, text in (("a.md", f"{bad}\n"), ("a.hpp", f"/// {bad}\nint x;\n"), ("a.py", f'"""{bad}"""\n')):
            assert ("pronouns" in [kind for _, kind in kinds(name, text)]), (bad, name)
    assert not kinds("a.md", f"# {words(31)}\n\n```\n{words(31)}\n```\n\n    {words(31)}\n| {words(30)} | {words(30)} |\n")
    most = {kind: limit for kind, limit in LIMITS.items()}
    assert not list(limit_offences(collections.Counter(most)))
    for kind in LIMITS:
        assert len(list(limit_offences(collections.Counter({**most, kind: most[kind] + 1})))) == 1, kind
        assert most[kind] <= SLACK[kind] or len(list(limit_offences(collections.Counter({**most, kind: most[kind] - SLACK[kind] - 1})))) == 1, kind


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--list", action="store_true", help="name each place")
    parser.add_argument("folders", nargs="*", help="count in these folders or files alone")
    asked = parser.parse_intermixed_args()
    self_test()
    counts = collections.Counter()
    for name in tracked(asked.root, *SOURCES, "*.md", "*.py"):
        if not (asked.root / name).is_file() or (name.endswith(".in") and not re.search(r"\.(hpp|h|cpp)\.in$", name)):
            continue
        if asked.folders and not any(name == folder or name.startswith(folder.rstrip("/") + "/") for folder in asked.folders):
            continue
        for line, kind, words in found_in(name, (asked.root / name).read_text(encoding="utf-8")):
            counts[kind] += 1
            if asked.list:
                print(f"{name}:{line}: {kind}: {words}")
    print(", ".join(f"{counts[kind]} {kind}" for kind in LIMITS))
    if asked.folders:
        return 0
    offences = list(limit_offences(counts))
    print(*offences, sep="\n", end="\n" if offences else "")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
