#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""`strata solve`: sources of the matrix, options, result files, exit codes."""
import gzip
import json
import math
import re
import unittest

from strata_program import (ON_GPU, COVARIANCE, STATIONS, ProgramTest, load_valid, read_npy, strata, tridiagonal, write_mtx,
                            write_npy)

GENERATE = ["--generate", "geometric", "--n", "200", "--cond", "1e3"]


class Sources(ProgramTest):
    def assert_solved(self, report):
        self.assertEqual(report["status"], "solved")
        self.assertEqual(report["info"], 0)
        self.assertLess(report["hpl_scaled_residual"], 16)
        self.assertLessEqual(report["slate_error"], 50 * 2.0**-53)
        self.assertLessEqual(report["backward_error"], math.sqrt(report["n"]) * 2.0**-52)

    def test_reads_a_matrix_market_file(self):
        write_mtx(self.path("A.mtx"), tridiagonal(50))
        report = self.solve("--dense", "--matrix", self.path("A.mtx"))
        self.assert_solved(report)
        self.assertEqual((report["n"], report["problem"]["entries"]), (50, 99))
        self.assertIn("coordinate real symmetric", report["problem"]["format"])
        self.assertLess(report["forward_error"], 1e-14)

    def test_reads_a_compressed_matrix_market_file(self):
        with gzip.open(self.path("A.mtx.gz"), "wt") as file:
            file.write("\n".join(tridiagonal(50)) + "\n")
        self.assert_solved(self.solve("--dense", "--matrix", self.path("A.mtx.gz")))

    def test_reads_a_numpy_file(self):
        write_npy(self.path("A.npy"), (2, 2), [4.0, 1.0, 1.0, 3.0])
        report = self.solve("--matrix", self.path("A.npy"))
        self.assert_solved(report)
        self.assertIn("<f8", report["problem"]["format"])

    def test_solves_the_kriging_system_of_the_stations(self):
        report = self.solve("--locations", STATIONS, "--covariance", COVARIANCE, "--output", self.path("x.npy"))
        self.assert_solved(report)
        self.assertEqual((report["n"], report["nrhs"]), (1720, 1))
        self.assertIsNone(report["forward_error"])
        self.assert_kriging_weights(read_npy(self.path("x.npy")))

    def assert_kriging_weights(self, solution):
        # Row i of A x = b for a few stations, in the order of the file, with the covariance written out.
        rows = [tuple(map(float, line.split(","))) for line in STATIONS.read_text().split()[1:]]
        shape, x = solution
        self.assertEqual(shape, (1720,))
        mean = sum(row[2] for row in rows) / len(rows)
        for i in (0, 1, 860, 1719):
            products = [22000 * math.exp(-great_circle(rows[i], row) / 2600) * xj for row, xj in zip(rows, x)]
            self.assertAlmostEqual(math.fsum(products) + 450 * x[i], rows[i][2] - mean, delta=1e-8)

    def test_generates_every_kind(self):
        for kind in ("geometric", "arithmetic", "cluster0", "cluster1", "logrand", "dominant", "minij", "lehmer", "kms",
                     "matern"):
            with self.subTest(kind=kind):
                report = self.solve("--generate", kind, "--n", 70)
                self.assert_solved(report)
                self.assertIn(kind, report["problem"]["source"])

    def test_generates_with_condition_scaling_and_seed(self):
        report = self.solve(*GENERATE, "--scaling", "1e12", "--seed", 7)
        self.assert_solved(report)
        self.assertEqual(report["problem"]["condition"], 1e3)
        self.assertIn("seed 7", report["problem"]["source"])
        self.assertLess(report["scaling"]["smallest"], 1e-4)
        self.assertGreater(report["scaling"]["largest"], 1e4)

    def test_takes_the_covariance_of_a_generated_matern_matrix(self):
        report = self.solve("--generate", "matern", "--n", 100, "--covariance", "matern:2,0.2,1.5,0.1")
        self.assertIn("matern:2,0.2,1.5,0.1", report["problem"]["source"])

    def test_solves_small_orders(self):
        for n in (0, 1, 2, 3):
            with self.subTest(n=n):
                report = self.solve("--generate", "minij", "--n", n, "--output", self.path("x.npy"))
                self.assertEqual(report["status"], "solved")
                self.assertEqual(read_npy(self.path("x.npy"))[0], (n,))


