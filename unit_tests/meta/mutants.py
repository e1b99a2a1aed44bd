#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Can the tests fail? Each mistake of mutants_list.py is made on purpose, and a test has to see it.

    mutants.py SOURCE --check            each mistake has its place, which is one (milliseconds)
    mutants.py SOURCE BUILD              all of them; `--only PATTERN` those whose names match

All mistakes stand in one build, each as a choice by the number in STRATA_MUTANT: `strata_mutant(17) ? (wrong) : (right)`. BUILD is a
configured tree, whose compilers and options are taken; the copy is made in BUILD/mutants and built in its build/debian, so that a cache
of objects has all that is not changed.
Each program runs once without a mistake, where all must pass, then once for each mistake until the first failure. A run that was stopped
goes on with the mistakes that were not tried, as long as no file has changed.
"""
from __future__ import annotations

import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from mutants_list import MUTANTS, Mutant
from tracked import tracked

LEAST = 0.95  # of the mistakes are to be seen
SECONDS = 600  # that a run may take; one that hangs has seen the mistake
CHOICE = """// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MUTANT_HPP
#define STRATA_MUTANT_HPP
#include <cstdlib>
inline bool strata_mutant(int number) {
  static int const chosen = std::getenv("STRATA_MUTANT") ? std::atoi(std::getenv("STRATA_MUTANT")) : 0;
  return chosen == number;
}
#endif
"""


def place(text: str, mutant: Mutant) -> tuple[int, int]:
    """Where in a file's text the expression between the marks begins and ends, however lines are broken."""
    before, rest = mutant.where.split("«")
    inside, after = rest.split("»")
    spaced = [r"\s*".join(re.escape(word) for word in re.findall(r"\w+|[^\w\s]", part)) for part in (before, inside, after)]
    found = list(re.finditer(r"{}\s*({})\s*{}".format(*spaced), text))
    if len(found) != 1:
        raise SystemExit(f"{mutant.file}: '{mutant.where}' is there {len(found)} times, must be once")
    return found[0].span(1)


def mutated(source: pathlib.Path, chosen: list[tuple[int, Mutant]]) -> dict[str, str]:
    """The files with these mistakes in them."""
    choices: dict[str, dict[tuple[int, int], str]] = {}
    for number, mutant in chosen:
        text = (source / mutant.file).read_text()
        begin, end = place(text, mutant)
        of_file = choices.setdefault(mutant.file, {})
        right = of_file.get((begin, end), text[begin:end])  # which may be a choice already
        of_file[begin, end] = f"(strata_mutant({number}) ? ({mutant.wrong}) : ({right}))"
    result = {}
    for name, groups in choices.items():
        text = (source / name).read_text()
        ordered = sorted(groups)
        for (_, end), (begin, _) in zip(ordered, ordered[1:]):
            if begin < end:
                raise SystemExit(f"{name}: two mistakes overlap at character {begin}")
        for (begin, end) in reversed(ordered):
            text = text[:begin] + groups[begin, end] + text[end:]
        first = text.index("#include")
        result[name] = text[:first] + "#include <core/Strata_Mutant.hpp>\n" + text[first:]
    return result


def cached(build: pathlib.Path) -> list[str]:
    """What a tree was configured with, as options of a new one."""
    kept = re.compile(r"^((?:Strata_|Kokkos_|CMAKE_(?:BUILD_TYPE|CXX_|C_|PREFIX)|MPI)\w*):(?!INTERNAL|STATIC)\w+=(.*)$", re.M)
    return [f"-D{name}={value}" for name, value in kept.findall((build / "CMakeCache.txt").read_text())]


def write(path: pathlib.Path, content: bytes) -> None:
    """Leave a file that has this content as it is, with its time: a second build is short. Else it is new, whatever its source's time."""
    if not path.is_file() or path.read_bytes() != content:
        path.write_bytes(content)


