// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SYMMETRIC_TILES_HPP
#define STRATA_SYMMETRIC_TILES_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace strata {

/// The tiles of a triangle: a team takes one, a thread some of its rows, strip by strip.
struct Tiling {
  static constexpr int threads = 128;  ///< threads of a team
  /// rows that one thread takes, `threads` apart
  static constexpr int rows_of_thread = 4;
  static constexpr int strip = 8;                        ///< columns that are added up together
  static constexpr int rows = threads * rows_of_thread;  ///< rows of a tile
  /// groups of threads that share the sum of a column
  static constexpr int groups = threads / strip;

  std::int64_t n;             ///< order of the matrix
  std::int64_t cols;          ///< columns of a tile, a multiple of the strip
  std::int64_t down, across;  ///< tiles of a column and of a row
  bool is_lower;              ///< the triangle, as it lies in memory

  /// Divides the lower or the upper triangle of an order into tiles with `width` columns.
  Tiling(std::int64_t order, bool lower, std::int64_t width)
      : n(order), cols(width), down((n + rows - 1) / rows), is_lower(lower) {
    across = (n + cols - 1) / cols;
  }

  /// All of the tile in row r and column c is in the triangle.
  KOKKOS_INLINE_FUNCTION bool is_inside(std::int64_t r, std::int64_t c) const {
    bool const whole = (r + 1) * rows <= n && (c + 1) * cols <= n;
    return whole && (is_lower ? r * rows >= (c + 1) * cols : (r + 1) * rows <= c * cols);
  }
  /// The tile columns [first, last) that are not outside the triangle, in tile row r.
  KOKKOS_INLINE_FUNCTION Kokkos::pair<std::int64_t, std::int64_t> of_row(std::int64_t r) const {
    std::int64_t const end = ((r + 1) * rows + cols - 1) / cols;
    if (is_lower) return {0, end < across ? end : across};
    return {r * rows / cols, across};
  }
  /// The tile rows [first, last) that are not outside the triangle, in tile column c.
  KOKKOS_INLINE_FUNCTION Kokkos::pair<std::int64_t, std::int64_t> of_col(std::int64_t c) const {
    std::int64_t const end = ((c + 1) * cols + rows - 1) / rows;
    if (is_lower) return {c * cols / rows, down};
    return {0, end < down ? end : down};
  }
  /// Whether the triangle has this element.
  KOKKOS_INLINE_FUNCTION bool contains(std::int64_t i, std::int64_t j) const {
    return i < n && j < n && (is_lower ? i >= j : i <= j);
  }
  /// The most columns of a tile, where a line has `sums` sums. More would need more than the 48 KB
  /// of scratch memory that a team may have, in fp64.
  KOKKOS_INLINE_FUNCTION static constexpr std::int64_t widest(int sums) {
    return sums == 1 ? 128 : 48;
  }
  /// As many columns of a tile as leave enough tiles to fill a device.
  static std::int64_t columns(std::int64_t order, int sums = 1) {
    constexpr std::int64_t enough = 2048, step = strip;
    std::int64_t const high = (order + rows - 1) / rows;
    return std::clamp<std::int64_t>(order * high / 2 / enough / step * step, 2 * step,
                                    widest(sums));
  }
  /// Size of a team's scratch memory, where a tile has `tile_cols` columns.
  KOKKOS_INLINE_FUNCTION static constexpr std::size_t scratch_numbers(std::int64_t tile_cols,
                                                                      int sums = 1) {
    return static_cast<std::size_t>(sums * (2 * strip * threads + tile_cols * (groups + 1)) +
                                    tile_cols);
  }
};

/// A pass over a triangle that reads each number once, a team a tile. A number counts for its
/// row's sums. Off the diagonal it counts for its column's sums, too.
///
/// Terms    what is added up, and where to, for p the first index of a number in memory and q the
///          second one:
///            count                      how many sums a line has
///            weight(i)                  the weight of line i
///            term(k, a, x)              a's part of sum k; x: weight of the line across
///            take<is_inside>(tiling, values, p, q, x_p, x_q)
///                                       sees line p from q on, and the weights
///            add_row(i, c, sum), add_col(j, r, sum)
///                                       take line i's sums over tile column c,
///                                       and line j's over tile row r
template <class T, class Terms>
struct SymmetricTiles {
  Tiling tiling;    ///< tiles of the triangle
  T const* a;       ///< numbers of the triangle, column by column
  std::int64_t ld;  ///< numbers from one column to the next
  Terms terms;      ///< see above

  /// Size of a team's scratch memory, where a tile has `tile_cols` columns.
  KOKKOS_INLINE_FUNCTION static constexpr std::size_t scratch_bytes(std::int64_t tile_cols) {
    return Tiling::scratch_numbers(tile_cols, Terms::count) * sizeof(T);
  }

