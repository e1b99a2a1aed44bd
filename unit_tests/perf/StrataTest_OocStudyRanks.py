#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""strata_ooc_study of many ranks on paper, and of real ones played on paper by their own rates."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["STRATA_OOC_STUDY"]
RATES = pathlib.Path(os.environ["STRATA_SOURCES"]) / "perf/ooc/rates/h200.json"
MPIEXEC = os.environ.get("STRATA_MPIEXEC")
NUMBERS = "50,50,600,1200,20,50,50,300"


class OocStudyRanks(unittest.TestCase):
    def run_study(self, *words, ranks=0):
        before = [MPIEXEC, "-n", str(ranks)] if ranks else []
        return subprocess.run([*before, PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=120)

    def rows(self, *words, ranks=0):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.json"
            run = self.run_study(*words, "--json", path, ranks=ranks)
            self.assertEqual(run.returncode, 0, run.stderr)
            return json.loads(path.read_text())["rows"], run.stdout

    def test_ranks_on_paper(self):
        rows, text = self.rows("--n", 40000, "--tile", 2048, "--simulate", RATES, "--network", "50,5", "--ranks", "1,4,6", "--grid",
                               "2x8", "--super-panel", "2", "--budget", 0)
        self.assertEqual([row["grid"] for row in rows], [[1, 1], [2, 2], [3, 2], [2, 8]])
        for row, line in zip(rows, [line for line in text.splitlines() if line.startswith("| 40000")]):
            ranks = row["ranks"]
            self.assertEqual(len(row["bytes_sent"]), ranks)
            self.assertEqual(sum(row["bytes_sent"]), sum(row["bytes_received"]))
            self.assertGreaterEqual(row["factor_seconds"], max(row["work_seconds"], row["network_seconds"], row["chain_seconds"]))
            self.assertAlmostEqual(row["flop_per_s"], 40000**3 / 3 / row["factor_seconds"], delta=1e-9 * row["flop_per_s"])
            self.assertAlmostEqual(row["of_products"], row["flop_per_s"] / 50.7e12 / ranks)
            self.assertIn(f"| {row['grid'][0]} x {row['grid'][1]} | 2 | 1 | 2 | 400 | {row['factor_seconds']:.3f} |", line)
        self.assertLess(rows[1]["factor_seconds"], 0.5 * rows[0]["factor_seconds"])

    def test_the_engine_sends_what_is_simulated(self):
        for ranks, grid, super_panel in ((3, [3, 1], 0), (4, [2, 2], 2)):
            words = "--grid", f"{grid[0]}x{grid[1]}", "--super-panel", super_panel
            (row,), _ = self.rows("--n", 1000, "--tile", 100, "--simulate", NUMBERS, *words)
            self.assertEqual((row["grid"], row["super_panel"]), (grid, super_panel))
            if not MPIEXEC:
                continue
            (real,), text = self.rows("--over-ranks", "--n", 1000, "--tile", 100, "--streams", 1, "--column-block", 1, "--measure",
                                      "--gemm-n", 64, "--gemm-seconds", 0.01, *words, ranks=ranks)
            self.assertEqual(real["bytes_sent"], row["bytes_sent"])
            self.assertEqual((real["grid"], real["super_panel"]), (grid, super_panel))
            self.assertEqual(real["ranks"], ranks)
            self.assertGreater(real["simulated_seconds"], 0)
            self.assertEqual(real["rates"]["schema"], "strata.machine_rates/1")
            self.assertEqual(text.count("on paper, by the rates of this run"), 1)

    @unittest.skipUnless(MPIEXEC, "this build has no MPI")
    def test_the_engine_runs_all_that_is_asked_for(self):
        rows, text = self.rows("--over-ranks", "--n", 400, "--tile", 50, "--gemm-n", 64, "--gemm-seconds", 0.01, "--grid", "2x1,1x2",
                               "--super-panel", "2,4", ranks=2)
        layouts = [([2, 1], 2), ([1, 2], 2), ([2, 1], 4), ([1, 2], 4)]
        self.assertEqual([(row["grid"], row["super_panel"]) for row in rows], layouts)
        for (rows_, cols), super_panel in layouts:
            self.assertIn(f"| {rows_} x {cols} by {super_panel} |", text)
        rows, text = self.rows("--over-ranks", "--n", 400, "--tile", 50, "--gemm-n", 64, "--gemm-seconds", 0.01, "--super-panel", "0,4",
                               ranks=2)
        self.assertEqual([row["super_panel"] for row in rows], [0, 4])
        self.assertEqual(rows[0]["log_determinant"], rows[1]["log_determinant"])

    def test_refusals(self):
        simulated = ["--n", 4096, "--tile", 1024, "--simulate"]
        with tempfile.TemporaryDirectory() as folder:
            empty, broken = pathlib.Path(folder) / "empty.json", pathlib.Path(folder) / "broken.json"
            empty.write_text('{"schema": "strata.machine_rates/1", "flop_per_s": {"fp64": {}}, "bytes_per_s": {}}')
            broken.write_text('{"schema": "strata.machine_rates/1", "flop_per_s": {"fp64": {"x": 1}}, "bytes_per_s": {}}')
            for words, expected in [
                ([*simulated, "1,2"], "--simulate: 2 numbers, must be 8, or a file"),
                ([*simulated, "1,2,3,4,5,6,7,x"], '--simulate: "x" is no number'),
                ([*simulated, "none.json"], "can't read none.json"),
                ([*simulated, PROGRAM], "is no JSON of the schema strata.machine_rates/1"),
                ([*simulated, empty], "rates: none of fp64"),
                ([*simulated, broken], 'rates: fp64 at order "x" is 1'),
                ([*simulated, NUMBERS, "--ranks", "0"], "--ranks 0 must be at least 1"),
                ([*simulated, NUMBERS, "--grid", "4y4"], "4y4 is no grid of ranks, as 4x8"),
                ([*simulated, NUMBERS, "--grid", "2x2"], "a grid of 2 x 2 without super-panels"),
                ([*simulated, NUMBERS, "--ranks", "2", "--network", "1"], "--network: 1 numbers, must be GB/s and microseconds"),
                (["--ranks", "2"], "--ranks are of a simulation"),
                (["--grid", "2x1"], "--grid is of a simulation"),
                (["--over-ranks", *simulated, NUMBERS], "--over-ranks runs, --simulate does not"),
                (["--measure"], "--measure adds up the times of one thread of a host: --streams 1"),
            ]:
                with self.subTest(words=words):
                    run = self.run_study(*words)
                    self.assertEqual(run.returncode, 1)
                    self.assertIn(expected, run.stderr)

    def test_a_budget_that_is_too_small_is_refused_in_its_row(self):
        (row,), text = self.rows("--n", 4096, "--tile", 512, "--simulate", NUMBERS, "--grid", "2x2", "--super-panel", 2, "--budget", 1e6)
        self.assertIn("are needed for two super-panels", row["error"])
        self.assertIn("refused: simulate: a budget of 1000000 bytes", text)


if __name__ == "__main__":
    unittest.main()
