# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
import os
import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.rocm import ROCmPackage

from spack.package import *


class Strata(CMakePackage, CudaPackage, ROCmPackage):
    """Mixed-precision solvers of dense and sparse systems, in layers, on Kokkos.

    Every build has sizes of 64 bits, position independent static libraries, and every precision
    from fp64 to fp8: there are no variants `int64`, `pic` and `precision`.
    """

    # The repository that this recipe is in.
    git = pathlib.Path(__file__).resolve().parents[6].as_uri()
    tags = ["xsdk", "e4s"]
    test_requires_compiler = True

    license("BSD-3-Clause")

    # No release has a tag yet: 0.2.0 is what `main` is.
    version("main", branch="main", preferred=True)
    version("0.2.0", branch="main")

    variant("shared", default=True, description="Shared libraries")
    variant("openmp", default=False, description="OpenMP backend of Kokkos; else the serial one")
    variant("mpi", default=True, description="Several ranks in the sparse module")
    variant("ooc", default=True, description="The out-of-core module")
    variant("geostat", default=True, description="Covariances, likelihoods and kriging")
    variant("program", default=True, description="The program `strata`")
    variant("nlopt", default=True, description="Searches bobyqa and nelder-mead of `strata mle`, by NLopt")
    variant("nccl", default=False, description="Messages between NVIDIA GPUs by NCCL")
    variant("rccl", default=False, description="Messages between AMD GPUs by RCCL")
    variant("lapack", default=True, description="BLAS and LAPACK on hosts")
    variant("onednn", default=False, description="oneDNN on hosts with matrix units")
    variant("benchmarks", default=False, description="Studies and benchmarks")

    conflicts("+geostat", when="~ooc", msg="Likelihoods need the out-of-core module")
    conflicts("+program", when="~geostat", msg="`strata mle` needs the module geostat")
    conflicts("+nlopt", when="~geostat", msg="NLopt is used by the module geostat alone")
    conflicts("+nccl", when="~cuda", msg="NCCL is for NVIDIA GPUs")
    conflicts("+nccl", when="~mpi", msg="NCCL is used by several ranks alone")
    conflicts("+rccl", when="~rocm", msg="RCCL is for AMD GPUs")
    conflicts("+rccl", when="~mpi", msg="RCCL is used by several ranks alone")
    conflicts("+cuda", when="+rocm", msg="Kokkos has one device backend at a time")
    conflicts("+cuda", when="cuda_arch=none", msg="name one cuda_arch")
    conflicts("+rocm", when="amdgpu_target=none", msg="name one amdgpu_target")
    conflicts("^kokkos cxxstd=17", msg="Strata is C++20, and so is its Kokkos")
    conflicts("%gcc@:11", msg="C++20 as of g++ 12")
    conflicts("%clang@:15", msg="C++20 as of clang 16")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("git", type="build")
    depends_on("pkgconfig", type="test")

    # One process holds one Kokkos: the same for Strata, Kokkos Kernels and whoever links them.
    depends_on("kokkos@4.6:5+pic")
    depends_on("kokkos-kernels@4.6:5")
    depends_on("kokkos+shared", when="+shared")
    depends_on("kokkos-kernels+shared", when="+shared")
    depends_on("kokkos+openmp", when="+openmp")
    depends_on("kokkos-kernels+openmp", when="+openmp")
    depends_on("kokkos+serial~openmp", when="~openmp")

    depends_on("boost@1.74:+math", when="+geostat")
    depends_on("nlohmann-json@3.10:")
    depends_on("zlib-api")
    depends_on("mpi@3.1:", when="+mpi")
    depends_on("nlopt@2.7:", when="+nlopt")
    depends_on("nccl", when="+nccl")
    depends_on("rccl@6.4:", when="+rccl")
    depends_on("lapack", when="+lapack")
    depends_on("blas", when="+lapack")
    depends_on("onednn@3:", when="+onednn")
    depends_on("cli11@2.1:", when="+program")
    depends_on("cli11@2.1:", when="+benchmarks")
    depends_on("benchmark@1.7:", when="+benchmarks")
    depends_on("googletest", type="test")
    for of_python in ("jsonschema", "matplotlib", "scipy"):
        depends_on(f"py-{of_python}", type="test")

    with when("+cuda"):
        depends_on("cuda@12.2:")
        depends_on("kokkos+wrapper")
        depends_on("kokkos-kernels+cuda")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"kokkos+cuda cuda_arch={arch}", when=f"+cuda cuda_arch={arch}")
        depends_on(f"kokkos-kernels+cuda cuda_arch={arch}", when=f"+cuda cuda_arch={arch}")
    with when("+rocm"):
        for library in ("rocblas", "rocsolver", "hipblaslt"):
            depends_on(f"{library}@6.4:")
    for target in ROCmPackage.amdgpu_targets:
        depends_on(f"kokkos+rocm amdgpu_target={target}", when=f"+rocm amdgpu_target={target}")

    def cmake_args(self):
        spec = self.spec
        args = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("Strata_ENABLE_MPI", "mpi"),
            self.define_from_variant("Strata_ENABLE_OOC", "ooc"),
            self.define_from_variant("Strata_ENABLE_GEOSTAT", "geostat"),
            self.define_from_variant("Strata_ENABLE_PROGRAM", "program"),
            self.define_from_variant("Strata_ENABLE_BENCHMARKS", "benchmarks"),
            self.define_from_variant("Strata_ENABLE_TPL_NLOPT", "nlopt"),
            self.define_from_variant("Strata_ENABLE_TPL_NCCL", "nccl"),
            self.define_from_variant("Strata_ENABLE_TPL_RCCL", "rccl"),
            self.define_from_variant("Strata_ENABLE_TPL_LAPACK", "lapack"),
            self.define_from_variant("Strata_ENABLE_TPL_ONEDNN", "onednn"),
            self.define("Strata_ENABLE_TESTS", self.run_tests),
            # What CMake would find outside Spack, too.
            self.define("Strata_ENABLE_PYTHON", False),
            self.define("Strata_ENABLE_TRILINOS", False),
            self.define("Strata_ENABLE_TPL_NUMA", False),
            self.define("Kokkos_ROOT", spec["kokkos"].prefix),
            self.define("KokkosKernels_ROOT", spec["kokkos-kernels"].prefix),
        ]
        if spec.satisfies("+openmp"):
            args.append(self.define("Strata_REQUIRE_BACKEND", "OPENMP"))
        if spec.satisfies("+cuda"):
            args += [
                self.define("CMAKE_CXX_COMPILER", self["kokkos"].kokkos_cxx),
                self.define("Strata_REQUIRE_BACKEND", "CUDA"),
                self.define("Strata_ENABLE_TPL_CUBLAS", True),
                self.define("Strata_ENABLE_TPL_CUSOLVER", True),
            ]
        if spec.satisfies("+rocm"):
            args += [
                self.define("CMAKE_CXX_COMPILER", spec["hip"].hipcc),
                self.define("Strata_REQUIRE_BACKEND", "HIP"),
                self.define("Strata_ENABLE_TPL_ROCBLAS", True),
                self.define("Strata_ENABLE_TPL_ROCSOLVER", True),
                self.define("Strata_ENABLE_TPL_HIPBLASLT", True),
            ]
        return args

    @run_after("install")
    def keep_smoke_test(self):
        cache_extra_test_sources(self, ["packaging/e4s", "packaging/wheel/program.sh"])

    def test_smoke(self):
        """build and run a program with what is installed"""
        folder = join_path(self.test_suite.current_test_cache_dir, "packaging", "e4s")
        with working_dir(folder):
            which("sh", required=True)("smoke.sh", self.prefix)

    def test_program(self):
        """solve and fit with the installed program"""
        if self.spec.satisfies("~program"):
            raise SkipTest("there is no program")
        script = join_path(self.test_suite.current_test_cache_dir, "packaging", "wheel", "program.sh")
        which("bash", required=True)(script, extra_env={"PATH": f"{self.prefix.bin}:{os.environ['PATH']}"})
