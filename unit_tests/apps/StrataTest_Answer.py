#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What `strata solve` says of x at its end, and of files that it cannot use: with the line that mends them."""
import json
import re
import subprocess
import unittest

from strata_program import ProgramTest, needs_mpi, read_npy, strata, strata_on, tridiagonal, write_mtx

ANSWER = re.compile(r"(?m)^Answer\n  x +(?P<x>.*)\n  largest magnitude +(?P<largest>.*)\n  written to +(?P<to>.*)\n(?P<verdict>.*)\n\Z")


def dense_csv(n):
    return "".join(",".join("2.5" if i == j else "-1" if abs(i - j) == 1 else "0" for j in range(n)) + "\n" for i in range(n))


class Answer(ProgramTest):
    def answer(self, *arguments, code=0):
        run = strata("solve", *arguments)
        self.assertEqual(run.code, code, run.err)
        found = ANSWER.search(run.out)
        self.assertTrue(found, run.out)
        return found.groupdict()

    def system(self, n=20, changed=None):
        write_mtx(self.path("A.mtx"), tridiagonal(n))
        b = [0.0] * n
        b[n - 3] = -40.0
        self.path("b.csv").write_text("".join(f"{x}\n" for x in b))
        return "--matrix", self.path("A.mtx"), "--rhs", self.path("b.csv")

    def test_shows_numbers_of_x_and_the_largest(self):
        for kind in ("--dense", "--sparse"):
            told = self.answer(kind, *self.system(), "--output", self.path("x.npy"))
            _, x = read_npy(self.path("x.npy"))
            largest = max(range(20), key=lambda i: abs(x[i]))
            self.assertEqual(told["x"], "20 numbers: " + ", ".join(f"{v:.4g}" for v in x[:3]) + f", ..., {x[-1]:.4g}")
            self.assertEqual(told["largest"], f"{x[largest]:.4g} in row {largest + 1}")
            self.assertEqual(told["to"], str(self.path("x.npy")))

    def test_ends_in_the_digits(self):
        self.assertRegex(self.answer("--dense", *self.system())["verdict"], r"^solved: about 1[3-5] digits are right$")
        self.assertRegex(self.answer("--sparse", *self.system())["verdict"], r"^solved: at most \d+ digits are right$")
        self.assertRegex(self.answer("--out-of-core", "--generate", "dominant", "--n", 100)["verdict"],
                         r"^solved: backward error \d\.\de-1[5-7]$")

    def test_says_as_many_digits_as_the_report(self):
        run = strata("solve", "--generate", "geometric", "--n", 300, "--cond", 1e5)
        digits = re.search(r"(?m)^  digits to expect +(\d+) ", run.out)[1]
        self.assertTrue(run.out.endswith(f"solved: about {digits} digits are right\n"), run.out)

    def test_says_how_to_keep_x(self):
        self.assertEqual(self.answer("--dense", *self.system())["to"], "nowhere (--output x.npy keeps it)")
        self.assertEqual(self.answer("--generate", "poisson7", "--n", 5)["to"], "nowhere (--output x.npy keeps it)")
        self.assertEqual(self.answer(*self.system()[:2])["to"],
                         "nowhere: the right-hand side is invented (yours: --rhs b.npy --output x.npy)")

    def test_names_the_node_of_the_largest(self):
        told = self.answer("--generate", "elasticity", "--nx", 5, "--preconditioner", "amg", "--output", self.path("x.npy"))
        _, x = read_npy(self.path("x.npy"))
        largest = max(range(len(x)), key=lambda i: abs(x[i]))
        self.assertEqual(told["largest"], f"{x[largest]:.4g} in row {largest + 1} (unknown {largest % 3 + 1} of node {largest // 3 + 1})")

    def test_shows_all_of_a_short_x(self):
        for n in (1, 2, 3, 4, 5):
            told = self.answer("--generate", "geometric", "--n", n)
            self.assertEqual(told["x"].count(","), n - 1 if n <= 4 else 4)
            self.assertEqual("..." in told["x"], n == 5)

    def test_tells_columns_apart(self):
        run = strata("solve", "--generate", "geometric", "--n", 50, "--nrhs", 3, "--output", self.path("X.npy"))
        shape, x = read_npy(self.path("X.npy"))
        self.assertEqual(shape, (50, 3))
        largest = max(range(150), key=lambda k: abs(x[k]))  # in Fortran order
        self.assertIn(f"X                        50 numbers x 3, first column: {x[0]:.4g}, ", run.out)
        self.assertIn(f"largest magnitude        {x[largest]:.4g} in row {largest % 50 + 1}, column {largest // 50 + 1}\n", run.out)

    def test_says_that_x_is_no_solution(self):
        told = self.answer(*self.system(), "--max-iterations", 1, "--preconditioner", "none", "--output", self.path("x.npy"), code=4)
        self.assertEqual(told["verdict"], "NOT SOLVED: x is the best that was found")
        self.assertEqual(told["to"], str(self.path("x.npy")))

    def test_brief_is_the_answer_alone(self):
        for kind in ("--dense", "--sparse"):
            run = strata("solve", kind, *self.system(), "--brief", "--json", self.path("r.json"))
            self.assertEqual((run.code, run.err), (0, ""))
            self.assertTrue(run.out.startswith("Answer\n"))
            self.assertTrue(ANSWER.search(run.out))
            self.assertEqual(json.loads(self.path("r.json").read_text())["status"], "solved")

    def test_machines_get_the_document_alone(self):
        run = strata("solve", "--generate", "poisson7", "--n", 5, "--json", "-", "--brief")
        self.assertEqual(json.loads(run.out)["status"], "solved")

    @needs_mpi
    def test_is_the_same_on_ranks(self):
        alone = self.answer("--sparse", *self.system())
        for ranks in (2, 3):
            run = strata_on(ranks, "solve", "--sparse", *self.system())
            found = ANSWER.search(run.stdout).groupdict()
            self.assertEqual((found["x"].split(":")[0], found["largest"].split(" in ")[1]), ("20 numbers", alone["largest"].split(" in ")[1]))
            self.assertAlmostEqual(float(found["x"].split()[-1]), float(alone["x"].split()[-1]), delta=1e-3)


