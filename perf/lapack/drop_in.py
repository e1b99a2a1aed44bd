#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Time SciPy's cho_factor, and LAPACK's dpotrf and dsposv, with and without the drop-in, in processes that take turns.

    python3 perf/lapack/drop_in.py build/release/lapack/libstrata_lapack.so --n 8192 --repeat 5

Each process makes the same covariance matrix (exponential, correlation length 1/10, nugget 0.1 on a line of n
places, or --matrix kms for one with a condition near 3), warms up at n = 1024 and times one call of each. The
table has the least and the median time, the ratio of each (without / with: above 1 the drop-in is faster) and
the largest normwise backward error of the solution.
"""
import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import time


clock = time.perf_counter


def matrix(kind, n):
    import numpy as np

    if kind == "kms":  # Kac, Murdock and Szego's, rho = 1/4
        distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
        A = 0.25**distance
    else:
        places = np.linspace(0.0, 1.0, n)
        A = np.exp(-np.abs(np.subtract.outer(places, places)) / 0.1)
        A[np.arange(n), np.arange(n)] += 0.1 * n**0.5
    return np.asfortranarray(A)


def backward_error(A, x, b):
    import numpy as np

    norm = np.abs(A).sum(axis=0).max()
    return float(np.abs(b - A @ x).max() / (norm * np.abs(x).max() + np.abs(b).max()))


def dpotrf(A, b):
    """The factorisation alone, where there is no SciPy."""
    copy, order, info = A.copy(order="F"), ctypes.c_int(len(b)), ctypes.c_int(0)
    x, one = b.copy(), ctypes.c_int(1)
    process = ctypes.CDLL(None)  # the first of that name: the drop-in's, if it is preloaded
    arguments = (b"L", ctypes.byref(order), ctypes.c_void_p(copy.ctypes.data), ctypes.byref(order), ctypes.byref(info))
    begin = clock()
    process.dpotrf_(*arguments)
    seconds = clock() - begin
    if info.value:
        sys.exit(f"dpotrf: info = {info.value}")
    process.dpotrs_(b"L", ctypes.byref(order), ctypes.byref(one), *arguments[2:4], ctypes.c_void_p(x.ctypes.data), arguments[3], arguments[4])
    return seconds, x, 0


def cho_factor(A, b):
    import scipy.linalg

    begin = clock()
    factor = scipy.linalg.cho_factor(A, lower=True)
    seconds = clock() - begin
    return seconds, scipy.linalg.cho_solve(factor, b), 0


def dsposv(A, b):
    import numpy as np

    n = len(b)
    pointer = lambda a: ctypes.c_void_p(a.ctypes.data)
    order, one, iteration, info = ctypes.c_int(n), ctypes.c_int(1), ctypes.c_int(0), ctypes.c_int(0)
    copy, x, work, swork = A.copy(order="F"), np.zeros(n), np.zeros(n), np.zeros(n * (n + 1), dtype=np.float32)
    call = ctypes.CDLL(None).dsposv_
    by = ctypes.byref
    begin = clock()
    call(b"L", by(order), by(one), pointer(copy), by(order), pointer(b), by(order), pointer(x), by(order), pointer(work), pointer(swork),
         by(iteration), by(info))  # fmt: skip
    seconds = clock() - begin
    if info.value:
        sys.exit(f"dsposv: info = {info.value}")
    return seconds, x, iteration.value


def work(arguments):
    import numpy as np

    ctypes.CDLL("liblapack.so.3", mode=ctypes.RTLD_GLOBAL)
    results = {}
    for name, function in (("cho_factor", cho_factor), ("dpotrf", dpotrf), ("dsposv", dsposv)):
        if name not in arguments.calls:
            continue
        for n in (1024, arguments.n):
            A = matrix(arguments.matrix, n)
            b = np.cos(np.arange(n, dtype=float))
            seconds, x, iterations = function(A, b)
        results[name] = {"seconds": seconds, "error": backward_error(A, x, b), "iterations": iterations}
    print(json.dumps(results))


def start(arguments, preload):
    environment = dict(os.environ)
    if preload:
        environment["LD_PRELOAD"] = arguments.library
        environment["STRATA_LAPACK"] = arguments.settings + (",trace=1" if arguments.settings else "trace=1")
    command = [sys.executable, __file__, *sys.argv[1:], "--work"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    if preload and not any(f": {k} calls by Strata" in done.stderr for k in range(1, 5)):
        sys.exit("no call reached Strata:\n" + done.stderr)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("library", help="libstrata_lapack.so")
    parser.add_argument("--n", type=int, default=8192)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--matrix", choices=("exponential", "kms"), default="exponential")
    parser.add_argument("--calls", nargs="+", choices=("cho_factor", "dpotrf", "dsposv"), default=["cho_factor", "dsposv"])
    parser.add_argument("--settings", default="", help="of STRATA_LAPACK")
    parser.add_argument("--processor-time", action="store_true", help="processor time, for one thread on a busy machine")
    parser.add_argument("--json", help="write all times there")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.processor_time:
        global clock
        clock = time.process_time
    if arguments.work:
        return work(arguments)
    runs = {False: [], True: []}
    for _ in range(arguments.repeat):
        for preload in (False, True):
            runs[preload].append(start(arguments, preload))
    print(f"{'call':12}{'n':>7}  {'without s':>20}  {'with s':>20}  {'ratio':>14}  iterations  backward error")
    for call in arguments.calls:
        times = {p: [run[call]["seconds"] for run in runs[p]] for p in runs}
        least, median = ({p: f(times[p]) for p in runs} for f in (min, statistics.median))
        error = {p: max(run[call]["error"] for run in runs[p]) for p in runs}
        iterations = [runs[p][-1][call]["iterations"] for p in (False, True)]
        print(
            f"{call:12}{arguments.n:7}  {least[False]:9.3f} ({median[False]:8.3f})  {least[True]:9.3f} ({median[True]:8.3f})"
            f"  {least[False] / least[True]:5.2f} ({median[False] / median[True]:6.2f})"
            f"  {iterations[0]:4} {iterations[1]:4}   {error[False]:.1e} {error[True]:.1e}"
        )
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"n": arguments.n, "matrix": arguments.matrix, "without": runs[False], "with": runs[True]}, file, indent=1)


if __name__ == "__main__":
    main()
