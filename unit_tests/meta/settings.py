#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the pages say of environment variables, exit codes, options and targets of CMake is what the sources have: no more and no less.

settings.py TOP: exit status 1 and a line for each name that only one side has.
"""
import pathlib
import re
import sys

LIBRARY = ("apps", "c", "comm", "core", "dense", "geostat", "lapack", "ooc", "perf", "python", "sparse", "trilinos")
VARIABLE = re.compile(r'(?:getenv\(|environ\.get\(|environ\[|chosen\(argc, argv, "[^"]*", |[{ (]|^)"([A-Z]+_[A-Z_]+|TERM)"')
READS = re.compile(r'getenv\(|environ|_NUM_THREADS"|chosen\(argc')
OPTION = re.compile(r"^ *(?:option\((Strata_\w+) |set\((Strata_\w+) [^)]*? CACHE |strata_(?:plain_)?tpl\((\w+) )", re.M)


def text_of(top, pattern):
    """The texts of the files, one after the other."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(top.glob(pattern)))


def first_cells(page, heading):
    """The names in the first cells of the tables below a heading; `A_B`, `_C` is A_B and A_C."""
    begin = page.index(f"\n## {heading}\n")
    end = page.find("\n## ", begin + 1)
    names = set()
    for cell in re.findall(r"^\| (`[^|]*`|\d+) \|", page[begin : end if end > 0 else None], re.M):
        last = ""
        for name in re.findall(r"`([^`]*)`|(\d+)", cell):
            name = "".join(name)
            last = last[: last.rindex("_")] + name if name.startswith("_") else name
            names.add(last)
    return names


def variables(top):
    """The environment variables that sources and bootstrap read."""
    scripts = "".join((top / name).read_text(encoding="utf-8") for name in ("bootstrap", "packaging/private_debian.sh", "unit_tests/run_tests.sh"))
    names = set(re.findall(r"\$\{!?(STRATA_\w+)", scripts))
    for folder in LIBRARY:
        for path in sorted((top / folder).rglob("*")):
            if path.suffix in (".cpp", ".hpp", ".c", ".h", ".py"):
                for line in path.read_text(encoding="utf-8").split("\n"):
                    if READS.search(line):
                        names |= set(VARIABLE.findall(line))
    return names


def options(top):
    cmake = text_of(top, "cmake/*.cmake")
    found = set()
    for option, cache, tpl in OPTION.findall(cmake):
        found.add(option or cache or f"Strata_ENABLE_TPL_{tpl}")
    advanced = set(re.findall(r"Strata_\w+", " ".join(re.findall(r"mark_as_advanced\(([^)]*)\)", cmake))))
    return {name for name in found if not name.endswith("_")}, advanced


def differences(what, said, there):
    return [f"{what}: {name} is in the sources, and no page says so" for name in sorted(there - said)] + [
        f"{what}: a page has {name}, the sources have not" for name in sorted(said - there)]


def main():
    top = pathlib.Path(sys.argv[1])
    page = lambda name: (top / f"docs/{name}.md").read_text(encoding="utf-8")
    settings = page("settings")
    said = first_cells(settings, "Environment variables") | set(re.findall(r"`(BENCHMARK_\w+)`", settings))
    found = differences("environment", said, variables(top))
    codes = re.search(r"enum class Exit[^{]*\{(.*?)\};", (top / "apps/shared/Strata_Exit.hpp").read_text(encoding="utf-8"), re.S)
    found += differences("exit codes", first_cells(page("command-line"), "Exit codes"), set(re.findall(r"= (\d+),", codes[1])))
    there, advanced = options(top)
    said = {name for name in first_cells(page("build"), "Options") if name.startswith("Strata_")}
    found += differences("options of CMake", said, there - (advanced - said))
    modules = re.findall(r"^strata_add_(?:module|c_library)\((\w+)", text_of(top, "*/CMakeLists.txt"), re.M)
    found += differences("targets", first_cells(settings, "CMake"), {f"Strata::{name}" for name in [*modules, "all_libs"]})
    print("\n".join(found))
    return 1 if found else 0


def self_test():
    page = "\n## A\n| `X_A`, `_B` | x |\n| 3 | y |\n\n## B\n| `Z` | |\n"
    assert first_cells(page, "A") == {"X_A", "X_B", "3"}, first_cells(page, "A")
    assert first_cells(page, "B") == {"Z"}
    assert differences("w", {"a"}, {"b"}) == ["w: b is in the sources, and no page says so", "w: a page has a, the sources have not"]


if __name__ == "__main__":
    self_test()
    sys.exit(main())
