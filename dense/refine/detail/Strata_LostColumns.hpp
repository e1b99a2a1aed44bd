// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_LOST_COLUMNS_HPP
#define STRATA_DETAIL_LOST_COLUMNS_HPP

#include <core/Strata_Errors.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::dense::detail {

/// The first number of B that is not finite, column by column, as i + j rows; where there is none,
/// more than all of B's (the identity of Kokkos::Min). Fences.
template <class ExecutionSpace, class InBlock>
std::int64_t first_non_finite(ExecutionSpace const& exec, InBlock const& B) {
  std::int64_t first = -1;
  auto const rows = B.rows;
  Kokkos::parallel_reduce(
      "strata::dense::solve::first_non_finite",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, rows * B.cols),
      KOKKOS_LAMBDA(std::int64_t k, std::int64_t& found) {
        if (!Kokkos::isfinite(B(k % rows, k / rows)) && k < found) found = k;
      },
      Kokkos::Min<std::int64_t>(first));
  return first;
}

/// Y's columns of which a number d_i y_ij is not finite become 0; how many. Fences.
template <class ExecutionSpace, class ScalingView, class Block>
std::int64_t drop_overflow(ExecutionSpace const& exec, ScalingView const& d, Block const& Y) {
  auto const rows = static_cast<std::int64_t>(d.extent(0)),
             cols = static_cast<std::int64_t>(Y.extent(1));
  std::int64_t dropped = 0;
  if (rows == 0) return dropped;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  Kokkos::parallel_reduce(
      "strata::dense::solve::drop_overflow", Policy(exec, static_cast<int>(cols), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team, std::int64_t& count) {
        std::int64_t const j = team.league_rank();
        int lost = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, rows),
            [&](std::int64_t i, int& value) { value += Kokkos::isfinite(d(i) * Y(i, j)) ? 0 : 1; },
            lost);
        if (lost == 0) return;
        Kokkos::parallel_for(Kokkos::TeamVectorRange(team, rows),
                             [&](std::int64_t i) { Y(i, j) = 0; });
        Kokkos::single(Kokkos::PerTeam(team), [&] { count += 1; });
      },
      dropped);
  return dropped;
}

/// Columns of R = D B of which R holds nothing, as a number overflows or all that are not 0
/// underflow, become 0; how many. Fences.
template <class ExecutionSpace, class InBlock, class Block>
std::int64_t drop_lost_columns(ExecutionSpace const& exec, InBlock const& B, Block const& R) {
  auto const rows = static_cast<std::int64_t>(R.extent(0)),
             cols = static_cast<std::int64_t>(R.extent(1));
  std::int64_t dropped = 0;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  Kokkos::parallel_reduce(
      "strata::dense::solve::drop_lost_columns", Policy(exec, static_cast<int>(cols), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team, std::int64_t& count) {
        std::int64_t const j = team.league_rank();
        auto const largest = [&](bool of_B) {
          double most = 0;
          Kokkos::parallel_reduce(
              Kokkos::TeamVectorRange(team, rows),
              [&](std::int64_t i, double& value) {
                value = Kokkos::fmax(value, Kokkos::abs(of_B ? B(i, j) : R(i, j)));
              },
              Kokkos::Max<double>(most));
          return most;
        };
        double const given = largest(true), left = largest(false);
        if (Kokkos::isfinite(left) && (given == 0 || left > 0)) return;
        Kokkos::parallel_for(Kokkos::TeamVectorRange(team, rows),
                             [&](std::int64_t i) { R(i, j) = 0; });
        Kokkos::single(Kokkos::PerTeam(team), [&] { count += 1; });
      },
      dropped);
  return dropped;
}

}  // namespace strata::dense::detail

#endif
