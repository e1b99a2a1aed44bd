# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# Stands for a Trilinos with a Kokkos that isn't Strata's.
set(Tpetra_FOUND TRUE)
set(Kokkos_VERSION 4.6.99)
set(Kokkos_DEVICES PIGEON)
