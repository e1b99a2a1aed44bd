// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TILE_TASKS_HPP
#define STRATA_TILE_TASKS_HPP

#include <core/blas/tiles/vendor/Strata_TileElimination.hpp>
#include <core/blas/tiles/vendor/Strata_TileProduct.hpp>
#include <core/kokkos_ext/Strata_Published.hpp>

#include <Kokkos_BitManipulation.hpp>

#include <cstdint>

// The tasks of `tile_potrf` and how they hand on tiles; see Strata_TilePotrf.hpp.
#ifdef KOKKOS_ENABLE_CUDA

namespace strata::vendor::tiles {

/// The operands, and the workspace by whose tiles tasks hand on numbers. Each number is its own
/// flag: all bits are 1 until it is there.
template <class T>
struct Matrices {
  T *A, *V;  ///< V: the inverse, or null
  std::int64_t lda, ldv;
  int n, across;  ///< order, and tiles to a side
  T* tiles;
  unsigned* started;
  std::int64_t* info;
  std::int64_t offset;
  double* largest;  ///< magnitude of V, or null

  __host__ __device__ int tile_count() const {
    return V != nullptr ? across * across : across * (across + 1) / 2;
  }
  /// A finished tile: of L below the diagonal, of V = L^-T on it and above.
  __device__ T* finished(int row, int col) const {
    return tile(V != nullptr ? row + col * across : row * (row + 1) / 2 + col);
  }
  /// What is left of the tile below the one on the diagonal before this, to be solved for.
  __device__ T* below(int row) const { return tile(tile_count() + row); }
  /// What is left of a tile on the diagonal, but for the column before it.
  __device__ T* diagonal(int row) const { return tile(tile_count() + across + row); }
  /// L of a tile on the diagonal.
  __device__ T* triangle(int row) const { return tile(tile_count() + 2 * across + row); }
  /// Numbers in the workspace, without the counter.
  __host__ __device__ std::int64_t numbers() const {
    return std::int64_t{tile_count() + 3 * across} * order * order;
  }
  __device__ int extent(int row) const { return min(order, n - row * order); }

 private:
  __device__ T* tile(int i) const { return tiles + std::int64_t{i} * order * order; }
};

/// The larger of `most` and the magnitude of x, if this is finite.
template <class T>
__device__ __forceinline__ T larger_finite(T most, T x) {
  constexpr T finite = Kokkos::Experimental::finite_max_v<T>;
  T const magnitude = fabs(x);
  return magnitude > most && magnitude <= finite ? magnitude : most;
}

/// *largest = the larger of itself and what the lanes of a warp have.
template <class T>
__device__ __forceinline__ void raise(double* largest, T most) {
#pragma unroll
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    most = max(most, __shfl_xor_sync(~0u, most, distance));
  // The bits of numbers that are not negative have the numbers' order.
  if (threadIdx.x % lanes == 0)
    atomicMax(reinterpret_cast<unsigned long long*>(largest),
              Kokkos::bit_cast<unsigned long long>(static_cast<double>(most)));
}

/// A tile of the workspace, or its part of `rows` x `cols` that begins at `from`, on its way to the
/// shared memory or to a matrix, by `count` threads.
template <class T, int count, int rows = order, int cols = order>
class Arrival {
 public:
  __device__ __forceinline__ Arrival(T const* from, int thread)
      : col_(thread / rows),
        row_(thread % rows),
        from_(reinterpret_cast<Bits<T> const volatile*>(from) + col_ * order + row_) {}
  /// Waits until the last numbers of the tile are there, and asks seldom.
  __device__ __forceinline__ void wait() const {
    while (from_[(each - 1 - (cols % step != 0)) * step * order] == unset) __nanosleep(20);
  }
  __device__ __forceinline__ void load() {
#pragma unroll
    for (int m = 0; m < each; ++m) bits_[m] = is_inside(m) ? from_[m * step * order] : Bits<T>(0);
  }
  __device__ __forceinline__ void put(T* S) {
    while (!is_there()) load();
#pragma unroll
    for (int m = 0; m < each; ++m)
      if (is_inside(m)) S[(col_ + m * step) * ld<T> + row_] = Kokkos::bit_cast<T>(bits_[m]);
    __syncwarp();  // barriers and products want all lanes
  }
  /// Writes the tile to a matrix, as far as that has `rows_there` and `cols_there`.
  template <bool is_lower>
  __device__ __forceinline__ void put_in_matrix(T* to, std::int64_t ld_to, int rows_there,
                                                int cols_there) {
    while (!is_there()) load();
#pragma unroll
    for (int m = 0; m < each; ++m) {
      int const col = col_ + m * step;
      if (row_ < rows_there && col < cols_there && (!is_lower || row_ >= col))
        to[row_ + col * ld_to] = Kokkos::bit_cast<T>(bits_[m]);
    }
    __syncwarp();
  }
  /// The largest finite magnitude in so many rows and columns, of this thread's numbers.
  __device__ __forceinline__ T largest(int rows_there, int cols_there) const {
    T most = 0;
#pragma unroll
    for (int m = 0; m < each; ++m)
      if (row_ < rows_there && col_ + m * step < cols_there)
        most = larger_finite(most, Kokkos::bit_cast<T>(bits_[m]));
    return most;
  }

