#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Check that clang-format, in the version that .clang-format was written for, would change nothing."""
import argparse
import pathlib
import subprocess
import sys

VERSION = "19."
SKIPPED = 77


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("top", type=pathlib.Path)
    parser.add_argument("--clang-format", default="clang-format-19")
    arguments = parser.parse_args()
    try:
        version = subprocess.run([arguments.clang_format, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        print("clang-format 19 is not installed")
        return SKIPPED
    if f"version {VERSION}" not in version.stdout:
        print(f"this check needs clang-format {VERSION}x, found: {version.stdout.strip()}")
        return SKIPPED
    files = [
        str(path)
        for path in sorted(arguments.top.rglob("*.[hc]pp"))
        if not path.relative_to(arguments.top).parts[0].startswith("build")
    ]
    return subprocess.run([arguments.clang_format, "--dry-run", "--Werror", *files]).returncode


if __name__ == "__main__":
    sys.exit(main())
