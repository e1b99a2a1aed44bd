# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# The option Strata_ENABLE_PETSC: a library that PETSc loads for -pc_type strata.
set(_petsc OFF)
if((NOT DEFINED Strata_ENABLE_PETSC OR Strata_ENABLE_PETSC) AND Strata_ENABLE_C AND Strata_ENABLE_MPI)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    # Debian's is in a folder of its version.
    file(GLOB _folders LIST_DIRECTORIES ON /usr/lib/petscdir/petsc*/*-real/lib/pkgconfig)
    list(JOIN _folders ":" _folders)
    set(_path "$ENV{PKG_CONFIG_PATH}")
    set(ENV{PKG_CONFIG_PATH} "${_path}:$ENV{PETSC_DIR}/$ENV{PETSC_ARCH}/lib/pkgconfig:${_folders}")
    pkg_check_modules(PETSc QUIET IMPORTED_TARGET PETSc>=3.18)
    set(ENV{PKG_CONFIG_PATH} "${_path}")
    if(PETSc_FOUND)
      set(_petsc ON)
    endif()
  endif()
endif()
option(Strata_ENABLE_PETSC "The preconditioner -pc_type strata of PETSc" ${_petsc})
if(Strata_ENABLE_PETSC AND NOT _petsc)
  message(FATAL_ERROR "Strata_ENABLE_PETSC is ON but it needs PETSc 3.18 or later (PKG_CONFIG_PATH, or PETSC_DIR and PETSC_ARCH), "
    "Strata_ENABLE_C and Strata_ENABLE_MPI")
endif()