 private:
  static constexpr int step = count / rows, each = (cols + step - 1) / step;
  static constexpr Bits<T> unset = Published<T>::unset;

  __device__ __forceinline__ bool is_inside(int m) const {
    return cols % step == 0 || col_ + m * step < cols;
  }
  __device__ __forceinline__ bool is_there() const {
    bool all = true;
#pragma unroll
    for (int m = 0; m < each; ++m) all = all && bits_[m] != unset;
    return all;
  }

  int col_, row_;
  Bits<T> const volatile* from_;
  Bits<T> bits_[each];
};

/// `rows` of a tile to the workspace, by all threads.
template <int rows = order, class T>
__device__ __forceinline__ void send(T const* S, T* tile, int thread) {
#pragma unroll 4
  for (int e = thread; e < rows * order; e += threads)
    hand_on(S[e / rows * ld<T> + e % rows], tile + e / rows * order + e % rows);
}

/// `rows` of a tile to where they belong in A or V, as far as there are `rows_there` and `cols`.
template <int count, int rows = order, class T>
__device__ __forceinline__ void store(T const* S, T* to, std::int64_t ld_to, int rows_there,
                                      int cols, int thread) {
  int const i = thread % rows;
  if (i >= rows_there) return;
  to += i + thread / rows * ld_to;
#pragma unroll 4
  for (int c = thread / rows; c < cols; c += count / rows, to += count / rows * ld_to)
    *to = S[c * ld<T> + i];
}

/// Tile (row, col) of L, or of V where row >= across: what A has there, less its products with
/// finished tiles, solved for. The block with the diagonal has the tiles there and below it; tasks
/// make the parts of these that do not wait for that block. Task (col, col) makes the next tile on
/// the diagonal. Tasks (col + 1, col) and (col + 2, col) each make half of tile (col + 2, col).
/// Then each makes half of the tile to its right, for which that block waits next.
///
/// Task (col, col) also brings column col - 1 of that block's results to A and V, and the last one
/// its own. It does so at its end, since in a column that block waits for the tile below before it
/// has sent all.
///
/// No task waits for a task of a higher number. That block waits for no task that waits for what
/// the block has not sent yet. So two blocks are enough.
template <class T>
class TileTask {
 public:
  __device__ __forceinline__ TileTask(Matrices<T> const& m, int task) : m_(m), col_(0) {
    if (m.V != nullptr) {
      col_ = task / m.across, row_ = col_ + task % m.across;
    } else {
      for (; task >= m.across - col_; ++col_) task -= m.across - col_;
      row_ = col_ + task;
    }
    from_diagonal_ = row_ - col_;
    of_inverse_ = row_ >= m.across;
    if (of_inverse_) row_ -= m.across;
  }

  __device__ __forceinline__ void run() {
    if (from_diagonal_ == 0) return send_diagonal();
    if (of_inverse_) return run_rows<4>(0);
    clear_inverse();
    if (from_diagonal_ > 2) return run_rows<4>(0);
    if (from_diagonal_ == 1 && col_ == 0) send_rest(m_.below(1), 0);
    row_ = col_ + 2;
    if (row_ < m_.across) run_rows<2>((from_diagonal_ - 1) * half);
  }

 private:
  static constexpr int X = 0, Y = 1, Z = 2, L = 2, S = 3;  // tiles of the shared memory

  __device__ __forceinline__ static T* at(int tile) { return shared<T>() + tile * order * ld<T>; }
  // Where the numbers of a warp begin, which are 8 R x 16.
  template <int R>
  __device__ __forceinline__ static int i0() {
    return threadIdx.x / lanes % 2 * (8 * R);
  }
  __device__ __forceinline__ static int j0() { return threadIdx.x / (2 * lanes) * 16; }
  __device__ __forceinline__ bool is_urgent() const { return from_diagonal_ <= 3; }

