#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Options and files that differ between ranks are refused, with the rank, before the ranks work together."""
import re
import unittest

from strata_program import SOON, ProgramTest, needs_mpi, strata_on, tridiagonal, write_mtx, write_npy

TILES = ("solve", "--out-of-core", "--generate", "matern", "--tile", 64)
RULE = "; all ranks are to have the same options and files"


@needs_mpi
class SameOnRanks(ProgramTest):
    def refusal(self, *arguments, ranks=2, each):
        """What is said once for all ranks, each of which does `each` first."""
        run = strata_on(ranks, *arguments, each=each, timeout=SOON)
        said = re.findall("(?m)^strata: .*", run.stderr)
        self.assertEqual((run.returncode, run.stdout, len(said)), (2, "", 1), run)
        self.assertTrue(said[0].endswith(RULE), said)
        return said[0].removeprefix("strata: ").removesuffix(RULE)

    def test_options(self):
        for more, said in (("--log-determinant", "--log-determinant is given on rank 1 and not on rank 0"),
                           ("--seed 7", "--seed is given on rank 1 and not on rank 0"),
                           (f"--checkpoint {self.path('c')}", "--checkpoint is given on rank 1 and not on rank 0")):
            with self.subTest(more=more):
                self.assertEqual(self.refusal(*TILES, "--n", 300, each=f'if test $RANK = 1; then set -- "$@" {more}; fi'), said)
        said = self.refusal("hpgmxp", "--nx", 16, "--rt", 0, ranks=3, each='if test $RANK = 0; then set -- "$@" --nz 24; fi')
        self.assertEqual(said, "--nz is given on rank 0 and not on rank 1 (1 other rank too)")

    def test_a_value(self):
        said = self.refusal(*TILES, ranks=3, each='n=300; if test $RANK = 1; then n=301; fi; set -- "$@" --n $n')
        self.assertEqual(said, "--n is 301 on rank 1 and 300 on rank 0")

    def test_a_file_of_options(self):
        for folder, text in (("0", "nrhs = 2\n"), ("1", "nrhs = 3\n")):
            self.path(folder).mkdir()
            (self.path(folder) / "run.ini").write_text(text)
        said = self.refusal(*TILES, "--n", 100, "--config", "run.ini", each=f"cd {self.folder}/$RANK")
        self.assertEqual(said, "--nrhs is 3 on rank 1 and 2 on rank 0")

    def test_one_rank_in_memory_the_other_in_tiles(self):
        self.assertEqual(self.refusal("solve", "--generate", "matern", "--n", 90, each='if test $RANK = 1; then set -- "$@" --out-of-core; fi'), "--out-of-core is given on rank 1 and not on rank 0")

    def files(self, name, write):
        for rank in (0, 1):
            self.path(rank := str(rank)).mkdir(exist_ok=True)
            write(self.path(rank) / name, int(rank))

    def test_copies_of_a_matrix_that_differ_in_one_entry(self):
        n = 40
        def write(path, rank):
            A = [4.0 * (i == j) + 1 / (1 + abs(i - j)) for i in range(n) for j in range(n)]
            A[3 * n + 9] += 1e-3 * rank
            A[9 * n + 3] += 1e-3 * rank
            write_npy(path, (n, n), A)
        self.files("A.npy", write)
        said = self.refusal("solve", "--out-of-core", "--tile", 16, "--matrix", "A.npy", each=f"cd {self.folder}/$RANK")
        self.assertRegex(said, r"^--matrix is 12928 bytes with hash [0-9a-f]{16} on rank 1 and 12928 bytes with hash [0-9a-f]{16} on rank 0$")

    def test_names_of_equal_files_and_of_results_may_differ(self):
        self.files("A.mtx", lambda path, rank: write_mtx(path, tridiagonal(30)))
        paths = f"--matrix {self.folder}/$RANK/A.mtx --output {self.folder}/$RANK/x.npy --json {self.folder}/$RANK/x.json"
        run = strata_on(2, "solve", each=f'set -- "$@" {paths}')
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue((self.path("0") / "x.npy").exists())
        self.assertFalse((self.path("1") / "x.npy").exists())

    def test_a_sample_of_a_large_file_has_its_beginning_its_end_and_what_lies_between(self):
        """16 MiB are read whole; of more every 1/256 begins with 64 KiB that are seen."""
        size = 40 << 20
        for place in (0, size - 1, (size - (64 << 10)) // 255 * 100 + 5):
            with self.subTest(place=place):
                def write(path, rank):
                    with open(path, "wb") as file:
                        file.truncate(size)
                        file.seek(place)
                        file.write(b"1" if rank else b"2")
                self.files("A.bin", write)
                said = self.refusal("solve", "--out-of-core", "--matrix", "A.bin", each=f"cd {self.folder}/$RANK")
                self.assertIn(f"--matrix is {size} bytes with hash ", said)


if __name__ == "__main__":
    unittest.main()
