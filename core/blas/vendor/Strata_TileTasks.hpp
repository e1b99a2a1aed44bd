// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TILE_TASKS_HPP
#define STRATA_TILE_TASKS_HPP

#include <core/blas/vendor/Strata_TileElimination.hpp>
#include <core/blas/vendor/Strata_TileProduct.hpp>

#include <Kokkos_BitManipulation.hpp>

#include <cstdint>
#include <type_traits>

// The tasks of `tile_potrf` and how they hand on tiles; see Strata_TilePotrf.hpp.
#ifdef KOKKOS_ENABLE_CUDA

namespace strata::vendor::tiles {

/// The operands, and the workspace by whose tiles tasks hand on numbers: each number is its own flag, as all bits are 1
/// until it is there.
template <class T>
struct Matrices {
  T *A, *V;  ///< V: the inverse, or null
  std::int64_t lda, ldv;
  int n, across;  ///< order, and tiles to a side
  T* tiles;
  unsigned* started;
  std::int64_t* info;
  std::int64_t offset;

  __host__ __device__ int tile_count() const {
    return V != nullptr ? across * across : across * (across + 1) / 2;
  }
  /// A finished tile: of L below the diagonal, of V = L^-T above it, on it of L^-1.
  __device__ T* finished(int row, int col) const {
    return tile(V != nullptr ? row + col * across : row * (row + 1) / 2 + col);
  }
  /// What is left of the tile below the one on the diagonal before this, to be solved for.
  __device__ T* below(int row) const { return tile(tile_count() + row); }
  /// What is left of a tile on the diagonal, but for the column before it.
  __device__ T* diagonal(int row) const { return tile(tile_count() + across + row); }
  __device__ int extent(int row) const { return min(order, n - row * order); }

 private:
  __device__ T* tile(int i) const { return tiles + std::int64_t{i} * order * order; }
};

template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// A tile of the workspace on its way to the shared memory, by `count` threads.
template <class T, int count>
class Arrival {
 public:
  __device__ __forceinline__ Arrival(T const* tile, int thread)
      : from_(reinterpret_cast<Bits<T> const volatile*>(tile) + thread),
        col_(thread / order),
        row_(thread % order) {}
  /// Until its last numbers are there, asking seldom.
  __device__ __forceinline__ void wait() const {
    while (from_[(each - 1 - (order % step != 0)) * count] == unset) __nanosleep(20);
  }
  __device__ __forceinline__ void load() {
#pragma unroll
    for (int m = 0; m < each; ++m) bits_[m] = is_inside(m) ? from_[m * count] : Bits<T>(0);
  }
  __device__ __forceinline__ void put(T* S, bool transposed = false) {
    while (!is_there()) load();
    int const at = transposed ? row_ * ld<T> + col_ : col_ * ld<T> + row_;
    int const next = transposed ? step : step * ld<T>;
#pragma unroll
    for (int m = 0; m < each; ++m)
      if (is_inside(m)) S[at + m * next] = Kokkos::bit_cast<T>(bits_[m]);
  }

 private:
  static constexpr int step = count / order, each = (order + step - 1) / step;
  static constexpr Bits<T> unset = ~Bits<T>(0);

  __device__ __forceinline__ bool is_inside(int m) const {
    return order % step == 0 || col_ + m * step < order;
  }
  __device__ __forceinline__ bool is_there() const {
    bool all = true;
#pragma unroll
    for (int m = 0; m < each; ++m) all = all && bits_[m] != unset;
    return all;
  }

