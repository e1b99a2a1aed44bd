// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SYMMETRIC_TILES_HPP
#define STRATA_SYMMETRIC_TILES_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

// The kernel of `thin_symmetric`.
namespace strata::detail {

/// The tiles of a triangle: a team takes one, a thread some of its rows, strip by strip.
struct Tiling {
  static constexpr int threads = 128, rows_of_thread = 4, strip = 8;
  static constexpr int rows = threads * rows_of_thread, groups = threads / strip;
  static constexpr std::int64_t widest = 128;

  std::int64_t n, cols;  // cols: a multiple of the strip
  std::int64_t down, across;
  bool is_lower;

  Tiling(std::int64_t order, bool lower, std::int64_t width)
      : n(order), cols(width), down((n + rows - 1) / rows), is_lower(lower) {
    across = (n + cols - 1) / cols;
  }

  /// All of the tile in row r and column c is in the triangle.
  KOKKOS_INLINE_FUNCTION bool is_inside(std::int64_t r, std::int64_t c) const {
    bool const whole = (r + 1) * rows <= n && (c + 1) * cols <= n;
    return whole && (is_lower ? r * rows >= (c + 1) * cols : (r + 1) * rows <= c * cols);
  }
  /// The tiles of a row, and of a column, that are not outside.
  KOKKOS_INLINE_FUNCTION Kokkos::pair<std::int64_t, std::int64_t> of_row(std::int64_t r) const {
    std::int64_t const end = ((r + 1) * rows + cols - 1) / cols;
    if (is_lower) return {0, end < across ? end : across};
    return {r * rows / cols, across};
  }
  KOKKOS_INLINE_FUNCTION Kokkos::pair<std::int64_t, std::int64_t> of_col(std::int64_t c) const {
    std::int64_t const end = ((c + 1) * cols + rows - 1) / rows;
    if (is_lower) return {c * cols / rows, down};
    return {0, end < down ? end : down};
  }
  KOKKOS_INLINE_FUNCTION bool contains(std::int64_t i, std::int64_t j) const {
    return i < n && j < n && (is_lower ? i >= j : i <= j);
  }
  KOKKOS_INLINE_FUNCTION static constexpr std::size_t scratch_numbers(std::int64_t tile_cols) {
    return static_cast<std::size_t>(2 * strip * threads + tile_cols * (groups + 2));
  }
};

/// of_rows(i, c) = sum of a_ij x_j over tile column c;  of_cols(j, r) = sum of a_ij x_i, i != j,
/// over tile row r. So each element that is read counts for its row and for its column.
template <class T>
struct MultiplyTiles {
  Tiling tiling;
  T const *a, *x;
  std::int64_t ld;
  T *of_rows, *of_cols;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    std::int64_t const r = team.league_rank() % tiling.down, c = team.league_rank() / tiling.down;
    auto const [begin, end] = tiling.of_row(r);
    if (c < begin || c >= end) return;
    if (tiling.is_inside(r, c))
      multiply<true>(team, r, c);
    else
      multiply<false>(team, r, c);
  }

 private:
  // A number makes room for the same one of the next strip as soon as it is used, so that loads are always under way.
  template <bool is_inside, class Member>
  KOKKOS_FUNCTION void multiply(Member const& team, std::int64_t r, std::int64_t c) const {
    constexpr int strip = Tiling::strip, threads = Tiling::threads, groups = Tiling::groups,
                  own = Tiling::rows_of_thread;
    int const t = team.team_rank(), cols = static_cast<int>(tiling.cols);
    std::int64_t const row = r * Tiling::rows + t, col = c * tiling.cols;
    auto* const exchange = static_cast<T*>(team.team_scratch(0).get_shmem_aligned(
        Tiling::scratch_numbers(tiling.cols) * sizeof(T), alignof(T)));
    T* const sums = exchange + 2 * strip * threads;  // of the tile's columns, by groups of threads
    T* const x_cols = sums + cols * (groups + 1);
    auto const load = [&](int u, int first, int q) {
      bool const is_read = is_inside || tiling.contains(row + u * threads, col + first + q);
      return is_read ? a[row + u * threads + (col + first + q) * ld] : T(0);
    };
    T value[own][strip], row_sum[own] = {}, x_row[own];
#pragma unroll
    for (int u = 0; u < own; ++u) {
#pragma unroll
      for (int q = 0; q < strip; ++q) value[u][q] = load(u, 0, q);
    }
#pragma unroll
    for (int u = 0; u < own; ++u)
      x_row[u] = is_inside || row + u * threads < tiling.n ? x[row + u * threads] : T(0);
    for (int j = t; j < cols; j += threads)
      x_cols[j] = is_inside || col + j < tiling.n ? x[col + j] : T(0);
    team.team_barrier();
#pragma unroll 1
    for (int first = 0; first < cols; first += strip) {
      T* const mine = exchange + first / strip % 2 * strip * threads;  // the other is being read
      T col_sum[strip] = {};
      bool const is_last = first + strip >= cols;
#pragma unroll
      for (int u = 0; u < own; ++u) {
#pragma unroll
        for (int q = 0; q < strip; ++q) {
          row_sum[u] += value[u][q] * x_cols[first + q];
          if (is_inside || row + u * threads != col + first + q)
            col_sum[q] += value[u][q] * x_row[u];
          if (!is_last) value[u][q] = load(u, first + strip, q);
        }
      }
#pragma unroll
      for (int q = 0; q < strip; ++q) mine[q * threads + t] = col_sum[q];
      team.team_barrier();
      T sum = 0;
#pragma unroll
      for (int k = 0; k < strip; ++k) sum += mine[t / groups * threads + t % groups + k * groups];
      sums[(first + t / groups) * (groups + 1) + t % groups] = sum;
    }
    team.team_barrier();
    for (int u = 0; u < own; ++u)
      if (is_inside || row + u * threads < tiling.n)
        of_rows[row + u * threads + c * tiling.n] = row_sum[u];
    for (int j = t; j < cols; j += threads) {
      T sum = 0;
      for (int k = 0; k < groups; ++k) sum += sums[j * (groups + 1) + k];
      if (is_inside || col + j < tiling.n) of_cols[col + j + r * tiling.n] = sum;
    }
  }
};

}  // namespace strata::detail

#endif
