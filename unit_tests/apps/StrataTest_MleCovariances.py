#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""`strata mle` with other families, directions, known error variances, chordal distances and exact maps, against dense NumPy."""
import csv
import json
import math
import random
import sys
import unittest

try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
from strata_program import ProgramTest, load_valid, strata

FAMILIES = {
    "exponential": lambda x: np.exp(-x),
    "gaussian": lambda x: np.exp(-x * x),
    "spherical": lambda x: np.where(x < 1, 1 - 1.5 * x + x**3 / 2, 0),
    "powered": lambda x: np.exp(-(x**1.25)),
    "matern": lambda x: (1 + x) * np.exp(-x),
}
SHAPE = {"powered": 1.25, "matern": 1.5}


def distances(a, b, angle=0.0, ratio=1.0):
    t = math.radians(angle)
    dx, dy = a[:, None, 0] - b[None, :, 0], a[:, None, 1] - b[None, :, 1]
    return np.hypot(dx * math.sin(t) + dy * math.cos(t), (dx * math.cos(t) - dy * math.sin(t)) / ratio)


def chords(a, b):
    def on_sphere(p):
        lon, lat = np.radians(p).T
        return 6371.0088 * np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    return np.linalg.norm(on_sphere(a)[:, None] - on_sphere(b)[None, :], axis=2)


def log_likelihood(S, y):
    ones, W = np.ones(len(y)), np.linalg.solve(S, np.column_stack([np.ones(len(y)), y]))
    mean = (ones @ W[:, 1]) / (ones @ W[:, 0])
    r = y - mean
    return -0.5 * (len(y) * math.log(2 * math.pi) + np.linalg.slogdet(S)[1] + r @ np.linalg.solve(S, r)), mean


