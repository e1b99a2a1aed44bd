#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""`strata solve --out-of-core`: matrices from files and generators, devices and budgets, checkpoints, refusals."""
import array
import json
import math
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest
import zlib

from strata_program import COVARIANCE, ON_GPU, SOON, STATIONS, ProgramTest, load_valid, needs_mpi, read_npy, strata, strata_on, words_on, write_mtx, write_npy


def field(n, seed=5):
    """A covariance matrix exp(-10 h) of random places, by columns."""
    generator = random.Random(seed)
    places = [(generator.random(), generator.random()) for _ in range(n)]
    return [math.exp(-10 * math.dist(a, b)) for a in places for b in places]


class OutOfCore(ProgramTest):
    def solve(self, *arguments, code=0):
        return super().solve("--out-of-core", *arguments, code=code, kind="solve_out_of_core")

    def assert_solved(self, report, n):
        self.assertEqual((report["status"], report["info"], report["n"]), ("solved", 0, n))
        self.assertLessEqual(report["backward_error"], math.sqrt(n) * 2.0**-52)

    def write_raw(self, values, n, order="column", kind="float64", endian="little", **extra):
        code = {"little": "<", "big": ">"}[endian] + {"float64": "d", "float32": "f"}[kind]
        data = b"".join(struct.pack(code, value) for value in values)
        self.path("A.bin").write_bytes(data)
        sidecar = {"n": n, "dtype": kind, "order": order, "endian": endian, "crc32": f"{zlib.crc32(data):08x}", **extra}
        self.path("A.bin.json").write_text(json.dumps(sidecar))
        return self.path("A.bin")


class Sources(OutOfCore):
    n = 90

    def test_files_of_each_format_give_the_same_solution(self):
        n, A = self.n, field(self.n)
        write_npy(self.path("F.npy"), (n, n), A)
        write_npy(self.path("C.npy"), (n, n), A, f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({n}, {n}), }}")
        lower = [repr(A[j * n + i]) for j in range(n) for i in range(j, n)]
        write_mtx(self.path("L.mtx"), ["%%MatrixMarket matrix array real symmetric", f"{n} {n}", *lower])
        write_mtx(self.path("G.mtx"), ["%%MatrixMarket matrix array real general", f"{n} {n}", *map(repr, A)])
        files = {"F.npy": "Fortran order", "C.npy": "C order", "L.mtx": "array real symmetric",
                 "G.mtx": "array real general", "A.bin": "raw float64, by rows"}
        self.write_raw(A, n, "row")
        solutions = {}
        for name, text in files.items():
            with self.subTest(name=name):
                report = self.solve("--matrix", self.path(name), "--tile", 16, "--device-memory", "10kB", "--devices", 2,
                                    "--output", self.path("x.npy"))
                self.assert_solved(report, n)
                self.assertLess(report["forward_error"], 1e-10)
                self.assertIn(text, report["problem"]["format"])
                self.assertEqual(report["tile_size"], 16)
                self.assertEqual(sum(report["tiles"].values()), 21)
                self.assertEqual(report["bytes"]["scratch"], n * n * 8 if name.endswith(".mtx") else 0)
                for device in report["devices"]:
                    self.assertLessEqual(device["pool_bytes"], 10e3)
                self.assertGreater(report["bytes"]["in"], report["bytes"]["tiles"])  # more than fits
                solutions[name] = read_npy(self.path("x.npy"))
        self.assertEqual(len(set(solutions.values())), 1)

    def test_a_raw_matrix_is_also_solved_in_memory(self):
        path = self.write_raw(field(30), 30, endian="big")
        report = super(OutOfCore, self).solve("--matrix", path)
        self.assertEqual((report["status"], report["n"]), ("solved", 30))
        self.assertIn("raw float64", report["problem"]["format"])

    def test_right_hand_sides_of_a_file(self):
        n, A = 40, field(40)
        write_npy(self.path("A.npy"), (n, n), A)
        b = [float(i % 7) for i in range(2 * n)]
        write_npy(self.path("b.npy"), (n, 2), b)
        report = self.solve("--matrix", self.path("A.npy"), "--rhs", self.path("b.npy"), "--tile", 16, "--output",
                            self.path("x.npy"))
        self.assertEqual(report["nrhs"], 2)
        self.assertIsNone(report["forward_error"])
        shape, x = read_npy(self.path("x.npy"))
        self.assertEqual(shape, (n, 2))
        for j in range(2):
            for i in range(n):
                product = math.fsum(A[k * n + i] * x[j * n + k] for k in range(n))
                self.assertAlmostEqual(product, b[j * n + i], delta=1e-10)

    def test_generators(self):
        for kind in (["matern", "--covariance", "matern:1,0.1,0.5"], ["dominant"]):
            report = self.solve("--generate", *kind, "--n", 300, "--nrhs", 3, "--device-memory", "600kB")
            self.assert_solved(report, 300)
            self.assertEqual(report["nrhs"], 3)
            self.assertLess(report["forward_error"], 1e-11)

    def test_stations_as_in_memory(self):
        arguments = ["--locations", STATIONS, "--covariance", COVARIANCE, "--log-determinant", "--output"]
        report = self.solve(*arguments, self.path("x.npy"), "--tile", 200, "--device-memory", "9MB")
        self.assert_solved(report, 1720)
        inside = super(OutOfCore, self).solve(*arguments, self.path("y.npy"), "--layers", "fp64")
        self.assertAlmostEqual(report["log_determinant"]["value"], inside["log_determinant"]["value"], delta=1e-8)
        (_, x), (_, y) = read_npy(self.path("x.npy")), read_npy(self.path("y.npy"))
        scale = max(map(abs, y))
        self.assertLess(max(abs(a - b) for a, b in zip(x, y)), 1e-9 * scale)


