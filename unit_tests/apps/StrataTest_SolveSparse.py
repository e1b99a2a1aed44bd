#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""`strata solve` for sparse matrices: sources, methods, refusals, result files, several ranks."""
import gzip
import math
import random
import re
import time
import unittest

from strata_program import ON_GPU, SOON, ProgramTest, load_valid, needs_mpi, read_npy, strata, strata_on, tridiagonal, write_mtx, write_npy

KINDS = {
    "poisson7": ("--n", 12),
    "poisson27": ("--n", 9),
    "anisotropic": ("--nx", 12, "--ny", 7, "--nz", 5),
    "convection": ("--n", 11),
    "elasticity": ("--n", 5),
    "graph": ("--n", 900),
}
GENERAL = "%%MatrixMarket matrix coordinate real general"


def general(n, entries):
    return [GENERAL, f"{n} {n} {len(entries)}", *(f"{i} {j} {a!r}" for i, j, a in entries)]


def random_dominant(n, seed):
    """Entries of a matrix that is not symmetric, in any order."""
    source = random.Random(seed)
    entries = {(i, i): 8.0 + i % 5 for i in range(1, n + 1)}
    for i in range(1, n + 1):
        for _ in range(5):
            j = source.randint(1, n)
            if i != j:
                entries[i, j] = source.uniform(-1, 1)
    listed = [(i, j, a) for (i, j), a in entries.items()]
    source.shuffle(listed)
    return listed


class SparseTest(ProgramTest):
    def sparse(self, *arguments, code=0):
        return self.solve(*arguments, code=code, kind="solve_sparse")

    def assert_solved(self, report, tolerance=1e-10):
        self.assertEqual(report["status"], "solved")
        self.assertLessEqual(report["relative_residual"], tolerance)
        self.assertLess(report["backward_error"], 10 * tolerance)  # another norm
        self.assertEqual(report["iterations"], sum(attempt["iterations"] for attempt in report["attempts"]))


class Sources(SparseTest):
    def test_a_coordinate_file_is_sparse_by_itself(self):
        write_mtx(self.path("A.mtx"), tridiagonal(500, diagonal=2.1))
        report = self.sparse("--matrix", self.path("A.mtx"), "--preconditioner", "amg")
        self.assert_solved(report)
        self.assertEqual((report["n"], report["entries"], report["ranks"]), (500, 1498, 1))
        self.assertEqual((report["solver"], report["preconditioner"]), ("cg", "amg"))
        self.assertIn("coordinate real symmetric", report["problem"]["format"])
        self.assertLess(report["forward_error"], 1e-8)
        self.assertGreater(len(report["levels"]), 1)
        self.assertEqual(report["levels"][0], {"rows": 500, "entries": 1498})
        self.assertEqual(self.solve("--dense", "--matrix", self.path("A.mtx"))["schema"], "strata.solve/1")

    def test_reads_a_general_compressed_file_in_any_order(self):
        with gzip.open(self.path("A.mtx.gz"), "wt") as file:
            file.write("\n".join(general(300, random_dominant(300, 1))) + "\n")
        report = self.sparse("--matrix", self.path("A.mtx.gz"))
        self.assert_solved(report)
        self.assertEqual((report["solver"], report["symmetric"]), ("direct", False))  # few rows

    def test_reads_a_pattern_as_ones(self):
        lines = ["%%MatrixMarket matrix coordinate pattern general", "3 3 4", "1 1", "2 2", "3 3", "1 3"]
        write_mtx(self.path("A.mtx"), lines)
        write_npy(self.path("b.npy"), (3,), [5.0, 2.0, 3.0])
        report = self.sparse("--matrix", self.path("A.mtx"), "--rhs", self.path("b.npy"), "--output", self.path("x.npy"))
        self.assert_solved(report)
        shape, x = read_npy(self.path("x.npy"))
        self.assertEqual(shape, (3,))
        for got, wanted in zip(x, (2.0, 2.0, 3.0)):
            self.assertAlmostEqual(got, wanted, delta=1e-9)

    def test_generates_every_kind(self):
        for kind, size in KINDS.items():
            with self.subTest(kind=kind):
                report = self.sparse("--generate", kind, *size)
                self.assert_solved(report)
                self.assertIn(kind, report["problem"]["source"])
                self.assertEqual(report["symmetric"], kind != "convection")
                self.assertLess(report["iterations"], 60)

    def test_right_hand_sides_from_either_kind_of_file(self):
        write_mtx(self.path("A.mtx"), tridiagonal(3))
        write_npy(self.path("b.npy"), (3, 1), [2.0, 4.0, 10.0])
        write_mtx(self.path("b.mtx"), ["%%MatrixMarket matrix array real general", "3 1", "2", "4", "10"])
        for rhs in ("b.npy", "b.mtx"):
            report = self.sparse("--matrix", self.path("A.mtx"), "--rhs", self.path(rhs), "--output", self.path("x.npy"))
            self.assertIsNone(report["forward_error"])
            for got, wanted in zip(read_npy(self.path("x.npy"))[1], (1.0, 2.0, 3.0)):
                self.assertAlmostEqual(got, wanted, delta=1e-9)

    def test_small_and_odd_matrices(self):
        for name, lines in {
            "one": general(1, [(1, 1, 4.0)]),
            "none": [GENERAL, "0 0 0"],
            "diagonal": general(9, [(i, i, 10.0 ** (i - 5)) for i in range(1, 10)]),
            "two_parts": tridiagonal(700)[:1] + ["700 700 1398"]
            + [line for line in tridiagonal(700)[2:] if not line.startswith("351 350 ")],
            "far_scales": tridiagonal(400, changed={i: 4.0 * 10.0 ** (i % 30) for i in range(1, 401)}),
        }.items():
            with self.subTest(name):
                write_mtx(self.path("A.mtx"), lines)
                self.assert_solved(self.sparse("--matrix", self.path("A.mtx")))


