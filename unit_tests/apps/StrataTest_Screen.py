#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the program shows: the table, the phase line on a terminal, and nothing when nobody listens."""
import importlib.util
import json
import os
import pty
import re
import subprocess
import unittest

from strata_program import ON_GPU, PROGRAM, ProgramTest, strata, tridiagonal, write_mtx

# With a clock that goes ten times as fast, where there is one, the line that waits for a second waits for a tenth.
CLOCK = {"LD_PRELOAD": os.environ["STRATA_FAST_CLOCK"]} if "STRATA_FAST_CLOCK" in os.environ else {}
# Long enough for the phase line, which waits for half a second.
LONG = ["solve", "--generate", "geometric", "--n", "600", "--layers", "fp32", "--repeat", "100" if CLOCK else "1000"]
ROWS = ("matrix", "format", "order", "condition number", "right-hand sides", "memory needed", "layers", "leaf size",
        "equilibration", "block scales", "shift", "rung of the ladder", "attempt 1", "bytes of the factor", "refinement",
        "backward error", "forward error", "SLATE error", "generate", "factor", "layered Cholesky", "solve, refined",
        "factor + solve", "total")
HPL = re.compile(r"^\|\|Ax-b\|\|_oo/\(eps\*\(\|\|A\|\|_oo\*\|\|x\|\|_oo\+\|\|b\|\|_oo\)\*N\) = (\S+) \.+ (PASSED|FAILED)$",
                 re.M)


def on_a_terminal(arguments, code=0, until=None, **environment):
    """What the program writes to a terminal, at most until it has written this: then it has shown what is asked, and is ended."""
    parent, child = pty.openpty()
    env = {**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, "TERM": "xterm", **CLOCK, **environment}
    process = subprocess.Popen([PROGRAM, *arguments], stdin=child, stdout=child, stderr=child, env=env)
    os.close(child)
    written = b""
    while True:
        try:
            data = os.read(parent, 65536)
        except OSError:  # the terminal is closed
            break
        if not data:
            break
        written += data
        if until and re.search(until, written.decode(errors="replace")):
            process.kill()
            code = None
            break
    os.close(parent)
    status = process.wait()
    assert code is None or status == code, written
    return written.decode()


LEFT = r"  \d+\.\d s of \d+\.\d s, \d+ (?:s|min) left"  # what the line ends in


class Table(ProgramTest):
    def test_has_a_row_for_everything(self):
        run = strata("solve", "--generate", "geometric", "--n", 100)
        self.assertEqual((run.code, run.err), (0, ""))
        for row in ROWS:
            self.assertRegex(run.out, rf"(?m)^  +{re.escape(row)}  ")

    def test_has_the_line_of_hpl_mxp_before_the_answer(self):
        run = strata("solve", "--generate", "geometric", "--n", 100)
        residual, verdict = HPL.search(run.out).groups()
        self.assertEqual(verdict, "PASSED")
        self.assertLess(float(residual), 16)
        self.assertRegex(run.out, r"PASSED\n\nAnswer\n")

    def test_counts_no_iterations_where_none_were_needed(self):
        for matrix, words in (("geometric", "none needed, 1 fp64 residual"), ("poisson7", r"cg with fp32: converged, \d+ iterations, relative")):
            run = strata("solve", "--generate", matrix, "--n", 20)
            self.assertRegex(run.out, rf"(?m)^  (refinement|run 1) +{words} ")

    def test_says_what_failed(self):
        write_mtx(self.path("A.mtx"), tridiagonal(20, changed={7: -4.0}))
        run = strata("solve", "--dense", "--matrix", self.path("A.mtx"))
        self.assertRegex(run.out, r"(?m)^  NOT POSITIVE DEFINITE +the leading minor of order 7 ")
        self.assertNotIn("PASSED", run.out)


