#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Files that lie: one clear line, exit 2, below 64 MB of memory and one second."""
import gzip
import pathlib
import tempfile
import unittest

from strata_program import ON_GPU, ProgramTest, strata, tridiagonal, write_mtx

COORDINATE = "%%MatrixMarket matrix coordinate real"


def symmetric(size, *entries):
    return [f"{COORDINATE} symmetric", size, *entries]


# The ten cases, each with what the message has to hold.
LYING_MATRICES = {
    "nnz_is_int64_max": (symmetric(f"5 5 {2**63 - 1}", "1 1 1.0"), str(2**63 - 1)),
    "nnz_is_4e8_with_one_line": (symmetric("400000000 400000000 400000000", "1 1 1.0"), "400000000"),
    "array_of_2_to_the_64": (["%%MatrixMarket matrix array real general", f"{2**32} {2**32}", "1.0"], "promises"),
    "index_0": (symmetric("3 3 2", "1 1 1.0", "0 1 1.0"), ":4:"),
    "index_n_plus_1": (symmetric("3 3 2", "1 1 1.0", "4 1 1.0"), ":4:"),
    "symmetric_but_not_square": (symmetric("3 4 1", "1 1 1.0"), "3 x 4"),
    "both_triangles_in_symmetric": (symmetric("3 3 2", "2 1 1.0", "1 3 1.0"), ":4:"),
    "nan": (symmetric("2 2 2", "1 1 1.0", "2 2 nan"), ":4:"),
    "overflow": (symmetric("2 2 2", "1 1 1.0", "2 2 1e400"), ":4:"),
    "truncated": (tridiagonal(9)[:-3], "17"),
}


def most():
    """64 MB and a second; on a GPU 32 MB and a second beside what a solve of two unknowns takes, mostly for the device's context."""
    if not ON_GPU:
        return 64e6, 1.0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "two.mtx"
        write_mtx(path, tridiagonal(2))
        run = strata("solve", "--matrix", path)
        return run.peak_bytes + 32e6, run.seconds + 1.0


