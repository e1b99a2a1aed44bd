#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""`strata plot`: what each command's files hold, the numbers that are drawn, the formats of pictures, refusals."""
import collections
import importlib.util
import json
import math
import random
import sys
import tempfile
import unittest

from strata_program import APPS, COVARIANCE, STATIONS, ProgramTest, strata

sys.path.insert(0, str(APPS / "plot"))
import strata_plot
import strata_plot_data

FONTS = tempfile.TemporaryDirectory()  # of which Matplotlib makes a list, once for all tests
PICTURES = importlib.util.find_spec("matplotlib") is not None
STATIONS_AT = ("mle", "--locations", STATIONS, "--theta", COVARIANCE.removeprefix("matern:"))
KRIGED = ("mle", "--theta", "1,0.2,0.5,0.01", "--locations")


class PlotTest(ProgramTest):
    def plot(self, *arguments, code=0, **environment):
        run = strata("plot", *arguments, env={"STRATA_PYTHON": sys.executable, "MPLCONFIGDIR": FONTS.name, **environment})
        self.assertEqual(run.code, code, run.err)
        return run

    def made(self, *arguments):
        """The path of a command's report."""
        path = self.path(f"report{len(list(self.folder.iterdir()))}.json")
        run = strata(*arguments, "--json", path)
        self.assertEqual(run.code, 0, run.err)
        return path

    def kinds(self, path):
        return self.plot(path).out.rsplit(": ", 1)[1].strip().split(", ")

    def words_of(self, *arguments):
        """The text of a picture: Matplotlib writes it beside the curves of its letters."""
        if not PICTURES:
            self.skipTest("no Matplotlib")
        self.plot(*arguments, "--output", self.path("picture.svg"))
        return self.path("picture.svg").read_text()