class MleCovariances(ProgramTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(3)
        self.places = random.random((90, 2))
        self.errors = 0.05 + 0.5 * random.random(90)
        self.y = 5 + np.sin(7 * self.places[:, 0]) + self.places[:, 1] + 0.3 * random.standard_normal(90)
        self.file = self.write("field.csv", "x,y,value,noise", np.column_stack([self.places, self.y, self.errors]))

    def write(self, name, header, rows):
        text = header + "\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist())
        self.path(name).write_text(text, encoding="utf-8")
        return self.path(name)

    def mle(self, *arguments, code=0):
        path = self.path("report.json")
        run = strata("mle", *arguments, "--json", path, timeout=400)
        self.assertEqual(run.code, code, run.err)
        self.out, self.err = run.out, run.err
        return load_valid(path, "mle")

    def refused(self, *arguments):
        run = strata("mle", *arguments)
        self.assertEqual(run.code, 2, run.err)
        return run.err

    @staticmethod
    def theta(family, range_=0.3):
        return ",".join(map(str, [1.5, range_, *([SHAPE[family]] if family in SHAPE else []), 0.2]))

    def test_evaluates_each_family_with_directions(self):
        for family, rho in FAMILIES.items():
            for axes in ((0.0, 1.0), (30.0, 0.5)):
                report = self.mle("--data", self.file, "--theta", self.theta(family), "--family", family, "--evaluate",
                                  "--anisotropy", f"{axes[0]},{axes[1]}", "--gradient")
                S = 1.5 * rho(distances(self.places, self.places, *axes) / 0.3) + 0.2 * np.eye(90)
                expected, mean = log_likelihood(S, self.y)
                self.assertLess(abs(report["log_likelihood"] - expected), 1e-9 * abs(expected))
                self.assertLess(abs(report["mean"]["value"] - mean), 1e-9 * abs(mean))
                self.assertEqual(report["covariance"], {"family": family, "second": None, "angle": axes[0], "ratio": axes[1], "ranges": None, "directions_fitted": False})
                self.assertEqual(report["theta"]["nu"], SHAPE.get(family))
                self.assertEqual(report["gradient"]["by"]["nu"] is None, family not in SHAPE)
                self.assertEqual(report["gradient"]["by_ratio"] is None, axes[1] == 1)

    def test_knows_error_variances(self):
        report = self.mle("--data", self.file, "--theta", "1.5,0.3,0.1", "--family", "exponential", "--evaluate", "--error-variances", "noise")
        S = 1.5 * np.exp(-distances(self.places, self.places) / 0.3) + 0.1 * np.eye(90) + np.diag(self.errors)
        expected, _ = log_likelihood(S, self.y)
        self.assertLess(abs(report["log_likelihood"] - expected), 1e-9 * abs(expected))
        self.assertEqual(report["problem"]["error_variances"], "noise")
        fitted = self.mle("--data", self.file, "--family", "exponential", "--error-variances", "noise", "--gradient")
        self.assertEqual(fitted["status"], "fitted")
        self.assertGreater(fitted["log_likelihood"], expected)
        self.assertIn("no column", self.refused("--data", self.file, "--error-variances", "nothing"))

    def test_refuses_to_fix_what_a_family_lacks(self):
        for fixed in ("nu", "nu=0.5"):
            self.assertIn(f"--fix: '{fixed}': the family spherical has no nu",
                          self.refused("--data", self.file, "--family", "spherical", "--fix", fixed))

    def test_a_second_structure_keeps_what_is_fixed_and_has_intervals(self):
        how = ["--data", self.file, "--family", "exponential+spherical"]
        report = self.mle(*how, "--fix", "range_2=0.8,sigma2=0.2", "--profile-intervals")
        self.assertEqual(report["fit"]["fixed"], ["sigma2", "nu", "range_2", "nu_2"])
        self.assertEqual((report["theta"]["sigma2"], report["covariance"]["second"]["range"]), (0.2, 0.8))
        intervals = {one["parameter"]: one for one in report["profile_intervals"]["intervals"]}
        self.assertEqual(list(intervals), ["range", "nugget", "sigma2_2"])
        self.assertLess(intervals["sigma2_2"]["lower"], report["covariance"]["second"]["sigma2"])
        self.assertGreater(intervals["sigma2_2"]["upper"], report["covariance"]["second"]["sigma2"])
        self.assertRegex(self.out, r"(?m)^  range of the second +0\.8  \(fixed\)$")
        self.assertRegex(self.out, r"(?m)^  sigma2 of the second .*\n +95 % interval ")
        for fixed, why in (("nu_2", "the family spherical has no nu"), ("range_2=", "'' is not a number"), ("sill_2", "or sigma2_2, range_2 or nu_2")):
            self.assertIn(f"--fix: '{fixed}'", self.refused(*how, "--fix", fixed))
            self.assertIn(why, self.refused(*how, "--fix", fixed))
        self.assertIn("there is one structure alone", self.refused("--data", self.file, "--fix", "range_2=1"))

    def test_measures_chords(self):
        globe = self.places * [40, 30] + [-10, 30]
        file = self.write("globe.csv", "lon,lat,value", np.column_stack([globe, self.y]))
        report = self.mle("--data", file, "--theta", "1.5,900,0.2", "--family", "gaussian", "--distance", "chordal", "--evaluate")
        expected, _ = log_likelihood(1.5 * np.exp(-((chords(globe, globe) / 900) ** 2)) + 0.2 * np.eye(90), self.y)
        self.assertLess(abs(report["log_likelihood"] - expected), 1e-9 * abs(expected))
        self.assertEqual(report["problem"]["metric"], "chordal_km")
        self.assertIn("not positive definite; take chordal", self.refused("--data", file, "--theta", "1.5,900,0.2", "--family", "gaussian", "--evaluate"))
        self.assertIn("is of longitude and latitude", self.refused("--data", self.file, "--distance", "chordal"))

    def test_interpolates_exactly_where_that_is_asked(self):
        new = self.write("new.csv", "x,y", np.vstack([self.places[[7, 30]], [[0.5, 0.5]]]))
        variances = []
        for how in ([], ["--exact"]):
            self.mle("--data", self.file, "--theta", self.theta("spherical", 0.5), "--family", "spherical", "--predict", new,
                     "--output", self.path("out.csv"), *how)
            with open(self.path("out.csv"), newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            variances.append([float(row["observation_variance"]) for row in rows])
            for row, value in zip(rows, self.y[[7, 30]]):
                near = abs(float(row["mean"]) - value) < 1e-9 and float(row["variance"]) < 1e-9
                self.assertEqual(near, bool(how))
        self.assertLess(abs(variances[0][2] - variances[1][2]), 1e-9)  # a new observation is the same elsewhere

    def test_fits_families_and_directions(self):
        for family in FAMILIES:
            report = self.mle("--data", self.file, "--family", family)
            self.assertEqual(report["status"], "fitted")
            self.assertEqual(report["covariance"]["family"], family)
        self.mle("--generate", 250, "--theta", "1,0.3,0.05", "--family", "exponential", "--anisotropy", "60,0.3", "--output", self.path("turned.csv"))
        plain = self.mle("--data", self.path("turned.csv"), "--family", "exponential")
        report = self.mle("--data", self.path("turned.csv"), "--family", "exponential", "--anisotropy", "fit")
        self.assertGreater(report["log_likelihood"], plain["log_likelihood"] + 10)
        self.assertTrue(report["covariance"]["directions_fitted"])
        self.assertLess(abs(report["covariance"]["angle"] - 60), 15)
        self.assertLess(abs(report["covariance"]["ratio"] - 0.3), 0.15)
        self.assertLess(abs(report["aic"] + 2 * report["log_likelihood"] - 2 * 6), 1e-9)
        self.assertIn("angle (longest range)", self.out)

    def test_all_neighbours_are_the_exact_likelihood_and_map(self):
        new = self.write("new.csv", "x,y", np.vstack([self.places[[7, 30]], [[0.5, 0.5]]]))
        for family in FAMILIES:
            how = ["--data", self.file, "--theta", self.theta(family), "--family", family, "--evaluate", "--gradient", "--anisotropy", "30,0.5",
                   "--error-variances", "noise", "--predict", new, "--exact"]
            reports, maps = [], []
            for more in ([], ["--neighbours", 200]):
                reports.append(self.mle(*how, *more, "--output", self.path("out.csv")))
                with open(self.path("out.csv"), newline="", encoding="utf-8") as file:
                    maps.append([[float(row["mean"]), float(row["variance"])] for row in csv.DictReader(file)])
            exact, near = reports
            self.assertAlmostEqual(near["log_likelihood"], exact["log_likelihood"], delta=1e-9 * abs(exact["log_likelihood"]))
            for name in ("by_angle", "by_ratio"):
                self.assertAlmostEqual(near["gradient"][name], exact["gradient"][name], delta=1e-8 * (1 + abs(exact["gradient"][name])))
            for name, slope in exact["gradient"]["by"].items():
                self.assertEqual(slope is None, name == "nu" and family not in SHAPE)
                if slope is not None:
                    self.assertAlmostEqual(near["gradient"]["by"][name], slope, delta=1e-8 * (1 + abs(slope)))
            self.assertLess(np.abs(np.subtract(*maps)).max(), 1e-9)

    def test_says_why_further_parameters_have_no_error(self):
        field = self.path("isotropic.csv")
        draw = random.Random(3)
        rows = []
        for _ in range(80):
            x, y = draw.random(), draw.random()
            rows.append(f"{x},{y},{math.sin(5 * x) + math.cos(4 * y) + draw.gauss(0, 0.4)}\n")
        field.write_text("x,y,value\n" + "".join(rows))
        shown = strata("mle", "--locations", field, "--anisotropy", "fit", "--json", self.path("r.json")).out
        further = json.loads(self.path("r.json").read_text())["standard_errors"]["further"]
        self.assertIsNone(further["angle"])
        self.assertEqual(further["reasons"]["angle"], "the ratio may be 1, where there is no direction")
        self.assertEqual((further["reasons"]["ratio"], further["reasons"]["range_2"]), ("", ""))
        self.assertRegex(shown, r"(?m)^  ratio +\S+ \+- ")
        self.assertRegex(shown, "(?m)^  angle +none: the ratio may be 1, where there is no direction$")
        self.assertNotIn("angle and ratio", shown)
        shown = strata("mle", "--locations", field, "--neighbours", 20, "--likelihood", "reml", "--fix", "nu=0.5").out
        self.assertIn("of ML, which differ from REML's by a part of k / n", shown)

    def test_neighbours_find_directions(self):
        self.mle("--generate", 700, "--theta", "1,0.3,0.05", "--family", "exponential", "--anisotropy", "60,0.3", "--output", self.path("turned.csv"))
        how = ["--data", self.path("turned.csv"), "--family", "exponential", "--anisotropy", "fit"]
        exact, near = self.mle(*how), self.mle(*how, "--neighbours", 25)
        self.assertEqual(near["status"], "fitted")
        self.assertLess(abs(near["covariance"]["angle"] - exact["covariance"]["angle"]), 3)
        self.assertLess(abs(near["covariance"]["ratio"] - exact["covariance"]["ratio"]), 0.05)
        self.assertLess(abs(near["vecchia"]["exact"]["log_likelihood"] - exact["log_likelihood"]), 0.5)

    def test_a_sum_keeps_the_bounds_that_are_given(self):
        how = ["--data", self.file, "--family", "exponential+spherical"]
        second = self.mle(*how, "--upper", "10,5,1+0.1,5")["covariance"]["second"]
        self.assertLessEqual(second["sigma2"], 0.1)
        self.mle(*how, "--lower", "1e-9,1e-3,0+1e-9,3", "--upper", "10,5,1+10,5")
        self.assertIn("range, ", self.err)
        self.assertIn("larger than the extent of the observations", self.err)
        self.assertIn("must hold it between them", self.refused(*how, "--lower", "1e-9,1e-3,0+0.1,2", "--upper", "10,5,1+10,1"))

    def test_neighbours_tell_no_step_of_four_parameters_of_more(self):
        for more in (["--family", "exponential", "--anisotropy", "fit"], ["--family", "exponential+exponential"]):
            report = self.mle("--data", self.file, *more, "--neighbours", 20)
            self.assertEqual(set(report["vecchia"]["exact"]["distance"].values()), {None})
            self.assertRegex(report["vecchia"]["exact"]["reason"], "(directions|structure).* estimated, too")

    def test_refuses_what_does_not_go_together(self):
        at = ["--data", self.file, "--evaluate"]
        self.assertIn("has 1 number, needs SIGMA2,RANGE[,NUGGET]", self.refused(*at, "--family", "spherical", "--theta", "1"))
        self.assertIn("the power is 3", self.refused(*at, "--family", "powered", "--theta", "1,1,3"))
        self.assertIn("ratio is 2", self.refused(*at, "--anisotropy", "10,2", "--theta", "1,1,1"))
        self.assertIn("must be ANGLE,RATIO or fit", self.refused(*at, "--anisotropy", "10", "--theta", "1,1,1"))
        self.assertIn("--anisotropy fit is for a fit", self.refused(*at, "--anisotropy", "fit", "--theta", "1,1,1"))
        singular = self.mle(*at, "--family", "gaussian", "--theta", "1,2", code=3)
        self.assertEqual(singular["status"], "not_positive_definite")
        self.assertIn("singular to rounding: give a nugget", self.err)
        self.assertIn("--exact is of --predict", self.refused(*at, "--exact", "--theta", "1,1,1"))

    def space(self):
        random = np.random.default_rng(8)
        places = random.random((150, 3)) * [10.0, 30.0, 2.0]
        r = (places[:, None] - places[None, :]) / [3.0, 9.0, 0.6]
        S = 1.5 * np.exp(-np.sqrt((r * r).sum(-1))) + 0.1 * np.eye(150)
        y = 7 + np.linalg.cholesky(S) @ random.standard_normal(150)
        return S, y, self.write("space.csv", "east,north,depth,zinc", np.column_stack([places, y])), places

    def test_a_range_for_each_of_three_coordinates(self):
        S, y, file, places = self.space()
        columns = ("--locations", file, "--columns", "east,north,depth,zinc", "--family", "exponential")
        report = self.mle(*columns, "--anisotropy", "axes=3,0.2", "--theta", "1.5,3,0.1", "--evaluate")
        self.assertAlmostEqual(report["log_likelihood"], log_likelihood(S, y)[0], delta=1e-9)
        np.testing.assert_allclose(report["covariance"]["ranges"], [3, 9, 0.6], rtol=1e-14)
        for more in ((), ("--neighbours", "30")):
            report = self.mle(*columns, "--anisotropy", "axes", *more)
            ranges = np.array(report["covariance"]["ranges"])
            self.assertTrue(report["covariance"]["directions_fitted"])
            self.assertLess(np.abs(np.log(ranges / [3, 9, 0.6])).max(), 1.2)
            self.assertEqual(len(report["standard_errors"]["further"]["ranges"]), 2)
            self.assertRegex(self.out, r"range of x .*\+-")
            self.assertRegex(self.out, r"range of depth .*\+-")

    def test_predictions_and_residuals_keep_the_third_coordinate(self):
        S, y, file, places = self.space()
        new = self.write("new.csv", "note,depth,east,north", np.column_stack([np.arange(3), places[:3, [2, 0, 1]] + 0.01]))
        out, loo = self.path("map.csv"), self.path("loo.csv")
        self.mle("--locations", file, "--columns", "east,north,depth,zinc", "--family", "exponential", "--anisotropy", "axes=3,0.2",
                 "--theta", "1.5,3,0.1", "--predict", new, "--output", out, "--loo", loo)
        rows = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
        at = np.array([[float(row[name]) for name in ("x", "y", "depth")] for row in rows])
        np.testing.assert_allclose(at, places[:3] + 0.01, rtol=1e-14)
        self.assertEqual([row["note"] for row in rows], ["0.0", "1.0", "2.0"])
        r = (at[:, None] - places[None, :]) / [3.0, 9.0, 0.6]
        c = 1.5 * np.exp(-np.sqrt((r * r).sum(-1)))
        mean = log_likelihood(S, y)[1]
        np.testing.assert_allclose([float(row["mean"]) for row in rows], mean + c @ np.linalg.solve(S, y - mean), rtol=1e-10)
        self.assertEqual(list(csv.DictReader(loo.read_text(encoding="utf-8").splitlines()))[0]["depth"], repr(float(places[0, 2])))

    def test_axes_that_do_not_fit_are_refused(self):
        _, _, file, _ = self.space()
        columns = ("--locations", file, "--columns", "east,north,depth,zinc")
        self.assertIn("must be one for each of the 2 coordinates beyond x",
                      self.refused(*columns, "--anisotropy", "axes=3", "--theta", "1,1,0.5", "--evaluate"))
        self.assertIn("--predict-grid is of the plane", self.refused(*columns, "--predict-grid", "auto", "--output", self.path("a.csv")))
        self.assertIn("give axes=RATIO,...", self.refused(*columns, "--anisotropy", "axes", "--theta", "1,1,0.5", "--evaluate"))
        self.assertIn("must be axes or axes=RATIO,...", self.refused(*columns, "--anisotropy", "axes=3,x"))


if __name__ == "__main__":
    unittest.main()
