#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Measure a dozen figures of this machine again and say which of them moved since a record was kept.

    guard.py --program build/debian-gpu/apps/strata --record perf/figures/guard/h200.json [--keep] [--small]

Each figure is measured in several runs of the program. Its spread is the relative distance of the quartiles of these runs. A figure
has moved if the medians differ by more than the larger spread of both records and by more than 2 %. A ratio is the vendor's time over
Strata's in the same run, so that more is better; the others are milliseconds. The exit status is 1 if a figure became worse.
--keep writes the record anew; --small takes small problems, to test this script.
"""
import argparse
import dataclasses
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

LEAST = 0.02  # a difference that is never called a move


@dataclasses.dataclass(frozen=True)
class Figure:
    """`value` takes one number from the report of `strata WORDS`."""

    name: str
    words: tuple
    value: object
    runs: int = 3
    is_ratio: bool = False


def at(*keys, factor=1.0):
    """The number below these keys of a report, times a factor."""

    def value(report):
        for key in keys:
            report = report[key]
        return factor * report

    return value


def dense(n, condition, key, repeat):
    words = ("solve", "--generate", "geometric", "--n", n, "--cond", condition, "--compare", "--repeat", repeat)
    return Figure(f"{key} n={n} K={condition}", words, at("compare", "ratio", key), is_ratio=True)


def figures(small):
    shrink = 32 if small else 1
    orders = [n // shrink for n in (4096, 8192, 16384, 32768)]
    grids = (16, 16, 24) if small else (128, 256, 320)
    chosen = [dense(n, cond, "whole", 9 if n < 20000 else 3) for cond in ("1e4", "1e8") for n in orders]
    chosen.append(dense(orders[2], "1e4", "cholesky", 9))
    for edge in dict.fromkeys(grids):
        words = ("hpgmxp", "--nx", edge, "--ny", edge, "--nz", edge, "--rt", "0.2" if small else "2", "--run_type", "standalone_mxp")
        chosen.append(Figure(f"hpgmxp {edge}^3", words, at("mixed", "ms_per_iteration")))
    n, tile = (512, 64) if small else (65536, 2048)
    ooc = ("solve", "--out-of-core", "--generate", "dominant", "--n", n, "--tile", tile)
    chosen.append(Figure(f"out of core fp64 n={n}", ooc, at("seconds", "factor", factor=1e3), runs=2))
    for edge in (12,) if small else (128, 200):
        words = ("solve", "--generate", "poisson7", "--n", edge)
        chosen += [Figure(f"poisson7 {edge}^3 {part}", words, at("seconds", part, factor=1e3)) for part in ("setup", "solve")]
    n = 200 if small else 32768
    likelihood = ("mle", "--generate", n, "--theta", "medium", "--output", "field.csv")
    chosen.append(Figure(f"likelihood n={n}", likelihood, None))
    evaluation = ("mle", "--locations", "field.csv", "--theta", "medium", "--evaluate", "--storage", "devices")
    chosen.append(Figure(f"likelihood n={n}", evaluation, lambda report: 1e3 * (report["seconds"]["fill"] + report["seconds"]["factor"])))
    return chosen


def run(program, words, folder):
    report = pathlib.Path(folder) / "report.json"
    done = subprocess.run([program, *map(str, words), "--json", report], cwd=folder, capture_output=True, text=True)
    if done.returncode not in (0, 4):
        raise RuntimeError(f"strata {' '.join(map(str, words))}: {done.stderr.strip() or done.returncode}")
    return json.loads(report.read_text())


def measure(program, chosen):
    """{name: {median, spread, runs}} and the configuration that the program names."""
    found, reports, configuration = {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for figure in chosen:
            if figure.value is None:  # what others read
                run(program, figure.words, folder)
                continue
            if figure.words not in reports:
                begin = time.monotonic()
                reports[figure.words] = [run(program, figure.words, folder) for _ in range(figure.runs)]
                print(f"{time.monotonic() - begin:6.1f} s  {' '.join(map(str, figure.words))}", flush=True)
            values = sorted(figure.value(report) for report in reports[figure.words])
            configuration = reports[figure.words][0]["configuration"]
            middle = statistics.median(values)
            quarters = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [middle] * 3
            found[figure.name] = {"median": middle, "spread": (quarters[2] - quarters[0]) / middle, "runs": values,
                                  "unit": "x the vendor" if figure.is_ratio else "ms"}
    return found, configuration


def compare(now, kept):
    """A line for each figure, and whether one became worse."""
    lines, worse = [], False
    for name, figure in now.items():
        before = kept.get(name)
        line = f"{name:32} {figure['median']:10.4g} {figure['unit']:12} spread {figure['spread']:6.1%}"
        if before:
            change = figure["median"] / before["median"] - 1
            moved = abs(change) > max(LEAST, figure["spread"], before["spread"])
            bad = moved and (change < 0) == (figure["unit"] != "ms")
            worse = worse or bad
            line += f"  was {before['median']:.4g}, {change:+.1%}" + (("  WORSE" if bad else "  better") if moved else "")
        lines.append(line)
    lines += [f"{name:32} is not measured any more" for name in kept if name not in now]
    return lines, worse


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--record", type=pathlib.Path, required=True)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    kept = json.loads(arguments.record.read_text()) if arguments.record.exists() else {}
    now, configuration = measure(arguments.program.resolve(), figures(arguments.small))
    if kept:
        print(f"\nkept: {kept['machine']}, commit {kept['commit']}")
    lines, worse = compare(now, kept.get("figures", {}))
    print("\n".join(lines))
    if arguments.keep:
        machine = ", ".join(device["name"] for device in configuration["accelerators"]) or configuration["host"]["model"]
        record = {"machine": machine, "commit": configuration["commit"], "configuration": configuration, "figures": now}
        arguments.record.parent.mkdir(parents=True, exist_ok=True)
        arguments.record.write_text(json.dumps(record, indent=1) + "\n")
        print(f"kept in {arguments.record}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
