# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# strata_add_c_library(<name> [HEADERS ...] SOURCES ... EXPORTS <version script> [DEPENDS library...]
#                      [PUBLIC targets...] [PRIVATE targets...])
#
# Adds the shared library strata_<name>, alias and export Strata::<name>, whose only symbols are those
# that the version script names. HEADERS, relative to the folder, are included and installed without
# it: <strata.h>, include/strata/strata.h. DEPENDS: others of these libraries. They are no part of
# Strata::all_libs: they hold
# the modules that they use.
include(GNUInstallDirs)
function(strata_add_c_library name)
  cmake_parse_arguments(arg "" "EXPORTS" "HEADERS;SOURCES;DEPENDS;PUBLIC;PRIVATE" ${ARGN})
  set(target strata_${name})
  add_library(${target} SHARED ${arg_SOURCES})
  add_library(Strata::${name} ALIAS ${target})
  set(rpath "$ORIGIN" ${Strata_KOKKOS_RPATH})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON INSTALL_RPATH "${rpath}"
    LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${arg_EXPORTS})
  if(TARGET strata_precompiled_modules)  # as strata_compile_together, but with the visibility above, which those headers have not
    strata_join_sources(${target} 16)
  endif()
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_options(${target} PRIVATE
    "LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/${arg_EXPORTS}")
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  if(arg_HEADERS)
    target_sources(${target} PUBLIC
      FILE_SET HEADERS BASE_DIRS ${CMAKE_CURRENT_SOURCE_DIR} FILES ${arg_HEADERS})
    set(headers FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/strata)
    strata_check_headers(${name} ${arg_HEADERS})
  endif()
  strata_add_component(${name} ADAPTER C_INTERFACE DEPENDS ${arg_DEPENDS} INSTALL OPTIONAL COMPONENT c ${headers})
endfunction()
