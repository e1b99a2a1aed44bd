// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_ROW_LANES_HPP
#define STRATA_SPARSE_DETAIL_ROW_LANES_HPP

#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/formats/Strata_EllMatrix.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace strata::sparse::detail {

/// What goes through the terms of a row on a host.
struct OneLane {
  template <class Step>
  KOKKOS_FUNCTION void each(std::int64_t count, Step const& step) const {
    for (std::int64_t k = 0; k < count; ++k) step(k);
  }
  /// step(find(k), k, r, c) for each number (r, c) of each block k.
  template <class Find, class Step>
  KOKKOS_FUNCTION void each_block(std::int64_t count, int height, int width, Find const& find,
                                  Step const& step) const {
    for (std::int64_t k = 0; k < count; ++k) {
      auto const found = find(k);
      for (int r = 0; r < height; ++r)
        for (int c = 0; c < width; ++c) step(found, k, r, c);
    }
  }
  /// The sum of term(k).
  template <class Term>
  KOKKOS_FUNCTION double sum(std::int64_t count, Term const& term) const {
    double total = 0;
    for (std::int64_t k = 0; k < count; ++k) total += term(k);
    return total;
  }
};

/// The lanes of a device's team that make one row together.
template <class Member>
struct VectorLanes {
  Member const& team;
  int lanes;

  template <class Step>
  KOKKOS_FUNCTION void each(std::int64_t count, Step const& step) const {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, count), step);
  }
  /// use(load(s, k)) for k < count[s], one s after the other. A lane begins its first loads of all
  /// s before it uses one, so that it waits for memory once.
  template <int N, class Load, class Use>
  KOKKOS_FUNCTION void each_of(std::int64_t const (&count)[N], Load const& load,
                               Use const& use) const {
    decltype(load(0, std::int64_t{0})) held[N] = {};  // of this lane
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, lanes), [&](std::int64_t lane) {
#pragma unroll
      for (int s = 0; s < N; ++s)
        if (lane < count[s]) held[s] = load(s, lane);
    });
#pragma unroll
    for (int s = 0; s < N; ++s) {
      each(count[s] < lanes ? count[s] : lanes, [&](std::int64_t) { use(held[s]); });
      for (std::int64_t first = lanes; first < count[s]; first += lanes)
        each(count[s] - first < lanes ? count[s] - first : lanes,
             [&](std::int64_t lane) { use(load(s, first + lane)); });
    }
  }
  template <class Find, class Step>
  KOKKOS_FUNCTION void each_block(std::int64_t count, int height, int width, Find const& find,
                                  Step const& step) const {
    auto const size = static_cast<std::uint32_t>(height * width),
               across = static_cast<std::uint32_t>(width);
    each(count * size, [&](std::int64_t t) {
      auto const flat = static_cast<std::uint32_t>(t);
      std::uint32_t const k = flat / size, e = flat - k * size, r = e / across;
      step(find(k), std::int64_t(k), static_cast<int>(r), static_cast<int>(e - r * across));
    });
  }
  template <class Term>
  KOKKOS_FUNCTION double sum(std::int64_t count, Term const& term) const {
    double total = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, count),
        [&](std::int64_t k, double& own) { own += term(k); }, total);
    return total;
  }
};

/// One row of a device's team for each of its groups of lanes.
template <class Exec, class Kernel>
struct RowOfLanes {
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  Kernel kernel;
  std::int64_t rows;
  int lanes;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    std::int64_t const row = std::int64_t(team.league_rank()) * team.team_size() + team.team_rank();
    if (row < rows) kernel(row, VectorLanes<Member>{team, lanes});
  }
};
template <class Kernel>
struct RowOfOne {
  Kernel kernel;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const { kernel(row, OneLane{}); }
};

/// kernel(row, lanes) for each row, of a device with `lanes` of them, a power of two up to 32.
/// Enqueued.
template <class Exec, class Kernel>
void for_each_row(Exec const& exec, std::string const& label, std::int64_t rows, int lanes,
                  Kernel const& kernel) {
  if constexpr (runs_on_host<Exec>) {
    Kokkos::parallel_for(label, RowPolicy<Exec>(exec, 0, rows), RowOfOne<Kernel>{kernel});
  } else {
    constexpr int threads = 128;
    int const team = threads / lanes;
    auto const teams = static_cast<int>((rows + team - 1) / team);
    if (teams == 0) return;
    Kokkos::parallel_for(label, Kokkos::TeamPolicy<Exec>(exec, teams, team, lanes),
                         RowOfLanes<Exec, Kernel>{kernel, rows, lanes});
  }
}

/// The power of two up to 32 that is nearest above `items`.
inline int lanes_for_items(std::int64_t items) {
  int lanes = 1;
  while (lanes < 32 && lanes < items) lanes *= 2;
  return lanes;
}

}  // namespace strata::sparse::detail

#endif
