# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# A Kokkos that is as the test says, and not what Strata was built with.
set(Kokkos_VERSION ${STUB_KOKKOS_VERSION})
string(REPLACE "," ";" Kokkos_DEVICES "${STUB_KOKKOS_DEVICES}")
string(REPLACE "," ";" Kokkos_ARCH "${STUB_KOKKOS_ARCH}")
