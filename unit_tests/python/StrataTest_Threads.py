# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""One object in several threads, after Ctrl-C and over a fork: nobody waits for ever, and nobody with the GIL."""

from __future__ import annotations

import processes
import pytest

FACTORS = """
import os, signal, threading, time
import numpy as np, strata
import scipy.sparse

def interrupt_in(seconds):
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()

on_gpu = bool({"Cuda", "HIP"} & set(strata.configuration().replace(",", "").split()))
pause = 0.0
asked = 0
def block(rows, cols):
    global asked
    asked += 1
    time.sleep(pause)
    i, j = np.arange(rows.start, rows.stop), np.arange(cols.start, cols.stop)
    return np.exp(-abs(i[:, None] - j[None, :]) / 10.0)

def tiles(n=600):
    return strata.ooc.cholesky(block, n=n, tile_size=100)

def dense(n):
    a = np.full((n, n), 1.0 / n)
    a[np.diag_indices(n)] = 2.0
    return a
"""

PROGRAMS = {
    "a look at the factor after Ctrl-C": """
f, b, looks = tiles(), np.ones(600), (lambda: f.report, lambda: f.info, lambda: f.storage, lambda: repr(f))
pause = 0.005
for k in range(12):
    interrupt_in(0.02 + 0.003 * k)
    try:
        f.solve(b)
        time.sleep(0.2)
        print("too fast")
    except KeyboardInterrupt:
        looks[k % 4]()
""",
    "an update beside a look": """
f, a, end = strata.cholesky(dense(200)), dense(200), time.monotonic() + 3
def watch():
    while time.monotonic() < end:
        f.info, f.report, repr(f)
watcher = threading.Thread(target=watch)
watcher.start()
while time.monotonic() < end:
    f.refactor(a.copy())
watcher.join()
""",
    "a solver and its preconditioner": """
line = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(20, 20))
A = scipy.sparse.kronsum(line, line).tocsr()
solver = strata.sparse.Solver(A)
b, end, M = np.ones(400), time.monotonic() + 6, solver.as_preconditioner()
expected = M.matvec(b)
def solve():
    while time.monotonic() < end: solver.solve(b)
def apply():
    while time.monotonic() < end: M.matvec(b)
threads = [threading.Thread(target=one) for one in (solve, apply)]
for one in threads: one.start()
for one in threads: one.join()
assert abs(A @ solver.solve(b) - b).max() < 1e-8
del solver
assert abs(M.matvec(b) - expected).max() <= 1e-12  # it has what it needs
del M  # where references were miscounted, their last is none
""",
    "others go on while one waits": """
f, b, gaps, done = strata.cholesky(dense(1200)), np.eye(1200), [], threading.Event()
if on_gpu: f, b, pause = tiles(), np.ones(600), 0.05  # which takes as long on any machine
def tick():
    last = time.monotonic()
    while not done.is_set():
        time.sleep(0.005)
        now = time.monotonic()
        gaps.append(now - last)
        last = now
def solve():
    while not done.is_set():
        f.solve(b)
threads = [threading.Thread(target=one) for one in (tick, solve)]
for one in threads: one.start()
waited = 0
while waited < 0.3:
    begin = time.monotonic()
    f.info
    waited = time.monotonic() - begin
done.set()
for one in threads: one.join()
assert max(gaps) < waited / 2, (max(gaps), waited)
""",
    "Ctrl-C of one call leaves the others": """
f, b, found = tiles(), np.ones(600), []
pause = 0.05
def solve():
    try:
        found.append(f.solve(b))
    except BaseException as error:
        found.append(error)
first = threading.Thread(target=solve)
first.start()
time.sleep(0.3)
interrupt_in(0.2)
try:
    f.solve(b)
    print("not heard")
except KeyboardInterrupt:
    assert first.is_alive()
first.join()
assert isinstance(found[0], np.ndarray), found
time.sleep(0.2)
then = asked
time.sleep(0.3)
assert asked == then  # the call that was interrupted while it waited does nothing
""",
    "Ctrl-C is heard by short calls that wait": """
f, L, b = tiles(), strata.cholesky(dense(1200)), np.eye(1200)
pause = 0.03
def solve():
    end = time.monotonic() + 1
    while time.monotonic() < end: L.solve(b)
for busy, calls in (
    (lambda: f.solve(np.ones(600)), (lambda: f.info,)),
    (solve, (lambda: L.lower_triangle(), lambda: L.solve(b[:, 0]))),
):
    for call in calls:
        first = threading.Thread(target=busy)
        first.start()
        time.sleep(0.1)
        interrupt_in(0.1)
        try:
            while first.is_alive(): call()
            print("not heard")
        except KeyboardInterrupt:
            assert first.is_alive()
        first.join()
""",
    "a source that asks its own factor": """
def source(rows, cols):
    if f is not None: f.info
    return block(rows, cols)
f = None
f = strata.ooc.cholesky(source, n=600, tile_size=100)
try:
    f.solve(np.ones(600))
except strata.Error as error:
    assert "a function that the work of an object calls" in str(error), error
else:
    print("answered")
g = f
f = None
assert g.info == 0 and np.isfinite(g.solve(np.ones(600))).all()
""",
}

