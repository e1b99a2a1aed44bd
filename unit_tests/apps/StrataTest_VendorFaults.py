#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""One call of a vendor's GPU library fails: the program goes on to the right answer, or ends soon with one sentence.

First each program runs undisturbed and the calls that it makes are counted; then the first, second, fifth, twentieth and last of
each call fail, one a run. STRATATEST_JOBS runs at once; after STRATATEST_BUDGET seconds no more are begun.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import time
import unittest

from strata_program import PROGRAM, ProgramTest, read_npy

FAULTS = os.environ.get("STRATA_VENDOR_FAULTS", "")
MPIEXEC = os.environ.get("STRATA_MPIEXEC", "")
SECONDS = int(os.environ.get("STRATATEST_SECONDS", 20))  # a run
BUDGET = float(os.environ.get("STRATATEST_BUDGET", "inf"))
JOBS = int(os.environ.get("STRATATEST_JOBS", 4))
NUMBERS = (1, 2, 5, 20)

DENSE = ("solve", "--generate", "geometric", "--n", 3000)
PROGRAMS = {
    "layers": (*DENSE, "--layers", "fp16x3,fp32", "--log-determinant"),
    "fp8": (*DENSE, "--layers", "fp8_e4m3,fp16x2,fp32"),
    "fp64": (*DENSE, "--layers", "fp64", "--compare"),
    "out_of_core": ("solve", "--generate", "dominant", "--n", 3000, "--out-of-core", "--tile", 500, "--device-memory", "64MB",
                    "--precisions", "fp64,fp32,fp16", "--epsilon", "1e-5"),
    "sparse": ("solve", "--generate", "poisson27", "--n", 32, "--tolerance", "1e-13"),
    "gmres": ("solve", "--generate", "convection", "--n", 32, "--solver", "gmres", "--preconditioner", "gs", "--tolerance", "1e-13"),
    "hpgmxp": ("hpgmxp", "--nx", 32, "--ny", 32, "--nz", 32, "--rt", 1),
}
# What a sentence says of a failed call: its name or its status.
CAUSE = re.compile(r"cuda[A-Z]|cublas[A-Z?]|CUBLAS_STATUS|cusolver[A-Z]|nccl[A-Z]")


class Result:
    """What one run left."""

    def __init__(self, program, folder, fault=""):
        self.program, self.fault, self.folder = program, fault, pathlib.Path(folder)
        self.folder.mkdir()
        arguments = [*map(str, PROGRAMS[program]), "--json", str(self.folder / "report.json")]
        if program != "hpgmxp":
            arguments += ["--output", str(self.folder / "x.npy")]
        environment = {**os.environ, "LD_PRELOAD": FAULTS, "TERM": "dumb", "STRATATEST_VENDOR": fault,
                       "STRATATEST_VENDOR_REPORT": str(self.folder / "calls")}
        begin = time.monotonic()
        try:
            run = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=SECONDS, env=environment)
            self.code, self.err = run.returncode, run.stderr
        except subprocess.TimeoutExpired as late:
            self.code, self.err = "hangs", str(late.stderr)
        self.seconds = time.monotonic() - begin

    def calls(self):
        """How often each call was made."""
        lines = (self.folder / "calls").read_text().splitlines()
        return {name: int(count) for name, count in map(str.split, lines)}

    def report(self):
        return json.loads((self.folder / "report.json").read_text())

    def what_is_wrong(self, undisturbed):
        """A sentence, or nothing."""
        if self.code == 0:
            return self.what_differs(undisturbed)
        no_memory = re.search("memory|allocate", self.err)  # `strata solve` takes that for a system too large: exit code 2
        if self.code != 1 and not (self.code == 2 and no_memory):
            return f"exit code {self.code}"
        own = [line for line in self.err.splitlines() if not line.startswith("Kokkos::")]  # it complains where it could not begin
        if len(own) != 1 or not own[0].startswith("strata: "):
            return "not a sentence"
        return "" if no_memory or CAUSE.search(self.err) else "no cause"

    def what_differs(self, undisturbed):
        """From the right answer."""
        report, right = self.report(), undisturbed.report()
        if self.program == "hpgmxp":
            keys = ("valid", "iterations_fp64", "iterations_mixed")
            return "" if all(report[key] == right[key] for key in keys) else "another result"
        if report["status"] != "solved" or not report["forward_error"] < 1e-8:
            return f"{report['status']}, forward error {report['forward_error']}"
        x, y = (read_npy(one.folder / "x.npy")[1] for one in (self, undisturbed))
        distance = max(abs(a - b) for a, b in zip(x, y)) / max(map(abs, y))
        return "" if len(x) == len(y) and distance < 1e-8 else f"x is {distance} away"


