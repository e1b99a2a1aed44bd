#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the drop-in is to processes that it is preloaded into and that call no LAPACK, and without libstrata_c."""
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

LIBRARY = os.environ["STRATA_LAPACK_LIBRARY"]
CALLS_DPOTRF = """
import ctypes, os
program = ctypes.CDLL(None)
def potrf():
    n, info, a = ctypes.c_int(1), ctypes.c_int(-9), ctypes.c_double(4)
    program.dpotrf_(b"L", ctypes.byref(n), ctypes.byref(a), ctypes.byref(n), ctypes.byref(info))
    assert (info.value, a.value) == (0, 2), (info, a)
"""


def preloaded(command, settings, **more):
    environment = dict(os.environ, LD_PRELOAD=LIBRARY, STRATA_LAPACK=settings, **more)
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return done


class Preload(unittest.TestCase):
    def test_a_process_that_calls_nothing_says_and_loads_nothing(self):
        for settings in ("trace=1,layers=fp32", "treshold=1,trace=1", "layers=fp12"):
            done = preloaded(["/bin/sh", "-c", "/bin/true; /bin/true"], settings)
            self.assertEqual((done.stdout, done.stderr), ("", ""))
            loaded = preloaded(["/bin/true"], settings, LD_DEBUG="files").stderr
            self.assertIn("libstrata_lapack", loaded)  # it would be seen
            for library in ("libstrata_c", "blas", "lapack.so.3", "kokkos"):
                self.assertNotIn(library, loaded)

    def test_the_trace_names_the_process_and_what_was_called(self):
        child = CALLS_DPOTRF + "potrf()\nprint(os.getpid(), flush=True)\nif os.fork() == 0: raise SystemExit\nos.wait()\n"
        done = preloaded([sys.executable, "-c", child], "trace=1")
        name = pathlib.Path(sys.executable).name
        pid = int(done.stdout)
        self.assertEqual(
            done.stderr,
            f"strata_lapack: {name}[{pid}]: dpotrf: 0 calls by Strata, 1 by the system's LAPACK\n",
        )

    def test_a_forked_process_counts_its_own_calls(self):
        child = CALLS_DPOTRF + "potrf()\nif os.fork() == 0:\n    potrf(); potrf()\n    raise SystemExit\nos.wait()\n"
        done = preloaded([sys.executable, "-c", child], "trace=1")
        self.assertEqual([line.split(": ")[-1] for line in done.stderr.splitlines()],
                         [f"0 calls by Strata, {count} by the system's LAPACK" for count in (2, 1)])  # fmt: skip

    def test_bad_settings_are_named_once_by_the_process_that_calls(self):
        child = CALLS_DPOTRF + "potrf()\nif os.fork() == 0:\n    potrf()\n    raise SystemExit\nos.wait()\npotrf()\n"
        done = preloaded(["/bin/sh", "-c", 'exec "$0" -c "$1"', sys.executable, child], "treshold=1")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("no setting 'treshold'", done.stderr)


class WithoutStrata(unittest.TestCase):
    """A copy of the library that asks for a libstrata_c that there is not."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        copy = pathlib.Path(self.folder.name) / "alone.so"
        copy.write_bytes(pathlib.Path(LIBRARY).read_bytes().replace(b"libstrata_c.so", b"libstrata_0.so"))
        program = f"""
import ctypes
alone = ctypes.CDLL("{copy}")
strata, system = ctypes.c_int64(-1), ctypes.c_int64(-1)
def calls(name): return alone.strata_lapack_calls(name, ctypes.byref(strata), ctypes.byref(system))
n, info, a = ctypes.c_int(1), ctypes.c_int(-9), ctypes.c_double(4)
print(calls(b"dpotrf"), strata.value, system.value, calls(b"dgetrf"))
print(alone.strata_lapack_configure(b"threshold=0"), alone.strata_lapack_configure(b"leaf=x"))
print(alone.strata_lapack_configure(b"layers=fp32"))
alone.dpotrf_(b"L", ctypes.byref(n), ctypes.byref(a), ctypes.byref(n), ctypes.byref(info))
print(info.value, a.value, calls(b"dpotrf"), strata.value, system.value)
"""
        self.done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)

    def test_calls_get_a_status_and_work_is_done(self):
        success, invalid, not_ready = 0, 3, 7
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertEqual(self.done.stdout.splitlines(),
                         [f"{success} 0 0 {invalid}", f"{success} {invalid}", f"{not_ready}", f"0 2.0 {success} 0 1"])  # fmt: skip


if __name__ == "__main__":
    unittest.main()
