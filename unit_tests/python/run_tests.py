# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Run pytest, if there is one, on the files that are named."""
import importlib.util
import sys

if __name__ == "__main__":
    for package in ("numpy", "scipy", "pytest"):
        if importlib.util.find_spec(package) is None:
            print(f"{package} is not installed")
            sys.exit(77)
    import pytest

    status = pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]])
    sys.exit(77 if status == pytest.ExitCode.NO_TESTS_COLLECTED else status)  # all of a file is skipped
