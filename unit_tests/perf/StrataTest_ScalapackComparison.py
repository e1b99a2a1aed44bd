#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""strata_scalapack_comparison on 1, 2 and 6 ranks: its table and its JSON say the same, and both solvers solve."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["STRATA_COMPARISON"]
MPIEXEC = os.environ["STRATA_MPIEXEC"]
METHODS = ["ScaLAPACK, fp64", "Strata, fp64, refined", "Strata, fp32 tiles, refined"]


class ScalapackComparison(unittest.TestCase):
    def test_table_and_json(self):
        for ranks, grid in ((1, [1, 1]), (2, [1, 2]), (6, [2, 3])):
            with self.subTest(ranks=ranks), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "rows.json"
                run = subprocess.run([MPIEXEC, "-n", str(ranks), PROGRAM, "--n", "97,200", "--tile", "0,32", "--block", "16,24",
                                      "--nrhs", "3", "--json", str(path)], capture_output=True, text=True, timeout=120)
                self.assertEqual(run.returncode, 0, run.stderr)
                document = json.loads(path.read_text())
                self.assertEqual((document["schema"], document["ranks"], document["grid"]), ("strata.scalapack_comparison/2", ranks, grid))
                rows = document["rows"]
                self.assertEqual([(row["n"], row["method"]) for row in rows], [(n, method) for n in (97, 200) for method in METHODS])
                shown = [line for line in run.stdout.splitlines() if any(method in line for method in METHODS)]
                self.assertEqual(len(shown), len(rows))
                for k, (row, line) in enumerate(zip(rows, shown)):
                    self.assertLess(row["backward_error"], 1e-13)
                    self.assertGreater(row["factor_seconds"], 0)
                    self.assertAlmostEqual(row["seconds"], row["factor_seconds"] + row["solve_seconds"])
                    self.assertAlmostEqual(row["seconds_of_all"], row["seconds"] + row["take_seconds"] + row["give_seconds"])
                    self.assertAlmostEqual(row["scalapack_over_this"], rows[k - k % 3]["seconds"] / row["seconds"])
                    self.assertAlmostEqual(row["scalapack_over_all_of_this"], rows[k - k % 3]["seconds"] / row["seconds_of_all"])
                    for way in ("take_seconds", "give_seconds"):  # into tiles and back: ScaLAPACK has neither
                        self.assertEqual(row[way] > 0, k % 3 > 0)
                    self.assertEqual(line.split()[-1], f"{row['backward_error']:.1e}")
                    self.assertIn(row["block"], (16, 24) if k % 3 == 0 else (32, 64))
                    self.assertEqual(row["iterations"] > 1, k % 3 == 2)


if __name__ == "__main__":
    unittest.main()
