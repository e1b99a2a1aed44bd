#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Run clang-tidy, in the version that .clang-tidy was written for, over library and program sources; a few by default, --all for all.

Up to ten sources at a time are one translation unit, as Kokkos' headers cost more than all else. Where that does not compile, as
names collide, each is one by itself.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

VERSION = "19."
SKIPPED = 77
TOGETHER = 10
FOLDERS = ("core", "comm", "dense", "ooc", "geostat", "sparse", "c", "lapack", "python", "apps")


def compiled(file):
    """The sources that are compiled as this one: itself, or those that it joins (strata_join_sources)."""
    if file.parent.name != "joined":
        return [file]
    return [(file.parent / name).resolve() for name in re.findall(r'^#include "([^"]*)"', file.read_text(), re.MULTILINE)]


def commands_of(build):
    """What each source that the build compiles is compiled with: the options that name folders, macros, and OpenMP."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        options = [words[n : n + 2] if word == "-isystem" else [word] for n, word in enumerate(words) if re.match(r"-[ID].|-isystem$|-fopenmp$", word)]
        commands |= {file.resolve(): options for file in compiled(pathlib.Path(entry["file"]))}
    return commands


def chosen(top, files, everything):
    """Those of each folder: the two largest, or all of them."""
    found = []
    for folder in FOLDERS:
        inside = sorted(f for f in files if f.is_relative_to(top / folder))
        inside.sort(key=lambda f: f.stat().st_size, reverse=True)
        found += inside if everything else inside[:2]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("top", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--clang-tidy", default="clang-tidy-19")
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    try:
        version = subprocess.run([arguments.clang_tidy, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        print("clang-tidy 19 is not installed")
        return SKIPPED
    if f"version {VERSION}" not in version.stdout:
        print(f"this check needs clang-tidy {VERSION}x, found: {' '.join(version.stdout.split())}")
        return SKIPPED
    top, build = arguments.top.resolve(), arguments.build
    commands = commands_of(build)
    files = chosen(top, commands, arguments.all)

    def tidy(group, folder):
        """What clang-tidy says of each of the units that these become, where it says something."""
        options = [word for option in {" ".join(o): o for file in group for o in commands[file]}.values() for word in option]
        unit = pathlib.Path(folder) / f"{group[0].stem}_{len(group)}.cpp"
        unit.write_text("".join(file.read_text() for file in group))  # in one file: of others some checks look at headers alone
        command = [arguments.clang_tidy, f"--config-file={top / '.clang-tidy'}", "--quiet", str(unit), "--", *options, "-std=c++20"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode and len(group) > 1 and "clang-diagnostic-error" in result.stdout:
            print("not as one:", ", ".join(file.name for file in group), *re.findall(r"error: .*", result.stdout)[:1], flush=True)
            return [text for file in group for text in tidy([file], folder)]
        lines = [(file, number) for file in group for number in range(1, file.read_text().count("\n") + 1)]
        place = lambda match: "{}:{}".format(*lines[int(match[1]) - 1])
        return [re.sub(rf"{re.escape(str(unit))}:(\d+)", place, result.stdout) or result.stderr] if result.returncode else []

    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        count = -(-len(files) // TOGETHER)
        groups = [files[n::count] for n in range(count)]  # of several modules, whose names do not collide
        findings = [text for texts in pool.map(lambda group: tidy(group, folder), groups) for text in texts]
    if any("'omp.h' file not found" in text for text in findings):
        print("this check needs clang's own omp.h (libomp-19-dev), as Kokkos has OpenMP")
        return SKIPPED
    print(*findings, f"{len(files)} sources, {len(findings)} units with findings", sep="\n")
    return 1 if findings or not files else 0


if __name__ == "__main__":
    sys.exit(main())
