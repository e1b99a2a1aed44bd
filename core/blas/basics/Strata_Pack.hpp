// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PACK_HPP
#define STRATA_PACK_HPP

#include <Kokkos_Core.hpp>

namespace strata {

/// As many numbers as one load of 16 bytes brings.
template <class T>
struct alignas(16) Pack {
  static constexpr int size = 16 / sizeof(T);  ///< numbers in a pack
  T x[size];                                   ///< the numbers
};

/// The pack that starts at `a`, which is aligned to it.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Pack<T> load_pack(T const* a) {
  return *reinterpret_cast<Pack<T> const*>(a);
}

}  // namespace strata

#endif
