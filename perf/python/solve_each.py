#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Processor time of strata.solve_each beside a loop of LAPACK's dposv: covariances of orders drawn from a range, one right-hand side each.

Of each the least of some rounds. The loop copies each matrix, as LAPACK overwrites it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg.lapack
import strata

Systems = list[tuple[Any, Any]]


def systems(low: int, high: int, count: int) -> Systems:
    random = np.random.default_rng(1)
    result = []
    for n in random.integers(low, high + 1, count):
        at = random.random((n, 2))
        distance = np.hypot(*(at[:, None] - at).transpose(2, 0, 1))
        result.append((np.asfortranarray(np.exp(-distance / 0.1) + 0.01 * np.eye(n)), random.standard_normal(n)))
    return result


def loop(given: Systems) -> list[Any]:
    found = []
    for A, b in given:
        _, x, info = scipy.linalg.lapack.dposv(A, b, lower=1)
        assert info == 0
        found.append(x)
    return found


def each(given: Systems) -> list[Any]:
    return strata.solve_each([A for A, _ in given], [b for _, b in given])[0]


def least(call: Callable[[Systems], list[Any]], given: Systems, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        call(given)
        times.append(time.process_time() - begin)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ranges", nargs="+", default=["4-16:20000", "16-64:4000", "32-128:2000", "64-256:500", "128-512:100"])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    for text in arguments.ranges:
        orders, count = text.split(":")
        low, high = map(int, orders.split("-"))
        given = systems(low, high, int(count))
        apart = max(float(abs(x - y.ravel()).max()) for x, y in zip(each(given), loop(given)))
        ours, theirs = least(each, given, arguments.rounds), least(loop, given, arguments.rounds)
        print(f"orders {low:3} to {high:3}, {len(given):5} systems: solve_each {ours:.4f} s, loop {theirs:.4f} s, ratio {theirs / ours:.2f}, apart {apart:.1e}")


if __name__ == "__main__":
    main()
