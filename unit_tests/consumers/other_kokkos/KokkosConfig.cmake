# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# A Kokkos that no Strata was built with.
set(Kokkos_VERSION 4.6.99)
set(Kokkos_DEVICES PIGEON)
