# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# Kokkos and Kokkos Kernels from their sources: for -DStrata_FETCH_KOKKOS=ON, and for `bootstrap` by
# cmake/kokkos. The one place that names the release, which works with CUDA 12.2 to 13. Git checks what
# it fetches: a commit's name is a hash of all that it holds.
set(Strata_KOKKOS_RELEASE 4.7.02)
set(Strata_KOKKOS_COMMIT 6739bc623081648af9e752b616d9671527922cbf)
set(Strata_KOKKOS_KERNELS_COMMIT 2c62167f1e017556cd303a7e596f2281037c6590)
set(Strata_KOKKOS_SOURCE https://github.com/kokkos/kokkos.git CACHE STRING
  "Kokkos' source: a folder, or the address of a git repository that has release ${Strata_KOKKOS_RELEASE}")
set(Strata_KOKKOS_KERNELS_SOURCE https://github.com/kokkos/kokkos-kernels.git CACHE STRING
  "Kokkos Kernels' source: a folder, or the address of a git repository that has release ${Strata_KOKKOS_RELEASE}")

# What Strata uses of Kokkos Kernels, compiled where it is used.
set(KokkosKernels_ENABLE_ALL_COMPONENTS OFF CACHE BOOL "")
set(KokkosKernels_ENABLE_COMPONENT_BLAS ON CACHE BOOL "")
set(KokkosKernels_ENABLE_COMPONENT_SPARSE ON CACHE BOOL "")
set(KokkosKernels_ADD_DEFAULT_ETI OFF CACHE BOOL "")

include(FetchContent)

# strata_add_source(<package> <source> <commit>): its targets, and <package>_VERSION. Any release is taken
# from a folder, the pinned one from a repository. A macro, as FetchContent's variables are for the caller.
macro(strata_add_source package source commit)
  string(TOUPPER ${package} _upper)
  if(NOT FETCHCONTENT_SOURCE_DIR_${_upper} AND IS_DIRECTORY "${source}")
    set(FETCHCONTENT_SOURCE_DIR_${_upper} "${source}")
  endif()
  set(_folder "${FETCHCONTENT_SOURCE_DIR_${_upper}}")
  if(_folder)
    set(_text)
    if(EXISTS "${_folder}/CMakeLists.txt")
      file(READ "${_folder}/CMakeLists.txt" _text)
    endif()
    if(NOT _text MATCHES "[( ]${package}_VERSION_MAJOR ")
      message(FATAL_ERROR "No source of ${package} is in ${_folder}; a git repository on this machine is file://${_folder}")
    endif()
  else()
    message(STATUS "Fetching ${package} ${Strata_KOKKOS_RELEASE}, commit ${commit}, from ${source}")
  endif()
  FetchContent_Declare(${package} GIT_REPOSITORY "${source}" GIT_TAG ${commit})
  FetchContent_MakeAvailable(${package})
  string(TOLOWER ${package} _lower)
  get_directory_property(${package}_VERSION DIRECTORY "${${_lower}_SOURCE_DIR}" DEFINITION ${package}_VERSION)
  set(${package}_DIR "${${_lower}_BINARY_DIR}")
endmacro()

strata_add_source(Kokkos "${Strata_KOKKOS_SOURCE}" ${Strata_KOKKOS_COMMIT})
get_directory_property(Kokkos_DEVICES DIRECTORY "${kokkos_SOURCE_DIR}" DEFINITION KOKKOS_ENABLED_DEVICES)
get_directory_property(Kokkos_ARCH DIRECTORY "${kokkos_SOURCE_DIR}" DEFINITION KOKKOS_ENABLED_ARCH_LIST)
strata_add_source(KokkosKernels "${Strata_KOKKOS_KERNELS_SOURCE}" ${Strata_KOKKOS_KERNELS_COMMIT})
# Strata's build tree is a package, so that those that it needs must be; Kokkos sees to its own.
export(EXPORT KokkosKernelsTargets NAMESPACE Kokkos:: FILE ${KokkosKernels_DIR}/KokkosKernelsTargets.cmake)
message(STATUS "Building Kokkos ${Kokkos_VERSION} (${Kokkos_DEVICES}) and Kokkos Kernels ${KokkosKernels_VERSION}")
