#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""A symmetric system that is not definite, beside LAPACK's dsysv in one run: seconds of each, and how many times as fast Strata is.

  saddle   a covariance bordered by a tenth as many constraints
  random   entries uniform in (-1, 1)

Medians of --repeat runs, by turns, after one of each that warms up; --processor: processor seconds of all threads. LAPACK is SciPy's. The
program fails if a backward error is above n 2^-52.
"""
import argparse
import statistics
import sys
import time

import numpy as np
import strata
from scipy.linalg import lapack


def matrix(kind, n):
    random = np.random.default_rng(1)
    if kind == "random":
        R = random.uniform(-1, 1, (n, n))
        return np.asfortranarray(np.tril(R) + np.tril(R, -1).T)
    m = n // 11
    t = np.sort(random.random(n - m))
    K = np.exp(-abs(t[:, None] - t) * 30) + 1e-2 * np.eye(n - m)
    F = random.standard_normal((n - m, m))
    return np.asfortranarray(np.block([[K, F], [F.T, np.zeros((m, m))]]))


def by_strata(A, b, layers):
    factor = strata.symmetric_factor(A, layers)
    x = factor.solve(b)
    return x, factor.report, factor.last_solve


def by_lapack(A, b):
    work, info = lapack.dsysv_lwork(len(A), lower=1)
    x = lapack.dsysv(A, b, lwork=int(work), lower=1)
    if x[3] != 0:
        sys.exit(f"dsysv: info {x[3]}")
    return x[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 2000, 4000])
    parser.add_argument("--kinds", nargs="+", default=["saddle", "random"], choices=("saddle", "random"))
    parser.add_argument("--layers", default="auto")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--processor", action="store_true")
    options = parser.parse_args()
    clock = time.process_time if options.processor else time.perf_counter
    print(f"{'matrix':14} {'Strata s':>10} {'dsysv s':>10} {'ratio':>7}  rung, iterations, growth, backward error")
    for kind in options.kinds:
        for n in options.sizes:
            A = matrix(kind, n)
            b = np.random.default_rng(2).standard_normal(n)
            times = {"ours": [], "theirs": []}
            for run in range(options.repeat + 1):
                begin = clock()
                x, report, solve = by_strata(A, b, options.layers)
                middle = clock()
                by_lapack(A, b)
                end = clock()
                if run > 0:
                    times["ours"].append(middle - begin)
                    times["theirs"].append(end - middle)
            ours, theirs = statistics.median(times["ours"]), statistics.median(times["theirs"])
            error = abs(b - A @ x).max() / (abs(A).sum(axis=1).max() * abs(x).max() + abs(b).max())
            print(f"{kind + ' ' + str(n):14} {ours:10.4f} {theirs:10.4f} {theirs / ours:6.2f}x  {report.rung}, {solve.iterations}, {report.growth:.1g}, {error:.1e}", flush=True)
            if not error < n * 2.0**-52:
                sys.exit(f"the backward error of {kind} {n} is {error}")


if __name__ == "__main__":
    main()
