#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""resumed.py SOURCE: `bootstrap test --gpu` that was stopped, or failed, goes on with the tests that have not passed; a change begins anew.

A copy of bootstrap runs with stand-ins for CMake and ctest. This ctest has four tests, of which the one named in FAILS fails; at the one
named in STOPS it is killed, as by a time limit.
"""
import pathlib
import re
import sys
import tempfile

from bootstrap_copy import Copy, expect

CTEST = """#!/bin/bash
echo "ctest $*" >>"$LOG"
[[ "$*" =~ --exclude-regex\\ ([^ ]*) ]] && left_out=${BASH_REMATCH[1]}
status=0
for name in a.b a.bc d e.f; do
  [[ -n "$left_out" && "$name" =~ $left_out ]] && continue
  echo "ran $name" >>"$LOG"
  if [ "$name" = "$STOPS" ]; then kill -9 $$; fi
  if [ "$name" = "$FAILS" ]; then
    echo "1/4 Test  #1: $name ....................***Failed    0.01 sec"; status=8
  else
    echo "1/4 Test  #1: $name ....................   Passed    0.01 sec"
  fi
done
exit $status
"""


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        copy = Copy(source, pathlib.Path(name).resolve() / "copy")
        copy.program("cuda/bin/nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.88'")
        copy.program("nvidia-smi", "echo 9.0")
        copy.program("ctest", CTEST)

        def ran(status, *options, variant="--gpu", **environment):
            said, asked = copy.run("test", variant, *options, status=status, BUILDS="1", HAS="CUDA" if variant == "--gpu" else "OPENMP",
                                   STRATA_CUDA=str(copy.programs / "cuda"), **environment)
            return said, re.findall(r"^ran (.*)", asked, re.MULTILINE)

        every = ["a.b", "a.bc", "d", "e.f"]
        said, names = ran(137, STOPS="d")
        assert names == every[:3], names
        said, names = ran(8, FAILS="d")
        assert names == ["d", "e.f"], names
        expect("a second run", said, "2 tests passed before this run was stopped", "e.f ....................   Passed")
        assert ran(0)[1] == ["d"]
        assert ran(0)[1] == every  # as all had passed

        assert ran(8, FAILS="a.b")[1] == every
        assert ran(8, FAILS="a.b")[1] == ["a.b"]
        assert ran(8, "--part", "ranks", FAILS="d")[1] == every  # another choice of tests
        (copy.folder / "cmake/new.cmake").write_text("")
        assert ran(8, "--part", "ranks", FAILS="d")[1] == every  # another file
        assert ran(0, "--part", "ranks")[1] == ["d"]

        for _ in range(2):  # hosts run all
            assert ran(8, variant="--openmp", FAILS="d")[1] == every
    print("a run on a GPU goes on where it stopped, with the tests that have not passed")


if __name__ == "__main__":
    main()
