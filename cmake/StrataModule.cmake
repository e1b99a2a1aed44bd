# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
include(GNUInstallDirs)

# strata_precompiled(<group> LINK targets... HEADERS <header>...)
#
# The headers that cost most of a source's time to compile, precompiled once for targets that are compiled alike, which
# take them, and the group's own compile options, by strata_precompile(<target> <group>). In builds for hosts alone (Strata_PRECOMPILE_HEADERS): each source still
# includes what it uses, as unit_tests/meta/rules.py sees.
function(strata_precompiled group)
  cmake_parse_arguments(arg "" "" "LINK;HEADERS" ${ARGN})
  if(Strata_PRECOMPILE_HEADERS AND NOT Kokkos_ENABLE_CUDA AND NOT Kokkos_ENABLE_HIP)
    set(source ${PROJECT_BINARY_DIR}/precompiled/${group}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "// Nothing but its precompiled headers.\n")
    add_library(${group} OBJECT ${source})
    target_compile_features(${group} PRIVATE cxx_std_20)
    target_link_libraries(${group} PRIVATE ${arg_LINK})
    target_precompile_headers(${group} PRIVATE ${arg_HEADERS})
  endif()
endfunction()
function(strata_precompile target group)
  if(TARGET ${group})
    target_precompile_headers(${target} REUSE_FROM ${group})
    get_target_property(options ${group} COMPILE_OPTIONS)
    if(options)
      target_compile_options(${target} PRIVATE ${options})
    endif()
  endif()
endfunction()

# strata_join_sources(<target> <number> [APART <source>...])
#
# This number of the target's C++ sources become one, which includes them, but for those APART and those with compile
# options of their own. CMake's UNITY_BUILD names sources by absolute paths; these paths are relative, so that ccache knows
# the same source in another checkout. It begins at the end of the folder's CMakeLists.txt, which may add sources until then.
function(strata_join_sources target number)
  cmake_parse_arguments(arg "" "" "APART" ${ARGN})
  set_target_properties(${target} PROPERTIES STRATA_APART "${arg_APART}")
  # A source that another one includes looks like a header to GCC, whose unnamed namespaces it warns of.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  # GCC collects its garbage from 128 MB on, which costs a tenth of such a source's time; here it does from 1 GB on.
  target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:SHELL:--param ggc-min-heapsize=1048576>")
  cmake_language(EVAL CODE "cmake_language(DEFER CALL strata_write_joined_sources ${target} ${number})")
