# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# The option Strata_ENABLE_TRILINOS. Trilinos' packages end the configuration where another of them
# is missing, and they load the Kokkos that they were built with: a project of its own tries them first.
set(_strata_trilinos FALSE)  # Tpetra and Belos are there, with Strata's Kokkos
if(NOT DEFINED Strata_ENABLE_TRILINOS OR Strata_ENABLE_TRILINOS)
  set(_given)
  foreach(_name IN ITEMS CMAKE_CXX_COMPILER CMAKE_TOOLCHAIN_FILE CMAKE_PREFIX_PATH Trilinos_ROOT Tpetra_DIR Tpetra_ROOT Belos_DIR
                         Belos_ROOT)
    if(${_name})
      string(REPLACE ";" "\\;" _value "${${_name}}")
      list(APPEND _given "-D${_name}=${_value}")
    endif()
  endforeach()
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${PROJECT_SOURCE_DIR}/cmake/probe_trilinos
    -B ${PROJECT_BINARY_DIR}/probe_trilinos -G ${CMAKE_GENERATOR} ${_given}
    RESULT_VARIABLE _result OUTPUT_VARIABLE _output ERROR_VARIABLE _error)
  if(_result EQUAL 0 AND _output MATCHES "found: (Trilinos with Kokkos ([^ ]*) \\(([^)]*)\\) in [^\n]*)")
    if(CMAKE_MATCH_2 VERSION_EQUAL Kokkos_VERSION AND CMAKE_MATCH_3 STREQUAL "${Kokkos_DEVICES}")
      set(_strata_trilinos TRUE)
    else()
      set(_why "${CMAKE_MATCH_1} was found, but Strata uses Kokkos ${Kokkos_VERSION} (${Kokkos_DEVICES}) in \
${Kokkos_DIR}, and one process holds one Kokkos: point Kokkos_ROOT at Trilinos', or build Trilinos with this one")
    endif()
  else()
    file(WRITE ${PROJECT_BINARY_DIR}/probe_trilinos.log "${_output}${_error}")
    set(_why "Tpetra and Belos were not found, or their packages are broken (CMake's words: \
${PROJECT_BINARY_DIR}/probe_trilinos.log); set Trilinos_ROOT or CMAKE_PREFIX_PATH")
  endif()
  if(_strata_trilinos AND NOT Strata_ENABLE_MPI)
    set(_strata_trilinos FALSE)
    set(_why "Tpetra passes MPI communicators: it needs Strata_ENABLE_MPI=ON")
  endif()
endif()
option(Strata_ENABLE_TRILINOS "The adapter Strata::trilinos to Tpetra and Belos" ${_strata_trilinos})
if(Strata_ENABLE_TRILINOS)
  if(NOT _strata_trilinos)
    message(FATAL_ERROR "Strata_ENABLE_TRILINOS is ON but ${_why}")
  endif()
  find_package(Tpetra CONFIG REQUIRED)
  find_package(Belos CONFIG REQUIRED)
endif()
