# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# An MPI whose programs are there and whose headers are not, as Debian's openmpi-bin alone.
set(MPI_CXX_COMPILER /stub/mpicxx)
set(MPI_CXX_INCLUDE_DIRS /stub/include)
set(MPI_CXX_FOUND TRUE)
set(MPI_FOUND TRUE)
