#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Check the Containerfile, and run its steps for CPUs, as they are written, in a fresh Debian that mmdebstrap makes.

  try.py --lint                                                     hadolint's main rules; hadolint itself, where it is
  try.py [--kokkos FOLDER --kokkos-kernels FOLDER] [--mirror URL]   the steps, then `strata info` and a solve

Without a network that reaches the repositories of Kokkos, its sources come from the folders: the one thing that differs then. The steps
need mmdebstrap, Debian's mirror, 3 GB in TMPDIR and half an hour of a core or two.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
KNOWN = {"ARG", "FROM", "SHELL", "RUN", "COPY", "ENTRYPOINT", "CMD"}


def instructions(text):
    """(word, rest) of each, comments and broken lines put right."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return [tuple(line.split(None, 1)) for line in re.sub(r"\\\n\s*", " ", lines).splitlines() if line.strip()]


def lint(steps):
    """What is wrong, in sentences."""
    words = [word for word, _ in steps]
    found = [f"{word} is no instruction that is expected here" for word in words if word not in KNOWN]
    begin = words.index("FROM") if "FROM" in words else len(words)
    if any(word != "ARG" for word in words[:begin]) or words.count("FROM") != 1:
        found.append("one FROM comes first, after ARG alone")
    declared = {rest.partition("=")[0] for word, rest in steps[begin:] if word == "ARG"}
    for word, rest in steps:
        if word == "FROM" and re.search(r":latest\b|^[^:$]*$", rest):
            found.append(f"FROM {rest} has no tag")
        if word != "RUN":
            continue
        used = set(re.findall(r"\$\{?([A-Z_]+)", rest))
        found += [f"{name} is used, but no ARG after FROM declares it" for name in sorted(used - declared)]
        if "apt-get install" in rest:
            for part in ("apt-get update", "--yes", "--no-install-recommends", "rm -rf /var/lib/apt/lists/*"):
                if part not in rest:
                    found.append(f"apt-get install without {part}")
        shell = subprocess.run(["bash", "-n", "-c", rest], capture_output=True, text=True, check=False)
        if shell.returncode:
            found.append(f"RUN: {shell.stderr.strip()}")
    for word, rest in steps:
        if word in ("ENTRYPOINT", "CMD", "SHELL") and not rest.startswith("["):
            found.append(f"{word} is not a list in brackets")
    if "build/" not in (SOURCE / ".dockerignore").read_text().splitlines():
        found.append(".dockerignore leaves build/ in")
    return found


def script_of(steps, kokkos):
    """The steps as one program for the new system, which has the source in /source."""
    lines, shell, entry, command = ["set -ex"], "bash -c", "", ""
    for word, rest in steps:
        name, equals, value = rest.partition("=")
        if word == "ARG" and equals and name != "BASE":
            lines.append(f'export {name}="{value}"')
        elif word == "SHELL":
            shell = " ".join(f"'{part}'" for part in re.findall(r'"([^"]*)"', rest))
        elif word == "COPY":
            source, target = rest.split()
            assert source == ".", rest
            lines.append(f"mkdir -p {target} && cp -a /source/. {target}")
        elif word == "RUN":
            if kokkos:
                rest = rest.replace("-DStrata_FETCH_KOKKOS=ON", f"-DStrata_FETCH_KOKKOS=ON {kokkos}")
            lines.append(f"{shell} " + "'" + rest.replace("'", "'\\''") + "'")
        elif word == "ENTRYPOINT":
            entry = " ".join(re.findall(r'"([^"]*)"', rest))
        elif word == "CMD":
            command = " ".join(re.findall(r'"([^"]*)"', rest))
    return "\n".join([*lines, f"{entry} {command}", f"{entry} info", f"{entry} solve --generate geometric --n 300 --cond 1e4", ""])


def run(steps, arguments):
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        work.chmod(0o755)  # mmdebstrap may be another user in there
        (work / "source").mkdir()
        files = subprocess.run(["git", "-C", SOURCE, "ls-files", "-z"], capture_output=True, check=True).stdout
        tar = subprocess.run(["tar", "-C", SOURCE, "--null", "--files-from=-", "-c"], input=files, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-C", work / "source", "-x"], input=tar, check=True)
        sources = {"KOKKOS": arguments.kokkos, "KOKKOS_KERNELS": arguments.kokkos_kernels}
        for name, given in sources.items():
            if given:
                shutil.copytree(given, work / name, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        options = " ".join(f"-DStrata_{name}_SOURCE=/{name}" for name, given in sources.items() if given)
        (work / "steps.sh").write_text(script_of(steps, options))
        done = subprocess.run(
            ["mmdebstrap", "--mode=auto", "--variant=apt", "--format=null", "--dpkgopt=force-unsafe-io",
             "--aptopt=Acquire::Check-Valid-Until \"false\"", f'--customize-hook=cp -a "{work}"/. "$1/"',
             '--customize-hook=chroot "$1" bash /steps.sh', "trixie", "-", f"deb {arguments.mirror} trixie main"], check=False)
    if done.returncode:
        sys.exit("a step failed")
    print("the steps for CPUs run in a fresh trixie, and the program that they install solves")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lint", action="store_true")
    parser.add_argument("--kokkos", type=pathlib.Path)
    parser.add_argument("--kokkos-kernels", type=pathlib.Path)
    parser.add_argument("--mirror", default=os.environ.get("STRATA_DEBIAN_MIRROR"), help="a Debian mirror; default: STRATA_DEBIAN_MIRROR")
    parser.add_argument("--file", type=pathlib.Path, default=HERE / "Containerfile")
    arguments = parser.parse_args()
    steps = instructions(arguments.file.read_text())
    found = lint(steps)
    if hadolint := shutil.which("hadolint"):
        done = subprocess.run([hadolint, arguments.file], capture_output=True, text=True, check=False)
        found += done.stdout.splitlines() if done.returncode else []
    if found:
        sys.exit("\n".join(found))
    if not arguments.lint:
        if not arguments.mirror:
            parser.error("name a Debian mirror by --mirror or STRATA_DEBIAN_MIRROR")
        run(steps, arguments)


if __name__ == "__main__":
    main()
