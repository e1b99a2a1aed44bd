#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""A dense factor beyond solves, beside LAPACK's way or PyTorch's in one run: seconds of each, and how many times as fast Strata is.

                                          LAPACK                      PyTorch (--device cuda: cuBLAS and cuSOLVER)
  whiten N     L^-1 B, 64 columns         dtrsm                       solve_triangular
  sample N     L Z, 64 columns            dtrmm                       a product
  diagonal N   diag(A^-1)                 dtrtri, sums of squares     solve_triangular of I, sums of squares
  inverse N    A^-1                       dpotri                      cholesky_inverse
  quadratic N  B^T A^-1 B, 64             dtrsm, a product            solve_triangular, a product
  update K N   A + V V^T, K columns, and downdate: dsyrk, dpotrf      a product, cholesky
  append N     a row more, and remove: dpotrf of what there is then   cholesky

Medians of --repeat runs, by turns, after one of each that warms up. LAPACK is SciPy's. The last column is how far both results are apart, and the
program fails if that is too much.
"""
import argparse
import json
import sys

import numpy as np
import scipy.linalg
import strata
from scipy.linalg import blas, lapack
from timed import Machine

COLUMNS = 64


class Lapack:
    """LAPACK's way."""

    def __init__(self, machine):
        self.machine = machine

    def cholesky(self, A):
        return np.asfortranarray(scipy.linalg.cholesky(A, lower=True))

    def refactored(self, A):
        return lapack.dpotrf(A.copy(order="F"), lower=1, overwrite_a=1)[0]

    def solved(self, L, b):
        return lapack.dpotrs(L, b, lower=1)[0]

    def whiten(self, L, B):
        return blas.dtrsm(1.0, L, B, lower=1)

    def sample(self, L, Z):
        return blas.dtrmm(1.0, L, Z, lower=1)

    def diagonal(self, L):
        W, _ = lapack.dtrtri(L, lower=1)
        return np.einsum("ij,ij->j", W, W)

    def inverse(self, L):
        W, _ = lapack.dpotri(L, lower=1)
        return np.tril(W) + np.tril(W, -1).T

    def updated(self, A, V):
        return lapack.dpotrf(blas.dsyrk(1.0, V, beta=1.0, c=A.copy(order="F"), lower=1, overwrite_c=1), lower=1, overwrite_a=1)[0]


class Torch:
    """PyTorch's way, on a GPU with cuBLAS and cuSOLVER."""

    def __init__(self, machine):
        self.machine, self.linalg, self.torch = machine, machine.torch.linalg, machine.torch

    def cholesky(self, A):
        return self.linalg.cholesky(A)

    refactored = cholesky

    def solved(self, L, b):
        return self.torch.cholesky_solve(b[:, None], L)[:, 0]

    def whiten(self, L, B):
        return self.linalg.solve_triangular(L, B, upper=False)

    def sample(self, L, Z):
        return L @ Z

    def diagonal(self, L):
        return self.whiten(L, self.machine.identity(len(L))).square_().sum(0)

    def inverse(self, L):
        return self.torch.cholesky_inverse(L)

    def updated(self, A, V):
        return self.linalg.cholesky(self.torch.addmm(A, V, V.T))


class Cases:
    """(name, ours, theirs, error): each of the two makes operands, and returns what is timed."""

    def __init__(self, machine, n):
        self.machine, self.n = machine, n
        at = machine.xp.sort(machine.uniform(n, 1))
        at = at if machine.torch is None else at.values
        self.A = machine.columns(machine.xp.exp(-abs(at[:, None] - at) * 30) + 1e-2 * machine.identity(n))
        self.theirs = Lapack(machine) if machine.torch is None else Torch(machine)
        self.factor = strata.cholesky(self.A, "fp64")
        self.L = self.theirs.cholesky(self.A)
        self.B = machine.columns(machine.normal((n, COLUMNS), 2))
        self.factor.whitening_error()  # is measured once for a factor

    def relative(self, found, expected):
        found, expected = self.machine.there(found), self.machine.there(expected)
        return float(abs(found - expected).max() / abs(expected).max())

    def products(self):
        L, B, factor, theirs = self.L, self.B, self.factor, self.theirs
        X = self.machine.columns(0 * B)
        yield "whiten", lambda: factor.whiten(B, X), lambda: theirs.whiten(L, B), self.relative
        yield "sample", lambda: factor.sample(B, X), lambda: theirs.sample(L, B), self.relative

        def gram():
            Y = theirs.whiten(L, B)
            return Y.T @ Y

        yield "quadratic", lambda: factor.quadratic_form(B).value, gram, self.relative

    def inverses(self):
        X = self.machine.columns(0 * self.A)
        yield "diagonal", lambda: self.factor.inverse_diagonal().value, lambda: self.theirs.diagonal(self.L), self.relative
        yield "inverse", lambda: self.factor.inverse(X).value, lambda: self.theirs.inverse(self.L), self.relative

    def changes(self):
        """The factor goes there and back, and the other side factors what there is."""
        theirs, b = self.theirs, self.machine.columns(self.B[:, :1])[:, 0]
        own = strata.cholesky(self.A, "fp64")
        own.rank_update(self.machine.columns(0 * self.B[:, :1]))  # has its own A from here on
        for k in (1, 16, 64):
            V = self.machine.columns(0.1 * self.B[:, :k])

            def same(found, expected, V=V):
                own.rank_update(V)
                error = self.relative(own.solve(b), theirs.solved(expected, b))
                own.rank_downdate(V)
                return error

            def there_and_back(V=V):
                own.rank_update(V)
                own.rank_downdate(V)

            yield f"update {k} there and back", there_and_back, lambda V=V: (theirs.updated(self.A, V), theirs.updated(self.A, V))[0], same
        column, last = self.machine.columns(self.A[:, -1:])[:, 0], [self.n - 1]

        def back(found, expected):
            return self.relative(own.solve(b), theirs.solved(expected, b))

        def refactored():
            theirs.refactored(self.A[:-1, :-1])
            return theirs.refactored(self.A)

        yield "remove, append 1", lambda: (own.remove(last), own.append(column)), refactored, back

    def all(self):
        for part in (self.products, self.inverses, self.changes):
            yield from part()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 4000])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--processor-time", action="store_true", help="for a machine that others use, with one thread")
    parser.add_argument("--device", choices=("lapack", "cpu", "cuda"), default="lapack", help="cpu, cuda: beside PyTorch there")
    parser.add_argument("--json", help="file for the numbers")
    given = parser.parse_args()
    machine = Machine(given.device, given.processor_time)
    print(strata.configuration())
    print(f"{'':24} {'n':>6} {machine.theirs:>10} {'Strata':>10} {'times':>7} {'difference':>11}")
    results, wrong = [], False
    for n in given.sizes:
        for name, ours, theirs, error in Cases(machine, n).all():
            (theirs_s, ours_s), (expected, found) = machine.medians([theirs, ours], given.repeat)
            off = error(found, expected)
            wrong |= not off <= 1e-9
            print(f"{name:24} {n:6} {theirs_s:8.4f} s {ours_s:8.4f} s {theirs_s / ours_s:6.2f}x {off:11.1e}", flush=True)
            results.append({"case": name, "n": n, "their_seconds": theirs_s, "strata_seconds": ours_s, "difference": off})
    if given.json:
        about = {"configuration": strata.configuration(), "machine": machine.name(), "theirs": machine.theirs}
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({**about, "results": results}, file, indent=1)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
