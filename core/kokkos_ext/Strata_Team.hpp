// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TEAM_HPP
#define STRATA_TEAM_HPP

#include <core/Strata_MatrixRef.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace strata {

/// True where teams have one thread, and loops should be left to the compiler's vectoriser.
template <class Exec>
inline constexpr bool runs_on_host = std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>;

/// f(0), ..., f(count - 1) by the threads of a team, neighbours by neighbours.
template <class Member, class Function>
KOKKOS_INLINE_FUNCTION void team_for(Member const& member, int count, Function const& f) {
  if constexpr (runs_on_host<typename Member::execution_space>) {
    for (int i = 0; i < count; ++i) f(i);
  } else {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, count), f);
  }
}

/// f(i, j) for all i < Rows and j < cols by the threads of a team, i fastest.
template <int Rows, class Member, class Function>
KOKKOS_INLINE_FUNCTION void team_for_tile(Member const& member, int cols, Function const& f) {
  if constexpr (runs_on_host<typename Member::execution_space>) {
    for (int j = 0; j < cols; ++j)
      for (int i = 0; i < Rows; ++i) f(i, j);
  } else {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, Rows * cols),
                         [&](int t) { f(t % Rows, t / Rows); });
  }
}

/// Run `kernel` with teams over `items` pieces of work and `scratch_bytes` of scratch memory each.
///
/// A team takes the pieces league_rank(), league_rank() + league_size(), ...; a device's team has
/// at most 256 threads, the number that Kokkos recommends.
template <class Exec, class Kernel>
void launch_teams(std::string const& label, Exec const& exec, std::int64_t items,
                  std::size_t scratch_bytes, Kernel const& kernel) {
  using Policy = Kokkos::TeamPolicy<Exec>;
  constexpr std::int64_t largest_league = 1 << 22;
  auto const league = static_cast<int>(std::min(items, largest_league));
  if (league == 0) return;
  auto const scratch = Kokkos::PerTeam(static_cast<int>(scratch_bytes));
  int team = 1;
  if constexpr (!runs_on_host<Exec>) {
    Policy automatic(exec, league, Kokkos::AUTO);
    automatic.set_scratch_size(0, scratch);
    team = std::min(256, automatic.team_size_recommended(kernel, Kokkos::ParallelForTag()));
  }
  Policy policy(exec, league, team);
  policy.set_scratch_size(0, scratch);
  Kokkos::parallel_for(label, policy, kernel);
}

/// f(pointer of the stored type, const where `data` is): a switch for device code, to be done once
/// per tile.
template <class Data, class Function>
KOKKOS_INLINE_FUNCTION void with_stored_type(Precision precision, Data* data, Function const& f) {
  switch (precision) {
    case Precision::fp64:
      return f(static_cast<ConstLike<fp64, Data>*>(data));
    case Precision::fp32:
    case Precision::tf32:
    case Precision::fp16_split:
      return f(static_cast<ConstLike<fp32, Data>*>(data));
    case Precision::fp16:
      return f(static_cast<ConstLike<fp16, Data>*>(data));
    case Precision::bf16:
      return f(static_cast<ConstLike<bf16, Data>*>(data));
    case Precision::fp8_e4m3:
      return f(static_cast<ConstLike<fp8_e4m3, Data>*>(data));
    case Precision::fp8_e5m2:
      return f(static_cast<ConstLike<fp8_e5m2, Data>*>(data));
    case Precision::fp8_e4m3fnuz:
      return f(static_cast<ConstLike<fp8_e4m3fnuz, Data>*>(data));
    case Precision::fp8_e5m2fnuz:
      return f(static_cast<ConstLike<fp8_e5m2fnuz, Data>*>(data));
    default:  // products of integers
      return f(static_cast<ConstLike<fp64, Data>*>(data));
  }
}

}  // namespace strata

#endif