class Method(OutOfCore):
    def test_four_precisions_are_refined(self):
        report = self.solve("--generate", "matern", "--covariance", "matern:1,0.02627,0.5", "--n", 600, "--tile", 32,
                            "--epsilon", "1e-5", "--log-determinant")
        self.assert_solved(report, 600)
        self.assertEqual(report["precisions"], ["fp64", "fp32", "fp16", "fp8_e4m3"])
        self.assertGreater(report["tiles"]["fp8_e4m3"], 0)
        self.assertGreater(report["log_determinant"]["standard_error"], 0)
        exact = self.solve("--generate", "matern", "--covariance", "matern:1,0.02627,0.5", "--n", 600, "--tile", 32,
                           "--log-determinant")
        self.assertEqual(exact["precisions"], ["fp64"])
        self.assertEqual(exact["log_determinant"]["standard_error"], 0)
        error = abs(report["log_determinant"]["value"] - exact["log_determinant"]["value"])
        self.assertLess(error, 5 * report["log_determinant"]["standard_error"] + 1e-6)

    def test_the_ladder_is_in_the_report(self):
        smooth = ["--generate", "matern", "--covariance", "matern:1,0.3,1.5", "--n", 192, "--tile", 16]
        report = self.solve(*smooth, "--epsilon", "1e-2")
        self.assert_solved(report, 192)
        self.assertEqual(report["rung"], "stricter accuracy")
        self.assertEqual([attempt["info"] > 0 for attempt in report["attempts"]], [True, False])

    def test_layers_are_refined(self):
        report = self.solve("--generate", "matern", "--covariance", "matern:1,0.1,0.5", "--n", 500, "--tile", 64, "--layers",
                            "fp16x2,fp32")
        self.assert_solved(report, 500)
        self.assertEqual((report["layers"], report["epsilon"], report["precisions"]), ("fp16,fp16,fp32", 0, ["fp64", "fp32", "fp16"]))
        self.assertEqual(report["map"], ["D", "SD", "HHD", "HHSD", "HHHHD", "HHHHSD", "HHHHHHD", "HHHHHHSD"])
        self.assertEqual([(attempt["rung"], attempt["layers"]) for attempt in report["attempts"]], [("as asked", "fp16,fp16,fp32")])
        self.assertEqual(report["tiles"], {"fp64": 8, "fp32": 4, "fp16": 24, "fp8_e4m3": 0})
        smooth = self.solve("--generate", "matern", "--covariance", "matern:1,0.3,3.5", "--n", 192, "--tile", 16, "--layers", "fp16")
        self.assert_solved(smooth, 192)
        self.assertEqual([attempt["layers"] for attempt in smooth["attempts"]], ["fp16", "fp32", None])
        self.assertIsNone(self.solve("--generate", "matern", "--n", 50)["layers"])

    def test_products_of_integers(self):
        matrix = ("--generate", "matern", "--covariance", "matern:1,0.01,0.5", "--n", 400, "--tile", 50, "--log-determinant")
        fp64, report = self.solve(*matrix), self.solve(*matrix, "--precisions", "fp64_int8")
        self.assertEqual((fp64["moduli"], report["moduli"], report["precisions"]), (0, 14, ["fp64", "int8x14"]))
        self.assertEqual((sum(report["moduli_tiles"]), report["rung"]), (28, "as asked"))
        self.assertGreater(sum(report["moduli_tiles"][:8]), 7)  # fewer than 14, some with products
        found, exact = report["log_determinant"], fp64["log_determinant"]
        self.assertLessEqual(abs(found["value"] - exact["value"]), found["error"] + exact["error"])

    def test_what_is_not_positive_definite(self):
        n, A = 50, field(50)
        A[33 * n + 33] = 0.0
        write_npy(self.path("A.npy"), (n, n), A)
        for options in ([], ["--epsilon", "1e-3"]):
            report = self.solve("--matrix", self.path("A.npy"), "--tile", 8, *options, "--output", self.path("x.npy"),
                                code=3)
            self.assertEqual((report["status"], report["info"]), ("not_positive_definite", 34))
            self.assertIsNone(report["backward_error"])
            self.assertFalse(self.path("x.npy").exists())

    def test_it_goes_on_from_a_checkpoint(self):
        arguments = ["--generate", "matern", "--n", 200, "--tile", 32, "--checkpoint", self.path("columns"), "--output"]
        first = self.solve(*arguments, self.path("x.npy"))
        self.assertEqual(first["schedule"]["first_column"], 0)
        sorted(self.path("columns").iterdir())[4].unlink()
        again = self.solve(*arguments, self.path("y.npy"), "--devices", 3)
        self.assertEqual(again["schedule"]["first_column"], 4)
        whole = self.solve(*arguments, self.path("y.npy"))  # with the three devices' columns
        self.assertEqual(whole["schedule"]["first_column"], 7)
        self.assertEqual(self.path("x.npy").read_bytes(), self.path("y.npy").read_bytes())

    def test_the_matrix_is_not_held_twice(self):
        n = 2200  # 39 MB, of which the tiles are half
        with open(self.path("A.bin"), "wb") as file:
            for j in range(n):
                file.write(struct.pack(f"<{n}d", *(2.0**-abs(i - j) if abs(i - j) < 40 else 0.0 for i in range(n))))
        self.path("A.bin.json").write_text(json.dumps({"n": n, "dtype": "float64"}))
        run = strata("solve", "--out-of-core", "--matrix", self.path("A.bin"), "--tile", 128, "--device-memory", "3MB")
        self.assertEqual(run.code, 0, run.err)
        base = strata("solve", "--out-of-core", "--generate", "dominant", "--n", 64).peak_bytes
        self.assertLess(run.peak_bytes - base, 8 * n * n)
        self.assertRegex(run.out, r"(?m)^  backward error .*PASSED$")

    def test_a_trace_of_streams(self):
        self.solve("--generate", "matern", "--n", 100, "--tile", 32, "--device-memory", "1MB", "--trace", self.path("t.json"))
        names = {event["name"].split()[0] for event in json.loads(self.path("t.json").read_text())["traceEvents"]}
        self.assertLessEqual({"in", "out", "potrf", "trsm"}, names)


