// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LARGEST_MAGNITUDE_HPP
#define STRATA_LARGEST_MAGNITUDE_HPP

#include <core/Strata_MatrixRef.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

namespace strata {

/// *largest = the larger of itself, which must not be negative, and the largest finite stored
/// magnitude of `count` matrices of A's shape, each `stride` numbers after the one before. What is
/// not finite does not count: it stays so under any scale, and the numbers beside it need theirs.
template <class T, class ExecutionSpace>
void largest_magnitude(std::string const& label, ExecutionSpace const& exec,
                       ConstMatrixRef<typename ExecutionSpace::memory_space> const& A,
                       std::int64_t count, std::int64_t stride, double* largest) {
  constexpr std::int64_t most_teams = 1024, chunk = 4096;
  std::int64_t const chunks = (A.rows + chunk - 1) / chunk, rows = A.rows, cols = A.cols, ld = A.ld;
  std::int64_t const items = chunks * cols * count, teams = items < most_teams ? items : most_teams;
  T const* const a = A.template as<T>();
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
  constexpr Wide finite = std::numeric_limits<Wide>::max();
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      label, Policy(exec, static_cast<int>(teams), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        Wide part = 0;
        for (std::int64_t item = team.league_rank(); item < items; item += teams) {
          std::int64_t const begin = (item % chunks) * chunk, all = item / chunks;
          std::int64_t const end = begin + chunk < rows ? begin + chunk : rows;
          T const* const column = a + (all / cols) * stride + (all % cols) * ld;
          Wide most = 0;
          Kokkos::parallel_reduce(
              Kokkos::TeamVectorRange(team, begin, end),
              [&](std::int64_t i, Wide& value) {
                Wide const magnitude = Kokkos::abs(static_cast<Wide>(column[i]));
                bool const counts = magnitude > value && magnitude <= finite;
                value = counts ? magnitude : value;
              },
              Kokkos::Max<Wide>(most));
          part = most > part ? most : part;
        }
        // The bits of numbers that are not negative have the numbers' order.
        Kokkos::single(Kokkos::PerTeam(team), [&] {
          Kokkos::atomic_max(reinterpret_cast<std::int64_t*>(largest),
                             Kokkos::bit_cast<std::int64_t>(static_cast<double>(part)));
        });
      });
}

/// The smallest power of two, but not less than 2^-1022, that brings `amax` to at most `most`,
/// whose exponent is `top`; 1 for 0 and for what is not finite.
KOKKOS_INLINE_FUNCTION double scale_below(double amax, int top, double most) {
  if (!(amax > 0) || !(amax <= 0x1.fffffffffffffp1023)) return 1;
  std::uint64_t const exponent = Kokkos::bit_cast<std::uint64_t>(amax) >> 52;  // biased, of amax
  auto const shift = static_cast<std::uint64_t>(top);
  double const scale = Kokkos::bit_cast<double>((exponent > shift ? exponent - shift : 1) << 52);
  return amax > scale * most ? 2 * scale : scale;
}

}  // namespace strata

#endif
