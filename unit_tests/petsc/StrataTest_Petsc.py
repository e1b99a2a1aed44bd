#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""-pc_type strata of PETSc, on one rank and on several: StrataTest_Petsc.py LIBRARY. Exit 77 without petsc4py."""
import importlib.util
import sys
import unittest

if importlib.util.find_spec("petsc4py") is None:
    sys.exit(77)
import petsc4py

petsc4py.init(["-dll_append", sys.argv.pop(1)])
from petsc4py import PETSc  # noqa: E402


def grid(m, more=0.0, wind=0.0):
    """The Laplacian of m x m points, with `more` on its diagonal and `wind` to one side."""
    A = PETSc.Mat().createAIJ((m * m, m * m), nnz=5)
    first, end = A.getOwnershipRange()
    for i in range(first, end):
        A[i, i] = 4 + more + wind
        for j, fits in ((i - m, i >= m), (i - 1, i % m > 0), (i + 1, i % m < m - 1), (i + m, i < m * (m - 1))):
            if fits:
                A[i, j] = -1 - (wind if j == i - 1 else 0)
    A.assemble()
    return A


def solver(A, method="cg"):
    ksp = PETSc.KSP().create()
    ksp.setOperators(A)
    ksp.setType(method)
    PETSc.Options()["pc_type"] = "strata"
    ksp.setTolerances(rtol=1e-10, max_it=200)
    if method == "gmres":
        ksp.setPCSide(PETSc.PC.Side.RIGHT)
    ksp.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
    ksp.setFromOptions()
    return ksp


def solved(ksp, A):
    """Iterations, and ||b - A x|| / ||b||."""
    x, b = A.createVecs()
    b.setRandom()
    ksp.solve(b, x)
    assert ksp.getConvergedReason() > 0, ksp.getConvergedReason()
    return ksp.getIterationNumber(), (b - A * x).norm() / b.norm()


class Preconditioner(unittest.TestCase):
    def tearDown(self):
        for name in ("pc_type", "pc_strata_preconditioner", "pc_strata_precision", "pc_strata_block_size"):
            PETSc.Options().delValue(name)

    def test_conjugate_gradients_take_few_steps(self):
        for m in (30, 60):
            A = grid(m)
            steps, residual = solved(solver(A), A)
            self.assertLess(steps, 25)
            self.assertLess(residual, 1.1e-10)

    def test_gmres_with_an_unsymmetric_matrix(self):
        A = grid(40, wind=2.0)
        steps, residual = solved(solver(A, "gmres"), A)
        self.assertLess(steps, 40)
        self.assertLess(residual, 1.1e-10)

    def test_new_values_in_the_old_pattern_are_taken(self):
        A = grid(30)
        ksp = solver(A)
        solved(ksp, A)
        A.shift(3.0)
        ksp.setOperators(A)
        steps, residual = solved(ksp, A)
        self.assertLess(steps, 15)
        self.assertLess(residual, 1.1e-10)

    def test_options_choose(self):
        A = grid(30)
        plain, _ = solved(solver(A), A)
        PETSc.Options()["pc_strata_preconditioner"] = "jacobi"
        steps, residual = solved(solver(A), A)
        self.assertGreater(steps, plain)
        self.assertLess(residual, 1.1e-10)
        PETSc.Options()["pc_strata_preconditioner"] = "amg"
        PETSc.Options()["pc_strata_precision"] = "fp64"
        steps, _ = solved(solver(A), A)
        self.assertLessEqual(abs(steps - plain), 2)

    def test_errors_are_petscs(self):
        A = grid(10)
        PETSc.Options()["pc_strata_preconditioner"] = "pixie dust"
        with self.assertRaises(PETSc.Error):
            solved(solver(A), A)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
