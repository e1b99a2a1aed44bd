#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Run the Spack recipe without Spack: load it with stand-ins for Spack's directives, and check that

- every variant is used by a condition or an option, every condition names a variant that there is,
- no dependency is conditional on itself, as `spack audit` finds it,
- every option it passes is one of this project's (or CMake's own), with each variant on and off,
- it has this project's version,
- no name of its own, a loop's either, hides one of Spack's packages (`module` did, and Spack 0.23 could not load the recipe),
- the specs of the environments name variants that there are.
"""
import pathlib
import re
import sys
import types

BUILTIN = {"cuda": "cuda", "rocm": "rocm", "cuda_arch": "cuda", "amdgpu_target": "rocm", "build_type": "cmake"}
OF_CMAKE = re.compile(r"BUILD_SHARED_LIBS$|CMAKE_\w+$|(Kokkos|KokkosKernels)_ROOT$")


# Of Spack's PackageBase: properties that a class attribute of this name would take the place of.
OF_SPACK = {"module", "name", "fullname", "namespace", "spec", "prefix", "home", "stage", "version", "package_dir", "rpath", "compiler", "variants",
            "dependencies", "versions", "resources", "patches", "provided", "requirements"}


class Recorder:
    """What a package's directives were called with."""

    def __init__(self):
        self.variants, self.conditions, self.dependencies, self.hooks, self.when, self.versions = {}, [], [], [], [], []

    def directives(self):
        recorder = self

        class Block:
            def __init__(self, condition):
                recorder.conditions.append(condition)
                self.condition = condition

            def __enter__(self):
                recorder.when.append(self.condition)

            def __exit__(self, *_):
                recorder.when.pop()

        def variant(name, default=None, description="", **_):
            assert name not in recorder.variants and description, name
            recorder.variants[name] = default

        def conditional(spec, when="", type=None, msg=None):
            recorder.conditions.append(when)
            recorder.dependencies.append((spec, " ".join(recorder.when + [when])))

        def conflicts(spec, when="", msg=None):
            recorder.conditions += [spec, when]

        def run_after(phase):
            return lambda function: recorder.hooks.append((phase, function.__name__)) or function

        return {
            "variant": variant, "depends_on": conditional, "conflicts": conflicts, "when": Block, "run_after": run_after,
            "version": lambda number, **_: recorder.versions.append(number), "license": lambda *_: None,
        }


def load(recipe):
    """The recipe's class and the record of its directives."""
    recorder = Recorder()
    package = types.ModuleType("spack.package")
    package.__dict__.update(recorder.directives())
    modules = {"spack": types.ModuleType("spack"), "spack.package": package}
    bases = {"cmake": ("CMakePackage", {}), "cuda": ("CudaPackage", {"cuda_arch_values": ("80", "90")}),
             "rocm": ("ROCmPackage", {"amdgpu_targets": ("gfx90a", "gfx942")})}
    for name in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
        modules[name] = types.ModuleType(name)
    for name, (base, members) in bases.items():
        module = types.ModuleType(f"spack_repo.builtin.build_systems.{name}")
        setattr(module, base, type(base, (), members))
        modules[module.__name__] = module
    sys.modules.update(modules)
    scope = {"__file__": str(recipe), "__name__": "package"}
    exec(compile(recipe.read_text(encoding="utf-8"), recipe, "exec"), scope)
    return scope["Strata"], recorder


class Spec:
    """A concrete spec as `cmake_args` asks it."""

    prefix, hipcc, kokkos_cxx = "/prefix", "/prefix/bin/hipcc", "/prefix/bin/nvcc_wrapper"

    def __init__(self, on):
        self.on = on

    def satisfies(self, condition):
        return all(name in self.on if sign == "+" else name not in self.on for sign, name in re.findall(r"([+~])(\w+)", condition))

    def __getitem__(self, _):
        return self


