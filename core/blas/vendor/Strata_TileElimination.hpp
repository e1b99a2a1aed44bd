// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TILE_ELIMINATION_HPP
#define STRATA_TILE_ELIMINATION_HPP

#include <Kokkos_Macros.hpp>

// What the blocks of `tile_potrf` do in their shared memory; see Strata_TilePotrf.hpp.
#ifdef KOKKOS_ENABLE_CUDA

namespace strata::vendor::tiles {

constexpr int order = 64;  // of a tile
constexpr int half = order / 2, lanes = 32, threads = 256, warps = threads / lanes;

/// Numbers from one column of a tile to the next: such that the fragments of matrix units lie in other banks.
template <class T>
constexpr int ld = sizeof(T) == 8 ? 68 : 72;

__device__ __forceinline__ float inverse_root(float x) { return ::rsqrtf(x); }
__device__ __forceinline__ double inverse_root(double x) { return ::rsqrt(x); }

/// 1 / x for x whose reciprocal is a normal number.
__device__ __forceinline__ float normal_reciprocal(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return fmaf(r, fmaf(-x, r, 1.f), r);
}
__device__ __forceinline__ double normal_reciprocal(double x) {
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
  r = fma(r, fma(-x, r, 1.0), r);
  return fma(r, fma(-x, r, 1.0), r);
}

/// 1 / d as a product, of which neither factor overflows for any positive d.
template <class T>
struct Reciprocal {
  T first, second;

  __device__ __forceinline__ explicit Reciprocal(T d) : second(1) {
    constexpr T largest = sizeof(T) == 8 ? T(0x1p1000) : T(0x1p120f);
    if (d >= 1 / largest && d <= largest)
      first = normal_reciprocal(d);
    else
      first = second = inverse_root(d);
  }
  __device__ __forceinline__ Reciprocal(T a, T b) : first(a), second(b) {}
  __device__ __forceinline__ T times(T x) const { return x * first * second; }
  /// That of lane j.
  __device__ __forceinline__ Reciprocal of_lane(int j) const {
    return {__shfl_sync(~0u, first, j), __shfl_sync(~0u, second, j)};
  }
};

/// The block's shared memory.
template <class T>
__device__ __forceinline__ T* shared() {
  extern __shared__ __align__(16) unsigned char strata_tiles_shared[];
  return reinterpret_cast<T*>(strata_tiles_shared);
}

/// Four neighbouring numbers of the shared memory, aligned to as many.
__device__ __forceinline__ void read(float* x, float const* s) {
  float4 const v = *reinterpret_cast<float4 const*>(s);
  x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
}
__device__ __forceinline__ void read(double* x, double const* s) {
  for (int p = 0; p < 4; p += 2) {
    double2 const v = *reinterpret_cast<double2 const*>(s + p);
    x[p] = v.x, x[p + 1] = v.y;
  }
}

template <int count, class T>
__device__ __forceinline__ void read_column(T (&s)[count], T const* C) {
#pragma unroll
  for (int c = 0; c < count; c += 4) read(s + c, C + c);
}

/// A step of the elimination for a row a: column 1 less its part of the column that is done, s, becomes the next one,
/// and all that follow move up by one.
template <int count, class T>
__device__ __forceinline__ void move_up(T (&a)[half], T const (&s)[count], T part) {
#pragma unroll
  for (int c = 2; c < count; ++c) a[c - 1] = a[c] - part * s[c];
}

/// The rows of a pivot block of 32 x 32, by one warp, a row a lane: column j of the elimination goes to C + 32 j, from the
/// diagonal on and not divided by the root of its pivot. What lies above the diagonal means nothing.
template <class T>
class Elimination {
 public:
  __device__ __forceinline__ static void run(T const* S, T* C, bool has_rows_below) {
    int const i = threadIdx.x % lanes;
    Elimination rows;
    rows.has_rows_below_ = has_rows_below;
#pragma unroll
    for (int c = 0; c < half; ++c) rows.a_[c] = S[c * ld<T> + i];
    rows.at_ = i, rows.C_ = C, rows.now_ = rows.a_[0];
    C[i] = rows.now_;
    rows.pivot_ = __shfl_sync(~0u, rows.now_, 0);
    __syncwarp();
    rows.template eight<32>();
    rows.template eight<24>();
    rows.template eight<16>();
    rows.template eight<8>();
  }

