# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The files of a source that git tracks. A copy of a source without git's own folder, or a machine without git, can't tell them."""
import subprocess
import sys


def tracked(root, *patterns):
    """Names of those that match. Ends with exit code 77, which skips a test, where git tells none."""
    try:
        told = subprocess.run(["git", "-C", root, "ls-files", "-z", *patterns], capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        told = ""
    if not told:
        print("the source is no clone of git, which would tell its files")
        sys.exit(77)
    return told.rstrip("\0").split("\0")
