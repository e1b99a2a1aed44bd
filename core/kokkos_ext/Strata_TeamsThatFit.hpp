// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TEAMS_THAT_FIT_HPP
#define STRATA_TEAMS_THAT_FIT_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>

namespace strata {

/// Bytes of scratch memory that the teams on one multiprocessor of a device share. This is the
/// number of the architecture for which Kokkos is built; for architectures that are not named here,
/// the least of all.
inline constexpr std::size_t scratch_of_processor =
    std::size_t{
#if defined(KOKKOS_ARCH_HOPPER90) || defined(KOKKOS_ARCH_BLACKWELL100)
        228
#elif defined(KOKKOS_ARCH_AMPERE80) || defined(KOKKOS_ARCH_AMPERE87)
        164
#elif defined(KOKKOS_ARCH_AMPERE86) || defined(KOKKOS_ARCH_ADA89) || \
    defined(KOKKOS_ARCH_BLACKWELL120)
        100
#elif defined(KOKKOS_ARCH_VOLTA70) || defined(KOKKOS_ARCH_VOLTA72)
        96
#else
        64
#endif
    }
    << 10;

/// The number of teams, at most `wanted`, that find room on one multiprocessor. It is for
/// `Kokkos::LaunchBounds`: Kokkos refuses to launch a kernel that asks for more. Kokkos and the
/// device take some scratch memory of each team for themselves.
constexpr unsigned teams_that_fit(unsigned wanted, std::size_t scratch_bytes) {
  constexpr std::size_t taken = 4096;
  auto const fitting = static_cast<unsigned>(scratch_of_processor / (scratch_bytes + taken));
  return std::clamp(fitting, 1U, wanted);
}

}  // namespace strata

#endif