 private:
  template <int left>
  __device__ __forceinline__ void eight() {
    constexpr int first = half - left;
#pragma unroll 1
    for (int j = first; j < first + 8; ++j) {
      T s[left];
      read_column(s, C_);
      T const part = Reciprocal<T>(pivot_).times(now_);
      C_ += half, at_ = (at_ - 1) & (half - 1);
      now_ = a_[1] - part * s[1];
      C_[at_] = now_;  // the last one beyond the block, where there is room
      pivot_ = __shfl_sync(~0u, now_, (j + 1) & (half - 1));
      __syncwarp();
      move_up(a_, s, part);
    }
    asm volatile("bar.arrive %0, 64;" ::"n"(first / 8 + 1) : "memory");
    if (has_rows_below_) asm volatile("bar.arrive %0, 96;" ::"n"(first / 8 + 6) : "memory");
  }

  T a_[half], now_, pivot_;
  T* C_;
  int at_;
  bool has_rows_below_;
};

/// A power of two in whose units a row of L^-1 is found, as 1 / d may overflow for the row's number d on A's diagonal.
template <class T>
__device__ __forceinline__ T unit_of_inverse(T d) {
  constexpr T large = sizeof(T) == 8 ? T(0x1p600) : T(0x1p80f);
  constexpr T unit = sizeof(T) == 8 ? T(0x1p512) : T(0x1p64f);
  return d < 1 / large ? 1 / unit : d > large ? unit : T(1);
}

/// Other rows follow the pivots, by a warp that has 64 of them: the identity's, which become L^-T, and those of R, which
/// become R L^-T.
template <class T>
class Followers {
 public:
  /// L^-T to `inverse`, where the pivot block was, and, transposed, to `transposed`; R L^-T to `solution`, transposed or
  /// not.
  __device__ __forceinline__ static void run(T* inverse, T* transposed, T const* R, T* solution,
                                             bool is_transposed, T const* C) {
    int const i = threadIdx.x % lanes;
    Followers rows;
    T const unit = unit_of_inverse(inverse[i * ld<T> + i]);
    rows.per_unit_ = 1 / unit;
#pragma unroll
    for (int c = 0; c < half; ++c)
      rows.a_[0][c] = c == i ? unit : T(0), rows.a_[1][c] = R[c * ld<T> + i];
    for (int m = 0; m < 2; ++m) rows.now_[m] = rows.a_[m][0];
    rows.C_ = C, rows.inverse_ = inverse + i, rows.transposed_ = transposed + i * ld<T>;
    rows.solution_ = solution + (is_transposed ? i * ld<T> : i),
    rows.step_ = is_transposed ? 1 : ld<T>;
    rows.template eight<32>();
    rows.template eight<24>();
    rows.template eight<16>();
    rows.template eight<8>();
  }

 private:
  template <int left>
  __device__ __forceinline__ void eight() {
    asm volatile("bar.sync %0, 64;" ::"n"((half - left) / 8 + 1) : "memory");
    T const pivot = C_[threadIdx.x % 8 * half], roots = inverse_root(pivot);
    Reciprocal<T> const reciprocals(pivot);
#pragma unroll 1
    for (int j = 0; j < 8; ++j) {
      T s[left];
      read_column(s, C_);
      C_ += half;
      T const root = __shfl_sync(~0u, roots, j);
      Reciprocal<T> const reciprocal = reciprocals.of_lane(j);
      *inverse_ = *transposed_ = now_[0] * root * per_unit_, *solution_ = now_[1] * root;
      inverse_ += ld<T>, ++transposed_, solution_ += step_;
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        T const part = reciprocal.times(now_[m]);
        now_[m] = a_[m][1] - part * s[1];
        move_up(a_[m], s, part);
      }
    }
  }

  T a_[2][half], now_[2], per_unit_;
  T const* C_;
  T *inverse_, *transposed_, *solution_;
  int step_;
};

/// The pivot block's columns of L from those of the elimination, with zeros above the diagonal, both given by their
/// distance from the begin of the shared memory; thread u of `count`.
template <class T>
__device__ __noinline__ void scale_columns(int s_at, int c_at, int u, int count) {
  T *const S = shared<T>() + s_at, *const C = shared<T>() + c_at;
  int const i = u % half;
#pragma unroll 2
  for (int j = u / half; j < half; j += count / half) {
    T const d = C[j * half], r = inverse_root(d);
    T value = C[j * half + ((i - j) & (half - 1))] * r;
    if (i == j)
      value = fma(T(0.5) * r, fma(-value, value, d), value);  // the root, its rounding corrected
    S[j * ld<T> + i] = i < j ? T(0) : value;
  }
}

/// The first of a block's 32 pivots that is no positive finite number, from 1, or 0; all lanes of a warp.
template <class T>
__device__ __forceinline__ int first_bad_pivot(T const* C) {
  T const d = C[threadIdx.x % lanes * half];
  return __ffs(static_cast<int>(__ballot_sync(~0u, !(d > T(0) && isfinite(d)))));
}

}  // namespace strata::vendor::tiles

#endif
#endif
