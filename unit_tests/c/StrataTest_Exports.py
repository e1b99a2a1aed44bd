#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The shared libraries export what their headers declare and LAPACK's names, and nothing else (xSDK policy M9)."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

LAPACK = {name + end for name in ("spotrf", "dpotrf", "spotrs", "dpotrs", "sposv", "dposv", "dsposv") for end in ("_", "_64_")}


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in lines.splitlines()}


def main():
    if not shutil.which("nm"):
        print("nm is not installed")
        return 77
    headers = "".join(pathlib.Path(header).read_text() for header in os.environ["STRATA_HEADERS"].split(":"))
    declared = set(re.findall(r"STRATA_API [^;(]*?\b(strata_\w+)\(", headers))
    drop_in = {name for name in declared if name.startswith("strata_lapack_")}
    failures = 0
    for variable, expected in (("STRATA_C_LIBRARY", declared - drop_in), ("STRATA_LAPACK_LIBRARY", drop_in | LAPACK)):
        found = exported(os.environ[variable])
        print(f"{os.environ[variable]}: {len(found)} symbols")
        for what, names in (("missing", expected - found), ("not declared", found - expected)):
            for name in sorted(names):
                print(f"  {what}: {name}")
                failures += 1
        failures += not expected
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
