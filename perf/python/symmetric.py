#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""A symmetric system that is not definite, beside LAPACK's dsysv or cuSOLVER's sytrf and sytrs in one run.

  saddle       a covariance bordered by a tenth as many constraints
  random       entries uniform in (-1, 1)
  conditioned  Q D Q of sines, D of both signs from 1 to 1 / --condition

Seconds of each, and how many times as fast Strata is: medians of --repeat runs, by turns, after one of each that warms up. LAPACK is SciPy's,
cuSOLVER is PyTorch's (--device cuda: linalg.ldl_factor and ldl_solve). The program fails if a backward error is above n 2^-52.
"""
import argparse
import json
import math
import pathlib
import sys

import numpy as np
import strata
from scipy.linalg import lapack
from timed import Machine


def matrix(machine, kind, n, condition):
    xp = machine.xp
    if kind == "random":
        R = 2 * machine.uniform((n, n), 1) - 1
        return machine.columns(xp.tril(R) + xp.tril(R, -1).T)
    if kind == "conditioned":
        i = machine.numbers(n) + 1
        # The argument is taken modulo one turn in whole numbers, which are exact.
        Q = xp.sin((i[:, None] * i) % (2 * (n + 1)) * (math.pi / (n + 1))) * math.sqrt(2 / (n + 1))
        d = condition ** -((i - 1) / max(n - 1, 1)) * xp.sign(machine.uniform(n, 1) - 0.5)
        A = (Q * d) @ Q
        return machine.columns((A + A.T) / 2)
    m = n // 11
    t = machine.uniform(n - m, 1)
    A = machine.uniform((n, n), 2) * 0
    A[: n - m, : n - m] = xp.exp(-abs(t[:, None] - t) * 30)
    at = np.arange(n - m)
    A[at, at] += 1e-2
    F = machine.normal((n - m, m), 3)
    A[: n - m, n - m :], A[n - m :, : n - m] = F, F.T
    return machine.columns(A)


def by_strata(A, b, layers):
    factor = strata.symmetric_factor(A, layers)
    x = factor.solve(b)
    return x, factor.report, factor.last_solve


def by_lapack(A, b):
    work, info = lapack.dsysv_lwork(len(A), lower=1)
    x = lapack.dsysv(A, b, lwork=int(work), lower=1)
    if x[3] != 0:
        sys.exit(f"dsysv: info {x[3]}")
    return x[2]


def by_torch(torch, A, b):
    factor = torch.linalg.ldl_factor(A)
    return torch.linalg.ldl_solve(factor.LD, factor.pivots, b[:, None])[:, 0]


def backward_error(machine, A, x, b):
    norm = max(float(abs(A[k : k + 1024]).sum(1).max()) for k in range(0, len(A), 1024))
    return float(abs(b - A @ x).max()) / (norm * float(abs(x).max()) + float(abs(b).max()))


def compare(machine, kind, n, options):
    A, b = matrix(machine, kind, n, options.condition), machine.normal(n, 4)
    their_run = (lambda: by_lapack(A, b)) if machine.torch is None else (lambda: by_torch(machine.torch, A, b))
    (ours, theirs), ((x, report, solve), their_x) = machine.medians([lambda: by_strata(A, b, options.layers), their_run], options.repeat)
    error = backward_error(machine, A, x, b)
    found = {"matrix": kind, "n": n, "strata_seconds": ours, "their_seconds": theirs, "ratio": theirs / ours, "rung": report.rung}
    found |= {"layers": report.layers, "iterations": solve.iterations, "growth": report.growth, "backward_error": error}
    found["their_backward_error"] = backward_error(machine, A, their_x, b)
    print(f"{kind + ' ' + str(n):18} {ours:10.4f} {theirs:10.4f} {theirs / ours:6.2f}x  {report.rung}, {solve.iterations}, {report.growth:.1g},", end=" ")
    print(f"{error:.1e} (theirs {found['their_backward_error']:.1e})", flush=True)
    if not error < n * 2.0**-52:
        sys.exit(f"the backward error of {kind} {n} is {error}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 2000, 4000])
    parser.add_argument("--kinds", nargs="+", default=["saddle", "random"], choices=("saddle", "random", "conditioned"))
    parser.add_argument("--condition", type=float, default=1e4)
    parser.add_argument("--layers", default="auto")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--processor", action="store_true", help="processor seconds of all threads")
    parser.add_argument("--device", choices=("lapack", "cpu", "cuda"), default="lapack", help="cpu, cuda: beside PyTorch there")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    machine = Machine(options.device, options.processor)
    print(f"{'matrix':18} {'Strata s':>10} {machine.theirs + ' s':>10} {'ratio':>7}  rung, iterations, growth, backward error")
    found = [compare(machine, kind, n, options) for kind in options.kinds for n in options.sizes]
    if options.json:
        about = {"configuration": strata.configuration(), "machine": machine.name(), "theirs": machine.theirs, "condition": options.condition}
        options.json.write_text(json.dumps({**about, "results": found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
