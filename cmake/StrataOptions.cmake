# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# The options of the build, and a refusal of miscapitalised ones.
option(Strata_ENABLE_TESTS "Build the unit tests" ${PROJECT_IS_TOP_LEVEL})
option(Strata_ENABLE_EXAMPLES "Build the examples" ${Strata_ENABLE_TESTS})
option(Strata_ENABLE_BENCHMARKS "Build the microbenchmarks" OFF)
option(Strata_ENABLE_DENSE "Build the dense module; without it only core, sparse and the adapter to Trilinos" ON)
option(Strata_ENABLE_OOC "Build the out-of-core module" ${Strata_ENABLE_DENSE})
set(_program ${PROJECT_IS_TOP_LEVEL})
if(NOT Strata_ENABLE_DENSE)
  set(_program OFF)
endif()
option(Strata_ENABLE_PROGRAM "Build the program `strata`" ${_program})

get_cmake_property(_variables CACHE_VARIABLES)
foreach(_variable IN LISTS _variables)
  if(_variable MATCHES "^(STRATA|strata)_ENABLE_")
    string(REGEX REPLACE "^(STRATA|strata)_" "Strata_" _right "${_variable}")
    message(FATAL_ERROR "Strata: no option ${_variable}; did you mean ${_right}?")
  endif()
endforeach()

foreach(_part IN ITEMS OOC PROGRAM BENCHMARKS FUZZERS C)
  if(Strata_ENABLE_${_part} AND NOT Strata_ENABLE_DENSE)
    message(FATAL_ERROR "Strata_ENABLE_${_part} is ON but Strata_ENABLE_DENSE is OFF, which it needs")
  endif()
endforeach()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_EXTENSIONS OFF)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ${Strata_ENABLE_TESTS})
endif()
