# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Everything that is public, in two threads at a time, interrupted, and over forks.

Each name beside each other, which is at least once; Ctrl-C at random times, each followed by all properties of the object; forks at
random times, while two threads work. What hangs is ended after a minute, with where its threads stood.
"""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import public
import strata
from public import Operation

PATIENCE = 60.0


def watched(call: Callable[[], Any]) -> Any:
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    try:
        return call()
    finally:
        faulthandler.cancel_dump_traceback_later()


def same(found: Any, expected: Any) -> bool:
    """Numbers up to rounding; of reports, which have times, the type."""
    if isinstance(expected, (tuple, list)):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, (float, np.ndarray)):
        return bool(np.allclose(found, expected, rtol=1e-6, atol=1e-9, equal_nan=True))
    return type(found) is type(expected)


def repeat(operation: Operation, until: float) -> int:
    """Calls until that time, at least one; raises if one gives something else than it did alone."""
    calls = 0
    while calls == 0 or time.monotonic() < until:
        found = operation.call()
        if not same(found, operation.expected):
            raise AssertionError(f"{operation.name} gives {found!r}, alone it gave {operation.expected!r}")
        calls += 1
    return calls


def run_pairs(operations: list[Operation], seconds: float) -> str:
    pairs = list(itertools.combinations_with_replacement(operations, 2))
    each, calls = seconds / len(pairs), 0
    with ThreadPoolExecutor(2) as pool:
        for pair in pairs:
            until = time.monotonic() + each
            tasks = [pool.submit(repeat, operation, until) for operation in pair]
            try:
                calls += sum(watched(lambda task=task: task.result()) for task in tasks)  # type: ignore[misc]
            except Exception as error:
                raise AssertionError(f"{pair[0].name} beside {pair[1].name}") from error
    return f"{len(pairs)} pairs of {len(operations)} names, {calls} calls"


def run_interrupts(operations: list[Operation], seconds: float, times: int) -> str:
    random, armed, heard = np.random.default_rng(3), [False], 0

    def interrupt(*_: Any) -> None:
        if armed[0]:
            raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    calls = [operation for operation in operations if not operation.is_look]
    long = [operation for operation in calls if operation.seconds > 0.08]
    end, k = time.monotonic() + seconds, 0
    while k < times or time.monotonic() < end:
        k += 1
        choice = long if k % 2 else calls
        operation = choice[random.integers(len(choice))]
        try:
            armed[0] = True
            signal.setitimer(signal.ITIMER_REAL, max(1e-5, operation.seconds * random.uniform(0.0, 1.2)))
            watched(operation.call)
            armed[0] = False
        except KeyboardInterrupt:
            armed[0] = False
            heard += 1
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        for other in operations:
            if other.subject == operation.subject and other.is_look:
                watched(lambda: repeat(other, 0.0))  # noqa: B023
    return f"{k} interrupts, {heard} of them heard"


def run_forks(operations: list[Operation], seconds: float) -> str:
    configuration = strata.configuration()
    if "Serial" not in configuration or "OpenMP" in configuration:
        return "no forks: Kokkos' threads and devices do not survive one"
    warnings.simplefilter("ignore", DeprecationWarning)  # Python's word on forks beside threads
    survivors = [operation for operation in operations if operation.subject != "strata.torch"]  # autograd has threads
    end, found = time.monotonic() + seconds, {0: 0, 3: 0}
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        try:
            while time.monotonic() < end:
                repeat(operations[random.integers(len(operations))], 0.0)
                time.sleep(random.exponential(0.002))  # some forks come while nobody works
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    random = np.random.default_rng(4)
    while time.monotonic() < end:
        time.sleep(random.uniform(0.0, 0.02))
        status = in_child([one for one in survivors if one.is_look or random.random() < 0.1])
        if status not in found:
            raise AssertionError(f"a child ended with {status}: -{signal.SIGALRM} where it hung")
        found[status] += 1
    for thread in threads:
        watched(thread.join)
    if failures or 0 in found.values():
        raise AssertionError(f"{found}, {failures}")
    return f"{found[0]} children went on, {found[3]} were told that they can't"


def in_child(operations: list[Operation]) -> int:
    """0: all these calls did what they do alone; 3: some were refused."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(30)
    status = 0
    try:
        for operation in operations:
            try:
                repeat(operation, 0.0)
            except strata.NotReady:
                status = 3
        os._exit(status)
    except BaseException as error:
        print(f"in a child: {error!r}", file=sys.stderr, flush=True)
    finally:
        os._exit(5)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="of all three, and what a call of each pair takes more")
    parser.add_argument("--times", type=int, default=100, help="interrupts, at least")
    given = parser.parse_args()
    begin = time.monotonic()

    def say(said: str) -> None:
        print(f"{time.monotonic() - begin:6.1f} s  {said}", flush=True)

    operations = public.operations()
    say(run_pairs(operations, 0.6 * given.seconds))
    public.wide, public.columns, public.pause = 1000, 90, 0.01
    say(run_interrupts(public.operations(), 0.2 * given.seconds, given.times))
    public.pause = 0.0
    say(run_forks(operations, 0.2 * given.seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