def faults_of(undisturbed):
    """(program, "CALL:K") of all runs, the first calls of all programs before the second ones."""
    chosen = []
    for program, result in undisturbed.items():
        for call, count in result.calls().items():
            numbers = sorted({k for k in NUMBERS if k <= count} | {count})
            chosen += [(numbers.index(k), program, f"{call}:{k}") for k in numbers]
    return [(program, fault) for _, program, fault in sorted(chosen, key=lambda each: each[0])]


@unittest.skipUnless(FAULTS, "needs the library of the faults")
class VendorFaults(ProgramTest):
    def test_a_call_fails(self):
        end = time.monotonic() + BUDGET
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            undisturbed = dict(zip(PROGRAMS, pool.map(lambda program: Result(program, self.path(program)), PROGRAMS)))
            for program, result in list(undisturbed.items()):
                with self.subTest(program=program):
                    del undisturbed[program]  # unless it is right
                    self.assertEqual(result.code, 0, result.err)
                    self.assertEqual(result.what_differs(result), "")
                    undisturbed[program] = result
            faults = faults_of(undisturbed)
            if not faults:
                self.skipTest("no call of a vendor's library was made")

            def run(number):
                program, fault = faults[number]
                return Result(program, self.path(str(number)), fault) if time.monotonic() < end else None

            results = [result for result in pool.map(run, range(len(faults))) if result]
        wrong = {result: result.what_is_wrong(undisturbed[result.program]) for result in results}
        survived = sum(result.code == 0 for result in results)
        print(f"{len(faults)} faults, {len(results)} tried: {survived} survived, "
              f"{sum(result.code in (1, 2) for result in results)} refused, {sum(map(bool, wrong.values()))} wrong; "
              f"slowest run {max(result.seconds for result in results):.1f} s")
        for result in results:
            mark = wrong[result] or ("survived" if result.code == 0 else "refused")
            print(f"{mark:10} {result.program:12} {result.fault:34} {result.seconds:5.1f} s  {result.err.strip()[:300]}")
        self.assertEqual([f"{r.program} {r.fault}: {text}" for r, text in wrong.items() if text], [])


@unittest.skipUnless(FAULTS and MPIEXEC, "needs the library of the faults, and MPI")
class NcclFaults(ProgramTest):
    """On the second of two ranks, which have a GPU each."""

    HPGMXP = ("hpgmxp", "--nx", "32", "--rt", "1")
    TILES = ("solve", "--out-of-core", "--generate", "matern", "--n", "3000", "--tile", "250")

    def ranks(self, run, fault=""):
        preload = f'[ "${{PMIX_RANK:-$PMI_RANK}}" = 1 ] && export LD_PRELOAD={FAULTS} STRATATEST_VENDOR={fault}; exec "$@"'
        words = [MPIEXEC, "-n", "2", *(("sh", "-c", preload, "sh") if fault else ()), PROGRAM, *run, "--transport", "enqueued"]
        return subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, env={**os.environ, "TERM": "dumb"})

    def test_a_call_fails_on_one_rank(self):
        self.fails(self.HPGMXP, ("ncclCommInitRankConfig", (1,)), ("ncclAllReduce", (1, 20, 300)), ("ncclGroupEnd", (1, 50, 500)))

    def test_a_call_fails_on_one_rank_while_tiles_travel(self):
        self.fails(self.TILES, ("ncclCommInitRankConfig", (1, 2)), ("ncclSend", (1, 2, 20)), ("ncclRecv", (1, 2, 20)))

    def fails(self, program, *faults):
        undisturbed = self.ranks(program)
        if "transport enqueued: " in undisturbed.stderr:
            self.skipTest(undisturbed.stderr)
        self.assertEqual(undisturbed.returncode, 0, undisturbed.stderr)
        for call, numbers in faults:
            for number in numbers:
                with self.subTest(call=call, number=number):
                    run = self.ranks(program, f"{call}:{number}")
                    self.assertEqual(run.returncode, 1, run.stderr)
                    self.assertRegex(run.stderr, f"strata: rank 1 alone: .*{call}")


if __name__ == "__main__":
    unittest.main()
