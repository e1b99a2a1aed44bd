# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# Kokkos, Kokkos Kernels and the vendor libraries; each sets an option Strata_ENABLE_TPL_<NAME>.
if(NOT TARGET Kokkos::kokkos)
  find_package(Kokkos CONFIG REQUIRED)
endif()
if(Kokkos_VERSION VERSION_LESS 4.6 OR Kokkos_VERSION VERSION_GREATER_EQUAL 6)
  message(FATAL_ERROR "Strata needs Kokkos >= 4.6 and < 6; found ${Kokkos_VERSION} in ${Kokkos_DIR}")
endif()
if(NOT TARGET KokkosKernels::all_libs AND NOT TARGET Kokkos::kokkoskernels)
  find_package(KokkosKernels CONFIG REQUIRED)
endif()
# Debian's and Trilinos' packages call the target all_libs, an upstream build kokkoskernels.
if(TARGET KokkosKernels::all_libs)
  set(Strata_KOKKOS_KERNELS_TARGET KokkosKernels::all_libs)
else()
  set(Strata_KOKKOS_KERNELS_TARGET Kokkos::kokkoskernels)
endif()

# Presets that are meant for one backend say so.
set(Strata_REQUIRE_BACKEND "" CACHE STRING "Refuse a Kokkos without this backend (OPENMP, CUDA, HIP)")
if(Strata_REQUIRE_BACKEND AND NOT Strata_REQUIRE_BACKEND IN_LIST Kokkos_DEVICES)
  message(FATAL_ERROR "Strata_REQUIRE_BACKEND is ${Strata_REQUIRE_BACKEND}, but the Kokkos in ${Kokkos_DIR} "
    "has only ${Kokkos_DEVICES}; point Kokkos_ROOT at another")
endif()
set(Strata_REQUIRE_ARCHITECTURE "" CACHE STRING "Refuse a Kokkos built for another one (HOPPER90, ...)")
if(Strata_REQUIRE_ARCHITECTURE AND NOT Strata_REQUIRE_ARCHITECTURE IN_LIST Kokkos_ARCH)
  message(FATAL_ERROR "Strata_REQUIRE_ARCHITECTURE is ${Strata_REQUIRE_ARCHITECTURE}, but the Kokkos in "
    "${Kokkos_DIR} was built for '${Kokkos_ARCH}'; point Kokkos_ROOT at another")
endif()

# strata_tpl(NAME package found targets...): an option that defaults to whether the package was found.
macro(strata_tpl name package found)
  option(Strata_ENABLE_TPL_${name} "Use ${name}" ${found})
  if(Strata_ENABLE_TPL_${name})
    if(NOT ${found})
      message(FATAL_ERROR "Strata_ENABLE_TPL_${name} is ON but ${package} was not found")
    endif()
    list(APPEND Strata_TPL_TARGETS ${ARGN})
    list(APPEND Strata_TPL_PACKAGES ${package})
  endif()
endmacro()

set(Strata_TPL_TARGETS)
set(Strata_TPL_PACKAGES KokkosKernels ZLIB)  # what the consumer of a static Strata needs
find_package(LAPACK QUIET)
strata_tpl(LAPACK LAPACK "${LAPACK_FOUND}" LAPACK::LAPACK BLAS::BLAS)
find_package(dnnl CONFIG QUIET)
strata_tpl(ONEDNN dnnl "${dnnl_FOUND}" DNNL::dnnl)
if(Kokkos_ENABLE_CUDA)
  find_package(CUDAToolkit REQUIRED)
  strata_tpl(CUBLAS CUDAToolkit TRUE CUDA::cublas CUDA::cublasLt)
  strata_tpl(CUSOLVER CUDAToolkit TRUE CUDA::cusolver CUDA::cublas)
endif()
if(Kokkos_ENABLE_HIP)
  find_package(rocblas CONFIG QUIET)
  find_package(rocsolver CONFIG QUIET)
  if(rocblas_VERSION VERSION_LESS 4.4 OR rocsolver_VERSION VERSION_LESS 3.28)
    message(STATUS "Strata wants ROCm >= 6.4 for 64-bit BLAS; it does without rocBLAS and rocSOLVER")
    set(rocblas_FOUND FALSE)
    set(rocsolver_FOUND FALSE)
  endif()
  strata_tpl(ROCBLAS rocblas "${rocblas_FOUND}" roc::rocblas)
  strata_tpl(ROCSOLVER rocsolver "${rocsolver_FOUND}" roc::rocsolver roc::rocblas)
endif()
find_package(ZLIB REQUIRED)
find_package(Boost 1.74 CONFIG REQUIRED)  # this and the next in no header of Strata's: consumers do without
find_package(nlohmann_json 3.10 CONFIG REQUIRED)
