# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# One Debian package of the libraries, the program and the package for Python: `cpack` in a build tree, on Debian.
# What the binaries need is found by dpkg-shlibdeps (dpkg-dev); packages to compile against the libraries are recommended.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME strata)
set(CPACK_PACKAGE_VENDOR "The Strata authors")
set(CPACK_PACKAGE_CONTACT "The Strata authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION math)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

set(_compile cmake g++ pkg-config zlib1g-dev libboost-math-dev libtrilinos-kokkos-dev libtrilinos-kokkos-kernels-dev)
foreach(_pair IN ITEMS MPI:libopenmpi-dev TPL_LAPACK:libopenblas-pthread-dev TPL_LAPACK:liblapack-dev TPL_ONEDNN:libdnnl-dev
    TPL_NLOPT:libnlopt-dev TPL_NUMA:libnuma-dev)
  string(REPLACE ":" ";" _pair ${_pair})
  list(GET _pair 0 _option)
  list(GET _pair 1 _package)
  if(Strata_ENABLE_${_option})
    list(APPEND _compile ${_package})
  endif()
endforeach()
list(JOIN _compile ", " CPACK_DEBIAN_PACKAGE_RECOMMENDS)

set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};${PROJECT_NAME};ALL;/")
if(Strata_ENABLE_PYTHON)
  # The extension is for one version of Python.
  math(EXPR _next "${Python_VERSION_MINOR} + 1")
  set(CPACK_DEBIAN_PACKAGE_DEPENDS
    "python3 (>= ${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}~), python3 (<< ${Python_VERSION_MAJOR}.${_next}), python3-numpy, python3-scipy")
  list(APPEND CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};${PROJECT_NAME};python_debian;/")
endif()
include(CPack)