endfunction()
function(strata_write_joined_sources target number)
  get_target_property(sources ${target} SOURCES)
  get_target_property(apart ${target} STRATA_APART)
  set(together)
  foreach(source IN LISTS sources)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(macros ${source} COMPILE_DEFINITIONS)
    if(source MATCHES "\\.cpp$" AND NOT source IN_LIST apart AND NOT options AND NOT macros)
      list(APPEND together ${source})
    endif()
  endforeach()
  set(count 0)
  while(together)
    list(SUBLIST together 0 ${number} batch)
    list(REMOVE_ITEM together ${batch})
    set(joined ${CMAKE_CURRENT_BINARY_DIR}/joined/${target}_${count}.cpp)
    set(text)
    foreach(source IN LISTS batch)
      file(REAL_PATH ${source} path BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
      file(RELATIVE_PATH path ${CMAKE_CURRENT_BINARY_DIR}/joined ${path})
      string(APPEND text "#include \"${path}\"  // NOLINT\n")
    endforeach()
    file(CONFIGURE OUTPUT ${joined} CONTENT "${text}" @ONLY)
    target_sources(${target} PRIVATE ${joined})
    set_source_files_properties(${batch} PROPERTIES HEADER_FILE_ONLY ON)
    math(EXPR count "${count} + 1")
  endwhile()
endfunction()

# strata_compile_together(<target> <group> [SOURCES <number>] [APART <source>...])
#
# Precompiled headers and joined sources, six or this number in one, as most of the time of a source goes into what all of them instantiate; those APART,
# whose own code takes long, stay alone.
function(strata_compile_together target group)
  cmake_parse_arguments(arg "" "SOURCES" "APART" ${ARGN})
  if(NOT arg_SOURCES)
    set(arg_SOURCES 6)
  endif()
  strata_precompile(${target} ${group})
  if(TARGET ${group})
    strata_join_sources(${target} ${arg_SOURCES} APART ${arg_APART})
  endif()
endfunction()

strata_precompiled(strata_precompiled_modules LINK Kokkos::kokkos HEADERS <Kokkos_Core.hpp>)
if(TARGET strata_precompiled_modules)
  set_target_properties(strata_precompiled_modules PROPERTIES POSITION_INDEPENDENT_CODE ON)
endif()

# strata_brings_kokkos(<header> <result>): whether it includes one of Kokkos' headers, itself or by others of Strata.
function(strata_brings_kokkos header result)
  set(answer FALSE)
  if(header MATCHES "^Kokkos")
    set(answer TRUE)
  elseif(EXISTS ${PROJECT_SOURCE_DIR}/${header})
    get_property(is_known GLOBAL PROPERTY Strata_brings_kokkos_${header} SET)
    if(is_known)
      get_property(answer GLOBAL PROPERTY Strata_brings_kokkos_${header})
    else()
      file(STRINGS ${PROJECT_SOURCE_DIR}/${header} lines REGEX "^#include <")
      foreach(line IN LISTS lines)
        string(REGEX REPLACE "^#include <(.*)>.*" "\\1" other "${line}")
        if(NOT answer)
          strata_brings_kokkos(${other} answer)
        endif()
      endforeach()
      set_property(GLOBAL PROPERTY Strata_brings_kokkos_${header} ${answer})
    endif()
  endif()
  set(${result} ${answer} PARENT_SCOPE)
endfunction()

# strata_check_headers(<name> <header>...)
#
# strata_<name>_headers, a part of strata_headers, compiles each header alone, and again behind itself, as who uses
# Strata::<name> does. Those that bring Kokkos share its precompiled headers: it is there in either case once their own includes
# are, each of which is compiled alone, too.
function(strata_check_headers name)
  if(NOT PROJECT_IS_TOP_LEVEL OR NOT Strata_ENABLE_TESTS)
    return()
  endif()
  set(target strata_${name}_headers)
  add_library(${target} OBJECT EXCLUDE_FROM_ALL)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${target} PRIVATE Strata::${name})
  strata_precompile(${target} strata_precompiled_modules)
  foreach(header IN LISTS ARGN)
    set(source ${PROJECT_BINARY_DIR}/headers/${header}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include <${header}>\n#include <${header}>\n")
    target_sources(${target} PRIVATE ${source})
    strata_brings_kokkos(${header} brings_kokkos)
    if(NOT brings_kokkos)
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
  if(NOT TARGET strata_headers)
    add_custom_target(strata_headers)
  endif()
  add_dependencies(strata_headers ${target})
endfunction()

# strata_add_component(<name> [ADAPTER] [C_INTERFACE] [DEPENDS module...] [PACKAGES "package arguments..."...]
#                      [INSTALL options of install(TARGETS)...])
#
# All that the packages must know of the library strata_<name>: exports it as Strata::<name>, the
# component <name> of find_package(Strata). PACKAGES are found by its consumers. An ADAPTER is in
# neither Strata::all_libs nor strata.pc: consumers name it. A C_INTERFACE is a shared library that
# C programs can use; it has a strata-<name>.pc.
function(strata_add_component name)
  cmake_parse_arguments(arg "ADAPTER;C_INTERFACE" "" "DEPENDS;PACKAGES;INSTALL" ${ARGN})
  # An export set of its own: the packages of one component are not looked for by users of another.
  install(TARGETS strata_${name} EXPORT Strata-${name}-targets ${arg_INSTALL})
  set_property(GLOBAL APPEND PROPERTY Strata_MODULES ${name})
  foreach(item IN ITEMS ADAPTER C_INTERFACE DEPENDS PACKAGES)
    set_property(GLOBAL PROPERTY Strata_${name}_${item} ${arg_${item}})
  endforeach()
endfunction()

# strata_add_module(<name> [ADAPTER] HEADERS ... [GENERATED ...] SOURCES ... [APART ...]
#                   [DEPENDS module...] [PUBLIC targets...] [PRIVATE targets...] [HEADER_ONLY targets...]
#                   [PACKAGES "package arguments..."...])
#
# Adds the library strata_<name>, alias Strata::<name>, and its component. HEADERS are relative to
# the module's folder and are installed under include/strata/<name>/; so are the GENERATED ones,
# which lie below <build tree>/include/. Of the SOURCES those APART are compiled alone. HEADER_ONLY
# libraries are used by sources alone, so that consumers need not find them. PACKAGES are what the
# PUBLIC targets come from.
function(strata_add_module name)
  cmake_parse_arguments(arg "ADAPTER" ""
    "HEADERS;GENERATED;SOURCES;APART;DEPENDS;PUBLIC;PRIVATE;HEADER_ONLY;PACKAGES" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "strata_add_module(${name}): what is '${arg_UNPARSED_ARGUMENTS}'?")
  endif()
  add_library(strata_${name} ${arg_SOURCES})
  add_library(Strata::${name} ALIAS strata_${name})
  set(rpath "$ORIGIN" ${Strata_KOKKOS_RPATH})
  set_target_properties(strata_${name} PROPERTIES
    EXPORT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    POSITION_INDEPENDENT_CODE ON INSTALL_RPATH "${rpath}" INSTALL_RPATH_USE_LINK_PATH ON)
  target_compile_features(strata_${name} PUBLIC cxx_std_20)
  if(arg_ADAPTER)  # its own headers cost more
    strata_precompile(strata_${name} strata_precompiled_modules)
  else()
    strata_compile_together(strata_${name} strata_precompiled_modules SOURCES 9 APART ${arg_APART})
  endif()
  # Two file sets, as a build tree inside the source tree would nest their base directories.
  target_sources(strata_${name} PUBLIC
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${arg_HEADERS}
    FILE_SET generated TYPE HEADERS BASE_DIRS ${PROJECT_BINARY_DIR}/include FILES ${arg_GENERATED})
  set(headers ${arg_HEADERS})
  list(TRANSFORM headers PREPEND ${name}/)
  foreach(header IN LISTS arg_GENERATED)
    cmake_path(RELATIVE_PATH header BASE_DIRECTORY ${PROJECT_BINARY_DIR}/include)
    list(APPEND headers ${header})
  endforeach()
  strata_check_headers(${name} ${headers})
  set(depends ${arg_DEPENDS})
  list(TRANSFORM depends PREPEND Strata::)
  target_link_libraries(strata_${name} PUBLIC ${depends} ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  foreach(library IN LISTS arg_HEADER_ONLY)
    target_include_directories(strata_${name} SYSTEM PRIVATE
      $<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
  set(adapter)
  if(arg_ADAPTER)
    set(adapter ADAPTER)
  endif()
  strata_add_component(${name} ${adapter} DEPENDS ${arg_DEPENDS} PACKAGES ${arg_PACKAGES} INSTALL
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/strata
    FILE_SET generated DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/strata)
endfunction()
