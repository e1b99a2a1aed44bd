#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What threads set by hand gain over none set: seconds of one command of `strata`, as Markdown.

    taskset -c 0-7 python3 perf/figures/threads.py --program strata --blas 1 2 4 8 --openmp 1 2 4 8 --repeat 3 \\
      --run mle --locations apps/data/stations.csv --fix nu=0.5

First with none of the variables of threads, then with each pair of OPENBLAS_NUM_THREADS and OMP_NUM_THREADS; they take turns. The seconds
are the program's own, of its whole run. The ratio is the least by hand over the least without: below 1 somebody who knows gains.
"""
import argparse
import json
import os
import pathlib
import statistics
import time

from paper_b_divergence import strata

VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
OTHERS = ("GOTO_NUM_THREADS", "MKL_NUM_THREADS")


def seconds(arguments, setting):
    """Of one run with these threads; without the variables if there are none."""
    for variable in VARIABLES + OTHERS:
        os.environ.pop(variable, None)
    os.environ.update(zip(VARIABLES, map(str, setting)))
    return strata(arguments.program, *arguments.run)["seconds"]["total"]


def measure(arguments):
    """Seconds of each run, by setting, in turns; no turn begins later than --most-seconds."""
    settings = [(), *((blas, openmp) for blas in arguments.blas for openmp in arguments.openmp)]
    runs = {setting: [] for setting in settings}
    begin = time.monotonic()
    for turn in range(arguments.repeat):
        if turn > 0 and time.monotonic() - begin > arguments.most_seconds:
            break
        for setting in settings:
            runs[setting].append(seconds(arguments, setting))
    return runs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--program", default="strata")
    parser.add_argument("--blas", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--openmp", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--most-seconds", type=float, default=float("inf"), help="no further turn after these")
    parser.add_argument("--json", type=pathlib.Path, help="write all times there")
    parser.add_argument("--run", nargs=argparse.REMAINDER, required=True, help="the command and its options; the last of the options")
    arguments = parser.parse_args()
    runs = measure(arguments)
    print(f"| {' | '.join(VARIABLES)} | seconds, least | median |\n|---|---|---|---|")
    for setting, times in runs.items():
        print(f"| {' | '.join(map(str, setting or ('', '')))} | {min(times):.4g} | {statistics.median(times):.4g} |")
    least, best = min((min(times), setting) for setting, times in runs.items() if setting)
    ratio = least / min(runs[()])
    print(f"\nby hand, at best with {' '.join(f'{v}={t}' for v, t in zip(VARIABLES, best))}: {ratio:.3f} of the time without")
    if arguments.json:
        rows = [{**dict(zip(VARIABLES, setting)), "seconds": times} for setting, times in runs.items()]
        arguments.json.write_text(json.dumps({"run": arguments.run, "ratio": ratio, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
