// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/detail/Strata_DiagonalBlock.hpp>
#include <core/detail/Strata_Instantiate.hpp>
#include <core/detail/Strata_Team.hpp>
#include <utility>

namespace strata::detail {
namespace {

// Arrays stay in registers only if every loop over them is unrolled.
#define STRATA_UNROLL _Pragma("unroll")

constexpr int width = 8;  // columns of one step

template <class T>
KOKKOS_FORCEINLINE_FUNCTION T inverse_sqrt(T x) {
  KOKKOS_IF_ON_DEVICE((if constexpr (std::is_same_v<T, float>) return ::rsqrtf(x);
                       else return ::rsqrt(x);))
  KOKKOS_IF_ON_HOST((return T(1) / Kokkos::sqrt(x);))
}

/// L and 1 / diag(L) of a step's pivot block, factored by every thread for itself.
template <class T>
struct PivotBlock {
  T l[width][width];
  T inverse_diagonal[width];

  /// The first j whose pivot is not positive and finite, or `width`.
  KOKKOS_FORCEINLINE_FUNCTION int factor() {
    int bad = width;
    STRATA_UNROLL
    for (int j = 0; j < width; ++j) {
      T const pivot = l[j][j];
      bool const good = pivot > T(0) && pivot <= Kokkos::Experimental::finite_max_v<T>;
      if (!good && bad == width) bad = j;
      inverse_diagonal[j] = inverse_sqrt(pivot);
      STRATA_UNROLL
      for (int i = j + 1; i < width; ++i) l[i][j] *= inverse_diagonal[j];
      STRATA_UNROLL
      for (int c = j + 1; c < width; ++c)
        STRATA_UNROLL
        for (int i = c; i < width; ++i) l[i][c] -= l[i][j] * l[c][j];
    }
    return bad;
  }

  /// x = x L^-T for a row x.
  KOKKOS_FORCEINLINE_FUNCTION void solve(T (&x)[width]) const {
    STRATA_UNROLL
    for (int p = 0; p < width; ++p) {
      x[p] *= inverse_diagonal[p];
      STRATA_UNROLL
      for (int q = p + 1; q < width; ++q) x[q] -= x[p] * l[q][p];
    }
  }
};

/// Thread (lane, group) holds rows lane, lane + 32, ... of columns group, group + 8, ...: one column
/// of each step, which leaves its registers when the step is done, while the others move up.
///
/// A step has two phases: one warp for each 32 rows, and one for the pivot rows, solves with the
/// pivot block; then all write one finished column each and update the others.
template <class T, class Matrix, class InfoView>
struct FactorDiagonalBlock {
  static constexpr int order = diagonal_block_order(precision_of<T>);
  static constexpr int lanes = 32, groups = width, team = lanes * groups;
  static constexpr int rows = order / lanes, steps = order / width;
  struct alignas(16) Row {
    T x[width];
    T padding[16 / sizeof(T)];  // neighbouring rows in other banks
  };
  static constexpr std::size_t panel_bytes = order * width * sizeof(T);
  static constexpr std::size_t done_bytes = (order + width) * sizeof(Row);
  static constexpr std::size_t scratch_bytes = panel_bytes + done_bytes + 64;

  Matrix S, L, inverse;
  std::int64_t offset;
  InfoView info;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    // The step's columns before it, by columns, and after it, by rows; the pivot rows come last.
    auto* const panel = static_cast<T*>(
        member.team_scratch(0).get_shmem_aligned(std::size_t{panel_bytes}, alignof(Row)));
    auto* const done = static_cast<Row*>(
        member.team_scratch(0).get_shmem_aligned(std::size_t{done_bytes}, alignof(Row)));
    int const n = static_cast<int>(S.rows);
    int const lane = member.team_rank() % lanes, group = member.team_rank() / lanes;
    T tile[rows][steps];
    load(lane, group, n, tile);
    auto const run = [&]<int chunk>(std::integral_constant<int, chunk>) {
      for (int first = chunk * lanes; first < (chunk + 1) * lanes && first < n; first += width) {
        STRATA_UNROLL
        for (int m = 0; m < rows; ++m) panel[group * order + m * lanes + lane] = tile[m][0];
        member.team_barrier();
        if (group <= rows) solve(lane, group, n, first, panel, done);
        member.team_barrier();
        store(lane, group, n, first, done);
        update<chunk>(lane, group, first, done, tile);
      }
    };
    [&]<int... chunk>(std::integer_sequence<int, chunk...>) {
      (run(std::integral_constant<int, chunk>{}), ...);
    }(std::make_integer_sequence<int, rows>{});
  }

 private:
  // Lower triangle of S, continued by the identity; above the diagonal 0.
  KOKKOS_FORCEINLINE_FUNCTION void load(int lane, int group, int n, T (&tile)[rows][steps]) const {
    T const* const s = static_cast<T const*>(S.data);
    STRATA_UNROLL
    for (int c = 0; c < steps; ++c) {
      int const col = c * groups + group;
      STRATA_UNROLL
      for (int m = 0; m < rows; ++m) {
        int const row = m * lanes + lane;
        tile[m][c] = row < n && col <= row ? s[row + col * S.ld] : T(row == col);
      }
    }
  }

