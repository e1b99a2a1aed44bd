# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# What the programs of tests are compiled with. -O1: they take two thirds of the time to compile, and the
# libraries that they test keep their own flags.
add_library(strata_test_flags INTERFACE)
target_include_directories(strata_test_flags INTERFACE ${PROJECT_SOURCE_DIR}/unit_tests)
target_compile_features(strata_test_flags INTERFACE cxx_std_20)
target_compile_options(strata_test_flags INTERFACE -Wall -Wextra -Wno-unknown-pragmas)
if(NOT Kokkos_ENABLE_CUDA AND NOT Kokkos_ENABLE_HIP)
  target_compile_options(strata_test_flags INTERFACE $<$<CONFIG:Release>:-O1>)
endif()

# Leave to run in a container and to have more ranks than cores, of which those that wait give way, for Open MPI and for
# MPICH (MPIR_CVAR_*); others ignore it.
set(Strata_MPI_TEST_ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;OMPI_MCA_mpi_yield_when_idle=1;PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe;MPIR_CVAR_POLLS_BEFORE_YIELD=1;MPIR_CVAR_ENABLE_HEAVY_YIELD=1;OMP_NUM_THREADS=1")

# strata_in_part(<part> <test>...): `bootstrap test` leaves these tests to `--part <part>` and `--all`. It must come after what sets
# their labels.
function(strata_in_part part)
  set_property(TEST ${ARGN} APPEND PROPERTY LABELS all.${part})
endfunction()

# strata_folder_in_part(<part>): the same for all tests that this folder has added.
function(strata_folder_in_part part)
  get_property(names DIRECTORY PROPERTY TESTS)
  strata_in_part(${part} ${names})
endfunction()

# strata_watch_test(<name> <labels>): the labels of a ctest entry of GoogleTest, that it is a failure if
# nothing ran, and the log of the kernels and Views that it names.
function(strata_watch_test name labels)
  set_tests_properties(${name} PROPERTIES
    LABELS "${labels}" FAIL_REGULAR_EXPRESSION "Running 0 tests")
  if(TARGET strata_label_logger)
    set(log ${PROJECT_BINARY_DIR}/labels/${name}.log)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT
      "KOKKOS_TOOLS_LIBS=$<TARGET_FILE:strata_label_logger>;STRATA_LABEL_LOG=${log}")
    set_property(GLOBAL APPEND PROPERTY Strata_LABELLED_TESTS ${name})
  endif()
endfunction()

# strata_add_test(<module> SOURCES ... [APART ...] [LINK targets...])
#
# One executable per module, and one ctest entry strata.<module>.<BACKEND> per enabled backend.
# Suites typed over backends are named Suite/<Backend>_<scalar>; the plain ones run in the entry
# HOST. Every entry runs under the tool `strata_label_logger`, whose log strata.meta.labels judges.
# Builds for hosts compile several sources as one, as those of the modules, but for those APART.
function(strata_add_test module)
  cmake_parse_arguments(arg "" "" "SOURCES;APART;LINK" ${ARGN})
  set(target strata_${module}_test)
  add_executable(${target} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/unit_tests/StrataTest_Main.cpp)
  target_link_libraries(${target} PRIVATE strata_test_flags Strata::${module} GTest::gtest ${arg_LINK})
  strata_compile_together(${target} strata_precompiled_tests APART ${arg_APART})

  set(backend_SERIAL Serial)
  set(backend_OPENMP OpenMP)
  set(backend_CUDA Cuda)
  set(backend_HIP HIP)
  foreach(backend IN LISTS Kokkos_DEVICES ITEMS HOST)
    set(filter "*/${backend_${backend}}_*")
    if(backend STREQUAL "HOST")
      set(filter "*-*/Serial_*:*/OpenMP_*:*/Cuda_*:*/HIP_*")
    endif()
    set(name strata.${module}.${backend})
    add_test(NAME ${name} COMMAND ${target} --gtest_filter=${filter})
    strata_watch_test(${name} "${module};${backend}")
    if(backend MATCHES "^(CUDA|HIP)$")  # with others on one device: two to four minutes on an H200
      set_tests_properties(${name} PROPERTIES TIMEOUT 900)
    endif()
    if(backend MATCHES "^(CUDA|HIP)$" AND TARGET strata_label_logger)  # without the tool, under which nothing is replayed
      add_test(NAME ${name}.unwatched COMMAND ${target} --gtest_filter=${filter})
      set_tests_properties(${name}.unwatched PROPERTIES
        LABELS "${module};${backend}" FAIL_REGULAR_EXPRESSION "Running 0 tests" TIMEOUT 900)
      strata_in_part(studies ${name}.unwatched)
    endif()
  endforeach()
endfunction()

