#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Can the tests fail? Each mistake of mutants_list.py is made on purpose, and a test has to see it.

    mutants.py SOURCE --check            each mistake has its place, which is one (milliseconds)
    mutants.py SOURCE BUILD              all of them; `--only PATTERN` those whose names match

All mistakes stand in one build, each as a choice by the number in STRATA_MUTANT: `strata_mutant(17) ? (wrong) : (right)`. BUILD is a
configured tree, whose compilers and options are taken; the copy is made in BUILD/mutants and built in its build/debian, so that a cache
of objects has all that is not changed.
Each program runs once without a mistake, where all must pass, then once for each mistake until the first failure.
"""
from __future__ import annotations

import argparse
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


def make(source: pathlib.Path, build: pathlib.Path, chosen: list[tuple[int, Mutant]]) -> pathlib.Path:
    """The build with these mistakes in it."""
    copy, tree = build / "mutants", build / "mutants/build/debian"
    for name in tracked(source):
        if (source / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, copy / name)  # with its time, so that a second build is short
    for name, text in mutated(source, chosen).items():
        (copy / name).write_text(text)
    (copy / "core/Strata_Mutant.hpp").write_text(CHOICE)
    programs = sorted({mutant.program + ("_mpi" if mutant.ranks else "") for _, mutant in chosen})
    targets = [f"strata_{program}_test" for program in programs]
    subprocess.run(["cmake", "-S", copy, "-B", tree, "-G", "Ninja", *cached(build)], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", tree, "--target", *targets], check=True, stdout=subprocess.DEVNULL)
    return tree


def run(tree: pathlib.Path, mutant: Mutant, number: int) -> str:
    """The first test that failed; "": none."""
    name = f"strata_{mutant.program}{'_mpi' if mutant.ranks else ''}_test"
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
    tree = make(source, options.build.resolve(), chosen)
    for program, tests, ranks in sorted({(m.program, m.tests, m.ranks) for _, m in chosen}):
        if failed := run(tree, Mutant("", "", "", "", program, tests, ranks), 0):
            raise SystemExit(f"{program}, {tests}, fails without a mistake: {failed}")
    unseen = []
    for number, mutant in chosen:
        begin = time.monotonic()
        failed = run(tree, mutant, number)
        print(f"{number:3} {time.monotonic() - begin:5.1f} s  {mutant.name}: {failed or 'NOT SEEN'}", flush=True)
        unseen += [] if failed else [mutant.name]
    share = 1 - len(unseen) / max(1, len(chosen))
    print(f"{len(chosen) - len(unseen)} of {len(chosen)} seen, {100 * share:.0f} %")
    sys.exit(share < LEAST)


if __name__ == "__main__":
    main()
