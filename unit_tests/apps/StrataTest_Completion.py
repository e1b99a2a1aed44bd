#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""`strata completion`: what shells offer is what the program has."""
import functools
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from strata_program import APPS, PROGRAM, ProgramTest, strata

COMMANDS = {"solve", "mle", "hpgmxp", "plot", "completion", "info"}


@functools.cache
def script(shell):
    run = strata("completion", shell)
    assert (run.code, run.err) == (0, ""), run
    return run.out


@functools.cache
def options_of(command):
    listed = re.findall(r"(?m)^  (?:-h,)?(--[\w,-]+)", strata(command, "--help", "all").out)
    return {name for names in listed for name in names.split(",")}


class Bash(ProgramTest):
    def offered(self, *words, source=None):
        """What Bash offers for the last word."""
        source = source or script("bash")
        text = f'{source}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _strata; printf "%s\\n" "${{COMPREPLY[@]}}"'
        run = subprocess.run(["bash", "-c", text, "bash", *words], capture_output=True, text=True, env={**os.environ, "PATH": self.PATH})
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return set(run.stdout.split())

    PATH = f"{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}"

    def setUp(self):
        super().setUp()
        if not shutil.which("bash"):
            self.skipTest("no Bash")

    def test_offers_every_command_and_option(self):
        self.assertEqual(self.offered("strata", ""), COMMANDS | {"--help", "--version"})
        for command in COMMANDS:
            with self.subTest(command=command):
                options = options_of(command)
                self.assertGreater(len(options), 0)
                self.assertEqual(self.offered("strata", command, "--"), options)

    def test_offers_the_words_that_options_take(self):
        for words, expected in (
            (("solve", "--refine", ""), {"auto", "none", "classical", "cg", "gmres"}),
            (("solve", "--generate", "p"), {"poisson7", "poisson27"}),
            (("solve", "--layers", ""), {"auto"}),
            (("hpgmxp", "--basis", ""), {"auto", "fp32", "fp16"}),
            (("hpgmxp", "--run_type", "v"), {"validation"}),
            (("mle", "--theta", ""), {"weak", "medium", "strong"}),
            (("mle", "--standard-errors", "o"), {"on", "off"}),
            (("plot", "--kind", "k"), {"kriging"}),
            (("completion", "b"), {"bash"}),
        ):
            with self.subTest(words=words):
                self.assertEqual(self.offered("strata", *words), expected)

    def test_leaves_files_to_the_shell(self):
        for words in (("solve", "--matrix", ""), ("plot", "r"), ("plot", "--output", "")):
            self.assertEqual(self.offered("strata", *words), set())
        self.assertIn("complete -o default -F _strata strata", script("bash"))

    def test_what_is_installed_asks_the_program(self):
        source = (APPS / "completion" / "strata").read_text()
        self.assertEqual(self.offered("strata", "sol", source=source), {"solve"})


class OtherShells(ProgramTest):
    def test_all_options_are_there(self):
        for command in COMMANDS:
            for option in options_of(command):
                self.assertIn(f"'{option}[", script("zsh"))
                self.assertIn(f"'__fish_seen_subcommand_from {command}' -l {option[2:]} ", script("fish"))

    def test_syntax(self):
        for shell in ("zsh", "fish"):
            with self.subTest(shell=shell):
                if not shutil.which(shell):
                    self.skipTest(f"no {shell}")
                self.path("script").write_text(script(shell))
                run = subprocess.run([shell, "-n", self.path("script")], capture_output=True, text=True)
                self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_fish_offers(self):
        if not shutil.which("fish"):
            self.skipTest("no fish")
        self.path("script").write_text(script("fish"))
        for line, expected in (("strata so", "solve"), ("strata solve --refi", "--refine"), ("strata solve --refine cl", "classical")):
            run = subprocess.run(["fish", "-c", f"source {self.path('script')}; complete -C '{line}'"], capture_output=True, text=True)
            self.assertEqual([words.split("\t")[0] for words in run.stdout.splitlines()], [expected], run)

    def test_refuses_other_shells(self):
        self.assert_refused(strata("completion", "csh"), "csh")
        self.assert_refused(strata("completion"), "shell")

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "w") as full:
            self.assertEqual(subprocess.run([PROGRAM, "completion", "bash"], stdout=full, stderr=subprocess.DEVNULL).returncode, 1)


if __name__ == "__main__":
    unittest.main()
