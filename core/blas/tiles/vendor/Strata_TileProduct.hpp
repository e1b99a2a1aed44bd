// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TILE_PRODUCT_HPP
#define STRATA_TILE_PRODUCT_HPP

#include <core/blas/tiles/vendor/Strata_TileElimination.hpp>

// Products of tiles in shared memory on the matrix units; see Strata_TilePotrf.hpp.
#ifdef KOKKOS_ENABLE_CUDA

namespace strata::vendor::tiles {

/// 8 R x 16 numbers of a warp: a lane has acc[p][q] in row `row_of(p)` and column `col_of(q)`.
__device__ __forceinline__ int row_of(int p) { return threadIdx.x % lanes / 4 + 8 * p; }
__device__ __forceinline__ int col_of(int q) { return threadIdx.x % 4 * 2 + 8 * (q / 2) + q % 2; }

/// acc += F G^T over `depth` columns; G may be given as its transpose.
template <int R, bool is_transposed = false, bool is_coarse = false>
__device__ __forceinline__ void multiply(double (&acc)[R][4], double const* F, double const* G,
                                         int depth) {
  constexpr int ld_ = ld<double>, to_row = is_transposed ? ld_ : 1,
                to_col = is_transposed ? 1 : ld_;
  int const l = threadIdx.x % lanes;
  F += l / 4 + l % 4 * ld_, G += l / 4 * to_row + l % 4 * to_col;
#pragma unroll 8
  for (int k = 0; k < depth; k += 4) {
    double x[R], y[2];
#pragma unroll
    for (int p = 0; p < R; ++p) x[p] = F[k * ld_ + p * 8];
#pragma unroll
    for (int q = 0; q < 2; ++q) y[q] = G[k * to_col + q * 8 * to_row];
#pragma unroll
    for (int p = 0; p < R; ++p)
#pragma unroll
      for (int q = 0; q < 2; ++q)
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
            : "+d"(acc[p][2 * q]), "+d"(acc[p][2 * q + 1])
            : "d"(x[p]), "d"(y[q]));
  }
}

/// x as the sum of two numbers of tf32, of which the matrix units ignore the last 13 bits, without
/// the instructions that convert. If x is a NaN, only `small` is sure to be a NaN.
struct TwoParts {
  unsigned large, small;

  __device__ __forceinline__ void of(float x) {
    large = (__float_as_uint(x) + 0x1000u) & ~0x1fffu;  // rounded to nearest
    float const rest = x - __uint_as_float(large);
    small = __float_as_uint(fmaf(rest, 0x1p-11f, rest));  // as near to `rest`, once it is cut off
  }
};

__device__ __forceinline__ void multiply_tf32(float (&c)[2][4], int q, unsigned const (&x)[4],
                                              unsigned const (&y)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0][2 * q]), "+f"(c[0][2 * q + 1]), "+f"(c[1][2 * q]), "+f"(c[1][2 * q + 1])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
}

/// The same for operands in two parts: three products of tf32. The units cut sums off instead of
/// rounding them, so that a sum has eight terms only. `is_coarse` leaves out the small parts, and
/// NaNs with them. It is for corrections of sums that have the NaNs already.
template <int R, bool is_transposed = false, bool is_coarse = false>
__device__ __forceinline__ void multiply(float (&acc)[R][4], float const* F, float const* G,
                                         int depth) {
  constexpr int ld_ = ld<float>, to_row = is_transposed ? ld_ : 1, to_col = is_transposed ? 1 : ld_;
  int const l = threadIdx.x % lanes;
  F += l / 4 + l % 4 * ld_, G += l / 4 * to_row + l % 4 * to_col;
#pragma unroll 4
  for (int k = 0; k < depth; k += 8) {
    unsigned Y[2][2], y[2][2];
#pragma unroll
    for (int q = 0; q < 2; ++q)
#pragma unroll
      for (int p = 0; p < 2; ++p) {
        TwoParts parts;
        parts.of(G[(k + p * 4) * to_col + q * 8 * to_row]);
        Y[q][p] = parts.large, y[q][p] = parts.small;
      }
#pragma unroll
    for (int r = 0; r < R; r += 2) {
      unsigned X[4], x[4];
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        TwoParts parts;
        parts.of(F[(k + p / 2 * 4) * ld_ + (r + p % 2) * 8]);
        X[p] = parts.large, x[p] = parts.small;
      }
      float sum[2][4] = {};
#pragma unroll
      for (int q = 0; q < 2; ++q) {
        if (!is_coarse) multiply_tf32(sum, q, x, Y[q]), multiply_tf32(sum, q, X, y[q]);
        multiply_tf32(sum, q, X, Y[q]);
      }
#pragma unroll
      for (int p = 0; p < 2; ++p)
#pragma unroll
        for (int q = 0; q < 4; ++q) acc[r + p][q] += sum[p][q];
    }
  }
}

enum class Into { Result, Negated, Added, Subtracted };

template <class T>
__device__ __forceinline__ void put(Into into, T& s, T product) {
  s = into == Into::Result    ? product
      : into == Into::Negated ? -product
      : into == Into::Added   ? s + product
                              : s - product;
}

/// S = -F G^T or S -= F G^T, by warps u, u + count, ... Operands are given by their distance from
/// the begin of the shared memory: one piece of code for all, which stays in the instructions'
/// cache. Where F = G the parts above the diagonal of S are left out.
template <class T>
__device__ __noinline__ void product(Into into, int s_at, int f_at, int g_at, int rows, int cols,
                                     int depth, int u, int count) {
  T* const memory = shared<T>();
  bool const is_symmetric = f_at == g_at;
  int i = 16 * u, j = 0;
#pragma unroll 1
  for (;; i += 16 * count) {
    while (i >= rows && j < cols) j += 16, i -= rows - (is_symmetric ? j : 0);
    if (j >= cols) return;
    T acc[2][4] = {};
    multiply<2>(acc, memory + f_at + i, memory + g_at + j, depth);
#pragma unroll
    for (int q = 0; q < 4; ++q)
#pragma unroll
      for (int p = 0; p < 2; ++p)
        put(into, memory[s_at + (j + col_of(q)) * ld<T> + i + row_of(p)], acc[p][q]);
  }
}

}  // namespace strata::vendor::tiles

#endif
#endif
