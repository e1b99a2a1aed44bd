// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DOT4_HPP
#define STRATA_DOT4_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::vendor {

/// c plus the sum of products of four bytes with signs: one instruction of NVIDIA's.
KOKKOS_FORCEINLINE_FUNCTION std::int32_t dot4(std::uint32_t a, std::uint32_t b, std::int32_t c) {
#if defined(__CUDA_ARCH__)
  return __dp4a(static_cast<int>(a), static_cast<int>(b), c);
#else
  for (int shift = 0; shift < 32; shift += 8)
    c += static_cast<std::int8_t>(a >> shift) * static_cast<std::int8_t>(b >> shift);
  return c;
#endif
}

}  // namespace strata::vendor

#endif
