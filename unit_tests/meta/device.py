#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Compile the sources for GPUs, as far as needed to know that they compile, with a Kokkos that was built for hosts.

Kokkos installs the headers of all its backends, and what was configured in five small headers. Edited copies of these five in
front of the others make it a Kokkos with a GPU; nothing is linked or run. --backend hip: clang's front end for gfx942, and the
headers of ROCm; --backend cuda: nvcc's two front ends, unoptimised code for compute_90, as it looks at calls of host functions in
device code no sooner, and the host compiler's front end on what nvcc makes of the source, which it may refuse. Its rules for lambdas
are known to nvcc alone.

Many sources at a time are one translation unit, as Kokkos' headers cost more than all else. Where that fails, sources are
compiled apart until one fails by itself: names that collide between sources cost time and are no offence.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

from tidy import compiled

SKIPPED = 77
# What is one translation unit: modules or folders of programs, and single sources of others, with local names that another of their module
# has, too: that saves the search. "vendor" are the vendors' sources of all modules. Those that take long come first, but not the two that
# take most memory (4 GB) at the same time.
UNITS = (
    (("core", "dense", "ooc"), ("DeviceInstance", "DeviceMilestones", "DeviceReplay", "DeviceEventClock")),
    (("perf", "unit_tests", "examples"),
     ("BatchedBlas", "BatchedLanes", "HostBlas", "CholeskySolve", "Solve", "MatrixMarket", "OutOfCore")),
    (("sparse",), ()),
    (("geostat", "apps"), ("StrataPerf_Definiteness",)),
    ((), ("MatrixFile", "PortableTrsm", "ThinProduct", "WidenedBlas", "MatrixProperties", "SparseSolver", "Likelihood", "ExecutorStream",
          "TileFactor", "DeviceBatched", "VendorInfo", "RankExchange", "TileMatrixFill", "TileTeamRanks", "SolveRun", "SparseSolve")),
    (("comm", "c", "vendor"), ("BlockTreeCopies", "BlockVectorsFirst", "CholeskyCondition", "SolveCompare", "StrataPerf_EllKernels")),
)
PROGRAMS = ("perf", "unit_tests", "examples")  # of these only sources with device code of their own
DEVICE_CODE = re.compile(r"\bKOKKOS_(CLASS_)?LAMBDA\b|\bKOKKOS_(INLINE_|FORCEINLINE_)?FUNCTION\b|\b__global__\b")


class Refused(Exception):
    """A sentence that says why nothing was compiled, and the exit status."""

    def __init__(self, why, status=1):
        super().__init__(why)
        self.status = status


class Hip:
    openmp = []  # Kokkos asks for it in the host's pass alone, which there is not
    other = "Cuda"  # vendor/Strata_Cuda*.cpp are not its sources
    left_out = ()
    kokkos = {"KOKKOS_ENABLE_HIP": "", "KOKKOS_ARCH_AMD_GFX942": "", "KOKKOS_ARCH_AMD_GPU": '"gfx942"'}
    headers = {"Declare": "decl/Kokkos_Declare_HIP", "Fwd": "fwd/Kokkos_Fwd_HIP", "Setup": "setup/Kokkos_Setup_HIP"}
    desul = {"DESUL_ATOMICS_ENABLE_HIP": ""}
    libraries = {"ROCBLAS": "rocblas/rocblas.h", "ROCSOLVER": "rocsolver/rocsolver.h", "HIPBLASLT": "hipblaslt/hipblaslt.h", "RCCL": "rccl/rccl.h"}

    def __init__(self, compiler, toolkit):
        self.include = toolkit / "include"
        if not (self.include / "hip/hip_version.h").exists():
            raise Refused(f"no hip/hip_version.h in {self.include}", SKIPPED)
        self.command = [compiler, "-x", "hip", "--offload-arch=gfx942", "--offload-device-only", "-nogpulib", f"--rocm-path={toolkit}", "-fsyntax-only",
                        "-std=c++20", "-ferror-limit=0", "-Wno-unused-command-line-argument"]

    def require_fit(self, kokkos):
        pass


