#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The scripts for Slurm and PBS, with stand-ins for the schedulers' commands: they go on at the time limit until the run is through."""
import os
import re
import subprocess
import unittest

from strata_program import APPS, PROGRAM, ProgramTest, load_valid, needs_mpi, read_npy, strata

JOBS = APPS.parent / "packaging" / "jobs"
COMMANDS = {
    # Two ranks without the options; in the first turn each gets SIGUSR1 once there are columns, as by --signal.
    "srun": """while [ "${1#--}" != "$1" ]; do echo "$1" >>srun.options; shift; done
if [ -e once ]; then exec $MPIEXEC -n 2 "$@"; fi
touch once
$MPIEXEC -n 2 sh -c 'echo $$ >pid.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; exec "$@"' sh "$@" &
until eval "$READY"; do sleep 0.05; done
kill -USR1 $(cat pid.0 pid.1)
wait $!""",
    "scontrol": 'echo "$*" >>requeued',
    "mpirun": """while [ "${1#--}" != "$1" ]; do echo "$1 $2" >>mpirun.options; shift 2; done
exec $MPIEXEC -n 2 "$@\"""",
    "qsub": 'echo "$*" >>submitted',
}


@needs_mpi
class Jobs(ProgramTest):
    def setUp(self):
        super().setUp()
        self.path("bin").mkdir()
        for name, text in COMMANDS.items():
            path = self.path("bin") / name
            path.write_text("#!/bin/sh\n" + text + "\n")
            path.chmod(0o755)

    def turn(self, script, *words, **environment):
        environment = {**os.environ, "PATH": f"{self.path('bin')}:{os.environ['PATH']}", "STRATA": PROGRAM, "MPIEXEC": os.environ["STRATA_MPIEXEC"],
                       "SLURM_JOB_ID": "77", "PBS_O_WORKDIR": str(self.folder), **environment}
        return subprocess.run(["bash", JOBS / script, *map(str, words)], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=60)

    def test_are_scripts(self):
        for script in ("strata.slurm", "strata.pbs"):
            self.assertEqual(subprocess.run(["bash", "-n", JOBS / script], capture_output=True, text=True).stderr, "")

    tiles = ("solve", "--out-of-core", "--generate", "matern", "--covariance", "matern:1,0.1,0.5,0.01", "--n", 2000, "--tile", 80, "--checkpoint", "columns",
             "--output", "x.npy", "--json", "report.json")

    def check_solved(self):
        report = load_valid(self.path("report.json"), "solve_out_of_core")
        self.assertEqual((report["status"], report["ranks"]), ("solved", 2))
        self.assertGreaterEqual(report["schedule"]["first_column"], 1)
        self.assertEqual(strata(*self.tiles[:-6], "--output", self.path("y.npy")).code, 0)
        self.assertEqual(read_npy(self.path("x.npy")), read_npy(self.path("y.npy")))

    def test_slurm_gives_a_solve_another_turn(self):
        # All parts of the first column, of both ranks.
        ready = '(set -- columns/column_000000.*_of_*.strata; [ -e "$1" ] && all=${1##*_of_} && [ $# -eq ${all%.strata} ])'
        run = self.turn("strata.slurm", *self.tiles, READY=ready)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("ended by SIGUSR1; the finished columns are in columns", run.stderr)
        self.assertEqual(self.path("requeued").read_text(), "requeue 77\n")
        self.assertFalse(self.path("x.npy").exists())
        self.assertEqual(set(self.path("srun.options").read_text().split()), {"--kill-on-bad-exit=1", "--cpu-bind=cores", "--gpu-bind=none"})
        run = self.turn("strata.slurm", *self.tiles)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.path("requeued").read_text(), "requeue 77\n")  # not again
        self.check_solved()

    def test_slurm_lets_a_fit_go_on_from_the_best(self):
        self.assertEqual(strata("mle", "--generate", 1600, "--theta", "1,0.1,0.5,0.1", "--output", self.path("field.csv")).code, 0)
        words = ("mle", "--locations", "field.csv", "--tile", 150, "--tolerance", "1e-12", "--search", "bobyqa", "--json", "fit.json",
                 "--standard-errors", "off")
        for seconds in (3, 9, 27):  # until there has been an evaluation: a GPU's start takes what it takes
            run = self.turn("strata.slurm", *words, READY=f"[ -e pid.0 ] && [ -e pid.1 ] && sleep {seconds}")
            self.assertEqual(run.returncode, 0, run.stderr)
            found = re.search(r"--start (\S+) goes on", run.stderr)
            if found:
                break
        start = found.group(1)
        run = self.turn("strata.slurm", *words, "--max-evaluations", 2)
        self.assertEqual(run.returncode, 4, run.stderr)  # used up
        fit = load_valid(self.path("fit.json"), "mle")["fit"]
        self.assertEqual([fit["start"][key] for key in ("sigma2", "range", "nu", "nugget")], [float(x) for x in start.split(",")])

    def test_a_failure_is_the_jobs(self):
        self.path("once").touch()
        run = self.turn("strata.slurm", "solve", "--out-of-core", "--matrix", "no.npy")
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertFalse(self.path("requeued").exists())

    def test_pbs_submits_the_rest(self):
        run = self.turn("strata.pbs", *self.tiles, STRATA_SECONDS="2.5")
        if run.returncode == 0 and not self.path("submitted").exists():
            self.skipTest("this machine solves it in less time")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("ended by SIGUSR1; the finished columns are in columns", run.stderr)
        self.assertEqual(self.path("submitted").read_text(), "strata.pbs\n")
        self.assertEqual(self.path("mpirun.options").read_text(), "--map-by ppr:4:node:pe=16\n--bind-to core\n")
        run = self.turn("strata.pbs", *self.tiles, STRATA_SECONDS="60")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.path("submitted").read_text(), "strata.pbs\n")
        self.check_solved()


if __name__ == "__main__":
    unittest.main()
