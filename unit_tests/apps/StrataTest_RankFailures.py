#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""One rank of three fails in the middle of what they do together: all end soon with exit code 1 and the cause."""
import json
import math
import os
import re
import subprocess
import unittest

from strata_program import PROGRAM, SOON, STATIONS, ProgramTest, strata

FAULTS = os.environ.get("STRATA_RANK_FAULTS", "")
MPIEXEC = os.environ.get("STRATA_MPIEXEC", "")
SECONDS = int(os.environ.get("STRATATEST_SECONDS", SOON))
INTERNAL = "(MPI_ERR_INTERN|Internal MPI error)"  # as Open MPI and as MPICH call it

# They would run for an hour, but for the fault.
HPGMXP = ("hpgmxp", "--nx", 16, "--rt", 3600, "--run_type", "standalone_mxp")
TILES = ("solve", "--generate", "matern", "--covariance", "matern:1,0.1,0.5", "--n", 600, "--out-of-core", "--tile", 32, "--epsilon", "1e-6")
ON_DEVICES = (*(word for word in TILES if word != "--out-of-core"), "--devices", 1)
MLE = ("mle", "--locations", STATIONS, "--fix", "nu=0.5", "--tile", 128)
SOLVE = ("solve", "--generate", "poisson27", "--n", 24, "--solver", "gmres", "--tolerance", "1e-15")