def great_circle(a, b):
    lon1, lat1, lon2, lat2 = map(math.radians, (*a[:2], *b[:2]))
    h = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return 2 * 6371.0088 * math.asin(math.sqrt(min(1.0, h)))


class Options(ProgramTest):
    def test_takes_layers_from_the_user(self):
        report = self.solve(*GENERATE, "--layers", "fp16,fp32", "--leaf-size", 32)
        self.assertEqual((report["layers_asked"], report["leaf_size"]), ("fp16,fp32", 32))
        self.assertEqual(report["attempts"][0]["layers"], "fp16,fp32")
        self.assertLess(report["bytes"]["factor"], report["bytes"]["matrix"] / 2)
        self.assertGreater(report["iterations"], 1)

    def test_takes_layers_in_short_and_in_any_case(self):
        for text in ("fp16x2,fp32", "FP16, fp16 ,Fp32"):
            self.assertEqual(self.solve(*GENERATE, "--layers", text)["layers_asked"], "fp16,fp16,fp32")

    def test_tells_the_last_rung_from_those_before(self):
        run = strata("solve", "--generate", "geometric", "--n", 200, "--cond", "1e14", "--layers", "fp32")
        self.assertEqual(run.code, 0, run.err)
        rows = dict(re.findall(r"^  (refinement|climbs) +(.*)$", run.out, re.M))
        self.assertRegex(rows["climbs"], r"^[1-9], the refinement did not converge before; [0-9]+ iterations in all$")
        self.assertRegex(rows["refinement"], "^none needed, 1 fp64 residual ")  # with the last factor, of fp64
        self.assertGreater(int(re.search("([0-9]+) iterations", rows["climbs"])[1]), 1)
        # those parts of the time that count the climbs' factorisations say so
        self.assertRegex(run.out, r"(?m)^    layered Cholesky +.*\(these three: also of the climbs, in the solve\)$")

    def test_tells_how_each_attempt_ended(self):
        system = ("--generate", "geometric", "--n", 800, "--cond", "1e10", "--layers", "fp32")
        report = self.solve(*system)
        ended = [attempt["outcome"] for attempt in report["attempts"]]
        self.assertEqual(ended[-1], "held")
        self.assertTrue(set(ended[:-1]) <= ({"broke down", "foretold", "not converged"} if ON_GPU else {"foretold"}), ended)
        if ended[0] == "foretold":
            self.assertEqual(report["attempts"][0]["info"], 0)
            self.assertRegex(strata("solve", *system).out, r"attempt 1 +fp32, shift 0: left after half of its columns, whose pivots fall too fast, ")

    def test_an_fp64_factor_needs_no_refinement(self):
        report = self.solve(*GENERATE, "--layers", "fp64")
        self.assertEqual((report["layers"], report["rung"]), ("fp64", report["attempts"][0]["rung"]))
        self.assertLessEqual(report["iterations"], 2)

    def test_refines_as_asked(self):
        for method in ("classical", "cg", "gmres", "auto"):
            with self.subTest(method=method):
                report = self.solve(*GENERATE, "--layers", "fp16,fp32", "--refine", method)
                self.assertEqual(report["refine"]["asked"], method)
                if method != "auto":
                    self.assertEqual(report["refine"]["method"], method)
        self.assertEqual(self.solve(*GENERATE, "--layers", "fp64", "--refine", "none")["refine"]["asked"], "none")

    def test_stops_at_the_tolerance(self):
        loose = self.solve(*GENERATE, "--layers", "bf16,fp32", "--leaf-size", 32, "--tolerance", "1e-6")
        tight = self.solve(*GENERATE, "--layers", "bf16,fp32", "--leaf-size", 32)
        self.assertLessEqual(loose["backward_error"], 1e-6)
        self.assertLess(loose["iterations"], tight["iterations"])

    def test_repeats_and_reports_the_median(self):
        self.assertEqual(self.solve(*GENERATE, "--repeat", 3)["repeat"], 3)

    def test_estimates_the_log_determinant(self):
        report = self.solve(*GENERATE, "--log-determinant")
        estimate = report["log_determinant"]
        # Eigenvalues 1000^-((i-1)/199): log det A = -log(1000) * 100.
        self.assertAlmostEqual(estimate["value"], -100 * math.log(1000), delta=estimate["error"] + 1e-8)
        exact = self.solve(*GENERATE, "--log-determinant", "--layers", "fp64")["log_determinant"]
        self.assertEqual(exact["standard_error"], 0)
        self.assertGreater(exact["error"], 0)
        self.assertAlmostEqual(exact["value"], -100 * math.log(1000), delta=1e-8)
        self.assertIsNone(self.solve(*GENERATE)["log_determinant"])

    def test_says_what_a_solution_is_worth(self):
        good = self.solve(*GENERATE, "--layers", "fp64")
        self.assertGreater(good["condition"]["estimate"], 100)
        self.assertLess(good["condition"]["estimate"], 1e6)
        self.assertLess(good["expected_forward_error"], 1e-9)
        hilbert = [repr(1 / (i + j + 1)) for j in range(12) for i in range(j, 12)]
        write_mtx(self.path("hilbert.mtx"), ["%%MatrixMarket matrix array real symmetric", "12 12"] + hilbert)
        run = strata("solve", "--dense", "--matrix", self.path("hilbert.mtx"), "--json", self.path("h.json"))
        self.assertEqual(run.code, 0, run.err)
        self.assertRegex(run.out, r"condition number kappa +[1-9]\.[0-9]e\+1[567]")
        self.assertRegex(run.out, r"digits to expect +[01] ")
        self.assertGreater(load_valid(self.path("h.json"), "solve")["expected_forward_error"], 0.1)

    def test_compares_with_the_vendor(self):
        write_mtx(self.path("A.mtx"), tridiagonal(64))
        run = strata("solve", "--dense", "--matrix", self.path("A.mtx"), "--compare", "--json", self.path("c.json"))
        if run.code == 2 and "no vendor" in run.err:
            self.skipTest(run.err)
        self.assertEqual(run.code, 0, run.err)
        compared = load_valid(self.path("c.json"), "solve")["compare"]
        self.assertGreater(compared["seconds"]["factor"], 0)
        self.assertGreater(compared["ratio"]["whole"], 0)
        self.assertLess(compared["backward_error"], 1e-14)
        self.assertIn("Comparison with", run.out)
        self.assertIn("ratio", run.out)

    def test_writes_a_trace(self):
        self.solve(*GENERATE, "--trace", self.path("trace.json"))
        trace = json.loads(self.path("trace.json").read_text())
        events = trace["traceEvents"] if isinstance(trace, dict) else trace
        self.assertTrue([event for event in events if event.get("ph") in ("X", "B")])

    def test_solves_for_the_right_hand_sides_of_a_file(self):
        write_mtx(self.path("A.mtx"), tridiagonal(3))
        write_npy(self.path("b.npy"), (3, 2), [2.0, 4.0, 10.0, 1.0, 0.0, 0.0])
        report = self.solve("--dense", "--matrix", self.path("A.mtx"), "--rhs", self.path("b.npy"), "--output", self.path("x.npy"))
        self.assertEqual((report["nrhs"], report["forward_error"]), (2, None))
        shape, x = read_npy(self.path("x.npy"))
        self.assertEqual(shape, (3, 2))
        for got, wanted in zip(x, (1.0, 2.0, 3.0, 15 / 56, 4 / 56, 1 / 56)):
            self.assertAlmostEqual(got, wanted, delta=1e-15)

    def test_makes_many_known_vectors(self):
        report = self.solve(*GENERATE, "--nrhs", 5)
        self.assertEqual(report["nrhs"], 5)
        self.assertLess(report["forward_error"], 1e-11)

    def test_kokkos_takes_its_own_arguments(self):
        report = self.solve("--kokkos-num-threads=1", *GENERATE)
        self.assertEqual(report["status"], "solved")


