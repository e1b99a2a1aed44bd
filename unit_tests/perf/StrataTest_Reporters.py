# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""StrataTest_Reporters.py PROGRAM FEW ALONE ARGUMENTS...: what a benchmark program writes in each format.

FEW and ALONE are filters: of benchmarks that count different things, and of some without the vendor's call beside them.
"""
import csv
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM, FEW, ALONE, *ARGUMENTS = sys.argv[1:]


def run(*options):
    command = [PROGRAM, *ARGUMENTS, *options]
    return subprocess.run(command, capture_output=True, text=True)


class Reporters(unittest.TestCase):
    def check_csv(self, text):
        rows = list(csv.reader(io.StringIO(text)))
        names, rows = rows[0], rows[1:]
        self.assertEqual(names[0], "name")
        self.assertGreater(len(rows), 2)
        for row in rows:
            self.assertEqual(len(row), len(names), row)
        counters = [i for i, name in enumerate(names) if i > names.index("error_message")]
        filled = {tuple(i for i in counters if row[i]) for row in rows}
        self.assertGreater(len(filled), 1, "the filter takes benchmarks that count the same: it tests nothing")
        for i in counters:
            self.assertTrue(any(row[i] for row in rows), f"{names[i]} is in no row")

    def test_csv_on_the_screen_has_all_columns(self):
        result = run(f"--benchmark_filter={FEW}", "--benchmark_format=csv")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.check_csv(result.stdout)

    def test_csv_in_a_file_has_all_columns(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "out.csv")
            result = run(f"--benchmark_filter={FEW}", f"--benchmark_out={file}", "--benchmark_out_format=csv")
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(file, encoding="utf-8") as written:
                self.check_csv(written.read())

    def test_a_console_shows_errors_in_powers_of_ten(self):
        result = run(f"--benchmark_filter={FEW}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"error=\d\.\de[-+]\d\d\b")
        self.assertNotRegex(result.stdout, r"error=[-\d.]+[a-zA-Z](?![-+])")

    def test_a_filter_that_leaves_out_the_vendor_is_told(self):
        result = run(f"--benchmark_filter={ALONE}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("ratio_to_vendor", result.stdout)
        self.assertRegex(result.stderr, r"[1-9]\d* benchmarks have no ratio_to_vendor")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
