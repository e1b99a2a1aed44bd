#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Strata beside what Python's users have: seconds to the same solution and the same likelihood, errors, peak memory.

  solve       A x = b:                 scipy.linalg.cho_factor, cho_solve      | torch.linalg.cholesky_ex, cholesky_solve
  system      the same and log det A
  likelihood  of a Matern covariance:  scikit-learn's GaussianProcessRegressor | GPyTorch's exact marginal log-likelihood
  gradient    the same and its gradient in all parameters

The left ones with --device cpu, the right ones with --device cuda, where PyTorch and GPyTorch are there. Each runs in a process of
its own: one run that warms up, then the median of --repeat, on CPUs in turns with the others'. Strata is called anew each time, and
once more with the factor of the time before, which its `update` fills ("kept"), as in a fit. Solutions are to fp64; Strata's layers are
its automatic ones for `solve`, and fp64 where the log-determinant is to have all its digits.

What fails, or needs more memory or time than there is, costs the others nothing. --json is written after each comparison.
"""
import argparse
import importlib.util
import json
import math
import os
import platform
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
from contenders import MATRIX, RUNS, Problem

CASES = ("solve", "system", "likelihood", "gradient")
THEIRS = {"cpu": {"solve": "scipy", "system": "scipy", "likelihood": "sklearn", "gradient": "sklearn"},
          "cuda": {"solve": "torch", "system": "torch", "likelihood": "gpytorch", "gradient": "gpytorch"}}
SIZES = {"cpu": [1000, 2000, 4000, 8000], "cuda": [1024, 2048, 4096, 8192, 16384, 32768, 65536]}
# The least that must be there, in matrices of n^2 numbers: the matrix and a factor, or K, dK and what they come from.
NEEDS = {"solve": 2, "system": 2, "likelihood": 2, "gradient": 4}
OURS = ("strata", "kept")
TILES = 0.55  # of a likelihood of Strata's, in host memory
LONG = 20  # seconds of runs, after which a side is not repeated


class PeakMemory:
    """Bytes beyond those before the block, of the process or of the device."""

    def __init__(self, problem):
        self.torch = problem.torch if problem.device == "cuda" else None
        self.peak, self.done = 0, threading.Event()

    def used(self):
        if self.torch is not None:
            free, total = self.torch.cuda.mem_get_info()
            return total - free
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def watch(self):
        while not self.done.wait(0.002):
            self.peak = max(self.peak, self.used())

    def __enter__(self):
        if self.torch is not None:
            self.torch.cuda.empty_cache()
        self.before = self.used()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.peak = max(self.peak, self.used())
        self.done.set()
        self.thread.join()
        self.bytes = max(0, self.peak - self.before)


def serve(case, who, n, device):
    """In a process of its own: a run for each line that comes, and a line of JSON for each run."""
    problem, run, first = Problem(n, device, case), RUNS[who], True

    def once():
        if device == "cuda":
            problem.torch.cuda.synchronize()
        begin = time.perf_counter()
        result = run(problem)
        if device == "cuda":
            problem.torch.cuda.synchronize()
        return time.perf_counter() - begin, result

    for _ in sys.stdin:
        if first:
            with PeakMemory(problem) as memory:
                seconds, result = once()
            found = {"first_seconds": seconds, "peak_bytes": memory.bytes}
            x = result.pop("x", None)
            if x is not None:
                found["backward_error"] = problem.backward_error(x)
            del x
            print(json.dumps({**found, **result}), flush=True)
            first = False
        else:
            print(json.dumps({"seconds": once()[0]}), flush=True)


def about(device):
    """Of this process: packages, machine, and bytes of memory."""
    versions = {"python": platform.python_version()}
    for name in ("numpy", "scipy", "sklearn", "torch", "gpytorch", "strata"):
        try:
            versions[name] = __import__(name).__version__
        except Exception:  # whatever a package does that is not whole
            continue
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    machine = {"cpu": names[0] if names else platform.processor(), "cpus": len(os.sched_getaffinity(0)), "load": os.getloadavg()[0]}
    if device == "cuda":
        import torch

        machine["device"] = torch.cuda.get_device_name()
        machine["device_bytes"] = torch.cuda.mem_get_info()[0]
    return {"versions": versions, "machine": machine}


class Side:
    """One side of a comparison: its process, what is known of it, why it has failed."""

    def __init__(self, case, who, n, device):
        self.found, self.seconds, self.lines, self.errors = {}, [], queue.Queue(), tempfile.TemporaryFile("w+")
        command = [sys.executable, __file__, "--one", case, who, "--n", str(n), "--device", device]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                self.lines.put(line)
        self.lines.put(None)

    def run(self, deadline):
        """Once more, unless it has failed or has run long enough."""
        if "failed" in self.found or sum(self.seconds) > LONG:
            return
        try:
            self.process.stdin.write("run\n")
            self.process.stdin.flush()
            line = self.lines.get(timeout=min(max(0.0, deadline - time.monotonic()), 1e6))
            if line is None:
                raise BrokenPipeError
            found = json.loads(line)
            if "seconds" in found:
                self.seconds.append(found["seconds"])
            else:
                self.found = found
        except queue.Empty:
            if not self.seconds:  # else what is known stays
                self.found = {"failed": "no time left"}
        except OSError:
            self.found = {"failed": self.last_words()}

    def last_words(self):
        status = self.process.wait()
        self.errors.seek(0)
        return (self.errors.read().strip().splitlines() or [f"exit status {status}"])[-1]

    def end(self):
        self.process.kill()
        self.process.wait()
        self.errors.close()
        if self.seconds and "failed" not in self.found:
            self.found["seconds"] = statistics.median(self.seconds)
        elif "failed" not in self.found:
            self.found["failed"] = "no time left"
        return self.found


def available_bytes():
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable:"))


def obstacle(case, who, n, device, device_bytes):
    """Why there is no use in beginning; None: nothing."""
    ours, matrix = who in OURS, 8 * n * n
    in_tiles = ours and case not in MATRIX
    host = TILES * matrix if in_tiles else NEEDS[case] * matrix if device == "cpu" else 0
    there = NEEDS[case] * matrix if device == "cuda" and not in_tiles else 0
    for what, needed, free in (("host", host, available_bytes()), ("device", there, device_bytes)):
        if needed > free:
            return f"left out: at least {needed / 1e9:.0f} GB of {what} memory are needed, {free / 1e9:.0f} are there"
    return None


def measure(case, n, device, repeat, deadline, device_bytes):
    """What is known of each side: on a host their runs take turns, on a device one side has it at a time."""
    whos = (*OURS, THEIRS[device][case])
    found = {who: {"failed": why} for who in whos if (why := obstacle(case, who, n, device, device_bytes))}
    begun = [who for who in whos if who not in found]
    for group in ([begun] if device == "cpu" else [[who] for who in begun]):
        sides = {who: Side(case, who, n, device) for who in group}
        for _ in range(1 + repeat):
            for side in sides.values():
                side.run(deadline)
        found.update({who: side.end() for who, side in sides.items()})
    return found


def compare(case, n, device, repeat, deadline, device_bytes):
    whose = THEIRS[device][case]
    found = measure(case, n, device, repeat, deadline, device_bytes)
    ours, kept, theirs = found["strata"], found["kept"], found[whose]
    row = {"case": case, "n": n, "theirs_is": whose, "strata": ours, "kept": kept, "theirs": theirs}
    for name, side in (("ratio", ours), ("ratio_kept", kept)):
        if "failed" not in side and "failed" not in theirs:
            row[name] = theirs["seconds"] / side["seconds"]
    if "ratio" in row and "value" in ours:
        row["relative_difference"] = abs(ours["value"] - theirs["value"]) / abs(theirs["value"])
    if "ratio" in row and "gradient" in ours:
        a, b = np.array(ours["gradient"]), np.array(theirs["gradient"])
        row["gradient_difference"] = float((abs(a - b) / abs(b)).max())
    return row


HEADER = f"{'':<29}{'Strata: s':>10}{'kept: s':>10}{'MB':>10}{'error':>10}{'theirs: s':>10}{'MB':>10}{'error':>10}{'ratio':>8}{'kept':>8}{'apart':>10}"


def line_of(row):
    def number(of, key, form, width):
        return f"{of[key]:{form}}".rjust(width) if key in of else " " * width

    def seconds(side):
        return f"{'-':>10}" if "failed" in side else f"{side['seconds']:>10.4f}"

    def rest(side):
        return (f"{side['peak_bytes'] / 1e6:>10.0f}" if "peak_bytes" in side else " " * 10) + number(side, "backward_error", ".1e", 10)

    line = f"{row['case']:<12}{row['theirs_is']:<10}{row['n']:>7}{seconds(row['strata'])}{seconds(row['kept'])}{rest(row['strata'])}"
    line += f"{seconds(row['theirs'])}{rest(row['theirs'])}{number(row, 'ratio', '.2f', 8)}{number(row, 'ratio_kept', '.2f', 8)}"
    return (line + number(row, "relative_difference", ".1e", 10)).rstrip()


def write_json(path, document):
    with open(f"{path}.part", "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
    os.replace(f"{path}.part", path)


def compare_all(arguments, cases):
    """All rows, printed and written as they come."""
    deadline = time.monotonic() + arguments.seconds
    known = subprocess.run([sys.executable, __file__, "--about", "--device", arguments.device], capture_output=True, text=True, check=False)
    document = {"schema": "strata.beside_others.2", **(json.loads(known.stdout) if known.returncode == 0 else {}), "results": []}
    device_bytes = document.get("machine", {}).get("device_bytes", math.inf)
    print(HEADER)
    for n in arguments.n or SIZES[arguments.device]:
        for case in cases:
            row = compare(case, n, arguments.device, arguments.repeat, deadline, device_bytes)
            document["results"].append(row)
            print(line_of(row), flush=True)
            for who in ("strata", "kept", "theirs"):
                if "failed" in row[who]:
                    print(f"  {who}: {row[who]['failed']}", flush=True)
            if arguments.json:
                write_json(arguments.json, document)
    return document["results"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--n", type=int, nargs="+", help="orders; by default 1000 to 8000, on a GPU 1024 to 65536")
    parser.add_argument("--repeat", type=int, default=3, help=f"runs after the first, as long as they take {LONG} s together")
    parser.add_argument("--seconds", type=float, default=math.inf, help="what has not run by then is left out")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--least", type=float, metavar="RATIO", help="exit status 1 if a ratio is below, or a run failed")
    parser.add_argument("--apart", type=float, metavar="BOUND", help="exit status 1 if values differ by more, relatively, or a run failed")
    parser.add_argument("--one", nargs=2, metavar=("CASE", "WHO"), help=argparse.SUPPRESS)
    parser.add_argument("--about", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        return serve(*arguments.one, arguments.n[0], arguments.device)
    if arguments.about:
        return print(json.dumps(about(arguments.device)))
    there = {case: importlib.util.find_spec(THEIRS[arguments.device][case]) is not None for case in arguments.cases}
    for case in (case for case in there if not there[case]):
        print(f"{case} is left out: {THEIRS[arguments.device][case]} is not installed")
    if not any(there.values()):
        sys.exit(77)
    rows = compare_all(arguments, [case for case in there if there[case]])
    apart = [row.get(name, 0.0 if "ratio" in row else math.inf) for row in rows for name in ("relative_difference", "gradient_difference")]
    if arguments.apart is not None and max(apart) > arguments.apart:
        sys.exit(f"a difference is {max(apart):.3g}, above {arguments.apart}")
    if arguments.least is not None and min(row.get("ratio", -math.inf) for row in rows) < arguments.least:
        sys.exit(f"a ratio is below {arguments.least}")


if __name__ == "__main__":
    main()
