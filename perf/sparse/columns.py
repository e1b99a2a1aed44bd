#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Time of a sparse solve for 16 right-hand sides beside that for one, and the bytes of matrices that both read.

columns.py --program build/release/apps/strata [--columns 16] [--repeat 5] [--json FILE]

One thread. Each model is solved with 1 and with 16 known columns in turn. The least times of `--repeat` solves are compared, without set-up. Bytes are counted, not measured: an iteration reads the matrix in fp64 once for its product, and the
matrices of the preconditioner once for each product of a smoother, residuals and transfers; eight columns share each read.
"""
import argparse
import json
import os
import subprocess
import sys

MODELS = (
    ("poisson7", ["--generate", "poisson7", "--n", "100"], 9),
    ("poisson27", ["--generate", "poisson27", "--n", "64"], 5),
    ("elasticity", ["--generate", "elasticity", "--n", "32"], 5),
)
ABREAST = 8  # columns that read a matrix together


def solve(program, arguments, columns):
    """The report of a run."""
    command = [program, "solve", *arguments, "--solver", "cg", "--preconditioner", "amg", "--nrhs", str(columns), "--json", "-"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def bytes_of_matrices(report, columns):
    """All that the iterations of all columns read of matrices: 8-byte values of the product, and the preconditioner's share, twice."""
    reads = -(-columns // ABREAST) if columns > 1 else 1
    each = 8 * report["entries"] + 2 * report["bytes"]["preconditioner"]
    return reads * max(column["iterations"] for column in report["columns"]) * each


def compare(program, name, arguments, most, columns, repeat):
    """Runs of both kinds in turn, as a row of the table."""
    least = {1: float("inf"), columns: float("inf")}
    reports = {}
    for _ in range(repeat):
        for count in least:
            reports[count] = solve(program, arguments, count)
            least[count] = min(least[count], reports[count]["seconds"]["solve"])
    ratio = least[columns] / least[1]
    read = {count: bytes_of_matrices(reports[count], count) for count in least}
    row = {
        "model": name,
        "rows": reports[1]["n"],
        "iterations": [max(column["iterations"] for column in reports[count]["columns"]) for count in least],
        "seconds": [least[count] for count in least],
        "ratio": ratio,
        "most": most,
        "bytes": [read[count] for count in least],
    }
    print(f"{name:12} {row['rows']:8}  {row['seconds'][0]:8.4f} s  {row['seconds'][1]:8.4f} s  {ratio:6.2f} of at most {most}  "
          f"bytes of matrices {read[1] / 1e6:.0f} MB, {read[columns] / 1e6:.0f} MB ({read[columns] / read[1]:.2f} times)")
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/apps/strata")
    parser.add_argument("--columns", type=int, default=16)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json")
    given = parser.parse_args()
    print(f"{'model':12} {'rows':>8}  {'one':>10}  {given.columns:>8} columns")
    rows = [compare(given.program, *model, given.columns, given.repeat) for model in MODELS]
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 0 if all(row["ratio"] <= row["most"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
