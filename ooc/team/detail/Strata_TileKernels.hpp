// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TEAM_DETAIL_TILE_KERNELS_HPP
#define STRATA_OOC_TEAM_DETAIL_TILE_KERNELS_HPP

#include <core/blas/Strata_LeafBlas.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>

// Element by element, what the executor and the tile matrix do to one tile; enqueued.
namespace strata::ooc::detail {

/// What one look at a tile tells, in device memory.
struct TileMeasure {
  double largest;   ///< largest magnitude; NaN is not counted
  double square;    ///< sum of squares
  double absolute;  ///< sum of magnitudes
  double trace;     ///< sum of the diagonal
  /// A hash of the bits of its numbers and of their places: a sum modulo 2^64, which no order
  /// changes.
  std::uint64_t digest;
};

/// The digest of one number at a position. It is the last step of splitmix64, a bijection that
/// turns one changed bit into a change of any bit with probability 1/2.
///
/// Source   Steele, Lea and Flood, Fast splittable pseudorandom number generators, OOPSLA 2014,
///          doi:10.1145/2660193.2660195, with Stafford's constants (variant 13).
KOKKOS_INLINE_FUNCTION std::uint64_t digest_of(std::uint64_t bits, std::uint64_t position) {
  std::uint64_t z = bits + (position + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}
KOKKOS_INLINE_FUNCTION std::uint64_t digest_of(double x, std::int64_t i, std::int64_t j) {
  return digest_of(Kokkos::bit_cast<std::uint64_t>(x),
                   static_cast<std::uint64_t>(j) << 32 | static_cast<std::uint64_t>(i));
}

/// Makes measures on one instance, in an order that depends on the shape alone.
template <class ExecutionSpace>
class TileMeter {
 public:
  using ConstMatrix = ConstMatrixRef<typename ExecutionSpace::memory_space>;

  /// Measures tiles of at most so many columns.
  TileMeter(ExecutionSpace const& exec, std::int64_t columns);

  /// *measure = of A, or of the symmetric matrix whose lower triangle A holds.
  void operator()(ConstMatrix const& A, bool symmetric, TileMeasure* measure) const;

  /// Sums of magnitudes of the tile that was measured last, fp64: rows[i] += its row sums, and
  /// columns[j] = its column sums. For a symmetric tile, with rows == columns, the column sums
  /// count only what is below the diagonal, and are added.
  void add_absolute_sums(ConstMatrix const& A, double* rows, double* columns);

 private:
  static constexpr std::int64_t slabs = 16;  ///< slabs of columns in which row sums are made

  ExecutionSpace exec_;
  Kokkos::View<double*, typename ExecutionSpace::memory_space> rows_;  // slab by slab
  Kokkos::View<TileMeasure*, typename ExecutionSpace::memory_space> columns_;
};

/// y, m x cols, += terms of this shape that begin `apart` numbers behind each other, one after the
/// other.
template <class ExecutionSpace>
void add_in_order(ExecutionSpace const& exec, std::int64_t m, std::int64_t cols,
                  double const* first, std::int64_t terms, std::int64_t apart, double* y);

/// What lies behind the numbers of a stored tile.
enum TrailerField : std::uint8_t { ScaleField, SquareField, LargestField };

/// trailer = {block_scale(precision, largest), square, largest} of a tile that is stored in
/// `precision`.
template <class ExecutionSpace>
void write_trailer(ExecutionSpace const& exec, Precision precision, TileMeasure const* measure,
                   double* trailer);

/// The same of a copy of a stored tile in another precision. Rounding is monotonic, so the copy of
/// a rounded tile is in range as well.
template <class ExecutionSpace>
void copy_trailer(ExecutionSpace const& exec, Precision precision, double const* source,
                  double* trailer);

/// A(i, j) *= d(row + i) d(col + j); an empty d is the identity.
template <class ExecutionSpace>
void scale_tile(ExecutionSpace const& exec,
                Kokkos::View<double const*, typename ExecutionSpace::memory_space> const& d,
                std::int64_t row, std::int64_t col,
                MatrixRef<typename ExecutionSpace::memory_space> const& A);

/// The largest of values that are not negative; infinite where one is NaN. Fences.
template <class ExecutionSpace>
double largest(ExecutionSpace const& exec,
               Kokkos::View<double*, typename ExecutionSpace::memory_space> const& values);

/// The power of two next to a^-1/2, so that d^2 a lies in [1/2, 2]; 1 where a has no root.
inline double balance(double a) {
  if (!(a > 0) || !std::isfinite(a)) return 1;
  int exponent = 0;
  (void)std::frexp(a, &exponent);  // a in [2^(e-1), 2^e)
  return std::ldexp(1.0, -(exponent >= 0 ? exponent / 2 : (exponent - 1) / 2));
}

/// diagonal(row + i) = A(i, i).
template <class ExecutionSpace>
void read_diagonal(ExecutionSpace const& exec, std::int64_t row,
                   ConstMatrixRef<typename ExecutionSpace::memory_space> const& A,
                   Kokkos::View<double*, typename ExecutionSpace::memory_space> const& diagonal);

}  // namespace strata::ooc::detail

#endif
