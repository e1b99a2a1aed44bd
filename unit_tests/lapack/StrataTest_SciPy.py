#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""An unmodified NumPy and SciPy program computes the same with the drop-in preloaded, and Strata did it."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

PROGRAM = pathlib.Path(__file__).with_name("scipy_program.py")
COUNTS = re.compile(r"strata_lapack: \S+\[\d+\]: (\w+): (\d+) calls by Strata, (\d+) by the system's LAPACK")
LARGEST = 0.05  # residuals are scaled by n eps


def run(settings=None):
    """What the program printed, and the counts; with the drop-in if there are settings."""
    environment = dict(os.environ)
    if settings is not None:
        environment.update(LD_PRELOAD=os.environ["STRATA_LAPACK_LIBRARY"], STRATA_LAPACK=settings)
    done = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    counts = {name: (int(strata), int(system)) for name, strata, system in COUNTS.findall(done.stderr)}
    rest = [line for line in done.stderr.splitlines() if not COUNTS.match(line)]
    return json.loads(done.stdout), counts, rest


class SciPy(unittest.TestCase):
    def same_results(self, settings):
        plain, _, _ = run()
        preloaded, counts, rest = run(settings)
        print("without:", plain, "\nwith:   ", preloaded, "\ncounts:  ", counts)
        self.assertEqual(rest, [])
        self.assertEqual(preloaded.keys(), plain.keys())
        for name, value in preloaded.items():
            if isinstance(value, str):
                self.assertEqual(value, plain[name])
            else:
                self.assertLess(plain[name], LARGEST, name)
                self.assertLess(value, LARGEST, name)
        return counts

    def test_large_systems_reach_strata(self):
        few = "threshold=512," if os.environ.get("STRATATEST_TARGET") == "GPUs" else ""
        counts = self.same_results(few + "trace=1")
        for routine in ("dpotrf", "dpotrs", "spotrf", "spotrs", "dposv"):
            self.assertGreater(counts[routine][0], 0, routine)
            self.assertEqual(counts[routine][1], 0, routine)

    def test_small_systems_go_to_the_systems_lapack(self):
        counts = self.same_results("threshold=701,trace=1")
        for routine in ("dpotrf", "dpotrs", "spotrf", "spotrs", "dposv"):
            self.assertEqual(counts[routine][0], 0, routine)
            self.assertGreater(counts[routine][1], 0, routine)

    def test_programs_that_solve_nothing_load_nothing(self):
        environment = dict(os.environ, LD_PRELOAD=os.environ["STRATA_LAPACK_LIBRARY"])
        maps = subprocess.run(["cat", "/proc/self/maps"], capture_output=True, text=True, env=environment).stdout
        self.assertIn("libstrata_lapack", maps)
        for library in ("libstrata_c", "blas", "lapack.so.3", "kokkos"):
            self.assertNotIn(library, maps)

    def test_nothing_is_printed_unless_asked(self):
        _, counts, rest = run("")
        self.assertEqual((counts, rest), ({}, []))

    def test_settings_that_are_not_understood_are_named(self):
        _, _, rest = run("treshold=1")
        self.assertEqual(
            [line.split("]: ", 1)[-1] for line in rest],
            ["STRATA_LAPACK: no setting 'treshold'; there are threshold, layers, leaf, trace and lapack; the defaults are used"],
        )

    def test_layers_that_there_are_not_are_named(self):
        _, _, rest = run("layers=fp16:fp12")
        self.assertEqual(len(rest), 1, rest)
        self.assertIn("fp12", rest[0])
        self.assertIn("the defaults are used", rest[0])


if __name__ == "__main__":
    try:
        from scipy.linalg import _flapack
    except ImportError:
        print("SciPy is not installed")
        sys.exit(77)
    if b"scipy_dpotrf_" in pathlib.Path(_flapack.__file__).read_bytes():
        print("SciPy is a wheel of PyPI, which calls a LAPACK of its own by names of its own")
        sys.exit(77)
    unittest.main()
