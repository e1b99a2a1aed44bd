// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BATCHED_TEAMS_HPP
#define STRATA_BATCHED_TEAMS_HPP

#include <core/blas/batched/detail/Strata_BatchedSystems.hpp>
#include <core/blas/portable/detail/Strata_InverseSqrt.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace strata::detail {

// Arrays stay in registers only if every loop over them is unrolled.
#define STRATA_UNROLL _Pragma("unroll")

/// A batch on a device. Thread i of a system has row i of L in its registers, a panel of `width`
/// columns at a time. What other threads need of this row goes through scratch memory.
///
/// The panel is updated with the columns before it, which each thread reads back for its own row.
/// Then it is factored in steps of `step` columns. Every thread factors the pivot block for itself,
/// so that a step takes two barriers. The substitutions go by blocks of `step` rows in the same
/// way, for `columns` right-hand sides at a time. Systems of small order share a team. Threads
/// beyond the last system work on the matrix I, since all must reach the barriers.
///
/// Shape    n <= threads, threads a multiple of `step`; a team has threads * systems threads.
/// Source   left-looking by panels: Haidar et al., Batched matrix computations on hardware
///          accelerators based on GPUs, IJHPCA 29 (2015), 10.1177/1094342014567546; deviation: rows
///          in registers.
template <class T, int width, int columns>
struct BatchedTeams {
  static constexpr int step = 4;

  struct alignas(16) Row {  // for loads of 16 bytes
    T x[step];
  };
  struct Substitution {
    Row block[step];  // by the owners of its rows or columns, with the inverse of its diagonal
    T y[step][columns];
  };
  struct Shared {
    Row rows[2][width];  // of the columns that the panel is updated with, in turn
    Row pivots[step];
    Substitution substitution[2];  // in turn
    std::int64_t order;            // of the first bad pivot; 0
  };

  BatchedSystems<T> s;
  int threads, systems;

  static std::size_t scratch_bytes(int systems) {
    return static_cast<std::size_t>(systems) * sizeof(Shared) + alignof(Shared);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const group = member.team_rank() / threads;
    System<Member> system{
        s, member, member.team_rank() % threads,
        static_cast<std::int64_t>(member.league_rank()) * systems + group,
        static_cast<Shared*>(member.team_scratch(0).get_shmem_aligned(
            static_cast<std::size_t>(systems) * sizeof(Shared), alignof(Shared)))[group]};
    if (s.info != nullptr) system.factor();
    if (s.B != nullptr) system.solve();
  }

 private:
  // L of a pivot block with the inverse of its diagonal, on which the pivots stay.
  struct Pivots {
    T l[step][step];
    T inverse[step];

    // Returns the number of the first pivot that is not positive and finite; `step` if all are.
    KOKKOS_FORCEINLINE_FUNCTION int factor() {
      int bad = step;
      STRATA_UNROLL
      for (int j = 0; j < step; ++j) {
        T const pivot = l[j][j];
        bool const good = pivot > 0 && pivot <= Kokkos::Experimental::finite_max_v<T>;
        if (!good && bad == step) bad = j;
        inverse[j] = inverse_sqrt(pivot);
        STRATA_UNROLL
        for (int i = j + 1; i < step; ++i) l[i][j] *= inverse[j];
        STRATA_UNROLL
        for (int c = j + 1; c < step; ++c) STRATA_UNROLL
        for (int i = c; i < step; ++i) l[i][c] -= l[i][j] * l[c][j];
      }
      return bad;
    }
    // x = x L^-T
    KOKKOS_FORCEINLINE_FUNCTION void solve(T (&x)[step]) const {
      STRATA_UNROLL
      for (int p = 0; p < step; ++p) {
        x[p] *= inverse[p];
        STRATA_UNROLL
        for (int q = p + 1; q < step; ++q) x[q] -= x[p] * l[q][p];
      }
    }
    // Row i of L, by selections, for registers have no numbers at run time.
    KOKKOS_FORCEINLINE_FUNCTION void row(int i, T (&x)[step]) const {
      STRATA_UNROLL
      for (int p = 0; p < step; ++p) {
        x[p] = i == p ? root_of(l[p][p], inverse[p]) : T(0);
        STRATA_UNROLL
        for (int q = p + 1; q < step; ++q) x[p] = i == q ? l[q][p] : x[p];
      }
    }
  };