  /// 16 R rows of the tile, from `first` on.
  template <int R>
  __device__ __forceinline__ void run_rows(int first) const {
    constexpr int rows = 16 * R;
    constexpr bool goes_on = R == 2;
    T done[R][4], done_of_next[R][4];  // their sums of products less what A has
    load<R>(done, first, col_);
    if constexpr (goes_on) load<R>(done_of_next, first, col_ + 1);
    multiply_finished<R, goes_on>(done, done_of_next, first, col_);
    put<R>(done);
    solve<R>(first);
    if constexpr (goes_on) {
      Arrival<T, threads> y(m_.finished(col_ + 1, col_), thread_);
      y.load();
      y.put(at(Y));
      __syncthreads();
      multiply<R>(done_of_next, at(S) + i0<R>(), at(Y) + j0(), order);
      put<R>(done_of_next);
      send<rows>(at(X), m_.below(row_) + first, thread_);
    }
    store<threads, rows>(at(S), target(first, col_), of_inverse_ ? m_.ldv : m_.lda,
                         m_.extent(row_) - first, m_.extent(col_), thread_);
    if (of_inverse_ && m_.largest != nullptr) measure();
  }
  // What is in S, a tile of V.
  __device__ __forceinline__ void measure() const {
    T most = 0;
    int const i = thread_ % order;
    if (i < m_.extent(row_))
#pragma unroll 4
      for (int c = thread_ / order; c < m_.extent(col_); c += threads / order)
        most = larger_finite(most, at(S)[c * ld<T> + i]);
    raise(m_.largest, most);
  }

  // What the block with the diagonal begins a tile with: the next one there but for its column
  // before, and the first one. And the zeros of its inverse and its triangle.
  __device__ __forceinline__ void send_diagonal() {
    int const col = col_, end = min(col + 2, m_.across);
#pragma unroll 1
    for (int d = col == 0 ? 0 : col + 1; d < end; ++d) {
      row_ = col_ = d;
      send_rest(m_.diagonal(d), d - 1);
      for (int e = thread_; e < half * half; e += threads) {
        int const first = e % half, second = half + e / half;
        hand_on(T(0), m_.triangle(d) + first + second * order);
        hand_on(T(0), m_.finished(d, d) + second + first * order);
      }
    }
    if (col > 0) bring_to_matrices(col - 1);
    if (col + 1 == m_.across) bring_to_matrices(col);
  }
  // What the block with the diagonal has sent of a column, to where it belongs.
  __device__ __forceinline__ void bring_to_matrices(int col) {
    T* const A = m_.A + std::int64_t{col} * order * (m_.lda + 1);
    bring<true>(m_.triangle(col), A, m_.lda, m_.extent(col), m_.extent(col));
    if (m_.V != nullptr)
      bring<false>(m_.finished(col, col), m_.V + std::int64_t{col} * order * (m_.ldv + 1), m_.ldv,
                   m_.extent(col), m_.extent(col), m_.largest);
    if (col + 1 < m_.across)
      bring<false>(m_.finished(col + 1, col), A + order, m_.lda, m_.extent(col + 1), order);
  }
  template <bool is_lower>
  __device__ __forceinline__ void bring(T const* tile, T* to, std::int64_t ld_to, int rows,
                                        int cols, double* largest = nullptr) {
    Arrival<T, threads> numbers(tile, thread_);
    numbers.wait();
    numbers.load();
    numbers.template put_in_matrix<is_lower>(to, ld_to, rows, cols);
    if (largest != nullptr) raise(largest, numbers.largest(rows, cols));
  }
  // What A has there, less the products before column `end`.
  __device__ __forceinline__ void send_rest(T* to, int end) const {
    T done[4][4];
    load<4>(done, 0, col_);
    multiply_finished<4, false>(done, done, 0, end);
    put<4>(done);
    send(at(X), to, thread_);
    __syncthreads();
  }

