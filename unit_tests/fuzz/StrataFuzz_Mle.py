#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""`strata mle` on files as users have them: copies, near pairs, a misplaced station, noise, large offsets.

A fit must end with exit code 0, name what it met on standard error, and give each parameter a standard error or the
reason why it has none. `--seed S --case K` is the whole of what a finding needs to be seen again.
"""
import argparse
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

NAMES = ("sigma2", "range", "nu", "nugget")


class Case:
    """A file, how it is fitted, and what is known of it."""

    def __init__(self, seed, number):
        draw = self.random = random.Random(f"{seed} {number}")
        n = draw.randint(8, 60)
        extent, corner = 10 ** draw.uniform(-3, 6), draw.choice([0.0, 1.0, 1e6])
        self.rows = [[corner + extent * draw.random(), corner + extent * draw.random(), 0.0] for _ in range(n)]
        self.kinds = draw.sample(["copies", "replicates", "near pairs", "misplaced", "noise", "offset", "plain"], 2)
        scale, wave = 10 ** draw.uniform(-4, 4), draw.uniform(1, 8)
        for row in self.rows:
            smooth = math.sin(wave * (row[0] - corner) / extent) + math.cos(wave * (row[1] - corner) / extent)
            row[2] = scale * (draw.gauss(0, 1) + (0 if "noise" in self.kinds else 3 * smooth))
        self.same = 0
        if "near pairs" in self.kinds:
            for row in draw.sample(self.rows, 3):
                self.rows.append([row[0] + 1e-7 * extent, row[1], row[2] + 0.01 * scale * draw.gauss(0, 1)])
        if "misplaced" in self.kinds:
            self.rows[0][0] = corner + 1e4 * extent
        if "offset" in self.kinds:
            for row in self.rows:
                row[2] += 1e4 * scale
        if "replicates" in self.kinds:
            for row in draw.sample(self.rows, 2):
                self.rows.append([row[0], row[1], row[2] + scale * draw.uniform(0.1, 1)])
        if "copies" in self.kinds:
            copied = draw.sample(self.rows, draw.randint(1, min(10, len(self.rows))))
            self.rows += [list(row) for row in copied]
            self.same = len(copied)
        draw.shuffle(self.rows)
        self.options = draw.choice([[], ["--fix", "nu=0.5"], ["--mean", "none"], ["--fix", "nu=1.5"]])
        self.drops = "copies" in self.kinds and draw.random() < 0.3
        if self.drops:
            self.options = [*self.options, "--copies", "drop"]

    def __str__(self):
        return f"{', '.join(self.kinds)}; {len(self.rows)} rows; {' '.join(self.options)}"

    def findings(self, program, folder):
        path, report = folder / "stations.csv", folder / "report.json"
        path.write_text("x,y,value\n" + "".join(f"{x!r},{y!r},{v!r}\n" for x, y, v in self.rows))
        report.unlink(missing_ok=True)
        run = subprocess.run([program, "mle", "--locations", path, "--json", report, *self.options], capture_output=True, text=True,
                             timeout=240, env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
        if run.returncode != 0:
            yield f"exit code {run.returncode}: {run.stderr.strip()}"
            return
        found = json.loads(report.read_text())
        fit, errors = found["fit"], found["standard_errors"]
        if not all(math.isfinite(found["theta"][name]) for name in NAMES) or found["log_likelihood"] is None:
            yield f"no numbers: {found['theta']}"
        if self.same and not self.drops and "more than once" not in run.stderr:
            yield f"{self.same} copies are not named: {run.stderr.strip()!r}"
        if self.drops and found["n"] != len({tuple(row) for row in self.rows}):
            yield f"{found['n']} of {len(self.rows)} are left"
        if errors["reason"]:
            yield f"no standard errors: {errors['reason']}"
        else:
            for name in NAMES:
                if not errors["reasons"][name] and not (errors["of"][name] or 0) > 0:
                    yield f"{name} has neither a standard error nor a reason"
        for name in fit["at_bound"]:
            is_boundary = name == "nugget" and fit.get("nugget_below") is not None
            if not is_boundary and f"{name} is at its" not in run.stderr and "no spatial correlation" not in run.stderr:
                yield f"{name} is at a default bound, which standard error does not say"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=os.environ.get("STRATA_PROGRAM", "strata"))
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--case", type=int)
    asked = parser.parse_args()
    print(f"{sys.argv[0]}: seed {asked.seed}, {asked.seconds:g} s", flush=True)
    begin, cases, failed = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        while cases == 0 or (asked.case is None and time.monotonic() - begin < asked.seconds and failed < 20):
            number = cases if asked.case is None else asked.case
            case = Case(asked.seed, number)
            found = list(case.findings(asked.program, pathlib.Path(folder)))
            for text in found:
                print(f"FOUND {text}\n      in {case}\n      replay by {sys.argv[0]} --seed {asked.seed} --case {number}", flush=True)
            failed += bool(found)
            cases += 1
    print(f"{sys.argv[0]}: seed {asked.seed}, {cases} cases, {failed} with findings, {time.monotonic() - begin:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