class OneReport(ProgramTest):
    """The table and the JSON document are views of one list of values."""

    def views(self, *arguments, code=0):
        """The words of the table by their labels, and the document."""
        run = strata(*arguments, "--json", self.path("report.json"))
        self.assertEqual(run.code, code, run.err)
        return dict(re.findall(r"(?m)^  +(\S.*?)  +(\S.*)$", run.out)), json.loads(self.path("report.json").read_text())

    def assert_agree(self, table, document, keys):
        for label, key in keys.items():
            value = document
            for name in key.split("/"):
                value = value[name]
            shown = float(re.match(r"[-+.e0-9]+", table[label])[0])
            rounding = 6e-5 if "seconds" in key else 0  # four digits after the point
            self.assertAlmostEqual(shown, value, delta=rounding + 6e-3 * abs(value), msg=label)

    def test_table_and_document_agree(self):
        errors = {"backward error": "backward_error", "forward error": "forward_error", "total": "seconds/total"}
        field = ("--theta", "medium", "--output", self.path("field.csv"))
        for arguments, keys in (
            (("solve", "--generate", "geometric", "--n", 100, "--layers", "fp32"),
             {**errors, "order": "n", "leaf size": "leaf_size", "SLATE error": "slate_error", "condition number": "problem/condition",
              "layered Cholesky": "seconds/factor_parts/cholesky"}),
            (("solve", "--out-of-core", "--generate", "dominant", "--n", 100), {**errors, "order": "n", "fill tiles": "seconds/fill"}),
            (("solve", "--generate", "poisson7", "--n", 8, "--preconditioner", "amg"),
             {**errors, "order, entries": "n", "iterations": "iterations", "operator complexity": "operator_complexity"}),
            (("mle", "--generate", 50, *field), {"locations": "n", "range": "theta/range", "total": "seconds/total"}),
            (("mle", "--locations", self.path("field.csv"), "--theta", "medium", "--evaluate"),
             {"log-likelihood": "log_likelihood", "quadratic form": "quadratic_form"}),
            (("hpgmxp", "--nx", 16, "--run_type", "validation"), {"equations": "problem/equations", "penalty factor": "penalty"}),
        ):
            with self.subTest(command=arguments[:3]):
                table, document = self.views(*arguments)
                self.assert_agree(table, document, keys)

    def test_what_is_not_known_is_null_and_has_no_row(self):
        write_mtx(self.path("A.mtx"), tridiagonal(20))
        self.path("b.csv").write_text("1\n" * 20)
        table, document = self.views("solve", "--dense", "--matrix", self.path("A.mtx"), "--rhs", self.path("b.csv"))
        self.assertIsNone(document["forward_error"])
        self.assertIsNone(document["compare"])
        self.assertNotIn("forward error", table)
        self.assertEqual((table["entries in the file"], document["problem"]["entries"]), ("39", 39))


class StandardOutput(ProgramTest):
    def test_takes_the_document_for_the_table(self):
        for words in (("solve", "--generate", "geometric", "--n", 50), ("solve", "--generate", "poisson7", "--n", 5),
                      ("solve", "--out-of-core", "--generate", "dominant", "--n", 50), ("hpgmxp", "--nx", 16, "--run_type", "validation"),
                      ("mle", "--generate", 20, "--theta", "medium", "--output", self.path("f.csv"))):
            run = strata(*words, "--json", "-")
            self.assertEqual((run.code, run.err), (0, ""))
            self.assertTrue(json.loads(run.out)["schema"].startswith("strata."))
        self.assertEqual([path.name for path in self.folder.iterdir()], ["f.csv"])
        self.assertFalse(os.path.exists("-"))


class Words(ProgramTest):
    """The summary has the field's words beside the options' names."""

    def test_of_geostatistics(self):
        field, places = self.path("f.csv"), self.path("p.csv")
        self.assertEqual(strata("mle", "--generate", 60, "--theta", "1,0.2,0.5,0.25", "--output", field).code, 0)
        places.write_text("x,y\n0.5,0.5\n")
        at = ("mle", "--locations", field)
        out = strata(*at, "--theta", "1,0.2,0.5,0.25", "--predict", places, "--output", self.path("k.csv")).out
        for row in (r"sigma2 \(partial sill\) +1", r"range +0.2", r"nu \(smoothness\) +0.5", r"nugget +0.25", r"sill \(sigma2 \+ nugget\) +1.25",
                    r"average .*kriging standard error .* of the field"):
            self.assertRegex(out, rf"(?m)^  {row}")
        self.assertIn("fitted: estimate +- standard error\n", strata(*at, "--fix", "nu=0.5", "--tolerance", "1e-3").out)

    def test_of_linear_systems(self):
        self.assertRegex(strata("solve", "--generate", "geometric", "--n", 50).out, r"(?m)^  condition number kappa +\d")
        out = strata("solve", "--generate", "poisson7", "--n", 5).out
        for row in ("set-up", "solve"):
            self.assertRegex(out, rf"(?m)^  {row} +\d+\.\d")


