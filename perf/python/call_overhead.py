#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a call from Python costs over the C++ that it runs: medians of wall time less the seconds that the library reports.

--most MICROSECONDS: exit status 1 if one costs more. Set OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 for small systems.
"""
import argparse
import statistics
import sys
import time

import numpy as np
import scipy.linalg
import scipy.sparse
import strata


def measure(call, seconds, repeat):
    """Medians in microseconds: of the call, and of what the library says that it took (None: not known)."""
    walls, inside = [], []
    for _ in range(repeat):
        begin = time.perf_counter()
        result = call()
        walls.append(1e6 * (time.perf_counter() - begin))
        inside.append(1e6 * seconds(result) if seconds else 0.0)
    return statistics.median(walls), statistics.median(inside) if seconds else None


def cases(n):
    """(what, call, seconds of its result)"""
    a = np.eye(n) + 1.0 / n
    b = np.ones(n)
    factor = strata.cholesky(a)
    out = np.empty(n)
    line = scipy.sparse.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(n, n), format="csr")
    solver = strata.sparse.Solver(line)
    yield "cholesky(A)", lambda: strata.cholesky(a), lambda f: f.report.seconds
    yield "factor.solve(b)", lambda: factor.solve(b), lambda _: factor.last_solve.seconds
    yield "factor.solve(b, out)", lambda: factor.solve(b, out), lambda _: factor.last_solve.seconds
    yield "solver.solve(b), sparse", lambda: solver.solve(b), lambda _: solver.last_solve.solve_seconds
    places = np.random.default_rng(1).random((n, 2))
    covariances = strata.geostat.Factor(places, strata.geostat.Matern(1.0, 0.1, nugget=0.1))
    yield "covariances.loglikelihood", lambda: covariances.loglikelihood(b), lambda found: found.seconds
    yield "covariances.gradient", lambda: covariances.gradient(b), lambda found: found.seconds
    theirs = scipy.linalg.cho_factor(a)
    yield "scipy cho_factor(A)", lambda: scipy.linalg.cho_factor(a), None
    yield "scipy cho_solve(c, b)", lambda: scipy.linalg.cho_solve(theirs, b), None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[2, 50, 500])
    parser.add_argument("--repeat", type=int, default=1000)
    parser.add_argument("--most", type=float)
    arguments = parser.parse_args()
    print(strata.configuration())
    print(f"{'call':<26}{'n':>6}{'microseconds':>14}{'in C++':>10}{'over':>8}")
    worst = 0.0
    for n in arguments.n:
        for what, call, seconds in cases(n):
            wall, inside = measure(call, seconds, arguments.repeat)
            over = wall - inside if inside is not None else None
            worst = max(worst, over or 0.0)
            print(f"{what:<26}{n:>6}{wall:>14.1f}" + (f"{inside:>10.1f}{over:>8.1f}" if inside is not None else ""))
    if arguments.most is not None and worst > arguments.most:
        sys.exit(f"{worst:.1f} microseconds over C++ are more than {arguments.most}")


if __name__ == "__main__":
    main()