class Vtk(ProgramTest):
    """x at the places of its nodes, as ParaView reads it."""

    def solve(self, unknowns, places):
        nodes = len(places)
        write_mtx(self.path("A.mtx"), tridiagonal(unknowns * nodes))
        self.path("b.csv").write_text("1\n" * (unknowns * nodes))
        self.path("p.csv").write_text("".join(",".join(map(str, place)) + "\n" for place in places))
        run = strata("solve", "--matrix", self.path("A.mtx"), "--rhs", self.path("b.csv"), "--coordinates", self.path("p.csv"), "--vtk",
                     self.path("x.vtk"), "--output", self.path("x.npy"))
        self.assertEqual(run.code, 0, run.err)
        return self.path("x.vtk").read_text().splitlines(), read_npy(self.path("x.npy"))[1]

    def test_numbers_in_the_plane(self):
        places = [(0.5 * k, 1) for k in range(10)]
        lines, x = self.solve(1, places)
        self.assertEqual(lines[:5], ["# vtk DataFile Version 3.0", "x of strata solve", "ASCII", "DATASET POLYDATA", "POINTS 10 double"])
        self.assertEqual([tuple(map(float, line.split())) for line in lines[5:15]], [(a, b, 0) for a, b in places])
        self.assertEqual(lines[15:17], ["VERTICES 10 20", "1 0"])
        self.assertEqual(lines[26:29], ["POINT_DATA 10", "SCALARS x double 1", "LOOKUP_TABLE default"])
        self.assertEqual(tuple(map(float, lines[29:])), x)

    def test_vectors_in_space(self):
        for unknowns in (2, 3, 6):
            lines, x = self.solve(unknowns, [(0, 1, k) for k in range(8)])
            self.assertEqual(lines[5 + 3], "0 1 3")
            self.assertEqual(lines[23], "VECTORS x double")
            for node, line in enumerate(lines[24:]):
                expected = (*x[unknowns * node : unknowns * node + min(3, unknowns)], 0.0)[:3]
                self.assertEqual(tuple(map(float, line.split())), expected)
            self.assertEqual(len(lines), 24 + 8)

    def test_refuses_places_that_do_not_fit(self):
        write_mtx(self.path("A.mtx"), tridiagonal(10))
        for text, said in (("1,2\n" * 3, "3 nodes do not fit the matrix of order 10"), ("1\n" * 10, "10 x 1 numbers, must be 2 or 3 coordinates a node")):
            self.path("p.csv").write_text(text)
            run = strata("solve", "--matrix", self.path("A.mtx"), "--coordinates", self.path("p.csv"), "--vtk", self.path("x.vtk"))
            self.assert_refused(run, said)
            self.assertFalse(self.path("x.vtk").exists())
        self.assert_refused(strata("solve", "--matrix", self.path("A.mtx"), "--vtk", self.path("x.vtk")), "--coordinates")


