#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Doxygen's input filter: the comments of Strata's headers in Doxygen's words, on the lines that they have.

doxygen_filter.py TOP FILE prints the file, which is below TOP. In its comments
- what looks like Doxygen's commands or HTML is plain text, and `code` is code;
- lines such as "Throws   ShapeError if ..." make a list of definitions;
- lines that stand further in than the text are kept as they are;
what is declared elsewhere is left out; what one statement declares shares its comment; and in C a function without one is as the one
above it. What a header of C++ has in its namespaces is a group, whose name is `group_of` the header.
"""

import pathlib
import re
import sys

FIELD = re.compile(r"([A-Z][A-Za-z/]*|fork|exit) {2,}(?=\S)")
SPECIAL = re.compile(r"[\\@<>&#%$]|--+|(?<!\w)::")
# A namespace or a class that is only announced, and what is added to Kokkos' namespace: declared elsewhere, or not public.
ELSEWHERE = (re.compile(r"^namespace [\w:]+ \{\n(?:[^{}\n]*;\n)+\}(?:  // namespace[^\n]*)?$", re.MULTILINE),
             re.compile(r"^(?:template <[^;{}\n]*>\s+)?(?:class|struct) \w+;", re.MULTILINE),
             re.compile(r"^(?:template <> *\n)?struct Kokkos::.*?^\};|^namespace Kokkos \{.*?^\}[^\n]*", re.MULTILINE | re.DOTALL))
PUBLIC = r"strata\b(?!.*\b(?:detail|vendor)\b)"
VALUE = r"(?:[^,;(){}<>]|\([^,;(){}]*\)|\{[^,;{}]*\})*"
NAMED = rf"\*?\w+(?:\[\w+\])?(?: = |\{{)?{VALUE}"
SEVERAL = re.compile(rf"( *(?:static constexpr )?[\w:]+(?:<[\w:, <>*]+>)?(?: const)?[&*]? )({NAMED}(?:, {NAMED})+);\s*")


def escape(text):
    """The text as Doxygen's plain text, with `code` as code."""
    parts = [SPECIAL.sub(r"\\\g<0>", part) for part in text.split("`")]
    return "".join(f"<tt>{part}</tt>" if k % 2 else part for k, part in enumerate(parts))


def lay_out(lines):
    """The lines of a comment, without what makes them one, in Doxygen's words: as many lines."""
    laid, inside = [], ""  # the list or the text kept as it is that is open
    ends = {"dl": "</dd></dl>", "pre": "</pre>", "": ""}
    for line in escape("\n".join(lines)).split("\n"):
        field = FIELD.match(line)
        if field:
            begin = "</dd>" if inside == "dl" else ends[inside] + "<dl>"
            line = f"{begin}<dt>{field[1]}</dt><dd>{line[field.end():]}"
            inside = "dl"
        elif not line.startswith("  "):
            line, inside = ends[inside] + line, ""
        elif not inside:
            line, inside = "<pre>" + line, "pre"
        laid.append(line)
    laid[-1] += ends[inside]
    return laid


def special_member(line):
    """The line with a comment, if it declares what every class has: Doxygen would miss one."""
    match = re.fullmatch(r" *(?:virtual |constexpr |explicit )*(?:(?P<end>~\w+\(\))|(?P<name>\w+)(?:&? operator=)?\((?P<argument>\w+(?: const&|&&))?(?: \w+)?\))"
                         r"(?: noexcept| override)*(?: = (?P<how>default|delete))?(?:;| \{\})", line)
    if not match or match["name"] and match["argument"] and match["argument"].split("&")[0].split()[0] != match["name"]:
        return line
    if not match["end"] and not match["argument"] and match["how"] != "default":
        return line
    what = "Destructor." if match["end"] else {"c": "Copy.", "&": "Move.", "": "Default."}[re.sub(r"^\w+( c|&?).*", r"\1", match["argument"] or "").strip()]
    return f"{line} /**< {'Deleted.' if match['how'] == 'delete' else what} */"


def declarators(text):
    """a = f(0, 1), b{} in its parts."""
    depth, parts = 0, [""]
    for c in text:
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(c, 0)
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


def share(code, comment, before):
    """A statement that declares several, each with the comment behind it, or with the one `before` it."""
    several = SEVERAL.fullmatch(code)
    if not several or not (comment or before):
        return code + comment
    text = comment or f"/**< {before} */"
    return " ".join(f"{several[1]}{one}; {text}" for one in declarators(several[2]))


def group_of(path):
    return re.sub(r"\W", "_", str(path))


