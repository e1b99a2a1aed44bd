#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""`--save-config` and `--config`: what was saved gives the same run, the command line goes before, unknown keys are named."""
import json
import os
import subprocess
import unittest

from strata_program import ON_GPU, PROGRAM, STATIONS, ProgramTest, strata, tridiagonal, write_mtx, write_npy

COMMANDS = ("solve", "mle", "hpgmxp", "plot", "info")


def without_times(value):
    """What two runs of the same options have alike.

    A GPU's sums have no order: numbers agree to n eps times the condition, 200 * 2^-52 * 1e3 = 4e-11 at most here, so to eight
    digits; and errors, which are roundings, to none.
    """
    if ON_GPU and isinstance(value, float):
        return 0.0 if abs(value) < 1e-8 else float(f"{value:.7e}")
    if isinstance(value, dict):
        timed = ("seconds", "configuration", "run", "tflops", "memory_available_bytes")
        return {key: without_times(inner) for key, inner in value.items() if key not in timed and "second" not in key and "gflops" not in key
                and "gb_per_s" not in key and key not in ("motifs", "share", "rating_gflops", "ms_per_iteration", "bytes_needed")}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


class ConfigFile(ProgramTest):
    def config(self, *lines):
        path = self.path("run.toml")
        path.write_text("\n".join(lines) + "\n")
        return path

    def test_what_was_saved_gives_the_same_run(self):
        for words in (
            ("solve", "--generate", "geometric", "--n", 200, "--cond", "1e3", "--layers", "fp16x2,fp32", "--refine", "gmres", "--log-determinant"),
            ("solve", "--generate", "convection", "--nx", 8, "--ny", 7, "--precision", "bf16", "--strength", 0.1, "--max-memory", "1GB"),
            ("solve", "--out-of-core", "--generate", "dominant", "--n", 200, "--tile", 50, "--epsilon", "1e-6", "--precisions", "fp64,fp32"),
            ("mle", "--locations", STATIONS, "--theta", "22000,2600,0.5,450", "--evaluate", "--ordering", "morton", "--mean", "none"),
            ("hpgmxp", 16, 16, 16, "--run_type", "validation", "--colour-order", "7,0,6,1,5,2,4,3", "--basis", "fp32"),
        ):
            with self.subTest(words=words):
                saved, first, second = self.path("saved 'it\".toml"), self.path("a \"file's\".json"), self.path("b.json")
                run = strata(*words, "--json", first, "--save-config", saved)
                self.assertEqual(run.code, 0, run.err)
                again = strata(words[0], "--config", saved, "--json", second)
                self.assertEqual(again.code, 0, again.err)
                self.assertEqual(without_times(json.loads(first.read_text())), without_times(json.loads(second.read_text())))
                self.assertNotIn("save-config=", saved.read_text())
                once_more = self.path("again.toml")
                strata(words[0], f"--config={saved}", "--json", first, "--save-config", once_more)
                self.assertEqual(sorted(once_more.read_text().splitlines()[1:]), sorted(saved.read_text().splitlines()[1:]))

    def test_the_command_line_goes_before(self):
        path = self.config("generate = geometric", "n = 50", "layers = fp16,fp32   # no quotes", "log-determinant = false", "nrhs = 2")
        report = self.solve("--config", path, "--n=60", "--layers", "fp32,fp32")
        self.assertEqual((report["n"], report["layers_asked"], report["nrhs"], report["log_determinant"]), (60, "fp32,fp32", 2, None))
        self.assertEqual(self.solve("--config", path)["layers_asked"], "fp16,fp32")

    def test_sections_are_of_commands(self):
        path = self.config("[mle]", "kl = true", "[solve]", "generate = minij", "n = 20")
        self.assertEqual(self.solve("--config", path)["n"], 20)

    def test_a_list_is_repeated(self):
        field = self.path("f.csv")
        strata("mle", "--generate", 30, "--theta", "medium", "--output", field)
        path = self.config(f'locations = "{field}"', 'fix = ["nu=0.5", "nugget=0.1"]', "max-evaluations = 3")
        self.assertEqual(strata("mle", "--config", path, "--json", self.path("r.json")).code, 4)
        self.assertEqual(json.loads(self.path("r.json").read_text())["fit"]["fixed"], ["nu", "nugget"])

    def test_refusals(self):
        for lines, key in (
            (("n = 5", "layer = fp16"), "layer is no option of strata solve"),
            (("[solve]", "colour = red"), "solve.colour is no option"),
            (("[slove]", "n = 5"), "slove.n is no option"),
            (("config = other.toml",), "config is no option"),
            (("save-config = other.toml",), "save-config is no option"),
            (("generate = geometric", "n = many"), "--n"),
            (("n =", "generate = geometric"), "n has no value"),
            (("n = []", "generate = geometric"), "n has no value"),
        ):
            with self.subTest(lines=lines):
                self.assert_refused(strata("solve", "--config", self.config(*lines)), key)
        self.assert_refused(strata("solve", "--config", self.path("none.toml")), "none.toml")
        self.assert_refused(strata("solve", "--config", self.folder), "is a folder")
        self.assert_refused(strata("solve", "--config"), "--config")
        self.assert_refused(strata("solve", "--generate", "minij", "--n", 5, "--save-config", "/no/such/folder/a"), "--save-config", "/no/such/folder")

    def test_a_file_that_is_no_text_is_named_and_not_printed(self):
        path = self.path("run.npy")
        for content, byte, value in ((b"\x93NUMPY\x01\x00", 7, 1), (b"n = 5\n\x00", 7, 0), ("n = 5".encode("utf-16-le"), 2, 0), (b"\x1f\x8b\x08", 1, 31)):
            path.write_bytes(content)
            run = strata("solve", "--generate", "minij", "--config", path)
            self.assert_refused(run, path, f"is no text: byte {byte} is {value};")
            self.assertTrue(run.err.rstrip("\n").isprintable())
        self.assert_refused(strata("solve", "--generate", "minij", "--n", 5, "--config", ""), "--config: the name of the file is empty")

    def test_what_is_saved_goes_to_a_file_of_its_own(self):
        matrix, rhs, link = self.path("A.npy"), self.path("b.csv"), self.path("link")
        write_npy(matrix, (2, 2), (2.0, 1.0, 1.0, 2.0))
        rhs.write_text("1\n1\n")
        link.symlink_to(matrix)
        before = matrix.read_bytes()
        words = ("solve", "--matrix", matrix, "--rhs", rhs)
        for more, saved, option in (
            (("--json", self.path("r")), self.path("r"), "--json"),
            (("--json", self.path("r")), self.folder / "." / "r", "--json"),
            (("--output", self.path("x.npy")), self.path("x.npy"), "--output"),
            (("--trace", self.path("t")), self.path("t"), "--trace"),
            ((), matrix, "--matrix"),
            ((), link, "--matrix"),
            ((), rhs, "--rhs"),
        ):
            with self.subTest(saved=saved):
                self.assert_refused(strata(*words, *more, "--save-config", saved), f"--save-config: {saved} is the file of {option}, too")
        self.assertEqual((matrix.read_bytes(), rhs.read_text()), (before, "1\n1\n"))
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["A.npy", "b.csv", "link"])
        self.assert_refused(strata(*words, "--save-config", ""), "--save-config: the name of the file is empty")
        self.assert_refused(strata("plot", matrix, "--save-config", matrix), "the file of files, too")
        layers = self.path("fp32")  # a word of another option that is no file's name
        self.assertEqual(strata(*words, "--layers", layers.name, "--save-config", layers).code, 0)
        config = self.config("refine = gmres")  # the file that the options came from
        self.assertEqual(strata(*words, "--config", config, "--save-config", config).code, 0)
        self.assertIn('refine="gmres"', config.read_text())

    def test_a_run_that_fails_leaves_an_older_file(self):
        path = self.config("n = 5")
        for words, code in (
            (("solve", "--matrix", self.path("none.mtx")), 2),
            (("solve", "--generate", "minij", "--n", 5, "--max-memory", "1"), 2),
            (("solve", "--generate", "poisson7", "--n", 50, "--max-memory", "1"), 2),
            (("mle", "--locations", self.path("none.csv"), "--theta", "medium", "--evaluate"), 2),
            (("hpgmxp", "--nx", 7), 2),
            (("plot", path), 2),
        ):
            with self.subTest(words=words):
                run = strata(*words, "--save-config", self.path("old.toml") if words[0] == "plot" else path)
                self.assertEqual(run.code, code, run.err)
                self.assertEqual(path.read_text(), "n = 5\n")
        self.assertFalse(self.path("old.toml").exists())
        write_mtx(self.path("A.mtx"), tridiagonal(20, changed={7: -4.0}))
        self.assertEqual(strata("solve", "--dense", "--matrix", self.path("A.mtx"), "--save-config", path).code, 3)
        self.assertIn("dense=true", path.read_text())  # it came to its end

    def test_is_there_for_each_command(self):
        for command in COMMANDS:
            text = strata(command, "--help", "all").out
            self.assertRegex(text, r"(?m)^  --config FILE +options from this file")
            self.assertRegex(text, r"(?m)^  --save-config FILE +write the options")
        self.assertEqual(strata("info", "--json", "--save-config", self.path("i")).code, 0)
        self.assertEqual(json.loads(strata("info", "--config", self.path("i")).out)["schema"], "strata.info/1")

    def test_ranks_save_once(self):
        launcher = os.environ.get("STRATA_MPIEXEC")
        if not launcher:
            self.skipTest("no MPI")
        words = [launcher, "-n", "2", PROGRAM, "solve", "--generate", "poisson7", "--n", "6", "--save-config", str(self.path("s.toml"))]
        run = subprocess.run(words, capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["s.toml"])
        self.assertIn('generate="poisson7"', self.path("s.toml").read_text())


if __name__ == "__main__":
    unittest.main()
