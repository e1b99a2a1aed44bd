#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Judge the logs that strata_label_logger wrote while the test programs ran.

Label rule     every kernel, View and region is called strata::..., Kokkos' and Kokkos Kernels' own excepted, and all in a region of theirs.
Instance rule  inside a region of the library (strata:: but not strata::test::) nothing fences, copies or fills without an instance: such calls
               end in a global fence, or in one that Kokkos names after a View's initialisation.
"""
import argparse
import pathlib
import re
import sys

OWN = re.compile(r"strata::")
LIBRARY = re.compile(r"strata::(?!test::)")
FOREIGN = re.compile(
    r"Kokkos(Blas|Sparse|Batched|Kernels|Graph)?::"  # named by Kokkos or Kokkos Kernels
    r"|N?\d*(N6Kokkos|N?\d+Kokkos)"  # a mangled functor of theirs
)
WITHOUT_INSTANCE = re.compile(r"Kokkos::View::initialization")
UNAVOIDABLE = re.compile(r".*(deallocate|before free)")  # Kokkos' own, when a View dies


def offence(kind, region, label):
    """Why this event is against the rules, or None. What Kokkos Kernels does within its own call is its own."""
    if FOREIGN.match(region):
        return None
    if kind in ("kernel", "view", "region"):
        if not OWN.match(label) and not FOREIGN.match(label):
            return f"{kind} '{label}' is not called strata::..."
    elif LIBRARY.match(region) and not UNAVOIDABLE.match(label) and (kind == "global fence" or WITHOUT_INSTANCE.match(label)):
        return f"a call without an instance in {region}: {kind} '{label}'"
    return None


def judge(lines):
    events = [line.rstrip("\n").split("\t", 2) for line in lines]
    return [text for text in (offence(*event) for event in events if len(event) == 3) if text]


def self_test():
    good = [
        "kernel\t\tstrata::dense::cholesky::panel",
        "kernel\tstrata::x\tKokkos::ViewFill-1D",
        "view\t\tstrata::test::A",
        "region\t\tKokkosBlas::gemm[ETI]",
        "view\tKokkosSparse::spgemm\tentriesC",
        "fence\tstrata::dense::solve\tstrata::dense::solve::norm",
        "global fence\tstrata::x\tHostSpace::impl_deallocate before free",
        "global fence\tstrata::test::read\tKokkos::deep_copy: scalar copy, pre copy fence",
        "global fence\t\tKokkos::fence: Unnamed Global Fence",
    ]
    bad = [
        "kernel\t\tscale",
        "kernel\t\tZ4mainEUliE_",
        "view\t\tA",
        "region\t\tmain loop",
        "global fence\tstrata::dense::solve\tKokkos::deep_copy: scalar copy, pre copy fence",
        "fence\tstrata::dense::solve\tKokkos::View::initialization via memset",
    ]
    assert not judge(good), judge(good)
    assert len(judge(bad)) == len(bad), judge(bad)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("logs", nargs="*", type=pathlib.Path)
    parser.add_argument("--must-fail", action="store_true", help="succeed only if there is an offence")
    arguments = parser.parse_args()
    self_test()
    missing = [str(path) for path in arguments.logs if not path.exists()]
    if missing:
        sys.exit("no log; run these tests first: " + ", ".join(missing))
    found = events = 0
    for path in arguments.logs:
        with path.open(errors="replace") as log:
            lines = log.readlines()
        events += len(lines)
        for text in judge(lines):
            print(f"{path.stem}: {text}")
            found += 1
    print(f"{len(arguments.logs)} logs, {events} distinct events, {found} offences")
    if not events:
        sys.exit("all logs are empty: was the tool loaded?")
    return bool(found) != arguments.must_fail


if __name__ == "__main__":
    sys.exit(main())