class Files(ProgramTest):
    def refuse(self, *arguments, said):
        run = strata("solve", *arguments)
        self.assertEqual(run.code, 2, run.err)
        self.assertIn(said, run.err)
        return run.err

    def test_reads_a_matrix_in_csv(self):
        self.path("A.csv").write_text(dense_csv(12))
        write_mtx(self.path("A.mtx"), tridiagonal(12))
        self.path("b.csv").write_text("1\n" * 12)
        run = strata("solve", "--matrix", self.path("A.csv"), "--rhs", self.path("b.csv"), "--output", self.path("x.npy"))
        self.assertEqual((run.code, run.err), (0, ""))
        self.assertIn("  format                   columns of numbers\n", run.out)
        _, x = read_npy(self.path("x.npy"))
        for i in range(12):
            row = 2.5 * x[i] - (x[i - 1] if i else 0) - (x[i + 1] if i < 11 else 0)
            self.assertAlmostEqual(row, 1, delta=1e-13)

    def test_refuses_what_is_no_symmetric_matrix_in_csv(self):
        self.path("A.csv").write_text("2,1\n0,2\n")
        self.refuse("--matrix", self.path("A.csv"), said=f"{self.path('A.csv')}: ")
        self.path("A.csv").write_text("2,1,0,0\n1,2,0,0\n")
        self.refuse("--matrix", self.path("A.csv"), said="the matrix is 2 x 4, must be square")

    def test_says_what_triples_lack(self):
        self.path("K.mtx").write_text("1 1 4.5\n2 2 4\n")
        self.refuse("--matrix", self.path("K.mtx"),
                    said="put these two before them: `%%MatrixMarket matrix coordinate real general`")
        self.path("K.txt").write_text("1 1 4.5\n2 2 4\n")
        said = self.refuse("--matrix", self.path("K.txt"), said="the matrix is 2 x 3, must be square; if its lines are `row column value`")
        self.assertIn("`ROWS COLUMNS 2`, and name it .mtx", said)

    def test_says_how_to_write_what_is_not_read_as_matrix_market(self):
        self.path("K.mat").write_bytes(b"MATLAB 5.0 MAT-file")
        self.refuse("--matrix", self.path("K.mat"), said="scipy.io.mmwrite('K.mtx', scipy.io.loadmat('")

    def test_the_line_for_a_load_of_another_shape_makes_one_that_fits(self):
        write_mtx(self.path("A.mtx"), tridiagonal(6))
        for name, text in (("f.csv", "1,2,3\n4,5,6\n"), ("f.txt", "1 2\n3 4\n5 6\n")):
            self.path(name).write_text(text)
            for kind in ("--dense", "--sparse"):
                said = self.refuse(kind, "--matrix", self.path("A.mtx"), "--rhs", self.path(name), said="whose right-hand side is a column of 6 numbers")
            line = re.search(r'python3 -c "(.*)"', said)[1]
            try:
                subprocess.run(["python3", "-c", line], check=True, cwd=self.folder, capture_output=True)
            except subprocess.CalledProcessError as error:
                self.skipTest(error.stderr.decode()[-80:])  # without NumPy
            run = strata("solve", "--matrix", self.path("A.mtx"), "--rhs", self.path("column.txt"))
            self.assertEqual(run.code, 0, run.err)
            self.assertEqual(self.path("column.txt").read_text().split()[5][:3], "6.0")

    def test_asks_for_the_unknowns_of_each_node(self):
        write_mtx(self.path("A.mtx"), tridiagonal(6))
        self.path("f.csv").write_text("1\n2\n")
        self.refuse("--matrix", self.path("A.mtx"), "--rhs", self.path("f.csv"), said="if the matrix has 3 unknowns for each of the 2")

    def test_says_that_entries_are_added(self):
        write_mtx(self.path("A.mtx"), ["%%MatrixMarket matrix coordinate real general", "2 2 4", "1 1 1", "2 2 4", "1 1 2", "1 1 1"])
        self.path("b.csv").write_text("4\n8\n")
        for kind in ("--dense", "--sparse"):
            run = strata("solve", kind, "--matrix", self.path("A.mtx"), "--rhs", self.path("b.csv"), "--output", self.path("x.npy"))
            self.assertEqual(run.code, 0, run.err)
            self.assertIn("warning: " + str(self.path("A.mtx")) + ": 2 of 4 entries are at positions listed before; their values were added", run.err)
            self.assertEqual(read_npy(self.path("x.npy"))[1], (1.0, 2.0))

    def test_reads_upper_and_skew_symmetric_files(self):
        write_mtx(self.path("A.mtx"), ["%%MatrixMarket matrix coordinate real symmetric", "2 2 3", "1 1 4", "1 2 1", "2 2 3"])
        self.path("b.csv").write_text("5\n4\n")
        run = strata("solve", "--matrix", self.path("A.mtx"), "--rhs", self.path("b.csv"), "--output", self.path("x.csv"))
        self.assertEqual(run.code, 0, run.err)
        for x in self.path("x.csv").read_text().split():
            self.assertAlmostEqual(float(x), 1, delta=1e-9)
        write_mtx(self.path("S.mtx"), ["%%MatrixMarket matrix coordinate real skew-symmetric", "2 2 1", "2 1 2"])
        run = strata("solve", "--matrix", self.path("S.mtx"), "--rhs", self.path("b.csv"), "--preconditioner", "none", "--output", self.path("x.csv"))
        self.assertEqual(run.code, 0, run.err + run.out)
        for x, expected in zip(self.path("x.csv").read_text().split(), (2, -2.5)):
            self.assertAlmostEqual(float(x), expected, delta=1e-9)


if __name__ == "__main__":
    unittest.main()
