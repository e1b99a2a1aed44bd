// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PUBLISHED_HPP
#define STRATA_PUBLISHED_HPP

#include <core/kokkos_ext/vendor/Strata_RelaxedWord.hpp>

#include <Kokkos_BitManipulation.hpp>
#include <Kokkos_Core.hpp>

#include <cstdint>
#include <string>
#include <type_traits>

namespace strata {

/// Numbers that one team of a kernel writes and others wait for: each is its own flag, as all bits
/// are 1 until it is there.
///
/// A kernel must not wait for a team that may not have begun. The kernel's pieces of work need an
/// order in which each needs earlier pieces alone. Teams take pieces in the order in which the
/// teams start (`atomic_fetch_add`), not by their rank.
template <class T>
struct Published {
  /// An unsigned integer of the same size.
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  /// The bits of a number that is not there.
  static constexpr Bits unset = ~Bits(0);

  Bits* bits;  ///< bits of the numbers, in the device's memory

  /// Number i is there from now on.
  KOKKOS_FORCEINLINE_FUNCTION void write(std::int64_t i, T value) const {
    auto const given = Kokkos::bit_cast<Bits>(value);
    Bits const written = given == unset ? unset >> 1 : given;  // a NaN, too
    vendor::store_relaxed(bits + i, written);
  }

  /// The bits of number i now.
  KOKKOS_FORCEINLINE_FUNCTION Bits look(std::int64_t i) const {
    return vendor::load_relaxed(bits + i);
  }
  /// Number i when it is there, whose bits were `seen` before.
  KOKKOS_FORCEINLINE_FUNCTION T wait(std::int64_t i, Bits seen = unset) const {
    while (seen == unset) seen = look(i);
    return Kokkos::bit_cast<T>(seen);
  }

  /// Numbers at(0), at(1), ... when all of them are there; 0 where `at` is negative.
  template <int count, class Indices>
  KOKKOS_FORCEINLINE_FUNCTION void gather(Indices const& at, T (&values)[count]) const {
    bool is_there;
    do {
      is_there = true;
#pragma unroll
      for (int k = 0; k < count; ++k) {
        std::int64_t const i = at(k);
        Bits const now = i >= 0 ? look(i) : Bits(0);
        is_there = is_there && now != unset;
        values[k] = Kokkos::bit_cast<T>(now);
      }
    } while (!is_there);
  }

  /// Numbers i, i + step, ...: those from `end` on are 0.
  template <int count>
  KOKKOS_FORCEINLINE_FUNCTION void read(std::int64_t i, int step, std::int64_t end,
                                        T (&values)[count]) const {
    gather(
        [=](int k) {
          std::int64_t const index = i + std::int64_t{k} * step;
          return index < end ? index : std::int64_t{-1};
        },
        values);
  }
};

/// `numbers` numbers from `bits` on are not there.
///
/// Sync     enqueued.
template <class Bits, class Exec>
void unset(std::string const& label, Exec const& exec, Bits* bits, std::int64_t numbers) {
  Kokkos::parallel_for(
      label, Kokkos::RangePolicy<Exec>(exec, 0, numbers),
      KOKKOS_LAMBDA(std::int64_t i) { bits[i] = ~Bits(0); });
}

}  // namespace strata

#endif