  Bits<T> const volatile* from_;
  int col_, row_;
  Bits<T> bits_[each];
};

/// A tile to the workspace.
template <int count, class T>
__device__ __forceinline__ void send(T const* S, T* tile, int thread) {
  int const i = thread % order;
  auto* to = reinterpret_cast<Bits<T> volatile*>(tile) + thread;
#pragma unroll 4
  for (int c = thread / order; c < order; c += count / order, to += count) {
    auto const bits = Kokkos::bit_cast<Bits<T>>(S[c * ld<T> + i]);
    *to = bits == ~Bits<T>(0) ? bits >> 1 : bits;  // a NaN, too
  }
}

enum class Part { Full, Lower, Transposed };

/// A tile to where it belongs in A or V.
template <Part part, int count, class T>
__device__ __forceinline__ void store(T const* S, T* to, std::int64_t ld_to, int rows, int cols,
                                      int thread) {
  int const i = thread % order, end = part == Part::Lower ? min(cols, i + 1) : cols;
  if (i >= rows) return;
  to += i + thread / order * ld_to;
#pragma unroll 4
  for (int c = thread / order; c < end; c += count / order, to += count / order * ld_to)
    *to = part == Part::Transposed ? S[i * ld<T> + c] : S[c * ld<T> + i];
}

/// Tile (row, col) of L, or of V where row >= across: what A has there, less its products with finished tiles, solved
/// for; on the diagonal as far as the diagonal's own block wants it.
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
    is_urgent_ = row_ <= col_ + 2;
    on_diagonal_ = row_ == col_;
    of_inverse_ = row_ >= m.across;
    if (of_inverse_) row_ -= m.across;
  }

  __device__ __forceinline__ void run() const {
    T *const X = shared<T>(), *const Y = X + order * ld<T>;
    int const t = threadIdx.x, i0 = t / lanes % 2 * 32, j0 = t / (2 * lanes) * 16;
    T rest[4][4], sum[4][4] = {};
    load(rest, i0, j0);
    int const end = on_diagonal_ ? col_ - 1 : col_;
#pragma unroll 1
    for (int k = of_inverse_ ? row_ : 0; k < end; ++k) {
      Arrival<T, threads> x(m_.finished(row_, k), t), y(m_.finished(col_, k), t);
      if (!is_urgent_ || k + 1 < col_) x.wait(), y.wait();
      x.load(), y.load();
      __syncthreads();
      x.put(X, of_inverse_ && k == row_), y.put(Y);
      __syncthreads();
      multiply<4>(sum, X + i0, Y + j0, order);
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 4; ++q)
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        int const i = i0 + row_of(p), j = j0 + col_of(q);
        X[j * ld<T> + i] = rest[p][q] - (on_diagonal_ && i < j ? T(0) : sum[p][q]);
      }
    __syncthreads();
    if (on_diagonal_)
      send<threads>(X, m_.diagonal(col_), t);
    else
      solve(X, Y, i0, j0);
  }

 private:
  __device__ __forceinline__ T* target() const {
    return (of_inverse_ ? m_.V : m_.A) + std::int64_t{row_} * order +
           std::int64_t{col_} * order * (of_inverse_ ? m_.ldv : m_.lda);
  }
  // What A has there; beyond its order an identity, above the diagonal 0.
  __device__ __forceinline__ void load(T (&rest)[4][4], int i0, int j0) const {
    int const rows = m_.extent(row_), cols = m_.extent(col_);
    T const* const a = target();
#pragma unroll
    for (int q = 0; q < 4; ++q)
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        int const i = i0 + row_of(p), j = j0 + col_of(q);
        bool const is_read = !of_inverse_ && i < rows && j < cols && !(on_diagonal_ && i < j);
        rest[p][q] = is_read ? a[i + j * m_.lda] : T(on_diagonal_ && i == j && i >= rows);
      }
  }
  __device__ __forceinline__ void solve(T* X, T* Y, int i0, int j0) const {
    int const t = threadIdx.x, rows = m_.extent(row_), cols = m_.extent(col_);
    if (!of_inverse_ && row_ == col_ + 1) send<threads>(X, m_.below(row_), t);
    Arrival<T, threads> inverse(m_.finished(col_, col_), t);
    if (!is_urgent_) inverse.wait();
    inverse.load();
    inverse.put(Y);
    __syncthreads();
    T solution[4][4] = {};
    multiply<4>(solution, X + i0, Y + j0, j0 + 16);  // L^-1 is lower triangular
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 4; ++q)
#pragma unroll
      for (int p = 0; p < 4; ++p) X[(j0 + col_of(q)) * ld<T> + i0 + row_of(p)] = solution[p][q];
    __syncthreads();
    send<threads>(X, m_.finished(row_, col_), t);
    store<Part::Full, threads>(X, target(), of_inverse_ ? m_.ldv : m_.lda, rows, cols, t);
    if (of_inverse_ || m_.V == nullptr) return;
    T* const zeros = m_.V + std::int64_t{row_} * order + std::int64_t{col_} * order * m_.ldv;
    for (int e = t; e < order * order; e += threads)
      if (e % order < rows && e / order < cols) zeros[e % order + e / order * m_.ldv] = 0;
  }

  Matrices<T> const& m_;
  int row_, col_;
  bool is_urgent_, on_diagonal_, of_inverse_;
};

}  // namespace strata::vendor::tiles

#endif
#endif
