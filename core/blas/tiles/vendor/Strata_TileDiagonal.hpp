// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TILE_DIAGONAL_HPP
#define STRATA_TILE_DIAGONAL_HPP

#include <core/blas/tiles/vendor/Strata_TileTasks.hpp>

// The first block of `tile_potrf`; see Strata_TilePotrf.hpp.
#ifdef KOKKOS_ENABLE_CUDA

namespace strata::vendor::tiles {

/// All tiles on the diagonal, one after the other, each with the tile below it, by halves of 32
/// columns.
///
/// Warp 0 eliminates the columns. Other warps follow with other rows. Warp 1 has the rows of the
/// two triangles of the inverse, and warp 2 the other half of the tile. In the tile below, warps 2
/// and 3 have the first half of the columns, warps 5 and 6 the second half. Warp 4 has the part of
/// the inverse between its triangles. Warps 4, 5 and 6 make the products between the halves. Warp 7
/// hands on the pivots' columns, and takes part in the product within the tile below.
template <class T>
class DiagonalTiles {
 public:
  /// Numbers in shared memory: four tiles, and the columns of two eliminations.
  static constexpr int numbers = 4 * order * ld<T> + 2 * half * half;

  __device__ __forceinline__ explicit DiagonalTiles(Matrices<T> const& m) : m_(m) {}

  __device__ __forceinline__ void run() {
    Arrival<T, threads> first(m_.diagonal(0), thread_);
    first.load();
    first.put(shared<T>());
    Progress::begin();
    if (thread_ == 0 && m_.largest != nullptr) {
      *m_.largest = 0;
      __threadfence();  // before others raise it, who wait for what this block sends
    }
    __syncthreads();
#pragma unroll 1
    for (col_ = 0; col_ < m_.across; ++col_) {
      is_last_ = col_ + 1 == m_.across;
      now_ = col_ % 2 * size, next_ = size - now_;
      if (warp_ == 0)
        eliminate();
      else if (warp_ == 1)
        invert();
      else if (warp_ < 4)
        solve_for_rows_below();
      else if (warp_ < 7)
        multiply();
      else
        hand_on_columns();
      if (warp_ == 1) continue;
      meet<AllButInverse, 7>();
      if (!is_last_)  // what the next tile's elimination begins with
        product<T>(Into::Subtracted, next_, solution_at + right, solution_at + right, order, half,
                   half, warp_ == 0 ? 0 : warp_ - 1, 7);
      meet<AllButInverse, 7>();
    }
    __syncthreads();
  }

 private:
  static constexpr int size = order * ld<T>, right = half * ld<T>, corner = right + half;
  static constexpr int below_at = 2 * size, solution_at = 3 * size, columns_at = 4 * size;
  static constexpr int last_quarter =
      half * (order + 1);  // its first number in a tile of the workspace
  static constexpr int second_eighth = Progress::eighths / 2;
  static constexpr int team = 3;

  /// The block's barriers.
  enum Meeting {
    All,
    AllButInverse,
    HalfIsThere,
    NextIsUpdated,
    InverseIsThere,
    RestIsThere,
    SolutionIsFree,
    FirstIsThere,
    BelowIsUpdated,
    NextIsThere
  };
  template <int meeting, int warps_there>
  __device__ __forceinline__ static void meet() {
    __syncwarp();
    asm volatile("bar.sync %0, %1;" ::"n"(meeting), "n"(warps_there * lanes) : "memory");
  }
  template <int meeting, int warps_there>
  __device__ __forceinline__ static void tell() {
    __syncwarp();
    asm volatile("bar.arrive %0, %1;" ::"n"(meeting), "n"(warps_there * lanes) : "memory");
  }

  __device__ __forceinline__ static int columns_of(int h) { return columns_at + h * half * half; }
  __device__ __forceinline__ void follow(typename Followers<T>::Row const& row, int h) const {
    Followers<T>::run(row, columns_of(h), h * second_eighth, col_);
  }

  // L11; then L22.
  __device__ __forceinline__ void eliminate() {
    eliminate_block<T>(now_, columns_of(0), 0);
    look_at_pivots(0);
    meet<NextIsUpdated, team + 2>();
    eliminate_block<T>(now_ + corner, columns_of(1), second_eighth);
    look_at_pivots(1);
    if (!is_last_) begin_next(0);
  }
  __device__ __forceinline__ void look_at_pivots(int h) {
    int const bad = first_bad_pivot(shared<T>() + columns_of(h)),
              minor = col_ * order + h * half + bad;
    if (thread_ == 0 && bad != 0 && minor <= m_.n && *m_.info == 0) *m_.info = m_.offset + minor;
  }

