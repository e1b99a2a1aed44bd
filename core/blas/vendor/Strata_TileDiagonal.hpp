// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TILE_DIAGONAL_HPP
#define STRATA_TILE_DIAGONAL_HPP

#include <core/blas/vendor/Strata_TileTasks.hpp>

// The first block of `tile_potrf`; see Strata_TilePotrf.hpp.
#ifdef KOKKOS_ENABLE_CUDA

namespace strata::vendor::tiles {

/// Rows of the tile below follow the pivots, too, a row a lane, by two warps: R becomes X = R L^-T.
template <class T>
class RowsBelow {
 public:
  /// R from the workspace's tile `arriving`, or else from the shared memory; X to the shared memory and to `tile`. The
  /// elimination is done, or goes on meanwhile.
  __device__ __noinline__ static void run(T const* arriving, int r_at, int x_at, int c_at,
                                          bool goes_on, T* tile) {
    int const i = threadIdx.x % order;
    RowsBelow rows;
    if (arriving != nullptr) {
      Arrival<T, order, order, half> R(arriving, i);
      R.load();
      R.put(rows.a_);
    } else {
#pragma unroll
      for (int c = 0; c < half; ++c) rows.a_[c] = shared<T>()[r_at + c * ld<T> + i];
    }
    rows.now_ = rows.a_[0], rows.C_ = shared<T>() + c_at, rows.X_ = shared<T>() + x_at + i;
    rows.goes_on_ = goes_on, rows.tile_ = tile + i;
    rows.template eight<32>();
    rows.template eight<24>();
    rows.template eight<16>();
    rows.template eight<8>();
  }

 private:
  template <int left>
  __device__ __forceinline__ void eight() {
    if (goes_on_) asm volatile("bar.sync %0, 96;" ::"n"((half - left) / 8 + 6) : "memory");
    T const roots = inverse_root(C_[threadIdx.x % 8 * half]);
#pragma unroll 2
    for (int j = 0; j < 8; ++j) {
      T s[left];
      read_column(s, C_);
      T const root = __shfl_sync(~0u, roots, j), x = now_ * root, part = x * root;
      *X_ = x, hand_on(x, tile_);
      C_ += half, X_ += ld<T>, tile_ += order;
      now_ = a_[1] - part * s[1];
      move_up(a_, s, part);
    }
  }

  T a_[half], now_;
  T const* C_;
  T *X_, *tile_;
  bool goes_on_;
};

/// All tiles on the diagonal, one after the other, each with the tile below it, by halves of 32 columns.
///
/// Warp 0 has the rows of a pivot block, warp 1 follows with other rows, warps 2 and 3 with those of the tile below; the
/// other warps hand on what is done meanwhile, and work on the next tile on the diagonal.
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
          solve_for_tile_below();
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
  static constexpr int last_quarter =
      half * (order + 1);  // its first number in a tile of the workspace
  static constexpr int others =
      helpers - 2 * lanes;  // of the helpers, without those with the rows below

  __device__ __forceinline__ static void wait_for_helpers() {
    asm volatile("bar.sync 5, %0;" ::"n"(helpers) : "memory");
  }
  __device__ __forceinline__ static int columns_of(int h) {
    return columns_at + h * (half + 1) * half;
  }
  __device__ __forceinline__ static T* columns(int h) { return shared<T>() + columns_of(h); }

  // L11, L11^-1 and L21 = A21 L11^-T; then L22, L22^-1 and the rest of L^-1.
  __device__ __forceinline__ void eliminate(int h) {
    T* const memory = shared<T>();
    T *const pivots = memory + now_ + h * corner, *const inverse = memory + inverse_;
    if (warp_ == 0) {
      Elimination<T>::run(pivots, columns(h), h == 1 && !is_last_);
      int const bad = first_bad_pivot(columns(h)), minor = col_ * order + h * half + bad;
      if (thread_ == 0 && bad != 0 && minor <= m_.n && *m_.info == 0) *m_.info = m_.offset + minor;
    } else {
      Followers<T>::run(pivots, inverse + h * corner, memory + now_ + (h == 0 ? half : right),
                        h == 0 ? memory + now_ + half : inverse + half, h == 1, columns(h));
    }
    __syncwarp();
    if (h == 0) return;
    int const all = 2 * lanes + (is_last_ ? helpers : others);
    asm volatile("bar.arrive 11, %0;" ::"r"(all) : "memory");
    asm volatile("bar.sync 12, 64;" ::: "memory");
    send_quarter(inverse_, m_.finished(col_, col_), warp_ == 0 ? last_quarter : half,
                 thread_ % lanes, lanes);
  }

