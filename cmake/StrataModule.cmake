# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# strata_add_module(<name> HEADERS ... SOURCES ... [DEPENDS module...] [PRIVATE targets...])
#
# Adds the library strata_<name>, alias and export Strata::<name>. HEADERS are relative to the repository root's
# folder of the module and are installed under include/strata/<name>/.
include(GNUInstallDirs)
function(strata_add_module name)
  cmake_parse_arguments(arg "" "" "HEADERS;SOURCES;DEPENDS;PUBLIC;PRIVATE" ${ARGN})
  add_library(strata_${name} ${arg_SOURCES})
  add_library(Strata::${name} ALIAS strata_${name})
  set_target_properties(strata_${name} PROPERTIES
    EXPORT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    POSITION_INDEPENDENT_CODE ON)
  target_compile_features(strata_${name} PUBLIC cxx_std_20)
  target_sources(strata_${name} PUBLIC FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/include FILES ${arg_HEADERS})
  list(TRANSFORM arg_DEPENDS PREPEND Strata::)
  target_link_libraries(strata_${name} PUBLIC ${arg_DEPENDS} ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  install(TARGETS strata_${name} EXPORT StrataTargets
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/strata)
  set_property(GLOBAL APPEND PROPERTY Strata_MODULES ${name})
endfunction()
