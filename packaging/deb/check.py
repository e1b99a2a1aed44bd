#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""check.py BUILD: make the Debian packages of a build tree of which all is built, with cpack, and look into them. Each has its part, no file
is in two, together they have all that `cmake --install` installs, and each names what its binaries need. Exit code 77 without cpack or dpkg-deb."""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# What is in each package, and what in no other one.
PARTS = {
    "strata": r"bin/strata|share/(strata|man|bash-completion|zsh|fish)/.*",
    "libstrata-dev": r"include/strata/(?!strata\.h$|strata_lapack\.h$).*|lib/(?!python).*(?<!_c)(?<!_lapack)(?<!_petsc)\.a|lib/pkgconfig/strata\.pc|share/doc/Strata/.*"
                     r"|lib/cmake/Strata/Strata(Config|ConfigVersion|MpiFamily|-(?!c-|lapack-)\w+-targets(-release)?)\.cmake",
    "libstrata-c": r"include/strata/strata\.h|lib/libstrata_(c|lapack|petsc)\.so(\..*)?|lib/pkgconfig/strata-\w+\.pc"
                   r"|lib/cmake/Strata/Strata-(c|lapack)-targets(-release)?\.cmake",
    "python3-strata": r"lib/python3/dist-packages/strata/.*",
}


def files_of(package):
    listed = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, capture_output=True).stdout
    names = subprocess.run(["tar", "-t"], input=listed, check=True, capture_output=True).stdout.decode().splitlines()
    return {name.removeprefix("./usr/") for name in names if not name.endswith("/")}


def field(package, name):
    return subprocess.run(["dpkg-deb", "--field", package, name], check=True, capture_output=True, text=True).stdout.strip()


def offences(packages, installed):
    """packages: {name: (its files, what it depends on)}."""
    if set(packages) != set(PARTS):
        yield f"the packages are {', '.join(sorted(packages))}"
    for name, (files, depends) in packages.items():
        for file in sorted(files):
            place = re.sub(r"^lib/[\w-]+-linux-gnu/", "lib/", file)
            owners = [part for part, pattern in PARTS.items() if re.fullmatch(rf"{pattern}|share/doc/{part}/copyright", place)]
            if owners != [name]:
                yield f"{name} has {file}, of {', '.join(owners) or 'no package'}"
        if f"share/doc/{name}/copyright" not in files:
            yield f"{name} has no copyright"
        if name != "libstrata-dev" and "libc6 (>=" not in depends:
            yield f"{name} does not name what its binaries need: '{depends}'"
    if "python3-numpy" not in packages.get("python3-strata", ("", ""))[1]:
        yield "python3-strata does not depend on python3-numpy"
    for file in sorted(installed - set().union(*(files for files, _ in packages.values()))):
        yield f"{file} is installed, and in no package"


def self_test(packages, installed):
    """A file in a wrong package or in none, and a package that is not there, are found."""
    files, depends = packages["strata"]
    for other, word in ((files | {"lib/libstrata_c.so.0"}, "of libstrata-c"), (files - {"bin/strata"}, "bin/strata is installed")):
        assert any(word in line for line in offences(packages | {"strata": (other, depends)}, installed)), word
    assert list(offences({name: found for name, found in packages.items() if name != "libstrata-c"}, installed))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    build = parser.parse_args().build.resolve()
    if not all(map(shutil.which, ("cpack", "dpkg-deb", "dpkg-shlibdeps", "file"))):
        print("there is no cpack, or no dpkg-dev")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run(["cpack", "--config", build / "CPackConfig.cmake", "-B", folder / "made"], cwd=build, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "--install", build, "--prefix", folder / "installed"], check=True, stdout=subprocess.DEVNULL)
        installed = {str(path.relative_to(folder / "installed")) for path in (folder / "installed").rglob("*") if not path.is_dir() or path.is_symlink()}
        made = {field(path, "Package"): (files_of(path), field(path, "Depends")) for path in (folder / "made").glob("*.deb")}
    found = list(offences(made, installed))
    print("\n".join(found) or f"{', '.join(sorted(made))}: each has its part")
    if not found:
        self_test(made, installed)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
