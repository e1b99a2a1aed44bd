# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The command `strata` of a wheel: it runs the program that the wheel carries."""

from __future__ import annotations

import os
import pathlib
import sys


def main() -> str:
    """Become the program. The text says why there is none."""
    program = pathlib.Path(__file__).resolve().parent / "bin" / "strata"
    if not program.exists():
        return "strata: this package was built without the program, which needs CLI11 >= 2.1 (Debian: libcli11-dev); install that, and the package again"
    os.environ.setdefault("STRATA_PYTHON", sys.executable)  # of `strata plot`
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