class Cuda:
    openmp = ["-Xcompiler", "-fopenmp"]
    other = "Hip"
    left_out = ("HostOnednn",)  # nvcc 13.0 ends with an internal error in its front end (lexical.c, line 22316); it has no device code
    kokkos = {"KOKKOS_ENABLE_CUDA": "", "KOKKOS_ENABLE_CUDA_LAMBDA": "", "KOKKOS_ENABLE_CUDA_CONSTEXPR": "", "KOKKOS_ARCH_HOPPER": "",
              "KOKKOS_ARCH_HOPPER90": ""}
    headers = {"Declare": "decl/Kokkos_Declare_CUDA", "Fwd": "fwd/Kokkos_Fwd_CUDA", "Setup": "setup/Kokkos_Setup_Cuda"}
    desul = {"DESUL_ATOMICS_ENABLE_CUDA": ""}
    libraries = {"CUBLAS": "cublasLt.h", "CUSOLVER": "cusolverDn.h", "NCCL": "nccl.h"}

    def __init__(self, compiler, toolkit):
        self.include = toolkit / "include"
        if not (self.include / "cuda_runtime.h").exists():
            raise Refused(f"no cuda_runtime.h in {self.include}", SKIPPED)
        self.command = [compiler, "-x", "cu", "-c", "-o", os.devnull, "-Xcompiler", "-fsyntax-only",
                        "-gencode=arch=compute_90,code=compute_90", "-Xcicc", "-O0", "-std=c++20", "--expt-extended-lambda",
                        "-Werror", "cross-execution-space-call", "-diag-error", "20013,20015"]

    def require_fit(self, kokkos):
        """Kokkos before 4.7 calls functions of the runtime that CUDA 13 changed."""
        if number_of(self.include / "cuda.h", "CUDA_VERSION") >= 13000 and number_of(kokkos / "KokkosCore_config.h", "KOKKOS_VERSION") < 40700:
            raise Refused(f"this Kokkos is older than CUDA 13, which is in {self.include}", SKIPPED)


BETWEEN_RANKS = ("NCCL", "RCCL")  # which there are with MPI alone

# What a library's absence leaves out: the sources of core that CMake then leaves out.
SOURCES_OF = {"CUBLAS": ("DeviceBlas", "DeviceFp8Gemm"), "CUSOLVER": ("DevicePotrf",), "ROCBLAS": ("DeviceBlas", "DeviceFp8Gemm", "DeviceHandles"),
              "ROCSOLVER": ("DevicePotrf",), "HIPBLASLT": ("DeviceFp8Gemm",)}


def options_of(build):
    """The options that name folders of headers, of all that the build compiles, once each; the macros of each source; whether it has OpenMP."""
    folders, macros, openmp = [], {}, False
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        for number, word in enumerate(words):
            folder = [word] if re.match(r"-I.", word) else words[number : number + 2] if word in ("-I", "-isystem") else []
            if folder and folder not in folders:
                folders.append(folder)
        openmp = openmp or "-fopenmp" in words
        for file in compiled(pathlib.Path(entry["file"])):
            macros[file] = [word for word in words if re.match(r"-DSTRATA_", word)]
    return folders, macros, openmp


def edited(file, macros):
    """The text of a configured header with these macros defined, which it says are not."""
    text = file.read_text()
    for name, value in macros.items():
        text, count = re.subn(rf"/\* #undef {name} \*/", f"#define {name} {value}".rstrip(), text)
        if count != 1:
            raise Refused(f"{file} says nothing of {name}: has Kokkos a GPU already, or another way to configure its headers?")
    return text


def number_of(header, macro):
    return int(re.search(rf"#define {macro} +(\d+)", header.read_text())[1])


