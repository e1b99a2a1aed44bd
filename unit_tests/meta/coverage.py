#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Which lines of the libraries the tests of a push run, beside all tests.

The build has `--coverage` (CMAKE_BUILD_TYPE=Coverage, CMAKE_CXX_FLAGS_COVERAGE="-O1 --coverage"). After the tests of a push
`coverage.py BUILD --save push.json` keeps the lines that ran, and after the others `--save all.json`: counters add up over runs.
`coverage.py --compare push.json all.json` prints the share for each library and the files with most lines that a push leaves out,
and fails where the share of all lines is below 98 %.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

SOURCES = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = ("core", "comm", "dense", "sparse", "ooc", "geostat", "lapack", "xsdk", "c")
LEAST_SHARE = 0.98


def lines_of(data):
    """{file: {line: whether it ran}} of the libraries, by one object's counters."""
    run = subprocess.run(["gcov", "--json-format", "--stdout", data], cwd=data.parent, capture_output=True, text=True, check=True)
    found = {}
    for text in filter(None, run.stdout.split("\n")):
        document = json.loads(text)
        for file in document["files"]:
            path = pathlib.Path(os.path.normpath(pathlib.Path(document["current_working_directory"], file["file"])))
            if not path.is_relative_to(SOURCES) or path.relative_to(SOURCES).parts[0] not in LIBRARIES:
                continue
            lines = found.setdefault(str(path.relative_to(SOURCES)), {})
            for line in file["lines"]:
                lines[line["line_number"]] = lines.get(line["line_number"], False) or line["count"] > 0
    return found


def collect(build):
    """The lines of all objects: {file: [lines that ran]}."""
    ran = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lines_of, sorted(build.rglob("*.gcda"))):
            for file, lines in found.items():
                ran.setdefault(file, set()).update(line for line, hit in lines.items() if hit)
    return {file: sorted(lines) for file, lines in sorted(ran.items())}


def compare(push, everything):
    """Prints the shares; returns that of all libraries."""
    left = {file: len(set(lines) - set(push.get(file, ()))) for file, lines in everything.items()}
    for library in LIBRARIES:
        files = [file for file in everything if file.split("/")[0] == library]
        total = sum(len(everything[file]) for file in files)
        if total:
            print(f"{library:10} {total:7} lines run by all tests, {100 * (1 - sum(left[f] for f in files) / total):6.2f} % by a push")
    for file in sorted(left, key=left.get, reverse=True)[:10]:
        if left[file]:
            print(f"  {left[file]:5} lines that only the other parts run: {file}")
    share = 1 - sum(left.values()) / sum(map(len, everything.values()))
    print(f"a push runs {100 * share:.2f} % of the lines that all tests run, at least {100 * LEAST_SHARE:.0f} %")
    return share


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=pathlib.Path)
    parser.add_argument("--save", type=pathlib.Path)
    parser.add_argument("--compare", nargs=2, type=pathlib.Path, metavar=("PUSH", "ALL"))
    arguments = parser.parse_args()
    if arguments.compare:
        share = compare(*(json.loads(path.read_text(encoding="utf-8")) for path in arguments.compare))
        sys.exit(0 if share >= LEAST_SHARE else 1)
    if not arguments.build or not arguments.save:
        parser.error("name a build and --save FILE, or --compare")
    arguments.save.write_text(json.dumps(collect(arguments.build.resolve())), encoding="utf-8")


if __name__ == "__main__":
    main()
