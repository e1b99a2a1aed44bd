#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""`strata solve` for sparse matrices: several right-hand sides, and files of SciPy's and PETSc's."""
import struct
import unittest
import zipfile

from strata_program import ProgramTest, needs_mpi, read_npy, strata, strata_on, tridiagonal, write_mtx, write_npy


def npy(dtype, shape, data):
    """The bytes of a .npy of version 1.0."""
    text = (f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}").ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


def numbers(code, values):
    return struct.pack(f"<{len(values)}{code}", *values)


def rows_of_tridiagonal(n):
    """Pointers, columns and values of tridiag(-1, 2.5, -1)."""
    begin, column, value = [0], [], []
    for i in range(n):
        for j, a in ((i - 1, -1.0), (i, 2.5), (i + 1, -1.0)):
            if 0 <= j < n:
                column.append(j)
                value.append(a)
        begin.append(len(column))
    return begin, column, value


class SparseTest(ProgramTest):
    def sparse(self, *arguments, code=0):
        return self.solve(*arguments, code=code, kind="solve_sparse")


class Columns(SparseTest):
    def test_known_columns_go_abreast(self):
        for method in (["--preconditioner", "amg"], ["--preconditioner", "ic"], []):
            report = self.sparse("--generate", "poisson7", "--n", 12, "--nrhs", 11, *method)
            self.assertEqual((report["status"], report["nrhs"], len(report["columns"])), ("solved", 11, 11))
            self.assertEqual([column["abreast"] for column in report["columns"]], [8] * 8 + [3] * 3)
            for column in report["columns"]:
                self.assertEqual(column["ended"], "converged")
                self.assertLessEqual(column["relative_residual"], 1e-10)
            worst = max(report["columns"], key=lambda column: column["relative_residual"])
            self.assertEqual(report["relative_residual"], worst["relative_residual"])
            self.assertLess(report["forward_error"], 1e-7)

    def test_columns_of_a_file_come_out_as_if_each_were_alone(self):
        write_mtx(self.path("A.mtx"), tridiagonal(400, diagonal=2.1))
        columns = [[float((7 * i + 3 * j) % 11 - 5) for i in range(400)] for j in range(3)]
        columns[1] = [0.0] * 400
        write_npy(self.path("B.npy"), (400, 3), sum(columns, []))
        files = ["--matrix", self.path("A.mtx"), "--solver", "cg", "--preconditioner", "jacobi", "--tolerance", 1e-12]
        report = self.sparse(*files, "--rhs", self.path("B.npy"), "--output", self.path("X.npy"))
        self.assertEqual([column["iterations"] > 0 for column in report["columns"]], [True, False, True])
        shape, X = read_npy(self.path("X.npy"))
        self.assertEqual(shape, (400, 3))
        for j, column in enumerate(columns):
            write_npy(self.path("b.npy"), (400,), column)
            self.sparse(*files, "--rhs", self.path("b.npy"), "--output", self.path("x.npy"))
            for got, wanted in zip(X[400 * j : 400 * (j + 1)], read_npy(self.path("x.npy"))[1]):
                self.assertAlmostEqual(got, wanted, delta=1e-9)
        screen = strata("solve", *files, "--rhs", self.path("B.npy"))
        self.assertIn("Solution of the worst column", screen.out)
        self.assertRegex(screen.out, r"X +400 numbers x 3, first column: ")

    def test_a_method_that_is_not_for_it_takes_one_after_the_other(self):
        report = self.sparse("--generate", "convection", "--n", 9, "--nrhs", 3)
        self.assertEqual([column["abreast"] for column in report["columns"]], [1, 1, 1])
        self.assertEqual(report["status"], "solved")

    def test_what_does_not_converge_says_so(self):
        report = self.sparse("--generate", "poisson7", "--n", 12, "--nrhs", 3, "--solver", "cg", "--preconditioner", "none",
                             "--max-iterations", 4, code=4)
        self.assertEqual(report["status"], "not_converged")

    @needs_mpi
    def test_ranks_solve_for_columns_too(self):
        write_mtx(self.path("A.mtx"), tridiagonal(50))
        write_npy(self.path("B.npy"), (50, 2), [1.0] * 50 + [float(i) for i in range(50)])
        files = ["solve", "--matrix", self.path("A.mtx"), "--rhs", self.path("B.npy")]
        run = strata_on(2, *files, "--output", self.path("X.npy"))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(strata(*files, "--output", self.path("Y.npy")).code, 0)
        for got, wanted in zip(read_npy(self.path("X.npy"))[1], read_npy(self.path("Y.npy"))[1]):
            self.assertAlmostEqual(got, wanted, delta=1e-8)