def filter_cpp(text, group):
    """`///` before a declaration and `///<` behind it."""
    # Tables of fields have pages of their own. Sphinx reads one constant a declaration, and knows one Triangle, the one of covariances.
    for apart in (r"(?:^///[^\n]*\n)+^constexpr auto (?:fields_of|key_order)\([^)]*\) \{(?:[^\n]*\}\n|\n(?:[^}\n][^\n]*\n|\n)*\}\n)",
                  r"(?:^///[^\n]*\n)+^enum class Triangle \{\n(?:  [^\n]*\n)*\};\n"):
        text = re.sub(apart, lambda match: "\n" * match[0].count("\n"), text, flags=re.MULTILINE)
    text = re.sub(r"^(inline constexpr \w+) (\w+) = ([^,;]+), (\w+) = ([^,;]+);", r"\1 \2 = \3; /** The other end. */ \1 \4 = \5;", text, flags=re.MULTILINE)
    text = re.sub(r"^#cmakedefine (?=\w+$)", "#define ", text, flags=re.MULTILINE)
    text = re.sub(r"^#define \w+_HPP$", "", text, flags=re.MULTILINE)
    for elsewhere in ELSEWHERE:
        text = elsewhere.sub(lambda match: "\n" * match[0].count("\n"), text)
    text = re.sub(rf"^namespace {PUBLIC}.*\{{$", rf"\g<0>  /** @addtogroup {group} */ /** @{{ */", text, flags=re.MULTILINE)
    text = re.sub(rf"^\}}  // namespace {PUBLIC}", r"/** @} */  \g<0>", text, flags=re.MULTILINE)
    text = re.sub(r"\[\]\([^()]*\) \{\}", "nothing", text)  # a lambda, which Sphinx can't read
    # A class that is defined outside of its own one is shown in that.
    text = re.sub(r"\n\n((?:///[^\n]*\n)*class \w+::\w+ \{\n.*?^\};)", rf"\n/** @}} */\n\1  /** @addtogroup {group} */ /** @{{ */", text,
                  flags=re.MULTILINE | re.DOTALL)
    lines, k, before = text.split("\n"), 0, ""
    laid = []
    while k < len(lines):
        comment = re.match(r"( *)///(?!<) ?(.*)", lines[k])
        if comment:
            end = k
            while end < len(lines) and re.match(r" *///(?!<)", lines[end]):
                end += 1
            block = lay_out([re.sub(r"^ */// ?", "", line) for line in lines[k:end]])
            before = " ".join(block)
            if end < len(lines) and SEVERAL.fullmatch(lines[end]):
                laid += [""] * len(block)  # each of what is declared gets it
            else:
                laid += [f"{comment[1]}/// {line}" for line in block]
            k = end
            continue
        behind = re.match(r"(.*?)///< ?(.*)", lines[k])
        if behind:
            end = k + 1
            while end < len(lines) and re.match(r" *///<", lines[end]):
                end += 1
            words = [behind[2]] + [re.sub(r"^ *///< ?", "", line) for line in lines[k + 1:end]]
            laid.append(share(behind[1].rstrip(), " /**< " + escape(" ".join(words)) + " */", ""))
            laid += [""] * (end - k - 1)
            k = end
        else:
            laid.append(share(lines[k], "", before) if before else special_member(share(lines[k], "", "")))
            k += 1
        before = ""
    begin = "/** @file */ " if re.search(r"^#define ", text, re.MULTILINE) else ""  # of macros Doxygen warns in such files alone
    return begin + "\n".join(laid)


def filter_c(text, name):
    """`/* ... */` before declarations and behind them. The first one, of the licence, is none; the second is the file's."""
    count = 0

    def comment(match):
        nonlocal count
        count += 1
        if count == 1:
            return match[0]
        lines = [re.sub(r"^ *\*? ?", "", line, count=1) if k else line for k, line in enumerate(match["text"].strip().split("\n"))]
        body = "\n".join(lay_out([line.rstrip() for line in lines]))
        if match["code"].strip():
            return f"{match['code']}/**< {body} */"
        return f"{match['code']}/** {f'@file {name} ' if count == 2 else ''}{body} */"

    text = re.sub(r"^typedef ((?:struct|enum) (\w+) \{.*?^\}) \2;", r"\1;", text, flags=re.MULTILINE | re.DOTALL)
    laid = []
    for paragraph in text.split("\n\n"):
        paragraph = re.sub(r"(?P<code>[^\n]*?)/\*(?P<text>.*?)\*/", comment, paragraph, flags=re.DOTALL)
        functions = re.findall(r"^STRATA_API [^(]*?(\w+)\(", paragraph, re.MULTILINE)
        for function in functions[1:]:
            paragraph = re.sub(rf"^(?=STRATA_API [^(]*\b{function}\()", f"/** As <tt>{functions[0]}</tt>. */ ", paragraph, flags=re.MULTILINE)
        laid.append("\n".join(share(*re.fullmatch(r"(.*?)( */\*\*<.*)?", line).groups(""), "") for line in paragraph.split("\n")))
    return "\n\n".join(laid)


if __name__ == "__main__":
    top, source = map(pathlib.Path, sys.argv[1:])
    text = source.read_text(encoding="utf-8")
    sys.stdout.write(filter_c(text, source.name) if source.suffix == ".h" else filter_cpp(text, group_of(source.relative_to(top))))