def owner(row, ranks, rows):
    """The rank that has a row of tiles: they are dealt there and back, up to the last one."""
    turn, rank = divmod(row + -rows % (2 * ranks), ranks)
    return ranks - 1 - rank if turn % 2 else rank


class OnDevices(ProgramTest):
    """`strata solve --devices N`, whose tiles lie in the devices' memory."""
    field = ("--generate", "matern", "--covariance", "matern:1,0.1,0.5", "--n", 200, "--tile", 32)

    def solved(self, *arguments):
        report = self.solve(*self.field, *arguments, "--output", self.path("x.npy"), kind="solve_out_of_core")
        self.assertEqual(report["status"], "solved")
        self.assertLessEqual(report["backward_error"], math.sqrt(200) * 2.0**-52)
        return report, read_npy(self.path("x.npy"))

    def test_devices_hold_the_matrix_together(self):
        for precisions in (("--layers", "fp16x2,fp32"), ("--epsilon", "1e-4"), ()):
            for devices in (1, 2, 3):
                with self.subTest(precisions=precisions, devices=devices):
                    more = (*precisions, "--devices", devices, "--device-memory", "1MB")
                    there, x = self.solved(*more)
                    host, y = self.solved("--out-of-core", *more)
                    self.assertEqual((there["storage"], host["storage"]), ("devices", "host"))
                    self.assertEqual((there["bytes"]["in"], there["bytes"]["out"]), (0, 0))
                    self.assertGreater(host["bytes"]["in"], 0)
                    self.assertEqual(there["bytes"]["peer"] > 0, devices > 1)
                    self.assertEqual(there["no_room"], "")
                    self.assertEqual(x, y)

    def test_stations_on_devices(self):
        arguments = ("--locations", STATIONS, "--covariance", COVARIANCE, "--layers", "fp16x2,fp32", "--tile", 256, "--log-determinant",
                     "--output", self.path("x.npy"))
        solutions, determinants = [], []
        for where in (("--devices", 2, "--device-memory", "30MB"), ("--out-of-core", "--devices", 2)):
            report = self.solve(*arguments, *where, kind="solve_out_of_core")
            self.assertEqual((report["status"], report["n"], report["layers"]), ("solved", 1720, "fp16,fp16,fp32"))
            self.assertEqual((len(report["devices"]), report["tiles"]["fp16"]), (2, 18))
            self.assertLessEqual(report["backward_error"], math.sqrt(1720) * 2.0**-52)
            self.assertEqual(report["storage"], "host" if "--out-of-core" in where else "devices")
            solutions.append(read_npy(self.path("x.npy")))
            determinants.append(report["log_determinant"]["value"])
        self.assertEqual(solutions[0], solutions[1])
        self.assertEqual(determinants[0], determinants[1])
        inside = self.solve(*arguments[:4], "--layers", "fp64", "--log-determinant", "--output", self.path("y.npy"))
        (_, x), (_, y) = solutions[0], read_npy(self.path("y.npy"))
        self.assertLess(max(abs(a - b) for a, b in zip(x, y)), 1e-9 * max(map(abs, y)))
        self.assertAlmostEqual(determinants[0], inside["log_determinant"]["value"], delta=1.0)

    def test_where_devices_have_no_room_the_host_has_the_tiles(self):
        report, x = self.solved("--devices", 2, "--device-memory", "100kB")
        self.assertEqual(report["storage"], "host")
        self.assertRegex(report["no_room"], r"^device 0 needs \d+ bytes for its tiles and at least \d+ to factor them, and has 100000$")
        self.assertEqual(x, self.solved("--out-of-core", "--devices", 2, "--device-memory", "100kB")[1])
        run = strata("solve", *self.field, "--devices", 2, "--device-memory", "100kB")
        self.assertRegex(run.out, r"not on devices +device 0 needs \d+ bytes")

    def test_what_does_not_go_with_tiles(self):
        run = strata("solve", "--generate", "geometric", "--n", 50, "--devices", 2)
        self.assert_refused(run, "--devices: the kind geometric", "tile by tile")
        self.assert_refused(strata("solve", *self.field, "--devices", 2, "--layers", "auto"), "does not apply to --devices")
        self.assert_refused(strata("solve", "--generate", "poisson7", "--nx", 8, "--devices", 2), "--devices", "sparse")

    @needs_mpi
    def test_any_number_of_ranks_gives_the_same_bits(self):
        solutions = []
        for ranks in (1, 2, 3):
            run = strata_on(ranks, "solve", *self.field, "--layers", "fp16x2,fp32", "--devices", 1, "--device-memory", "1MB",
                            "--output", self.path("x.npy"), "--json", self.path("r.json"))
            self.assertEqual(run.returncode, 0, run.stderr)
            report = load_valid(self.path("r.json"), "solve_out_of_core")
            self.assertEqual((report["ranks"], report["storage"], report["bytes"]["out"]), (ranks, "devices", 0))
            solutions.append(read_npy(self.path("x.npy")))
        self.assertEqual(len(set(solutions)), 1)


