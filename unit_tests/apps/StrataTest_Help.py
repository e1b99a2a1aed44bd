# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""--help and --version: short and whole, as wide as the terminal; old names of options."""
import re
import unittest

from strata_program import ProgramTest, load_valid, strata

GENERATE = ["--generate", "geometric", "--n", "200", "--cond", "1e3"]


class Help(ProgramTest):
    def test_help_and_version_succeed(self):
        for arguments in (["--help"], ["solve", "--help"], ["info", "--help"], ["--version"]):
            run = strata(*arguments)
            self.assertEqual((run.code, run.err), (0, ""))
            self.assertIn("strata", run.out)


    def test_help_begins_with_two_examples(self):
        first = strata()
        self.assertEqual((first.code, first.out), (2, ""))
        self.assertEqual(first.err, strata("--help").out)
        commands = re.findall(r"(?m)^  (\w+) {5,}", first.err.split("Commands:")[1])
        self.assertGreaterEqual(set(commands), {"solve", "mle", "hpgmxp", "plot", "info"})
        for words in ([], *([command] for command in commands)):
            text = strata(*words, "--help").out
            examples = re.search(r"(?s)^[^\n]+\nUsage: [^\n]+\n\nExamples:\n((?:  [^\n]+\n)+)\n", text)
            self.assertTrue(examples, text)
            lines = examples[1].splitlines()
            self.assertEqual(len(lines), 2)
            self.assertNotRegex(text, r"\n\n\n|:(SIZE|POSITIVE|NONNEGATIVE|\{)| \n", "names of checks, which CLI11 shows behind a type, or gaps")
            for line in lines:
                self.assertIn(" ".join(["strata", *words]), line)
                command = re.search(r"strata (\w+)", line)[1]
                for option in re.findall(r" (--[\w-]+)", line):
                    self.assertRegex(strata(command, "--help", "all").out, rf"(?m)^  {option}[ ,\n]")


    def test_help_is_short_and_help_all_is_whole(self):
        for command, first, rest in (("solve", "--matrix", "--checkpoint"), ("mle", "--theta", "--search"), ("hpgmxp", "--nx", "--colouring")):
            short, whole = (strata(command, *words).out for words in (["--help"], ["--help", "all"]))
            names = [re.findall(r"(?m)^  (--[\w-]+)", text) for text in (short, whole)]
            self.assertLess(set(names[0]), set(names[1]))
            self.assertEqual((first in names[0], rest in names[0], rest in names[1]), (True, False, True))
            self.assertIn(f"strata {command} --help all: {len(names[1]) - len(names[0])} more options.", short)
            self.assertNotIn("more options", whole)
            self.assertEqual(len(re.findall("(?m)^--tolerance of", short)), 3, "the three tolerances side by side")
            self.assertEqual(strata("help", command, "all").out, whole)

    def test_help_is_no_wider_than_the_terminal(self):
        for columns in ("60", "80", "120"):
            for command in ("solve", "mle", "hpgmxp", "info", "plot"):
                text = strata(command, "--help", "all", env={"COLUMNS": columns}).out.split("\n\n", 2)[2]
                wide = [line for line in text.splitlines() if len(line) > int(columns) and len(line.split()) > 2]
                self.assertEqual(wide, [], f"strata {command}, {columns} columns")
        self.assertNotEqual(strata("solve", "--help", env={"COLUMNS": "60"}).out, strata("solve", "--help").out)

    def test_old_names_of_options_work_with_a_hint(self):
        run = strata("solve", *GENERATE, "--layers", "fp16,fp32", "--leaf=16", "--json", self.path("r.json"))
        self.assertEqual((run.code, run.err), (0, "strata: --leaf is now called --leaf-size; the old name works until 0.4\n"))
        report = load_valid(self.path("r.json"), "solve")
        self.assertEqual((report["leaf_size"], report["leaf"]), (16, 16))
        self.path("old.toml").write_text("leaf=16\n")
        run = strata("solve", *GENERATE, "--config", self.path("old.toml"), "--json", self.path("r.json"))
        self.assertEqual((run.code, load_valid(self.path("r.json"), "solve")["leaf_size"]), (0, 16))


if __name__ == "__main__":
    unittest.main()
