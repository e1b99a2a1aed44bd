#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a call from Python costs over the C++ that it runs: medians of wall time less the seconds that the C++ took.

After milliseconds of C++ the caches have none of Python's code left, whose calls then take longer, whosever they are. What that costs is the
last column: the same call with n = 2, for which nothing depends on n, after NumPy has multiplied two matrices of order n.

--most MICROSECONDS: exit status 1 if one costs more, and more than 3 % of the call, in the best of a few rounds. --cold FACTOR lets a call cost
FACTOR times the last column as well: a copy of A costs more wherever it is made, a slow memory does not. Set OPENBLAS_NUM_THREADS=1
OMP_NUM_THREADS=1 for small systems.
"""
import argparse
import statistics
import sys
import time

import numpy as np
import scipy.linalg
import scipy.sparse
import strata

ROUNDS = 5  # of which a busy machine may spoil all but one


def measure(call, repeat, seconds, before=lambda: None):
    """Medians in microseconds: of the call, and of what it costs over C++, of `repeat` calls or as many as the seconds suffice for."""
    walls, over = [], []
    end = time.perf_counter() + seconds
    while len(walls) < 5 or (len(walls) < repeat and time.perf_counter() < end):
        before()
        begin = time.perf_counter()
        call()
        walls.append(1e6 * (time.perf_counter() - begin))
        over.append(walls[-1] - 1e6 * strata._core.seconds_of_work())
    return statistics.median(walls), statistics.median(over)


def cases(n):
    """(what, call, whether it is Strata's)"""
    a = np.eye(n) + 1.0 / n
    b, out = np.ones(n), np.empty(n)
    factor = strata.cholesky(a)
    yield "cholesky(A)", lambda: strata.cholesky(a), True
    yield "factor.solve(b)", lambda: factor.solve(b), True
    yield "factor.solve(b, out)", lambda: factor.solve(b, out), True
    line = scipy.sparse.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(n, n), format="csr")
    solver, preconditioner = strata.sparse.Solver(line), strata.sparse.Preconditioner(line)
    yield "solver.solve(b), sparse", lambda: solver.solve(b), True
    yield "preconditioner.apply(b)", lambda: preconditioner.apply(b), True
    places, theta = np.random.default_rng(1).random((n, 2)), strata.geostat.Matern(1.0, 0.1, nugget=0.1)
    covariances = strata.geostat.Factor(places, theta)
    yield "covariances.refactor(theta)", lambda: covariances.refactor(theta), True
    yield "covariances.loglikelihood", lambda: covariances.loglikelihood(b, "none"), True
    yield "covariances.gradient", lambda: covariances.gradient(b, "none", wanted=["sigma2", "range"]), True
    theirs = scipy.linalg.cho_factor(a)
    yield "scipy cho_factor(A)", lambda: scipy.linalg.cho_factor(a), False
    yield "scipy cho_solve(c, b)", lambda: scipy.linalg.cho_solve(theirs, b), False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[2, 64, 200, 500])
    parser.add_argument("--repeat", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each call at most, but for five of them")
    parser.add_argument("--most", type=float)
    parser.add_argument("--cold", type=float, default=0.0)
    arguments = parser.parse_args()
    print(strata.configuration())
    print(f"{'call':<28}{'n':>6}{'microseconds':>14}{'over C++':>10}{'of n = 2 after NumPy':>22}")
    too_much = []
    smallest = {what: call for what, call, _ in cases(2)}
    for n in arguments.n:
        square = np.random.default_rng(2).random((n, n))
        for what, call, ours in cases(n):
            for _ in range(ROUNDS):
                wall, over = measure(call, arguments.repeat, arguments.seconds)
                if not ours:
                    break
                cold = measure(smallest[what], arguments.repeat, arguments.seconds, lambda by=square: by @ by)[1]
                most = max(float("inf") if arguments.most is None else arguments.most, 0.03 * wall, arguments.cold * cold)
                if over <= most:
                    break
            print(f"{what:<28}{n:>6}{wall:>14.1f}" + (f"{over:>10.1f}{cold:>22.1f}" if ours else ""), flush=True)
            if ours and over > most:
                too_much.append(f"{what} at n = {n}: {over:.1f} microseconds over C++ are more than {most:.1f}")
    sys.exit("\n".join(too_much) or 0)


if __name__ == "__main__":
    main()
