// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_FEW_THREADS_HPP
#define STRATA_FEW_THREADS_HPP

#include <Kokkos_Core.hpp>

#include <type_traits>

namespace strata {

/// Whether it is of a host's threads, and there are several.
template <class Exec>
bool has_threads([[maybe_unused]] Exec const& exec) {
#ifdef KOKKOS_ENABLE_OPENMP
  if constexpr (std::is_same_v<Exec, Kokkos::OpenMP>) return exec.concurrency() > 1;
#endif
  return false;
}

/// Returns `exec`, or, if `is_little`, an OpenMP instance with one thread. Several threads take
/// microseconds to begin a loop and to end it, up to 50 us if they sleep in between. One thread
/// needs as long for a whole small matrix.
template <class Exec>
Exec for_work(Exec const& exec, [[maybe_unused]] bool is_little) {
#ifdef KOKKOS_ENABLE_OPENMP
  if constexpr (std::is_same_v<Exec, Kokkos::OpenMP>)
    if (is_little && has_threads(exec)) return Exec(1);
#endif
  return exec;
}

}  // namespace strata

#endif
