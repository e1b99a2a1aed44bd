// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TILE_DIAGONAL_HPP
#define STRATA_TILE_DIAGONAL_HPP

#include <core/blas/vendor/Strata_TileTasks.hpp>

// The first block of `tile_potrf`; see Strata_TilePotrf.hpp.
#ifdef KOKKOS_ENABLE_CUDA

namespace strata::vendor::tiles {

/// All tiles on the diagonal, one after the other, each with the tile below it, by halves of 32 columns.
///
/// Warp 0 has the rows of a pivot block, warp 1 follows with other rows; the other warps hand on what is done meanwhile,
/// and work on the tile below and on the next one on the diagonal.
template <class T>
class DiagonalTiles {
 public:
  /// Of the shared memory: six tiles, and the columns of two eliminations.
  static constexpr int numbers = 6 * order * ld<T> + 2 * (half + 1) * half;

  __device__ __forceinline__ explicit DiagonalTiles(Matrices<T> const& m) : m_(m) {}

  __device__ __forceinline__ void run() {
    T* const memory = shared<T>();
    Arrival<T, threads> first(m_.diagonal(0), thread_);
    first.load();
    first.put(memory);
    for (int e = thread_; e < 2 * size; e += threads) memory[2 * size + e] = 0;  // above L^-1
    __syncthreads();
#pragma unroll 1
    for (col_ = 0; col_ < m_.across; ++col_) {
      is_last_ = col_ + 1 == m_.across;
      int const turn = col_ % 2;
      now_ = turn * size, next_ = (1 - turn) * size;
      inverse_ = (2 + turn) * size, inverse_before_ = (3 - turn) * size;
#pragma unroll 1
      for (int h = 0; h < 2; ++h) {
        if (warp_ < 2)
          eliminate(h);
        else if (h == 0)
          hand_on_column_before(true);
        else
          solve_for_half_below();
        __syncthreads();
        if (h == 0)
          update_second_half();
        else
          finish_column();
        __syncthreads();
      }
    }
    int const last = next_;  // the roles of the last turn, changed once more
    next_ = now_, now_ = last, inverse_before_ = inverse_;
    if (warp_ >= 2) hand_on_column_before(false);
    __syncthreads();
  }

 private:
  static constexpr int size = order * ld<T>, right = half * ld<T>, corner = right + half;
  static constexpr int below_at = 4 * size, solution_at = 5 * size, columns_at = 6 * size;
  static constexpr int helpers = threads - 2 * lanes, helping_warps = warps - 2;

  __device__ __forceinline__ static void wait_for_helpers() {
    asm volatile("bar.sync 5, %0;" ::"n"(helpers) : "memory");
  }
  __device__ __forceinline__ static T* columns(int h) {
    return shared<T>() + columns_at + h * (half + 1) * half;
  }

  // L11, L11^-1 and L21 = A21 L11^-T; then L22, L22^-1 and the rest of L^-1.
  __device__ __forceinline__ void eliminate(int h) {
    T* const memory = shared<T>();
    T *const pivots = memory + now_ + h * corner, *const inverse = memory + inverse_;
    if (warp_ == 1)
      return Followers<T>::run(pivots, inverse + h * corner,
                               memory + now_ + (h == 0 ? half : right),
                               h == 0 ? memory + now_ + half : inverse + half, h == 1, columns(h));
    Elimination<T>::run(pivots, columns(h));
    int const bad = first_bad_pivot(columns(h)), minor = col_ * order + h * half + bad;
    if (thread_ == 0 && bad != 0 && minor <= m_.n && *m_.info == 0) *m_.info = m_.offset + minor;
  }

  // A22 -= L21 L21^T; and -L11^-T L21^T, whose solution is the rest of L^-T
  __device__ __forceinline__ void update_second_half() {
    int const L21 = now_ + half;
    if (warp_ < 4)
      product<T>(Into::Subtracted, now_ + corner, L21, L21, half, half, half, warp_, 4);
    else
      product<T>(Into::Negated, now_ + right, now_, L21, half, half, half, warp_ - 4, 4);
  }

  // L and L^-1 of the column before, to where they belong, and its part of this tile that nothing waited for.
  __device__ __forceinline__ void hand_on_column_before(bool is_followed) {
    if (col_ == 0) return;
    T* const memory = shared<T>();
    int const u = thread_ - 2 * lanes, before = col_ - 1, extent = m_.extent(before);
    scale_columns(memory + next_ + corner, columns(1), u, helpers);
    if (is_followed)
      product<T>(Into::Subtracted, now_ + corner, solution_at + half, solution_at + half, half,
                 half, order, warp_ - 2, helping_warps);
    wait_for_helpers();
    if (m_.V != nullptr)
      store<Part::Transposed, helpers>(memory + inverse_before_,
                                       m_.V + std::int64_t{before} * order * (m_.ldv + 1), m_.ldv,
                                       extent, extent, u);
    store<Part::Lower, helpers>(memory + next_, m_.A + std::int64_t{before} * order * (m_.lda + 1),
                                m_.lda, extent, extent, u);
  }

  // Of the tile below, the first half of its solution, and the second half of its right-hand side.
  __device__ __forceinline__ void solve_for_half_below() {
    T* const memory = shared<T>();
    int const u = thread_ - 2 * lanes;
    scale_columns(memory + now_, columns(0), u, helpers);
    if (is_last_) return;
    Arrival<T, helpers> next(m_.diagonal(col_ + 1), u), below(m_.below(col_ + 1), u);
    next.load(), below.load();
    next.put(memory + next_), below.put(memory + below_at);
    wait_for_helpers();
    product<T>(Into::Result, solution_at, below_at, inverse_, order, half, half, warp_ - 2,
               helping_warps);
    wait_for_helpers();
    product<T>(Into::Subtracted, below_at + right, solution_at, now_ + half, order, half, half,
               warp_ - 2, helping_warps);
  }

  // L^-1 to those that wait for it; the second half of the solution below, and what the next tile's elimination begins
  // with.
  __device__ __forceinline__ void finish_column() {
    send<threads>(shared<T>() + inverse_, m_.finished(col_, col_), thread_);
    if (is_last_) return;
    product<T>(Into::Result, solution_at + right, below_at + right, inverse_ + corner, order, half,
               half, warp_, warps);
    __syncthreads();
    product<T>(Into::Subtracted, next_, solution_at, solution_at, order, half, order, warp_, warps);
  }

  Matrices<T> const& m_;
  int const thread_ = static_cast<int>(threadIdx.x), warp_ = thread_ / lanes;
  int col_ = 0, now_ = 0, next_ = 0, inverse_ = 0, inverse_before_ = 0;  // distances in the memory
  bool is_last_ = false;
};

}  // namespace strata::vendor::tiles

#endif
#endif
