#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Make the site: the repository's pages, and a reference of the program, the JSON, C++, C and Python, by Sphinx.

make.py TOP PROGRAM FOLDER [--html] [--reference=FOLDER]: takes the pages of TOP, what `PROGRAM --help` says, the schemas, the headers by
Doxygen, whose XML is in the FOLDER of --reference if cpp.py was there, and the package for Python that is built beside the program; writes
FOLDER/html, FOLDER/man and FOLDER/strata.pdf anew, with --html the first alone. What Sphinx or Doxygen warns of is an
error; so are a link whose page, heading or file is not there, and a page of docs/ that is in no part. Ends with 77 where Sphinx, MyST,
Furo, Breathe, Doxygen or matplotlib is not there; without WeasyPrint it makes no PDF and says so.
"""

import importlib.util
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

import cpp
import pdf
import python_api
import schemas

PARTS = {
    "Start": ["README", "docs/README", "docs/start/cpu", "docs/start/nvidia", "docs/start/amd", "docs/start/python", "docs/start/cpp",
              "docs/start/c", "docs/start/lapack", "docs/start/trilinos", "docs/start/ranks", "docs/start/jobs", "docs/build", "docs/command-line", "docs/troubles", "docs/glossary",
              "docs/cite"],
    "Tutorials": ["docs/tutorials/choose-layers", "docs/tutorials/ladder", "docs/tutorials/log-determinants", "docs/tutorials/sampling", "docs/tutorials/online", "docs/tutorials/exact-gp", "docs/tutorials/saddle-points", "docs/tutorials/kriging",
                  "docs/tutorials/trend", "docs/tutorials/which-solver", "docs/tutorials/stiffness", "docs/tutorials/out-of-core",
                  "docs/tutorials/own-preconditioner", "docs/tutorials/hpg-mxp", "docs/tutorials/benchmark"],
    "Use": ["docs/library", "examples/README", "docs/python", "docs/interoperability", "docs/precision", "docs/sparse", "docs/out-of-core", "docs/several-hosts",
            "docs/several-hosts-memory", "docs/several-hosts-programs",
            "docs/geostatistics", "r/README", "docs/hpgmxp", "docs/limits", "docs/moved"],
    "Ideas": ["docs/ideas/layers", "docs/ideas/integers", "docs/ideas/refinement", "docs/ideas/ladder", "docs/ideas/precision-maps", "docs/ideas/static-schedule",
              "docs/ideas/multigrid", "docs/ideas/likelihoods", "docs/ideas/neighbours", "docs/ideas/hpgmxp-rules"],
    "Data": ["apps/data/README"],
    "Results": ["docs/results", "docs/results/dense-gpu", "docs/results/dense-factor", "docs/results/dense-cpu",
                "docs/results/batches", "docs/results/accuracy", "docs/results/out-of-core", "docs/results/several-hosts", "docs/results/covariances",
                "docs/results/hpgmxp", "docs/results/sparse", "docs/results/python", "docs/results/gallery", "docs/benchmarks", "docs/figures/README"],
    "Develop": ["docs/architecture", "docs/develop/kernel", "docs/develop/format", "docs/develop/solver", "docs/develop/backend",
                "docs/develop/testing", "docs/develop/measuring", "docs/develop/tried", "CONTRIBUTING", "CHANGELOG", "SUPPORT", "SECURITY", "XSDK"],
}
REFERENCE = ["docs/settings"]  # written by hand; make.py adds what is generated
PAGES = [page for part in [*PARTS.values(), REFERENCE] for page in part]
# Code, which is kept as it is, or a link, also one in raw HTML.
LINK = re.compile(r"^```.*?^```$|^(?: {4}|\t)[^\n]*|`[^`\n]*`|\[(?P<text>[^\]]*)\]\((?P<target>[^)#\s]+)(?:#[^)\s]*)?\)"
                  r"|<(?:img|a|source)\b[^>]*?\s(?:src|href)=[\"'](?P<raw>[^\"'#]+)", re.MULTILINE | re.DOTALL)


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
            target = match["target"] or match["raw"]
            if target is None or re.match(r"[a-z]+:", target):
                return match[0]
            linked = (file.parent / target).resolve()
            require(linked.exists(), f"{file}: {target} is not there")
            if linked.is_dir():
                return match["text"] or match[0]
            if linked.suffix != ".md":
                copy = source / linked.relative_to(top)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(linked, copy)
            return match[0]

        copy = source / f"{page}.md"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(LINK.sub(link, file.read_text()))


def lay_out_commands(program, source):
    """A page for the program and for each command that it names: its help, as it is. Returns what each is."""

    def help_of(*command):
        return subprocess.run([program, *command, "--help", "all"], check=True, capture_output=True, text=True).stdout.rstrip()

    listed = re.search(r"^Commands:\n((?:  .*\n)+)", help_of(), re.MULTILINE)
    require(listed, f"{program} --help lists no commands")
    described = {"strata": "mixed-precision solvers"}
    described |= {f"strata {name}": text for name, text in re.findall(r"^  (\w+) +(.*)$", listed[1], re.MULTILINE)}
    for words in described:
        text = f"# {words}\n\n```text\n{help_of(*words.split()[1:])}\n```\n"
        (source / f"reference/{words.replace(' ', '-')}.md").write_text(text)
    return {words.replace(" ", "-"): text for words, text in described.items()}


def lay_out_index(source, parts):
    """The first page: what docs/README.md has up to its second heading, whose links it has from another folder; the menu has the tree of pages."""
    first = re.split(r"^## ", (source / "docs/README.md").read_text(), flags=re.MULTILINE)
    doors = re.sub(r"(\]\(|src=\")(?!\w+:)([^)\"]+)", lambda m: m[1] + posixpath.normpath(f"docs/{m[2]}"), "## ".join(first[:2]))
    doors = doors.replace("# Documentation", "# Strata", 1)
    trees = [f"```{{toctree}}\n:caption: {part}\n:maxdepth: 1\n:hidden:\n\n" + "\n".join(pages) + "\n```\n" for part, pages in parts.items()]
    (source / "index.md").write_text(doors + "\n" + "\n".join(trees))


def main(top, program, folder, *choices):
    reference = next((choice.removeprefix("--reference=") for choice in choices if choice.startswith("--reference=")), None)
    try:
        import breathe, furo, matplotlib, myst_parser, sphinx  # noqa: E401, F401
    except ImportError as missing:
        print(f"no site is made here: {missing}")
        return 77
    if not shutil.which("doxygen"):
        print("no site is made here: there is no doxygen")
        return 77
    others = [choice for choice in choices if choice != "--html" and not choice.startswith("--reference=")]
    require(not others, f"what is {' '.join(others)}?")
    top, folder = pathlib.Path(top).resolve(), pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    source = folder / "source"
    source.mkdir(parents=True)
    lay_out_pages(top, source)
    (source / "reference").mkdir()
    described = lay_out_commands(program, source)
    doxygen = pathlib.Path(reference or folder / "doxygen").resolve()
    if not reference:
        warnings = cpp.run_doxygen(top, doxygen)
        require(not warnings, f"{warnings}a public symbol must say what it is")
    cpp.lay_out_cpp(top, doxygen, source / "reference")
    cpp.lay_out_c(source / "reference")
    schemas.lay_out_schemas(top, source / "reference")
    pages = [*described, "json", "cpp", "c"]
    package = python_api.built_package(pathlib.Path(program))
    if package:
        python_api.lay_out_python(source / "reference")
        pages.append("python")
    else:
        print("no reference of Python is made here: there is no package beside the program")
    lay_out_index(source, PARTS | {"Reference": [*REFERENCE, *(f"reference/{page}" for page in pages)]})
    manual = [(f"reference/{name}", name, text, "The Strata authors", 1) for name, text in described.items()]
    (source / "conf.py").write_text(f"""import sys

sys.path[:0] = [{str(top / "docs/site")!r}, {str(package)!r}]
html_static_path = [{str(top / "docs/site/static")!r}]
{(top / "docs/site/conf.py").read_text()}
man_pages = {manual!r}
breathe_projects = {{"strata": {str(doxygen)!r}}}
""")
    builders = [("html", []), ("man", []), ("singlehtml", ["-D", "html_theme=basic"])]
    for builder, options in builders[:1] if "--html" in choices else builders:
        words = [sys.executable, "-m", "sphinx", "-b", builder, "-W", "--keep-going", "-q", *options, "-d", folder / "trees", source, folder / builder]
        if subprocess.run(words).returncode != 0:
            return 1
    print(f"the site: {folder / 'html/index.html'}" + (f"; man pages: {folder / 'man'}" if "--html" not in choices else ""))
    if "--html" in choices:
        return 0
    if importlib.util.find_spec("weasyprint"):
        pdf.write_pdf(folder / "singlehtml/index.html", folder / "strata.pdf")
        print(f"the manual: {folder / 'strata.pdf'}")
    else:
        print("no PDF is made here: there is no WeasyPrint")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