class NumPy(ProgramTest):
    def test_finds_the_solution_of_its_own_system(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("no NumPy")
        random = numpy.random.default_rng(1)
        G = random.standard_normal((60, 60))
        A, B = G @ G.T + numpy.eye(60), random.standard_normal((60, 3))
        A = (A + A.T) / 2
        numpy.save(self.path("A.npy"), A)
        numpy.save(self.path("B.npy"), B.astype(">f4"))
        self.solve("--matrix", self.path("A.npy"), "--rhs", self.path("B.npy"), "--layers", "fp16,fp32", "--output",
                   self.path("X.npy"))
        X = numpy.load(self.path("X.npy"))
        residual = numpy.abs(A @ X - B.astype(">f4")).max()
        self.assertLess(residual, 60 * 2.0**-52 * numpy.abs(A).sum(1).max() * numpy.abs(X).max())


class Files(ProgramTest):
    """A file holds the format that its name ends in, or is refused."""

    def setUp(self):
        super().setUp()
        write_mtx(self.path("A.mtx"), ["%%MatrixMarket matrix array real symmetric", "2 2", "4", "0", "4"])
        write_npy(self.path("b.npy"), (2,), [4.0, 8.0])

    def test_writes_the_format_that_the_name_ends_in(self):
        common = ["--matrix", self.path("A.mtx"), "--rhs", self.path("b.npy"), "--layers", "fp64", "--output"]
        for name in ("x.npy", "x.mtx", "x.mtx.gz", "x.csv", "x.txt"):
            with self.subTest(name):
                self.solve(*common, self.path(name))
                data = self.path(name).read_bytes()
                if name.endswith(".gz"):
                    data = gzip.decompress(data)
                if name == "x.npy":
                    self.assertTrue(data.startswith(b"\x93NUMPY"))
                    continue
                lines = data.decode().split("\n")
                if ".mtx" in name:
                    self.assertEqual(lines[:2], ["%%MatrixMarket matrix array real general", "2 1"])
                    del lines[:2]
                self.assertEqual(lines, ["1", "2", ""])

    def test_warns_of_a_solution_for_an_invented_right_hand_side(self):
        write_npy(self.path("A.npy"), (2, 2), [4.0, 1.0, 1.0, 3.0])
        write_npy(self.path("b.npy"), (2,), [1.0, 1.0])
        for more in ((), ("--out-of-core",)):
            common = ("solve", "--matrix", self.path("A.npy"), "--output", self.path("x.npy"), *more)
            run = strata(*common)
            self.assertEqual(run.code, 0, run.err)
            self.assertRegex(run.err, r"\Astrata: warning: .*x.npy solves for an invented right-hand side, .*--rhs\n\Z")
            self.assertEqual(strata(*common, "--rhs", self.path("b.npy")).err, "")
            self.assertEqual(strata("solve", "--matrix", self.path("A.npy"), *more).err, "")

    def test_reads_right_hand_sides_of_every_format(self):
        known = ["--matrix", self.path("A.mtx"), "--rhs", self.path("b.npy"), "--layers", "fp64", "--output"]
        for name in ("b2.npy", "b2.mtx", "b2.mtx.gz", "b2.csv", "b2.txt"):
            with self.subTest(name):
                self.solve(*known, self.path(name))  # 1, 2
                report = self.solve("--matrix", self.path("A.mtx"), "--rhs", self.path(name), "--output", self.path("x.csv"))
                self.assertIsNone(report["forward_error"])
                self.assertEqual(self.path("x.csv").read_text().split(), ["0.25", "0.5"])

    def test_refuses_other_names_before_the_run(self):
        for name in ("x.dat", "x", "x.npz", "x.csv.gz"):
            with self.subTest(name):
                run = strata("solve", *GENERATE, "--output", self.path(name))
                self.assert_refused(run, "--output", self.path(name), ".npy, .mtx, .mtx.gz, .csv or .txt")
                sparse = strata("solve", "--generate", "poisson7", "--n", 4, "--output", self.path(name))
                self.assert_refused(sparse, "--output", self.path(name))
                self.assertFalse(self.path(name).exists())
        field = strata("mle", "--generate", 9, "--theta", "weak", "--output", self.path("f.npy"))
        self.assert_refused(field, "f.npy", ".csv")

    def test_refuses_names_that_lie(self):
        npy = self.path("b.npy").read_bytes()
        for name, data, part in (
            ("B.mtx", npy, "by its content a .npy file of NumPy: rename it"),
            ("B.npy", self.path("A.mtx").read_bytes(), "by its content a Matrix Market file: rename it"),
            ("B.npy", b"1 2\n", "does not begin as one"),
            ("B.npz", b"PK\x03\x04", "an archive without a directory at its end"),
        ):
            with self.subTest(name=name, part=part):
                self.path(name).write_bytes(data)
                for options in ([], ["--dense"], ["--layers", "fp64"], ["--solver", "cg"]):
                    self.assert_refused(strata("solve", *options, "--matrix", self.path(name)), self.path(name), part)
                self.assert_refused(strata("solve", *GENERATE, "--rhs", self.path(name)), self.path(name))

    def test_a_triangle_alone_is_not_symmetric(self):
        write_npy(self.path("L.npy"), (2, 2), [4.0, 1.0, 0.0, 3.0])
        self.assert_refused(strata("solve", "--matrix", self.path("L.npy")), "not symmetric: A(2, 1) = 1 but A(1, 2) = 0",
                            "one triangle is enough in Matrix Market files that say symmetric")

    def test_refuses_a_sparse_matrix_in_another_format(self):
        write_npy(self.path("A.npy"), (1, 1), [4.0])
        run = strata("solve", "--sparse", "--matrix", self.path("A.npy"))
        self.assert_refused(run, "a sparse matrix is read from a Matrix Market coordinate file")


class ExitCodes(ProgramTest):
    def test_names_the_minor_that_is_not_positive(self):
        for n, minor in ((1, 1), (90, 1), (90, 37), (90, 64), (90, 65), (90, 90)):
            with self.subTest(n=n, minor=minor):
                write_mtx(self.path("A.mtx"), tridiagonal(n, changed={minor: -1.0}))
                path = self.path("x.npy")
                path.write_text("as it was")
                run = strata("solve", "--dense", "--matrix", self.path("A.mtx"), "--leaf-size", 32, "--json", self.path("r.json"),
                             "--output", path)
                self.assertEqual(run.code, 3, run.err)
                self.assertIn(f"leading minor of order {minor} ", run.err)
                report = load_valid(self.path("r.json"), "solve")
                self.assertEqual((report["status"], report["info"]), ("not_positive_definite", minor))
                self.assertIsNone(report["backward_error"])
                self.assertEqual(path.read_text(), "as it was")

    def test_an_indefinite_matrix_with_positive_diagonal(self):
        write_mtx(self.path("A.mtx"), ["%%MatrixMarket matrix array real symmetric", "2 2", "1", "2", "1"])
        self.assertEqual(self.solve("--dense", "--matrix", self.path("A.mtx"), code=3)["info"], 2)

    def test_finds_a_jitter_where_rounding_makes_a_matrix_indefinite(self):
        n = 60
        write_npy(self.path("A.npy"), (n, n), [3 * math.exp(-(((i - j) / 30) ** 2)) for i in range(n) for j in range(n)])
        run = strata("solve", "--matrix", self.path("A.npy"), "--json", self.path("r.json"))
        self.assertEqual(run.code, 3, run.err)
        for part in ("numerically not positive definite (condition about ", "A ridge or nugget of about ", "jitter"):
            self.assertIn(part, run.err)
        self.assertNotIn("GF/s", run.out)
        self.assertEqual(load_valid(self.path("r.json"), "solve")["tflops"], {"factor": None, "solve": None, "whole": None})
        report = self.solve("--matrix", self.path("A.npy"), "--jitter", "auto")
        self.assertTrue(1e-15 <= report["jitter"] <= 1e-12, report["jitter"])
        self.assertEqual(self.solve(*GENERATE, "--jitter", "auto")["jitter"], 0)
        self.assert_refused(strata("solve", *GENERATE, "--jitter", "1e-9"), "--jitter", "must be auto")
        self.assert_refused(strata("solve", "--generate", "matern", "--n", 100, "--out-of-core", "--jitter", "auto"), "--jitter does not apply")

    def test_says_when_it_did_not_converge(self):
        path = self.path("x.npy")
        report = self.solve(*GENERATE, "--layers", "fp64", "--tolerance", "1e-30", "--output", path, code=4)
        self.assertEqual((report["status"], report["info"]), ("not_converged", 0))
        self.assertGreater(report["backward_error"], 0)
        self.assertFalse(path.exists())

    def test_refuses_wrong_usage(self):
        for arguments, part in (
            (["sovle"], "sovle"),
            (["solve"], "exactly one of --matrix, --locations and --generate"),
            (["solve", "--nonsense"], "--nonsense"),
            (["solve", "--matrix", "a.mtx", *GENERATE], "--matrix"),
            (["solve", "--generate", "geometric"], "--n"),
            (["solve", "--generate", "hilbert", "--n", 9], "geometric"),
            (["solve", "--generate", "geometric", "--n", -1], "--n"),
            (["solve", "--generate", "geometric", "--n", 9, "--cond", 0.5], "0.5"),
            (["solve", "--generate", "geometric", "--n", 9, "--cond", "nan"], "nan"),
            (["solve", "--locations", STATIONS], "--covariance"),
            (["solve", "--locations", STATIONS, "--covariance", "matern:1,2"], "matern:1,2"),
            (["solve", "--locations", STATIONS, "--covariance", "matern:1,-2,0.5"], "-2"),
            (["solve", *GENERATE, "--covariance", COVARIANCE], "--covariance"),
            (["solve", *GENERATE, "--layers", "fp16,fp17"], "fp17"),
            (["solve", *GENERATE, "--layers", "fp16x0,fp32"], "a number of 1 to 32"),
            (["solve", "--generate", "poisson7", "--n", 3, "--precision", "fp8"], "stored in: fp64, fp32, bf16 or fp16"),
            (["solve", *GENERATE, "--leaf-size", 0], "--leaf-size"),
            (["solve", *GENERATE, "--refine", "bicgstab"], "bicgstab"),
            (["solve", *GENERATE, "--tolerance", "nan"], "--tolerance"),
            (["solve", *GENERATE, "--max-iterations", 0], "--max-iterations"),
            (["solve", *GENERATE, "--repeat", 0], "--repeat"),
            (["solve", *GENERATE, "--max-memory", "lots"], "--max-memory"),
            (["solve", *GENERATE, "--rhs", "b.npy", "--nrhs", 2], "--nrhs"),
            (["solve", *GENERATE, "--output", "/nonexistent/x.npy"], "/nonexistent"),
            (["solve", *GENERATE, "--json", self.folder], self.folder),
            (["solve", *GENERATE, "--trace", "/nonexistent/t.json"], "--trace"),
        ):
            with self.subTest(arguments=arguments):
                self.assert_refused(strata(*arguments), part)

    def test_refuses_more_memory_than_there_is(self):
        huge = ["solve", "--generate", "dominant", "--n", 10_000_000]
        self.assert_refused(strata(*huge), "800 TB")
        self.assert_refused(strata("solve", "--generate", "minij", "--n", 2**62), "EB")
        limited = strata("solve", "--generate", "dominant", "--n", 2000, "--max-memory", "20MB")
        self.assert_refused(limited, "32 MB", "--max-memory", "20 MB")
        small = self.solve("--generate", "dominant", "--n", 300, "--max-memory", "20MB")
        self.assertLess(small["bytes"]["needed"], 20e6)

    def test_refuses_right_hand_sides_that_do_not_fit(self):
        write_npy(self.path("b.npy"), (5,), [1.0] * 5)
        self.assert_refused(strata("solve", *GENERATE, "--rhs", self.path("b.npy")), "5 x 1", "200")

    def test_refuses_coinciding_stations_without_a_nugget(self):
        self.path("s.csv").write_text("x,y,value\n0,0,1\n1,0,2\n0,0,3\n")
        run = strata("solve", "--locations", self.path("s.csv"), "--covariance", "matern:1,1,0.5")
        self.assert_refused(run, "1 and 3", "nugget")
        self.solve("--locations", self.path("s.csv"), "--covariance", "matern:1,1,0.5,0.1")

    def test_fails_when_a_result_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            run = strata("solve", *GENERATE, stdout=full)
        self.assertEqual(run.code, 1, run.err)
        self.assertIn("standard output", run.err)
        run = strata("solve", *GENERATE, "--json", "/dev/full")
        self.assertEqual(run.code, 1, run.err)
        self.assertIn("/dev/full", run.err)


if __name__ == "__main__":
    unittest.main()
