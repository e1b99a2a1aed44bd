# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
include(GNUInstallDirs)

# strata_precompile(<target> <header>...)
#
# The headers that cost most of a source's time to compile, precompiled in builds for hosts (Strata_PRECOMPILE_HEADERS).
# Each source still includes what it uses, as unit_tests/meta/rules.py sees: other builds do without.
function(strata_precompile target)
  if(Strata_PRECOMPILE_HEADERS AND NOT Kokkos_ENABLE_CUDA AND NOT Kokkos_ENABLE_HIP)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
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

# strata_add_module(<name> [ADAPTER] HEADERS ... [GENERATED ...] SOURCES ...
#                   [DEPENDS module...] [PUBLIC targets...] [PRIVATE targets...] [HEADER_ONLY targets...]
#                   [PACKAGES "package arguments..."...])
#
# Adds the library strata_<name>, alias Strata::<name>, and its component. HEADERS are relative to
# the module's folder and are installed under include/strata/<name>/; so are the GENERATED ones,
# which lie below <build tree>/include/. HEADER_ONLY libraries are used by sources alone, so that
# consumers need not find them. PACKAGES are what the PUBLIC targets come from.
function(strata_add_module name)
  cmake_parse_arguments(arg "ADAPTER" ""
    "HEADERS;GENERATED;SOURCES;DEPENDS;PUBLIC;PRIVATE;HEADER_ONLY;PACKAGES" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "strata_add_module(${name}): what is '${arg_UNPARSED_ARGUMENTS}'?")
  endif()
  add_library(strata_${name} ${arg_SOURCES})
  add_library(Strata::${name} ALIAS strata_${name})
  set_target_properties(strata_${name} PROPERTIES
    EXPORT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    POSITION_INDEPENDENT_CODE ON INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
  target_compile_features(strata_${name} PUBLIC cxx_std_20)
  strata_precompile(strata_${name} <Kokkos_Core.hpp>)
  # Two file sets, as a build tree inside the source tree would nest their base directories.
  target_sources(strata_${name} PUBLIC
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${arg_HEADERS}
    FILE_SET generated TYPE HEADERS BASE_DIRS ${PROJECT_BINARY_DIR}/include FILES ${arg_GENERATED})
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
