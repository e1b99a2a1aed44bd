// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_RANDOM_HPP
#define STRATA_RANDOM_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata {

namespace detail {
KOKKOS_INLINE_FUNCTION std::uint64_t mix_bits(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}
}  // namespace detail

/// 64 random bits that depend on (seed, i, j) only. So each thread of each backend may draw
/// its own.
///
/// Source   Steele, Lea & Flood, Fast splittable pseudorandom number generators, OOPSLA 2014,
///          doi:10.1145/2660193.2660195 (the output function of SplitMix64), once per word.
KOKKOS_INLINE_FUNCTION std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i,
                                                 std::uint64_t j = 0) {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15ull;
  std::uint64_t const of_seed = detail::mix_bits(seed + golden);
  std::uint64_t const of_row = detail::mix_bits(of_seed + golden * (i + 1));
  return detail::mix_bits(of_row + golden * (j + 1));
}

/// A number of the open interval (0, 1), uniform on the odd multiples of 2^-53; exactly the same on
/// every backend and compiler.
KOKKOS_INLINE_FUNCTION double uniform(std::uint64_t seed, std::uint64_t i, std::uint64_t j = 0) {
  return (static_cast<double>(random_bits(seed, i, j) >> 12) + 0.5) * 0x1p-52;
}

}  // namespace strata

#endif
