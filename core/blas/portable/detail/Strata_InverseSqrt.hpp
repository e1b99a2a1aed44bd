// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_INVERSE_SQRT_HPP
#define STRATA_INVERSE_SQRT_HPP

#include <Kokkos_Core.hpp>

#include <type_traits>

namespace strata::detail {

/// 1 / sqrt(x), on a device by its approximation, good to two units in the last place.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T inverse_sqrt(T x) {
  KOKKOS_IF_ON_DEVICE(
      (if constexpr (std::is_same_v<T, float>) return ::rsqrtf(x); else return ::rsqrt(x);))
  KOKKOS_IF_ON_HOST((return T(1) / Kokkos::sqrt(x);))
}

/// sqrt(x) from r = 1 / sqrt(x), the rounding of x r corrected.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T root_of(T x, T r) {
  T const root = x * r;
  return Kokkos::fma(T(0.5) * r, Kokkos::fma(-root, root, x), root);
}

}  // namespace strata::detail

#endif