@needs_mpi
class Ranks(OutOfCore):
    def run_on(self, ranks, *arguments):
        return strata_on(ranks, "solve", "--out-of-core", *arguments)

    def test_any_number_of_ranks_gives_the_same_bits(self):
        solutions, determinants = [], []
        chosen = {1: [1, 1], 2: [2, 1], 3: [3, 1], 6: [3, 2]}
        for ranks, asked in ((1, []), (2, []), (3, []), (6, []), (1, [1, 1]), (2, [1, 2]), (4, [2, 2]), (6, [1, 6])):
            paths = self.path("r.json"), self.path("x.npy")
            grid = ("--grid", f"{asked[0]}x{asked[1]}") if asked else ()
            run = self.run_on(ranks, "--generate", "matern", "--n", 500, "--tile", 64, "--epsilon", "1e-6", "--log-determinant",
                              "--json", paths[0], "--output", paths[1], *grid)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(run.stdout.count("PASSED"), 1)
            report = load_valid(paths[0], "solve_out_of_core")
            self.assertEqual(report["ranks"], ranks)
            self.assertEqual(report["bytes"]["sent"] > 0, ranks > 1)
            self.assertEqual(report["schedule"]["grid"], asked or chosen[ranks])
            is_column_of_few = report["schedule"]["grid"][1] == 1 and ranks <= 4
            self.assertEqual(report["schedule"]["super_panel"], 0 if is_column_of_few else 4)
            solutions.append(read_npy(paths[1])[1])
            determinants.append(report["log_determinant"]["value"])
        self.assertEqual(solutions[1:], solutions[:1] * 7)
        self.assertEqual(len(set(determinants)), 1)

    def test_files_are_read_by_all(self):
        A = [[4.0 if i == j else 1.0 / (1 + i + j) for j in range(50)] for i in range(50)]
        write_npy(self.path("A.npy"), (50, 50), [number for row in A for number in row])
        run = self.run_on(2, "--matrix", self.path("A.npy"), "--tile", 16)
        self.assertEqual(run.returncode, 0, run.stderr)
        A[40][40] = -1.0
        write_npy(self.path("A.npy"), (50, 50), [number for row in A for number in row])
        run = self.run_on(2, "--matrix", self.path("A.npy"), "--tile", 16)
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertEqual(run.stderr.count("the leading minor of order 41 is not positive"), 1)
        A[40][40] = math.nan
        write_npy(self.path("A.npy"), (50, 50), [number for row in A for number in row])
        run = self.run_on(3, "--matrix", self.path("A.npy"), "--tile", 16)
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertEqual(run.stderr.count("rows 33 to 48 and columns 33 to 48 holds a number that is not finite"), 1)
        self.assertNotIn("MPI_ABORT", run.stderr)

    def test_raw_files_are_read_by_all(self):
        n, A = 1100, array.array("d", bytes(8 * 1100 * 1100))  # the check has three pairs of blocks
        for i in range(n):
            A[i * n + i] = 2.0
            if i > 0:
                A[i * n + i - 1] = A[(i - 1) * n + i] = -0.5
        def write(crc=None):
            self.path("A.bin").write_bytes(A)
            crc = f"{zlib.crc32(A):08x}" if crc is None else crc
            self.path("A.bin.json").write_text(json.dumps({"n": n, "dtype": "float64", "crc32": crc}))
        write()
        solutions = []
        for ranks in (1, 2, 3, 4):
            run = self.run_on(ranks, "--matrix", self.path("A.bin"), "--tile", 128, "--output", self.path("x.npy"))
            self.assertEqual(run.returncode, 0, run.stderr)
            solutions.append(read_npy(self.path("x.npy")))
        self.assertEqual(len(set(solutions)), 1)
        A[1090 * n + 1095] = 1.0  # in the third pair
        for col, text in ((1090, "A(1096, 1091) = 1 but A(1091, 1096) = 0"), (5, "A(1096, 6) = 1 but A(6, 1096) = 0")):
            A[col * n + 1095] = 1.0  # the second pair comes first
            write()
            for ranks in (1, 2, 3, 4):
                with self.subTest(col=col, ranks=ranks):
                    run = self.run_on(ranks, "--matrix", self.path("A.bin"), "--tile", 128)
                    self.assertEqual(run.returncode, 2, run.stderr)
                    self.assertEqual(run.stderr.count(f"A.bin: the matrix is not symmetric: {text}"), 1, run.stderr)
                    self.assertEqual(run.stderr.count("strata: "), 1, run.stderr)
                    self.assertNotIn("MPI_ABORT", run.stderr)
        write("00000000")
        run = self.run_on(3, "--matrix", self.path("A.bin"))
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertEqual(run.stderr.count("the sidecar says 0"), 1, run.stderr)

    def test_layers_over_ranks_give_the_same_bits(self):
        solutions = []
        for ranks, asked in ((1, []), (2, []), (3, []), (4, ["--grid", "2x2"]), (6, [])):
            paths = self.path("r.json"), self.path("x.npy")
            run = self.run_on(ranks, "--generate", "matern", "--n", 500, "--tile", 64, "--layers", "fp16x2,fp32", "--json", paths[0],
                              "--output", paths[1], *asked)
            self.assertEqual(run.returncode, 0, run.stderr)
            report = load_valid(paths[0], "solve_out_of_core")
            self.assert_solved(report, 500)
            self.assertEqual((report["ranks"], report["tiles"]["fp16"], report["layers"]), (ranks, 24, "fp16,fp16,fp32"))
            solutions.append(read_npy(paths[1])[1])
        self.assertEqual(len({solution for solution in solutions}), 1)

    def test_a_trace_has_a_process_for_each_rank(self):
        path = self.path("trace.json")
        for ranks in (1, 3):
            run = self.run_on(ranks, "--generate", "matern", "--n", 300, "--tile", 32, "--trace", path)
            self.assertEqual(run.returncode, 0, run.stderr)
            events = json.loads(path.read_text())["traceEvents"]
            named = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
            self.assertEqual(named, {rank: f"rank {rank}" for rank in range(ranks)})
            tracks = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
            spans = [event for event in events if event["ph"] == "X"]
            sent, got = [], []
            for span in spans:
                if tracks[span["pid"], span["tid"]] == "messages":
                    way, tile, _, _, other = span["name"].split()
                    (sent if way == "send" else got).append((tile, *sorted((span["pid"], int(other)))))
            self.assertEqual(sorted(sent), sorted(got))
            self.assertEqual(len(sent) > 0, ranks > 1)
            for rank in range(ranks):  # each its own rows: ten in all
                factored = [span for span in spans if span["pid"] == rank and span["name"].startswith("potrf")]
                self.assertEqual(len(factored), [owner(i, ranks, 10) for i in range(10)].count(rank))

    def test_a_matrix_beyond_all_memory_is_refused_at_once(self):
        start = time.monotonic()
        run = strata_on(4, "solve", "--out-of-core", "--generate", "matern", "--n", 100000000, "--grid", "2x2")
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertRegex(run.stderr, r"a system of order 100000000 .* needs \d+ PB")
        self.assertLess(time.monotonic() - start, 1.5 * SOON)  # where each of its tiles is looked at it takes an hour

    def test_what_several_ranks_cannot_do_is_said_once(self):
        for arguments, text in (
            (("--trace", self.path("none") / "trace"), "--trace: "),
            (("--max-memory", "1MB"), "--max-memory allows 1 MB"),
            (("--grid", "2x2"), "--grid: 2x2 is of 4 ranks, there are 2"),
            (("--grid", "70000x70000"), "--grid: 70000x70000 is of 4900000000 ranks, there are 2"),
        ):
            with self.subTest(arguments=arguments):
                run = self.run_on(2, "--generate", "matern", "--n", 2000, *arguments)
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertEqual(run.stderr.count("strata: "), 1, run.stderr)
                self.assertIn(text, run.stderr)


