// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_ROW_SUMS_HPP
#define STRATA_DETAIL_ROW_SUMS_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::dense::detail {

/// sums(i, 0) += sum_j |a_ij|, sums(i, 1) += sum_j |d_i a_ij d_j| of a symmetric matrix: the kernel of a device.
///
/// A team takes a square of the triangle as it lies in memory, a(p, q) = a[p + q ld], and reads it once: an entry off the
/// diagonal counts for row p and by symmetry for row q. All its loads are under way at the same time; the sums over q are
/// in registers, those over p go through scratch memory.
template <class ScalingView, class SumsView>
struct RowSums {
  static constexpr int tile = 64, groups = 4, threads = tile * groups;
  static constexpr int share = tile / groups;  ///< of a line, that a thread sums up
  static constexpr int pitch = tile + 1;       ///< so that threads find lines in different banks

  struct Scratch {
    double values[tile * pitch];  ///< |a|; then the threads' sums
    double d[2][tile];            ///< of the rows p and of the rows q
  };
  static constexpr std::size_t scratch_bytes = sizeof(Scratch) + alignof(Scratch);

  double const* a;
  std::int64_t n, ld;
  bool is_lower;  ///< the triangle in memory, p >= q
  ScalingView d;  ///< empty: sums(i, 1) stay
  SumsView sums;

  /// Teams, one for each square that is not outside.
  std::int64_t league() const {
    std::int64_t const tiles = (n + tile - 1) / tile;
    return tiles * (tiles + 1) / 2;
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    auto& scratch = *static_cast<Scratch*>(
        team.team_scratch(0).get_shmem_aligned(sizeof(Scratch), alignof(Scratch)));
    int const t = team.team_rank(), line = t % tile, group = t / tile;
    std::int64_t const first_p = first(team.league_rank(), is_lower),
                       first_q = first(team.league_rank(), !is_lower);
    bool const scaled = d.extent(0) > 0, is_diagonal = first_p == first_q;
    double mine[share];
#pragma unroll
    for (int k = 0; k < share; ++k) {
      int const q = group * share + k;
      bool const is_inside = first_p + line < n && first_q + q < n &&
                             (!is_diagonal || (is_lower ? line >= q : line <= q));
      mine[k] = is_inside ? Kokkos::abs(a[first_p + line + (first_q + q) * ld]) : 0;
    }
    if (group < 2) {
      std::int64_t const i = (group == 0 ? first_p : first_q) + line;
      scratch.d[group][line] = scaled && i < n ? d(i) : 1;
    }
#pragma unroll
    for (int k = 0; k < share; ++k) scratch.values[line + (group * share + k) * pitch] = mine[k];
    team.team_barrier();
    double of_p[2] = {}, of_q[2] = {};
    for (int k = 0; k < share; ++k) {
      int const other = group * share + k;  // q for a row p, and p for a row q
      of_p[0] += mine[k];
      of_p[1] += mine[k] * scratch.d[1][other];
      double const value = is_diagonal && line == other ? 0 : scratch.values[other + line * pitch];
      of_q[0] += value;
      of_q[1] += value * scratch.d[0][other];
    }
    team.team_barrier();
    for (int s = 0; s < 2; ++s) {
      part(scratch, 0, s, group, line) = of_p[s];
      part(scratch, 1, s, group, line) = of_q[s];
    }
    team.team_barrier();
    std::int64_t const row = (group == 0 ? first_p : first_q) + line;
    if (group > 1 || row >= n) return;
    Kokkos::atomic_add(&sums(row, 0), total(scratch, group, 0, line));
    if (scaled)
      Kokkos::atomic_add(&sums(row, 1), total(scratch, group, 1, line) * scratch.d[group][line]);
  }

 private:
  /// The first row of the later, or of the earlier, of a square's two ranges of rows.
  KOKKOS_FUNCTION static std::int64_t first(std::int64_t number, bool later) {
    auto row =
        static_cast<std::int64_t>((Kokkos::sqrt(8.0 * static_cast<double>(number) + 1) - 1) / 2);
    while (row * (row + 1) / 2 > number) --row;
    while ((row + 1) * (row + 2) / 2 <= number) ++row;
    return tile * (later ? row : number - row * (row + 1) / 2);
  }

  KOKKOS_FUNCTION static double& part(Scratch& scratch, int of_q, int s, int group, int line) {
    return scratch.values[line + tile * (group + groups * (s + 2 * of_q))];
  }
  KOKKOS_FUNCTION static double total(Scratch& scratch, int of_q, int s, int line) {
    double sum = 0;
    for (int group = 0; group < groups; ++group) sum += part(scratch, of_q, s, group, line);
    return sum;
  }
};

}  // namespace strata::dense::detail

#endif
