#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""docs/site/run_pages.py finds what is wrong with a page, and only that: pages.py TOP"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(sys.argv.pop(1)).resolve() / "docs/site/run_pages.py"


def console(*lines, measured=False):
    return "\n".join([f"```console{' measured' * measured}", *lines, "```", ""])


class Pages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name).resolve()
        for part in ("apps/data", "examples", "docs/start", "docs/figures/tutorials", "tree"):
            (self.top / part).mkdir(parents=True)
        (self.top / "examples/known.cpp").write_text("int a;\nint b;\nint c;\n")
        (self.top / "README.md").write_text("# Nothing to run\n")
        self.page = self.top / "docs/start/page.md"

    def run_pages(self, text, how="--check", *more):
        self.page.write_text(text)
        return subprocess.run([sys.executable, SCRIPT, how, *more, self.top, self.top / "tree"], capture_output=True, text=True)

    def assert_holds(self, text, *more):
        run = self.run_pages(text, "--check", *more)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def assert_differs(self, text, *words):
        run = self.run_pages(text)
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        for word in words:
            self.assertIn(word, run.stdout)

    def test_numbers_may_differ_by_the_rule_and_words_may_not(self):
        said = "$ echo error 2e-16, 100 steps, 1000.0 mm, 3.5 s, 28 GB/s, -2.5x"
        self.assert_holds(console(said, "error 3.1e-17, 60 steps, 1900.0 mm, 900 s, 1.0 GB/s, 1.0x"))
        self.assert_differs(console(said, "error 3.1e-17, 99 steps, 2100.0 mm, 900 s, 1.0 GB/s, 1.0x"), "2100.0", "1000.0")
        self.assert_differs(console(said, "error 2e-10, 100 steps, 1000.0 mm, 3.5 s, 28 GB/s, -2.5x"), "2e-10")
        self.assert_differs(console(said, "error 2e-16, 100 leaps, 1000.0 mm, 3.5 s, 28 GB/s, -2.5x"), "leaps", "steps")
        self.assert_differs(console("$ echo in fp16", "in fp32"), "fp32")
        self.assert_holds(console("$ echo 1 of 9", "1000 of 2", measured=True))

    def test_lines_are_left_out_where_it_says_so_only(self):
        lines = "$ printf 'a\\nb 1\\nc\\nd\\n'"
        self.assert_holds(console(lines, "a", "b 1", "c", "d"))
        self.assert_holds(console(lines, "...", "b 1", "...", "d"))
        self.assert_differs(console(lines, "a", "b 1", "c"), "came: d")
        self.assert_differs(console(lines, "...", "c", "...", "b 1", "..."), "page: b 1")
        self.assert_differs(console(lines, "...", "c"), "page: c")

    def test_commands_share_a_folder_and_must_succeed(self):
        self.assert_holds(console("$ echo one > file", "$ cat \\", "  file", "one") + console("$ cat file", "one"))
        self.assert_differs(console("$ echo gone; exit 3", "gone"), "exit status 3")
        self.assert_differs(console("no command"), "begins with '$ '")

    def test_code_is_a_file_or_of_one(self):
        self.assert_holds("Save this as `one.py`:\n\n```python\nprint(1)\n```\n\n" + console("$ python3 one.py", "1"))
        self.assert_holds("From [known](../../examples/known.cpp):\n\n```cpp\nint a;\n...\nint c;\n```\n")
        self.assert_differs("From [known](../../examples/known.cpp):\n\n```cpp\nint c;\n...\nint a;\n```\n", "no such lines", "int a;")
        self.assert_differs("So:\n\n```cpp\nint a;\n```\n", "neither a file")

    def test_readme_has_files_beside_other_code(self):
        readme = "```cpp\nint a;\n```\n\nThis is `one.py`:\n\n```python\nprint({})\n```\n\n" + console("$ python3 one.py", "one")
        (self.top / "README.md").write_text(readme.format("'one'"))
        self.assert_holds(console("$ echo 1", "1"))
        (self.top / "README.md").write_text(readme.format("'two'"))
        self.assert_differs(console("$ echo 1", "1"), "came: two")

    def test_what_a_page_needs_is_asked_for(self):
        page = "<!-- needs: ranks -->\n" + console("$ echo 1", "1")
        self.assert_holds(page, "--have", "c,ranks")
        self.assert_holds(page.replace("ranks", "python3-json"))
        run = self.run_pages(page)
        self.assertIn("left out, needs ranks", run.stdout)
        self.assertEqual(run.returncode, 1, "nothing was run")

    def test_a_page_is_written_as_it_is_laid_out(self):
        page = "![it](../figures/tutorials/it.svg)\n" + console("$ printf 'a 1\\nb 2\\nc 3\\n'", "...", "b ?", "...")
        self.assert_differs(page, "no command makes it.svg")
        page += console("$ echo '<svg/>' > it.svg")
        self.assert_differs(page, "page: b ?")
        self.assertEqual(self.run_pages(page, "--write").returncode, 0)
        self.assertEqual(self.page.read_text(), page.replace("b ?", "b 2"))
        self.assertEqual((self.top / "docs/figures/tutorials/it.svg").read_text(), "<svg/>\n")
        self.assert_holds(self.page.read_text())


if __name__ == "__main__":
    unittest.main()
