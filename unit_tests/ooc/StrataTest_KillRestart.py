#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The out-of-core factorisation is killed at random points and goes on from its checkpoint, on other devices, with
other streams, budgets and variants. It ends with the bits of a run that nobody stopped. Damaged checkpoints, and other
matrices' checkpoints, are refused and lose nothing.

--kills N asks for so many, --seed S for others."""
import argparse
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

STUDY = os.environ["STRATA_OOC_STUDY"]
OPTIONS = argparse.Namespace(kills=16, seed=20)
TILES = 40
HEADER = 168  # bytes
VARIANTS = ("sync", "async", "v1", "v2", "v3", "v4")


class KillRestart(unittest.TestCase):
    accuracies = ("0", "1e-5")  # fp64 and four precisions

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.folder = self.root / "checkpoint"
        self.report = self.root / "report.json"
        self.random = random.Random(OPTIONS.seed)

    def start(self, accuracy, devices=1, variant="v4", streams=2, budget=0, **process):
        command = [STUDY, "--n", 32 * TILES, "--tile", 32, "--gemm-n", 8, "--gemm-seconds", 0, "--accuracy", accuracy, "--devices", devices,
                   "--variant", variant, "--streams", streams, "--budget", budget, "--checkpoint", self.folder, "--json", self.report]
        return subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, **process)

    def finish(self, *arguments, **named):
        """The row of a run that ends by itself."""
        process = self.start(*arguments, **named)
        _, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0, err)
        return json.loads(self.report.read_text())["rows"][0]

    def refused(self, accuracy, *parts):
        process = self.start(accuracy)
        _, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 1, err)
        for part in parts:
            self.assertIn(str(part), err)

    def columns(self):
        return sorted(self.folder.glob("column_*.strata")) if self.folder.exists() else []

    def contents(self):
        return {path.name: path.read_bytes() for path in self.columns()}

    def kill(self, process, before):
        """End the process by force once a random number of columns has appeared, a little later."""
        wanted = min(TILES, before + self.random.randint(0, 7))
        deadline = time.monotonic() + 300
        while process.poll() is None and len(self.columns()) < wanted and time.monotonic() < deadline:
            time.sleep(0.0005)
        time.sleep(self.random.uniform(0, 0.008))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return process.returncode == -signal.SIGKILL

    def another_machine(self):
        """Devices, variant, streams and bytes of tiles: from the fewest that any map needs to more than there are."""
        streams = self.random.randint(1, 3)
        fewest = streams * 5 * 8 * (32 * 32 + 256)
        budget = fewest * self.random.choice((0, 1, 2, 10))
        return self.random.randint(1, 4), self.random.choice(VARIANTS), streams, budget

    def test_killed_at_random_points_it_ends_with_the_same_bits(self):
        print(f"seed {OPTIONS.seed}")
        for accuracy in self.accuracies:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.finish(accuracy)
            expected = self.contents()
            self.assertEqual(len(expected), TILES)
            killed = killed_amid = leftovers = runs = 0
            while killed < OPTIONS.kills / len(self.accuracies):
                before = self.contents()
                if len(before) == TILES:  # from the beginning to the end, again and again
                    self.assertEqual(self.finish(accuracy, *self.another_machine())["first_column"], TILES)
                    shutil.rmtree(self.folder)
                    before = {}
                    runs += 1
                killed += self.kill(self.start(accuracy, *self.another_machine()), len(before))
                after = self.contents()
                killed_amid += 0 < len(after) < TILES
                leftovers += any(self.folder.glob("*.tmp"))
                for name, data in before.items():
                    self.assertEqual(after.get(name), data, f"{name} is lost")
                for name, data in after.items():
                    self.assertEqual(data, expected[name], f"{name} is not whole")
            row = self.finish(accuracy, *self.another_machine())
            self.assertEqual(row["info"], 0)
            self.assertEqual(self.contents(), expected)
            self.assertEqual(list(self.folder.glob("*.tmp")), [])
            self.assertGreater(killed_amid, OPTIONS.kills / 8)
            print(f"accuracy {accuracy}: killed {killed} times in {runs + 1} factorisations, {killed_amid} times amid "
                  f"columns, {leftovers} times half a file was left")

    def test_it_goes_on_where_it_was(self):
        self.finish("0")
        whole = self.contents()
        for kept in (0, 1, TILES // 2, TILES):
            for path in self.columns()[kept:]:
                path.unlink()
            row = self.finish("0", devices=3)
            self.assertEqual(row["first_column"], kept)
            self.assertEqual(self.contents(), whole)

    def test_a_damaged_column_is_refused_and_the_others_stay_good(self):
        self.finish("1e-5")
        whole = self.contents()
        for number in (0, TILES // 2, TILES - 1):
            path = self.columns()[number]
            good = path.read_bytes()
            place = self.random.randrange(HEADER, len(good))
            bad = {
                "empty": b"",
                "torn": good[: self.random.randrange(1, len(good))],
                "longer": good + b"\0",
                "flipped": good[:place] + bytes([good[place] ^ 1 << self.random.randrange(8)]) + good[place + 1:],
                "zeroed": good[:HEADER] + bytes(len(good) - HEADER),
            }
            for kind, data in bad.items():
                with self.subTest(number=number, kind=kind):
                    path.write_bytes(data)
                    self.refused("1e-5", path, f"goes on from column {number}")
                    others = self.contents()
                    others[path.name] = good
                    self.assertEqual(others, whole)
            path.unlink()
            self.assertEqual(self.finish("1e-5", 2)["first_column"], number)
            self.assertEqual(self.contents(), whole)
        self.columns()[3].write_bytes(whole[self.columns()[4].name])
        self.refused("1e-5", self.columns()[3], "of another run: the column is 4, not 3")

    def test_another_matrix_is_refused(self):
        self.finish("1e-5")
        whole = self.contents()
        self.refused("1e-7", "of another run: the accuracy (epsilon) is 1e-05, not 1e-07")
        self.assertEqual(self.contents(), whole)

    def test_a_disk_that_is_full_ends_the_run_and_loses_nothing(self):
        self.finish("0")
        whole = self.contents()
        limit = len(whole["column_000004.strata"])  # the first columns are the longest
        shutil.rmtree(self.folder)

        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        process = self.start("0", preexec_fn=small_files)
        _, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("column_000000.strata: wrote", err)
        self.assertIn("errno 27", err)
        self.assertEqual(self.contents(), {})
        self.finish("0", 2)
        self.assertEqual(self.contents(), whole)

    def test_two_runs_at_once_are_refused(self):
        self.folder.mkdir()
        first = self.start("0")
        stopped = False
        while first.poll() is None and not self.columns():
            time.sleep(0.0005)
        first.send_signal(signal.SIGSTOP)
        stopped = first.poll() is None and len(self.columns()) < TILES
        if stopped:
            self.refused("0", "another factorisation uses this checkpoint")
        first.send_signal(signal.SIGCONT)
        first.communicate()
        self.assertEqual(first.returncode, 0)
        self.assertTrue(stopped)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=OPTIONS.kills)
    parser.add_argument("--seed", type=int, default=OPTIONS.seed)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