  // L11^-T, then L22^-T.
  __device__ __forceinline__ void invert() {
    tell<NextIsUpdated, team + 2>();  // no columns of the tile before are read any more
    follow_with_identity(0);
    tell<InverseIsThere, team + 1>();
    follow_with_identity(1);
  }
  // An identity, each row times a power of two, takes the place of the pivot block, which warp 0
  // has in registers.
  __device__ __forceinline__ void follow_with_identity(int h) {
    int const at = now_ + h * corner + lane_;
    Progress::wait(h * second_eighth, col_);
    T* const row = shared<T>() + at;
    T const unit = unit_of_inverse(row[lane_ * ld<T>]);
    __syncwarp();
#pragma unroll
    for (int c = 0; c < half; ++c) row[c * ld<T>] = c == lane_ ? unit : T(0);
    follow({at, h == 0 ? at : -1, m_.finished(col_, col_) + h * last_quarter + lane_, 1 / unit}, h);
  }

  // L21 = A21 L11^-T; then half of the tile below, and the next one on the diagonal.
  __device__ __forceinline__ void solve_for_rows_below() {
    if (warp_ == 2) {
      int const i = half + lane_;
      follow({now_ + i, now_ + i, m_.triangle(col_) + i, T(1)}, 0);
      tell<HalfIsThere, team + 1>();
    }
    if (is_last_) return;
    int const i = thread_ % order, at = solution_at + i;
    Arrival<T, order, order, half> R(m_.below(col_ + 1), i);
    R.load();
    meet<SolutionIsFree, team + 2>();
    R.put(shared<T>() + solution_at);
    follow({at, at, m_.finished(col_ + 1, col_) + i, T(1)}, 0);
    update_second_half_below();
    tell<BelowIsUpdated, 5>();
    begin_next(warp_);
  }
  // Warps 2, 3, 5, 6 and 7 call it.
  __device__ __forceinline__ void update_second_half_below() {
    meet<FirstIsThere, 5>();
    product<T>(Into::Subtracted, below_at, solution_at, now_ + half, order, half, half,
               warp_ < 4 ? warp_ - 2 : warp_ - 3, 5);
  }
  // Four warps call it, when the first half of the tile below is solved for.
  __device__ __forceinline__ void begin_next(int u) {
    if (u < 2) {
      Arrival<T, order> next(m_.diagonal(col_ + 1), u * lanes + lane_);
      next.load();
      next.put(shared<T>() + next_);
    }
    meet<NextIsThere, 4>();
    product<T>(Into::Subtracted, next_, solution_at, solution_at, order, half, half, u, 4);
  }

  __device__ __forceinline__ void multiply() {
    int const w = warp_ - 4;
    if (col_ > 0)
      product<T>(Into::Subtracted, now_ + corner, solution_at + half, solution_at + half, half,
                 half, order, w, team);
    if (!is_last_) tell<SolutionIsFree, team + 2>();
    meet<HalfIsThere, team + 1>();
    // A22 -= L21 L21^T
    product<T>(Into::Subtracted, now_ + corner, now_ + half, now_ + half, half, half, half, w,
               team);
    tell<NextIsUpdated, team + 2>();
    meet<InverseIsThere, team + 1>();
    // -L11^-T L21^T, whose solution is the rest of L^-T
    product<T>(Into::Negated, now_ + right, now_, now_ + half, half, half, half, w, team);
    meet<RestIsThere, team>();
    if (warp_ == 4) {
      follow({now_ + right + lane_, -1, m_.finished(col_, col_) + half * order + lane_, T(1)}, 1);
      if (!is_last_) begin_next(1);
    } else if (!is_last_) {
      solve_for_second_half_below();
    }
  }
  __device__ __forceinline__ void solve_for_second_half_below() {
    int const i = (warp_ - 5) * half + lane_;
    Arrival<T, order, order, half> R(m_.below(col_ + 1) + half * order, i);
    R.load();
    R.put(shared<T>() + below_at);
    update_second_half_below();
    meet<BelowIsUpdated, 5>();
    follow({below_at + i, solution_at + right + i, m_.finished(col_ + 1, col_) + half * order + i,
            T(1)},
           1);
  }

  // L of the pivots.
  __device__ __forceinline__ void hand_on_columns() {
#pragma unroll 1
    for (int h = 0; h < 2; ++h) {
      Progress::wait((h + 1) * second_eighth - 1, col_);
      hand_on_pivots(columns_of(h), m_.triangle(col_) + h * last_quarter);
      if (h == 0 && !is_last_) update_second_half_below(), tell<BelowIsUpdated, 5>();
    }
  }

  Matrices<T> const& m_;
  int const thread_ = static_cast<int>(threadIdx.x), lane_ = thread_ % lanes;
  int const warp_ =
      __shfl_sync(~0u, thread_ / lanes, 0);  // which tells the compiler that lanes do the same
  int col_ = 0, now_ = 0, next_ = 0;         // distances in the memory
  bool is_last_ = false;
};

}  // namespace strata::vendor::tiles

#endif
#endif
