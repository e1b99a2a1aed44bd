#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""`strata solve --symmetric`: matrices that need not be definite, beside exact answers in fractions."""
import fractions
import json
import math
import unittest

from strata_program import ProgramTest, load_valid, read_npy, strata, tridiagonal, write_mtx, write_npy

SADDLE = [[4, 1, 0, 2, 1], [1, 3, 1, 0, 1], [0, 1, 5, 1, 1], [2, 0, 1, 6, 1], [1, 1, 1, 1, 0]]  # one eigenvalue is negative


def product(A, x):
    return [sum(a * v for a, v in zip(row, x)) for row in A]


def determinant(A):
    """By Gauss' elimination in fractions."""
    A = [[fractions.Fraction(a) for a in row] for row in A]
    found = fractions.Fraction(1)
    for k in range(len(A)):
        p = next((i for i in range(k, len(A)) if A[i][k]), None)
        if p is None:
            return fractions.Fraction(0)
        if p != k:
            A[k], A[p], found = A[p], A[k], -found
        found *= A[k][k]
        for i in range(k + 1, len(A)):
            A[i] = [a - A[i][k] / A[k][k] * b for a, b in zip(A[i], A[k])]
    return found


class Symmetric(ProgramTest):
    def symmetric(self, *arguments, code=0):
        return self.solve("--symmetric", *arguments, code=code, kind="solve_symmetric")

    def matrix(self, A, name="A.npy"):
        write_npy(self.path(name), (len(A), len(A)), [float(a) for row in A for a in row])
        return ("--matrix", self.path(name))

    def rhs(self, b):
        write_npy(self.path("b.npy"), (len(b),), [float(v) for v in b])
        return ("--rhs", self.path("b.npy"))

    def test_a_file_is_solved_with_signs_and_determinant(self):
        x = [1, -2, 3, 0.5, 7]
        report = self.symmetric(
            *self.matrix(SADDLE), *self.rhs(product(SADDLE, x)), "--output", self.path("x.npy"), "--log-determinant")
        _, found = read_npy(self.path("x.npy"))
        for value, known in zip(found, x):
            self.assertAlmostEqual(value, known, delta=1e-13)
        exact, det = determinant(SADDLE), report["log_determinant"]
        self.assertEqual((report["status"], report["rung"], report["refusal"]), ("solved", "pivoted", ""))
        self.assertEqual((report["inertia"]["positive"], report["inertia"]["negative"], report["inertia"]["decided"]), (4, 1, True))
        self.assertEqual(det["sign"], 1 if exact > 0 else -1)
        self.assertLess(abs(det["value"] - math.log(abs(exact))), det["error"])
        self.assertLess(det["error"], 1e-13)

    def test_a_coordinate_file_is_solved_as_dense(self):
        write_mtx(self.path("A.mtx"), ["%%MatrixMarket matrix coordinate real symmetric", "3 3 3", "2 1 2.0", "3 3 -4.0", "1 1 0.0"])
        run = strata("solve", "--symmetric", "--matrix", self.path("A.mtx"), *self.rhs([2, 6, 8]), "--log-determinant", "--output",
                     self.path("x.csv"), "--json", self.path("r.json"))
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual([float(v) for v in self.path("x.csv").read_text().split()], [3, 1, -2])
        report = load_valid(self.path("r.json"), "solve_symmetric")
        self.assertEqual((report["inertia"]["positive"], report["inertia"]["negative"]), (1, 2))
        self.assertEqual(report["log_determinant"]["sign"], 1)
        self.assertAlmostEqual(report["log_determinant"]["value"], math.log(16), delta=1e-14)
        for part in ("A = L D L^T", "1 positive, 2 negative", "+1", "digits to expect", "pivoted"):
            self.assertIn(part, run.out)

    def test_repeats_and_compares_with_the_vendor(self):
        saddle = ("--generate", "saddle", "--n", 400, "--layers", "fp32")
        plain, report = self.symmetric(*saddle), self.symmetric(*saddle, "--repeat", 3)
        self.assertEqual((plain["repeat"], report["repeat"], plain["compare"]), (1, 3, None))
        for key in ("backward_error", "inertia", "iterations", "rung"):
            self.assertEqual(plain[key], report[key])
        run = strata("solve", "--symmetric", *saddle, "--repeat", 2, "--compare", "--json", self.path("c.json"))
        if "no library with L D L^T" in run.err:
            self.skipTest(run.err)
        self.assertEqual(run.code, 0, run.err)
        compared = load_valid(self.path("c.json"), "solve_symmetric")["compare"]
        self.assertIn(compared["library"], ("LAPACK dsytrf", "cuSOLVER Dsytrf"))
        self.assertEqual(compared["refusal"], "")
        self.assertLess(compared["backward_error"], 400 * 2.0**-52)
        for part in ("factor", "solve"):
            self.assertGreater(compared["seconds"][part], 0)
        self.assertGreater(compared["ratio"]["whole"], 0)
        for part in ("median of 2 runs", "Comparison with " + compared["library"], "factor + solve", "the solve with its factor is Strata's"):
            self.assertIn(part, run.out)

    def test_a_singular_matrix_is_not_compared(self):
        report = self.symmetric(*self.matrix([[1, 1], [1, 1]]), "--repeat", 2, code=3)
        self.assertEqual((report["status"], report["compare"], report["repeat"]), ("singular", None, 2))

    def test_a_generated_saddle_point_in_layers(self):
        for layers, rungs in (("auto", ["layers", "fp64"]), ("fp64", ["fp64"])):
            report = self.symmetric("--generate", "saddle", "--n", 400, "--nrhs", 2, "--layers", layers, "--log-determinant")
            self.assertEqual([attempt["rung"] for attempt in report["attempts"]], rungs)  # a determinant is made in fp64
            self.assertEqual((report["inertia"]["positive"], report["inertia"]["negative"]), (397, 3))
            self.assertEqual(report["log_determinant"]["sign"], -1)
            self.assertLessEqual(report["backward_error"], 20 * 2.0**-52)
            self.assertLessEqual(report["forward_error"], report["expected_forward_error"])
            self.assertGreater(report["seconds"]["inertia"], 0)

    def test_small_orders(self):
        for n, negative in ((0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (5, 2), (6, 3)):
            report = self.symmetric("--generate", "saddle", "--n", n, "--log-determinant")
            self.assertEqual((report["inertia"]["positive"], report["inertia"]["negative"]), (n - negative, negative))
            self.assertEqual(report["log_determinant"]["sign"], (-1) ** negative)
        report = self.symmetric(*self.matrix([[-4]]), "--log-determinant")
        self.assertEqual((report["inertia"]["negative"], report["log_determinant"]["sign"]), (1, -1))
        self.assertAlmostEqual(report["log_determinant"]["value"], math.log(4), delta=1e-15)

    def test_the_ladder_is_climbed_where_refinement_does_not_converge(self):
        n, k = 300, 100  # the k-th eigenvalue is all but 0
        write_mtx(self.path("A.mtx"), tridiagonal(n, 2 * math.cos(k * math.pi / (n + 1)) + 1e-12))
        report = self.symmetric("--matrix", self.path("A.mtx"), "--layers", "fp32")
        rungs = [attempt["rung"] for attempt in report["attempts"]]
        self.assertGreater(len(rungs), 1)
        self.assertEqual(rungs[0], "layers")
        self.assertEqual(report["attempts"][0]["outcome"], "not converged")
        self.assertEqual(report["rung"], rungs[-1])
        self.assertLess(report["backward_error"], 20 * 2.0**-52)

    def test_a_singular_matrix_is_refused_in_words(self):
        for A in ([[1] * 3] * 3, [[0] * 2] * 2, [[1, 0, 0], [0, -1, 0], [0, 0, 0]]):
            run = strata("solve", "--symmetric", *self.matrix(A), *self.rhs([1] * len(A)), "--json", self.path("r.json"), "--output",
                         self.path("x.npy"), "--log-determinant")
            self.assertEqual(run.code, 3, run.err)
            self.assertIn("strata: singular: A is singular", run.err)
            self.assertIn("SINGULAR", run.out)
            report = load_valid(self.path("r.json"), "solve_symmetric")
            self.assertEqual((report["status"], report["inertia"], report["log_determinant"]), ("singular", None, None))
            self.assertIn("A is singular", report["refusal"])
            self.assertFalse(self.path("x.npy").exists())

    def test_what_cannot_be_solved_is_named(self):
        def refused(*arguments):
            return strata("solve", "--symmetric", *arguments)

        write_npy(self.path("wide.npy"), (2, 3), [1.0] * 6)
        self.assert_refused(refused("--matrix", self.path("wide.npy")), "wide.npy", "2 x 3, must be square")
        self.assert_refused(refused(*self.matrix([[1, 2], [3, 1]])), "A.npy", "not symmetric")
        self.assert_refused(refused(*self.matrix([[1, math.nan], [math.nan, 1]])), "is not finite")
        self.assert_refused(refused(*self.matrix(SADDLE), *self.rhs([1, 2])), "do not fit the matrix of order 5")
        self.assert_refused(refused(*self.matrix(SADDLE), *self.rhs([1, 2, 3, math.inf, 5])), "finite")

    def test_options_that_do_not_apply_are_named(self):
        arguments = ("solve", "--symmetric", "--generate", "saddle", "--n", 10)
        for option in (("--jitter", "auto"), ("--leaf-size", 32), ("--out-of-core",), ("--tile", 64)):
            self.assert_refused(strata(*arguments, *option), option[0], "need not be definite")
        self.assert_refused(strata(*arguments, "--refine", "cg"), "--refine cg needs a positive definite matrix")
        self.assert_refused(strata(*arguments, "--layers", "fp16,fp32"), "fp16", "cannot act")
        self.assert_refused(strata(*arguments, "--sparse"), "--symmetric is for dense matrices")
        self.assert_refused(strata("solve", "--generate", "saddle", "--n", 10), "goes with --symmetric")
        self.assert_refused(strata("solve", "--symmetric", "--generate", "poisson7", "--n", 3), "the kind of --generate is sparse")

    def test_the_document_on_the_screen(self):
        run = strata("solve", "--symmetric", "--generate", "saddle", "--n", 20, "--json", "-")
        self.assertEqual(json.loads(run.out)["schema"], "strata.solve_symmetric/1")
        brief = strata("solve", "--symmetric", "--generate", "saddle", "--n", 20, "--brief")
        self.assertTrue(brief.out.startswith("Answer\n"), brief.out)
        self.assertIn("digits are right", brief.out)


if __name__ == "__main__":
    unittest.main()