  __device__ __forceinline__ T* target(int first, int col) const {
    return (of_inverse_ ? m_.V : m_.A) + std::int64_t{row_} * order + first +
           std::int64_t{col} * order * (of_inverse_ ? m_.ldv : m_.lda);
  }
  // Less what A has there; beyond its order an identity, above the diagonal 0.
  template <int R>
  __device__ __forceinline__ void load(T (&done)[R][4], int first, int col) const {
    bool const on_diagonal = row_ == col && !of_inverse_;
    int const rows = m_.extent(row_) - first, cols = m_.extent(col);
    T const* const a = target(first, col);
#pragma unroll
    for (int q = 0; q < 4; ++q)
#pragma unroll
      for (int p = 0; p < R; ++p) {
        int const i = i0<R>() + row_of(p), j = j0() + col_of(q);
        bool const is_read = !of_inverse_ && i < rows && j < cols && !(on_diagonal && i < j);
        done[p][q] = -(is_read ? a[i + j * m_.lda] : T(on_diagonal && i == j && i >= rows));
      }
  }
  // Those before column `end`, of this tile and perhaps of the one to its right.
  template <int R, bool goes_on>
  __device__ __forceinline__ void multiply_finished(T (&done)[R][4], T (&done_of_next)[R][4],
                                                    int first, int end) const {
#pragma unroll 1
    for (int k = of_inverse_ ? row_ : 0; k < end; ++k) {
      Arrival<T, threads, 16 * R> x(m_.finished(row_, k) + first, thread_);
      Arrival<T, threads> y(m_.finished(col_, k), thread_);
      if (!is_urgent() || k + 1 < col_) x.wait(), y.wait();
      x.load(), y.load();
      __syncthreads();
      x.put(at(X)), y.put(at(Y));
      __syncthreads();
      if constexpr (goes_on) {
        Arrival<T, threads> z(m_.finished(col_ + 1, k), thread_);
        z.load();
        multiply<R>(done, at(X) + i0<R>(), at(Y) + j0(), order);
        z.put(at(Z));
        __syncthreads();
        multiply<R>(done_of_next, at(X) + i0<R>(), at(Z) + j0(), order);
      } else {
        multiply<R>(done, at(X) + i0<R>(), at(Y) + j0(), order);
      }
    }
    __syncthreads();
  }
  // X = -done
  template <int R>
  __device__ __forceinline__ void put(T const (&done)[R][4]) const {
#pragma unroll
    for (int q = 0; q < 4; ++q)
#pragma unroll
      for (int p = 0; p < R; ++p)
        at(X)[(j0() + col_of(q)) * ld<T> + i0<R>() + row_of(p)] = -done[p][q];
    __syncthreads();
  }
  // S = X L^-T, and its correction (X - S L^T) L^-T: the product with the inverse alone has an
  // error of eps cond(L).
  template <int R>
  __device__ __forceinline__ void solve(int first) const {
    Arrival<T, threads> inverse(m_.finished(col_, col_), thread_);
    if (!is_urgent()) inverse.wait();
    inverse.load();
    inverse.put(at(Y));
    __syncthreads();
    Arrival<T, threads> triangle(m_.triangle(col_), thread_);
    triangle.load();
    multiply_triangle<R, true>(Into::Result, S, X, Y);
    triangle.put(at(L));
    __syncthreads();
    multiply_triangle<R, false>(Into::Subtracted, X, S, L);
    multiply_triangle<R, true, true>(Into::Added, S, X, Y);
    send<16 * R>(at(S), m_.finished(row_, col_) + first, thread_);
  }
  // C = F G^T, C += F G^T or C -= F G^T for a lower triangular G, or its transpose.
  template <int R, bool is_transposed, bool is_coarse = false>
  __device__ __noinline__ static void multiply_triangle(Into into, int c_at, int f_at, int g_at) {
    T sum[R][4] = {};
    multiply<R, is_transposed, is_coarse>(sum, at(f_at) + i0<R>(),
                                          at(g_at) + j0() * (is_transposed ? ld<T> : 1), j0() + 16);
#pragma unroll
    for (int q = 0; q < 4; ++q)
#pragma unroll
      for (int p = 0; p < R; ++p)
        tiles::put(into, at(c_at)[(j0() + col_of(q)) * ld<T> + i0<R>() + row_of(p)], sum[p][q]);
    __syncthreads();
  }
  // V is 0 where L has this tile.
  __device__ __forceinline__ void clear_inverse() const {
    if (m_.V == nullptr) return;
    T* const zeros = m_.V + std::int64_t{row_} * order + std::int64_t{col_} * order * m_.ldv;
    for (int e = thread_; e < order * order; e += threads)
      if (e % order < m_.extent(row_)) zeros[e % order + e / order * m_.ldv] = 0;
  }

  Matrices<T> const& m_;
  int const thread_ = static_cast<int>(threadIdx.x);
  int row_, col_, from_diagonal_;
  bool of_inverse_;
};

}  // namespace strata::vendor::tiles

#endif
#endif