@needs_mpi
class RankCheckpoints(OutOfCore):
    """Columns of several ranks: taken up by other numbers of ranks to the same bits, whatever ended those that wrote them."""

    SECONDS = SOON  # in which a failure of one rank ends all
    MATRIX = ("--generate", "matern", "--n", 1000, "--tile", 32, "--epsilon", "1e-6", "--log-determinant")

    def setUp(self):
        super().setUp()
        self.columns = self.path("columns")
        self.folders = [self.columns] * 4  # of each rank
        self.arguments = ("solve", "--out-of-core", *self.MATRIX, "--checkpoint", self.columns)

    def files(self, ending=".strata"):
        return sorted(self.columns.glob("column_*" + ending)) if self.columns.exists() else []

    def finish(self, ranks, *arguments, **how):
        """The solution, the determinant and the columns that were there."""
        paths = self.path("r.json"), self.path("x.npy")
        run = strata_on(ranks, *(arguments or self.arguments), "--json", paths[0], "--output", paths[1], **how)
        self.assertEqual(run.returncode, 0, run.stderr)
        report = load_valid(paths[0], "solve_out_of_core")
        return read_npy(paths[1])[1], report["log_determinant"]["value"], report["schedule"]["first_column"]

    def expected(self):
        return self.finish(1, "solve", "--out-of-core", *self.MATRIX)[:2]

    TILES = 32

    def parts(self, ranks):
        """The parts of a column, two of each rank: the rank of each."""
        return [owner(i, ranks, self.TILES) for i in range(2 * ranks)] if ranks > 1 else [0]

    def part(self, column, part, parts):
        name = f"column_{column:06}.strata" if parts == 1 else f"column_{column:06}.{part}_of_{parts}.strata"
        return self.folders[self.parts((parts + 1) // 2)[part]] / name

    def kill_one(self, ranks, column, each=":"):
        """Start, hold the last rank where it writes a part of a column, and end it there by force."""
        for folder in self.folders[:ranks]:
            folder.mkdir(exist_ok=True)
        owners = self.parts(ranks)
        hold = self.part(column, owners.index(ranks - 1), len(owners))
        os.mkfifo(hold)  # nobody reads it
        pids = self.path("pids")
        shutil.rmtree(pids, ignore_errors=True)
        pids.mkdir()
        process = subprocess.Popen(words_on(ranks, *self.arguments, each=f"{each}; echo $$ >{pids}/$RANK"), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 100
        while not all(self.part(column - 1, part, len(owners)).exists() for part in range(len(owners))) and time.monotonic() < deadline:
            time.sleep(0.001)
        self.assertIsNone(process.poll())
        os.kill(int((pids / str(ranks - 1)).read_text()), signal.SIGKILL)
        start = time.monotonic()
        out, _ = process.communicate(timeout=100)
        self.assertLess(time.monotonic() - start, self.SECONDS)
        self.assertNotIn("Problem", out)  # the launcher's code says less: MPICH's is 0 now and then
        hold.unlink()

    def test_killed_on_some_ranks_it_goes_on_on_others(self):
        expected = self.expected()
        for ranks, others, column in ((1, 2, 9), (2, 3, 1), (3, 1, 16), (2, 4, 25), (4, 2, 20)):
            with self.subTest(ranks=ranks, others=others):
                shutil.rmtree(self.columns, ignore_errors=True)
                self.kill_one(ranks, column)
                before = {path: path.read_bytes() for path in self.files()}
                self.assertEqual(self.finish(others), (*expected, column))
                self.assertEqual({path: path.read_bytes() for path in before}, before)
                self.assertEqual(self.files(".tmp"), [])
                self.assertEqual(self.finish(ranks)[2], 32)

    def test_killed_with_tiles_on_devices_it_goes_on_there_and_on_the_host(self):
        expected = self.expected()
        host, there = self.arguments, ("solve", *self.MATRIX, "--devices", 1, "--checkpoint", self.columns)
        for ranks, others, column, goes_on in ((1, 2, 9, there), (3, 1, 16, host), (2, 4, 20, there)):
            with self.subTest(ranks=ranks, others=others):
                shutil.rmtree(self.columns, ignore_errors=True)
                self.arguments = there
                self.kill_one(ranks, column)
                self.assertEqual(self.finish(others, *goes_on), (*expected, column))
                self.assertEqual(self.files(".tmp"), [])

    def test_killed_again_and_again(self):
        expected = self.expected()
        for ranks, column in ((3, 5), (2, 11), (4, 20)):
            self.kill_one(ranks, column)
        self.assertEqual(self.finish(1), (*expected, 20))

    def ends_together(self, ranks, text, arguments, **how):
        start = time.monotonic()
        run = strata_on(ranks, *arguments, **how)
        self.assertLess(time.monotonic() - start, self.SECONDS)
        self.assertEqual(run.returncode, 1 if "No space left" in text else 2, run.stderr)  # the machine's, or the user's
        self.assertEqual(len(re.findall(r"(?<!\.)strata: ", run.stderr)), 1, run.stderr)
        self.assertRegex(run.stderr, text)
        self.assertNotIn("MPI_ABORT", run.stderr)
        self.assertEqual(list(self.folder.rglob("*.tmp")), [])

    def test_a_full_disk_of_one_rank_ends_all(self):
        expected = self.expected()
        self.columns.mkdir()
        for column, part in ((0, 1), (7, 2), (31, 3)):
            shutil.rmtree(self.columns)
            self.columns.mkdir()
            full = self.part(column, part, 4)
            full.symlink_to("/dev/full")
            self.ends_together(2, f"strata: rank {self.parts(2)[part]}: {full}: wrote .*No space left", self.arguments)
            full.unlink()
            *found, first = self.finish(3)
            self.assertEqual(tuple(found), expected)
            self.assertLessEqual(first, column)

    def on_hosts(self, ranks):
        """Each rank on a host of its own: what its shell does before."""
        self.folders = [self.path(f"host_{rank}") / "columns" for rank in range(ranks)]
        for folder in self.folders:
            folder.mkdir(parents=True, exist_ok=True)
        self.arguments = (*self.arguments[:-1], "columns")
        return f"cd {self.folder}/host_$RANK"

    def test_where_each_host_has_a_folder_it_goes_on_there(self):
        expected = self.expected()
        each = self.on_hosts(2)
        self.kill_one(2, 11, each)
        self.assertEqual(self.finish(2, each=each), (*expected, 11))
        for file in self.folders[1].iterdir():
            file.unlink()
        self.assertEqual(self.finish(2, each=each), (*expected, 0))
        self.assertEqual(self.finish(2, each=each)[2], 32)
        self.assertEqual([len(list(folder.iterdir())) for folder in self.folders], [61, 61])
        self.assertEqual(list(self.folder.rglob("*.tmp")), [])

    def test_where_each_host_has_a_folder_other_ranks_need_the_files_in_one(self):
        each = self.on_hosts(3)
        self.finish(2, each=each)
        advice = ("go on with the grid and on the hosts of the run before, or gather the files in one folder that all ranks see, "
                  "or take empty folders")
        for ranks, grid in ((3, "3x1"), (2, "1x2")):
            self.ends_together(
                ranks, r"strata: rank 0: columns/column_00000\d\.\d_of_4\.strata: part \d of 4 of column \d has tiles of rank \d, which sees "
                       rf"another folder\. On this grid of {grid[0]} x {grid[2]} ranks a column has \d parts, .*: {advice}",
                (*self.arguments, "--grid", grid), each=each)
        for file in self.folders[1].iterdir():
            file.rename(self.folders[0] / file.name)
        self.arguments = (*self.arguments[:-1], self.folders[0])
        self.assertEqual(self.finish(3)[2], 32)

    def test_a_folder_that_cannot_be_used_ends_all(self):
        each = self.on_hosts(2)
        full = self.part(7, 1, 4)
        full.symlink_to("/dev/full")
        rank = self.parts(2)[1]
        self.ends_together(2, f"strata: rank {rank}: columns/column_000007.1_of_4.strata: wrote .*No space left", self.arguments, each=each)
        shutil.rmtree(self.folders[1])
        self.folders[1].write_text("")
        self.ends_together(2, "strata: rank 1: columns: cannot create the checkpoint's folder", self.arguments, each=each)
        self.path("file").write_text("")
        self.ends_together(2, "strata: rank 0: .*/file/columns: cannot create the checkpoint's folder",
                           (*self.arguments[:-1], self.path("file") / "columns"))

    def test_columns_of_another_matrix_or_damaged_are_refused_once(self):
        self.finish(2)
        other = ("solve", "--out-of-core", *self.MATRIX, "--covariance", "matern:1,0.2,0.5", "--checkpoint", self.columns)
        self.ends_together(3, "strata: rank 0: .*/column_000000.0_of_4.strata: the checkpoint is of another matrix", other)
        damaged = self.part(3, 1, 4)
        damaged.write_bytes(damaged.read_bytes()[:-1])
        self.ends_together(3, "column_000003.1_of_4.strata: the checkpoint has .* bytes", self.arguments)
        damaged.unlink()
        self.assertEqual(self.finish(3)[2], 3)


class Refusals(OutOfCore):
    def refused(self, *arguments):
        return strata("solve", *arguments)

    def test_options_that_need_it_or_do_not_go_with_it(self):
        generate = ["--generate", "matern", "--n", 50]
        for option in (["--tile", 8], ["--epsilon", "1e-3"], ["--device-memory", "1MB"],
                       ["--checkpoint", "x"], ["--precisions", "fp64"], ["--scratch", "x"]):
            self.assert_refused(self.refused(*generate, *option), option[0], "--out-of-core")
        for option in (["--layers", "auto"], ["--compare"], ["--repeat", 2], ["--leaf-size", 32]):
            self.assert_refused(self.refused("--out-of-core", *generate, *option), option[0],
                                "does not apply to --out-of-core")
        self.assert_refused(self.refused("--out-of-core", *generate, "--layers", "fp16,fp32", "--epsilon", "1e-4"),
                            "--layers and --epsilon")
        self.assert_refused(self.refused("--out-of-core", *generate, "--layers", "bf16,fp32"), "fp8_e4m3, not in bf16")
        self.assert_refused(self.refused("--out-of-core", "--generate", "geometric", "--n", 50), "tile by tile")
        self.assert_refused(self.refused("--out-of-core", "--sparse", "--matrix", STATIONS), "--out-of-core")
        self.assert_refused(self.refused("--out-of-core", *generate, "--epsilon", "1.5"), "must be in [0, 1)")
        self.assert_refused(self.refused("--out-of-core", *generate, "--precisions", "fp64,fp32"), "needs --epsilon")

    def test_a_budget_that_is_too_small_with_the_smallest(self):
        run = self.refused("--out-of-core", "--generate", "matern", "--n", 500, "--tile", 100, "--device-memory", "1kB")
        self.assert_refused(run, "--device-memory: a device has a budget of 1000 bytes; a stream with tiles of 100 needs at least 241152")
        run = self.refused("--out-of-core", "--generate", "matern", "--n", 19400, "--tile", 3200, "--device-memory", "21MB")
        self.assert_refused(run, "a budget of 21000000 bytes; a stream with tiles of 3200 needs at least 245760768")
        self.assertLess(run.seconds, 8 if ON_GPU else 2)  # before the matrix of 1.5 GB is filled

    def test_a_host_that_is_too_small(self):
        run = self.refused("--out-of-core", "--generate", "matern", "--n", 100000, "--max-memory", "1GB")
        self.assert_refused(run, "a system of order 100000", "--max-memory allows 1")
        huge = self.refused("--out-of-core", "--generate", "matern", "--n", 2**62)
        self.assert_refused(huge, "EB")

    def test_files(self):
        n, A = 20, field(20)
        A[3] += 1e-3
        write_npy(self.path("A.npy"), (n, n), A)
        self.assert_refused(self.refused("--out-of-core", "--matrix", self.path("A.npy")), "not symmetric: A(4, 1)")
        write_npy(self.path("B.npy"), (10, 20), A[:200])
        self.assert_refused(self.refused("--out-of-core", "--matrix", self.path("B.npy")), "10 x 20, must be square")
        A[3] = A[60] = math.nan
        write_npy(self.path("A.npy"), (n, n), A)
        self.assert_refused(self.refused("--out-of-core", "--matrix", self.path("A.npy"), "--tile", 8),
                            "rows 1 to 8 and columns 1 to 8", "not finite")
        write_mtx(self.path("A.mtx"), ["%%MatrixMarket matrix coordinate real symmetric", "1 1 1", "1 1 4"])
        self.assert_refused(self.refused("--out-of-core", "--matrix", self.path("A.mtx")), "coordinate file")
        path = self.write_raw(field(20), 20, crc32="00000000")
        self.assert_refused(self.refused("--out-of-core", "--matrix", path), "CRC-32")
        self.assert_refused(self.refused("--out-of-core", "--matrix", self.path("none.npy")), "none.npy")
        write_mtx(self.path("A.mtx"), ["%%MatrixMarket matrix array real symmetric", "1 1", "4"])
        self.assert_refused(self.refused("--out-of-core", "--matrix", self.path("A.mtx"), "--scratch", "/no/folder"),
                            "/no/folder")

    def test_checkpoints_of_other_matrices(self):
        n, name = 60, self.path("A.npy")

        def write(change=None):
            A = field(n)
            if change:
                change(A)
            write_npy(name, (n, n), A)

        def both(i, j, change):
            def entry(A):
                A[i + j * n] = A[j + i * n] = change(A[i + j * n])

            return entry

        def signs(A):
            for k in range(n * n):
                A[k] *= (-1 if k // n % 3 == 0 else 1) * (-1 if k % n % 3 == 0 else 1)

        changes = {
            "a sign": both(50, 3, lambda x: -x),
            "a last bit": both(41, 37, lambda x: math.nextafter(x, 2)),
            "an entry of the diagonal": both(59, 59, lambda x: 2 * x),
            "the signs of D A D": signs,
        }
        for epsilon in ([], ["--epsilon", "1e-4"]):
            folder = self.path("columns" + "".join(epsilon))
            arguments = ["--matrix", name, "--checkpoint", folder]

            def columns():
                return {path.name: path.read_bytes() for path in folder.glob("column_*")}

            def refused(*options):
                return self.refused("--out-of-core", *arguments, *options)

            write()
            self.solve(*arguments, *epsilon, "--tile", 16)
            whole = columns()
            self.assertEqual(len(whole), 4)
            for kept in (4, 2):  # whole, and half
                for path in sorted(folder.glob("column_*"))[kept:]:
                    path.unlink()
                for what, change in changes.items():
                    with self.subTest(what=what, kept=kept, epsilon=epsilon):
                        write(change)
                        self.assert_refused(refused(*epsilon, "--tile", 16),
                                            "column_000000.strata: the checkpoint is of another matrix: the digest")
                write()
                self.assert_refused(refused("--tile", 16, "--epsilon", "1e-6"),
                                    "is of another run: the accuracy (epsilon) is", "not 1e-06")
                self.assert_refused(refused(*epsilon, "--tile", 24), "the tile size is 16, not 24")
            again = self.solve(*arguments, *epsilon, "--tile", 16, "--devices", 3)
            self.assertEqual(again["schedule"]["first_column"], 2)
            self.assertEqual(columns(), whole)

    def test_damaged_checkpoints(self):
        arguments = ["--out-of-core", "--generate", "matern", "--n", 100, "--tile", 32, "--checkpoint", self.path("c")]
        self.assertEqual(self.refused(*arguments).code, 0)
        path = sorted(self.path("c").iterdir())[2]
        path.write_bytes(path.read_bytes()[:-3])
        run = self.refused(*arguments)
        self.assert_refused(run, "column_000002.strata", "goes on from column 2")


if __name__ == "__main__":
    if sys.byteorder != "little":
        sys.exit(77)
    unittest.main()
