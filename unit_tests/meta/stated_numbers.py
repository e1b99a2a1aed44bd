#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What README states of results is what the pages of docs/ state.

stated_numbers.py TOP: exit status 1 and a line for each number of README's table of results that the section to which its row leads has not,
for each command below that table of which a word is not there, for each line of a command's output that no page of docs/ has, and for
each commit in a page that the history has not.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

NUMBER = re.compile(r"(?<![\w.^])\d+(?:[.,]\d+)*(?:e-?\d+|\^\d+)?(?![\w^]|\.\d)")
LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]*)#?([^)\s]*)\)")


def numbers(text):
    """The numbers of a text, 1,720 as 1720, without those in names and addresses."""
    return {match.replace(",", "") for match in NUMBER.findall(LINK.sub(" ", text))}


def sections(text):
    """The text below each heading, with that of the headings below it, by the heading's anchor."""
    text = re.sub(r"^```.*?^```", lambda match: match[0].replace("\n#", "\n "), text, flags=re.M | re.S)
    headings = list(re.finditer(r"^(#+) +(.+)$", text, re.M))
    found = {"": text}
    for k, heading in enumerate(headings):
        end = next((other.start() for other in headings[k + 1 :] if len(other[1]) <= len(heading[1])), len(text))
        anchor = re.sub(r"[^\w\- ]", "", heading[2].strip().lower()).replace(" ", "-")
        found[anchor] = text[heading.end() : end]
    return found


def offences(top):
    readme = (top / "README.md").read_text(encoding="utf-8")
    results = next((text for anchor, text in sections(readme).items() if anchor.endswith("results")), None)
    rows = [line for line in (results or "").split("\n") if line.startswith("| [")]
    if not rows:
        yield "README.md has no table of results"
    linked = {}  # the section that the row of each number leads to
    for row in rows:
        which, page, anchor = LINK.search(row).groups()
        section = linked[which] = sections((top / page).read_text(encoding="utf-8")).get(anchor, "")
        for number in sorted(numbers(row) - numbers(section)):
            yield f"README.md states {number}, {page}#{anchor} does not: {row}"
    for command, which in re.findall(r"^    (\w.*?) +# (\d+)$", re.sub(r" *\\\n *", " ", results or ""), re.M):
        section = linked.get(which, "")
        missing = [word for word in command.split() if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", section)]
        if missing:
            yield f"README.md's command {which} has {' '.join(missing)}, the section of its row does not: {command}"
    pages = {line.strip() for path in (top / "docs").rglob("*.md") for line in path.read_text(encoding="utf-8").split("\n")}
    for block in re.findall(r"(?:^    .*\n)+", readme, re.M):
        lines = [line.strip() for line in block.split("\n")]
        if lines[0].startswith("$ "):
            yield from (f"README.md shows an output that no page of docs/ has: {line}" for line in lines[1:] if line not in ("", "...") and line not in pages)


def unknown_commits(top):
    """Of a tree without its whole history nothing is said."""
    if not shutil.which("git"):
        return
    git = lambda *words: subprocess.run(["git", "-C", top, *words], capture_output=True, text=True, check=False)
    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        return
    for page in sorted((top / "docs").rglob("*.md")):
        for commit in sorted(set(re.findall(r"\bcommits? ([0-9a-f]{7,40})\b|\b(?=[a-f]*[0-9])(?=[0-9]*[a-f])([0-9a-f]{7})\b", page.read_text(encoding="utf-8")))):
            name = commit[0] or commit[1]
            if git("merge-base", "--is-ancestor", name, "HEAD").returncode != 0:
                yield f"{page.relative_to(top)} names commit {name}, which the history has not"


def self_test():
    assert numbers("a 6.6 x, n = 65536, 1e4, 320^3, 1,720 of H200, `1138_bus`, **4.34** [1](x.md#a-1)") == {"6.6", "65536", "1e4", "320^3", "1720", "4.34"}
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        (top / "docs").mkdir()
        (top / "README.md").write_text("# S\n## Five results\n| [1](docs/r.md#a-b): n = 8 | **2.5 x** |\n\n    strata solve \\\n      --n 8    # 1\n## Next\n\n    $ strata info\n    ...\n    x 1\n\n\n")
        (top / "docs/r.md").write_text("# R\n## A b\n8, 2.5\n### C\n`strata solve --n 8`\n## D\n3\n    x 1\n")
        assert not list(offences(top)), list(offences(top))
        (top / "docs/r.md").write_text("# R\n## A b\n8, 2.4\n`strata solve --m 8`\n## D\n2.5\n")
        assert len(list(offences(top))) == 3, list(offences(top))
        git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        if shutil.which("git"):
            subprocess.run([*git[:3], "init", "--quiet"], check=True)
            subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message", "one"], check=True)
            made = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout[:7]
            (top / "docs/r.md").write_text(f"commit {made}, and of 0a1b2c3\n")
            assert len(list(unknown_commits(top))) == 1, list(unknown_commits(top))


def main():
    self_test()
    top = pathlib.Path(sys.argv[1])
    found = [*offences(top), *unknown_commits(top)]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
