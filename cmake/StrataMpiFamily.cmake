# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# strata_mpi_family(<variable>): the binary interface of MPI::MPI_CXX, "Open MPI", "MPICH" (which
# Intel MPI, MVAPICH and Cray MPI share) or "unknown". Part of the package: consumers ask too.
include(CheckCXXSymbolExists)
function(strata_mpi_family result)
  string(MD5 mpi "${MPI_CXX_COMPILER};${MPI_CXX_INCLUDE_DIRS};${MPI_CXX_LIBRARIES}")
  set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_CXX)
  set(CMAKE_REQUIRED_QUIET TRUE)
  set(family unknown)
  check_cxx_symbol_exists(OMPI_MAJOR_VERSION mpi.h Strata_OPEN_MPI_${mpi})
  if(Strata_OPEN_MPI_${mpi})
    set(family "Open MPI")
  else()
    check_cxx_symbol_exists(MPICH_NUMVERSION mpi.h Strata_MPICH_${mpi})
    if(Strata_MPICH_${mpi})
      set(family MPICH)
    endif()
  endif()
  set(${result} ${family} PARENT_SCOPE)
endfunction()
