#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Builds the package for R and has R check it: its pages, its examples, its tests. Scripts are run with the package as it is then.

Exit status 77, in words, where there is no R.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

NEEDED = {"R": "r-base-core", "make": "make", "gcc": "gcc"}


def run(command, **how):
    print("$", *command, flush=True)
    return subprocess.run(command, check=False, **how).returncode


def environment(args):
    folder = args.library.parent
    index = args.work / "repository" / "src" / "contrib" / "PACKAGES"  # R CMD check looks for packages, and finds none without the network
    index.parent.mkdir(parents=True)
    index.touch()
    (args.work / "profile.R").write_text(f"options(repos = c(CRAN = 'file://{args.work}/repository'))\n")
    return {**os.environ, "LC_ALL": "C.UTF-8", "STRATA_CFLAGS": f"-I{args.header}", "STRATA_LIBS": f"-L{folder} -lstrata_c -Wl,-rpath,{folder}",
            "R_PROFILE_USER": str(args.work / "profile.R"), "_R_CHECK_FORCE_SUGGESTS_": "false", "_R_CHECK_CRAN_INCOMING_": "false"}


def check(args, known):
    """R CMD check of the built package: no error, no warning, no note."""
    if run(["R", "CMD", "build", "--no-build-vignettes", str(args.package)], cwd=args.work, env=known):
        return "the package is not built"
    built = max(args.work.glob("strata_*.tar.gz"))
    log = args.work / "strata.Rcheck"
    failed = run(["R", "CMD", "check", "--no-manual", built.name],
                 cwd=args.work, env=known)
    said = (log / "00check.log").read_text() if (log / "00check.log").exists() else ""
    if failed or "Status: OK" not in said:
        for more in sorted(log.glob("tests/*.fail")):
            print(more.read_text()[-3000:])
        return "R CMD check has something to say"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--package", "--header", "--library", "--work"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("scripts", nargs="*", type=pathlib.Path, help="run by Rscript with the package")
    args = parser.parse_args()
    missing = [package for program, package in NEEDED.items() if not shutil.which(program)]
    if missing:
        print(f"skipped: not installed: {', '.join(missing)} (Debian's names); the system of ./bootstrap test --all has them")
        return 77
    shutil.rmtree(args.work, ignore_errors=True)
    (args.work / "library").mkdir(parents=True)
    known = environment(args)
    wrong = check(args, known)
    if not wrong and args.scripts:
        run(["R", "CMD", "INSTALL", "--no-docs", "--library=library", max(args.work.glob("strata_*.tar.gz")).name], cwd=args.work, env=known)
        for script in args.scripts:
            if run(["Rscript", str(script)], env={**known, "R_LIBS": str(args.work / "library")}):
                wrong = f"{script.name} failed"
    print(f"failed: {wrong}" if wrong else "R is content")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
