#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Run LAPACK's own test programs (Debian: liblapack-test) with the drop-in preloaded.

They exit 0 even when tests fail, so their output is read. Every path has to pass its checks and its error exits, and
nothing may be reported besides. The drop-in's counts have to show that each routine was Strata's.
"""
import glob
import math
import os
import pathlib
import re
import subprocess
import sys

SKIPPED = 77
LEAST_CHECKS = 3000

PASSED = re.compile(r"All tests for (.+?)\s+passed the threshold \(\s*(\d+) tests run\)")
FAILED = re.compile(r"(.+?):\s*(\d+) out of\s+(\d+) tests failed to pass the threshold")
# A check of a refined solution: it fails above sqrt(N), and its residual, of numbers of one unit, is rounded itself.
RATIO = re.compile(r"N =\s*(\d+), NRHS=\s*\d+, type\s*\d+, test\(\s*1\) =\s*(\S+)")
EXITS = re.compile(r"(\S+ (?:routines|drivers)) passed the tests of the error exits")
# Anything that a tester says of a wrong result, argument or INFO; "***" begins or ends all of it.
TROUBLE = re.compile(r"\*\*\*|[Ff]ail|Illegal|illegal|XERBLA|Invalid|Test\(|INFO\s*=|did not|not detected|unrecognized")
COUNTS = re.compile(r"strata_lapack: \S+\[\d+\]: (\w+): (\d+) calls by Strata, (\d+) by the system's LAPACK")

SIZES = "0 1 2 3 5 10 17 32 50 64 100 132"
LINEAR = f"""Data file for testing LAPACK linear eqn. routines
7                      Number of values of M
0 1 2 3 5 10 50        Values of M (row dimension)
12                     Number of values of N
{SIZES}                Values of N (column dimension)
3                      Number of values of NRHS
1 2 15                 Values of NRHS (number of right hand sides)
5                      Number of values of NB
1 3 3 3 20             Values of NB (the blocksize)
1 0 5 9 1              Values of NX (crossover point)
1                      Number of values of RANK
90                     Values of rank (as a % of N)
30.0                   Threshold value of test ratio
T                      Put T to test the LAPACK routines
T                      Put T to test the driver routines
T                      Put T to test the error exits
PATH   9               List types on next line if 0 < NTYPES <  9
"""
MIXED = f"""Data file for testing DSGESV/DSPOSV LAPACK routines
12                                      Number of values of M
{SIZES}                                 Values of M (row dimension)
4                                       Number of values of NRHS
1 2 15 16                               Values of NRHS (number of right hand sides)
30.0                                    Threshold value of test ratio
T                                       Put T to test the driver routine
T                                       Put T to test the error exits
DPO  9                                  Number of matrix types to be tested
"""

# program, its input, settings, the paths that it has to report, the routines that Strata has to have done
RUNS = [
    ("xlintstd", LINEAR.replace("PATH", "DPO"), "leaf=0", {"DPO routines", "DPO drivers"}, ("dpotrf", "dpotrs", "dposv")),
    ("xlintstd", LINEAR.replace("PATH", "DPO"), "leaf=7", {"DPO routines", "DPO drivers"}, ("dpotrf", "dpotrs", "dposv")),
    ("xlintsts", LINEAR.replace("PATH", "SPO"), "leaf=0", {"SPO routines", "SPO drivers"}, ("spotrf", "spotrs", "sposv")),
    ("xlintsts", LINEAR.replace("PATH", "SPO"), "leaf=7", {"SPO routines", "SPO drivers"}, ("spotrf", "spotrs", "sposv")),
    ("xlintstds", "dstest.in", "leaf=0", {"DSPOSV drivers", "DSGESV drivers"}, ("dsposv",)),
    ("xlintstds", MIXED, "leaf=16,layers=fp32", {"DSPOSV drivers"}, ("dsposv",)),
    ("xlintstds", MIXED, "leaf=16,layers=bf16:bf16:fp32", {"DSPOSV drivers"}, ("dsposv",)),
    ("xlintstds", MIXED, "leaf=16,layers=fp16:fp32", {"DSPOSV drivers"}, ("dsposv",)),
]


def judge(text, paths):
    """(checks, offences) of a tester's output."""
    offences = []
    checks = sum(int(count) for _, count in PASSED.findall(text))
    rounded = [float(ratio) <= math.sqrt(int(n)) + 1 for n, ratio in RATIO.findall(text)]
    for path, n, total in FAILED.findall(text):
        if path.strip() == "DSPOSV" and len(rounded) == int(n) and all(rounded):
            checks += int(total) - int(n)
        else:
            offences.append(f"{n} of {total} checks of {path.strip()} failed")
    exits = set(EXITS.findall(text))
    offences += [f"no word that {path} passed the tests of the error exits" for path in sorted(paths - exits)]
    for line in text.splitlines():
        if TROUBLE.search(line) and not FAILED.search(line):
            offences.append("it says: " + line.strip())
    if "End of tests" not in text:
        offences.append("it stopped before the end of its tests")
    if not checks:
        offences.append("no check was run")
    return checks, offences


