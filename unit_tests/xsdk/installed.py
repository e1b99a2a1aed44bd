#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""xSDK policies M5, M7, M9, M13, R5 and R7 for an install tree and the source tree.

usage: installed.py PREFIX SOURCE
"""
import pathlib
import re
import sys

DOCUMENTS = ("README.md", "SUPPORT.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "XSDK.md")
POLICIES = [f"M{i}" for i in range(1, 18)] + [f"R{i}" for i in range(1, 9)]
HEADER = re.compile(r"Strata_\w+\.hpp$|strata\w*\.h$")  # C++ and C
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)


def errors(prefix, source):
    headers = sorted(path for path in (prefix / "include").rglob("*") if path.is_file())
    if not headers:
        yield f"no header in {prefix}/include"
    for path in headers:
        place = path.relative_to(prefix / "include")
        if place.parts[0] != "strata" or len(place.parts) < 2:
            yield f"M13: {place} is not in strata/"
        if not HEADER.match(path.name):
            yield f"M9: the header {place} does not carry the project's name"
        for macro in MACRO.findall(path.read_text(encoding="utf-8")):
            if not macro.startswith("STRATA_"):
                yield f"M9: {place} defines the macro {macro}"
    for path in sorted(prefix.rglob("*")):
        if re.search(r"\.(a|so)(\.|$)", path.name) and not path.name.startswith("libstrata_"):
            yield f"M9: the library {path.name} does not carry the project's name"
    for name in ("StrataConfig.cmake", "StrataConfigVersion.cmake", "strata.pc"):
        if not list(prefix.rglob(name)):
            yield f"R5: {name} is not installed"
    for name in ("LICENSE", "README.md", "CHANGELOG.md", "docs/build.md", "docs/interoperability.md"):
        if not (prefix / "share/doc/Strata" / name).is_file():
            yield f"M7: {name} is not installed in share/doc/Strata"
    for name in DOCUMENTS:
        if not (source / name).is_file() or len((source / name).read_text(encoding="utf-8")) < 200:
            yield f"M5, M7, R7: no {name}"
    table = (source / "XSDK.md").read_text(encoding="utf-8")
    for policy in POLICIES:
        if not re.search(rf"^\| {policy}\b[^|]*\|[^|]+\|[^|]+\|$", table, re.M):
            yield f"XSDK.md has no row for {policy}"
    tests = set(re.findall(r"`(strata\.\w+\.[\w.]+)`", table))
    known = set(sys.argv[3].split(","))
    for name in sorted(tests - known):
        yield f"XSDK.md names the test {name}, which there is not"


def main():
    prefix, source = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    found = list(errors(prefix, source))
    for error in found:
        print(error)
    print(f"{len(found)} errors")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
