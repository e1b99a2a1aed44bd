#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Make the site: the repository's pages, and the program's own help as a reference, by Sphinx.

make.py TOP PROGRAM FOLDER: takes the pages of TOP and what `PROGRAM --help` says, writes FOLDER/html and FOLDER/man. What Sphinx
warns of is an error, a link that leads nowhere too. Ends with 77 where Sphinx, MyST or Furo is not there.
"""

import pathlib
import re
import shutil
import subprocess
import sys

COMMANDS = ["solve", "mle", "hpgmxp", "info"]
PARTS = {
    "Start": ["README", "docs/README", "docs/first-steps", "docs/build", "docs/command-line"],
    "Use": ["docs/library", "docs/python", "docs/interoperability", "docs/precision", "docs/sparse", "docs/out-of-core", "docs/several-hosts",
            "docs/geostatistics", "docs/hpgmxp", "docs/limits"],
    "Reference": ["reference/strata"] + [f"reference/strata-{command}" for command in COMMANDS] + ["apps/data/README"],
    "Results": ["docs/results", "docs/benchmarks", "docs/figures/README"],
    "Develop": ["docs/architecture", "CONTRIBUTING", "CHANGELOG", "SUPPORT", "SECURITY", "XSDK"],
}
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def lay_out_pages(top, source):
    """Copies of the pages and of the files that they link to. A folder, of which a site shows nothing, is no link there."""
    for page in [page for part in PARTS.values() for page in part if not page.startswith("reference/")]:
        file = (top / f"{page}.md").resolve()

        def link(match):
            if re.match(r"[a-z]+:", match["target"]):
                return match[0]
            linked = (file.parent / match["target"]).resolve()
            if not linked.exists():
                raise SystemExit(f"{file}: {match['target']} is not there")
            if linked.is_dir():
                return match["text"]
            if linked.suffix != ".md":
                copy = source / linked.relative_to(top)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(linked, copy)
            return match[0]

        copy = source / f"{page}.md"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(LINK.sub(link, file.read_text()))


def lay_out_reference(program, source):
    """A page for the program and for each command: its help, as it is."""
    (source / "reference").mkdir()
    for command in [None, *COMMANDS]:
        words = [program, *([command] if command else []), "--help"]
        text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        name = f"strata-{command}" if command else "strata"
        title = f"strata {command}" if command else "strata"
        (source / f"reference/{name}.md").write_text(f"# {title}\n\n```text\n{text.rstrip()}\n```\n")


def lay_out_index(source):
    trees = [f"```{{toctree}}\n:caption: {part}\n:maxdepth: 1\n\n" + "\n".join(pages) + "\n```\n" for part, pages in PARTS.items()]
    (source / "index.md").write_text("# Strata\n\n" + "\n".join(trees))


def main(top, program, folder):
    try:
        import furo, myst_parser, sphinx  # noqa: E401, F401
    except ImportError as missing:
        print(f"no site is made here: {missing}")
        return 77
    top, folder = pathlib.Path(top).resolve(), pathlib.Path(folder)
    source = folder / "source"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    lay_out_pages(top, source)
    lay_out_reference(program, source)
    lay_out_index(source)
    for builder in ("html", "man"):
        words = [sys.executable, "-m", "sphinx", "-b", builder, "-W", "--keep-going", "-q", "-c", top / "docs/site", "-d", folder / "trees", source, folder / builder]
        if subprocess.run(words).returncode != 0:
            return 1
    print(f"the site: {folder / 'html/index.html'}; man pages: {folder / 'man'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