def arguments(recipe_class, on, known, run_tests):
    """What `cmake_args` returns for a spec with these variants on; records the variants that it asks for."""
    asked = set()

    class Instance(recipe_class):
        def __init__(self):
            self.spec, self.run_tests = Spec(on), run_tests

        def __getitem__(self, name):
            return Spec(on)

        def define(self, name, value):
            return name, value

        def define_from_variant(self, name, variant):
            assert variant in known, f"{name} from the variant {variant}, which there is not"
            asked.add(variant)
            return name, variant in on

    return dict(Instance().cmake_args()), asked


def project_options(top):
    text = "\n".join(path.read_text(encoding="utf-8") for path in [top / "CMakeLists.txt", *sorted((top / "cmake").glob("*.cmake"))])
    found = set(re.findall(r"\boption\(\s*(Strata_\w+)\b(?!\$)", text))
    found |= set(re.findall(r"\bset\(\s*(Strata_\w+)\s+[^)]*\bCACHE\b", text))
    return found | {f"Strata_ENABLE_TPL_{name}" for name in re.findall(r"\bstrata_(?:plain_)?tpl\(\s*(\w+)", text)}


def named_variants(condition):
    own = re.split(r"[\^]", condition)[0]
    return set(re.findall(r"[+~](\w+)", own)) | set(re.findall(r"\b(\w+)=", own))


def main():
    top = pathlib.Path(sys.argv[1]).resolve()
    folder = top / "packaging" / "spack"
    recipe_class, recorder = load(folder / "spack_repo/strata/packages/strata/package.py")
    known = set(recorder.variants) | set(BUILTIN)
    errors = []
    used = set()
    for condition in recorder.conditions:
        used |= named_variants(condition)
        errors += [f"the condition '{condition}' names no variant" for _ in named_variants(condition) - known]
    for spec, condition in recorder.dependencies:
        name = re.match(r"[\w-]+", spec)[0]
        if re.search(rf"\^{name}(?![\w-])", condition):
            errors.append(f"the dependency '{spec}' is conditional on itself, '{condition}'")
    version = re.search(r"project\(Strata VERSION ([0-9.]+)", (top / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
    if version not in recorder.versions:
        errors.append(f"the recipe has the versions {recorder.versions}, not {version}")
    errors += [f"the recipe's own '{name}' hides that of Spack's packages" for name in set(vars(recipe_class)) & OF_SPACK]
    options = project_options(top)
    for on in [set(), known, *({name} for name in known), *(known - {name} for name in known)]:
        for run_tests in (False, True):
            passed, asked = arguments(recipe_class, on, known, run_tests)
            used |= asked
            errors += [f"CMake has no option {name}" for name in passed if name not in options and not OF_CMAKE.match(name)]
    errors += [f"the variant {name} does nothing" for name in set(recorder.variants) - used]
    errors += [f"the environment {path.parent.name} asks for '{name}'"
               for path in sorted(folder.glob("environments/*/spack.yaml"))
               for line in re.findall(r"^  - strata(.*)$", path.read_text(encoding="utf-8"), re.M)
               for name in named_variants(line) - known]
    environments = len(list(folder.glob("environments/*/spack.yaml")))
    text = (folder / "spack_repo/strata/packages/strata/package.py").read_text(encoding="utf-8")
    root = re.search(r"parents\[(\d+)\]", text)
    if not root or (folder / "spack_repo/strata/packages/strata/package.py").parents[int(root[1])] != top:
        errors.append("the recipe's `git` is not the repository that it is in")
    if len(options) < 10 or len(recorder.variants) < 5 or environments < 3:
        errors.append(f"too little was found: {len(options)} options, {len(recorder.variants)} variants, {environments} environments")
    for error in sorted(set(errors)):
        print(error)
    print(f"{len(recorder.variants)} variants, {len(recorder.dependencies)} dependencies, {len(options)} options of CMake, {len(set(errors))} errors")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