# strata_test_on_ranks(<module> <target> RANKS <number>... MORE <number>...): an entry strata.<module>.mpi<N> for each number of
# ranks, those of MORE in the part `ranks`. It prints the failures alone, which the lines of the passing tests of all ranks would hide.
function(strata_test_on_ranks module target)
  cmake_parse_arguments(arg "" "" "RANKS;MORE" ${ARGN})
  foreach(ranks IN LISTS arg_RANKS arg_MORE)
    set(name strata.${module}.mpi${ranks})
    add_test(NAME ${name} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks}
      ${MPIEXEC_PREFLAGS} $<TARGET_FILE:${target}> ${MPIEXEC_POSTFLAGS})
    set_tests_properties(${name} PROPERTIES
      LABELS "${module};mpi" PROCESSORS ${ranks} TIMEOUT 600 FAIL_REGULAR_EXPRESSION "[^0-9]0 tests from"
      ENVIRONMENT "${Strata_MPI_TEST_ENVIRONMENT};OPENBLAS_NUM_THREADS=1;GTEST_BRIEF=1")
    if(ranks IN_LIST arg_MORE)
      strata_in_part(ranks ${name})
    endif()
  endforeach()
endfunction()

# strata_add_mpi_test(<module> SOURCES ... [APART ...] LINK targets... RANKS numbers... MORE numbers...): one executable, which
# starts MPI, and its entries.
function(strata_add_mpi_test module)
  cmake_parse_arguments(arg "" "" "SOURCES;APART;LINK;RANKS;MORE" ${ARGN})
  set(target strata_${module}_mpi_test)
  add_executable(${target} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/unit_tests/StrataTest_MpiMain.cpp)
  target_link_libraries(${target} PRIVATE strata_test_flags GTest::gtest ${arg_LINK})
  strata_compile_together(${target} strata_precompiled_tests APART ${arg_APART})
  strata_test_on_ranks(${module} ${target} RANKS ${arg_RANKS} MORE ${arg_MORE})
endfunction()

# strata_add_c_test(<library> SOURCES ... [LINK targets...]): the same for a library of C functions,
# whose tests are plain and see nothing else of Strata.
function(strata_add_c_test library)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  set(target strata_${library}_test)
  add_executable(${target} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/unit_tests/StrataTest_Main.cpp)
  target_link_libraries(${target} PRIVATE
    strata_test_flags Strata::${library} GTest::gtest Kokkos::kokkos ${arg_LINK})
  strata_compile_together(${target} strata_precompiled_tests)
  set(name strata.${library}.HOST)
  add_test(NAME ${name} COMMAND ${target})
  strata_watch_test(${name} "${library};HOST")
endfunction()

# strata_add_fuzzer(<module> <Stem> [LINK targets...] [LAUNCHER command...])
#
# The program of StrataFuzz_<Stem>.cpp, which includes StrataTest_Fuzz.hpp, and its ctest entries, label fuzz:
# strata.fuzz.<module>.<Stem> of Strata_FUZZ_SECONDS and, in the part `fuzz`, .long of Strata_FUZZ_LONG_SECONDS with the next seed.
set(Strata_FUZZ_SECONDS 5 CACHE STRING "Seconds that ctest runs each fuzzer")
set(Strata_FUZZ_LONG_SECONDS 60 CACHE STRING "Seconds that the long run of each fuzzer takes")
set(Strata_FUZZ_SEED 1 CACHE STRING "Seed of the fuzzers in ctest; by hand they draw one")
mark_as_advanced(Strata_FUZZ_SECONDS Strata_FUZZ_LONG_SECONDS Strata_FUZZ_SEED)
function(strata_add_fuzzer module stem)
  cmake_parse_arguments(arg "" "" "LINK;LAUNCHER" ${ARGN})
  set(target strata_fuzz_${module}_${stem})
  add_executable(${target} StrataFuzz_${stem}.cpp)
  target_link_libraries(${target} PRIVATE strata_test_flags Strata::${module} ${arg_LINK})
  if(NOT module STREQUAL "lapack")  # whose users see nothing of Kokkos
    strata_precompile(${target} strata_precompiled_tests)
  endif()
  set(name strata.fuzz.${module}.${stem})
  math(EXPR next_seed "${Strata_FUZZ_SEED} + 1")
  add_test(NAME ${name}
    COMMAND ${arg_LAUNCHER} $<TARGET_FILE:${target}> --seconds ${Strata_FUZZ_SECONDS} --seed ${Strata_FUZZ_SEED})
  add_test(NAME ${name}.long
    COMMAND ${arg_LAUNCHER} $<TARGET_FILE:${target}> --seconds ${Strata_FUZZ_LONG_SECONDS} --seed ${next_seed})
  set_tests_properties(${name} ${name}.long PROPERTIES LABELS "fuzz;${module}")
  strata_in_part(fuzz ${name}.long)
endfunction()

# strata_add_life_test(<module> LINK targets... SCENARIOS names...): the program of StrataTest_Life.cpp,
# which has a main of its own, and an entry strata.<module>.life.<name> for each of its scenarios.
function(strata_add_life_test module)
  cmake_parse_arguments(arg "" "" "LINK;SCENARIOS" ${ARGN})
  set(target strata_${module}_life_test)
  add_executable(${target} StrataTest_Life.cpp)
  target_link_libraries(${target} PRIVATE strata_test_flags ${arg_LINK})
  foreach(scenario IN LISTS arg_SCENARIOS)
    add_test(NAME strata.${module}.life.${scenario} COMMAND ${target} ${scenario})
    set_tests_properties(strata.${module}.life.${scenario} PROPERTIES LABELS ${module} TIMEOUT 120)
  endforeach()
endfunction()