  // done = panel L11^-T for the rows of one warp, in which rows of I take the place of the pivot
  // rows. If a pivot is bad, its minor becomes info and the factor is NaN from there on.
  KOKKOS_FORCEINLINE_FUNCTION void solve(int lane, int group, int n, int first, T const* panel,
                                         Row* done) const {
    bool const is_pivot = group == rows;
    if (is_pivot && lane >= width) return;
    int const row = is_pivot ? first + lane : group * lanes + lane;
    PivotBlock<T> pivot;
    STRATA_UNROLL
    for (int j = 0; j < width; ++j)
      STRATA_UNROLL
      for (int i = j; i < width; ++i) pivot.l[i][j] = panel[j * order + first + i];
    Row result;
    STRATA_UNROLL
    for (int p = 0; p < width; ++p) {
      bool const is_replaced = !is_pivot && row >= first && row < first + width;
      result.x[p] = is_replaced ? T(row == first + p) : panel[p * order + row];
    }
    int const bad = pivot.factor();
    if (bad < width && first + bad < n && is_pivot && lane == 0 && info() == 0)
      info() = offset + first + bad + 1;
    pivot.solve(result.x);
    STRATA_UNROLL
    for (int p = 0; p < width; ++p) done[is_pivot ? order + lane : row].x[p] = result.x[p];
  }

  // A finished column: below the diagonal L, above it L^-T, on it both.
  KOKKOS_FORCEINLINE_FUNCTION void store(int lane, int group, int n, int first,
                                         Row const* done) const {
    int const col = first + group;
    if (col >= n) return;
    T* const l = static_cast<T*>(L.data) + col * L.ld;
    T* const inv = static_cast<T*>(inverse.data) + col * inverse.ld;
    STRATA_UNROLL
    for (int m = 0; m < rows; ++m) {
      int const row = m * lanes + lane;
      if (row >= n) continue;
      T const value = done[row].x[group];
      inv[row] = row <= col ? value : T(0);
      if (row >= first + width) l[row] = value;
    }
    if (lane >= group && lane < width && first + lane < n)
      l[first + lane] = done[order + lane].x[group];
  }

  // tile -= X X(columns)^T for the columns that are left. The pivot rows are in the 32 rows `chunk`:
  // above are rows of I, below rows of S up to the diagonal; what lies beyond it means nothing until
  // the row is replaced by one of I.
  template <int chunk>
  KOKKOS_FORCEINLINE_FUNCTION void update(int lane, int group, int first, Row const* done,
                                          T (&tile)[rows][steps]) const {
    constexpr int per_chunk = lanes / width, left = steps - chunk * per_chunk;
    int const row = chunk * lanes + lane;
    if (row >= first && row < first + width) {  // replaced by a row of I
      STRATA_UNROLL
      for (int c = 1; c < left; ++c) tile[chunk][c] = 0;
    }
    Row x[rows];
    STRATA_UNROLL
    for (int m = 0; m < rows; ++m) x[m] = done[m * lanes + lane];
    STRATA_UNROLL
    for (int c = 1; c < left; ++c) {
      int const col = first + c * width + group;
      Row const other = done[col < order ? col : group];
      STRATA_UNROLL
      for (int m = 0; m < rows; ++m) {
        bool const reaches = m <= chunk || c < (m - chunk + 1) * per_chunk;
        if (!reaches) continue;
        T value = tile[m][c];
        STRATA_UNROLL
        for (int p = 0; p < width; ++p) value -= x[m].x[p] * other.x[p];
        tile[m][c - 1] = value;
      }
    }
  }
};

}  // namespace

template <class Exec>
void factor_diagonal_block(Exec const& exec, MatrixRef<typename Exec::memory_space> const& S,
                           MatrixRef<typename Exec::memory_space> const& L,
                           MatrixRef<typename Exec::memory_space> const& inverse,
                           std::int64_t offset,
                           Kokkos::View<std::int64_t, typename Exec::memory_space> const& info) {
  static_assert(!runs_on_host<Exec>, "one team of a host has one thread");
  with_arithmetic_type(S.precision, [&]<class T>(std::type_identity<T>) {
    using Kernel = FactorDiagonalBlock<T, MatrixRef<typename Exec::memory_space>,
                                       Kokkos::View<std::int64_t, typename Exec::memory_space>>;
    using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Kernel::team, 1>>;
    Policy policy(exec, 1, Kernel::team);
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes)));
    Kokkos::parallel_for("strata::core::factor_diagonal_block", policy,
                         Kernel{S, L, inverse, offset, info});
  });
}

#define STRATA_INSTANTIATE(Space)                                                                \
  template void factor_diagonal_block(Space const&, MatrixRef<typename Space::memory_space> const&, \
                                      MatrixRef<typename Space::memory_space> const&,            \
                                      MatrixRef<typename Space::memory_space> const&,            \
                                      std::int64_t,                                              \
                                      Kokkos::View<std::int64_t, typename Space::memory_space> const&);
STRATA_FOR_CUDA(STRATA_INSTANTIATE)
STRATA_FOR_HIP(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE
#undef STRATA_UNROLL

}  // namespace strata::detail
