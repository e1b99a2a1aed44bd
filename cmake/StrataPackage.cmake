# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# Strata::all_libs, and find_package(Strata) from an install tree and from the build tree.
include(CMakePackageConfigHelpers)

get_property(Strata_MODULES GLOBAL PROPERTY Strata_MODULES)
get_property(Strata_C_LIBRARIES GLOBAL PROPERTY Strata_C_LIBRARIES)
add_library(strata_all_libs INTERFACE)
add_library(Strata::all_libs ALIAS strata_all_libs)
set_target_properties(strata_all_libs PROPERTIES EXPORT_NAME all_libs)
foreach(_module IN LISTS Strata_MODULES)
  target_link_libraries(strata_all_libs INTERFACE Strata::${_module})
endforeach()
install(TARGETS strata_all_libs EXPORT StrataTargets)

# A shared library brings its private dependencies itself; a static one leaves them to its consumer.
set(Strata_LINK_PACKAGES ${Strata_TPL_PACKAGES})
if(BUILD_SHARED_LIBS)
  set(Strata_LINK_PACKAGES)
endif()
list(APPEND Strata_LINK_PACKAGES ${Strata_PUBLIC_PACKAGES})

set(_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Strata)
install(EXPORT StrataTargets NAMESPACE Strata:: DESTINATION ${_package_dir})
export(EXPORT StrataTargets NAMESPACE Strata:: FILE ${PROJECT_BINARY_DIR}/StrataTargets.cmake)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/StrataConfig.cmake.in
  ${PROJECT_BINARY_DIR}/StrataConfig.cmake INSTALL_DESTINATION ${_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/StrataConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/StrataConfig.cmake ${PROJECT_BINARY_DIR}/StrataConfigVersion.cmake
  DESTINATION ${_package_dir})