class Kinds(PlotTest):
    def test_convergence_and_layers_of_a_dense_solve(self):
        path = self.made("solve", "--generate", "geometric", "--n", 300, "--layers", "fp16,fp32", "--leaf-size", 50, "--refine", "classical")
        self.assertEqual(self.kinds(path), ["convergence", "layers"])
        report = json.loads(path.read_text())
        self.assertLessEqual(report["refine"]["history"][-1], report["refine"]["tolerance"])
        words = self.words_of(path)
        target = report["refine"]["tolerance"]
        for text in ("normwise backward error", f"target {target:.1e}", "step of the refinement (0: the first solve)"):
            self.assertIn(text, words)
        words = self.words_of(path, "--kind", "layers")
        self.assertIn("fp16 (49.8 %)", words)
        self.assertIn("fp32 (50.2 %)", words)

    def test_blocks_cover_the_triangle_once(self):
        made = self.made("solve", "--generate", "geometric", "--n", 210, "--layers", "fp8_e4m3,fp16,fp32", "--leaf-size", 30)
        report = json.loads(made.read_text())
        covered = collections.Counter()
        for block in report["blocks"]:
            for i in range(block["row"], block["row"] + block["rows"]):
                covered.update((i, j) for j in range(block["col"], min(i + 1, block["col"] + block["cols"])))
        self.assertEqual(set(covered.values()), {1})
        self.assertEqual(len(covered), 210 * 211 // 2)
        low = [block for block in report["blocks"] if block["precision"] in ("fp8_e4m3", "fp16")]
        self.assertEqual(max(block["scale"] for block in low), report["scaling"]["largest_block"])
        self.assertEqual({block["scale"] for block in report["blocks"] if block["precision"] == "fp32"}, {1})
        self.assertEqual({math.frexp(block["scale"])[0] for block in low}, {0.5})  # powers of two

    def test_every_iteration_of_each_sparse_method(self):
        for solver in ("cg", "gmres", "fgmres"):
            with self.subTest(solver=solver):
                path = self.made("solve", "--generate", "poisson7", "--n", 8, "--solver", solver, "--preconditioner", "jacobi")
                self.assertEqual(self.kinds(path), ["convergence"])
                report = json.loads(path.read_text())
                history = report["history"]
                self.assertEqual(history["iterations"], list(range(1, report["iterations"] + 1)))
                residual = report["relative_residual"]
                self.assertAlmostEqual(history["relative_residual"][-1], residual, delta=0.1 * residual)
        self.assertIn("relative residual ||b - A x|| / ||b||", self.words_of(path))

    def test_a_long_history_is_thinned(self):
        slow = ("--preconditioner", "none", "--solver", "gmres", "--restart", 1, "--tolerance", "1e-12", "--max-iterations", 100000)
        report = json.loads(self.made("solve", "--generate", "poisson7", "--n", 20, *slow).read_text())
        self.assertGreater(report["iterations"], 1000)
        self.assertLessEqual(len(report["history"]["iterations"]), 1001)
        self.assertEqual(report["history"]["iterations"][-1], report["iterations"])

    def test_the_map_counts_as_the_report_does(self):
        matrix = ("--generate", "matern", "--covariance", "matern:1,0.1,0.5,0.01", "--n", 500)
        solve = self.made("solve", "--out-of-core", *matrix, "--tile", 50, "--epsilon", "1e-4")
        fit = self.made(*STATIONS_AT, "--evaluate", "--epsilon", "1e-4", "--tile", 128)
        for path, of in ((solve, lambda report: report), (fit, lambda report: report["precisions"])):
            report = of(json.loads(path.read_text()))
            self.assertIn("map", self.kinds(path))
            self.assertEqual([len(row) for row in report["map"]], list(range(1, len(report["map"]) + 1)))
            count = collections.Counter(strata_plot.DIGITS[digit] for row in report["map"] for digit in row)
            self.assertEqual({name: tiles for name, tiles in report["tiles"].items() if tiles}, dict(count))
            self.assertGreater(len(count), 1)
            words = self.words_of(path, "--kind", "map")
            self.assertIn(f"fp32: {count['fp32']} (", words)

    def test_trace(self):
        strata("solve", "--generate", "geometric", "--n", 200, "--trace", self.path("t.json"))
        self.assertEqual(self.kinds(self.path("t.json")), ["trace"])
        words = self.words_of(self.path("t.json"))
        self.assertIn("host", words)
        self.assertRegex(words, r"time \((s|ms|µs)\)")

    def test_kriging_by_report_or_file(self):
        field, places = self.path("field.csv"), self.path("places.csv")
        strata("mle", "--generate", 60, "--theta", "1,0.2,0.5,0.01", "--output", field)
        grid, scattered = [(i / 5, j / 5) for i in range(5) for j in range(4)], [(i / 9, i * i % 7 / 7) for i in range(10)]
        for name, rows in (("grid", grid), ("scattered", scattered)):
            places.write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in rows))
            path = self.made(*KRIGED, field, "--predict", places, "--output", self.path("k.csv"))
            with self.subTest(places=name):
                self.assertEqual(self.kinds(path), ["kriging", "variogram", "map"])
                self.assertIn("white: observations", self.words_of(path))
                self.assertEqual(self.kinds(self.path("k.csv")), ["kriging"])
                self.assertIn("sd of the field (unit of the values)", self.words_of(self.path("k.csv")))

    def test_variogram_of_observations_and_of_a_table(self):
        path = self.made(*STATIONS_AT, "--evaluate")
        words = self.words_of(path, "--kind", "variogram")
        self.assertIn("distance (km)", words)
        self.assertIn("empirical, area: pairs", words)
        self.assertIn("sigma2 2.2e+04, range 2600, nu 0.5, nugget 450", words)
        table = self.path("v.csv")
        table.write_text("distance,semivariance,pairs\n0.1,0.4,10\n0.2,0.6,30\n")
        self.assertEqual(self.kinds(table), ["variogram"])
        self.assertIn("distance (unit of the coordinates)", self.words_of(table))

    def test_course_of_a_fit(self):
        strata("mle", "--generate", 60, "--theta", "1,0.2,0.5,0.01", "--output", self.path("f.csv"))
        path = self.made("mle", "--locations", self.path("f.csv"), "--fix", "nu=0.5")
        fit = json.loads(path.read_text())["fit"]
        self.assertEqual(len(fit["history"]), fit["evaluations"])
        self.assertIn("log-likelihood", self.words_of(path, "--kind", "convergence"))

    def test_compare_with_the_vendor(self):
        if strata("solve", "--generate", "minij", "--n", 10, "--compare").code != 0:
            self.skipTest("no vendor's Cholesky in this build")
        path = self.made("solve", "--generate", "geometric", "--n", 200, "--layers", "fp32,fp32", "--compare")
        words = self.words_of(path, "--kind", "compare")
        self.assertIn(json.loads(path.read_text())["compare"]["library"], words)
        self.assertIn("time (s)", words)

    def test_compare_of_a_symmetric_solve(self):
        path = self.path("s.json")
        run = strata("solve", "--symmetric", "--generate", "saddle", "--n", 100, "--layers", "fp32", "--compare", "--json", path)
        if "no library with L D L^T" in run.err:
            self.skipTest(run.err)
        self.assertEqual(run.code, 0, run.err)
        report = json.loads(path.read_text())
        ours, theirs, vendor = report["seconds"], report["compare"]["seconds"], report["compare"]["library"]
        bars = strata_plot_data.find_compare(strata_plot_data.read(str(path)))["bars"]
        self.assertEqual([label.split("\n")[0] for label in bars], ["factor", "factor + solve"])
        self.assertEqual(list(bars.values()), [
            {"Strata": ours["factor"], vendor: theirs["factor"]},
            {"Strata": ours["factor"] + ours["solve"], vendor: theirs["factor"] + theirs["solve"]}])
        self.assertIn("compare", self.kinds(path))

    def test_compare_of_benchmarks(self):
        name = "dense/tree_potrf/Serial/{}/n:1024/manual_time"
        rows = [{"name": name.format(who), "run_name": name.format(who), "run_type": "iteration", "real_time": time, "time_unit": "ms"}
                for who, time in (("fp16x2,fp32", 2), ("vendor/fp64", 5), ("fp16x2,fp32", 4), ("fp16x2,fp32", 3))]
        path = self.path("b.json")
        path.write_text(json.dumps({"context": {}, "benchmarks": rows}))
        self.assertEqual(self.kinds(path), ["compare"])
        (bars,) = strata_plot_data.find_compare(strata_plot_data.read(str(path)))["bars"].values()
        self.assertEqual(bars, {"Strata": 3e-3, "vendor": 5e-3})
        self.assertIn("0.005", self.words_of(path))


