// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/portable/detail/Strata_DiagonalBlock.hpp>

#include <core/blas/portable/detail/Strata_InverseSqrt.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <utility>

namespace strata::detail {
namespace {

// Arrays stay in registers only if every loop over them is unrolled.
#define STRATA_UNROLL _Pragma("unroll")

constexpr int width = 8;  // columns of one step

/// L of a step's pivot block, which every thread of the solving group factors for itself: 1 /
/// diag(L) and what is below. On the diagonal the pivots stay.
template <class T>
struct PivotBlock {
  T l[width][width];
  T inverse_diagonal[width];

  KOKKOS_FORCEINLINE_FUNCTION void factor() {
    STRATA_UNROLL
    for (int j = 0; j < width; ++j) {
      inverse_diagonal[j] = inverse_sqrt(l[j][j]);
      STRATA_UNROLL
      for (int i = j + 1; i < width; ++i) l[i][j] *= inverse_diagonal[j];
      STRATA_UNROLL
      for (int c = j + 1; c < width; ++c) STRATA_UNROLL
      for (int i = c; i < width; ++i) l[i][c] -= l[i][j] * l[c][j];
    }
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

  /// Row i of L for i < width, by selections, for branches would take turns.
  KOKKOS_FORCEINLINE_FUNCTION void row(int i, T (&x)[width]) const {
    STRATA_UNROLL
    for (int p = 0; p < width; ++p) {
      x[p] = root_of(l[p][p], inverse_diagonal[p]);
      STRATA_UNROLL
      for (int q = p + 1; q < width; ++q) x[p] = i == q ? l[q][p] : x[p];
    }
  }
};

/// Groups of 32 threads. One group for each 32 rows solves for a step's columns. Eight groups hold
/// the block: thread (lane, h) has rows lane, lane + 32, ... of columns h, h + 8, ..., one column
/// of each step. A column leaves the registers when its step is done, and the others move up. The
/// next step's columns are solved for while the holders still update with this one's. Solvers come
/// first, for the chain of pivots takes the time and a scheduler prefers the warps of low number.
/// Nothing depends on what the device runs in step. Warps of 32 are the groups, and wavefronts of
/// 64 are pairs of groups. Holders and solvers never share one.
///
/// is_full: the block has the largest order, so that no row or column need be left out.
template <class T, class Memory, bool is_full>
struct FactorDiagonalBlock {
  static constexpr int order = diagonal_block_order(precision_of<T>);
  static constexpr int lanes = 32, holders = width, widest = 64;  // wavefront
  static constexpr int rows = order / lanes, steps = order / width;
  static constexpr int team = lanes * (rows + holders);  // 384 threads have 168 registers each
  static_assert(lanes * holders % widest == 0 && lanes * rows % widest == 0);
  struct alignas(16) Row {
    T x[width];
    T padding[16 / sizeof(T)];  // neighbouring rows in other banks
  };
  // The pivot rows come last but for some that are read in vain, instead of being left out.
  static constexpr int solved_rows = order + lanes;
  static constexpr std::size_t panel_bytes = order * width * sizeof(T);
  static constexpr std::size_t solved_bytes = 2 * solved_rows * sizeof(Row);
  static constexpr std::size_t scratch_bytes = panel_bytes + solved_bytes + 64;