  /// The tile of a team.
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    std::int64_t const r = team.league_rank() % tiling.down, c = team.league_rank() / tiling.down;
    auto const [begin, end] = tiling.of_row(r);
    if (c < begin || c >= end) return;
    if (tiling.is_inside(r, c))
      add<true>(team, r, c);
    else
      add<false>(team, r, c);
  }

 private:
  // A number makes room for the same one of the next strip as soon as it is used, so that loads are
  // always under way.
  template <bool is_inside, class Member>
  KOKKOS_FUNCTION void add(Member const& team, std::int64_t r, std::int64_t c) const {
    constexpr int strip = Tiling::strip, threads = Tiling::threads, groups = Tiling::groups,
                  own = Tiling::rows_of_thread, count = Terms::count;
    int const t = team.team_rank(), cols = static_cast<int>(tiling.cols);
    std::int64_t const row = r * Tiling::rows + t, col = c * tiling.cols;
    auto* const exchange = static_cast<T*>(
        team.team_scratch(0).get_shmem_aligned(scratch_bytes(tiling.cols), alignof(T)));
    T* const sums =
        exchange + 2 * count * strip * threads;  // of the tile's columns, by groups of threads
    T* const x_cols = sums + count * cols * (groups + 1);
    auto const load = [&](int u, int first, int q) {
      bool const is_read = is_inside || tiling.contains(row + u * threads, col + first + q);
      return is_read ? a[row + u * threads + (col + first + q) * ld] : T(0);
    };
    T value[own][strip], row_sum[own][count] = {}, x_row[own];
#pragma unroll
    for (int u = 0; u < own; ++u) {
#pragma unroll
      for (int q = 0; q < strip; ++q) value[u][q] = load(u, 0, q);
    }
#pragma unroll
    for (int u = 0; u < own; ++u)
      x_row[u] = is_inside || row + u * threads < tiling.n ? terms.weight(row + u * threads) : T(0);
    for (int j = t; j < cols; j += threads)
      x_cols[j] = is_inside || col + j < tiling.n ? terms.weight(col + j) : T(0);
    team.team_barrier();
#pragma unroll 1
    for (int first = 0; first < cols; first += strip) {
      // the other half is being read
      T* const mine = exchange + first / strip % 2 * count * strip * threads;
      T col_sum[strip][count] = {};
      bool const is_last = first + strip >= cols;
#pragma unroll
      for (int u = 0; u < own; ++u) {
        terms.template take<is_inside>(tiling, value[u], row + u * threads, col + first, x_row[u],
                                       x_cols + first);
#pragma unroll
        for (int q = 0; q < strip; ++q) {
          bool const is_counted = is_inside || row + u * threads != col + first + q;
#pragma unroll
          for (int k = 0; k < count; ++k) {
            row_sum[u][k] += terms.term(k, value[u][q], x_cols[first + q]);
            if (is_counted) col_sum[q][k] += terms.term(k, value[u][q], x_row[u]);
          }
          if (!is_last) value[u][q] = load(u, first + strip, q);
        }
      }
#pragma unroll
      for (int k = 0; k < count; ++k) {
#pragma unroll
        for (int q = 0; q < strip; ++q) mine[(k * strip + q) * threads + t] = col_sum[q][k];
      }
      team.team_barrier();
#pragma unroll
      for (int k = 0; k < count; ++k) {
        T sum = 0;
#pragma unroll
        for (int g = 0; g < strip; ++g)
          sum += mine[(k * strip + t / groups) * threads + t % groups + g * groups];
        sums[(k * cols + first + t / groups) * (groups + 1) + t % groups] = sum;
      }
    }
    team.team_barrier();
    for (int u = 0; u < own; ++u)
      if (is_inside || row + u * threads < tiling.n)
        terms.add_row(row + u * threads, c, row_sum[u]);
    for (int j = t; j < cols; j += threads) {
      T sum[count] = {};
      for (int k = 0; k < count; ++k)
        for (int g = 0; g < groups; ++g) sum[k] += sums[(k * cols + j) * (groups + 1) + g];
      if (is_inside || col + j < tiling.n) terms.add_col(col + j, r, sum);
    }
  }
};

/// of_rows(i, c) = sum of a_ij x_j over tile column c,
/// of_cols(j, r) = sum of a_ij x_i, i != j, over tile row r.
template <class T>
struct ProductTerms {
  static constexpr int count = 1;  ///< sums of a line

  T const* x;      ///< a vector
  T* of_rows;      ///< n x tiles across
  T* of_cols;      ///< n x tiles down
  std::int64_t n;  ///< order of the matrix

  /// x_i
  KOKKOS_FORCEINLINE_FUNCTION T weight(std::int64_t i) const { return x[i]; }
  /// a x
  KOKKOS_FORCEINLINE_FUNCTION static T term(int, T a, T weight) { return a * weight; }
  /// Nothing.
  template <bool>
  KOKKOS_FORCEINLINE_FUNCTION static void take(Tiling const&, T const (&)[Tiling::strip],
                                               std::int64_t, std::int64_t, T, T const*) {}
  /// of_rows(i, c) = sum
  KOKKOS_FORCEINLINE_FUNCTION void add_row(std::int64_t i, std::int64_t c,
                                           T const (&sum)[1]) const {
    of_rows[i + c * n] = sum[0];
  }
  /// of_cols(j, r) = sum
  KOKKOS_FORCEINLINE_FUNCTION void add_col(std::int64_t j, std::int64_t r,
                                           T const (&sum)[1]) const {
    of_cols[j + r * n] = sum[0];
  }
};

}  // namespace strata

#endif