@unittest.skipUnless(FAULTS and MPIEXEC, "needs MPI and tools of Kokkos")
class RankFailures(ProgramTest):
    def ranks(self, count, *arguments, **faults):
        """The program on so many ranks, with the faults' library before it."""
        environment = {**os.environ, "LD_PRELOAD": FAULTS, "KOKKOS_TOOLS_LIBS": FAULTS, "TERM": "dumb"}
        environment.update({f"STRATATEST_{name.upper()}": str(value) for name, value in faults.items()})
        # The launcher itself is not to be interfered with.
        launcher = [MPIEXEC, "-n", str(count), "env"] + [f"{k}={v}" for k, v in environment.items() if os.environ.get(k) != v]
        command = launcher + [PROGRAM, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)

    def assert_ended(self, run, cause):
        """By the rank that failed, once."""
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertEqual(run.stderr.count("strata: "), 1, run.stderr)
        self.assertRegex(run.stderr, f"strata: rank 1 alone: .*{cause}")
        self.assertEqual(run.stdout, "")

    def test_a_message_fails(self):
        for call, number in (("MPI_Allreduce", 600), ("MPI_Irecv", 500), ("MPI_Isend", 500), ("MPI_Waitall", 300)):
            with self.subTest(call=call):
                self.assert_ended(self.ranks(3, *HPGMXP, mpi=f"1:{call}:{number}"), f"{call}: {INTERNAL}")

    def test_a_message_of_the_set_up_fails(self):
        for call, number in (("MPI_Comm_dup", 1), ("MPI_Allreduce", 1), ("MPI_Allreduce", 7), ("MPI_Allreduce", 30), ("MPI_Alltoallv", 2)):
            with self.subTest(call=call, number=number):
                self.assert_ended(self.ranks(3, *HPGMXP, mpi=f"1:{call}:{number}"), f"{call}: {INTERNAL}")

    def test_a_kernel_or_its_capture_fails(self):
        for label, number in (("KrylovBasis::pass", 100), ("relax", 500), ("halo::pack", 300)):
            with self.subTest(label=label):
                self.assert_ended(self.ranks(3, *HPGMXP, kernel=f"1:{label}:{number}"), "cudaGraphInstantiate.*cudaErrorUnknown")

    def test_an_allocation_fails(self):
        self.assert_ended(self.ranks(3, *HPGMXP, new="1:MPI_Allreduce:600"), "bad_alloc")

    def test_a_rank_of_those_that_validate_fails(self):
        """The other one waits for it, and the third for both."""
        arguments = ("hpgmxp", "--nx", 16, "--rt", 3600, "--validation-ranks", 2)
        self.assert_ended(self.ranks(3, *arguments, kernel="1:KrylovBasis::pass:40"), "cudaGraphInstantiate")
        self.assert_ended(self.ranks(3, *arguments, mpi="1:MPI_Waitall:60"), f"MPI_Waitall: {INTERNAL}")

    def test_a_distributed_solve_fails(self):
        self.assert_ended(self.ranks(3, *SOLVE, mpi="1:MPI_Allreduce:150"), f"MPI_Allreduce: {INTERNAL}")
        self.assert_ended(self.ranks(3, *SOLVE, mpi="1:MPI_Waitall:60"), f"MPI_Waitall: {INTERNAL}")
        self.assert_ended(self.ranks(3, *SOLVE, kernel="1:KrylovBasis::pass:20"), "cudaGraphInstantiate")
        self.assert_ended(self.ranks(3, *SOLVE, new="1:MPI_Waitall:60"), "bad_alloc")

    def test_a_fit_fails(self):
        self.assert_ended(self.ranks(3, *MLE, mpi="1:MPI_Irecv:200"), f"MPI_Irecv: {INTERNAL}")
        self.assert_ended(self.ranks(3, *MLE, mpi="1:MPI_Bcast:40"), f"MPI_Bcast: {INTERNAL}")

    def test_standard_errors_fail(self):
        """All ranks hear of it between the solves, and throw the same."""
        field = self.path("field.csv")
        self.assertEqual(strata("mle", "--generate", 200, "--theta", "1,0.1,0.5,0.1", "--output", field).code, 0)
        for label in ("derivatives", "products"):
            with self.subTest(label=label):
                run = self.ranks(3, "mle", "--locations", field, "--fix", "nu=0.5", "--tile", 50, kernel=f"1:fisher_information::{label}:1")
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertEqual(run.stderr.count("strata: "), 1, run.stderr)
                self.assertRegex(run.stderr, "strata: rank 1: cudaGraphInstantiate")

    def test_a_solve_in_tiles_fails(self):
        for call, number in (("MPI_Issend", 40), ("MPI_Irecv", 60), ("MPI_Testsome", 20), ("MPI_Bcast", 5), ("MPI_Allreduce", 3)):
            with self.subTest(call=call):
                self.assert_ended(self.ranks(3, *TILES, mpi=f"1:{call}:{number}"), f"{call}: {INTERNAL}")

    def test_with_tiles_in_the_devices_memory(self):
        for call, number in (("MPI_Issend", 40), ("MPI_Irecv", 60), ("MPI_Testsome", 20), ("MPI_Bcast", 5), ("MPI_Allreduce", 3)):
            with self.subTest(call=call):
                self.assert_ended(self.ranks(3, *ON_DEVICES, mpi=f"1:{call}:{number}"), f"{call}: {INTERNAL}")
        self.assert_ended(self.ranks(3, *MLE, "--storage", "devices", mpi="1:MPI_Irecv:200"), f"MPI_Irecv: {INTERNAL}")

    def test_memory_that_one_rank_has_not_for_tiles_ends_all(self):
        for tiles, call, number in ((TILES, "MPI_Issend", 40), (TILES, "MPI_Irecv", 1), (ON_DEVICES, "MPI_Issend", 40)):
            with self.subTest(tiles=tiles, call=call):
                run = self.ranks(3, *tiles, new=f"1:{call}:{number}")
                self.assertIn(run.returncode, (1, 2), run.stderr)  # 2 where all ranks have agreed on it
                self.assertRegex(run.stderr, "strata: rank 1.*(no memory|bad_alloc)")

    def test_needs_a_thread_beside_the_one_that_calls_mpi(self):
        run = self.ranks(1, *HPGMXP, threads="single")
        self.assertEqual(run.returncode, 1)
        self.assertIn("MPI_THREAD_FUNNELED", run.stderr)

    def test_memory_is_that_of_a_rank_on_its_own_host(self):
        """A host's ranks share its memory, or a GPU those that have it; those of other hosts take nothing of it."""

        def memory(**faults):
            run = self.ranks(4, "hpgmxp", "--nx", 1240, "--rt", 0, **faults)
            self.assertEqual(run.stderr.count("take fewer points"), 1, run.stderr)
            number, unit = re.search(r"and has ([0-9.]+) ([kMGT]B)", run.stderr).groups()
            return float(number) * {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}[unit]

        memories = max(1, len(json.loads(strata("info", "--json").out)["accelerators"]))
        shared = memory()
        for ranks_per_host in (1, 2):
            expected = math.ceil(4 / memories) / math.ceil(ranks_per_host / memories)
            self.assertAlmostEqual(memory(ranks_per_host=ranks_per_host) / shared, expected, delta=expected / 4)

    def test_a_generated_problem_is_compared_host_by_host(self):
        """800^3 points on 4 ranks: of one host, or of 4 with a quarter each."""
        arguments = ("solve", "--generate", "poisson27", "--n", 800, "--max-memory", "100GB")

        def needed(text, **faults):
            run = self.ranks(4, *arguments, **faults)
            found = re.search(f"needs about ([0-9.]+) ([GT]B){text}; --max-memory allows", run.stderr)
            self.assertIsNotNone(found, run.stderr)
            return float(found.group(1)) * {"GB": 1e9, "TB": 1e12}[found.group(2)]

        whole = needed("")
        self.assertAlmostEqual(needed(" on this host, which has 25 % of the rows", ranks_per_host=1) / whole, 0.25, delta=0.01)


if __name__ == "__main__":
    unittest.main()