class Methods(SparseTest):
    def test_each_solver_with_each_preconditioner(self):
        for solver in ("cg", "minres", "gmres", "fgmres", "bicgstab"):
            for preconditioner in ("none", "jacobi", "l1-jacobi", "chebyshev", "gs", "ic", "ilu", "amg"):
                with self.subTest(solver=solver, preconditioner=preconditioner):
                    report = self.sparse("--generate", "poisson7", "--n", 9, "--solver", solver, "--preconditioner",
                                         preconditioner, "--precision", "fp64")
                    self.assert_solved(report)
                    self.assertEqual((report["solver"], report["preconditioner"]), (solver, preconditioner))
                    self.assertEqual(len(report["attempts"]), 1)

    def test_each_precision(self):
        bytes_of = {}
        for precision in ("fp64", "fp32", "bf16", "fp16"):
            report = self.sparse("--generate", "convection", "--n", 12, "--precision", precision, "--preconditioner", "amg")
            self.assert_solved(report)
            self.assertEqual(report["precision"], precision)
            self.assertEqual(report["solver"], "gmres" if precision in ("fp64", "fp32") else "fgmres")
            bytes_of[precision] = report["bytes"]["preconditioner"]
        self.assertLess(bytes_of["fp16"], bytes_of["fp32"])
        self.assertLess(bytes_of["fp32"], bytes_of["fp64"])

    def test_goes_to_higher_precision_where_a_lower_one_stalls(self):
        # nearly singular: 16 bits do not see that the smallest eigenvalue is not 0
        n = 300
        lines = tridiagonal(n, diagonal=2.0, changed={1: 1.0 + 1e-9, n: 1.0})
        write_mtx(self.path("A.mtx"), lines)
        report = self.sparse("--matrix", self.path("A.mtx"), "--precision", "bf16", "--preconditioner", "gs", "--solver",
                             "gmres", "--restart", 5, "--max-iterations", 200000, "--tolerance", 1e-9)
        precisions = [attempt["precision"] for attempt in report["attempts"]]
        self.assertEqual(precisions[:2], ["bf16", "fp32"])
        self.assertEqual(report["attempts"][0]["status"], "stalled")
        self.assert_solved(report, 1e-9)

    def test_stops_at_the_tolerance_and_at_the_limit(self):
        loose = self.sparse("--generate", "poisson7", "--n", 14, "--tolerance", 1e-4)
        tight = self.sparse("--generate", "poisson7", "--n", 14, "--tolerance", 1e-12)
        self.assert_solved(loose, 1e-4)
        self.assert_solved(tight, 1e-12)
        self.assertLess(loose["iterations"], tight["iterations"])
        report = self.sparse("--generate", "poisson7", "--n", 14, "--max-iterations", 3, code=4)
        self.assertEqual((report["status"], report["iterations"]), ("not_converged", 3))
        self.assertEqual(report["ended"], "iteration_limit")

    def test_says_that_a_matrix_is_not_positive_definite(self):
        write_mtx(self.path("A.mtx"), tridiagonal(90, changed={37: -4.0}))
        run = strata("solve", "--matrix", self.path("A.mtx"), "--solver", "cg", "--json", self.path("r.json"))
        self.assertEqual(run.code, 3, run.err)
        self.assertIn("row 37", run.err)
        self.assertEqual(load_valid(self.path("r.json"), "solve_sparse")["status"], "not_positive_definite")
        self.assert_solved(self.sparse("--matrix", self.path("A.mtx")))  # GMRES, chosen for the diagonal
        # a positive diagonal, and indefinite
        entries = [(i, j, 1.0 if i == j else 0.9) for i in range(1, 4) for j in range(1, 4)]
        lines = general(3, [(i, j, -a if i != j else a) for i, j, a in entries])
        write_mtx(self.path("A.mtx"), lines)
        run = strata("solve", "--matrix", self.path("A.mtx"), "--solver", "cg", "--preconditioner", "none")
        self.assertEqual(run.code, 3, run.err)
        self.assertIn("p' A p <= 0", run.err)
        report = self.sparse("--matrix", self.path("A.mtx"), "--preconditioner", "none")
        self.assert_solved(report)
        self.assertEqual([attempt["solver"] for attempt in report["attempts"]][-1], "gmres")

    def test_prints_a_table(self):
        run = strata("solve", "--generate", "anisotropic", "--n", 9, "--preconditioner", "amg")
        self.assertEqual((run.code, run.err), (0, ""))
        for part in ("Problem", "Method", "Solution", "Seconds", "level 1", "operator complexity", "PASSED"):
            self.assertIn(part, run.out)


