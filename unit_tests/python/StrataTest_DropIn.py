# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The package and the drop-in for LAPACK in one process: each has a Strata of its own, and both one Kokkos."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
from scipy.linalg import _flapack

LIBRARY = os.environ.get("STRATA_LAPACK_LIBRARY", "")
OWN_NAMES = b"scipy_dpotrf_" in pathlib.Path(_flapack.__file__).read_bytes()  # as wheels of PyPI give their LAPACK
BEGIN = """
import numpy as np, scipy.linalg, strata
n = 600
a = np.full((n, n), 1.0 / n) + np.eye(n)
b = np.ones(n)
def ours():
    assert np.abs(strata.solve(a, b) - 0.5).max() < 1e-13
def theirs():
    assert np.abs(scipy.linalg.solve(a, b, assume_a="pos") - 0.5).max() < 1e-13
"""


@pytest.mark.skipif(not LIBRARY, reason="the drop-in was not built")
@pytest.mark.skipif(OWN_NAMES, reason="this SciPy calls a LAPACK of its own by names of its own")
@pytest.mark.parametrize("calls", ["ours(); theirs(); ours()", "theirs(); ours(); theirs()"])
def test_each_starts_kokkos_for_the_other(calls: str) -> None:
    environment = dict(os.environ, LD_PRELOAD=LIBRARY, STRATA_LAPACK="trace=1")
    done = subprocess.run([sys.executable, "-c", BEGIN + calls], capture_output=True, text=True, env=environment, timeout=100)
    assert done.returncode == 0, done.stderr
    count = calls.count("theirs")
    assert f"dposv: {count} calls by Strata, 0 by the system" in done.stderr or f"dpotrf: {count} calls by Strata, 0 by" in done.stderr
