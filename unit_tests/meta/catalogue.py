#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What examples/README.md says that the examples print comes of them: catalogue.py TOP BUILD

Numbers may differ as in docs/site/run_pages.py; `..` stands for the rest of a line. Each example has a row. Exit status 1 and what
differs otherwise; examples that this build lacks are left out.
"""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

ROW = re.compile(r"^\| \[(\d\d_\w+)\.(\w+)\]\(\1\.\2\) \|.*\| (.*) \|$", re.M)


def rows(text):
    """(name, suffix, lines) of each example in the catalogue."""
    return [(name, suffix, re.findall(r"`([^`]+)`", prints)) for name, suffix, prints in ROW.findall(text)]


def differs(pages, said, came):
    """What is wrong with the lines that an example printed, or nothing."""
    if len(said) != len(came):
        return f"{len(came)} lines, the catalogue has {len(said)}"
    for line, printed in zip(said, came):
        if line.endswith(".."):
            begin = line[:-2].rstrip()
            printed = " ".join(printed.split()[: len(begin.split())])
            line = begin
        if not pages.agree(line, printed):
            return f"printed {printed!r}, the catalogue has {line!r}"
    return ""


def command_of(build, name, suffix):
    """How an example is run, or nothing if this build lacks it."""
    if suffix == "py":
        source = pathlib.Path(sys.argv[1]) / f"examples/{name}.py"
        return [sys.executable, source] if any((build / "python/strata").glob("_core*.so")) else None
    program = build / f"examples/strata_example_{name}"
    return [program] if program.is_file() else None


def self_test(pages):
    found = rows("| program | shows | prints |\n| [01_a.cpp](01_a.cpp) | b ([c](../d.md)) | with 1 rank: `x 1`<br>`y 2, ..` |\n")
    assert found == [("01_a", "cpp", ["x 1", "y 2, .."])], found
    assert not differs(pages, ["x 1.0", "y 2, .."], ["x 1.1", "y 2, and more 3"])
    for bad in (["x 1.0"], ["x 9.0", "y 2, z"], ["x 1.0", "z 2, z"]):
        assert differs(pages, ["x 1.0", "y 2, .."], bad), bad


def main():
    top, build = (pathlib.Path(folder).resolve() for folder in sys.argv[1:3])
    spec = importlib.util.spec_from_file_location("run_pages", top / "docs/site/run_pages.py")
    pages = importlib.util.module_from_spec(spec)
    sys.modules["run_pages"] = pages
    spec.loader.exec_module(pages)
    self_test(pages)
    catalogue = rows((top / "examples/README.md").read_text(encoding="utf-8"))
    offences = [f"{path.name} is not in the catalogue" for path in sorted((top / "examples").glob("[0-9][0-9]_*"))
                if path.stem not in [name for name, _, _ in catalogue]]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(build / "python")}
    tried = 0
    for name, suffix, said in catalogue:
        command = command_of(build, name, suffix)
        if not command or name.startswith("11_"):  # Trilinos' has ranks of its own
            continue
        tried += 1
        run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
        what = differs(pages, said, run.stdout.splitlines()) if run.returncode == 0 else f"exit status {run.returncode}: {run.stderr}"
        if what:
            offences.append(f"{name}: {what}")
    print(*offences, f"{tried} examples, {len(offences)} offences", sep="\n")
    return 1 if offences or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