class Files(SparseTest):
    def expect_ones(self, matrix, *rhs):
        """x of tridiag(-1, 2.5, -1) x = b with b its row sums."""
        if not rhs:
            write_npy(self.path("b.npy"), (60,), [1.5] + [0.5] * 58 + [1.5])
            rhs = (self.path("b.npy"),)
        report = self.sparse("--matrix", matrix, "--rhs", *rhs, "--output", self.path("x.npy"))
        self.assertEqual((report["status"], report["n"], report["entries"]), ("solved", 60, 178))
        for x in read_npy(self.path("x.npy"))[1]:
            self.assertAlmostEqual(x, 1.0, delta=1e-8)
        return report

    def test_reads_scipys_archives(self):
        begin, column, value = rows_of_tridiagonal(60)
        lines = [i for i in range(60) for _ in range(begin[i + 1] - begin[i])]
        common = {"shape": npy("<i8", (2,), numbers("q", [60, 60])), "data": npy("<f8", (178,), numbers("d", value))}
        for form in ("csr", "csc", "coo"):
            indices = npy("<i4", (178,), numbers("i", column))
            arrays = {"indices": indices, "indptr": npy("<i4", (61,), numbers("i", begin))}
            if form == "coo":
                arrays = {"row": npy("<i8", (178,), numbers("q", lines)), "col": indices}
            for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                with zipfile.ZipFile(self.path("A.npz"), "w", compression) as archive:
                    for name, data in (common | arrays | {"format": npy("|S3", (), form.encode())}).items():
                        with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                            member.write(data)
                report = self.expect_ones(self.path("A.npz"))
                self.assertEqual(report["problem"]["format"], f"SciPy, {form}")
        self.assertEqual(self.solve("--dense", "--matrix", self.path("A.npz"))["schema"], "strata.solve/1")
        for size in (100, 500, 1000):
            self.path("cut.npz").write_bytes(self.path("A.npz").read_bytes()[:size])
            run = strata("solve", "--matrix", self.path("cut.npz"))
            self.assertEqual((run.code, run.out), (2, ""))
            self.assertIn("an archive without a directory at its end: it is truncated", run.err)

    def test_reads_one_array_of_an_archive(self):
        write_mtx(self.path("A.mtx"), tridiagonal(60, diagonal=2.5))
        b = npy("<f8", (60,), numbers("d", [1.5] + [0.5] * 58 + [1.5]))
        with zipfile.ZipFile(self.path("b.npz"), "w") as archive:
            archive.writestr("arr_0.npy", b)
        self.expect_ones(self.path("A.mtx"), self.path("b.npz"))
        with zipfile.ZipFile(self.path("b.npz"), "a") as archive:
            archive.writestr("arr_1.npy", b)
        run = strata("solve", "--matrix", self.path("A.mtx"), "--rhs", self.path("b.npz"))
        self.assertEqual(run.code, 2)
        self.assertIn("an archive of 2 members (arr_0.npy, arr_1.npy)", run.err)

    def test_reads_petscs_binary_files(self):
        begin, column, value = rows_of_tridiagonal(60)
        lengths = [end - first for first, end in zip(begin, begin[1:])]
        for code in "iq":
            big = lambda values: struct.pack(f">{len(values)}{code}", *values)
            matrix = big([1211216, 60, 60, 178, *lengths, *column]) + struct.pack(">178d", *value)
            self.path("A.dat").write_bytes(matrix)
            self.path("b.dat").write_bytes(big([1211214, 60]) + struct.pack(">60d", *[1.5] + [0.5] * 58 + [1.5]))
            report = self.expect_ones(self.path("A.dat"), self.path("b.dat"))
            self.assertIn("PETSc, binary matrix", report["problem"]["format"])
            self.path("A.dat").write_bytes(matrix[:-9])
            run = strata("solve", "--matrix", self.path("A.dat"))
            self.assertEqual(run.code, 2)
            self.assertIn("60 rows and 178 entries need more bytes than", run.err)

    def test_no_result_is_written_as_an_archive(self):
        run = strata("solve", "--generate", "poisson7", "--n", 4, "--output", self.path("x.npz"))
        self.assertEqual(run.code, 2)
        self.assertIn(".npy, .mtx, .mtx.gz, .csv or .txt", run.err)


if __name__ == "__main__":
    unittest.main()
