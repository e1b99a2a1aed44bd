#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Fits to files of observations, with nu free and with nu = 1/2, by the default search and by BOBYQA.

    fits_of_files.py --program build/release/apps/strata FILE.csv... [--json FILE]

A line for each fit has exit codes and evaluations of `strata mle`, and processor seconds of `strata.geostat.fit`, the least of three. Then
comes how much larger the default search's log-likelihood is. The parameters without a standard error by the default search follow, with the
reason. At the end are the sums. A fit by the default search must end with exit code 0, and with a standard error or a reason for each parameter;
its maximum must not be below BOBYQA's, if that converged. Else the exit status is 1. Set OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
from strata import geostat

SEARCHES = ("scoring", "bobyqa")
PARAMETERS = ("sigma2", "range", "nu", "nugget")


def fit(program, path, search, options):
    """Exit code, the report, and what was said on standard error."""
    with tempfile.TemporaryDirectory() as room:
        report = pathlib.Path(room) / "report.json"
        words = [program, "mle", "--locations", path, "--search", search, "--json", report, *options]
        run = subprocess.run(words, capture_output=True, text=True, check=False)
        return run.returncode, json.loads(report.read_text()) if report.exists() else {}, run.stderr


def seconds_of(path, search, fixed):
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    least = float("inf")
    for _ in range(3):
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of bounds
            geostat.fit(rows[:, :2], rows[:, 2], search=search, fixed=list(fixed))
        least = min(least, time.process_time() - begin)
    return least


def without_error(report):
    """Parameters that were searched for and have no standard error, with the reason; "" is none."""
    errors = report.get("standard_errors") or {}
    if errors.get("reason"):
        return {"all": errors["reason"]}
    return {name: errors.get("reasons", {}).get(name, "") for name in PARAMETERS if errors.get("of", {}).get(name) is None}


def compare(program, path, options, fixed):
    """What both searches found, and what is wrong with the default one's."""
    found, wrong = {"file": pathlib.Path(path).stem, "options": options}, []
    for search in SEARCHES:
        code, report, text = fit(program, path, search, options)
        found[search] = {"exit_code": code, "seconds": seconds_of(path, search, fixed), "evaluations": report.get("fit", {}).get("evaluations")}
        found[search]["without_error"] = {name: why for name, why in without_error(report).items() if name not in fixed}
        if search == "scoring" and code != 0:
            wrong.append(f"exit code {code}: {text.strip()}")
        history = report.get("fit", {}).get("history") or [float("-inf")]
        found[search]["log_likelihood"] = max(history)
    wrong += [f"{name} has neither a standard error nor a reason" for name, why in found["scoring"]["without_error"].items() if not why]
    gain = found["scoring"]["log_likelihood"] - found["bobyqa"]["log_likelihood"]
    if found["bobyqa"]["exit_code"] == 0 and gain < -1e-4:
        wrong.append(f"BOBYQA's maximum is higher by {-gain:.3g}")
    return found | {"gain": gain, "wrong": wrong}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--program", default="strata")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    results = []
    for options, fixed in (([], ()), (["--fix", "nu=0.5"], ("nu",))):
        for path in arguments.files:
            one = compare(arguments.program, path, options, fixed)
            results.append(one)
            both = [one[search] for search in SEARCHES]
            print(f"{one['file']:14} {' '.join(options) or 'nu free':10}", end="")
            print("".join(f"  {r['exit_code']} {r['evaluations'] or 0:4} {r['seconds']:8.3f} s" for r in both), end="")
            print(f"  {one['gain']:9.2g}  {both[0]['without_error'] or ''} {'; '.join(one['wrong'])}", flush=True)
    sums = [sum(one[search]["seconds"] for one in results) for search in SEARCHES]
    print(f"{len(results)} fits: scoring {sums[0]:.2f} s, BOBYQA {sums[1]:.2f} s, {sums[0] / sums[1]:.2f} of it")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    return 1 if any(one["wrong"] for one in results) else 0


if __name__ == "__main__":
    sys.exit(main())
