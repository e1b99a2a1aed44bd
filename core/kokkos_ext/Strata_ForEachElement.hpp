// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_FOR_EACH_ELEMENT_HPP
#define STRATA_FOR_EACH_ELEMENT_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace strata {

/// Call f(i, j) for all 0 <= i < rows, 0 <= j < cols, neighbouring threads on neighbouring rows of
/// a column.
template <class ExecutionSpace, class Function>
void for_each_element(std::string const& label, ExecutionSpace const& exec, std::int64_t rows,
                      std::int64_t cols, Function const& f) {
  if (rows == 0 || cols == 0) return;
  constexpr std::int64_t chunk = 1024;  // rows of one column that a team works on
  std::int64_t const chunks = (rows + chunk - 1) / chunk;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      label, Policy(exec, static_cast<int>(chunks * cols), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        std::int64_t const j = team.league_rank() / chunks;
        std::int64_t const begin = (team.league_rank() % chunks) * chunk;
        std::int64_t const end = begin + chunk < rows ? begin + chunk : rows;
        Kokkos::parallel_for(Kokkos::TeamVectorRange(team, begin, end),
                             [&](std::int64_t i) { f(i, j); });
      });
}

}  // namespace strata

#endif
