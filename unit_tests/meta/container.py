#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The Containerfile has none of the faults that packaging/container/try.py --lint knows; and it finds each of them where it is put in.

usage: container.py SOURCE_FOLDER
"""
import pathlib
import subprocess
import sys
import tempfile

# What is exchanged for what, and a word of what is said then.
FAULTS = (
    ("ARG BACKEND=OPENMP\n", "", "BACKEND is used, but no ARG after FROM declares it"),
    ("--no-install-recommends ", "", "without --no-install-recommends"),
    ("  && rm -rf /var/lib/apt/lists/*", "  && true", "without rm -rf /var/lib/apt/lists/*"),
    ("FROM ${BASE}", "FROM debian:latest", "FROM debian:latest has no tag"),
    ("FROM ${BASE}", "FROM debian", "FROM debian has no tag"),
    ("FROM ${BASE}", "ENV A=b\nFROM ${BASE}", "ENV is no instruction that is expected here"),
    ('ENTRYPOINT ["/usr/local/bin/strata"]', "ENTRYPOINT /usr/local/bin/strata", "ENTRYPOINT is not a list in brackets"),
    ("  && ldconfig", "  && if ldconfig", "syntax error"),
)


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    program, file = source / "packaging/container/try.py", source / "packaging/container/Containerfile"
    command = [sys.executable, program, "--lint", "--file"]
    done = subprocess.run([*command, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = file.read_text()
    with tempfile.TemporaryDirectory() as folder:
        faulty = pathlib.Path(folder) / "Containerfile"
        for before, after, words in FAULTS:
            assert text.count(before) == 1, before
            faulty.write_text(text.replace(before, after))
            done = subprocess.run([*command, faulty], capture_output=True, text=True, check=False)
            assert done.returncode == 1 and words in done.stderr, (words, done.stderr)
    print(f"the Containerfile is in order; {len(FAULTS)} faults are found")


if __name__ == "__main__":
    main()
