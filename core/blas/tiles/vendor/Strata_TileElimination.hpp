// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TILE_ELIMINATION_HPP
#define STRATA_TILE_ELIMINATION_HPP

#include <core/kokkos_ext/Strata_Published.hpp>

#include <cstdint>

// What the blocks of `tile_potrf` do in their shared memory; see Strata_TilePotrf.hpp.
#ifdef KOKKOS_ENABLE_CUDA

namespace strata::vendor::tiles {

constexpr int order = 64;  // of a tile
constexpr int half = order / 2, lanes = 32, threads = 256;

/// Numbers from one column of a tile to the next: such that the fragments of matrix units lie in
/// other banks.
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

  __device__ __forceinline__ explicit Reciprocal(T d) {
    constexpr T largest = sizeof(T) == 8 ? T(0x1p1000) : T(0x1p120f);
    constexpr T unit = sizeof(T) == 8 ? T(0x1p512) : T(0x1p64f);
    bool const is_usual = d >= 1 / largest && d <= largest;
    second = is_usual ? T(1) : d < 1 ? unit : 1 / unit;
    first = normal_reciprocal(d * second);
  }
  __device__ __forceinline__ T times(T x) const { return x * second * first; }
};

/// The block's shared memory.
template <class T>
__device__ __forceinline__ T* shared() {
  extern __shared__ __align__(16) unsigned char strata_tiles_shared[];
  return reinterpret_cast<T*>(strata_tiles_shared);
}

template <class T>
using Bits = typename Published<T>::Bits;

/// A number of the workspace is there from now on.
template <class T>
__device__ __forceinline__ void hand_on(T value, T* to) {
  Published<T>{reinterpret_cast<Bits<T>*>(to)}.write(0, value);
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

/// How many groups of eight columns of a tile are eliminated: one warp tells this number, others
/// wait. Phase k of each `mbarrier` belongs to tile k.
class Progress {
 public:
  static constexpr int eighths = 2 * half / 8;

  __device__ __forceinline__ static void begin() {
    if (threadIdx.x < eighths)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(threadIdx.x)) : "memory");
  }
  /// Tells that an eighth is done. All lanes of a warp call it.
  __device__ __forceinline__ static void tell(int eighth) {
    __syncwarp();
    if (threadIdx.x % lanes == 0)
      asm volatile(
          "{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(address(eighth))
          : "memory");
  }
  __device__ __forceinline__ static void wait(int eighth, int turn) {
    unsigned done;
    do {
      asm volatile(
          "{ .reg .pred done; mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2; selp.u32 "
          "%0, 1, 0, done; }"
          : "=r"(done)
          : "r"(address(eighth)), "r"(turn % 2)
          : "memory");
    } while (done == 0);
  }

 private:
  __device__ __forceinline__ static unsigned address(int eighth) {
    __shared__ unsigned long long barriers[eighths];
    return static_cast<unsigned>(__cvta_generic_to_shared(barriers + eighth));
  }
};

/// Eliminates a pivot block of 32 x 32 by one warp, where each lane has a row. Column j of the
/// elimination goes to C + 32 j, not divided by the root of its pivot. What lies above the diagonal
/// means nothing.
///
/// All else waits for this. So it is one piece of code without loops. The work of a column is done
/// while the next column and its pivot are on their way.
template <class T>
__device__ __noinline__ void eliminate_block(int s_at, int c_at, int first_eighth) {
  int const i = threadIdx.x % lanes;
  T const* const S = shared<T>() + s_at + i;
  T* const C = shared<T>() + c_at;
  T a[half], s[half];
#pragma unroll
  for (int c = 0; c < half; ++c) a[c] = S[c * ld<T>];
  C[i] = a[0];
  T pivot = __shfl_sync(~0u, a[0], 0);
  __syncwarp();
  read_column(s, C);
#pragma unroll
  for (int j = 0; j + 1 < half; ++j) {
    T const part = Reciprocal<T>(pivot).times(a[j]);
    a[j + 1] -= part * s[j + 1];
    T* const next = C + (j + 1) * half;
    next[i] = a[j + 1];
    pivot = __shfl_sync(~0u, a[j + 1], j + 1);
    __syncwarp();
    T of_next[half];
#pragma unroll
    for (int c = (j + 2) / 4 * 4; c < half; c += 4) read(of_next + c, next + c);
#pragma unroll
    for (int c = j + 2; c < half; ++c) a[c] -= part * s[c];
#pragma unroll
    for (int c = j + 2; c < half; ++c) s[c] = of_next[c];
    if (j % 8 == 6) Progress::tell(first_eighth + j / 8);
  }
}