def beam(n):
    """The square of tridiag(-1, 2, -1): what a beam bends by."""
    entries = []
    for i in range(1, n + 1):
        for j, a in ((i - 2, 1.0), (i - 1, -4.0), (i, 5.0 if i in (1, n) else 6.0), (i + 1, -4.0), (i + 2, 1.0)):
            if 1 <= j <= n:
                entries.append((i, j, a))
    return general(n, entries)


class Outcomes(SparseTest):
    def with_load(self, lines, load):
        write_mtx(self.path("A.mtx"), lines)
        write_npy(self.path("b.npy"), (len(load),), load)
        return ["--matrix", self.path("A.mtx"), "--rhs", self.path("b.npy")]

    def test_right_hand_sides_of_any_size(self):
        n = 60
        for size in (1e-300, 1e-170, 1e-30, 1e160, 1e300):
            with self.subTest(size=size):
                arguments = self.with_load(tridiagonal(n), [size * (1 + i % 3) for i in range(n)])
                report = self.sparse(*arguments, "--output", self.path("x.npy"))
                self.assert_solved(report)
                self.assertGreater(report["iterations"], 0)
                _, x = read_npy(self.path("x.npy"))
                for i in range(1, n - 1):
                    rest = (4 * x[i] - x[i - 1] - x[i + 1]) / size - (1 + i % 3)
                    self.assertLess(abs(rest), 1e-8)

    def test_ends_where_fp64_can_do_no_better(self):
        n = 1500
        arguments = self.with_load(beam(n), [math.sin(math.pi * i / (n + 1)) for i in range(1, n + 1)])
        report = self.sparse(*arguments)
        self.assertEqual((report["status"], report["ended"]), ("solved", "rounding_limit"))
        self.assertGreater(report["relative_residual"], 1e-10)
        self.assertLess(report["backward_error"], 1e-14)
        self.assertLess(report["iterations"], 3000)
        run = strata("solve", *arguments, "--output", self.path("x.npy"))
        self.assertEqual(run.code, 0)
        self.assertIn("PASSED, at fp64's limit", run.out)
        self.assertIn("fp64's own limit: backward error", run.err)
        # the user's own tolerance is not met, and x is there all the same
        run = strata("solve", *arguments, "--tolerance", 1e-10, "--output", self.path("y.npy"))
        self.assertEqual(run.code, 4)
        self.assertIn("stopped at fp64's own limit", run.err)
        self.assertIn("y.npy holds the best x", run.err)
        self.assertEqual(read_npy(self.path("y.npy")), read_npy(self.path("x.npy")))

    def test_writes_the_best_x_whatever_the_exit_code(self):
        arguments = self.with_load(tridiagonal(200, diagonal=2.0), [1.0] * 200)
        run = strata("solve", *arguments, "--max-iterations", 4, "--preconditioner", "none", "--output", self.path("x.npy"))
        self.assertEqual(run.code, 4)
        self.assertIn("x.npy holds the best x that was found: backward error", run.err)
        self.assertEqual(read_npy(self.path("x.npy"))[0], (200,))

    def test_warns_of_a_solution_for_an_invented_right_hand_side(self):
        write_mtx(self.path("A.mtx"), tridiagonal(9))
        run = strata("solve", "--matrix", self.path("A.mtx"), "--output", self.path("x.npy"))
        self.assertEqual(run.code, 0)
        self.assertIn("invented right-hand side", run.err)
        self.assertIn("--rhs", run.err)
        run = strata("solve", *self.with_load(tridiagonal(9), [1.0] * 9), "--output", self.path("x.npy"))
        self.assertEqual((run.code, run.err), (0, ""))

    def test_names_empty_rows_and_solves_for_the_others(self):
        entries = [(i, j, 2.5 if i == j else -1.0) for i in range(1, 41) for j in (i - 1, i, i + 1)
                   if 1 <= j <= 40 and 6 not in (i, j)]
        load = [0.0 if i == 6 else 1.0 for i in range(1, 41)]
        arguments = self.with_load(general(40, entries), load)
        run = strata("solve", *arguments, "--output", self.path("x.npy"))
        self.assertEqual(run.code, 0, run.err)
        self.assertIn("row 6 is empty", run.err)
        self.assertEqual(read_npy(self.path("x.npy"))[1][5], 0)
        report = self.sparse(*arguments)
        self.assertEqual((report["rows"]["empty"], report["rows"]["first_empty"]), (1, 6))
        self.assertEqual((report["solver"], report["preconditioner"]), ("direct", "direct"))
        run = strata("solve", *self.with_load(general(40, entries), [1.0] * 40))
        self.assertEqual(run.code, 4)
        self.assertIn("there is no solution", run.err)

    def test_says_what_may_be_wrong_with_the_matrix(self):
        # a body that nothing holds, under a load that does not balance
        arguments = self.with_load(tridiagonal(300, diagonal=2.0, changed={1: 1.0, 300: 1.0}), [1.0] * 300)
        for solver in ("cg", "gmres", "fgmres"):
            report_path = self.path("r.json")
            run = strata("solve", *arguments, "--solver", solver, "--max-iterations", 300, "--json", report_path)
            self.assertIn(run.code, (3, 4) if solver == "cg" else (4,), run.err)
            self.assertIn("probably singular", run.err)
            self.assertIn("boundary conditions", run.err)
            report = load_valid(report_path, "solve_sparse")
            self.assertTrue(report["rows"]["map_constants_to_zero"])
            self.assertLessEqual(report["relative_residual"], 1)
        # under one that does, x is found, and is one of many
        run = strata("solve", "--matrix", self.path("A.mtx"), "--json", report_path)
        self.assertEqual(run.code, 0, run.err)
        self.assertIsNone(load_valid(report_path, "solve_sparse")["forward_error"])  # of another x than the known one
        self.assertNotIn("forward error", run.out)
        self.assertEqual(run.err.count("probably singular"), 1)
        self.assertIn("one of many solutions", run.err)
        lines = tridiagonal(50, diagonal=0.5, changed={7: 0.0})
        write_mtx(self.path("A.mtx"), lines)
        run = strata("solve", "--matrix", self.path("A.mtx"), "--max-iterations", 3, "--preconditioner", "none")
        self.assertEqual(run.code, 4)
        self.assertIn("no preconditioner was used: the diagonal entry of row 7 is 0", run.err)

    def test_solves_for_what_a_free_body_leaves_of_its_load(self):
        n = 300
        lines = tridiagonal(n, diagonal=2.0, changed={1: 1.0, n: 1.0})
        load = [1.0 if i < n // 2 else -1.0 for i in range(n)]
        for part, code in ((1e-6, 0), (0.1, 4)):
            arguments = self.with_load(lines, [value + part for value in load])
            run = strata("solve", *arguments, "--json", self.path("r.json"), "--output", self.path("x.npy"))
            self.assertEqual(run.code, code, run.err)
            report = load_valid(self.path("r.json"), "solve_sparse")
            self.assertEqual((report["ended"], report["rows"]["floating_parts"], report["rows"]["floating"]), ("least_squares", 1, n))
            self.assertAlmostEqual(report["incompatible"], part / math.hypot(1, part), delta=1e-9 * part)
            self.assertIn("of b, its part in what A maps to 0, was left out", run.err)
            x = read_npy(self.path("x.npy"))[1]
            self.assertAlmostEqual(sum(x) / n / max(map(abs, x)), 0, delta=1e-14)
            for i in range(1, n - 1):
                self.assertAlmostEqual(2 * x[i] - x[i - 1] - x[i + 1], load[i], delta=1e-8)
        run = strata("solve", *self.with_load(lines, [value + 1e-6 for value in load]), "--tolerance", 1e-10)
        self.assertEqual(run.code, 4)  # which the user asked for, and nobody has

    def test_names_one_floating_part_of_many(self):
        lines = tridiagonal(200, diagonal=2.0, changed={101: 1.0, 200: 1.0})
        lines.remove("101 100 -1.0")
        lines[1] = "200 200 398"
        write_mtx(self.path("A.mtx"), lines)
        run = strata("solve", "--matrix", self.path("A.mtx"))
        self.assertEqual(run.code, 0, run.err)
        self.assertIn("in 1 part that nothing connects to the rest, 100 rows of 200", run.err)

    def test_a_penalty_hides_no_other_row(self):
        n = 200
        for penalty in (1e12, 1e30):
            lines = tridiagonal(n, diagonal=2.0, changed={1: penalty})
            report = self.sparse(*self.with_load(lines, [penalty] + [0.0] * (n - 1)), "--output", self.path("x.npy"))
            self.assert_solved(report)
            for i, value in enumerate(read_npy(self.path("x.npy"))[1]):
                self.assertAlmostEqual(value, 1 - i / n, delta=1e-8)

    def test_states_digits(self):
        run = strata("solve", "--generate", "poisson7", "--n", 10, "--json", self.path("r.json"))
        report = load_valid(self.path("r.json"), "solve_sparse")
        self.assertIn(f"digits to expect         at most {report['digits']}", run.out)
        self.assertGreaterEqual(report["digits"], 8)
        self.assertLessEqual(report["forward_error"], 30 * report["forward_error_estimate"])
        self.assertGreater(report["condition_at_least"], 2)
        # of wild units nothing is known of most unknowns where the residual is small, and no smaller
        source = random.Random(1)
        unit = [10.0 ** source.uniform(-8, 8) for _ in range(400)]
        entries = [(i + 1, j + 1, (2.0 if i == j else -1.0) * unit[i] * unit[j])
                   for i in range(400) for j in (i - 1, i, i + 1) if 0 <= j < 400]
        write_mtx(self.path("A.mtx"), general(400, entries))
        run = strata("solve", "--matrix", self.path("A.mtx"), "--preconditioner", "amg", "--json", self.path("r.json"))
        self.assertEqual(run.code, 0, run.err)
        self.assertGreater(load_valid(self.path("r.json"), "solve_sparse")["forward_error"], 0.1)
        self.assertIn("PASSED, but x may have no right digit", run.out)
        self.assertIn("x may have no right digit", run.err)


class Refusals(SparseTest):
    def test_options_that_do_not_go_together(self):
        write_mtx(self.path("A.mtx"), tridiagonal(5))
        write_mtx(self.path("wide.mtx"), [GENERAL, "2 3 1", "1 1 1.0"])
        write_mtx(self.path("hole.mtx"), general(2, [(1, 2, 1.0), (2, 1, 1.0)]))
        write_mtx(self.path("unsymmetric.mtx"), general(2, [(1, 1, 2.0), (1, 2, 1.0), (2, 2, 2.0)]))
        write_mtx(self.path("array.mtx"), ["%%MatrixMarket matrix array real general", "1 1", "1"])
        write_mtx(self.path("empty.mtx"), [GENERAL, "999999999 999999999 1", "1 1 1.0"])
        write_npy(self.path("b.npy"), (4, 1), [1.0] * 4)
        write_npy(self.path("B.npy"), (5, 2), [1.0] * 10)
        write_npy(self.path("C.npy"), (4, 2), [1.0] * 8)
        A = ["--matrix", self.path("A.mtx")]
        for arguments, parts in (
            ([*A, "--layers", "fp16,fp32"], ("--layers", "sparse", "--dense")),
            ([*A, "--compare"], ("--compare", "sparse")),
            ([*A, "--nrhs", 0], ("--nrhs", "1 column or more")),
            ([*A, "--trace", self.path("t")], ("--trace",)),
            ([*A, "--dense", "--solver", "cg"], ("--solver", "dense")),
            ([*A, "--sparse", "--dense"], ("--dense",)),
            ([*A, "--solver", "bicg"], ("bicg", "auto, cg, minres, gmres, fgmres, bicgstab, direct")),
            ([*A, "--preconditioner", "ilut"], ("ilut", "gs, ic, ilu, amg, direct")),
            ([*A, "--fill", 21], ("--fill", "21")),
            ([*A, "--precision", "fp8_e4m3"], ("fp8_e4m3", "fp16")),
            ([*A, "--precision", "tf32"], ("tf32", "fp16")),
            ([*A, "--precision", "half"], ("half",)),
            ([*A, "--restart", 0], ("--restart",)),
            ([*A, "--block-size", 0], ("--block-size",)),
            ([*A, "--block-size", 3], ("5 rows", "blocks of 3")),
            ([*A, "--coordinates", self.path("B.npy")], ("B.npy: 5 x 2 numbers are of 10 unknowns", "order 5")),
            ([*A, "--near-null-space", self.path("b.npy")], ("b.npy: 4 x 1 numbers are of 4 unknowns", "order 5")),
            ([*A, "--tolerance", 2], ("--tolerance",)),
            ([*A, "--nx", 3], ("--nx",)),
            ([*A, "--rhs", self.path("b.npy")], ("4 x 1", "order 5")),
            ([*A, "--rhs", self.path("C.npy")], ("4 x 2", "order 5")),
            ([*A, "--rhs", self.path("none.npy")], ("none.npy",)),
            ([*A, "--max-memory", "100"], ("--max-memory",)),
            (["--sparse", "--generate", "geometric", "--n", 9], ("dense",)),
            (["--dense", "--generate", "poisson7", "--n", 9], ("--dense",)),
            (["--generate", "poisson7"], ("--nx",)),
            (["--generate", "poisson8", "--n", 4], ("geometric", "poisson7")),
            (["--generate", "graph", "--nx", 4, "--ny", 4], ("graph: 4 x 4",)),
            (["--generate", "elasticity", "--nx", 4, "--ny", 1], ("elasticity: 4 x 1",)),
            (["--generate", "poisson7", "--n", 10**6], ("2^40",)),
            (["--generate", "poisson7", "--n", 8000], ("TB",)),
            (["--sparse", "--matrix", self.path("array.mtx")], ("array", "dense")),
            (["--sparse", "--matrix", self.path("b.npy")], (".npy", "dense")),
            (["--matrix", self.path("wide.mtx")], ("2 x 3", "square")),
            (["--matrix", self.path("empty.mtx")], ("999999999", "empty rows")),
            (["--matrix", self.path("hole.mtx"), "--preconditioner", "gs"], ("diagonal", "row")),
            (["--matrix", self.path("hole.mtx"), "--preconditioner", "jacobi"], ("diagonal", "row")),
            (["--matrix", self.path("unsymmetric.mtx"), "--solver", "cg"], ("symmetric", "gmres")),
        ):
            with self.subTest(arguments=arguments):
                self.assert_refused(strata("solve", *arguments), *parts)
        self.assert_solved(self.sparse("--matrix", self.path("hole.mtx")))  # no preconditioner

    def test_fails_when_a_result_cannot_be_written(self):
        run = strata("solve", *["--generate", "poisson7", "--n", 4], "--json", "/dev/full")
        self.assertEqual(run.code, 1, run.err)
        self.assertIn("/dev/full", run.err)


@needs_mpi
class Ranks(SparseTest):
    def run_on(self, ranks, *arguments, **how):
        return strata_on(ranks, "solve", *arguments, **how)

    def test_any_number_of_ranks_gives_the_solution(self):
        write_mtx(self.path("A.mtx"), general(200, random_dominant(200, 7)))
        solutions = []
        for ranks in (1, 2, 3, 4, 7):
            paths = self.path("r.json"), self.path("x.npy")
            run = self.run_on(ranks, "--matrix", self.path("A.mtx"), "--tolerance", 1e-12, "--json", paths[0],
                              "--output", paths[1])
            self.assertEqual(run.returncode, 0, run.stderr)
            report = load_valid(paths[0], "solve_sparse")
            self.assert_solved(report, 1e-12)
            self.assertEqual((report["ranks"], report["n"]), (ranks, 200))
            self.assertEqual(run.stdout.count("PASSED"), 1)
            solutions.append(read_npy(paths[1])[1])
        for other in solutions[1:]:
            self.assertLess(max(map(abs, map(float.__sub__, other, solutions[0]))), 1e-10)

    def test_more_ranks_than_rows(self):
        write_mtx(self.path("A.mtx"), tridiagonal(3))
        write_npy(self.path("b.npy"), (3,), [2.0, 4.0, 10.0])
        run = self.run_on(7, "--matrix", self.path("A.mtx"), "--rhs", self.path("b.npy"), "--output", self.path("x.npy"))
        self.assertEqual(run.returncode, 0, run.stderr)
        for got, wanted in zip(read_npy(self.path("x.npy"))[1], (1.0, 2.0, 3.0)):
            self.assertAlmostEqual(got, wanted, delta=1e-9)

    def test_generated_matrices_are_the_same_on_any_ranks(self):
        for kind in ("convection", "graph"):
            one = self.sparse("--generate", kind, *KINDS[kind])
            path = self.path("three.json")
            run = self.run_on(3, "--generate", kind, *KINDS[kind], "--json", path)
            self.assertEqual(run.returncode, 0, run.stderr)
            report = load_valid(path, "solve_sparse")
            self.assert_solved(report)
            self.assertEqual((report["n"], report["entries"]), (one["n"], one["entries"]))

    def test_bad_input_ends_all_ranks_with_one_message(self):
        write_mtx(self.path("A.mtx"), tridiagonal(9)[:-3])
        for arguments, part in ((("--matrix", self.path("A.mtx")), "17"),
                                (("--generate", "graph", "--nx", 4, "--ny", 4), "graph: 4 x 4"),
                                (("--generate", "poisson7", "--n", 4, "--rhs", self.path("none.npy")), "none.npy")):
            with self.subTest(arguments=arguments):
                # Each rank writes down its own exit code: a launcher whose ranks fail at once may end with one of its own.
                codes = self.path("codes.txt")
                codes.unlink(missing_ok=True)
                start = time.monotonic()
                run = self.run_on(3, *arguments, prefix=["sh", "-c", f'"$@"; echo $? >>{codes}', "sh"])
                self.assertLess(time.monotonic() - start, SOON)
                self.assertEqual(codes.read_text().split(), ["2"] * 3)
                messages = re.findall("strata: (.*)", run.stderr)
                self.assertEqual(len(messages), 1, run.stderr)
                self.assertIn(part, messages[0])
                self.assertEqual(run.stdout.strip(), "")

    @unittest.skipIf(ON_GPU, "MPI and CUDA take more addresses than the limit leaves")
    def test_an_allocation_that_fails_on_one_rank_ends_all(self):
        # rank 1 may have 1.5 GB of addresses, MPI's among them; its half of the matrix needs more
        limited = "if [ $RANK = 1 ]; then ulimit -v 1500000; fi"
        start = time.monotonic()
        run = self.run_on(2, "--generate", "poisson27", "--n", 120, "--max-memory", "900GB", each=limited)
        self.assertLess(time.monotonic() - start, 60)
        self.assertNotEqual(run.returncode, 0)
        messages = re.findall("strata: (.*)", run.stderr)
        self.assertEqual(len(messages), 1, run.stderr)
        self.assertTrue(messages[0].startswith("rank 1: "), messages)


if __name__ == "__main__":
    unittest.main()
