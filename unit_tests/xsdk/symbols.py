#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""xSDK policy M9: every strong global symbol that the libraries define is in the namespace strata or called strata_...

usage: symbols.py NM library...
"""
import re
import subprocess
import sys

STRONG = "TDBRGS"  # text, data, bss, read-only; weak ones are templates of others, merged by the linker
OWN = re.compile(r"((guard variable|vtable|typeinfo|typeinfo name|VTT|construction vtable|non-virtual thunk|virtual thunk) (for|to) )?strata(::|_)")
SPECIAL = re.compile(r"_init$|_fini$|__hip_|__cuda|__fatbin|__nv_|_GLOBAL__|fatbinData|__device_stub__strata")


def result_removed(name):
    """A demangled template begins with its result: `void strata::f<int>(...)`; drop that."""
    depth = 0
    start = 0
    for place, letter in enumerate(name):
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(letter, 0)
        if letter == "(" and depth == 1:
            break
        if letter == " " and depth == 0:
            start = place + 1
    return name[start:]


def offences(lines):
    for line in lines:
        match = re.match(r"[0-9a-f]* ?([A-Za-z]) (.*)$", line.strip())
        if match and match[1] in STRONG:
            name = match[2]
            if not OWN.match(name) and not OWN.match(result_removed(name)) and not SPECIAL.match(name):
                yield name


def self_test():
    good = ["0000 T strata::dense::f(int)", "0000 T strata_solve", "0010 W Kokkos::x()", " U puts", "0000 D typeinfo for strata::A",
            "00 T void strata::f<std::vector<int> >(std::vector<int>)", "00 T bool strata::vendor::g<int>(int)"]
    bad = ["0000 T utils()", "0000 B counter", "0000 T Kokkos::f()", "0 T void g<strata::A>(strata::A)"]
    assert not list(offences(good)), list(offences(good))
    assert len(list(offences(bad))) == len(bad)


def main():
    self_test()
    nm, *libraries = sys.argv[1:]
    found = symbols = 0
    for library in libraries:
        shared = ["-D"] if ".so" in library else []
        text = subprocess.run([nm, "-C", "--defined-only", "--extern-only", *shared, library], capture_output=True, text=True, check=True).stdout
        symbols += len(text.splitlines())
        for name in sorted(set(offences(text.splitlines()))):
            print(f"{library.rsplit('/', 1)[-1]}: {name}")
            found += 1
    print(f"{len(libraries)} libraries, {symbols} symbols, {found} offences")
    return bool(found or not symbols)


if __name__ == "__main__":
    sys.exit(main())