class Numbers(unittest.TestCase):
    def setUp(self):
        if importlib.util.find_spec("numpy") is None:
            self.skipTest("no NumPy")

    def test_matern(self):
        h = [0.01, 0.3, 1.0, 4.0]
        forms = {0.5: lambda s: math.exp(-s), 1.5: lambda s: (1 + s) * math.exp(-s), 2.5: lambda s: (1 + s + s * s / 3) * math.exp(-s)}
        for nu, form in forms.items():
            for got, s in zip(strata_plot_data.matern_correlation(h, {"range": 0.5, "nu": nu}), h):
                self.assertAlmostEqual(got, form(s / 0.5), delta=1e-6)

    def test_models_of_each_family_and_of_sums(self):
        theta, h = {"sigma2": 2.0, "range": 0.5, "nu": 1.5, "nugget": 0.25}, [0.25, 1.0]
        forms = {"exponential": lambda x: math.exp(-x), "gaussian": lambda x: math.exp(-x * x), "powered": lambda x: math.exp(-(x**1.5)),
                 "spherical": lambda x: 1 - 1.5 * x + x**3 / 2 if x < 1 else 0}
        second = {"family": "exponential", "sigma2": 3.0, "range": 2.0, "nu": None}
        for family, form in forms.items():
            for other in (None, second):
                for got, one in zip(strata_plot_data.semivariance(h, theta, {"family": family, "second": other}), h):
                    expected = 0.25 + 2 * (1 - form(one / 0.5)) + (3 * (1 - math.exp(-one / 2)) if other else 0)
                    self.assertAlmostEqual(got, expected, delta=1e-12)
        self.assertEqual(strata_plot_data.named({"sigma2": 2.0, "range": 0.5, "nu": None, "nugget": 0.25}, {"second": second}),
                         "sigma2 2, range 0.5, nugget 0.25 + exponential sigma2 3, range 2")

    def test_variogram(self):
        generator = random.Random(3)
        x, y, z = ([generator.random() for _ in range(40)] for _ in range(3))
        lag, half, pairs, remark = strata_plot.empirical_variogram((x, y, None, False), z, bins=4)
        self.assertEqual(remark, "")
        distances = {(i, j): math.hypot(x[i] - x[j], y[i] - y[j]) for i in range(40) for j in range(i)}
        width = max(distances.values()) / 8
        for k in range(4):
            inside = [pair for pair, h in distances.items() if k * width <= h < (k + 1) * width]
            self.assertEqual(pairs[k], len(inside))
            self.assertAlmostEqual(lag[k], sum(distances[pair] for pair in inside) / len(inside))
            self.assertAlmostEqual(half[k], sum((z[i] - z[j]) ** 2 / 2 for i, j in inside) / len(inside))


