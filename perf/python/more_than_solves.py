#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""A dense factor beyond solves, beside LAPACK's way in one run: seconds of each, and how many times as fast Strata is.

  whiten N        L^-1 B, 64 columns:  dtrsm
  sample N        L Z, 64 columns:     dtrmm
  diagonal N      diag(A^-1):          dtrtri, sums of squares of its columns
  inverse N       A^-1:                dpotri
  quadratic N     B^T A^-1 B, 64:      dtrsm, a product
  update K N      A + V V^T, K columns, and downdate: dsyrk, dpotrf
  append N        a row more, and remove: dpotrf of what there is then

Medians of --repeat runs, by turns, after one of each that warms up. LAPACK is SciPy's. The last column is how far both results are apart, and the
program fails if that is too much.
"""
import argparse
import json
import statistics
import sys
import time

import numpy as np
import scipy.linalg
import strata
from scipy.linalg import blas, lapack

COLUMNS = 64


def matrix(n):
    """A covariance of places on a line."""
    at = np.sort(np.random.default_rng(1).random(n))
    return np.asfortranarray(np.exp(-abs(at[:, None] - at[None, :]) * 30) + 1e-2 * np.eye(n))


def seconds(clock, run):
    begin = clock()
    result = run()
    return clock() - begin, result


def relative(found, expected):
    return float(abs(found - expected).max() / abs(expected).max())


class Cases:
    """(name, ours, theirs, error): each of the two makes operands, and returns what is timed."""

    def __init__(self, n):
        self.n, self.A = n, matrix(n)
        self.factor = strata.cholesky(self.A, "fp64")
        self.L = np.asfortranarray(scipy.linalg.cholesky(self.A, lower=True))
        self.B = np.asfortranarray(np.random.default_rng(2).standard_normal((n, COLUMNS)))
        self.factor.whitening_error()  # is measured once for a factor

    def products(self):
        L, B, factor = self.L, self.B, self.factor
        X = np.empty_like(B)
        yield "whiten", lambda: factor.whiten(B, X), lambda: blas.dtrsm(1.0, L, B, lower=1), relative
        yield "sample", lambda: factor.sample(B, X), lambda: blas.dtrmm(1.0, L, B, lower=1), relative

        def gram():
            Y = blas.dtrsm(1.0, L, B, lower=1)
            return Y.T @ Y

        yield "quadratic", lambda: factor.quadratic_form(B).value, gram, relative

    def inverses(self):
        L, factor = self.L, self.factor
        X = np.empty_like(L)

        def diagonal():
            W, _ = lapack.dtrtri(L, lower=1)
            return np.einsum("ij,ij->j", W, W)

        def inverse():
            W, _ = lapack.dpotri(L, lower=1)
            return np.tril(W) + np.tril(W, -1).T

        yield "diagonal", lambda: factor.inverse_diagonal().value, diagonal, relative
        yield "inverse", lambda: factor.inverse(X).value, inverse, relative

    def changes(self):
        """The factor goes there and back, and LAPACK factors what there is."""
        own = strata.cholesky(self.A, "fp64")
        own.rank_update(np.zeros((self.n, 1)))  # has its own A from here on

        def factored(A):
            return lapack.dpotrf(A, lower=1, overwrite_a=1)[0]

        for k in (1, 16, 64):
            V = np.asfortranarray(0.1 * self.B[:, :k])

            def theirs(V=V):
                return factored(blas.dsyrk(1.0, V, beta=1.0, c=self.A.copy(order="F"), lower=1, overwrite_c=1))

            def same(found, expected, V=V):
                b = self.B[:, 0]
                own.rank_update(V)
                error = relative(own.solve(b), lapack.dpotrs(expected, b, lower=1)[0])
                own.rank_downdate(V)
                return error

            def update(V=V):
                own.rank_update(V)

            def downdate(V=V):
                own.rank_downdate(V)

            yield f"update {k} there and back", lambda: (update(), downdate()), lambda: (theirs(), theirs())[0], same
        column, last = self.A[:, -1].copy(), [self.n - 1]

        def back(found, expected):
            b = self.B[:, 0]
            return relative(own.solve(b), lapack.dpotrs(expected, b, lower=1)[0])

        def refactored():
            factored(self.A[:-1, :-1].copy(order="F"))
            return factored(self.A.copy(order="F"))

        yield "remove, append 1", lambda: (own.remove(last), own.append(column)), refactored, back

    def all(self):
        for part in (self.products, self.inverses, self.changes):
            yield from part()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 4000])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--processor-time", action="store_true", help="for a machine that others use, with one thread")
    parser.add_argument("--json", help="file for the numbers")
    given = parser.parse_args()
    clock = time.process_time if given.processor_time else time.perf_counter
    print(strata.configuration())
    print(f"{'':24} {'n':>6} {'LAPACK':>10} {'Strata':>10} {'times':>7} {'difference':>11}")
    results, wrong = [], False
    for n in given.sizes:
        for name, ours, theirs, error in Cases(n).all():
            times = {"strata": [], "lapack": []}
            for _ in range(given.repeat + 1):  # the first warms up
                t, expected = seconds(clock, theirs)
                times["lapack"].append(t)
                t, found = seconds(clock, ours)
                times["strata"].append(t)
            theirs_s, ours_s = (statistics.median(times[who][1:]) for who in ("lapack", "strata"))
            off = error(found, expected)
            wrong |= not off <= 1e-9
            print(f"{name:24} {n:6} {theirs_s:8.4f} s {ours_s:8.4f} s {theirs_s / ours_s:6.2f}x {off:11.1e}", flush=True)
            results.append({"case": name, "n": n, "lapack_seconds": theirs_s, "strata_seconds": ours_s, "difference": off})
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"configuration": strata.configuration(), "results": results}, file, indent=1)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
