// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_ROW_SUMS_HPP
#define STRATA_DETAIL_ROW_SUMS_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace strata::dense::detail {

/// sums(i, 0) += sum_j |a_ij|, sums(i, 1) += sum_j |d_i a_ij d_j| of a symmetric matrix: the kernel of a device.
///
/// A team takes some squares, one after the other, of a row of squares of the triangle as it lies in memory, a(p, q) = a[p + q ld],
/// and reads each once: an entry off the diagonal counts for row p and by symmetry for row q. A number of the next square is
/// loaded as soon as the one of this square is in scratch memory, so that loads are always under way; the sums over q stay in
/// registers, those over p go through scratch memory.
template <class ScalingView, class SumsView>
struct RowSums {
  static constexpr int tile = 64, groups = 4, threads = tile * groups;
  static constexpr int share = tile / groups;  ///< of a line, that a thread sums up
  static constexpr int pitch = tile + 1;       ///< so that threads find lines in different banks

  struct Scratch {
    double values[tile * pitch];    ///< |a|
    double d_p[tile];               ///< of the rows p
    double parts[2][groups][tile];  ///< the threads' sums
  };
  static constexpr std::size_t scratch_bytes = sizeof(Scratch) + alignof(Scratch);

  double const* a;
  std::int64_t n, ld;
  bool is_lower;  ///< the triangle in memory, p >= q
  ScalingView d;  ///< empty: sums(i, 1) stay
  SumsView sums;

  std::int64_t run = 1;  ///< squares that a team takes

  /// As many as leave enough teams for all that a device runs at a time.
  static std::int64_t best_run(std::int64_t n) {
    constexpr std::int64_t enough = 2048, most = 8;
    std::int64_t const tiles = (n + tile - 1) / tile;
    return std::clamp<std::int64_t>(tiles * tiles / 2 / enough, 1, most);
  }
  /// Teams: as many for each row of squares, of which those outside of the triangle have nothing to do.
  std::int64_t league() const { return tiles() * runs(); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    auto& scratch = *static_cast<Scratch*>(
        team.team_scratch(0).get_shmem_aligned(sizeof(Scratch), alignof(Scratch)));
    std::int64_t const row = team.league_rank() / runs(), part = team.league_rank() % runs();
    std::int64_t const first = is_lower ? 0 : row, end = is_lower ? row + 1 : tiles();
    std::int64_t const begin = first + part * run, stop = begin + run < end ? begin + run : end;
    if (begin >= stop) return;
    int const t = team.team_rank(), line = t % tile, group = t / tile;
    std::int64_t const p = row * tile + line;
    bool const scaled = d.extent(0) > 0;
    double const mine_d = scaled && p < n ? d(p) : 1;
    if (group == 0) scratch.d_p[line] = mine_d;
    double mine[share], of_p[2] = {};
#pragma unroll
    for (int k = 0; k < share; ++k) mine[k] = entry(p, begin * tile + group * share + k);
    for (std::int64_t square = begin; square < stop; ++square) {
      std::int64_t const first_q = square * tile;
#pragma unroll
      for (int k = 0; k < share; ++k) {
        int const other = group * share + k;
        of_p[0] += mine[k];
        if (scaled) of_p[1] += mine[k] * (first_q + other < n ? d(first_q + other) : 1);
        scratch.values[line + other * pitch] = mine[k];
        if (square + 1 < stop) mine[k] = entry(p, first_q + tile + other);
      }
      team.team_barrier();
      double of_q[2] = {};
      for (int k = 0; k < share; ++k) {
        int const other = group * share + k;  // of the rows p, and `line` of the rows q
        bool const is_counted = square == row && line == other;  // on the diagonal
        double const value = is_counted ? 0 : scratch.values[other + line * pitch];
        of_q[0] += value;
        of_q[1] += value * scratch.d_p[other];
      }
      add(team, scratch, of_q, first_q, scaled);
    }
    team.team_barrier();
    add(team, scratch, of_p, row * tile, scaled);
  }

 private:
  KOKKOS_INLINE_FUNCTION std::int64_t tiles() const { return (n + tile - 1) / tile; }
  KOKKOS_INLINE_FUNCTION std::int64_t runs() const { return (tiles() + run - 1) / run; }

  KOKKOS_INLINE_FUNCTION double entry(std::int64_t p, std::int64_t q) const {
    bool const is_inside = p < n && q < n && (is_lower ? p >= q : p <= q);
    return is_inside ? Kokkos::abs(a[p + q * ld]) : 0;
  }

  /// The groups' sums of rows from `first` on to those of the matrix. What was in scratch memory may be written again after it,
  /// but for the parts: these after one more barrier.
  template <class Member>
  KOKKOS_INLINE_FUNCTION void add(Member const& team, Scratch& scratch, double const (&sum)[2],
                                  std::int64_t first, bool scaled) const {
    int const line = team.team_rank() % tile, group = team.team_rank() / tile;
    for (int s = 0; s < 2; ++s) scratch.parts[s][group][line] = sum[s];
    team.team_barrier();
    if (group > 1 || first + line >= n || (group == 1 && !scaled)) return;
    double total = 0;
    for (int g = 0; g < groups; ++g) total += scratch.parts[group][g][line];
    if (group == 1) total *= d(first + line);
    Kokkos::atomic_add(&sums(first + line, group), total);
  }
};

}  // namespace strata::dense::detail

#endif