  ConstMatrixRef<Memory> S;
  MatrixRef<Memory> L, inverse;
  std::int64_t offset;
  Kokkos::View<std::int64_t, Memory> info;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto* const panel = static_cast<T*>(  // a step's columns before it, by columns
        member.team_scratch(0).get_shmem_aligned(std::size_t{panel_bytes}, alignof(Row)));
    auto* const solved = static_cast<Row*>(  // and after it, by rows, for two steps in turn
        member.team_scratch(0).get_shmem_aligned(std::size_t{solved_bytes}, alignof(Row)));
    int const n = static_cast<int>(S.rows);
    int const lane = member.team_rank() % lanes, group = member.team_rank() / lanes;
    int const h = group - rows;
    bool const holds = h >= 0;
    T* l = static_cast<T*>(L.data) + h * L.ld + lane;  // the element of this step's column
    T* inv = static_cast<T*>(inverse.data) + h * inverse.ld + lane;
    T tile[rows][steps];
    if (holds) {
      load(lane, h, n, tile);
      publish(lane, h, tile, panel);
    }
    member.team_barrier();
    if (!holds) solve(lane, group, 0, panel, solved);
    member.team_barrier();
    auto const run = [&]<int chunk>(std::integral_constant<int, chunk>) {
      for (int first = chunk * lanes; first < (chunk + 1) * lanes && first < n; first += width) {
        int const turn = first / width % 2;
        Row const* const now = solved + turn * solved_rows;
        Row x[rows];
        if (holds) {
          fetch<chunk>(lane, first, now, x, tile);
          update<chunk>(lane, h, first, now, x, 1, 2, tile);
          publish(lane, h, tile, panel);
        }
        member.team_barrier();
        if (holds) {
          store<chunk>(lane, h, n, first, now, l, inv);
          l += width * L.ld;
          inv += width * inverse.ld;
          update<chunk>(lane, h, first, now, x, 2, steps, tile);
        } else if (first + width < n) {
          solve(lane, group, first + width, panel, solved + (1 - turn) * solved_rows);
        }
        member.team_barrier();
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
      int const col = c * width + group;
      STRATA_UNROLL
      for (int m = 0; m < rows; ++m) {
        int const row = m * lanes + lane;
        tile[m][c] = (is_full || row < n) && col <= row ? s[row + col * S.ld] : T(row == col);
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void publish(int lane, int group, T const (&tile)[rows][steps],
                                           T* panel) const {
    STRATA_UNROLL
    for (int m = 0; m < rows; ++m) panel[group * order + m * lanes + lane] = tile[m][0];
  }

  // solved = panel L11^-T for 32 rows, in which rows of I take the place of the pivot rows; these
  // become L11, at the end.
  KOKKOS_FORCEINLINE_FUNCTION void solve(int lane, int part, int first, T const* panel,
                                         Row* solved) const {
    int const row = part * lanes + lane;
    constexpr int wide = 16 / sizeof(T);
    struct alignas(16) Wide {
      T x[wide];
    };
    PivotBlock<T> pivot;
    STRATA_UNROLL
    for (int j = 0; j < width; ++j) STRATA_UNROLL
    for (int i = j / wide * wide; i < width; i += wide) {
      Wide const piece = *reinterpret_cast<Wide const*>(panel + j * order + first + i);
      STRATA_UNROLL
      for (int q = 0; q < wide; ++q) pivot.l[i + q][j] = piece.x[q];
    }
    bool const is_replaced = row >= first && row < first + width;
    Row result;
    STRATA_UNROLL
    for (int p = 0; p < width; ++p)
      result.x[p] = is_replaced ? T(row == first + p) : panel[p * order + row];
    pivot.factor();
    pivot.solve(result.x);
    solved[row] = result;
    if (part != rows - 1) return;
    pivot.row(lane, result.x);
    if (lane < width) solved[order + lane] = result;
  }

  // A finished column: below the diagonal L, above it L^-T, on it both. Its pivot is in the 32 rows
  // `chunk`.
  template <int chunk>
  KOKKOS_FORCEINLINE_FUNCTION void store(int lane, int h, int n, int first, Row const* solved, T* l,
                                         T* inv) const {
    int const col = first + h;
    if (!is_full && col >= n) return;
    STRATA_UNROLL
    for (int m = 0; m < rows; ++m) {
      int const row = m * lanes + lane;
      if (!is_full && row >= n) continue;
      T const value = solved[row].x[h];
      if (m > chunk || (m == chunk && row >= first + width)) l[m * lanes] = value;
      inv[m * lanes] = m < chunk || (m == chunk && row <= col) ? value : T(0);
    }
    if (lane >= h && lane < width && (is_full || first + lane < n))
      l[first] = solved[order + lane].x[h];
    if (h == 0 && lane == 0) check(n, first, solved + order);
  }

  // The first minor that isn't positive and finite becomes info; its root is not a number.
  KOKKOS_FORCEINLINE_FUNCTION void check(int n, int first, Row const* pivot_rows) const {
    int bad = width;
    STRATA_UNROLL
    for (int j = width - 1; j >= 0; --j) bad = pivot_rows[j].x[j] > T(0) ? bad : j;
    if (bad < width && first + bad < n && info() == 0) info() = offset + first + bad + 1;
  }

  // The rows x that the thread's own are updated with; pivot rows become rows of I, which are 0 in
  // the columns that are left.
  template <int chunk>
  KOKKOS_FORCEINLINE_FUNCTION void fetch(int lane, int first, Row const* solved, Row (&x)[rows],
                                         T (&tile)[rows][steps]) const {
    STRATA_UNROLL
    for (int m = 0; m < rows; ++m) x[m] = solved[m * lanes + lane];
    int const row = chunk * lanes + lane;
    if (row < first || row >= first + width) return;
    STRATA_UNROLL
    for (int c = 1; c < steps; ++c) tile[chunk][c] = 0;
  }

  // tile -= X X(columns)^T for the columns of steps [begin, end) from this one on. The pivot rows
  // are in the 32 rows `chunk`. Rows of I are above, rows of S up to the diagonal are below. What
  // lies beyond the diagonal means nothing until a row of I replaces the row.
  template <int chunk>
  KOKKOS_FORCEINLINE_FUNCTION void update(int lane, int group, int first, Row const* solved,
                                          Row const (&x)[rows], int begin, int end,
                                          T (&tile)[rows][steps]) const {
    constexpr int per_chunk = lanes / width, left = steps - chunk * per_chunk;
    STRATA_UNROLL
    for (int c = 1; c < left; ++c) {
      if (c < begin || c >= end) continue;
      Row const other = solved[first + c * width + group];
      STRATA_UNROLL
      for (int m = 0; m < rows; ++m) {
        bool const reaches = m <= chunk || c < (m - chunk + 1) * per_chunk;
        if (!reaches) continue;
        T sum = 0;  // on its own, for its terms may be lost beside a large diagonal
        STRATA_UNROLL
        for (int p = 0; p < width; ++p) sum += x[m].x[p] * other.x[p];
        tile[m][c - 1] = tile[m][c] - sum;
      }
    }
  }
};

}  // namespace

template <class Exec>
void factor_diagonal_block(Exec const& exec, ConstMatrixRef<typename Exec::memory_space> const& S,
                           MatrixRef<typename Exec::memory_space> const& L,
                           MatrixRef<typename Exec::memory_space> const& inverse,
                           std::int64_t offset,
                           Kokkos::View<std::int64_t, typename Exec::memory_space> const& info) {
  static_assert(!runs_on_host<Exec>, "one team of a host has one thread");
  with_arithmetic_type(S.precision, [&]<class T>(std::type_identity<T>) {
    auto const launch = [&]<bool is_full>(std::bool_constant<is_full>) {
      using Kernel = FactorDiagonalBlock<T, typename Exec::memory_space, is_full>;
      using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Kernel::team, 1>>;
      Policy policy(exec, 1, Kernel::team);
      policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes)));
      Kokkos::parallel_for("strata::core::factor_diagonal_block", policy,
                           Kernel{S, L, inverse, offset, info});
    };
    if (S.rows == diagonal_block_order(S.precision))
      launch(std::true_type());
    else
      launch(std::false_type());
  });
}

#define STRATA_INSTANTIATE(Space)                                        \
  template void factor_diagonal_block(                                   \
      Space const&, ConstMatrixRef<typename Space::memory_space> const&, \
      MatrixRef<typename Space::memory_space> const&,                    \
      MatrixRef<typename Space::memory_space> const&, std::int64_t,      \
      Kokkos::View<std::int64_t, typename Space::memory_space> const&);
STRATA_FOR_CUDA(STRATA_INSTANTIATE)
STRATA_FOR_HIP(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE
#undef STRATA_UNROLL

}  // namespace strata::detail
