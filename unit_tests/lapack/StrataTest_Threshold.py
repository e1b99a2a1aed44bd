#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Who does a call just below and at the threshold, where no setting has one: of each routine, as the manual and the page have it."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
TARGET = os.environ["STRATATEST_TARGET"]  # hosts or GPUs: what this build is for
ROUTINES = ("spotrf", "dpotrf", "spotrs", "dpotrs", "sposv", "dposv", "dsposv")
PAGE = "docs/interoperability.md", r"\| `threshold` \| .*; default (\d+), in builds for GPUs (\d+)\b"
MANUAL = "c/strata.h", r"default (\d+), in builds for GPUs (\d+)\b"
PROGRAM = """
import ctypes, json, sys
program = ctypes.CDLL(None)
single, double, number = ctypes.c_float, ctypes.c_double, lambda value: ctypes.byref(ctypes.c_int(value))
strata, system = ctypes.c_int64(), ctypes.c_int64()

def identity(real, n):
    A = (real * (n * n))()
    for j in range(n):
        A[j * n + j] = 1
    return A

def who_did(name, n):
    real = single if name[0] == "s" else double
    A, b, x, info = identity(real, n), (real * n)(1), (real * n)(), ctypes.c_int(-9)
    if name.endswith("potrf"):
        program[name + "_"](b"L", number(n), A, number(n), ctypes.byref(info))
    elif name == "dsposv":
        program.dsposv_(b"L", number(n), number(1), A, number(n), b, number(n), x, number(n), (double * n)(), (single * (n * (n + 1)))(),
                        number(0), ctypes.byref(info))
    else:
        program[name + "_"](b"L", number(n), number(1), A, number(n), b, number(n), ctypes.byref(info))
    assert info.value == 0, (name, n, info.value)
    program.strata_lapack_calls(name.encode(), ctypes.byref(strata), ctypes.byref(system))
    return strata.value, system.value

print(json.dumps({name: [who_did(name, threshold + k) for k in (-1, 0)] for name, threshold in json.loads(sys.argv[1]).items()}))
"""


def documented(path, pattern):
    """The thresholds that a text has: of builds for hosts, and of builds for GPUs."""
    found = re.findall(pattern, (TOP / path).read_text(encoding="utf-8"))
    assert len(found) == 1, (path, found)
    return tuple(map(int, found[0]))


class Threshold(unittest.TestCase):
    def test_the_page_and_the_manual_agree(self):
        self.assertEqual(documented(*PAGE), documented(*MANUAL))

    def test_a_process_without_settings_keeps_to_them(self):
        hosts, gpus = documented(*MANUAL)
        thresholds = dict.fromkeys(ROUTINES, hosts if TARGET == "hosts" else gpus)
        environment = dict(os.environ, LD_PRELOAD=os.environ["STRATA_LAPACK_LIBRARY"])
        environment.pop("STRATA_LAPACK", None)
        command = [sys.executable, "-c", PROGRAM, json.dumps(thresholds)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        # (by Strata, by the system's LAPACK) after each call
        self.assertEqual(json.loads(done.stdout), {name: [[0, 1], [1, 1]] for name in ROUTINES}, thresholds)


if __name__ == "__main__":
    unittest.main()
