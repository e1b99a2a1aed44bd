# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Threads, forks, Ctrl-C and the end of the process."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Callable

import numpy as np
import problems
import processes
import pytest
import strata
from problems import Array

N = 300
TOLERANCE = problems.tolerance(N)


def test_threads_with_factors_of_their_own() -> None:
    b = np.ones(N)

    def work(seed: int) -> float:
        worst = 0.0
        for k in range(5):
            a = problems.graded(N, 1e4, seed=10 * seed + k)
            worst = max(worst, problems.backward_error(a, strata.solve(a, b, "fp16,fp32"), b))
        return worst

    with ThreadPoolExecutor(2) as pool:
        assert max(pool.map(work, range(4))) <= TOLERANCE


def test_threads_with_one_factor() -> None:
    a = problems.graded(N, 1e4)
    factor = strata.cholesky(a, "fp16,fp32")

    def work(seed: int) -> float:
        b = np.random.default_rng(seed).standard_normal((N, 2))
        return max(problems.backward_error(a, factor.solve(b), b) for _ in range(5))

    with ThreadPoolExecutor(4) as pool:
        assert max(pool.map(work, range(8))) <= TOLERANCE


def large() -> Array:
    """A matrix whose factorisation takes a while: diagonally dominant, n = 2500."""
    n = 2500
    a = np.full((n, n), 1.0 / n)
    a[np.diag_indices(n)] = 2.0
    return a


@pytest.mark.parametrize("call", [lambda a: strata.cholesky(a, "fp64"), strata.is_positive_definite], ids=["cholesky", "is_positive_definite"])
def test_the_gil_is_free_meanwhile(call: Callable[[Array], object]) -> None:
    a, seen, done = large(), [0], threading.Event()

    def count() -> None:
        while not done.is_set():
            seen[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    begin = time.perf_counter()
    counter.start()
    call(a)
    seconds = time.perf_counter() - begin
    done.set()
    counter.join()
    assert seen[0] > 0.2 * seconds / 0.001  # and not once, as while somebody holds it


def test_a_forked_child_goes_on() -> None:
    if problems.ON_GPU or "Serial" not in strata.configuration() or "OpenMP" in strata.configuration():
        pytest.skip("Kokkos' threads and devices do not survive a fork")
    a, b = problems.graded(N, 1e4), np.ones(N)
    factor = strata.cholesky(a)
    child = os.fork()
    if child == 0:
        ok = False
        try:
            inherited = problems.backward_error(a, factor.solve(b), b) <= TOLERANCE
            ok = inherited and problems.backward_error(a, strata.solve(a, b, "fp32"), b) <= TOLERANCE
        finally:
            os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert problems.backward_error(a, factor.solve(b), b) <= TOLERANCE


def test_ctrl_c_is_heard_and_the_factor_stays_whole() -> None:
    done = processes.run(
        """
import time, numpy as np, strata
n = 1500
a = np.full((n, n), 1.0 / n)
a[np.diag_indices(n)] = 2.0
factor = strata.cholesky(a)
b = np.eye(n)
print("ready", flush=True)
try:
    while True:
        factor.solve(b)
except KeyboardInterrupt:
    print("interrupted", flush=True)
x = factor.solve(b[:, 0])  # waits for what was left behind
assert np.abs(a @ x - b[:, 0]).max() <= 2 * n**0.5 * 2**-52 * (3 * np.abs(x).max() + 1)
print("right", flush=True)
""",
        interrupt=True,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("ready\ninterrupted\nright\n", "", 0)


def test_ctrl_c_is_heard_while_an_exception_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(strata.NotPositiveDefinite, "__init__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        strata.solve(-np.eye(3), np.ones(3))


def test_ctrl_c_is_heard_within_a_second() -> None:
    done = processes.run(
        """
import signal, time, numpy as np, strata
n = 4500
a = np.full((n, n), 1.0 / n)
a[np.diag_indices(n)] = 2.0
def handler(number, frame):
    global heard
    heard = time.perf_counter()
    raise KeyboardInterrupt
signal.signal(signal.SIGINT, handler)
print("ready", flush=True)
begin = time.perf_counter()
try:
    strata.cholesky(a, "fp64")
    print("too fast")
except KeyboardInterrupt:
    print("interrupted", time.perf_counter() - begin < 1.2, flush=True)
strata._core.end_work()
print("all of it", time.perf_counter() - begin > 0.5, flush=True)
""",
        interrupt=True,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("ready\ninterrupted True\nall of it True\n", "", 0)


@pytest.mark.parametrize(
    "end",
    [
        "",
        "import sys; sys.exit(0)",
        "import atexit; atexit.register(lambda: factor.solve(b))",
        "import threading; threading.Thread(target=lambda: [factor.solve(b) for _ in range(100)]).start()",
        "import threading; threading.Thread(target=lambda: [factor.solve(b) for _ in range(100000)], daemon=True).start()",
        "del factor",
        "import gc; cycle = [factor]; cycle.append(cycle); del factor",
        # Python warns of a fork beside threads, as a GPU's runtime has them.
        "import os, warnings; warnings.simplefilter('ignore', DeprecationWarning); os.fork()",
    ],
)
def test_processes_end_without_a_word(end: str) -> None:
    done = processes.run(f"import numpy as np, strata\nfactor = strata.cholesky(np.eye(50)); b = np.ones(50); factor.solve(b)\nprint('ready', flush=True)\n{end}")
    assert (done.stdout, done.stderr, done.returncode) == ("ready\n", "", 0)


def test_what_is_no_longer_used_is_let_go() -> None:
    a = problems.graded(N, 1e4)
    alive = weakref.ref(a)
    factor = strata.cholesky(a)
    del a
    gc.collect()
    kept = alive()
    assert kept is not None  # the factor reads it
    other = problems.graded(N, 1e2)
    factor.refactor(other)
    del kept
    gc.collect()
    assert alive() is None
    alive = weakref.ref(other)
    del other, factor
    gc.collect()
    assert alive() is None


def test_memory_does_not_grow() -> None:
    def pages() -> int:
        return int(open("/proc/self/statm", encoding="ascii").read().split()[1])

    a, b = problems.graded(N, 1e4), np.ones(N)

    def work() -> None:
        for _ in range(30):
            factor = strata.cholesky(a, "fp16,fp32")
            factor.solve(b)
            factor.logdet()
            for bad in (-a, np.full((N, N), np.nan)):
                with pytest.raises((strata.NotPositiveDefinite, ValueError)):
                    strata.cholesky(bad)

    work()
    before = pages()
    work()
    assert (pages() - before) * os.sysconf("SC_PAGESIZE") < 10 * N * N * 8  # of 90 matrices and as many factors