class PhaseLine(ProgramTest):
    def test_is_rewritten_on_a_terminal(self):
        written = on_a_terminal(LONG)
        lines = re.findall(r"\r\x1b\[K(?:\x1b\[1m)?(factoring|solving)", written)
        self.assertTrue(lines, written)
        shown = written.replace("\r\n", "\n")
        self.assertRegex(shown, r"\r\x1b\[KProblem\n")  # the line is gone before the table
        self.assertIn("PASSED", shown)

    def test_shows_each_evaluation_of_a_fit(self):
        self.assertEqual(strata("mle", "--generate", 200 if CLOCK else 500, "--theta", "medium", "--output", self.path("f.csv")).code, 0)
        written = on_a_terminal(["mle", "--locations", str(self.path("f.csv")), "--tolerance", "1e-6"])
        lines = re.findall(r"\r\x1b\[K(?:\x1b\[1m)?(evaluation \d+: -?\d[^\r]*)", written)
        self.assertTrue(lines, written)
        self.assertLess(max(map(len, lines)), 90)  # escapes included
        self.assertRegex(written.replace("\r\n", "\n"), r"\r\x1b\[KProblem\n")

    def assert_shows(self, shown, runs):
        """One of the runs shows it: on a fast machine a larger one is long enough."""
        for arguments in runs:
            written = on_a_terminal([str(word) for word in arguments], code=None, until=shown)
            if re.search(shown, written):
                return written
        self.fail(f"{shown}: not in {written}")

    def test_has_the_time_left(self):
        """Where the work is known: of filling tiles, of iterations, at most of a fit."""
        tiles = ["solve", "--out-of-core", "--generate", "matern", "--covariance", "matern:1,0.1,0.7,0.01", "--tile", "64", "--epsilon", "1e-6"]
        slow = ["solve", "--generate", "poisson7", "--preconditioner", "none", "--solver", "gmres", "--restart", "1"]
        self.assert_shows(rf"filling tiles, n = \d+{LEFT}", ([*tiles, "--n", n] for n in (3000, 6000, 12000)))
        self.assert_shows(f"solving{LEFT}", ([*slow, "--n", n] for n in (32, 64, 128)))

    def test_has_the_time_left_of_a_fit(self):
        field = self.path("f.csv")
        strata("mle", "--generate", 1500, "--theta", "medium", "--output", field)
        self.assert_shows(r"evaluation \d+: [^\r]* s of \d+\.\d s, < \d+ (s|min) left", [["mle", "--locations", field, "--max-evaluations", 20]])

    @unittest.skipIf(ON_GPU, "a GPU has ended before the line is due")
    def test_has_the_time_left_of_the_first_evaluation_of_a_fit(self):
        """Of the matrix, whose entries are Bessel functions, and of its factorisation."""
        field = self.path("f.csv")

        def fits():
            for n in (3000, 6000, 9000):
                self.assertEqual(strata("mle", "--generate", n, "--theta", "1,0.1,0.5,0.05", "--output", field).code, 0)
                # An order of which there is no table.
                yield ["mle", "--locations", field, "--start", "1,0.01,12,0.05", "--lower", "0.01,0.001,11,0.01", "--upper", "9,1,20,1"]

        self.assert_shows(f"filling tiles, evaluation 1{LEFT}", fits())

    @unittest.skipIf(ON_GPU, "a GPU has ended before the line is due")
    def test_has_the_time_left_of_dense_work(self):
        self.assert_shows(rf"factoring[^\r]*{LEFT}", (["solve", "--generate", "kms", "--layers", "fp64", "--n", n] for n in (4000, 8000, 12000)))

    @unittest.skipIf(ON_GPU, "a GPU has ended before the line is due")
    def test_has_the_time_left_of_predictions(self):
        """By columns of the inverse."""
        field, places = self.path("f.csv"), self.path("p.csv")
        places.write_text("x,y\n" + "".join(f"{i % 100 / 100},{i // 100 / 100}\n" for i in range(10000)))

        def predictions():
            theta = ("--theta", "1,0.1,0.5,0.01")
            for n in (1500, 3000, 6000):
                self.assertEqual(strata("mle", "--generate", n, *theta, "--output", field).code, 0)
                yield ["mle", "--locations", field, *theta, "--predict", places, "--output", self.path("k.csv")]

        self.assert_shows(rf"predicting at 10000 locations[^\r]*{LEFT}", predictions())

    def test_has_the_time_left_of_what_is_told_of_a_solution(self):
        """The condition by refined solves, and the log-determinant by steps of Lanczos."""
        for phase, options in (
            ("estimating the condition", ["--cond", "1e6", "--layers", "fp32"]),
            ("estimating the log-determinant", ["--cond", "1e4", "--layers", "fp16,fp32", "--log-determinant"]),
        ):
            self.assert_shows(phase + LEFT, (["solve", "--generate", "geometric", "--n", n, *options] for n in (2000, 4000, 8000, 12000)))

    @unittest.skipIf(ON_GPU, "a GPU has ended before the line is due")
    def test_has_the_time_left_of_making_a_matrix(self):
        """Generated, from a covariance, or with few entries in a row; and of the benchmark's set-up."""
        matern = ["--covariance", "matern:1,0.1,0.7,0.01"]
        for phase, arguments, sizes in (
            ("generating the matrix", ["solve", "--generate", "geometric", "--n"], (4000, 8000, 12000)),
            (r"filling the covariance matrix, n = \d+", ["solve", "--generate", "matern", *matern, "--n"], (2500, 5000, 10000)),
            ("generating the matrix", ["solve", "--generate", "elasticity", "--nx"], (32, 64, 96)),
            ("assembling the matrix", ["solve", "--generate", "poisson27", "--nx"], (64, 96, 128)),
            ("set-up", ["hpgmxp", "--run_type", "validation", "--nx"], (64, 96, 128)),
        ):
            with self.subTest(phase=phase, of=arguments[2]):
                self.assert_shows(phase + LEFT, ([*arguments, size] for size in sizes))
        theta = ["--theta", "1,0.1,0.7,0.01", "--output", self.path("f.csv")]
        self.assert_shows(rf"filling tiles, n = \d+{LEFT}", (["mle", *theta, "--generate", n] for n in (3000, 6000, 12000)))

    @unittest.skipIf(ON_GPU, "a GPU has ended before the line is due")
    def test_has_the_time_left_of_the_vendors_runs(self):
        if strata("solve", "--generate", "minij", "--n", 10, "--compare").code != 0:
            self.skipTest("no vendor's Cholesky in this build")
        many = ["solve", "--generate", "kms", "--layers", "fp32", "--compare", "--repeat", 9]
        self.assert_shows(rf"comparing with [^\r]*{LEFT}", ([*many, "--n", n] for n in (1500, 3000, 5000)))

    def test_has_the_time_left_of_the_benchmarks_validation(self):
        self.assert_shows(f"validation, fp64{LEFT}", (["hpgmxp", "--nx", n, "--run_type", "validation"] for n in (32, 64, 96)))

    def test_has_the_time_left_of_the_benchmarks_timed_phases(self):
        """Of a warm-up by its iterations, of the solves by what those before took."""
        for n in (16, 32, 64):  # on a fast machine a larger one is long enough
            written = on_a_terminal(["hpgmxp", "--nx", str(n), "--rt", "2"])
            warm_up, solves = (re.findall(rf"{name}  \d+\.\d s of \d+\.\d s, (\d+) s left", written)
                               for name in ("(?:mixed|fp64), warm-up", r"mixed, solve \d+, \d of 2 s done"))
            if warm_up and solves:
                break
        self.assertTrue(warm_up and solves, written)

    def test_has_the_time_left_of_a_sparse_set_up(self):
        self.assert_shows(f"setting up the preconditioner{LEFT}", (["solve", "--generate", "poisson7", "--n", n] for n in (64, 96, 128)))

    def test_has_the_time_left_of_intervals(self):
        """From the second on, as if all took as long as those before."""

        def fits():
            for n in (150, 400, 900):
                self.assertEqual(strata("mle", "--generate", n, "--theta", "1,0.1,0.5,0.05", "--output", self.path("f.csv")).code, 0)
                yield ["mle", "--locations", self.path("f.csv"), "--fix", "nu=0.5,nugget=0.05", "--profile-intervals", "--tolerance", "1e-3"]

        written = self.assert_shows(rf"interval of range, at [^\r]*{LEFT}", fits())
        self.assertNotRegex(written, r"interval of sigma2[^\r]* left")

    def test_says_that_a_picture_is_drawn(self):
        """Its name goes to the standard output, in the line's place, and nobody knows how long Matplotlib will take."""
        if importlib.util.find_spec("matplotlib") is None:
            self.skipTest("no Matplotlib")
        field = self.path("f.csv")
        theta = ("--theta", "1,0.1,0.5,0.01")
        self.assertEqual(strata("mle", "--generate", 300 if CLOCK else 3000, *theta, "--output", field).code, 0)
        written = on_a_terminal(["plot", str(field), "--output", str(self.path("v.png"))])
        self.assertRegex(written, rf"\r\x1b\[Kdrawing [^\r]*v.png  \d+\.\d s of [^\r]*\r\x1b\[K{re.escape(str(self.path('v.png')))}: variogram\r\n")

    def test_has_the_time_left_of_reading(self):
        path = self.path("A.mtx")

        def readings():
            for n in (1500, 3000, 6000):
                column = "\n".join(str(1 / (3 + k)) for k in range(n))
                path.write_text(f"%%MatrixMarket matrix array real general\n{n} {n}\n" + f"{column}\n" * n)
                yield ["solve", "--matrix", path]

        self.assert_shows(rf"reading [^\r]*A.mtx{LEFT}", readings())

    def test_gives_its_place_to_a_hint(self):
        """The line is gone before the hint and comes back below it, and the phase goes on: its seconds do not begin anew."""
        for nodes in ("300", "1200", "4800"):  # of a slender beam; on a fast machine the longer one takes half a second
            beam = ["--nx", nodes, "--ny", "4", "--nz", "4"]
            written = on_a_terminal(["solve", "--generate", "elasticity", *beam, "--preconditioner", "amg", "--max-iterations", "180", "--precision", "fp64"], code=4)
            if re.search(r"solving  \d[^\r]*\r\x1b\[Kstrata: the matrix has 3 unknowns[^\r]*\r\n\r\x1b\[Ksolving", written):
                break
        hint = r"\r\x1b\[Kstrata: the matrix has 3 unknowns a node; [^\r\n]*\r\n"
        self.assertRegex(written, r"solving  \d+\.\d s of [^\r]*" + hint + r"\r\x1b\[Ksolving  \d")
        before, after = re.split(hint, written)
        seconds = [re.findall(r"solving  (\d+\.\d) s", part) for part in (before, after)]
        self.assertGreaterEqual(float(seconds[1][0]), float(seconds[0][-1]))

    def test_goes_to_standard_error(self):
        parent, child = pty.openpty()
        with subprocess.Popen([PROGRAM, *LONG], stdin=child, stdout=subprocess.PIPE, stderr=child, env={**os.environ, "TERM": "xterm", **CLOCK}) as process:
            os.close(child)
            table = process.stdout.read().decode()
        self.assertNotIn("\x1b", table)
        self.assertTrue(table.startswith("Problem\n"))
        self.assertIn(b"\r\x1b[K", os.read(parent, 65536))
        os.close(parent)

    def test_is_absent_on_a_dumb_terminal_and_elsewhere(self):
        self.assertNotIn("\x1b", on_a_terminal(LONG, TERM="dumb"))
        run = strata(*LONG, env=CLOCK)
        self.assertNotRegex(run.out + run.err, r"[\r\x1b]")


