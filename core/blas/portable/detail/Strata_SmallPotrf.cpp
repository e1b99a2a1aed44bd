// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/portable/detail/Strata_SmallPotrf.hpp>

#include <core/Strata_Backends.hpp>
#include <core/kokkos_ext/Strata_HostVectors.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace strata::detail {
namespace {

// Above it libraries, with all their threads, are as fast. With vectors of 32 bytes they are from
// 400 on, within a few percent.
constexpr std::int64_t most_rows = 512;

// Vectors of rows at a time: with three of 32 bytes clang does not keep all sums in the sixteen
// registers.
#ifdef __clang__
constexpr int deep_of_32 = 2;
#else
constexpr int deep_of_32 = 3;
#endif
constexpr std::int64_t room = 40;  // rows and columns that the widest vectors need beyond the order

// Unrolled loops are those whose vectors are to stay in registers.

/// The factorisation of a copy of A. The copy's order is a multiple of `width`. Its columns have so
/// much room below and between them that whole vectors can be read and written anywhere.
template <class T, int bytes>
struct SmallFactor {
  static constexpr std::int64_t lanes = bytes / static_cast<std::int64_t>(sizeof(T));
  static constexpr int width = bytes / 8;                    // of a block of columns
  static constexpr int deep = bytes == 32 ? deep_of_32 : 3;  // vectors of rows at a time
  typedef T Vector __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias));

  T* l;
  std::int64_t n, ld;

  static constexpr std::int64_t padded(std::int64_t n) { return (n + width - 1) / width * width; }
  /// Not a multiple of 2048 bytes: where columns have the same last bits of addresses, a processor
  /// takes what is read of one for what was just written of another. Orders from 497 to 504 took
  /// 7 % longer.
  static constexpr std::int64_t stride(std::int64_t n) {
    std::int64_t const least = padded(n) + lanes, period = 2048 / std::int64_t(sizeof(T));
    return least % period == 0 ? least + lanes : least;
  }

  STRATA_INLINE Vector& at(std::int64_t i, std::int64_t j) const {
    return *reinterpret_cast<Vector*>(l + i + j * ld);
  }

  /// x = A - L L^T for R vectors of rows from i on of the block of columns from j on, by the
  /// columns before j. Sums begin at 0, for their terms may be lost beside a large diagonal. The
  /// first eight terms, the terms up to 64, and the rest have a sum each. In one sum, where the
  /// first columns are large, as in a covariance, later terms would be lost beside them, all to one
  /// side.
  template <int R>
  STRATA_INLINE void subtract(std::int64_t i, std::int64_t j, Vector (&x)[width][R]) const {
    constexpr std::int64_t first_terms = 8;
    for (std::int64_t begin = 0, end = std::min(first_terms, j);; end = std::min(8 * end, j)) {
      for (int c = 0; c < width; ++c)
        for (int r = 0; r < R; ++r) x[c][r] = Vector{};
      for (std::int64_t k = begin; k < end; ++k) {
        T const* const column = l + k * ld;
        Vector rows[R];
        for (int r = 0; r < R; ++r) rows[r] = at(i + r * lanes, k);
        STRATA_UNROLL_HOST(8)
        for (int c = 0; c < width; ++c) {
          STRATA_UNROLL_HOST(8)
          for (int r = 0; r < R; ++r) x[c][r] += rows[r] * column[j + c];
        }
      }
      for (int c = 0; c < width; ++c)
        for (int r = 0; r < R; ++r) x[c][r] = at(i + r * lanes, j + c) - x[c][r];
      if (end == j) return;
      store(i, j, x);
      begin = end;
    }
  }

  template <int R>
  STRATA_INLINE void store(std::int64_t i, std::int64_t j, Vector const (&x)[width][R]) const {
    for (int c = 0; c < width; ++c)
      for (int r = 0; r < R; ++r) at(i + r * lanes, j + c) = x[c][r];
  }

  /// The first vector of rows of a block of columns, which holds the diagonal; `inverse` becomes 1
  /// / diag(L). Returns how many columns come before the first whose pivot is not a positive finite
  /// number.
  STRATA_INLINE int diagonal(std::int64_t j, T* inverse) const {
    Vector x[width][1];
    subtract(j, j, x);
    int c = 0;
    STRATA_UNROLL_HOST(8)
    for (; c < width; ++c) {
      T const pivot = x[c][0][c];
      if (!(pivot > 0 && pivot <= std::numeric_limits<T>::max())) break;
      T const root = std::sqrt(pivot);
      inverse[c] = 1 / root;
      x[c][0] *= inverse[c];
      x[c][0][c] = root;
      STRATA_UNROLL_HOST(8)
      for (int other = c + 1; other < width; ++other) x[other][0] -= x[c][0] * x[c][0][other];
    }
    store(j, j, x);
    return c;
  }

  /// R vectors of rows below it.
  template <int R>
  STRATA_INLINE void below(std::int64_t i, std::int64_t j, T const* inverse) const {
    Vector x[width][R];
    subtract(i, j, x);
    STRATA_UNROLL_HOST(8)
    for (int c = 0; c < width; ++c) {
      STRATA_UNROLL_HOST(8)
      for (int r = 0; r < R; ++r) x[c][r] *= inverse[c];
      STRATA_UNROLL_HOST(8)
      for (int other = c + 1; other < width; ++other) {
        STRATA_UNROLL_HOST(8)
        for (int r = 0; r < R; ++r) x[other][r] -= x[c][r] * l[j + other + (j + c) * ld];
      }
    }
    store(i, j, x);
  }

  /// The order of the first minor that is not positive, or 0.
  STRATA_INLINE std::int64_t operator()() const {
    for (std::int64_t j = 0; j < n; j += width) {
      T inverse[width];
      int const good = diagonal(j, inverse);
      if (good < width) return j + good + 1;
      std::int64_t i = j + lanes;
      for (; i + (deep - 1) * lanes < n; i += deep * lanes) below<deep>(i, j, inverse);
      if (i + lanes < n) {
        below<2>(i, j, inverse);
      } else if (i < n) {
        below<1>(i, j, inverse);
      }
    }
    return 0;
  }

  /// By whole vectors, the last two of which may overlap: columns are too short for a call of the C
  /// library each.
  STRATA_INLINE static void copy(T const* from, std::int64_t count, T* to) {
    if (count < lanes) {
      std::copy_n(from, count, to);
      return;
    }
    auto const copy_vector = [&](std::int64_t i) STRATA_INLINE_LAMBDA {
      *reinterpret_cast<Vector*>(to + i) = *reinterpret_cast<Vector const*>(from + i);
    };
    for (std::int64_t i = 0; i + lanes < count; i += lanes) copy_vector(i);
    copy_vector(count - lanes);
  }

  /// The lower triangle of A, 1 on the rest of the diagonal and 0 beyond it; above the diagonal, 0
  /// in its blocks of `width`.
  STRATA_INLINE void load(T const* a, std::int64_t order, std::int64_t lda) const {
    for (std::int64_t j = 0; j < n; ++j) {
      T* const column = l + j * ld;
      at(j - j % width, j) = Vector{};
      if (j < order) copy(a + j + j * lda, order - j, column + j);
      at(order, j) = at(n, j) = Vector{};
      if (j >= order) column[j] = 1;
    }
  }
  STRATA_INLINE void unload(T* a, std::int64_t order, std::int64_t lda) const {
    for (std::int64_t j = 0; j < order; ++j) copy(l + j + j * ld, order - j, a + j + j * lda);
  }
};

