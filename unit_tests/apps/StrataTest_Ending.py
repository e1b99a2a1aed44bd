#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""SIGTERM and SIGUSR1, to one rank or to a process alone: the run ends with exit code 5, and keeps and tells what it has."""
import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

from strata_program import PROGRAM, ProgramTest, load_valid, needs_mpi, read_npy, strata, words_on

ENDED = 5


class Ending(ProgramTest):
    def ended(self, arguments, when, ranks=1, signal=signal.SIGTERM, of=0, seconds=60):
        """(code, stdout, stderr) of a run whose rank `of` gets the signal once `when()` is true."""
        pids = self.path("pids")
        pids.mkdir(exist_ok=True)
        if ranks == 1:
            process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            (pids / "0").write_text(f"{process.pid}\n")
        else:
            words = words_on(ranks, *arguments, each=f"echo $$ >{pids}/$RANK")
            process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + seconds
        while time.monotonic() < end and not when() and process.poll() is None:
            time.sleep(0.02)
        self.assertIsNone(process.poll(), "it ended before it was asked to")
        os.kill(int((pids / str(of)).read_text()), signal)
        out, err = process.communicate(timeout=seconds)
        for path in pids.iterdir():
            path.unlink()
        return process.returncode, out, err

    def worked(self, rank):
        """Seconds of processor time that a rank has had, which a busy machine does not change."""
        try:
            stat = pathlib.Path(f"/proc/{(self.path('pids') / str(rank)).read_text().strip()}/stat").read_text()
        except OSError:
            return 0
        user, system = map(int, stat.rsplit(")", 1)[1].split()[11:13])
        return (user + system) / os.sysconf("SC_CLK_TCK")

    def hears(self):
        """Whether the process handles SIGTERM by now."""
        try:
            status = pathlib.Path(f"/proc/{(self.path('pids') / '0').read_text().strip()}/status").read_text()
        except OSError:
            return False
        return bool(int(re.search("SigCgt:\t([0-9a-f]+)", status).group(1), 16) >> (signal.SIGTERM - 1) & 1)

    def said(self, err):
        lines = re.findall("(?m)^strata: .*", err)
        self.assertEqual(len(lines), 1, err)
        return lines[0]

    def tiles(self, *more):
        return ("solve", "--out-of-core", "--generate", "matern", "--covariance", "matern:1,0.1,0.5,0.01", "--n", 2000, "--tile", 80,
                "--checkpoint", self.path("columns"), *more)

    def has_a_column(self):
        """Whether some column is there, with the parts of all ranks."""
        parts = collections.Counter()
        for path in self.path("columns").glob("column_*.strata"):
            column, ranks = re.fullmatch(r"column_(\d+)(?:\.\d+_of_(\d+))?\.strata", path.name).groups()
            parts[column, int(ranks or 1)] += 1
        return any(count == ranks for (_, ranks), count in parts.items())

    def check_tiles(self, ranks, **how):
        x = self.path("x.npy")
        code, out, err = self.ended(self.tiles("--output", x), self.has_a_column, ranks, **how)
        self.assertEqual((code, out), (ENDED, ""), err)
        name = how.get("signal", signal.SIGTERM).name
        self.assertRegex(self.said(err), f"ended by {name}; the finished columns are in {self.path('columns')}, and the same command goes on from them$")
        self.assertFalse(x.exists())
        run = strata(*self.tiles("--output", x, "--json", self.path("x.json")))
        self.assertEqual(run.code, 0, run.err)
        report = load_valid(self.path("x.json"), "solve_out_of_core")
        self.assertGreaterEqual(report["schedule"]["first_column"], 1)
        return read_npy(x)

    def test_a_solve_in_tiles_keeps_its_columns(self):
        self.check_tiles(1, signal=signal.SIGUSR1)

    @needs_mpi
    def test_a_solve_in_tiles_of_which_one_rank_hears(self):
        self.check_tiles(2, of=1)

    def test_a_solve_in_tiles_without_a_checkpoint_says_so(self):
        words = ("solve", "--out-of-core", "--generate", "matern", "--n", 8000, "--tile", 100)
        begin = time.monotonic()
        code, _, err = self.ended(words, lambda: time.monotonic() - begin > 1)
        self.assertEqual(code, ENDED, err)
        self.assertEqual(self.said(err), "strata: ended by SIGTERM; without --checkpoint nothing is kept")

    def check_fit(self, ranks, **how):
        if json.loads(strata("info", "--json").out)["nlopt"] == "none":
            self.skipTest("no NLopt, whose search by values alone is slow enough to be ended")
        field, report = self.path("field.csv"), self.path("fit.json")
        self.assertEqual(strata("mle", "--generate", 1600, "--theta", "1,0.1,0.5,0.1", "--output", field).code, 0)
        words = ("mle", "--locations", field, "--tile", 150, "--tolerance", "1e-12", "--max-evaluations", 100000, "--search", "bobyqa",
                 "--json", report)
        for seconds in (1.5, 2, 3, 4, 6, 8, 12, 16):  # until there has been an evaluation: a GPU's start takes what it takes
            begin = time.monotonic()
            code, out, err = self.ended(words, lambda: time.monotonic() - begin > seconds * ranks, ranks, **how)
            self.assertEqual(code, ENDED, err)
            if report.exists():
                break
        document = load_valid(report, "mle")
        fit = document["fit"]
        self.assertEqual((document["status"], fit["converged"], document["standard_errors"]), ("ended", False, None))
        self.assertGreaterEqual(fit["evaluations"], 1)
        self.assertEqual(len(fit["history"]), fit["evaluations"])
        self.assertEqual(document["log_likelihood"], max(value for value in fit["history"] if value is not None))
        name = how.get("signal", signal.SIGTERM).name
        said = re.search(rf"ended by {name} after {fit['evaluations']} evaluations?; --start (\S+) goes on from the best$", self.said(err))
        self.assertIsNotNone(said, err)
        start = [float(number) for number in said.group(1).split(",")]
        self.assertEqual(start, [document["theta"][key] for key in ("sigma2", "range", "nu", "nugget")])
        self.assertIn(said.group(1), out)
        run = strata("mle", "--locations", field, "--tile", 150, "--start", said.group(1), "--max-evaluations", 1, "--finish", "tiles", "--json", report)
        again = load_valid(report, "mle")
        self.assertAlmostEqual(again["fit"]["history"][0], document["log_likelihood"], delta=1e-6)

    def test_a_fit_tells_the_best_so_far(self):
        self.check_fit(1)

    @needs_mpi
    def test_a_fit_of_which_one_rank_hears(self):
        self.check_fit(2, of=1, signal=signal.SIGUSR1)

    def check_benchmark(self, ranks, **how):
        report, public = self.path("h.json"), self.path("h.txt")
        words = ("hpgmxp", "--nx", 16, "--rt", 3600, "--json", report, "--report", public)
        for seconds in (4, 12, 36):  # until there has been a solve: validation and set-up take less than one, a GPU's start what it takes
            code, out, err = self.ended(words, lambda: self.worked(how["of"]) > seconds, ranks, **how)
            self.assertEqual(code, ENDED, err)
            self.assertEqual(self.said(err), "strata: ended by a signal; the report has what was done by then")
            document = load_valid(report, "hpgmxp")
            if document["mixed"]:
                break
        self.assertTrue(document["ended"] and document["validation"]["passed"] and document["valid"])
        self.assertFalse(document["conforming"])
        self.assertGreaterEqual(document["mixed"]["solves"], 1)
        self.assertTrue(document["mixed"]["completed"])
        self.assertEqual((document["mixed"]["motifs"], document["fp64"]), (None, None))
        self.assertIn("a signal ended the run before all that was asked for had run", document["departures"])
        self.assertRegex(out, "(?m)^ +ENDED +by a signal")
        self.assertIn(f"Timed Solves::Number of solves={document['mixed']['solves']}\n", public.read_text())

    @needs_mpi
    def test_the_benchmark_keeps_its_validation_and_its_solves(self):
        self.check_benchmark(2, of=1, signal=signal.SIGUSR1)

    @needs_mpi
    def test_a_sparse_solve(self):
        begin = time.monotonic()
        words = ("solve", "--generate", "poisson7", "--n", 48, "--preconditioner", "none", "--solver", "gmres", "--restart", 2, "--tolerance", "1e-15",
                 "--max-iterations", 100000000)
        code, _, err = self.ended(words, lambda: time.monotonic() - begin > 1.5, 2, of=1)
        self.assertEqual(code, ENDED, err)
        self.assertRegex(self.said(err), "ended by SIGTERM after [0-9]+ iterations, at a relative residual of [0-9.e-]+; nothing is kept$")

    def test_a_solve_hears_before_it_has_begun(self):
        """MPI and a GPU may take seconds to start: a signal in that time ends the run in words, too."""
        words = ("solve", "--out-of-core", "--generate", "matern", "--n", 8000, "--tile", 100)
        code, _, err = self.ended(words, self.hears)
        self.assertEqual((code, self.said(err)), (ENDED, "strata: ended by SIGTERM; without --checkpoint nothing is kept"))

    def test_a_second_signal_kills(self):
        words = ("hpgmxp", "--nx", 96, "--rt", 3600, "--run_type", "standalone_mxp")
        process = subprocess.Popen([PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        self.assertIsNone(process.poll())  # in a set-up or a solve that takes longer
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, -signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