  // A22 -= L21 L21^T; and -L11^-T L21^T, whose solution is the rest of L^-T
  __device__ __forceinline__ void update_second_half() {
    int const L21 = now_ + half;
    if (warp_ < 4)
      product<T>(Into::Subtracted, now_ + corner, L21, L21, half, half, half, warp_, 4);
    else
      product<T>(Into::Negated, now_ + right, now_, L21, half, half, half, warp_ - 4, 4);
  }

  // L of the column before and its inverse, to where they belong, and its part of this tile that nothing waited for.
  __device__ __forceinline__ void hand_on_column_before(bool is_followed) {
    if (col_ == 0) return;
    T* const memory = shared<T>();
    int const u = thread_ - 2 * lanes, before = col_ - 1, extent = m_.extent(before);
    if (is_followed) {
      product<T>(Into::Subtracted, now_ + corner, solution_at + half, solution_at + half, half,
                 half, order, warp_ - 2, helping_warps);
      T* const below = m_.A + std::int64_t{col_} * order + std::int64_t{before} * order * m_.lda;
      store<Part::Full, helpers>(memory + solution_at, below, m_.lda, m_.extent(col_), extent, u);
    }
    if (m_.V != nullptr)
      store<Part::Transposed, helpers>(memory + inverse_before_,
                                       m_.V + std::int64_t{before} * order * (m_.ldv + 1), m_.ldv,
                                       extent, extent, u);
    store<Part::Lower, helpers>(memory + next_, m_.A + std::int64_t{before} * order * (m_.lda + 1),
                                m_.lda, extent, extent, u);
  }

  // The tile below, by two warps; meanwhile, the others hand on L and L^-1, as soon as they are known.
  __device__ __forceinline__ void solve_for_tile_below() {
    int const u = thread_ - 2 * lanes, v = u - 2 * lanes;
    if (is_last_) return hand_on_first_half(u, helpers), hand_on_second_half(u, helpers);
    bool const has_rows = warp_ < 4;
    T *const R = m_.below(col_ + 1), *const X = m_.finished(col_ + 1, col_);
    if (has_rows) {
      RowsBelow<T>::run(R, 0, solution_at, columns_of(0), false, X);
    } else {
      hand_on_first_half(v, others);
      Arrival<T, others, order, half> second_half(R + half * order, v);
      second_half.load();
      second_half.put(shared<T>() + below_at + right);
    }
    wait_for_helpers();
    product<T>(Into::Subtracted, below_at + right, solution_at, now_ + half, order, half, half,
               warp_ - 2, helping_warps);
    wait_for_helpers();
    if (has_rows)
      return RowsBelow<T>::run(nullptr, below_at + right, solution_at + right, columns_of(1), true,
                               X + half * order);
    hand_on_second_half(v, others);
    Arrival<T, others> next(m_.diagonal(col_ + 1), v);
    next.load();
    next.put(shared<T>() + next_);
  }

  __device__ __forceinline__ void hand_on_first_half(int u, int count) {
    T* const L = m_.triangle(col_);
    send_quarter(inverse_, m_.finished(col_, col_), 0, u, count);
    send_quarter(now_, L, half, u, count);
    scale_columns<T>(now_, columns_of(0), u, count);
    asm volatile("bar.sync 10, %0;" ::"r"(count) : "memory");
    send_quarter(now_, L, 0, u, count);
  }
  __device__ __forceinline__ void hand_on_second_half(int u, int count) {
    asm volatile("bar.sync 11, %0;" ::"r"(2 * lanes + count) : "memory");
    scale_columns<T>(now_ + corner, columns_of(1), u, count);
    asm volatile("bar.sync 10, %0;" ::"r"(count) : "memory");
    send_quarter(now_, m_.triangle(col_), last_quarter, u, count);
  }

  // What the next tile's elimination begins with.
  __device__ __forceinline__ void finish_column() {
    if (is_last_) return;
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