def write_overlay(folder, backend, kokkos, build):
    def write(name, text):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text() != text:  # another run may be reading it
            file.write_text(text)

    text = edited(kokkos / "KokkosCore_config.h", backend.kokkos)
    write("KokkosCore_config.h", text.replace("#define KOKKOS_ENABLE_ATOMICS_BYPASS", ""))  # that is for Serial alone
    for part, header in backend.headers.items():
        name = f"KokkosCore_Config_{part}Backend.hpp"
        if not (kokkos / f"{header}.hpp").exists():
            raise Refused(f"this Kokkos has not installed {header}.hpp", SKIPPED)
        guard = r"(#define KOKKOS_\w+_HPP_\n)"
        write(name, re.sub(guard, rf"\1#include <{header}.hpp>\n", (kokkos / name).read_text()))
    write("desul/atomics/Config.hpp", edited(kokkos / "desul/atomics/Config.hpp", backend.desul))
    has_mpi = "#define STRATA_ENABLE_MPI" in (build / "include/core/Strata_Config.hpp").read_text()
    libraries = [library for library, header in backend.libraries.items()
                 if (backend.include / header).exists() and (has_mpi or library not in BETWEEN_RANKS)]
    configured = {f"STRATA_ENABLE_TPL_{library}": "" for library in libraries if library not in BETWEEN_RANKS}
    write("core/Strata_Config.hpp", edited(build / "include/core/Strata_Config.hpp", configured))
    return libraries


def name_of(file):
    return file.stem.removeprefix("Strata_")


def in_groups(top, backend, libraries, built):
    """The sources, those together that may be one translation unit."""
    absent = {name for library, names in SOURCES_OF.items() if library in backend.libraries and library not in libraries for name in names}

    def belongs(file):
        name = name_of(file)
        if file.is_relative_to(top / "unit_tests/meta") or "trilinos" in file.parts:
            return False
        if file.relative_to(top).parts[0] in PROGRAMS:
            text = file.read_text()
            return DEVICE_CODE.search(text) and (file in built or "#include <mpi.h>" not in text)  # a build without MPI has none
        return not ("vendor" in file.parts and (name.startswith(backend.other) or name in absent or name in backend.left_out))

    groups = [[] for _ in UNITS]
    for folder in [folder for folders, _ in UNITS for folder in folders if folder != "vendor"]:
        for file in filter(belongs, sorted((top / folder).rglob("*.cpp"))):
            place = "vendor" if "vendor" in file.parts else folder
            apart = (group for group, (_, names) in zip(groups, UNITS) if name_of(file) in names)
            next(apart, next(group for group, (folders, _) in zip(groups, UNITS) if place in folders)).append(file)
    for group in groups:
        group.sort(key=lambda file: "vendor" not in file.parts)  # these specialise what others use
    return [group for group in groups if group]


def as_one(sources):
    """The text of a unit of all of them. Examples, programs that are in no namespace, get one each, below what they include."""
    examples = [source for source in sources if source.parent.name == "examples"]
    texts = [source.read_text() for source in examples]
    included = re.compile(r"^#include .*", re.MULTILINE)
    lines = [f'#include "{source}"' for source in sources if source not in examples] + [line for text in texts for line in included.findall(text)]
    bodies = [f'namespace example_{number} {{\n#line 1 "{source}"\n{included.sub("", text)}}}\n'
              for number, (source, text) in enumerate(zip(examples, texts))]
    return "\n".join([*lines, *bodies])


