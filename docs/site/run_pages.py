#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Run the commands that the pages show, and compare what comes with what the pages say, or write it there.

The words must be the page's. A number may differ by a factor of two, an integer also by 2, and a number below 1e-6, which is a rounding
error, by a factor of 1000. Any number will do before a unit of time or of a rate (s, ms, GB/s, Gflop/s, x, ...), and in a block
"```console measured". A line "..." stands for any number of lines.

A block ```console holds commands, `$ command`, each with its output. The commands of a page run in order in an empty folder with
the links apps/data, examples, and build to the examples' programs. `strata`, the package for Python and the drop-in for LAPACK are
found, and the exit status must be 0. A block whose paragraph before it ends in "`NAME`:" is the file NAME in that folder, in README.md, docs/start
and docs/tutorials. In the last two, one whose paragraph ends in a link, "[...](PATH):", repeats lines of that file; "..." stands for the lines left
out; they show code of no other kind. A picture of docs/figures/tutorials that a page shows is made by its commands. A page with
<!-- needs: WORD... --> is left out where --have does not name all of them; python3-NAME is there if Python has the module NAME, no-amx if
the processor has no matrix units, whose sums in few bits are others.
"""

import argparse
import concurrent.futures
import dataclasses
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

BLOCK = re.compile(r"^```(\w*(?: measured)?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS = re.compile(r"^<!-- needs: (.*) -->$", re.MULTILINE)
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]*figures/tutorials/[^)\s]+)\)")
NUMBER = re.compile(r"((?<![\w.])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?=x\b|(?!\w|\.\d)))")
MEASURED = re.compile(r"\s*(s|ms|us|min|x|[kMGT]?flop/s|[kMGT]?B/s)\b")
LEFT_OUT = "..."


class Offence(Exception):
    """What is wrong with a page, in words."""


def close(said, came):
    a, b = (float(text.replace(",", "")) for text in (said, came))
    if max(abs(a), abs(b)) < 1e-6:
        return min(abs(a), abs(b)) == 0 or 1e-3 <= abs(a / b) <= 1e3
    integers = not re.search(r"[.e]", said + came)
    return abs(a - b) <= 0.5 * max(abs(a), abs(b)) + 2 * integers


def agree(said, came, measured=False):
    """Whether two lines are one by the rule above; `measured`: with any numbers."""
    parts, others = NUMBER.split(said), NUMBER.split(came)
    if len(parts) != len(others):
        return False
    for i, (part, other) in enumerate(zip(parts, others)):
        if i % 2 == 0 and part.split() != other.split():
            return False
        if i % 2 == 1 and not (measured or MEASURED.match(parts[i + 1]) or close(part, other)):
            return False
    return True


def label(line):
    """What a line is about: its first words, up to a gap, a number or a question mark."""
    return re.split(r"  |\d|\?", line.strip())[0].strip()


def chunks_of(lines):
    """The stretches between the lines "...", with whether something was left out before each, and behind the last."""
    found = [[]]
    for line in lines:
        if line.strip() == LEFT_OUT:
            found.append([])
        else:
            found[-1].append(line)
    return found


def align(said, came, measured):
    """For each stretch of `said` the lines of `came` that are meant."""
    chunks = chunks_of(said)
    if len(chunks) == 1:
        return [(said, came)]
    pairs, begin = [], 0
    for i, chunk in enumerate(chunks):
        first, last = begin, max(len(came) - len(chunk), begin)
        if i == 0:
            last = 0
        elif i == len(chunks) - 1:
            first = last

        def likeness(at):
            lines = list(zip(chunk, came[at:]))
            return sum(agree(*pair, measured) for pair in lines), sum(label(a) == label(b) for a, b in lines), -at

        at = max(range(first, last + 1), key=likeness) if chunk else begin
        pairs.append((chunk, came[at : at + len(chunk)]))
        begin = at + len(chunk)
    return pairs


def difference(said, came, measured):
    """Lines that show where the output is not the page's; none if it is."""
    lines = []
    for chunk, meant in align(said, came, measured):
        for i in range(max(len(chunk), len(meant))):
            a, b = (text[i] if i < len(text) else None for text in (chunk, meant))
            if a is None or b is None or not agree(a, b, measured):
                lines += [f"  page: {a}"] * (a is not None) + [f"  came: {b}"] * (b is not None)
    return lines


@dataclasses.dataclass
class Command:
    line: int
    words: str
    said: list


def commands_of(body, line):
    """The commands of a block that begins behind `line`, with the outputs that the page has."""
    commands, goes_on = [], False
    for number, text in enumerate(body.splitlines(), line + 1):
        if text.startswith("$ "):
            commands.append(Command(number, text[2:], []))
        elif goes_on:
            commands[-1].words += "\n" + text
        elif commands:
            commands[-1].said.append(text)
        else:
            raise Offence(f"line {number}: a block of commands begins with '$ '")
        goes_on = text.endswith("\\") and (goes_on or text.startswith("$ "))
    return commands


def require_repeats(block, file):
    """Each stretch of the block is lines of the file, in this order."""
    lines, begin = file.read_text().splitlines(), 0
    for chunk in chunks_of(block.splitlines()):
        while chunk and not chunk[0].strip():
            del chunk[0]
        while chunk and not chunk[-1].strip():
            del chunk[-1]
        places = [at for at in range(begin, len(lines) - len(chunk) + 1) if lines[at : at + len(chunk)] == chunk]
        if not places:
            raise Offence(f"{file.name} has no such lines (any more):\n" + "\n".join(f"  page: {text}" for text in chunk))
        begin = places[0] + len(chunk)


