# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# Kokkos and Kokkos Kernels from their sources: for -DStrata_FETCH_KOKKOS=ON, and for `bootstrap` by
# cmake/kokkos. The one place that names the release, which works with CUDA 12.2 to 13: the archives that the
# projects release, with their SHA-256 as Spack has them, and the commits for git repositories, whose names are
# hashes of all that they hold.
set(Strata_KOKKOS_RELEASE 4.7.02)
set(Strata_KOKKOS_SHA256 a81826ac0a167933d13506bc2a986fb5517038df9abb780fe9bb2c1d4e80803b)
set(Strata_KOKKOS_KERNELS_SHA256 2d3b3e10ac112e382b88c50d66e4222ce543fca5d42be6d8376a684b82b8b238)
set(Strata_KOKKOS_COMMIT 6739bc623081648af9e752b616d9671527922cbf)
set(Strata_KOKKOS_KERNELS_COMMIT 2c62167f1e017556cd303a7e596f2281037c6590)
set(_source "a folder, or the address of the archive (.tar.gz) or of a git repository of release ${Strata_KOKKOS_RELEASE}")
set(_released releases/download/${Strata_KOKKOS_RELEASE})
set(_kokkos https://github.com/kokkos/kokkos/${_released}/kokkos-${Strata_KOKKOS_RELEASE}.tar.gz)
set(_kernels https://github.com/kokkos/kokkos-kernels/${_released}/kokkos-kernels-${Strata_KOKKOS_RELEASE}.tar.gz)
# strata_default_source(<option> <environment variable> <address>): address becomes what the environment names, if it does. Where
# nothing was given to an earlier run, what the option was then does not count.
macro(strata_default_source option variable address)
  if(NOT "$ENV{${variable}}" STREQUAL "")
    set(${address} "$ENV{${variable}}")
  endif()
  if(DEFINED CACHE{${option}} AND "$CACHE{${option}}" STREQUAL "$CACHE{${option}_NOT_GIVEN}")
    unset(${option} CACHE)
  endif()
  set(${option}_NOT_GIVEN "${${address}}" CACHE INTERNAL "")
endmacro()
strata_default_source(Strata_KOKKOS_SOURCE STRATA_KOKKOS_SOURCE _kokkos)
strata_default_source(Strata_KOKKOS_KERNELS_SOURCE STRATA_KOKKOS_KERNELS_SOURCE _kernels)
set(Strata_KOKKOS_SOURCE ${_kokkos} CACHE STRING "Kokkos' source: ${_source}")
set(Strata_KOKKOS_KERNELS_SOURCE ${_kernels} CACHE STRING "Kokkos Kernels' source: ${_source}")

# What Strata uses of Kokkos Kernels, compiled where it is used.
set(KokkosKernels_ENABLE_ALL_COMPONENTS OFF CACHE BOOL "")
set(KokkosKernels_ENABLE_COMPONENT_BLAS ON CACHE BOOL "")
set(KokkosKernels_ENABLE_COMPONENT_SPARSE ON CACHE BOOL "")
set(KokkosKernels_ADD_DEFAULT_ETI OFF CACHE BOOL "")

include(FetchContent)

# strata_download(<package> <address> <sha256> <file>): nothing, if the file is there.
function(strata_download package address sha256 file)
  set(status 0)
  if(NOT EXISTS "${file}")
    file(DOWNLOAD "${address}" "${file}" STATUS status INACTIVITY_TIMEOUT 60)
  endif()
  list(POP_FRONT status code)
  file(SHA256 "${file}" found)
  if(code EQUAL 0)
    set(status "its SHA-256 is ${found}, must be ${sha256}")
  endif()
  if(NOT found STREQUAL sha256)
    file(REMOVE "${file}")
    message(FATAL_ERROR "${package} ${Strata_KOKKOS_RELEASE} was not fetched from ${address}: ${status}. "
      "There are two ways on: name sources that you have, a folder or an address each, by STRATA_KOKKOS_SOURCE=... and "
      "STRATA_KOKKOS_KERNELS_SOURCE=... in the environment; or point Kokkos_ROOT and KokkosKernels_ROOT at what is installed.")
  endif()
endfunction()

# strata_add_source(<package> <source> <sha256> <commit>): its targets, and <package>_VERSION. Any release is taken
# from a folder, the pinned one from an address. A macro, as FetchContent's variables are for the caller.
macro(strata_add_source package source sha256 commit)
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
    message(STATUS "Fetching ${package} ${Strata_KOKKOS_RELEASE} from ${source}")
  endif()
  if("${source}" MATCHES "[.]tar[.]gz$" AND NOT _folder)
    set(_archive "${CMAKE_BINARY_DIR}/CMakeFiles/${package}-${Strata_KOKKOS_RELEASE}.tar.gz")
    strata_download(${package} "${source}" ${sha256} "${_archive}")
    FetchContent_Declare(${package} URL "${_archive}" URL_HASH SHA256=${sha256} DOWNLOAD_EXTRACT_TIMESTAMP OFF)
  else()
    FetchContent_Declare(${package} GIT_REPOSITORY "${source}" GIT_TAG ${commit})
  endif()
  FetchContent_MakeAvailable(${package})
  string(TOLOWER ${package} _lower)
  get_directory_property(${package}_VERSION DIRECTORY "${${_lower}_SOURCE_DIR}" DEFINITION ${package}_VERSION)
  set(${package}_DIR "${${_lower}_BINARY_DIR}")
endmacro()

strata_add_source(Kokkos "${Strata_KOKKOS_SOURCE}" ${Strata_KOKKOS_SHA256} ${Strata_KOKKOS_COMMIT})
get_directory_property(Kokkos_DEVICES DIRECTORY "${kokkos_SOURCE_DIR}" DEFINITION KOKKOS_ENABLED_DEVICES)
get_directory_property(Kokkos_ARCH DIRECTORY "${kokkos_SOURCE_DIR}" DEFINITION KOKKOS_ENABLED_ARCH_LIST)
strata_add_source(KokkosKernels "${Strata_KOKKOS_KERNELS_SOURCE}"
  ${Strata_KOKKOS_KERNELS_SHA256} ${Strata_KOKKOS_KERNELS_COMMIT})
# Strata's build tree is a package, so that those that it needs must be; Kokkos sees to its own.
export(EXPORT KokkosKernelsTargets NAMESPACE Kokkos:: FILE ${KokkosKernels_DIR}/KokkosKernelsTargets.cmake)
message(STATUS "Building Kokkos ${Kokkos_VERSION} (${Kokkos_DEVICES}) and Kokkos Kernels ${KokkosKernels_VERSION}")