class Colour(ProgramTest):
    """Errors are red and warnings yellow where a terminal has colours, and nothing else."""

    def setUp(self):
        super().setUp()
        write_mtx(self.path("A.mtx"), tridiagonal(20, changed={7: -4.0}))
        write_mtx(self.path("S.mtx"), ["%%MatrixMarket matrix coordinate real general", "3 3 2", "1 1 4", "2 2 4"])
        self.runs = (
            (["solve", "--layers", "fp17"], 2, "31", "strata: "),
            (["solve", "--dense", "--matrix", str(self.path("A.mtx"))], 3, "31", "strata: not positive definite: "),
            (["solve", "--matrix", str(self.path("S.mtx"))], 0, "33", "strata: warning: row 3 is empty"),
        )

    def test_on_a_terminal(self):
        for arguments, code, colour, begin in self.runs:
            written = on_a_terminal(arguments, code=code)
            self.assertRegex(written, rf"\x1b\[{colour}m{begin}[^\r\n]*\x1b\[0m\r\n")
            self.assertEqual(len(re.findall(r"\x1b\[\d+m", written)), 2, written)
        self.assertNotRegex(on_a_terminal(LONG), r"\x1b\[\d*m")

    def test_nowhere_else(self):
        for arguments, code, _, begin in self.runs:
            for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
                written = on_a_terminal(arguments, code=code, **environment)
                self.assertIn(begin, written)
                self.assertNotRegex(written, r"\x1b\[\d*m")
            run = strata(*arguments, env={"TERM": "xterm"})
            self.assertNotIn("\x1b", run.out + run.err)


class ClosedPipe(ProgramTest):
    def test_files_are_written_and_nothing_is_printed(self):
        reader, writer = os.pipe()
        os.close(reader)
        try:
            run = strata("solve", "--generate", "minij", "--n", 50, "--json", self.path("r.json"), stdout=writer)
        finally:
            os.close(writer)
        self.assertIn(run.code, (1, -13))  # -13: ended by SIGPIPE, as other programs are
        self.assertTrue(self.path("r.json").exists())


if __name__ == "__main__":
    unittest.main()