FORK = """
def child(call):
    # 0: did it; 3: was told that it can't; a child that hangs is ended by its alarm
    number = os.fork()
    if number == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(15)
        status = 1
        try:
            call()
            status = 0
        except strata.NotReady as error:
            assert "was forked while another thread was in a call" in str(error)
            status = 3
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_ends(name: str) -> None:
    done = processes.run(f"print('ready', flush=True)\n{FACTORS}{PROGRAMS[name]}", seconds=60)
    assert (done.stdout, done.stderr, done.returncode) == ("ready\n", "", 0)


FORKS = {
    "amid a call": """
f = tiles()
pause = 0.05
busy = threading.Thread(target=f.solve, args=(np.ones(600),))
busy.start()
time.sleep(0.2)
other = strata.cholesky(dense(50))
for call in (lambda: f.info, lambda: f.solve(np.ones(600)), lambda: repr(f), lambda: other.solve(np.ones(50)), tiles, strata._core.device):
    print(child(call))
assert busy.is_alive()
busy.join()
pause = 0.0
print(child(lambda: f.solve(np.ones(600))), np.isfinite(f.solve(np.ones(600))).all())
""",
    "at random times": """
random = np.random.default_rng(5)
f, g, b = strata.cholesky(dense(400)), strata.cholesky(dense(100)), np.ones((400, 20))
end = time.monotonic() + 6
def solve():
    while time.monotonic() < end: f.solve(b)
def update():
    while time.monotonic() < end: g.refactor(dense(100))
threads = [threading.Thread(target=one) for one in (solve, update)]
for one in threads: one.start()
statuses = []
while time.monotonic() < end:
    time.sleep(random.uniform(0.0, 0.05))
    statuses.append(child(lambda: (f.solve(b), g.info, strata.cholesky(dense(30)).logdet())))
for one in threads: one.join()
assert len(statuses) > 10 and set(statuses) <= {0, 3} and 3 in statuses, statuses
assert child(lambda: f.solve(b)) == 0  # nobody works any more
""",
}


@pytest.mark.parametrize("name, said", [("amid a call", "3\n3\n3\n3\n3\n3\n0 True\n"), ("at random times", "")])
def test_a_fork(name: str, said: str) -> None:
    strata = pytest.importorskip("strata")
    built = strata.configuration().replace(",", "").split()
    if "Serial" not in built or {"OpenMP", "Cuda", "HIP"} & set(built):
        pytest.skip("Kokkos' threads and devices do not survive a fork")
    # What a program of several threads should know by itself.
    quiet = "import warnings; warnings.simplefilter('ignore', DeprecationWarning)\nprint('ready', flush=True)\n"
    done = processes.run(quiet + FACTORS + FORK + FORKS[name], seconds=60)
    assert (done.stdout, done.stderr, done.returncode) == ("ready\n" + said, "", 0)
