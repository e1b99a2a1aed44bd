# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the program share: running it, and making and reading its files without NumPy."""
import dataclasses
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import threading
import unittest
import unittest.mock

PROGRAM = os.environ["STRATA_PROGRAM"]
APPS = pathlib.Path(os.environ["STRATA_APPS"])
ON_GPU = "STRATA_ON_GPU" in os.environ  # whose context takes some 400 MB, and whose sums may differ in their last bits
SOON = 60 if ON_GPU else 20  # seconds in which a run of a few ranks ends; on a GPU each makes a context, beside those of other tests
STATIONS = APPS / "data" / "stations.csv"
COVARIANCE = "matern:22000,2600,0.5,450"


@dataclasses.dataclass
class Run:
    code: int
    out: str
    err: str
    peak_bytes: int  # resident
    seconds: float  # of processor time, which a busy machine does not change


def strata(*arguments, env=None, stdout=subprocess.PIPE, timeout=300):
    """Run `strata arguments...`; the child's own resource usage comes from wait4. A run that does not end is killed, and its code is -9."""
    with tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            [PROGRAM, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=out if stdout is subprocess.PIPE else stdout,
            stderr=err,
            env={**os.environ, **(env or {})},
        )
        end = threading.Timer(timeout, process.kill)
        end.start()
        _, status, usage = os.wait4(process.pid, 0)
        end.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        seconds = usage.ru_utime + usage.ru_stime
        return Run(process.returncode, out.read().decode(), err.read().decode(), usage.ru_maxrss * 1024, seconds)


def words_on(ranks, *arguments, each="", prefix=()):
    """`strata arguments...` on so many ranks of MPI. each: what a shell of each rank does before, where its number is $RANK."""
    if each:
        prefix = ("sh", "-c", f'RANK=${{OMPI_COMM_WORLD_RANK:-${{PMI_RANK:-0}}}}; {each}; exec "$@"', "sh")
    return [os.environ["STRATA_MPIEXEC"], "-n", str(ranks), *prefix, PROGRAM, *map(str, arguments)]


def strata_on(ranks, *arguments, timeout=120, **how):
    return subprocess.run(words_on(ranks, *arguments, **how), capture_output=True, text=True, timeout=timeout)


needs_mpi = unittest.skipUnless("STRATA_MPIEXEC" in os.environ, "built without MPI")


def write_npy(path, shape, values, header=None):
    """A .npy of version 1.0 in Fortran order."""
    text = header or f"{{'descr': '<f8', 'fortran_order': True, 'shape': {shape}, }}"
    text = text.ljust(117) + "\n"
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
    pathlib.Path(path).write_bytes(data + struct.pack(f"<{len(values)}d", *values))


def read_npy(path):
    """(shape, values in the file's order) of a .npy of version 1.0 in fp64."""
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    (length,) = struct.unpack("<H", data[8:10])
    header = eval(data[10 : 10 + length], {"__builtins__": {}})  # a literal that the program wrote
    assert header["descr"] == "<f8"
    body = data[10 + length :]
    return header["shape"], struct.unpack(f"<{len(body) // 8}d", body)


def write_mtx(path, lines):
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


def tridiagonal(n, diagonal=4.0, changed=None):
    """Lines of a Matrix Market file: -1, diagonal, -1, but diagonal entry i is changed[i]."""
    changed = changed or {}
    lines = ["%%MatrixMarket matrix coordinate real symmetric", f"{n} {n} {2 * n - 1}"]
    for i in range(1, n + 1):
        lines.append(f"{i} {i} {changed.get(i, diagonal)!r}")
        if i < n:
            lines.append(f"{i + 1} {i} -1.0")
    return lines


class ProgramTest(unittest.TestCase):
    """A test case with folders of its own, one of them for the session of Open MPI's launcher. The session of a killed launcher stays, and refuses a
    later launcher of the same process number."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        sessions = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # a launcher may still be leaving it
        self.addCleanup(sessions.cleanup)
        environment = unittest.mock.patch.dict(os.environ, TMPDIR=sessions.name)
        environment.start()
        self.addCleanup(environment.stop)

    def path(self, name):
        return self.folder / name

    def assert_refused(self, run, *parts):
        """Exit 2, nothing on stdout, and one line on stderr that holds the parts."""
        self.assertEqual(run.code, 2, run)
        self.assertEqual(run.out, "")
        self.assertEqual(run.err.count("\n"), 1, run.err)
        self.assertTrue(run.err.startswith("strata: "), run.err)
        self.assertLess(len(run.err), 500)
        for part in parts:
            self.assertIn(str(part), run.err)

    def solve(self, *arguments, code=0, kind="solve"):
        """The validated JSON report of `strata solve arguments...`."""
        path = self.path("report.json")
        run = strata("solve", *arguments, "--json", path)
        self.assertEqual(run.code, code, run.err)
        return load_valid(path, kind)


def load_valid(path, kind):
    """The JSON document of a file, strictly read and valid for the schema of its kind."""

    def reject(constant):
        raise ValueError(f"{constant} is no JSON")

    document = json.loads(pathlib.Path(path).read_text(), parse_constant=reject)
    schema = json.loads((APPS / "schema" / f"{kind}.schema.json").read_text())
    assert set(schema["required"]) <= set(document), set(schema["required"]) - set(document)
    try:
        import jsonschema
    except ImportError:
        return document
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    return document