  // One system, seen by the thread of row i.
  template <class Member>
  struct System {
    BatchedSystems<T> const& s;
    Member const& member;
    int i;
    std::int64_t number;
    Shared& shared;

    KOKKOS_FORCEINLINE_FUNCTION int n() const { return static_cast<int>(s.n); }
    KOKKOS_FORCEINLINE_FUNCTION bool exists() const { return number < s.count; }
    KOKKOS_FORCEINLINE_FUNCTION T* address(int row, int column) const {
      return s.triangle(number) + row * s.row_stride + column * s.column_stride;
    }
    // An element of the triangle with I below and right of it, and 0 above the diagonal.
    KOKKOS_FORCEINLINE_FUNCTION T bordered(T const* address, int row, int column) const {
      return exists() && row < n() && column <= row ? *address : T(row == column);
    }

    KOKKOS_FORCEINLINE_FUNCTION void factor() const {
      std::int64_t order = 0;
      for (int j0 = 0; j0 < n(); j0 += width) {
        T a[width] = {};  // sums on their own, for their terms may be lost beside a large diagonal
        T* here = address(i, j0);
        Row next = fetch(here, j0, j0);
        update_panel(j0, a);
        [&]<int... c>(std::integer_sequence<int, c...>) {
          (factor_step<c * step>(j0, a, next, here, order), ...);
        }(std::make_integer_sequence<int, width / step>{});
      }
      if (i == n() - 1) {  // whose row is in all steps
        shared.order = order;
        if (exists()) s.info[number] = order;
      }
      member.team_barrier();
    }

    // Columns j to j + step of row i, the first of them `here`, if i is not before `first`. They
    // are on their way while others are used.
    KOKKOS_FORCEINLINE_FUNCTION Row fetch(T const* here, int j, int first) const {
      Row row{};
      if (i < first) return row;
      STRATA_UNROLL
      for (int p = 0; p < step; ++p) row.x[p] = bordered(here + p * s.column_stride, i, j + p);
      return row;
    }
    // a -= L(i, :j0) L(j0:, :j0)^T
    KOKKOS_FORCEINLINE_FUNCTION void update_panel(int j0, T (&a)[width]) const {
      T const* here = address(i, 0);
      Row next = fetch(here, 0, j0);
      for (int k = 0; k < j0; k += step) {
        auto& rows = shared.rows[k / step % 2];
        Row const x = next;
        here += step * s.column_stride;
        next = fetch(here, k + step, j0);
        publish(x, j0, rows);
        member.team_barrier();
        if (i >= j0) update<0>(x, rows, a);
      }
    }
    KOKKOS_FORCEINLINE_FUNCTION void publish(Row const& x, int j0, Row (&rows)[width]) const {
      if (i >= j0 && i < j0 + width) rows[i - j0] = x;
    }
    // a(c) -= x rows(c)^T for c >= first
    template <int first>
    KOKKOS_FORCEINLINE_FUNCTION static void update(Row const& x, Row const (&rows)[width],
                                                   T (&a)[width]) {
      STRATA_UNROLL
      for (int c = first; c < width; ++c) {
        Row const other = rows[c];
        STRATA_UNROLL
        for (int p = 0; p < step; ++p) a[c] -= x.x[p] * other.x[p];
      }
    }

    // Columns j = j0 + c to j + step of L, `next` of A, and what they change in the rest of the
    // panel.
    template <int c>
    KOKKOS_FORCEINLINE_FUNCTION void factor_step(int j0, T (&a)[width], Row& next, T*& here,
                                                 std::int64_t& order) const {
      int const j = j0 + c, q = i - j;
      if (j >= n()) return;
      Row x;
      STRATA_UNROLL
      for (int p = 0; p < step; ++p) x.x[p] = next.x[p] + a[c + p];
      if (q >= 0 && q < step) shared.pivots[q] = x;
      T* const l = here;
      here += step * s.column_stride;
      if constexpr (c + step < width) next = fetch(here, j + step, j + step);
      member.team_barrier();
      if (q >= 0) {
        Pivots pivots;
        STRATA_UNROLL
        for (int r = 0; r < step; ++r) {
          Row const row = shared.pivots[r];
          STRATA_UNROLL
          for (int p = 0; p <= r; ++p) pivots.l[r][p] = row.x[p];
        }
        int const bad = pivots.factor();
        if (bad < step && order == 0) order = j + bad + 1;
        pivots.solve(x.x);
        if (q < step) pivots.row(q, x.x);
        bool const stored = exists() && i < n();
        STRATA_UNROLL
        for (int p = 0; p < step; ++p)
          if (stored && p <= q) l[p * s.column_stride] = x.x[p];
        if (q >= step) publish(x, j0, shared.rows[0]);
      }
      member.team_barrier();
      if (q >= step) update<c + step>(x, shared.rows[0], a);
    }

