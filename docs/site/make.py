#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Make the site: the repository's pages, and the program's own help as a reference, by Sphinx.

make.py TOP PROGRAM FOLDER: takes the pages of TOP and what `PROGRAM --help` says, writes FOLDER/html and FOLDER/man anew. What Sphinx
warns of is an error; so are a link in Markdown whose page, heading or file is not there, and a page of docs/ that is in no part. Ends
with 77 where Sphinx, MyST or Furo is not there.
"""

import pathlib
import re
import shutil
import subprocess
import sys

PARTS = {
    "Start": ["README", "docs/README", "docs/start/cpu", "docs/start/nvidia", "docs/start/amd", "docs/start/python", "docs/start/cpp",
              "docs/start/c", "docs/start/lapack", "docs/start/trilinos", "docs/start/ranks", "docs/build", "docs/command-line"],
    "Tutorials": ["docs/tutorials/choose-layers", "docs/tutorials/ladder", "docs/tutorials/log-determinants", "docs/tutorials/kriging",
                  "docs/tutorials/trend", "docs/tutorials/stiffness", "docs/tutorials/out-of-core",
                  "docs/tutorials/own-preconditioner", "docs/tutorials/hpg-mxp", "docs/tutorials/benchmark"],
    "Use": ["docs/library", "docs/python", "docs/interoperability", "docs/precision", "docs/sparse", "docs/out-of-core", "docs/several-hosts",
            "docs/geostatistics", "docs/hpgmxp", "docs/limits"],
    "Data": ["apps/data/README"],
    "Results": ["docs/results", "docs/benchmarks", "docs/figures/README"],
    "Develop": ["docs/architecture", "CONTRIBUTING", "CHANGELOG", "SUPPORT", "SECURITY", "XSDK"],
}
PAGES = [page for part in PARTS.values() for page in part]
# Code, which is kept as it is, or a link.
LINK = re.compile(r"^```.*?^```$|^(?: {4}|\t)[^\n]*|`[^`\n]*`|\[(?P<text>[^\]]*)\]\((?P<target>[^)#\s]+)(?:#[^)\s]*)?\)", re.MULTILINE | re.DOTALL)


def require(condition, text):
    if not condition:
        raise SystemExit(text)


def lay_out_pages(top, source):
    """Copies of the pages and of the files that they link to. A folder, of which a site shows nothing, is no link there."""
    for file in (top / "docs").rglob("*.md"):
        page = file.relative_to(top).with_suffix("").as_posix()
        require(page in PAGES, f"{page}.md is in no part of the site")
    for page in PAGES:
        file = top / f"{page}.md"

        def link(match):
            if match["target"] is None or re.match(r"[a-z]+:", match["target"]):
                return match[0]
            linked = (file.parent / match["target"]).resolve()
            require(linked.exists(), f"{file}: {match['target']} is not there")
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
    """A page for the program and for each command that it names: its help, as it is. Returns what each is."""

    def help_of(*command):
        return subprocess.run([program, *command, "--help"], check=True, capture_output=True, text=True).stdout.rstrip()

    (source / "reference").mkdir()
    listed = re.search(r"^Subcommands:\n((?:  .*\n)+)", help_of(), re.MULTILINE)
    require(listed, f"{program} --help lists no subcommands")
    described = {"strata": "mixed-precision solvers"}
    described |= {f"strata {name}": text for name, text in re.findall(r"^  (\w+) +(.*)$", listed[1], re.MULTILINE)}
    for words in described:
        text = f"# {words}\n\n```text\n{help_of(*words.split()[1:])}\n```\n"
        (source / f"reference/{words.replace(' ', '-')}.md").write_text(text)
    return {words.replace(" ", "-"): text for words, text in described.items()}


def lay_out_index(source, parts):
    trees = [f"```{{toctree}}\n:caption: {part}\n:maxdepth: 1\n\n" + "\n".join(pages) + "\n```\n" for part, pages in parts.items()]
    (source / "index.md").write_text("# Strata\n\n" + "\n".join(trees))


def main(top, program, folder):
    try:
        import furo, myst_parser, sphinx  # noqa: E401, F401
    except ImportError as missing:
        print(f"no site is made here: {missing}")
        return 77
    top, folder = pathlib.Path(top).resolve(), pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    source = folder / "source"
    source.mkdir(parents=True)
    lay_out_pages(top, source)
    described = lay_out_reference(program, source)
    reference = {name: f"reference/{name}" for name in described}
    lay_out_index(source, PARTS | {"Reference": reference.values()})
    manual = [(reference[name], name, text, "The Strata authors", 1) for name, text in described.items()]
    (source / "conf.py").write_text((top / "docs/site/conf.py").read_text() + f"man_pages = {manual!r}\n")
    for builder in ("html", "man"):
        words = [sys.executable, "-m", "sphinx", "-b", builder, "-W", "--keep-going", "-q", "-d", folder / "trees", source, folder / builder]
        if subprocess.run(words).returncode != 0:
            return 1
    print(f"the site: {folder / 'html/index.html'}; man pages: {folder / 'man'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