def lacking(text, have):
    """What a page needs and this machine or build does not have."""
    words = {word for needs in NEEDS.findall(text) for word in needs.split()} - have
    if "no-amx" in words and "amx_tile" not in pathlib.Path("/proc/cpuinfo").read_text():
        words.remove("no-amx")
    return {word for word in words if not (word.startswith("python3-") and importlib.util.find_spec(word[8:]))}


def lay_out(top, tree, folder):
    (folder / "apps").mkdir()
    (folder / "apps/data").symlink_to(top / "apps/data")
    (folder / "examples").symlink_to(top / "examples")
    (folder / "build").symlink_to(tree / "examples")
    (folder / "matplotlibrc").write_text("svg.fonttype: none\n")  # text as text: half the bytes


def run(words, folder, tree):
    paths = {"PATH": tree / "apps", "PYTHONPATH": tree / "python", "LD_LIBRARY_PATH": f"{tree / 'lapack'}:{tree / 'c'}"}
    variables = {name: f"{path}:{os.environ[name]}" if os.environ.get(name) else str(path) for name, path in paths.items()}
    environment = os.environ | variables | {"NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1", "HWLOC_HIDE_ERRORS": "2"}
    return subprocess.run(
        ["bash", "-c", words],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def run_block(body, line, folder, tree, measured, offences):
    """Run a block of commands; the block as it should be."""
    lines = []
    for command in commands_of(body, line):
        ended = run(command.words, folder, tree)
        came = [text.rstrip() for text in ended.stdout.rstrip().splitlines()]
        wrong = difference(command.said, came, measured)
        if ended.returncode != 0:
            offences.append(f"line {command.line}: $ {command.words}\n  exit status {ended.returncode}\n{ended.stdout}")
        elif wrong:
            offences.append(f"line {command.line}: $ {command.words}\n" + "\n".join(wrong))
        lines += [f"$ {command.words}"]
        if wrong and ended.returncode == 0:
            lines += f"\n{LEFT_OUT}\n".join("\n".join(meant) for _, meant in align(command.said, came, measured)).strip("\n").splitlines()
        else:
            lines += command.said
    return "".join(text + "\n" for text in lines)


def is_strict(page):
    return page.parent.name in ("start", "tutorials")


def run_page(top, tree, page, write):
    """The offences of a page, and the seconds that it took; writes what came if asked to."""
    text, begin, offences, fresh = page.read_text(), time.monotonic(), [], []
    strict = is_strict(page)
    with tempfile.TemporaryDirectory() as name:
        folder, end = pathlib.Path(name), 0
        lay_out(top, tree, folder)
        for match in BLOCK.finditer(text):
            language, body = match.groups()
            line = text.count("\n", 0, match.start()) + 1
            before = text[end : match.start()].rstrip().rpartition("\n")[2]
            named, linked = re.search(r"`([\w.-]+)`:$", before), re.search(r"\]\((\S+)\):$", before)
            fresh.append(text[end : match.start(2)])
            try:
                if language.startswith("console"):
                    body = run_block(body, line, folder, tree, "measured" in language, offences)
                elif named and (strict or page.name == "README.md"):
                    (folder / named[1]).write_text(body)
                elif strict and linked:
                    require_repeats(body, (page.parent / linked[1]).resolve())
                elif strict and language != "text":
                    raise Offence("code that is neither a file of the page's folder nor lines of one")
            except Offence as offence:
                offences.append(f"line {line}: {offence}")
            fresh.append(body)
            end = match.end(2)
        fresh.append(text[end:])
        for picture in PICTURE.findall(text):
            made, kept = folder / pathlib.Path(picture).name, (page.parent / picture).resolve()
            if not made.exists():
                offences.append(f"no command makes {made.name}")
            elif write:
                shutil.copy(made, kept)
    if write:
        page.write_text("".join(fresh))
    return offences, time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="compare; exit status 1 and the differences if there are any")
    what.add_argument("--write", action="store_true", help="put what came into the pages where it differs, and the pictures")
    parser.add_argument("--have", default="", help="what this build has, for pages that need it: mpi,nlopt,python,c,...")
    parser.add_argument("--jobs", type=int, default=2, help="pages at once")
    parser.add_argument("top", type=pathlib.Path, help="the repository")
    parser.add_argument("tree", type=pathlib.Path, help="where it was built")
    parser.add_argument("pages", type=pathlib.Path, nargs="*", help="[README.md and all of docs that have commands to run]")
    arguments = parser.parse_args()
    top, tree = arguments.top.resolve(), arguments.tree.resolve()
    pages = [page.resolve() for page in arguments.pages] or [top / "README.md", *sorted((top / "docs").rglob("*.md"))]
    pages = [page for page in pages if is_strict(page) or "```console" in page.read_text()]
    have, failed = set(arguments.have.replace(",", " ").split()), 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        runs = {}
        for page in pages:
            missing = lacking(page.read_text(), have)
            if missing:
                print(f"{page.relative_to(top)}: left out, needs {', '.join(sorted(missing))}")
            else:
                runs[page] = pool.submit(run_page, top, tree, page, arguments.write)
        for page, result in runs.items():
            offences, seconds = result.result()
            failed += bool(offences)
            print(f"{page.relative_to(top)}: {seconds:.1f} s{', DIFFERS' if offences else ''}")
            print("".join(f"{page.relative_to(top)}, {offence}\n" for offence in offences), end="", flush=True)
    if not runs:
        print("no page was run")
    return int(not runs or bool(failed and not arguments.write))


if __name__ == "__main__":
    sys.exit(main())