def self_test():
    good = " DPO routines passed the tests of the error exits\n\n All tests for DPO routines passed the threshold (   12 tests run)\n End of tests\n"
    bad = [
        good.replace("All tests for DPO routines passed the threshold (   12 tests run)", "DPO:    1 out of   12 tests failed to pass the threshold"),
        good.replace("passed the tests of the error exits", "failed the tests of the error exits"),
        good + " *** Error code from DPOTRF = 3 ***\n",
        good + " *** Illegal value of parameter number  4 not detected by DPOTRF ***\n",
        good + " *** XERBLA was called with INFO =  2 instead of  4 ***\n",
        good + " UPLO='L', N =   10, NB =   3, type  4, test  1, ratio =  99.\n Test(1)",
        good.replace("End of tests", ""),
        "",
    ]
    assert judge(good, {"DPO routines"}) == (12, []), judge(good, {"DPO routines"})
    mixed = good.replace("DPO", "DSPOSV").replace("All tests for DSPOSV routines passed the threshold (   12 tests run)",
                                                  "UPLO='L', N =    3, NRHS= 16, type  9, test( 1) =  RATIO\n DSPOSV:      1 out of     12 tests failed to pass the threshold")
    assert judge(mixed.replace("RATIO", "1.7398"), {"DSPOSV routines"}) == (11, [])
    assert judge(mixed.replace("RATIO", "2.7398"), {"DSPOSV routines"})[1]
    for text in bad:
        assert judge(text, {"DPO routines"})[1], text


def tester_folder():
    found = glob.glob("/usr/lib/*/lapack/xlintstd") + glob.glob("/usr/lib/lapack/xlintstd")
    return pathlib.Path(found[0]).parent if found else None


def run(folder, library, program, text, settings, paths, routines, threshold=0):
    """Run one tester; (checks, offences, counts)."""
    if text.endswith(".in"):
        text = (folder / text).read_text()
    environment = dict(os.environ, LD_PRELOAD=library, STRATA_LAPACK=f"threshold={threshold},trace=1,{settings}")
    done = subprocess.run([folder / program], input=text, capture_output=True, text=True, env=environment, timeout=600)
    checks, offences = judge(done.stdout, paths)
    counts = {name: (int(strata), int(system)) for name, strata, system in COUNTS.findall(done.stderr)}
    rest = [line for line in done.stderr.splitlines() if line and not COUNTS.match(line)]
    offences += ["on stderr: " + line for line in rest]
    if done.returncode:
        offences.append(f"exit status {done.returncode}")
    for routine in routines:
        strata, system = counts.get(routine, (0, 0))
        if not strata or system:
            offences.append(f"{routine}: {strata} calls reached Strata, {system} the system's LAPACK")
    return checks, offences, {routine: counts.get(routine, (0, 0))[0] for routine in routines}


def main():
    library = os.environ["STRATA_LAPACK_LIBRARY"]
    self_test()
    folder = tester_folder()
    if folder is None:
        print("LAPACK's test programs are not installed (Debian: liblapack-test)")
        return SKIPPED
    # The proof can fail: above the threshold nothing reaches Strata, and that is found.
    assert len(run(folder, library, *RUNS[-1], threshold=100000)[1]) == 1
    total = failures = 0
    reached = {}
    for program, text, settings, paths, routines in RUNS:
        checks, offences, counts = run(folder, library, program, text, settings, paths, routines)
        total += checks
        failures += len(offences)
        for routine, count in counts.items():
            reached[routine] = reached.get(routine, 0) + count
        print(f"{program} {settings}: {checks} checks, {len(offences)} offences")
        for text in offences:
            print("  " + text)
    print("calls that reached Strata: " + ", ".join(f"{name} {count}" for name, count in sorted(reached.items())))
    print(f"{total} checks of LAPACK's testers, {failures} failures")
    if total < LEAST_CHECKS:
        print(f"fewer than {LEAST_CHECKS} checks: which tests were left out?")
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
