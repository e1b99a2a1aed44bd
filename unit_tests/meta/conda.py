#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The recipe for conda says what pyproject.toml, CMake and the recipe for Spack say: versions, and what is needed to build and to run."""
import pathlib
import re
import sys

# Names of conda's packages for those of Spack, where they differ.
CONDA = {"boost": "libboost-headers", "nlohmann-json": "nlohmann_json", "zlib-api": "zlib", "blas": "libblas", "lapack": "liblapack"}
WITH = {"kokkos", "kokkos-kernels", "boost", "nlohmann-json", "zlib-api", "nlopt", "blas", "lapack", "cli11"}  # in this package


def listed(recipe, section):
    """{name: version} of a list below `requirements:`."""
    text = re.search(rf"^  {section}:\n((?:    - .*\n)+)", recipe, re.M)[1]
    return dict((line.split()[0], " ".join(line.split()[1:])) for line in re.findall(r"^    - ([^$].*)", text, re.M))


def offences(recipe, project, cmake, spack):
    version = re.search(r"project\(Strata VERSION ([0-9.]+)", cmake)[1]
    if f"\n  version: {version}\n" not in recipe:
        yield f"the version is not {version}"
    run, host = listed(recipe, "run"), listed(recipe, "host")
    for name, least in re.findall(r'"(numpy|scipy) (>= [0-9.]+)"', project):
        if run.get(name) != least.replace(" ", ""):
            yield f"run: {name} {run.get(name)}, pyproject.toml has {least}"
    for name, versions in re.findall(r'"(scikit-build-core|nanobind) ([^"]+)"', project):
        if host.get(name) != versions.replace(" ", ""):
            yield f"host: {name} {host.get(name)}, pyproject.toml has {versions}"
    for name, least in re.findall(r'depends_on\("([\w-]+)(?:@([0-9.]+):)?', spack):
        there = CONDA.get(name, name)
        if name not in WITH or not least and there in host:
            continue
        if not host.get(there, "").startswith(f">={least}"):
            yield f"host: {there} {host.get(there)}, Spack's recipe has {least}"
    if not re.search(r"license: BSD-3-Clause\n  license_file: LICENSE\n", recipe):
        yield "the licence is not BSD-3-Clause in LICENSE"


def main():
    top = pathlib.Path(sys.argv[1])
    names = ("packaging/conda/recipe.yaml", "pyproject.toml", "CMakeLists.txt", "packaging/spack/spack_repo/strata/packages/strata/package.py")
    recipe, *others = ((top / name).read_text(encoding="utf-8") for name in names)
    found = list(offences(recipe, *others))
    print("\n".join(found) or "the recipe for conda is in order")
    for wrong, said in (("version: 0.2.0", "the version"), ("- numpy >=1.24", "run: numpy"), ("- nanobind >=2,<4", "host: nanobind"),
                        ("- kokkos >=4.6,<6", "host: kokkos "), ("- cli11 >=2.1", "host: cli11"), ("- zlib", "host: zlib")):
        broken = recipe.replace(f"{wrong}\n", f"{wrong.split(' >')[0].replace('- zlib', '- libzlib').replace('0.2.0', '0.1.9')}\n")
        if not any(line.startswith(said) for line in offences(broken, *others)):
            found.append(wrong)
            print(f"a recipe without '{wrong}' passes")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
