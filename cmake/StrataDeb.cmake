# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# Debian packages, a part each: `cpack` in a build tree, on Debian.
#   strata          the program
#   libstrata-dev   the C++ libraries, their headers and CMake's package
#   libstrata-c     the library for C with its header, the drop-in for LAPACK
#   python3-strata  the package for Python
# What the binaries need is found by dpkg-shlibdeps (dpkg-dev); packages to compile against the libraries are recommended.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME strata)
set(CPACK_PACKAGE_VENDOR "The Strata authors")
set(CPACK_PACKAGE_CONTACT "The Strata authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};${PROJECT_NAME};ALL;/")
set(CPACK_COMPONENTS_ALL)

# strata_deb(<component> <package> <section> <what it is> [dependencies...])
macro(strata_deb component package section what)
  string(TOUPPER ${component} _upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${_upper}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${_upper}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${_upper}_DESCRIPTION "This package has ${what}.")
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/${package} RENAME copyright COMPONENT ${component} EXCLUDE_FROM_ALL)
  set(_depends ${ARGN})
  if(BUILD_SHARED_LIBS AND NOT ${component} STREQUAL "library")
    list(APPEND _depends "libstrata-dev (= ${PROJECT_VERSION})")
  endif()
  list(JOIN _depends ", " CPACK_DEBIAN_${_upper}_PACKAGE_DEPENDS)
endmacro()

strata_deb(library libstrata-dev libdevel "the C++ libraries")
set(_compile cmake g++ pkgconf zlib1g-dev libboost-math-dev libtrilinos-kokkos-dev libtrilinos-kokkos-kernels-dev)
foreach(_pair IN ITEMS MPI:libopenmpi-dev TPL_LAPACK:libopenblas-pthread-dev TPL_LAPACK:liblapack-dev TPL_ONEDNN:libdnnl-dev
    TPL_NLOPT:libnlopt-dev TPL_NUMA:libnuma-dev)
  string(REPLACE ":" ";" _pair ${_pair})
  list(GET _pair 0 _option)
  list(GET _pair 1 _package)
  if(Strata_ENABLE_${_option})
    list(APPEND _compile ${_package})
  endif()
endforeach()
list(JOIN _compile ", " CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS)
if(Strata_ENABLE_PROGRAM)
  strata_deb(program strata math "the program")
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "python3-matplotlib")  # of strata plot
endif()
if(Strata_ENABLE_C)
  strata_deb(c libstrata-c libdevel "the library for C, and the drop-in for LAPACK")
  set(CPACK_DEBIAN_C_PACKAGE_SUGGESTS "libstrata-dev, pkgconf")  # find_package(Strata COMPONENTS c), or strata-c.pc
endif()
if(Strata_ENABLE_PYTHON)
  math(EXPR _next "${Python_VERSION_MINOR} + 1")  # the extension is for one version of Python
  strata_deb(python_debian python3-strata python "the package for Python" "python3 (>= ${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}~)"
    "python3 (<< ${Python_VERSION_MAJOR}.${_next})" python3-numpy python3-scipy)
endif()
include(CPack)
