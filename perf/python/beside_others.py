#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Strata beside what Python's users have: seconds to the same solution and the same likelihood, errors, peak memory.

  solve       A x = b:                 scipy.linalg.cho_factor, cho_solve      | torch.linalg.cholesky_ex, cholesky_solve
  system      the same and log det A
  likelihood  of a Matern covariance:  scikit-learn's GaussianProcessRegressor | GPyTorch's exact marginal log-likelihood
  gradient    the same and its gradient in all parameters
  smooth      `solve` with a smoother covariance, whose condition is 1.4e5 at n = 1000; if asked for, with --device cpu alone
  ill         the same with less of a nugget and a longer range: 5e8

The left ones with --device cpu, the right ones with --device cuda. Where there is no GPyTorch, the likelihood is written out in PyTorch,
and autograd makes its gradient; --theirs torch takes that on a CPU, too. Each side runs in a process of its own, on a GPU in one for all problems. One run warms up; then comes
the median of --repeat, on CPUs in turns with the others'. Strata is called anew each time, and
once more with the factor of the time before, which its `update` fills ("kept"), as in a fit. Solutions are to fp64; Strata's layers are
its automatic ones for `solve`, and fp64 where the log-determinant is to have all its digits.

What fails, or needs more memory or time than there is, costs the others nothing. --json is written after each comparison.
"""
import argparse
import contextlib
import gc
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
from contenders import HARD, MATRIX, RUNS, Problem

BASIC = ("solve", "system", "likelihood", "gradient")
CASES = (*BASIC, *HARD)
# Packages to compare with; the first that is installed is taken.
THEIRS = {"cpu": {"solve": ["scipy"], "system": ["scipy"], "likelihood": ["sklearn"], "gradient": ["sklearn"],
                  **{case: ["scipy"] for case in HARD}},
          "cuda": {"solve": ["torch"], "system": ["torch"], "likelihood": ["gpytorch", "torch"], "gradient": ["gpytorch", "torch"]}}
CAN = {"scipy": (*BASIC[:2], *HARD), "sklearn": BASIC[2:], "torch": BASIC, "gpytorch": BASIC[2:]}
SIZES = {"cpu": [1000, 2000, 4000, 8000], "cuda": [1024, 2048, 4096, 8192, 16384, 32768, 65536]}
# The least that must be there, in matrices of n^2 numbers: the matrix and a factor, or K, dK and what they come from.
NEEDS = {"solve": 2, "system": 2, "likelihood": 2, "gradient": 4, **dict.fromkeys(HARD, 2)}
OURS = ("strata", "kept")
TILES = 0.55  # of a likelihood of Strata's, in host memory
LONG = 20  # seconds of runs, after which a side is not repeated


class PeakMemory:
    """Bytes beyond those before the block, of the process or of the device."""

    context = 0  # of the device, before anything was computed there

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
        # What a library keeps on the device from the problem before counts.
        self.before = PeakMemory.context + self.torch.cuda.memory_reserved() if self.torch is not None else self.used()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.peak = max(self.peak, self.used())
        self.done.set()
        self.thread.join()
        self.bytes = max(0, self.peak - self.before)


class Served:
    """A problem in the process of a side, and what a run of it answers."""

    def __init__(self, case, who, n, device, clock):
        self.problem, self.who, self.first, self.clock = Problem(n, device, case, who), who, True, clock

    def timed(self):
        self.problem.wait()
        begin = self.clock()
        result = RUNS[self.who](self.problem)
        self.problem.wait()
        return self.clock() - begin, result

    def run(self):
        if not self.first:
            return {"seconds": self.timed()[0]}
        self.first = False
        with PeakMemory(self.problem) as memory:
            seconds, result = self.timed()
        found = {"first_seconds": seconds, "peak_bytes": memory.bytes}
        x = result.pop("x", None)
        if x is not None:
            found["backward_error"] = self.problem.backward_error(x)
        return {**found, **result}


def serve(who, device, clock):
    """Runs in a process of its own and obeys lines. "CASE N" is the problem from now on, "run" asks for a run, answered by a line of
    JSON, and "done" frees what the problem has."""
    if device == "cuda":
        import torch

        free, total = torch.cuda.mem_get_info()
        PeakMemory.context = total - free
    served = None
    for line in sys.stdin:
        words = line.split()
        if words == ["run"]:
            print(json.dumps(served.run()), flush=True)
            continue
        served = None  # before there is another
        gc.collect()
        if device == "cuda":
            torch.cuda.empty_cache()
        if words != ["done"]:
            served = Served(words[0], who, int(words[1]), device, clock)


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

    def __init__(self, who, arguments):
        self.found, self.seconds, self.lines, self.errors = {}, [], queue.Queue(), tempfile.TemporaryFile("w+")
        command = [sys.executable, __file__, "--one", who, "--device", arguments.device]
        command += ["--processor-time"] if arguments.processor_time else []
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                self.lines.put(line)
        self.lines.put(None)

    def say(self, line):
        try:
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()
        except OSError:
            self.found = {"failed": self.last_words()}

    def begin(self, case, n):
        self.found, self.seconds = {}, []
        self.say(f"{case} {n}")

    def run(self, deadline):
        """Once more, unless it has failed or has run long enough."""
        if "failed" in self.found or sum(self.seconds) > LONG:
            return
        self.say("run")
        if "failed" in self.found:
            return
        try:
            line = self.lines.get(timeout=min(max(0.0, deadline - time.monotonic()), 1e6))
        except queue.Empty:
            self.found = self.found if self.seconds else {"failed": "no time left"}  # else what is known stays
            self.process.kill()
            self.process.wait()  # so that it does not seem to live
            return
        if line is None:
            self.found = {"failed": self.last_words()}
        elif "seconds" in (found := json.loads(line)):
            self.seconds.append(found["seconds"])
        else:
            self.found = found

    def last_words(self):
        status = self.process.wait()
        self.errors.seek(0)
        return (self.errors.read().strip().splitlines() or [f"exit status {status}"])[-1]

    def done(self):
        """What is known of the problem, whose memory it gives back."""
        if self.seconds and "failed" not in self.found:
            self.found["seconds"] = statistics.median(self.seconds)
        elif "failed" not in self.found:
            self.found["failed"] = "no time left"
        found = self.found
        self.say("done")
        return found

    def lives(self):
        return self.process.poll() is None

    def end(self):
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):  # what it has not read
            self.process.stdin.close()
        self.errors.close()


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


def measure(case, n, theirs, arguments, deadline, device_bytes, sides):
    """What is known of each side: on a host their runs take turns, on a device one side has it at a time."""
    device = arguments.device
    whos = (*OURS, theirs)
    found = {who: {"failed": why} for who in whos if (why := obstacle(case, who, n, device, device_bytes))}
    begun = [who for who in whos if who not in found]
    for group in ([begun] if device == "cpu" else [[who] for who in begun]):
        for who in group:
            if who not in sides or not sides[who].lives():
                sides[who] = Side(who, arguments)
            sides[who].begin(case, n)
        until = min(deadline, time.monotonic() + arguments.limit)
        for _ in range(1 + arguments.repeat):
            for who in group:
                sides[who].run(until)
        for who in group:
            found[who] = sides[who].done()
            if device == "cpu" or not sides[who].lives():
                sides.pop(who).end()
    return found


def compare(case, n, theirs_is, found):
    """A row of what is known of the sides."""
    ours, kept, theirs = found["strata"], found["kept"], found[theirs_is]
    row = {"case": case, "n": n, "theirs_is": theirs_is, "strata": ours, "kept": kept, "theirs": theirs}
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


def compare_all(arguments, theirs):
    """All rows, printed and written as they come; `theirs` has the package of each case."""
    deadline = time.monotonic() + arguments.seconds
    known = subprocess.run([sys.executable, __file__, "--about", "--device", arguments.device], capture_output=True, text=True, check=False)
    document = {"schema": "strata.beside_others.2", "processor_time": arguments.processor_time, **(json.loads(known.stdout) if known.returncode == 0 else {}), "results": []}
    if known.returncode != 0:  # without a GPU
        print(f"nothing is compared: {(known.stderr.strip().splitlines() or ['no word'])[-1]}")
        sys.exit(77)
    device_bytes = document.get("machine", {}).get("device_bytes", math.inf)
    sides = {}
    print(HEADER)
    for n in arguments.n or SIZES[arguments.device]:
        for case, who in theirs.items():
            row = compare(case, n, who, measure(case, n, who, arguments, deadline, device_bytes, sides))
            document["results"].append(row)
            print(line_of(row), flush=True)
            for side in ("strata", "kept", "theirs"):
                if "failed" in row[side]:
                    print(f"  {side}: {row[side]['failed']}", flush=True)
            if arguments.json:
                write_json(arguments.json, document)
    for side in sides.values():
        side.end()
    return document["results"]


def packages(arguments):
    """Of each case the first package that is installed, of those to compare with."""
    found = {}
    for case in arguments.cases:
        if arguments.theirs and case not in CAN[arguments.theirs]:
            continue
        names = [arguments.theirs] if arguments.theirs else THEIRS[arguments.device].get(case, [])
        there = [name for name in names if importlib.util.find_spec(name) is not None]
        if there:
            found[case] = there[0]
        for name in names[: names.index(there[0]) if there else len(names)]:
            print(f"{case} is left out: {name} is not installed" if not there else f"{case}: {name} is not installed, {there[0]} is taken")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(BASIC))
    parser.add_argument("--n", type=int, nargs="+", help="orders; by default 1000 to 8000, on a GPU 1024 to 65536")
    parser.add_argument("--repeat", type=int, default=3, help=f"runs after the first, as long as they take {LONG} s together")
    parser.add_argument("--processor-time", action="store_true", help="seconds of the processor, of all threads, on hosts that others use, too")
    parser.add_argument("--seconds", type=float, default=math.inf, help="what has not run by then is left out")
    parser.add_argument("--limit", type=float, default=math.inf, metavar="SECONDS", help="of each comparison; on a GPU, of a side of it")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--least", type=float, metavar="RATIO", help="exit status 1 if a ratio is below, or a run failed")
    parser.add_argument("--apart", type=float, metavar="BOUND", help="exit status 1 if values differ by more, relatively, or a run failed")
    parser.add_argument("--theirs", choices=list(CAN), help="the package to compare with, in the cases that it can do")
    parser.add_argument("--one", metavar="WHO", help=argparse.SUPPRESS)
    parser.add_argument("--about", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.processor_time and arguments.device == "cuda":
        parser.error("--processor-time: a device's work is not the processor's")
    if arguments.one:
        return serve(arguments.one, arguments.device, time.process_time if arguments.processor_time else time.perf_counter)
    if arguments.about:
        return print(json.dumps(about(arguments.device)))
    theirs = packages(arguments)
    if not theirs:
        sys.exit(77)
    rows = compare_all(arguments, theirs)
    apart = [row.get(name, 0.0 if "ratio" in row else math.inf) for row in rows for name in ("relative_difference", "gradient_difference")]
    if arguments.apart is not None and max(apart) > arguments.apart:
        sys.exit(f"a difference is {max(apart):.3g}, above {arguments.apart}")
    if arguments.least is not None and min(row.get("ratio", -math.inf) for row in rows) < arguments.least:
        sys.exit(f"a ratio is below {arguments.least}")


if __name__ == "__main__":
    main()