def copy(source: pathlib.Path, build: pathlib.Path, chosen: list[tuple[int, Mutant]]) -> tuple[pathlib.Path, str]:
    """A configured tree of a copy with these mistakes in it; a hash of the copy."""
    folder, wrong = build / "mutants", mutated(source, chosen)
    digest = hashlib.sha256()
    for name in tracked(source):
        if not (source / name).is_file():
            continue
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write(folder / name, wrong[name].encode() if name in wrong else (source / name).read_bytes())
        shutil.copymode(source / name, folder / name)
        digest.update(name.encode() + (folder / name).read_bytes())
    write(folder / "core/Strata_Mutant.hpp", CHOICE.encode())
    tree, kept = folder / "build/debian", cached(build)
    digest.update("\n".join(kept).encode())
    subprocess.run(["cmake", "-S", folder, "-B", tree, "-G", "Ninja", *kept], check=True, stdout=subprocess.DEVNULL)
    return tree, digest.hexdigest()


def name_of(mutant: Mutant) -> str:
    """The program that has to see it."""
    return f"strata_{mutant.program}{'_mpi' if mutant.ranks else ''}_test"


class Record:
    """What saw each mistake that has been tried, "" for nothing: in a file, so that a run that was stopped goes on behind them."""

    def __init__(self, path: pathlib.Path, key: str) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path.is_file() else []
        if lines[:1] != [key]:
            path.write_text(f"{key}\n")
            lines = []
        self.seen = {int(number): failed for number, failed in (line.split(" ", 1) for line in lines[1:])}

    def add(self, number: int, failed: str) -> None:
        """A run that was killed, or took too long, may have been an accident: it is made again by the next one."""
        self.seen[number] = failed
        if not failed.startswith(("exit code -", "more than ")):
            with self.path.open("a") as file:
                file.write(f"{number} {failed}\n")

    def forget(self) -> None:
        self.path.unlink()


def run(tree: pathlib.Path, mutant: Mutant, number: int) -> str:
    """The first test that failed; "": none."""
    name = name_of(mutant)
    program = next(tree.glob(f"unit_tests/**/{name}"))
    launcher = [os.environ.get("STRATA_MPIEXEC", "mpiexec"), "-n", str(mutant.ranks)] if mutant.ranks else []
    words = [*launcher, program, f"--gtest_filter={mutant.tests}", "--gtest_fail_fast"]
    try:
        done = subprocess.run(words, env={**os.environ, "STRATA_MUTANT": str(number)}, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"more than {SECONDS} s"
    if "Running 0 tests" in done.stdout:
        raise SystemExit(f"{name} has no test {mutant.tests}")
    if done.returncode == 0:
        return ""
    failed = re.search(r"^\[  FAILED  \] (\S+?),? ", done.stdout, re.M)
    return failed.group(1) if failed else f"exit code {done.returncode}"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("source", type=pathlib.Path)
    arguments.add_argument("build", type=pathlib.Path, nargs="?")
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("--only", default="")
    options = arguments.parse_args()
    source = options.source.resolve()
    chosen = [(number, mutant) for number, mutant in enumerate(MUTANTS, 1) if re.search(options.only, mutant.name)]
    if options.check:
        print(f"{len(chosen)} mistakes in {len(mutated(source, chosen))} files")
        return
    tree, digest = copy(source, options.build.resolve(), chosen)
    record = Record(tree / "mutants.txt", digest)
    for program in dict.fromkeys(name_of(mutant) for _, mutant in chosen):
        mine = [(number, mutant) for number, mutant in chosen if name_of(mutant) == program and number not in record.seen]
        if mine:
            subprocess.run(["cmake", "--build", tree, "--target", program], check=True, stdout=subprocess.DEVNULL)
        for tests, ranks in dict.fromkeys((mutant.tests, mutant.ranks) for _, mutant in mine):
            if failed := run(tree, mine[0][1]._replace(tests=tests, ranks=ranks), 0):
                raise SystemExit(f"{program}, {tests}, fails without a mistake: {failed}")
        for number, mutant in mine:
            begin = time.monotonic()
            failed = run(tree, mutant, number)
            record.add(number, failed)
            print(f"{number:3} {time.monotonic() - begin:5.1f} s  {mutant.name}: {failed or 'NOT SEEN'}", flush=True)
    record.forget()  # the next run tries all again
    unseen = [mutant.name for number, mutant in chosen if not record.seen[number]]
    share = 1 - len(unseen) / max(1, len(chosen))
    print(f"{len(chosen) - len(unseen)} of {len(chosen)} seen, {100 * share:.0f} %")
    sys.exit(share < LEAST)


if __name__ == "__main__":
    main()
