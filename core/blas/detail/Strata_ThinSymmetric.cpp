// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/detail/Strata_ThinSymmetric.hpp>

#include <core/kokkos_ext/Strata_BatchedSum.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <algorithm>
#include <optional>

namespace strata::detail {
namespace {

/// The tiles of a triangle: a team takes one, a thread some of its rows, strip by strip.
struct Tiling {
  static constexpr int threads = 128, rows_of_thread = 8, strip = 8;
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
  KOKKOS_INLINE_FUNCTION static std::size_t scratch_numbers(std::int64_t tile_cols) {
    return static_cast<std::size_t>(strip * threads + tile_cols * (groups + 1));
  }
};

/// of_rows(i, c) = sum of a_ij x_j over tile column c;  of_cols(j, r) = sum of a_ij x_i, i != j,
/// over tile row r. So each element that is read counts for its row and for its column.
template <class Exec, class T>
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
  template <bool is_inside, class Member>
  KOKKOS_FUNCTION void multiply(Member const& team, std::int64_t r, std::int64_t c) const {
    constexpr int strip = Tiling::strip, threads = Tiling::threads, groups = Tiling::groups;
    int const t = team.team_rank();
    std::int64_t const row = r * Tiling::rows + t, col = c * tiling.cols;
    auto* const exchange = static_cast<T*>(
        team.team_scratch(0).get_shmem(Tiling::scratch_numbers(tiling.cols) * sizeof(T)));
    T* const sums = exchange + strip * threads;  // of the tile's columns, by groups of threads
    T row_sum[Tiling::rows_of_thread] = {}, x_row[Tiling::rows_of_thread];
    for (int u = 0; u < Tiling::rows_of_thread; ++u)
      x_row[u] = is_inside || row + u * threads < tiling.n ? x[row + u * threads] : T(0);
    for (std::int64_t first = 0; first < tiling.cols; first += strip) {
      T col_sum[strip] = {}, x_col[strip];
      for (int q = 0; q < strip; ++q)
        x_col[q] = is_inside || col + first + q < tiling.n ? x[col + first + q] : T(0);
#pragma unroll
      for (int u = 0; u < Tiling::rows_of_thread; ++u) {
        std::int64_t const i = row + u * threads;
#pragma unroll
        for (int q = 0; q < strip; ++q) {
          std::int64_t const j = col + first + q;
          if (!is_inside && !tiling.contains(i, j)) continue;
          T const value = a[i + j * ld];
          row_sum[u] += value * x_col[q];
          if (is_inside || i != j) col_sum[q] += value * x_row[u];
        }
      }
      for (int q = 0; q < strip; ++q) exchange[q * threads + t] = col_sum[q];
      team.team_barrier();
      T sum = 0;
      for (int k = 0; k < strip; ++k)
        sum += exchange[t / groups * threads + t % groups + k * groups];
      sums[(first + t / groups) * (groups + 1) + t % groups] = sum;
      team.team_barrier();
    }
    for (int u = 0; u < Tiling::rows_of_thread; ++u)
      if (is_inside || row + u * threads < tiling.n)
        of_rows[row + u * threads + c * tiling.n] = row_sum[u];
    for (std::int64_t j = t; j < tiling.cols; j += threads) {
      T sum = 0;
      for (int k = 0; k < groups; ++k) sum += sums[j * (groups + 1) + k];
      if (is_inside || col + j < tiling.n) of_cols[col + j + r * tiling.n] = sum;
    }
  }
};

// y = alpha * sum of the partial sums + beta y
template <class T, class Exec>
void add_tiles(Exec const& exec, Tiling const& tiling, double alpha, T const* of_rows,
               T const* of_cols, double beta, T* y) {
  Kokkos::parallel_for(
      "strata::core::thin_symmetric::sum",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, tiling.n),
      KOKKOS_LAMBDA(std::int64_t i) {
        auto const across = tiling.of_row(i / Tiling::rows), down = tiling.of_col(i / tiling.cols);
        T const sum =
            batched_sum<T>(static_cast<int>(across.second - across.first),
                           [&](int k) { return of_rows[i + (across.first + k) * tiling.n]; }) +
            batched_sum<T>(static_cast<int>(down.second - down.first),
                           [&](int k) { return of_cols[i + (down.first + k) * tiling.n]; });
        T const old = beta == 0 ? T(0) : static_cast<T>(beta) * y[i];
        y[i] = static_cast<T>(alpha) * sum + old;
      });
}

// As many columns of a tile as leave enough tiles to fill a device.
std::int64_t columns(std::int64_t n) {
  constexpr std::int64_t enough = 2048, strip = Tiling::strip;
  std::int64_t const down = (n + Tiling::rows - 1) / Tiling::rows;
  return std::clamp<std::int64_t>(n * down / 2 / enough / strip * strip, 2 * strip, Tiling::widest);
}

}  // namespace

template <class Exec>
bool thin_symmetric(Exec const& exec, Workspace<Exec>& workspace, Uplo uplo, double alpha,
                    ConstMatrixRef<typename Exec::memory_space> const& A,
                    ConstMatrixRef<typename Exec::memory_space> const& B, double beta,
                    MatrixRef<typename Exec::memory_space> const& C, std::int64_t tile_cols) {
  bool const takes = C.cols <= 2 && is_arithmetic(C.precision) && B.precision == C.precision &&
                     A.precision == C.precision && !A.scale && !B.scale && !C.scale;
  if (runs_on_host<Exec> || !takes || A.rows == 0) return false;
  Tiling const tiling(A.rows, uplo == Uplo::Lower, tile_cols > 0 ? tile_cols : columns(A.rows));
  std::size_t const bytes = Workspace<Exec>::bytes(C.precision, tiling.n, tiling.across) +
                            Workspace<Exec>::bytes(C.precision, tiling.n, tiling.down);
  using Frame = typename Workspace<Exec>::Frame;
  std::optional<Frame> room;
  try {
    room.emplace(workspace, bytes);
  } catch (MemoryError const&) {
    return false;
  }
  Frame& frame = *room;
  with_arithmetic_type(C.precision, [&]<class T>(std::type_identity<T>) {
    T* const of_rows = frame.take(C.precision, tiling.n, tiling.across).template as<T>();
    T* const of_cols = frame.take(C.precision, tiling.n, tiling.down).template as<T>();
    using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Tiling::threads, 4>>;
    for (std::int64_t k = 0; k < C.cols; ++k) {
      auto const* const x = static_cast<T const*>(B.data) + k * B.ld;
      Policy policy(exec, static_cast<int>(tiling.down * tiling.across), Tiling::threads);
      policy.set_scratch_size(0, Kokkos::PerTeam(Tiling::scratch_numbers(tiling.cols) * sizeof(T)));
      Kokkos::parallel_for(
          "strata::core::thin_symmetric::tiles", policy,
          MultiplyTiles<Exec, T>{tiling, static_cast<T const*>(A.data), x, A.ld, of_rows, of_cols});
      add_tiles(exec, tiling, alpha, of_rows, of_cols, beta, C.template as<T>() + k * C.ld);
    }
  });
  return true;
}

#define STRATA_INSTANTIATE(Space)                                                           \
  template bool thin_symmetric(Space const&, Workspace<Space>&, Uplo, double,               \
                               ConstMatrixRef<typename Space::memory_space> const&,         \
                               ConstMatrixRef<typename Space::memory_space> const&, double, \
                               MatrixRef<typename Space::memory_space> const&, std::int64_t);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::detail
