# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# An MPI of neither family: its mpi.h says nothing.
add_library(MPI::MPI_CXX INTERFACE IMPORTED)
file(WRITE ${CMAKE_BINARY_DIR}/stub/mpi.h "")
target_include_directories(MPI::MPI_CXX INTERFACE ${CMAKE_BINARY_DIR}/stub)
set(MPI_CXX_LIBRARIES /stub/libmpi.so)
set(MPI_FOUND TRUE)
set(MPI_CXX_FOUND TRUE)
