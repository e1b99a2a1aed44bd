#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""`strata solve` with nodes of several unknowns, and with what multigrid is told of them."""
import unittest

from StrataTest_SolveSparse import general
from strata_program import ProgramTest, load_valid, strata, tridiagonal, write_mtx, write_npy


class Modes(ProgramTest):
    def with_load(self, lines, b):
        write_mtx(self.path("A.mtx"), lines)
        write_npy(self.path("b.npy"), (len(b),), b)
        return ["--matrix", self.path("A.mtx"), "--rhs", self.path("b.npy")]

    def test_finds_nodes_and_hints_at_their_places(self):
        # three displacements a node, of a chain of nodes that is long and soft
        nodes, entries = 400, []
        for node in range(nodes):
            for other in (node - 1, node, node + 1):
                if not 0 <= other < nodes:
                    continue
                for a in range(3):
                    for b in range(3):
                        value = (2.0 + 1e-6 if other == node else -1.0) * (1.0 if a == b else -0.49)
                        entries.append((3 * node + a + 1, 3 * other + b + 1, value))
        lines = general(3 * nodes, entries)
        arguments = [*self.with_load(lines, [1.0] * (3 * nodes)), "--preconditioner", "amg"]
        run = strata("solve", *arguments, "--max-iterations", 2)
        self.assertEqual(run.code, 4, run.err)
        self.assertIn("3 unknowns a node; if they are displacements, --coordinates", run.err)
        self.assertRegex(run.out, r"unknowns of a node +3\n")
        write_npy(self.path("places.npy"), (nodes, 3), [k if axis == 0 else 0.0 for k in range(nodes) for axis in range(3)])
        run = strata("solve", *arguments, "--max-iterations", 2, "--coordinates", self.path("places.npy"))
        self.assertNotIn("--coordinates", run.err)
        self.assertRegex(run.out, r"modes of an aggregate +6\n")

    def test_takes_a_near_null_space(self):
        lines = tridiagonal(40)
        arguments = self.with_load(lines, [1.0] * 40)
        write_npy(self.path("modes.npy"), (40, 2), [f(k) for k in range(40) for f in (lambda k: 1.0, float)])
        run = strata("solve", *arguments, "--near-null-space", self.path("modes.npy"), "--json", self.path("r.json"))
        self.assertEqual(run.code, 0, run.err)
        report = load_valid(self.path("r.json"), "solve_sparse")
        self.assertEqual(report["asked"]["near_null_space"], 2)
        self.assertEqual(report["modes"], 2)


if __name__ == "__main__":
    unittest.main()