    // L Y = B, L^T X = Y
    KOKKOS_FORCEINLINE_FUNCTION void solve() const {
      bool const good = exists() && (s.info == nullptr || shared.order == 0);
      int const blocks = (n() + step - 1) / step;
      int turn = 0;
      for (std::int64_t first = 0; first < s.columns; first += columns) {
        T y[columns];
        STRATA_UNROLL
        for (int r = 0; r < columns; ++r)
          y[r] = good && i < n() && first + r < s.columns ? right_hand_side(first + r) : T(0);
        Row x = fetch_block<true>(0), next;
        for (int b = 0; b < blocks; ++b, x = next) {
          next = b + 1 < blocks ? fetch_block<true>((b + 1) * step) : fetch_block<false>(b * step);
          substitute<true>(b * step, turn++ % 2, x, y);
        }
        for (int b = blocks - 1; b >= 0; --b, x = next) {
          if (b > 0) next = fetch_block<false>((b - 1) * step);
          substitute<false>(b * step, turn++ % 2, x, y);
        }
        STRATA_UNROLL
        for (int r = 0; r < columns; ++r)
          if (good && i < n() && first + r < s.columns) right_hand_side(first + r) = y[r];
      }
    }
    KOKKOS_FORCEINLINE_FUNCTION T& right_hand_side(std::int64_t column) const {
      return s.right_hand_sides(number)[i + column * s.ld_b];
    }

    // L(i, j:), or the column L(j:, i), where `substitute` takes it from y_i.
    template <bool forward>
    KOKKOS_FORCEINLINE_FUNCTION Row fetch_block(int j) const {
      Row row{};
      if (forward ? i < j : i >= j + step) return row;
      STRATA_UNROLL
      for (int p = 0; p < step; ++p)
        row.x[p] =
            forward ? bordered(address(i, j + p), i, j + p) : bordered(address(j + p, i), j + p, i);
      return row;
    }
    // Block j of y = L^-1 y (forward) or L^-T y, which is then eliminated from the other
    // blocks.
    template <bool forward>
    KOKKOS_FORCEINLINE_FUNCTION void substitute(int j, int turn, Row const& l,
                                                T (&y)[columns]) const {
      Substitution& block = shared.substitution[turn];
      int const q = i - j;
      bool const inside = q >= 0 && q < step, outside = forward ? q >= step : q < 0;
      if (inside) {
        T diagonal = l.x[0];
        STRATA_UNROLL
        for (int p = 1; p < step; ++p) diagonal = p == q ? l.x[p] : diagonal;
        T const inverse = T(1) / diagonal;
        STRATA_UNROLL
        for (int p = 0; p < step; ++p) block.block[q].x[p] = p == q ? inverse : l.x[p];
        STRATA_UNROLL
        for (int r = 0; r < columns; ++r) block.y[q][r] = y[r];
      }
      member.team_barrier();
      if (!inside && !outside) return;
      Row rows[step];
      STRATA_UNROLL
      for (int p = 0; p < step; ++p) rows[p] = block.block[p];
      STRATA_UNROLL
      for (int r = 0; r < columns; ++r) {
        T z[step];
        STRATA_UNROLL
        for (int m = 0; m < step; ++m) {
          int const p = forward ? m : step - 1 - m;
          z[p] = block.y[p][r];
          STRATA_UNROLL
          for (int k = 0; k < m; ++k) {
            int const done = forward ? k : step - 1 - k;
            z[p] -= rows[p].x[done] * z[done];
          }
          z[p] *= rows[p].x[p];
        }
        STRATA_UNROLL
        for (int p = 0; p < step; ++p) {
          if (outside) y[r] -= l.x[p] * z[p];
          if (q == p) y[r] = z[p];
        }
      }
    }
  };
};

#undef STRATA_UNROLL

}  // namespace strata::detail

#endif
