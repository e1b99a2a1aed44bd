#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Limits of the system: on address space and threads a run is through, or refused in words, and never stands still; a full disk is
no error of the user's."""
import os
import re
import subprocess
import unittest

from strata_program import ON_GPU, PROGRAM, ProgramTest, needs_mpi, strata, strata_on

DENSE = ("solve", "--generate", "geometric", "--n", 1000)
TILES = ("solve", "--out-of-core", "--generate", "matern", "--n", 1500, "--tile", 200)
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "2", "OMPI_MCA_btl": "self,sm"}


def under(limits, *arguments, seconds=60, **environment):
    """(exit code, stderr) of a run under `ulimit` with these words."""
    variables = {**ENVIRONMENT, **environment}
    words = ["env", *(f"{name}={value}" for name, value in variables.items()), "sh", "-c", f'ulimit {limits}; exec "$@"', "sh", PROGRAM, *map(str, arguments)]
    run = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=seconds)
    return run.returncode, run.stderr


class AddressSpace(ProgramTest):
    def test_a_run_ends_whatever_is_left(self):
        for command in (DENSE, TILES):
            codes = set()
            for limit in (180, 420, 540, 660, 2000):
                with self.subTest(command=command[1], limit=limit):
                    code, said = under(f"-v {limit * 1000}", *command)
                    codes.add(code)
                    self.assertIn(code, (0, 1, 2, 127), said)
                    if code == 127:  # not even the libraries
                        self.assertIn("error while loading shared libraries", said)
                    if code in (1, 2):
                        self.assertRegex(said, "(?m)^strata: .*(address space|memory|ulimit|allocate)|MPI_Init", said)
            if not ON_GPU:  # whose libraries and runtime take more than any of these
                self.assertIn(0, codes)

    def test_the_threads_of_the_blas_are_those_asked_for(self):
        libraries = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True).stdout
        if not any("openblas" in os.path.realpath(path) for path in re.findall(r"=> (\S*blas\S*)", libraries)):
            self.skipTest("the program has no shared OpenBLAS")
        for threads in (1, 2):
            for limit in range(100000, 8000000, 100000):  # from where not even the libraries are there
                code, said = under(f"-v {limit}", "info", OPENBLAS_NUM_THREADS=threads)
                found = re.search("leaves less than the .* begin with ([0-9]+) threads of OpenBLAS", said)
                if found:
                    break
            self.assertTrue(found, said)
            self.assertEqual((code, int(found.group(1))), (2, min(threads, len(os.sched_getaffinity(0)))), said)

    @unittest.skipIf(ON_GPU, "CUDA's and ROCm's runtimes take more address space than this leaves")
    def test_what_is_left_is_available(self):
        code, said = under("-v 2000000", "solve", "--generate", "geometric", "--n", 20000)
        self.assertEqual(code, 2)
        found = re.search(r"; available, by the limit on address space too, are ([0-9.]+) ([MG])B", said)
        self.assertIsNotNone(found, said)
        self.assertLess(float(found.group(1)) * {"M": 1e6, "G": 1e9}[found.group(2)], 2e9)

    @needs_mpi
    def test_of_one_rank(self):
        words = ("solve", "--out-of-core", "--generate", "matern", "--n", 3000, "--tile", 256)
        for limit in (900, 600):
            with self.subTest(limit=limit):
                run = strata_on(2, *words, each=f"export OPENBLAS_NUM_THREADS=2; if test $RANK = 1; then ulimit -v {limit * 1000}; fi", timeout=60)
                if run.returncode != 0:
                    self.assertRegex(run.stderr, "strata: rank 1.*(address space|memory|allocate|thread)|strata: the limit on address space|error while loading shared libraries|MPI_Init|PMIx|mca_")


class Disk(ProgramTest):
    def test_a_full_one_is_no_wrong_usage(self):
        """In a name space of the test's own, if the system lets it have one."""
        words = ["unshare", "-rm", "sh", "-c", f'mount -t tmpfs -o size=1m none {self.folder} || exit 99; exec "$@"', "sh", PROGRAM, *map(str, TILES),
                 "--checkpoint", self.path("columns")]
        try:
            run = subprocess.run(words, capture_output=True, text=True, timeout=60)
        except FileNotFoundError:
            self.skipTest("no unshare")
        if "strata: " not in run.stderr:
            self.skipTest(f"no name space: {run.stderr}")
        self.assertIn("No space left on device", run.stderr)
        self.assertEqual(run.returncode, 1, run.stderr)


class Words(ProgramTest):
    def test_numbers_of_the_benchmark(self):
        run = strata("hpgmxp", 16, 16, 16, 0.2, "--run_type", "standalone_mxp")
        self.assertEqual(run.code, 0, run.err)
        self.assert_refused(strata("hpgmxp", 16, 16.5, 16), "sizes: 16.5 is no number of points")
        self.assert_refused(strata("hpgmxp", "--nx", 16, "--validation-ranks", 0), "--validation-ranks", "2147483647")
        self.assert_refused(strata("hpgmxp", "--nx", 16, "--values", "fp8_e4m3", "--beta", 0.3, "--rt", 0), "fp8_e4m3")

    def test_a_part_of_the_memory_is_no_larger_than_the_whole(self):
        run = strata("solve", "--out-of-core", "--generate", "matern", "--n", 20000, "--max-memory", "100MB")
        whole, part = re.search(r"needs ([0-9.]+) GB \(all tiles in fp64 together ([0-9.]+) GB\)", run.err).groups()
        self.assertLessEqual(float(part), float(whole))


if __name__ == "__main__":
    unittest.main()