/// A, and room for its copy.
template <class T>
struct Task {
  T* a;
  std::int64_t n, ld;
  T* copy;
};

template <class T, int bytes>
STRATA_INLINE std::int64_t factor(Task<T> const& task) {
  using Kernel = SmallFactor<T, bytes>;
  Kernel const kernel{task.copy, Kernel::padded(task.n), Kernel::stride(task.n)};
  kernel.load(task.a, task.n, task.ld);
  std::int64_t const order = kernel();
  kernel.unload(task.a, task.n, task.ld);
  return order;
}

template <class T>
STRATA_VECTORS_OF_32 std::int64_t factor_32(Task<T> const& task) {
  return factor<T, 32>(task);
}
template <class T>
STRATA_VECTORS_OF_64 std::int64_t factor_64(Task<T> const& task) {
  return factor<T, 64>(task);
}

}  // namespace

template <class Exec>
bool small_potrf(Exec const&, Workspace<Exec>& workspace,
                 MatrixRef<typename Exec::memory_space> const& A, std::int64_t offset,
                 Kokkos::View<std::int64_t, typename Exec::memory_space> const& info,
                 int most_bytes) {
  if constexpr (!runs_on_host<Exec>) {
    return false;
  } else {
    int const bytes = host_vector_bytes(most_bytes);
    bool const is_plain = A.precision == Precision::fp64 || A.precision == Precision::fp32;
    if (!is_plain || A.scale != nullptr || bytes < 32 || A.rows > most_rows) return false;
    using Frame = typename Workspace<Exec>::Frame;
    std::int64_t const rows = A.rows + room, cols = A.rows + room;
    Frame frame(workspace, Workspace<Exec>::bytes(A.precision, rows, cols));
    auto const copy = frame.take(A.precision, rows, cols);
    return with_arithmetic_type(A.precision, [&]<class T>(std::type_identity<T>) {
      Kokkos::Profiling::ScopedRegion const region("strata::core::potrf[small]");
      Task<T> const task{A.template as<T>(), A.rows, A.ld, copy.template as<T>()};
      std::int64_t const order = bytes >= 64 ? factor_64(task) : factor_32(task);
      if (info() == 0 && order > 0) info() = offset + order;
      return true;
    });
  }
}

#define STRATA_INSTANTIATE(Exec)                                                      \
  template bool small_potrf<Exec>(Exec const&, Workspace<Exec>&,                      \
                                  MatrixRef<Exec::memory_space> const&, std::int64_t, \
                                  Kokkos::View<std::int64_t, Exec::memory_space> const&, int);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::detail
