#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Run clang-tidy (checks in .clang-tidy) over library and program sources; a few by default, --all for all."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SKIPPED = 77
FOLDERS = ("core", "comm", "dense", "ooc", "geostat", "sparse", "c", "lapack", "python", "apps")


def compiled(file):
    """The sources that are compiled as this one: itself, or those that it includes where CMake compiles several at a time."""
    if file.parent.name != "Unity":
        return [file]
    return [pathlib.Path(name) for name in re.findall(r'^#include "(.*)"', file.read_text(), re.MULTILINE)]


def sources(top, build, everything):
    """The sources that the build compiles: the two largest of each folder, or all of them."""
    with open(build / "compile_commands.json") as commands:
        files = {file.resolve() for entry in json.load(commands) for file in compiled(pathlib.Path(entry["file"]))}
    chosen = []
    for folder in FOLDERS:
        inside = sorted(f for f in files if f.is_relative_to(top / folder))
        inside.sort(key=lambda f: f.stat().st_size, reverse=True)
        chosen += inside if everything else inside[:2]
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("top", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--clang-tidy", default="clang-tidy-19")
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    if not shutil.which(arguments.clang_tidy):
        print("clang-tidy is not installed")
        return SKIPPED
    files = sources(arguments.top.resolve(), arguments.build, arguments.all)

    def tidy(file):
        command = [arguments.clang_tidy, "-p", str(arguments.build), "--quiet", str(file)]
        return file, subprocess.run(command, capture_output=True, text=True)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, result in pool.map(tidy, files):
            if result.returncode:
                print(result.stdout or result.stderr)
                failed += 1
    print(f"{len(files)} sources, {failed} with findings")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
