#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""`strata hpgmxp`: counts, reports and refusals, on one rank and on several."""
import json
import os
import re
import subprocess
import unittest

from strata_program import ON_GPU, PROGRAM, ProgramTest, load_valid, needs_mpi, strata, strata_on


class Hpgmxp(ProgramTest):
    def benchmark(self, *arguments):
        """The validated JSON report."""
        path = self.path("report.json")
        run = strata("hpgmxp", *arguments, "--json", path)
        self.assertEqual(run.code, 0, run.err)
        return load_valid(path, "hpgmxp")

    def test_reproduces_the_known_counts(self):
        report = self.benchmark("--nx", 16, "--run_type", "validation", "--ordering", "lexicographic")
        self.assertEqual(report["iterations_fp64"], 21)
        self.assertAlmostEqual(report["residual_fp64"] / 2.09866e-10, 1, 5)
        report = self.benchmark("--nx=16", "--run_type=VALIDATION", "--ordering", "Coloured", "--colouring", "GREEDY",  # in any case
                                "--colour-order", "7,0,6,1,5,2,4,3")
        self.assertEqual(report["iterations_fp64"], 16)
        self.assertEqual((report["mixed"], report["fp64"]), (None, None))
        report = self.benchmark("--nx", 16, "--run_type", "validation", "--ordering", "LEXICOGRAPHIC", "--beta", 0.5)
        self.assertEqual(report["iterations_fp64"], 20)

    def test_runs_all_phases(self):
        public = self.path("public.txt")
        report = self.benchmark("16", "24", "16", "--rt", 0, "--report", public)
        self.assertEqual(report["problem"]["local"], [16, 24, 16])
        self.assertEqual(report["problem"]["entries"], 46 * 70 * 46)
        for phase in ("mixed", "fp64"):
            self.assertEqual(report[phase]["iterations"], 330)
            motifs = report[phase]["motifs"]
            self.assertEqual((motifs["iterations"], motifs["rank"]), (330, 0))
            self.assertAlmostEqual(sum(part["share"] for part in motifs["parts"]), 1)
            self.assertLess(sum(part["seconds"] for part in motifs["parts"]), motifs["seconds"])
            if not ON_GPU:  # which waits between the kernels of so small a problem
                self.assertGreater(sum(part["seconds"] for part in motifs["parts"]), motifs["seconds"] / 2)
            self.assertEqual({part["waiting_seconds_most"] for part in motifs["parts"]}, {0})  # for whom
        rating = report["penalty"] * report["mixed"]["gflops"]
        self.assertAlmostEqual(report["rating_gflops"] / rating, 1)
        self.assertFalse(report["conforming"])  # too short
        self.check_public(public.read_text(), report)

    def assert_departures(self, report, screen, public, expected):
        """The same rules in all three reports, in this order."""
        self.assertEqual(len(report["departures"]), len(expected), report["departures"])
        self.assertEqual(report["conforming"], not expected)
        for rule, pattern in zip(report["departures"], expected):
            self.assertRegex(rule, pattern)
        for number, rule in enumerate(report["departures"], 1):
            self.assertRegex(screen, rf"(?m)^  not conforming +{re.escape(rule)}$")
            self.assertIn(f"Rules::Departure {number}={rule}\n", public)
        self.assertIn(f"Rules::Departures={len(expected)}\n", public)

    def test_names_the_rules_that_what_ran_leaves(self):
        path, public = self.path("report.json"), self.path("public.txt")
        words = ("--nx", 16, "--rt", 0, "--json", path, "--report", public)
        seconds = r"the mixed phase ran for [0-9.e-]+ s: an official run has 1800 s or more"
        memory = r"a rank holds [0-9.]+ MB of its [0-9.]+ [GT]B: the problem is to take a quarter"
        for more, expected in (
            ((), [seconds, memory]),
            (("--beta", 0.5, "--restart", 20, "--tolerance", 1e-8), ["restart", "tolerance", "beta is 0.5", seconds, memory]),
            (("--run_type", "benchmark_no_ref"), ["not all phases", seconds, memory]),
        ):
            run = strata("hpgmxp", *words, *more)
            self.assertEqual(run.code, 0, run.err)
            report, text = load_valid(path, "hpgmxp"), public.read_text()
            self.assert_departures(report, run.out, text, expected)
            self.assertTrue(report["valid"])
            self.assertEqual(report["orthogonalisation"], {"method": "cgs2", "norm": "summed"})
            self.assertRegex(run.out, "orthogonalisation +CGS2")
            self.assertIn("Rules::Gram-Schmidt=CGS2", text)
            self.assertAlmostEqual(sum(report["columns"][form] for form in ("shared", "narrow", "wide")), 1)
            self.assertRegex(run.out, r"columns +shared by a slice's rows [0-9.]+ %, 16 bits [0-9.]+ %, 32 bits [0-9.]+ %")
            self.assertRegex(text, r"Rules::Columns=shared by a slice's rows [0-9.]+ %")

    def test_goes_on_for_the_seconds_asked(self):
        report = self.benchmark("--nx", 16, "--rt", 1, "--run_type", "standalone_mxp")
        self.assertGreaterEqual(report["mixed"]["seconds"], 1)

    def test_refuses_files_that_it_could_not_write(self):
        for option in ("--json", "--report", "--trace"):
            run = strata("hpgmxp", "--nx", 16, "--rt", 0, option, self.path("no") / "file")
            self.assert_refused(run, option, "is no folder")

    def check_public(self, text, report):
        """The keys that the public script looks for, as it looks for them: the last number of the line."""

        def value(key):
            lines = [line for line in text.splitlines() if key in line]
            self.assertEqual(len(lines), 1, key)
            return float(lines[0].split("=")[-1])

        self.assertEqual(value("Machine Summary::Distributed Processes"), 1)
        for key in ("Ortho", "SpMV", "MG", " SpTRSV", " Restic", " - Ortho   (reference)", " - SpMV    (reference)",
                    " - MG      (reference)", " -  SpTRSV (reference)", " -  Restic (reference)"):
            self.assertGreater(value(f"Benchmark Time Summary::{key}"), 0)
        for key in ("Raw Orho", "Raw SpMV", "Raw MG", "Raw Total", " - Raw Orho  (reference)", " - Raw SpMV  (reference)",
                    " - Raw MG    (reference)", " - Total     (reference)"):
            self.assertGreater(value(f"GFLOP/s Summary::{key}"), 0)
        self.assertAlmostEqual(value("GFLOP/s Summary::Total for benchmark") / report["rating_gflops"], 1, 4)
        self.assertEqual(len(re.findall(r"Memory Bandwidth \(GB/s\)::.*mxp", text)), 7)
        for line in ("Run Information::Run type=benchmark", "Run Information::Validation type=standard", "Run Information::Run time requested (sec)=0",
                     "Machine Summary::Threads per processes=", "Multigrid Information::Number of coarse grid levels=3",
                     "Timed Solves::Number of solves=1\n", "Timed Solves::Number of iterations=330\n", "Timed Solves::Number of matrix products=341\n",
                     "Memory Use Information::Peak resident bytes, most of all processes=", "Iteration Count Information::Residual norms=relative to the initial residual"):
            self.assertIn("\n" + line, text)
        self.assertRegex(text, r"\nRun Information::Date=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n")
        self.assertIn(f"Run Information::Command={report['run']['command']}\n", text)
        self.assertIn("HPG-MxP result is NOT OFFICIAL (see Rules) with a GFLOP/s rating of=", text)
        self.assertNotIn("VALID", text)  # of a run of no time
        self.check_motifs(text, report, value)

    def check_motifs(self, text, report, value):
        """What the two reports say of a motif is the same, and of the solve that it is said of."""
        groups = {"Ortho": ("ortho",), "SpMV": ("spmv",), "MG": ("gauss_seidel", "restrict", "prolong")}
        for phase, form in (("mixed", "{}"), ("fp64", " - {} (reference)")):
            motifs = report[phase]["motifs"]
            self.assertIn(f"of one more solve, 330 iterations in {motifs['seconds']:.3g} s, on rank {motifs['rank']}, which computes longest\n", text)
            parts = {part["name"]: part for part in motifs["parts"]}
            for group, names in groups.items():
                seconds = sum(parts[name]["seconds"] for name in names)
                width = "" if phase == "mixed" else 7
                self.assertAlmostEqual(value("Benchmark Time Summary::" + form.format(f"{group:{width}}")) / seconds, 1, 4)
                waiting = sum(parts[name]["waiting_seconds"] for name in names)
                self.assertAlmostEqual(value(f"Waiting Time Summary::{form.format(group)}, that process"), waiting, 5)
                flops = sum(parts[name]["gflops"] * parts[name]["seconds"] for name in names)
                width, name = "" if phase == "mixed" else 9, "Raw Orho" if group == "Ortho" else f"Raw {group}"
                self.assertAlmostEqual(value("GFLOP/s Summary::" + form.format(f"{name:{width}}")) * seconds / flops, 1, 4)

    def test_free_mode_solves_the_same_equations_faster(self):
        report = self.benchmark("--nx", 32, "--run_type", "validation", "--free")
        free = report["free"]
        self.assertTrue(free["converged"])
        self.assertLessEqual(free["relative_residual"], 1e-9)
        self.assertLessEqual(free["iterations"], 12)
        self.assertLess(free["iterations"], report["iterations_mixed"] / 2)
        self.assertEqual([level["equations"] for level in free["levels"]], [32**3, 16**3, 8**3, 4**3])
        self.assertIsNotNone(free["speedup_over_conforming"])
        self.assertNotIn("free", self.benchmark("--nx", 16, "--run_type", "validation"))

    def test_reads_the_public_input_file(self):
        self.path("hpgmp.dat").write_text("a comment\nanother\n16 24 32\n0\n")
        report = self.benchmark("--input", self.path("hpgmp.dat"), "--run_type", "validation", "--nz", 16)
        self.assertEqual(report["problem"]["local"], [16, 24, 16])
        self.path("hpgmp.dat").write_text("16 16 16\n")
        self.assert_refused(strata("hpgmxp", "--input", self.path("hpgmp.dat")), "expected two lines of comment")

    def check_trace(self, path, ranks):
        """A process for each rank with a track for each queue; a rank alone has one."""
        events = json.loads(path.read_text())["traceEvents"]
        spans = [event for event in events if event["ph"] == "X"]
        self.assertEqual({span["pid"] for span in spans}, set(range(ranks)))
        named = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
        self.assertEqual(named, {rank: f"rank {rank}" for rank in range(ranks)})
        tracks = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
        for rank in range(ranks):
            self.assertEqual({name for (pid, _), name in tracks.items() if pid == rank}, {"work", "halo", "messages", "waits"} if ranks > 1 else {"work"})
            names = {(tracks[rank, span["tid"]], span["name"]): span for span in spans if span["pid"] == rank}
            self.assertIn(("work", "strata::sparse::GeometricMultigrid::level 3"), names)
            sweeps = [span for span in spans if span["pid"] == rank and span["name"] == "strata::sparse::DistributedMatrix::gauss_seidel"]
            self.assertEqual(len(sweeps), 3 * 5)  # on each level but the last, in four iterations and the correction
            halos = {name for track, name in names if track == "halo"}
            self.assertIn(halos, [{"pack"}, {"pack to host", "unpack from host"}] if ranks > 1 else [set()])

    def test_writes_a_trace(self):
        path = self.path("trace.json")
        for phase in ("standalone_mxp", "standalone_ref"):
            run = strata("hpgmxp", "--nx", 16, "--rt", 0, "--run_type", phase, "--trace", path)
            self.assertEqual(run.code, 0, run.err)
            self.check_trace(path, 1)
        self.assert_refused(strata("hpgmxp", "--nx", 16, "--trace", self.path("no") / "t.json"), "--trace", "is no folder")
        one = self.path("one.json")
        self.assert_refused(strata("hpgmxp", "--nx", 16, "--json", one, "--trace", f"{one.parent}/./{one.name}"), "--trace",
                            "is what --json writes, too")
        self.assert_refused(strata("hpgmxp", "--nx", 16, "--run_type", "validation", "--trace", path), "trace is of a timed phase")

    @unittest.skipUnless("STRATA_MPIEXEC" in os.environ, "built without MPI")
    def test_traces_all_ranks_in_one_file(self):
        path = self.path("two.json")
        launcher = [os.environ["STRATA_MPIEXEC"], "-n", "2", PROGRAM, "hpgmxp", "--nx", "16", "--rt", "0"]
        words = ["--run_type", "standalone_mxp", "--trace"]
        run = subprocess.run(launcher + words + [str(path)], capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.check_trace(path, 2)
        run = subprocess.run(launcher + words + [str(path.parent)], capture_output=True, text=True, timeout=120)
        self.assertNotEqual(run.returncode, 0)
        self.assertEqual(run.stderr.count("is a folder"), 1)

    def test_refuses_what_it_can_not_run(self):
        for arguments, parts in (
            (("--nx", 50), ("nx = 50", "48 or 56")),
            (("--nx", 4), ("nearest is 16",)),
            (("--nx", 0), ("nx = 0",)),
            (("--nx", 16, "--nz", 0), ("nz = 0",)),
            (("--nx", 16, "--rt", -1), ("run time of -1 s",)),
            (("--nx", 16, "--rt", "nan"), ("run time of nan s",)),
            (("--nx", 16, "--npx", 2), ("process grid 2 x 1 x 1 for 1 ranks",)),
            (("--nx", 16, "--colour-order", "1,2,3", "--run_type", "validation"), ("permutation of the 8 colours",)),
            (("--nx", 800, "--ny", 800, "--nz", 800), ("GB", "take fewer points")),
            (("--ordering", "lexicographic", "--colour-order", "1,0"), ("--ordering coloured",)),
            (("--run_type", "fast"), ("--run_type",)),
            (("--colouring", "red"), ("--colouring",)),
            (("--transport", "pigeon"), ("--transport", "pigeon", "enqueued")),
        ):
            run = strata("hpgmxp", *arguments)
            self.assert_refused(run, *parts)

    @needs_mpi
    def test_waiting_is_apart_from_computing(self):
        """Ranks wait in each motif that has messages, and in no other."""
        public = self.path("public.txt")
        run = strata_on(2, "hpgmxp", "--nx", 16, "--rt", 0, "--json", self.path("two.json"), "--report", public, "--run_type", "standalone_mxp")
        self.assertEqual(run.returncode, 0, run.stderr)
        motifs = load_valid(self.path("two.json"), "hpgmxp")["mixed"]["motifs"]
        parts = {part["name"]: part for part in motifs["parts"]}
        for name in ("gauss_seidel", "spmv", "restrict", "ortho"):
            part = parts[name]
            self.assertGreater(part["waiting_seconds"], 0, name)
            self.assertLess(part["waiting_seconds"], part["seconds"], name)
            self.assertLessEqual(part["waiting_seconds"], part["waiting_seconds_most"], name)
            self.assertLessEqual(part["waiting_seconds_mean"], part["waiting_seconds_most"], name)
        self.assertEqual(parts["prolong"]["waiting_seconds_most"], 0)  # it has no messages
        self.assertRegex(run.stdout, rf"motifs +of one more solve, 330 iterations in [0-9.e-]+ s, on rank {motifs['rank']}, which computes longest")
        self.assertRegex(run.stdout, r"(?m)^ +share +waiting +GFLOP/s")

    @unittest.skipUnless("STRATA_MPIEXEC" in os.environ, "built without MPI")
    def test_ranks_agree(self):
        path = self.path("two.json")
        launcher = [os.environ["STRATA_MPIEXEC"], "-n", "2", PROGRAM, "hpgmxp"]
        words = ["--nx", "16", "--run_type", "validation", "--ordering", "lexicographic", "--json", str(path)]
        run = subprocess.run(launcher + words, capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        report = load_valid(path, "hpgmxp")
        self.assertEqual(report["problem"]["ranks"], [1, 1, 2])
        self.assertEqual(report["iterations_fp64"], 29)
        self.assertAlmostEqual(report["residual_fp64"] / 4.30328e-10, 1, 5)
        self.assertEqual(len([rule for rule in report["departures"] if "validation" in rule]), 0)
        run = subprocess.run(launcher + words + ["--validation-ranks", "1"], capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, "not conforming +the validation ran on 1 of 2 ranks")
        self.assertIn("the validation ran on 1 of 2 ranks", str(load_valid(path, "hpgmxp")["departures"]))
        run = subprocess.run(launcher + ["--nx", "12"], capture_output=True, text=True, timeout=120)
        self.assertNotEqual(run.returncode, 0)
        self.assertEqual(run.stderr.count("nx = 12"), 1)
        run = subprocess.run(launcher + words[:4] + ["--transport", "enqueued", "--json", str(path)], capture_output=True, text=True, timeout=120)
        if run.returncode == 0:  # two devices, with NCCL or RCCL
            self.assertEqual(load_valid(path, "hpgmxp")["transport"], "enqueued")
        else:
            self.assertEqual(run.stderr.count("transport enqueued: "), 1)
            self.assertRegex(run.stderr, "runs on the host|neither NCCL nor RCCL|ranks 0 and 1 share a device")


if __name__ == "__main__":
    unittest.main()
