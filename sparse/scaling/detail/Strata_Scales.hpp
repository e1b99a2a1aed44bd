// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_SCALES_HPP
#define STRATA_SPARSE_DETAIL_SCALES_HPP

#include <sparse/matrix/Strata_DistributedMatrix.hpp>

namespace strata::sparse::detail {

/// Powers of two by which the rows and columns of a matrix are multiplied, so that its numbers are
/// near 1: diag(left) A diag(right), without a rounding error.
template <class Exec>
struct Scales {
  using Wide = Vector<double, typename Exec::memory_space>;
  /// scales in the matrix' order, `right` with its halo filled; no entries: all are 1
  Wide left, right;
  int apart = 0;  ///< powers of two from the least to the largest of `right`

  /// Whether one is not 1.
  bool any() const { return left.extent(0) > 0; }
};

/// Which numbers are to be near 1.
enum class ScaleBy {
  Diagonal,  ///< the diagonal: both sides get the same, which keeps a symmetric matrix symmetric
  /// The best of three kinds of scales. One kind is by the diagonal. One is by the largest of each
  /// row, then of each column among the rows of its own rank. One is by columns before rows. The
  /// sum of the squares of the scaled entries' logarithms decides.
  Evenness,
};

/// Those of A, or none where its numbers are near enough to 1 and to each other. Collective;
/// fences.
///
/// Result   none unless two scales of a side are 2^5 or more apart, or one is beyond 2^-32 to 2^32:
///          of Diagonal where entries of the diagonal are 2^10 apart.
/// Throws   MemoryError on all ranks.
///
/// `d`: A's diagonal.
template <class Exec>
Scales<Exec> find_scales(Exec const& exec, DistributedMatrix<Exec> const& A, ScaleBy by,
                         Vector<double, typename Exec::memory_space> const& d);

/// max_i w_i sum_j |a_ij| over all ranks; w without entries: 1. Collective; fences.
template <class Exec>
double weighted_norm(Exec const& exec, DistributedMatrix<Exec> const& A,
                     Vector<double, typename Exec::memory_space> const& w);

/// y_i = x_i a_i 2^exponent (of Inverse x_i / a_i 2^exponent), a_i a power of two: exact unless the
/// result over- or underflows. Enqueued on `exec`.
enum class Power { Itself, Inverse };
template <class Exec>
void multiply_by_powers(Exec const& exec, Vector<double, typename Exec::memory_space> const& a,
                        Power power, int exponent,
                        Vector<double, typename Exec::memory_space> const& x,
                        Vector<double, typename Exec::memory_space> const& y, std::int64_t rows);

}  // namespace strata::sparse::detail

#endif