class Judge:
    def __init__(self, command, macros, folder, top):
        self.command, self.macros, self.folder, self.top = command, macros, folder, top

    def compile(self, sources):
        """Whether they compile as one, and what the compiler says."""
        name = str(sources[0].relative_to(self.top)).replace("/", ".") + f".{len(sources)}.cpp"
        unit = self.folder / name
        unit.write_text(as_one(sources))
        macros = {macro for source in sources for macro in self.macros.get(source, [])}
        result = subprocess.run([*self.command, *sorted(macros), str(unit)], capture_output=True, text=True)
        return result.returncode == 0, result.stdout + result.stderr

    def first_failure(self, sources):
        """(source, what the compiler says) of one that does not compile by itself, or None."""
        begin = time.time()
        passed, text = self.compile(sources)
        if passed:
            print(f"{time.time() - begin:5.0f} s: {sources[0].parent.relative_to(self.top)}, {len(sources)} sources", flush=True)
            return None
        if len(sources) == 1:
            return sources[0], text
        errors = dict(reversed(re.findall(r"^(\S+?)[:(]\d+(?:[:,]\d+)?\)?: ((?:fatal |catastrophic )?error.*)", text, re.M)))
        named = [source for source in sources if str(source) in errors]
        others = [source for source in sources if source not in named]
        if not named or not others:
            named, others = sources[: len(sources) // 2], sources[len(sources) // 2 :]
        print(f"not as one: {sources[0].parent.relative_to(self.top)}, {len(sources)} sources; apart:")
        for source in named:
            print(f"    {source.name}: {errors.get(str(source), 'a half')}", flush=True)
        return self.first_failure(named) or self.first_failure(others)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("top", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--backend", choices=("hip", "cuda"), required=True)
    parser.add_argument("--compiler", required=True, help="clang++ or nvcc")
    parser.add_argument("--toolkit", type=pathlib.Path, required=True, help="folder whose include/ has the vendor's headers")
    parser.add_argument("--source", type=pathlib.Path, action="append", help="these sources alone, each by itself")
    parser.add_argument("--only", metavar="MODULE", help="the sources below this folder alone")
    parser.add_argument("--modules", action="store_true", help=f"all but the sources of {', '.join(PROGRAMS)}")
    parser.add_argument("--programs", action="store_true", help="these alone")
    parser.add_argument("--define", action="append", default=[], help="a macro")
    parser.add_argument("--must-fail", metavar="TEXT", help="succeed if the compiler refuses the sources with this text (a regular expression)")
    arguments = parser.parse_args()
    top = arguments.top.resolve()
    try:
        if arguments.compiler.endswith("NOTFOUND"):
            raise Refused(f"there is no compiler for {arguments.backend} here", SKIPPED)
        backend = {"hip": Hip, "cuda": Cuda}[arguments.backend](arguments.compiler, arguments.toolkit)
        folders, macros, openmp = options_of(arguments.build)
        kokkos = next((p for p in (pathlib.Path(option[-1].removeprefix("-I")) for option in folders) if (p / "KokkosCore_config.h").exists()), None)
        if not kokkos:
            raise Refused("no folder of the build's has KokkosCore_config.h")
        folder = arguments.build / "device" / arguments.backend
        backend.require_fit(kokkos)
        libraries = write_overlay(folder / "include", backend, kokkos, arguments.build)
    except Refused as refused:
        print(refused)
        return refused.status
    defined = arguments.define + [f"STRATA_ENABLE_TPL_{library}" for library in libraries if library in BETWEEN_RANKS]
    command = [*backend.command, *(backend.openmp if openmp else []), f"-I{folder / 'include'}", *(word for option in folders for word in option), "-isystem", str(backend.include),
               *(f"-D{macro}" for macro in defined)]
    groups = [[source.resolve()] for source in arguments.source] if arguments.source else in_groups(top, backend, libraries, macros)
    if arguments.only:
        groups = [group for group in ([s for s in g if s.is_relative_to(top / arguments.only)] for g in groups) if group]
    if arguments.modules or arguments.programs:
        kept = [[s for s in g if (s.relative_to(top).parts[0] in PROGRAMS) == arguments.programs] for g in groups]
        groups = [group for group in kept if group]
    judge = Judge(command, macros, folder, top)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [failure for failure in pool.map(judge.first_failure, groups) if failure]
    for source, text in failures:
        print(f"{source.relative_to(top)} does not compile for {arguments.backend}:\n{text}")
    count = sum(len(group) for group in groups)
    print(f"{arguments.backend} ({', '.join(libraries)}): {count} sources, {len(failures)} findings")
    if arguments.must_fail:
        return 0 if failures and all(re.search(arguments.must_fail, text) for _, text in failures) else 1
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
