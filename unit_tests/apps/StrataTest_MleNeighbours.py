#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""`strata mle --neighbours`: Vecchia's approximation beside the exact likelihood, what it refuses, what its document tells."""
import csv
import unittest

from strata_program import ProgramTest, load_valid, strata

THETA = "1,0.1,0.5,0.2"


class MleNeighbours(ProgramTest):
    def mle(self, *arguments, code=0):
        path = self.path("report.json")
        run = strata("mle", *arguments, "--json", path, timeout=400)
        self.assertEqual(run.code, code, run.err)
        self.out, self.err = run.out, run.err
        return load_valid(path, "mle")

    def setUp(self):
        super().setUp()
        self.file = self.path("field.csv")
        run = strata("mle", "--generate", 700, "--theta", THETA, "--seed", 4, "--output", self.file)
        self.assertEqual(run.code, 0, run.err)

    def data(self, *more):
        return ["--locations", self.file, *more]

    def test_all_neighbours_are_the_exact_likelihood(self):
        few = self.path("few.csv")
        lines = self.file.read_text(encoding="utf-8").splitlines()
        few.write_text("\n".join(lines[:120]) + "\n", encoding="utf-8")
        for trend in ("0", "1", "x,y"):
            for likelihood in ("ml", "reml"):
                how = ["--locations", few, "--theta", THETA, "--evaluate", "--gradient", "--trend", trend, "--likelihood", likelihood]
                exact, near = self.mle(*how), self.mle(*how, "--neighbours", 500)
                for key in ("log_likelihood", "log_det", "quadratic_form"):
                    self.assertAlmostEqual(near[key], exact[key], delta=1e-9 * abs(exact[key]))
                for name, slope in exact["gradient"]["by"].items():
                    self.assertAlmostEqual(near["gradient"]["by"][name], slope, delta=1e-8 * (1 + abs(slope)))
                self.assertAlmostEqual(near["vecchia"]["exact"]["log_likelihood"], exact["log_likelihood"], delta=1e-9 * abs(exact["log_likelihood"]))

    def test_a_fit_is_near_the_exact_one_and_says_how_near(self):
        exact, near = self.mle(*self.data("--fix", "nu")), self.mle(*self.data("--fix", "nu", "--neighbours", 20))
        errors = exact["standard_errors"]["of"]
        for name in ("sigma2", "range", "nugget"):
            self.assertLess(abs(near["theta"][name] - exact["theta"][name]), 0.5 * errors[name])
            self.assertLess(abs(near["standard_errors"]["of"][name] / errors[name] - 1), 0.2)
        self.assertEqual((near["status"], near["theta"]["nu"], exact["vecchia"]), ("fitted", 0.5, None))
        vecchia = near["vecchia"]
        self.assertEqual(vecchia["neighbours"], 20)
        self.assertGreater(vecchia["conditioned_on"], 19)
        self.assertLess(vecchia["exact"]["log_likelihood"], exact["log_likelihood"] + 1e-6)
        self.assertGreater(vecchia["exact"]["log_likelihood"], exact["log_likelihood"] - 0.5)
        self.assertIsNone(vecchia["exact"]["distance"]["nu"])
        self.assertIn("Vecchia's approximation", self.out)
        self.assertIsNone(near["precisions"]["tiles"])

    def test_the_exact_likelihood_can_be_left_out(self):
        self.assertIsNone(self.mle(*self.data("--neighbours", 5, "--exact-beside", "off", "--fix", "nu"))["vecchia"]["exact"])
        self.assertIsNone(self.mle(*self.data("--neighbours", 5, "--fix", "nu", "--standard-errors", "off"))["standard_errors"]["of"])

    def test_predictions_are_near_the_exact_ones(self):
        new = self.path("new.csv")
        new.write_text("x,y,name\n0.5,0.5,a\n0.12,0.9,b\n1.5,1.5,far\n", encoding="utf-8")
        rows = []
        for more in ((), ("--neighbours", 30)):
            self.mle(*self.data("--theta", THETA, "--predict", new, "--output", self.path("out.csv"), *more))
            with open(self.path("out.csv"), newline="", encoding="utf-8") as file:
                rows.append(list(csv.DictReader(file)))
        for exact, near in zip(*rows):
            self.assertEqual(exact["name"], near["name"])
            self.assertLess(abs(float(near["mean"]) - float(exact["mean"])), 0.1 * float(exact["sd"]))
            self.assertLess(abs(float(near["sd"]) / float(exact["sd"]) - 1), 0.02)

    def test_leaves_out_and_simulates_as_the_factor_does(self):
        def column(path, name):
            with open(path, newline="", encoding="utf-8") as file:
                return [float(row[name]) for row in csv.DictReader(file)]
        few, out = self.path("few.csv"), self.path("out.csv")
        few.write_text("".join(self.file.read_text(encoding="utf-8").splitlines(keepends=True)[:61]), encoding="utf-8")
        at = ("--locations", few, "--theta", THETA)
        for folds in ((), ("--loo-folds", "4")):
            tables = []
            for k, more in enumerate(((), ("--neighbours", 59))):
                self.mle(*at, "--loo", self.path(f"loo{k}.csv"), *folds, *more)
                tables.append(column(self.path(f"loo{k}.csv"), "residual") + column(self.path(f"loo{k}.csv"), "sd"))
            for exact, near in zip(*tables):
                self.assertLess(abs(near - exact), 1e-9)
        self.mle(*at, "--neighbours", 30, "--predict", few, "--simulations", 300, "--output", out)
        means, sds = column(out, "mean"), column(out, "sd")
        draws = [column(out, f"sim{k + 1}") for k in range(300)]
        for i, (mean, sd) in enumerate(zip(means, sds)):
            self.assertLess(abs(sum(one[i] for one in draws) / 300 - mean), 5 * sd / 300**0.5 + 1e-6)

    def test_refuses_what_it_does_not_do(self):
        for more, text in ((("--kl",), "--kl"), (("--search", "bobyqa"), "--search"),
                           (("--epsilon", "1e-5"), "--epsilon"), (("--profile-intervals",), "--profile-intervals")):
            run = strata("mle", *self.data("--neighbours", 10, *more))
            self.assertEqual(run.code, 2, run.err)
            self.assertIn(text, run.err)
        self.assertIn("at most 1000", strata("mle", *self.data("--neighbours", 1001)).err)
        self.assertEqual(strata("mle", *self.data("--neighbours", 0)).code, 2)
        self.assertIn("--exact-beside is of --neighbours", strata("mle", *self.data("--exact-beside", "on")).err)
        generate = strata("mle", "--generate", 9, "--theta", THETA, "--output", self.path("g.csv"), "--neighbours", 3)
        self.assertEqual(generate.code, 2)

    def test_says_that_nothing_is_positive_definite(self):
        self.mle(*self.data("--theta", "1,1e9,2.5,0", "--evaluate", "--neighbours", 10), code=3)
        self.assertIn("given its neighbours", self.err)

    def test_copies_without_a_nugget_are_named(self):
        twice = self.path("twice.csv")
        lines = self.file.read_text(encoding="utf-8").splitlines()
        place = ",".join(lines[5].split(",")[:2])
        twice.write_text("\n".join([*lines, place + ",7"]) + "\n", encoding="utf-8")
        run = strata("mle", "--locations", twice, "--theta", "1,0.1,0.5,0", "--evaluate", "--neighbours", 10)
        self.assertNotEqual(run.code, 0)
        self.assertIn("701", run.err)
        self.assertIn("nugget", run.err)


if __name__ == "__main__":
    unittest.main()
