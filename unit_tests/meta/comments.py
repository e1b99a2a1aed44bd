#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Comments of C++ that are wider than 100 columns: comments.py ROOT [--fix] names them, or wraps them anew.

A paragraph ends at an empty comment line, at a label as "Result   ", and at an item of a list. Text below a label or an item is indented
as its first line is. A comment behind code moves to a line of its own before it. Lines that are drawn, as tables are, stay as they
are: their words are more than one blank apart.
"""
import pathlib
import re
import sys

from tracked import tracked

WIDTH = 100
MOST = 0
COMMENT = re.compile(r"^(\s*)(///|//)( ?)(.*)$")
LABEL = re.compile(r"^([A-Z][A-Za-z/]+(?:, [A-Z][a-z]+)* {2,}|[-*] |\d+\. )(\S.*)$")
BEHIND = re.compile(r"^(\s*)(\S.*?)\s*(///<|//)\s+(.*)$")
KEPT = re.compile(r"https?://|SPDX-|NOLINT|clang-format|^#")


def filled(words, prefix, first, rest):
    """Lines of at most WIDTH columns: `first` before the first word, `rest` before each line after it."""
    lines, line = [], prefix + first
    for word in words:
        if len(line) + len(word) > WIDTH and line.strip() not in (prefix.strip(), (prefix + first).strip()):
            lines.append(line.rstrip())
            line = prefix + rest
        line += word + " "
    return lines + [line.rstrip()]


def paragraphs(texts):
    """Groups of lines, (label, [text ...]) each; a drawn line is a group of its own with the label None."""
    groups = []
    for text in texts:
        body = text.strip()
        indent = len(text) - len(text.lstrip())
        label = LABEL.match(text)
        hang = len(groups[-1][0]) if groups and groups[-1][0] is not None else 0
        if label:
            groups.append((label.group(1), [label.group(2)]))
        elif not body or "SPDX-" in body or re.search(r"\S {2,}\S", body) or indent not in (0, hang) or (indent and not hang):
            groups.append((None, [text]))
        elif groups and groups[-1][0] is not None and indent == hang:
            groups[-1][1].append(body)
        else:
            groups.append(("", [body]))
    return groups


def wrapped(block, indent, mark):
    """A block of comment lines (their texts behind the mark), wrapped where a paragraph is too wide."""
    prefix = f"{indent}{mark} "
    lines = []
    for label, texts in paragraphs(block):
        if label is None:
            lines.append((prefix + texts[0]).rstrip())
            continue
        blank = " " * len(label)
        old = [prefix + (label if k == 0 else blank) + text for k, text in enumerate(texts)]
        wide = any(len(line) > WIDTH for line in old)
        lines += filled(" ".join(texts).split(), prefix, label, blank) if wide else [line.rstrip() for line in old]
    return lines


def is_kept(line):
    return len(line) <= WIDTH or KEPT.search(line)


def moved(line):
    """A comment behind code, on lines before it."""
    found = BEHIND.match(line)
    if not found or found.group(2).startswith("//"):
        return None
    indent, code, mark, text = found.groups()
    if code.startswith("#") or code.count('"') % 2:
        return None
    prefix = f"{indent}{'///' if mark == '///<' else '//'} "
    return filled(text.split(), prefix, "", "") + [indent + code]


def goes_on(line):
    """Whether the statement of a line of code ends in a later one."""
    return bool(line.strip()) and not re.match(r"\s*(//|#)", line) and not re.search(r"[;{},:]\s*(//.*)?$", line)


def fixed(text):
    lines, out, at = text.split("\n"), [], 0
    while at < len(lines):
        found = COMMENT.match(lines[at])
        if not found or found.group(4).startswith(("<", "/")):
            behind = None if is_kept(lines[at]) else moved(lines[at])
            follows = at + 1 < len(lines) and re.match(r"\s*///<", lines[at + 1])
            if behind and not follows:
                begin = len(out)
                while begin and goes_on(out[begin - 1]):
                    begin -= 1
                indent = re.match(r"\s*", (out + [lines[at]])[begin])[0]
                out[begin:begin] = [indent + line.strip() for line in behind[:-1]]
                out.append(behind[-1])
            else:
                out.append(lines[at])
            at += 1
            continue
        indent, mark = found.group(1), found.group(2)
        block = []
        while at < len(lines) and (found := COMMENT.match(lines[at])) and (found.group(1), found.group(2)) == (indent, mark) \
                and not found.group(4).startswith(("<", "/")):
            block.append((lines[at], found.group(4)))
            at += 1
        if all(is_kept(line) for line, _ in block):
            out += [line for line, _ in block]
        else:
            out += wrapped([text for _, text in block], indent, mark)
    return "\n".join(out)


def main():
    root = pathlib.Path(sys.argv[1])
    wide = 0
    for name in tracked(root, "*.hpp", "*.cpp", "*.h", "*.in"):
        path = root / name
        if not path.is_file() or path.suffix == ".in" and ".hpp" not in name:
            continue
        text = path.read_text()
        if "--fix" in sys.argv and (new := fixed(text)) != text:
            path.write_text(new)
            text = new
        for number, line in enumerate(text.split("\n"), 1):
            if not is_kept(line) and "//" in line:
                wide += 1
                print(f"{name}:{number}: {len(line)} columns")
    print(f"{wide} comments are wider than {WIDTH} columns, at most {MOST}")
    return 1 if wide > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
