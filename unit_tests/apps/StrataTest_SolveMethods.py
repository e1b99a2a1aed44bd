#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""`strata solve` for sparse matrices: incomplete factors, the direct solver, one method after the other."""
import unittest

from strata_program import ProgramTest, load_valid, strata, write_mtx


class Methods(ProgramTest):
    def sparse(self, *arguments):
        report = self.solve(*arguments, kind="solve_sparse")
        self.assertEqual(report["status"], "solved")
        self.assertLessEqual(report["relative_residual"], 1e-10)
        return report

    def test_incomplete_factors_with_fill(self):
        entries = []
        for fill in (0, 1, 2):
            report = self.sparse("--generate", "poisson7", "--n", 9, "--preconditioner", "ic", "--fill", fill)
            factor = report["incomplete"]
            self.assertEqual((factor["fill"], factor["shift"], factor["replaced"], report["asked"]["fill"]), (fill, 0, 0, fill))
            entries.append((factor["entries"], -report["iterations"]))
        self.assertEqual(entries, sorted(entries))

    def test_the_direct_solver(self):
        report = self.sparse("--generate", "convection", "--n", 9, "--solver", "direct")
        self.assertEqual((report["solver"], report["preconditioner"], report["precision"]), ("direct", "direct", "fp64"))
        self.assertLessEqual(report["iterations"], 2)

    def test_goes_on_to_another_method_and_says_why(self):
        n = 1500  # a permutation with weights, which has no diagonal
        entries = [f"{i} {(i + 36) % n + 1} {1.0 + 0.1 * (i % 7)}" for i in range(1, n + 1)]
        write_mtx(self.path("A.mtx"), ["%%MatrixMarket matrix coordinate real general", f"{n} {n} {n}", *entries])
        run = strata("solve", "--matrix", self.path("A.mtx"), "--json", self.path("r.json"))
        self.assertEqual(run.code, 0, run.err)
        report = load_valid(self.path("r.json"), "solve_sparse")
        self.assertEqual(report["preconditioner"], report["attempts"][-1]["preconditioner"])
        self.assertTrue(all(attempt["reason"] for attempt in report["attempts"]))
        self.assertLessEqual(report["relative_residual"], 1e-10)


if __name__ == "__main__":
    unittest.main()