class Outputs(PlotTest):
    def setUp(self):
        super().setUp()
        self.report = self.made("solve", "--generate", "geometric", "--n", 100, "--layers", "fp16,fp32", "--refine", "classical")

    def test_formats(self):
        if not PICTURES:
            self.skipTest("no Matplotlib")
        for name, begin in (("p.png", b"\x89PNG"), ("p.svg", b"<?xml"), (".svg", b"<?xml"), ("p.html", b"<!DOCTYPE html>")):
            run = self.plot(self.report, self.report, "--output", self.path(name))
            self.assertTrue(self.path(name).read_bytes().startswith(begin))
            self.assertTrue(run.out.startswith(f"{self.path(name)}: convergence"))
        page = self.path("p.html").read_text()
        self.assertEqual(page.count("<img "), 2)
        self.assertNotIn("http", page)

    def test_a_dollar_in_a_name_is_no_formula(self):
        path = self.path("$\\frac{$.json")
        path.write_bytes(self.report.read_bytes())
        self.assertIn("$\\frac{$.json: ", self.words_of(path))

    def test_reports_of_next_to_nothing_are_drawn_without_a_warning(self):
        """Or nothing is there to draw."""
        empty, one, trace = self.path("empty.mtx"), self.path("one.csv"), self.path("t.json")
        empty.write_text("%%MatrixMarket matrix array real symmetric\n0 0\n")
        one.write_text("x,y,value\n0.5,0.5,1\n")
        solved = self.made("solve", "--dense", "--matrix", empty, "--trace", trace)
        self.assertEqual(self.kinds(solved), ["nothing to draw"])
        report = json.loads(self.report.read_text())
        self.path("cut.json").write_text(json.dumps({**report, "n": 0, "refine": {}}))  # as if its blocks were of nothing
        self.assertEqual(self.kinds(self.path("cut.json")), ["nothing to draw"])
        self.path("moment.json").write_text('[{"name": "a", "ph": "X", "ts": 0, "dur": 0, "pid": 0, "tid": 0}]')
        fit = self.made("mle", "--locations", one, "--theta", "1,0.1,0.5,0.01", "--evaluate")
        if not PICTURES:
            self.skipTest("no Matplotlib")
        for path in (trace, self.path("moment.json"), fit):
            self.assertEqual(self.plot(path, "--output", self.path("p.html")).err, "")
        self.assert_refused(self.plot(one, "--output", self.path("p.png"), code=2), "one observation has no variogram")

    def test_refusals(self):
        out = self.path("p.png")
        refuse = lambda *parts, files=(self.report,), more=("--output", out), **environment: self.assert_refused(
            self.plot(*files, *more, code=2, **environment), *parts)
        refuse("--kind map needs a report of tiles", "has: convergence, layers", more=("--kind", "map", "--output", out))
        refuse("pie", more=("--kind", "pie", "--output", out))
        refuse("p.gif", ".png, .svg or .html", more=("--output", self.path("p.gif")))
        refuse("/no/such/folder", more=("--output", "/no/such/folder/p.png"))
        refuse("nothing.json", files=(self.path("nothing.json"),))
        self.path("other.json").write_text('{"a": 1}')
        refuse("other.json", "no report of strata", files=(self.path("other.json"),))
        self.path("broken.json").write_text('{"a": ')
        refuse("broken.json", "not JSON", files=(self.path("broken.json"),))
        self.path("empty.csv").write_text("")
        refuse("empty.csv", files=(self.path("empty.csv"),))
        self.path("half.json").write_text('{"schema": "strata.solve/1", "refine": {"history": [1]}}')
        refuse("not what strata writes", files=(self.path("half.json"),))
        for name, content in (("list.json", b"[1, 2]"), ("deep.json", b"[" * 100000), ("cut.csv.gz", b"\x1f\x8b12"),
                              ("negative.csv", b"x,y,mean,variance\n1,2,3,-1\n"),
                              ("nan.csv", b"x,y,value\n1,2,nan\n3,4,5\n")):
            if PICTURES:
                self.path(name).write_bytes(content)
                refuse(files=(self.path(name),))
        self.assertFalse(out.exists())

    def test_without_python_or_matplotlib(self):
        run = self.plot(self.report, "--output", self.path("p.png"), code=1, STRATA_PYTHON="/no/such/python")
        self.assertEqual(run.err.count("\n"), 1)
        for text in ("/no/such/python", "python3-matplotlib", "STRATA_PYTHON"):
            self.assertIn(text, run.err)
        for other in ("/bin/false", "/bin/true"):
            run = self.plot(self.report, "--output", self.path("p.png"), code=1, STRATA_PYTHON=other)
            self.assertEqual(run.err.count("\n"), 1)
            self.assertIn(f"{other} is none", run.err)
        self.path("matplotlib.py").write_text("raise ImportError('hidden')\n")
        run = self.plot(self.report, "--output", self.path("p.png"), code=1, PYTHONPATH=str(self.folder))
        self.assertIn("the pictures need Matplotlib", run.err)
        self.assertIn("python3-matplotlib", run.err)
        self.assertEqual(self.plot(self.report, PYTHONPATH=str(self.folder)).out, f"{self.report}: convergence, layers\n")


if __name__ == "__main__":
    unittest.main()