/// A power of two in whose units a row of L^-1 is found. It is needed as 1 / d may overflow for d,
/// what is left there of A's diagonal.
template <class T>
__device__ __forceinline__ T unit_of_inverse(T d) {
  constexpr T large = sizeof(T) == 8 ? T(0x1p600) : T(0x1p80f);
  constexpr T unit = sizeof(T) == 8 ? T(0x1p512) : T(0x1p64f);
  return d < 1 / large ? 1 / unit : d > large ? unit : T(1);
}

/// Other rows follow the pivots, a row a lane: R becomes X = R L^-T, of 32 columns.
template <class T>
class Followers {
 public:
  /// The places from which a lane's row comes and to which it goes. They are distances in the
  /// shared memory (`to` < 0: not there), and a tile of the workspace, where the row is `factor` X.
  struct Row {
    int from, to;
    T* tile;
    T factor;
  };

  /// The elimination, at C in the shared memory, is done or goes on.
  __device__ __noinline__ static void run(Row row, int c_at, int first_eighth, int turn) {
    Followers f(row, c_at, first_eighth, turn);
    f.template eight<0>();
    f.template eight<1>();
    f.template eight<2>();
    f.template eight<3>();
  }

 private:
  __device__ __forceinline__ Followers(Row const& row, int c_at, int eighth, int turn)
      : c_at_(c_at), eighth_(eighth), turn_(turn), row_(row) {
#pragma unroll
    for (int c = 0; c < half; ++c) a_[c] = shared<T>()[row.from + c * ld<T>];
  }

  /// What column j has below its diagonal.
  template <int first>
  __device__ __forceinline__ void read_below(T (&s)[half], int j) const {
#pragma unroll
    for (int c = first; c < half; c += 4)
      if (c + 3 > j) read(s + c, shared<T>() + c_at_ + j * half + c);
  }

  template <int e>
  __device__ __forceinline__ void eight() {
    Progress::wait(eighth_ + e, turn_);
    T const roots =
        inverse_root(shared<T>()[c_at_ + (8 * e + static_cast<int>(threadIdx.x % 8)) * (half + 1)]);
    T s[half];
    read_below<8 * e>(s, 8 * e);
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      int const j = 8 * e + k;
      T next[half] = {};
      if (k < 7) read_below<8 * e>(next, j + 1);  // before anything is stored
      T const root = __shfl_sync(~0u, roots, k), x = a_[j] * root, part = x * root,
              value = x * row_.factor;
#pragma unroll
      for (int c = j + 1; c < half; ++c) a_[c] -= part * s[c];
      if (row_.to >= 0) shared<T>()[row_.to + j * ld<T>] = value;
      hand_on(value, row_.tile + j * order);
#pragma unroll
      for (int c = j + 2; c < half; ++c) s[c] = next[c];
    }
  }

  T a_[half];
  int c_at_, eighth_, turn_;
  Row row_;
};

/// Writes the pivot block's columns of L to a tile of the workspace, with zeros above the diagonal.
/// A warp makes them from the columns of the elimination.
template <class T>
__device__ __noinline__ void hand_on_pivots(int c_at, T* tile) {
  int const i = threadIdx.x % lanes;
  T const* const C = shared<T>() + c_at + i;
  T const d = C[i * half], own_root = inverse_root(d), rounded = d * own_root;
  T const on_diagonal =
      fma(T(0.5) * own_root, fma(-rounded, rounded, d), rounded);  // the root, corrected
#pragma unroll 1
  for (int first = 0; first < half; first += 8) {
    T values[8];
#pragma unroll
    for (int m = 0; m < 8; ++m) values[m] = C[(first + m) * half];
#pragma unroll
    for (int m = 0; m < 8; ++m) {
      int const j = first + m;
      T const below = values[m] * __shfl_sync(~0u, own_root, j);
      hand_on(i < j ? T(0) : i == j ? on_diagonal : below, tile + j * order + i);
    }
  }
}

/// The first of a block's 32 pivots that is no positive finite number, from 1, or 0; all lanes of a
/// warp.
template <class T>
__device__ __forceinline__ int first_bad_pivot(T const* C) {
  T const d = C[threadIdx.x % lanes * (half + 1)];
  return __ffs(static_cast<int>(__ballot_sync(~0u, !(d > T(0) && isfinite(d)))));
}

}  // namespace strata::vendor::tiles

#endif
#endif