class HostileInput(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.most_bytes, cls.most_seconds = most()

    def assert_cheaply_refused(self, *arguments, parts=()):
        run = strata("solve", *arguments)
        self.assert_refused(run, *parts)
        self.assertLess(run.seconds, self.most_seconds)
        self.assertLess(run.peak_bytes, self.most_bytes)

    def test_matrix_market_files_that_lie(self):
        for name, (lines, part) in LYING_MATRICES.items():
            with self.subTest(name):
                path = self.path(f"{name}.mtx")
                write_mtx(path, lines)
                for kind in ("--dense", "--sparse"):
                    self.assert_cheaply_refused(kind, "--matrix", path, parts=(path, part))

    def test_no_result_takes_the_place_of_what_is_read(self):
        matrix, places, new = (self.path(name) for name in ("A.mtx", "stations.csv", "new.csv"))
        write_mtx(matrix, tridiagonal(9))
        places.write_text("x,y,value\n" + "".join(f"{i},{i * i % 7},{i % 3}\n" for i in range(9)))
        new.write_text("x,y\n0.5,0.5\n")
        raw, of_raw, sizes, report, config = (self.path(name) for name in ("B.bin", "B.bin.json", "hpgmp.svg", "r.svg", "c.txt"))
        raw.write_bytes(bytes(8))
        of_raw.write_text('{"rows": 1, "columns": 1}')
        sizes.write_text("a\nb\n16 16 16\n1\n")
        report.write_text("{}")
        config.write_text("n = 5\n")
        linked = self.path("link.txt")
        linked.symlink_to(matrix)
        solve, mle = ("solve", "--matrix", matrix), ("mle", "--locations", places)
        before = {path: path.read_bytes() for path in (matrix, places, new, raw, of_raw, sizes, report, config)}
        for words, result, path, read in (
            (solve, "--output", matrix, "--matrix"),
            (solve, "--json", matrix, "--matrix"),
            (solve, "--trace", self.folder / "." / "A.mtx", "--matrix"),
            (solve, "--json", linked, "--matrix"),
            (("solve", "--generate", "minij", "--n", 9, "--rhs", matrix), "--output", matrix, "--rhs"),
            (("solve", "--matrix", raw), "--json", of_raw, "--matrix"),
            (("solve", "--generate", "minij", "--config", config), "--output", config, "--config"),
            (("solve", "--locations", places, "--covariance", "matern:1,1,0.5"), "--output", places, "--locations"),
            (mle, "--json", places, "--locations"),
            ((*mle, "--theta", "1,1,0.5,0.1", "--predict", new), "--output", new, "--predict"),
            (("hpgmxp", "--input", sizes), "--report", sizes, "--input"),
            (("plot", report), "--output", report, "files"),
        ):
            with self.subTest(words=words, result=result):
                run = strata(*words, result, path)
                self.assert_refused(run, f"{result}: {path} is the file of {read}, too: the run would overwrite what it reads")
                self.assertEqual({path: path.read_bytes() for path in before}, before)

    def test_a_gz_bomb(self):
        for name, filling in (("comments", b"%" * 1023 + b"\n"), ("blanks", b" " * 1023 + b"\n"), ("one_line", b"1" * 1024)):
            with self.subTest(name):
                path = self.path(f"{name}.mtx.gz")
                with gzip.open(path, "wb") as file:
                    file.write(f"{COORDINATE} symmetric\n2 2 1\n".encode())
                    for _ in range(64):
                        file.write(filling * 1024)
                self.assertLess(path.stat().st_size, 1e6)
                self.assert_cheaply_refused("--matrix", path, parts=(path,))
                self.assert_cheaply_refused("--dense", "--matrix", path, parts=(path,))

    def test_npy_files_that_lie(self):
        shapes = "{'descr': '<f8', 'fortran_order': True, 'shape': (4294967296, 4294967296), }".ljust(117) + "\n"
        for name, data in {
            "header_of_2_to_the_32": b"\x93NUMPY\x02\x00\xff\xff\xff\xff{",
            "shape_of_2_to_the_64": b"\x93NUMPY\x01\x00" + bytes((118, 0)) + shapes.encode() + bytes(8),
            "pickle": b"\x93NUMPY\x01\x00" + bytes((118, 0))
            + "{'descr': '|O', 'fortran_order': False, 'shape': (1, 1), }".ljust(117).encode() + b"\n" + bytes(8),
            "nothing": b"",
        }.items():
            with self.subTest(name):
                path = self.path(f"{name}.npy")
                path.write_bytes(data)
                self.assert_cheaply_refused("--matrix", path, parts=(path,))
                self.assert_cheaply_refused("--generate", "minij", "--n", 3, "--rhs", path, parts=(path,))

    def test_station_files_that_lie(self):
        for name, text in {
            "no_header": "1,2,3\n4,5,6\n",
            "no_stations": "x,y,value\n",
            "not_a_number": "x,y,value\n1,2,three\n",
            "not_finite": "x,y,value\n1,2,inf\n",
            "latitude": "lon,lat,value\n1,91,3\n",
            "short_line": "x,y,value\n1,2\n",
        }.items():
            with self.subTest(name):
                path = self.path(f"{name}.csv")
                path.write_text(text)
                self.assert_cheaply_refused("--locations", path, "--covariance", "matern:1,1,0.5", parts=(path,))

    def test_a_matrix_that_is_not_symmetric(self):
        path = self.path("A.mtx")
        write_mtx(path, [f"{COORDINATE} general", "2 2 3", "1 1 1.0", "2 1 0.5", "2 2 1.0"])
        self.assert_cheaply_refused("--dense", "--matrix", path, parts=(path, "symmetric"))

    def test_files_that_are_none(self):
        self.assert_cheaply_refused("--matrix", self.path("none.mtx"), parts=(self.path("none.mtx"),))
        self.assert_cheaply_refused("--matrix", self.folder, parts=(self.folder,))

    def test_words_that_are_none_of_its_own_are_named_with_what_may_be_meant(self):
        matrix = self.path("A.npy")
        matrix.write_bytes(b"")
        for words, text in (
            (("sovle",), "there is no command sovle; did you mean solve? (strata --help lists the commands)"),
            (("xyzzy",), "there is no command xyzzy (strata --help"),
            (("sparse", "--help"), "there is no command sparse (strata --help"),
            (("help", "sovle"), "there is no command sovle; did you mean solve?"),
            (("--matrix", matrix), "--matrix comes before a command; give the command first, as strata solve --matrix"),
            (("solve", "--matix", matrix), "strata solve has no option --matix; did you mean --matrix? (strata solve --help all lists the options)"),
            (("solve", "--layer=fp32"), "strata solve has no option --layer; did you mean --layers?"),
            (("solve", "--quiet"), "strata solve has no option --quiet (strata solve --help"),
            (("solve", matrix), f"{matrix} is no option of strata solve; did you mean --matrix {matrix}?"),
            (("mle", matrix), f"did you mean --locations {matrix}?"),
            (("solve", "--n", "many"), "(strata solve --help all lists the options)"),
        ):
            with self.subTest(words=words):
                self.assert_refused(strata(*words), text)

    def test_help_is_a_command_too(self):
        for words, others in ((("help",), ("--help",)), (("help", "solve"), ("solve", "--help"))):
            run = strata(*words)
            self.assertEqual((run.code, run.out), (0, strata(*others).out))

    def test_control_characters_do_not_reach_the_terminal(self):
        path = self.path("A.mtx")
        path.write_bytes(f"{COORDINATE} symmetric\n2 2 1\n1 1 \x1b[31mred\n".encode())
        run = strata("solve", "--matrix", path)
        self.assert_refused(run)
        self.assertNotIn("\x1b", run.err)


if __name__ == "__main__":
    unittest.main()
