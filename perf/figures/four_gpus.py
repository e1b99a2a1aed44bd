#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Measure what several GPUs of one host do together, on 1, 2 and 4 of them, into one JSON.

    four_gpus.py --program build/machine-gpu/apps/strata --json four.json [--gpus 1,2,4] [--only PART ...] [--small]

PART is one of
    hpgmxp      HPG-MxP at three sizes for each GPU, by mpirun with a rank for each
    ooc         an exact likelihood with 160,000 places, tiles in host memory, in fp64 and at accuracy 1e-5 with weak correlation
    layers      a dense system whose tiles lie in the memory of the GPUs, fp16 below fp32
    likelihood  the largest exact likelihood: 524,288 places, weak correlation, 1e-5, on most GPUs
Each entry of the JSON has the command, the report of the program and the seconds that the command took. A run that fails is kept with
its message. --small takes small problems, to test this script on a host.
"""
import argparse
import json
import os
import math
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile
import time

PARTS = ("hpgmxp", "ooc", "layers", "likelihood")
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
WEAK_RANGE = 0.02627  # the range of "weak"


def write_places(path, n, waves=64, seed=7):
    """n places, one in each cell of a grid over the unit square, and a sum of cosines whose covariance is about exponential there."""
    generator = random.Random(seed)
    side = math.ceil(math.sqrt(n))
    cosines = []
    for _ in range(waves):  # frequencies of exp(-r / range) in the plane: a Gaussian over an independent half-normal
        scale = WEAK_RANGE * abs(generator.gauss(0, 1))
        cosines.append((generator.gauss(0, 1) / scale, generator.gauss(0, 1) / scale, generator.uniform(0, 2 * math.pi)))
    height = math.sqrt(2 / waves)
    with open(path, "w") as file:
        file.write("x,y,value\n")
        for k in range(n):
            x, y = ((k % side) + generator.uniform(0.1, 0.9)) / side, ((k // side) + generator.uniform(0.1, 0.9)) / side
            value = height * sum(math.cos(a * x + b * y + c) for a, b, c in cosines)
            file.write(f"{x:.9f},{y:.9f},{value:.9f}\n")


def commands(part, gpus, most, small, folder):
    """(name, words before the program, words after it) of what `part` runs on this many GPUs."""
    shrink = 40 if small else 1
    if part == "hpgmxp":
        ranks = ["mpirun", "--bind-to", "none", "-np", str(gpus)] if gpus > 1 else []
        for edge in (16,) if small else (128, 256, 320):
            words = ["hpgmxp", "--nx", edge, "--rt", 0.1 if small else 2, "--run_type", "standalone_mxp"]
            yield f"hpgmxp {edge}^3", ranks, words
    elif part == "ooc" or (part == "likelihood" and gpus == most):
        n = {"ooc": 160000, "likelihood": 524288}[part] // (shrink * (5 if part == "likelihood" else 1))
        places = folder / f"{n}.csv"
        if not places.exists():
            write_places(places, n)
        evaluate = ["mle", "--locations", places, "--theta", "weak", "--evaluate", "--storage", "host",
                    "--devices", gpus, "--max-memory", "4TB", "--tile", 128 if small else 2048]
        for accuracy in ("fp64", "1e-5") if part == "ooc" else ("1e-5",):
            yield f"{part} n={n} {accuracy}", [], evaluate + ([] if accuracy == "fp64" else ["--epsilon", accuracy])
    elif part == "layers":
        n = int(120000 * math.sqrt(gpus)) // 2048 * 2048 // shrink
        words = ["solve", "--generate", "dominant", "--n", n, "--layers", "fp16x3,fp32", "--devices", gpus]
        yield f"layers n={n}", [], words + ["--tile", 64 if small else 2048]


def run(command, report, limit):
    begin = time.monotonic()
    entry = {"command": shlex.join(command)}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        message = "" if done.returncode == 0 else done.stderr.strip()[-2000:] or f"exit {done.returncode}"
    except subprocess.TimeoutExpired:
        message = f"stopped after {limit} s"
    entry["seconds"] = time.monotonic() - begin
    if report.exists():
        entry["report"] = json.loads(report.read_text())
        report.unlink()
    if message:
        entry["failed"] = message
    return entry


def figure(entry):
    """What one line says about a run."""
    if "failed" in entry:
        return "FAILED: " + entry["failed"].splitlines()[-1]
    report = entry["report"]
    if "mixed" in report:
        return f"{report['mixed']['ms_per_iteration']:.3f} ms an iteration"
    factor, n = report["seconds"]["factor"], report["n"]
    line = f"factor {factor:.2f} s, {n**3 / 3 / factor / 1e12:.1f} TF"
    if "log_det" in report:
        line += (f", evaluation {report['seconds']['fill'] + factor:.2f} s, log-likelihood {report['log_likelihood']:.3f},"
                 f" log-determinant +- {report['log_det_error']:.1e}, {report['memory']['used'] / 1e9:.0f} GB")
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--json", type=pathlib.Path, required=True)
    parser.add_argument("--gpus", default="1,2,4")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--limit", type=float, default=600, help="seconds of one run")
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    counts = [int(count) for count in arguments.gpus.split(",")]
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        report = folder / "report.json"
        for part in arguments.only:
            for gpus in counts:
                for title, before, words in commands(part, gpus, max(counts), arguments.small, folder):
                    command = [*before, str(arguments.program.resolve()), *map(str, words), "--json", str(report)]
                    entry = {"name": title, "gpus": gpus, **run(command, report, arguments.limit)}
                    found.append(entry)
                    print(f"{title:28} on {gpus}: {figure(entry)}  ({entry['seconds']:.1f} s)", flush=True)
                    arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if any("failed" in entry for entry in found) else 0


if __name__ == "__main__":
    os.environ.update(OPEN_MPI)
    sys.exit(main())
