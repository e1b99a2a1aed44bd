# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# strata_add_module(<name> HEADERS ... [GENERATED ...] SOURCES ...
#                   [DEPENDS module...] [PUBLIC targets...] [PRIVATE targets...] [HEADER_ONLY targets...])
#
# Adds the library strata_<name>, alias and export Strata::<name>. HEADERS are relative to the
# module's folder and are installed under include/strata/<name>/; so are the GENERATED ones, which
# lie below <build tree>/include/. HEADER_ONLY libraries are used by sources alone, so that
# consumers need not find them.
include(GNUInstallDirs)
function(strata_add_module name)
  cmake_parse_arguments(arg "" "" "HEADERS;GENERATED;SOURCES;DEPENDS;PUBLIC;PRIVATE;HEADER_ONLY" ${ARGN})
  add_library(strata_${name} ${arg_SOURCES})
  add_library(Strata::${name} ALIAS strata_${name})
  set_target_properties(strata_${name} PROPERTIES
    EXPORT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    POSITION_INDEPENDENT_CODE ON)
  target_compile_features(strata_${name} PUBLIC cxx_std_20)
  # Two file sets, as a build tree inside the source tree would nest their base directories.
  target_sources(strata_${name} PUBLIC
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${arg_HEADERS}
    FILE_SET generated TYPE HEADERS BASE_DIRS ${PROJECT_BINARY_DIR}/include FILES ${arg_GENERATED})
  list(TRANSFORM arg_DEPENDS PREPEND Strata::)
  target_link_libraries(strata_${name} PUBLIC ${arg_DEPENDS} ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  foreach(library IN LISTS arg_HEADER_ONLY)
    target_include_directories(strata_${name} SYSTEM PRIVATE
      $<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
  install(TARGETS strata_${name} EXPORT StrataTargets
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/strata
    FILE_SET generated DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/strata)
  set_property(GLOBAL APPEND PROPERTY Strata_MODULES ${name})
endfunction()
