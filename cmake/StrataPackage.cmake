# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# Strata::all_libs, find_package(Strata) from an install tree and from the build tree, and strata.pc.
include(CMakePackageConfigHelpers)
include(StrataMpiFamily)
include(StrataPkgConfig)

get_property(Strata_MODULES GLOBAL PROPERTY Strata_MODULES)
add_library(strata_all_libs INTERFACE)
add_library(Strata::all_libs ALIAS strata_all_libs)

# A shared library brings its private dependencies itself; a static one leaves them to its consumer.
if(NOT BUILD_SHARED_LIBS)
  set_property(GLOBAL APPEND PROPERTY Strata_core_PACKAGES ${Strata_TPL_PACKAGES})
endif()

# What StrataConfig.cmake knows of each module, and of what this build was made with.
set(_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Strata)
set(Strata_MODULE_TABLE)
foreach(_module IN LISTS Strata_MODULES)
  get_property(_is_adapter GLOBAL PROPERTY Strata_${_module}_ADAPTER)
  if(NOT _is_adapter)
    list(APPEND Strata_DEFAULT_MODULES ${_module})
    target_link_libraries(strata_all_libs INTERFACE Strata::${_module})
  endif()
  foreach(_item IN ITEMS DEPENDS PACKAGES)
    get_property(_value GLOBAL PROPERTY Strata_${_module}_${_item})
    string(APPEND Strata_MODULE_TABLE "set(_strata_${_module}_${_item} \"${_value}\")\n")
  endforeach()
  get_property(_is_c_interface GLOBAL PROPERTY Strata_${_module}_C_INTERFACE)
  if(_is_c_interface)  # the program needs none of them, so that a tree can be without
    set(_file ${CMAKE_SHARED_LIBRARY_PREFIX}strata_${_module}${CMAKE_SHARED_LIBRARY_SUFFIX})
    string(APPEND Strata_MODULE_TABLE "set(_strata_${_module}_LIBRARY ${_module}/${_file} ${_file})\n")
  endif()
  set(_part)
  if(_is_c_interface)
    set(_part COMPONENT c)
  endif()
  install(EXPORT Strata-${_module}-targets NAMESPACE Strata:: DESTINATION ${_package_dir} ${_part})
  export(EXPORT Strata-${_module}-targets NAMESPACE Strata::
    FILE ${PROJECT_BINARY_DIR}/Strata-${_module}-targets.cmake)
endforeach()
set(Strata_MPI_FAMILY)
if(Strata_ENABLE_MPI)
  strata_mpi_family(Strata_MPI_FAMILY)
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/StrataConfig.cmake.in
  ${PROJECT_BINARY_DIR}/StrataConfig.cmake INSTALL_DESTINATION ${_package_dir} PATH_VARS CMAKE_INSTALL_LIBDIR)
configure_file(${PROJECT_SOURCE_DIR}/cmake/StrataMpiFamily.cmake
  ${PROJECT_BINARY_DIR}/StrataMpiFamily.cmake COPYONLY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/StrataConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/StrataConfig.cmake ${PROJECT_BINARY_DIR}/StrataConfigVersion.cmake
  ${PROJECT_BINARY_DIR}/StrataMpiFamily.cmake DESTINATION ${_package_dir})
strata_pkg_config(${Strata_MODULES})
install(FILES LICENSE README.md CHANGELOG.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
