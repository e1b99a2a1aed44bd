#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Time SciPy's cho_factor, and LAPACK's dpotrf, dpotrs, dposv and dsposv, with and without the drop-in, in processes that take turns.

    python3 perf/lapack/drop_in.py build/release/lapack/libstrata_lapack.so --n 8192 --repeat 5
    python3 perf/lapack/drop_in.py build/cuda-hopper/lapack/libstrata_lapack.so --n 1024 2048 4096 8192 16384 \\
      --calls dpotrf dposv dsposv --settings threshold=1 --torch

Each process makes the same covariance matrix: exponential, correlation length 1/10, nugget 0.1 on a line of n
places, or --matrix kms for one with a condition near 3. It makes each call once to warm up and times the second.
With --torch a third process uses PyTorch on a GPU (cuSOLVER's potrf and potrs in fp64, for dsposv too). It copies
the matrix to the GPU and the result back, as the drop-in does. The table has the least and
the median time, the ratio of each (without / with: above 1 the drop-in is faster; PyTorch / with) and the largest
normwise backward error of the solution.
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


def dpotrf(A, b, solves=False):
    """The factorisation alone, where there is no SciPy; or the solve with it alone."""
    copy, order, info = A.copy(order="F"), ctypes.c_int(len(b)), ctypes.c_int(0)
    x, one = b.copy(), ctypes.c_int(1)
    process = ctypes.CDLL(None)  # the first of that name: the drop-in's, if it is preloaded
    arguments = (b"L", ctypes.byref(order), ctypes.c_void_p(copy.ctypes.data), ctypes.byref(order), ctypes.byref(info))
    begin = clock()
    process.dpotrf_(*arguments)
    seconds = clock() - begin
    if info.value:
        sys.exit(f"dpotrf: info = {info.value}")
    begin = clock()
    process.dpotrs_(b"L", ctypes.byref(order), ctypes.byref(one), *arguments[2:4], ctypes.c_void_p(x.ctypes.data), arguments[3], arguments[4])
    return clock() - begin if solves else seconds, x, 0


def dpotrs(A, b):
    return dpotrf(A, b, solves=True)


def dposv(A, b):
    copy, x, order, one, info = A.copy(order="F"), b.copy(), ctypes.c_int(len(b)), ctypes.c_int(1), ctypes.c_int(0)
    call = ctypes.CDLL(None).dposv_
    by = ctypes.byref
    begin = clock()
    call(b"L", by(order), by(one), ctypes.c_void_p(copy.ctypes.data), by(order), ctypes.c_void_p(x.ctypes.data), by(order), by(info))
    seconds = clock() - begin
    if info.value:
        sys.exit(f"dposv: info = {info.value}")
    return seconds, x, 0


def by_torch(name, A, b):
    """The same by PyTorch, from host memory to host memory."""
    import torch

    copy, x = torch.from_numpy(A.T.copy()), torch.from_numpy(b.copy())[:, None]
    begin = clock()
    L = torch.linalg.cholesky_ex(copy.cuda())[0]
    if name == "dpotrs":
        copy.copy_(L)
        begin = clock()
        L = copy.cuda()
    if name in ("dpotrf", "cho_factor"):
        copy.copy_(L)
        seconds = clock() - begin
    x = torch.cholesky_solve(x.cuda(), L).cpu()
    if name not in ("dpotrf", "cho_factor"):
        seconds = clock() - begin
    return seconds, x[:, 0].numpy(), 0


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
    results = []
    for n in arguments.n:
        A = matrix(arguments.matrix, n)
        b = np.cos(np.arange(n, dtype=float))
        for name in arguments.calls:
            for _ in range(2):
                seconds, x, iterations = by_torch(name, A, b) if arguments.work == "torch" else CALLS[name](A, b)
            results.append({"call": name, "n": n, "seconds": seconds, "error": backward_error(A, x, b), "iterations": iterations})
    print(json.dumps(results))


def start(arguments, who):
    environment = dict(os.environ)
    preload = who == "with"
    if preload:
        environment["LD_PRELOAD"] = arguments.library
        environment["STRATA_LAPACK"] = arguments.settings + (",trace=1" if arguments.settings else "trace=1")
    command = [sys.executable, __file__, *sys.argv[1:], "--work", who]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    if preload and not any(f": {k} calls by Strata" in done.stderr for k in range(1, 1000)):
        sys.exit("no call reached Strata:\n" + done.stderr)
    return json.loads(done.stdout)


CALLS = {"cho_factor": cho_factor, "dpotrf": dpotrf, "dpotrs": dpotrs, "dposv": dposv, "dsposv": dsposv}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("library", help="libstrata_lapack.so")
    parser.add_argument("--n", type=int, nargs="+", default=[8192])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--matrix", choices=("exponential", "kms"), default="exponential")
    parser.add_argument("--calls", nargs="+", choices=list(CALLS), default=["cho_factor", "dsposv"])
    parser.add_argument("--settings", default="", help="of STRATA_LAPACK")
    parser.add_argument("--torch", action="store_true", help="beside PyTorch on a GPU, too")
    parser.add_argument("--processor-time", action="store_true", help="processor time, for one thread on a busy machine")
    parser.add_argument("--json", help="write all times there")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.processor_time:
        global clock
        clock = time.process_time
    if arguments.work:
        return work(arguments)
    runs = {who: [] for who in ("without", "with", *(["torch"] if arguments.torch else []))}
    for _ in range(arguments.repeat):
        for who in runs:
            runs[who].append(start(arguments, who))
    others = [who for who in runs if who != "with"]
    print(
        f"{'call':12}{'n':>7}"
        + "".join(f"  {who + ' s':>20}" for who in runs)
        + "".join(f"  {who + ' / with':>16}" for who in others)
        + "  iterations  backward error"
    )
    for k, row in enumerate(runs["with"][0]):
        of = {who: [run[k] for run in runs[who]] for who in runs}
        seconds = {who: [one["seconds"] for one in of[who]] for who in runs}
        least, median = ({who: f(seconds[who]) for who in runs} for f in (min, statistics.median))
        print(
            f"{row['call']:12}{row['n']:7}"
            + "".join(f"  {least[who]:9.4f} ({median[who]:8.4f})" for who in runs)
            + "".join(f"  {least[who] / least['with']:7.2f} ({median[who] / median['with']:6.2f})" for who in others)
            + "".join(f"  {of[who][-1]['iterations']:4}" for who in runs if who != "torch")
            + "  "
            + "".join(f" {max(one['error'] for one in of[who]):.1e}" for who in runs)
        )
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"matrix": arguments.matrix, **runs}, file, indent=1)


if __name__ == "__main__":
    main()
