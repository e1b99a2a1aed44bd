// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_HOST_LU_HPP
#define STRATA_SPARSE_DETAIL_HOST_LU_HPP

#include <sparse/products/detail/Strata_HostCsr.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace strata::sparse::detail {

/// What factors may take.
struct FactorLimits {
  double entries = 1e9;  ///< entries of L and U together
  double flops = 1e13;   ///< flops of a factorisation, where they are known before
};

/// Factors of a matrix whose rows and columns are permuted: A(row(i), column(j)) = (L D U)(i, j), L
/// and U with unit diagonals.
struct HostLu {
  std::vector<std::int32_t> row, column;  ///< row and column of each pivot
  HostCsr L, U;                           ///< columns of the strict triangles
  std::vector<double> inverse;            ///< inverses of D's entries
  std::int64_t replaced = 0;              ///< pivots that were too small
  bool is_symmetric = false;              ///< U = L' is not stored

  std::int64_t entries() const { return L.entries() + U.entries() + L.rows(); }
  /// x = A^-1 b; `work` of as many entries. x may be b.
  void solve(double const* b, double* x, std::vector<double>& work) const;
};

/// The entries of the factors of a symmetric matrix, diagonal included, and the operations that
/// make them.
struct FactorSize {
  double entries = 0, flops = 0;
};

/// L D L' of a symmetric positive definite A in this order; none where a pivot is not above 1e-14
/// of the diagonal entry.
///
/// Throws   MemoryError, with the entries, beyond `limits`.
/// Source   T. Davis, Algorithm 849: a concise sparse Cholesky factorization package, ACM TOMS
///          31(4), 2005, doi:10.1145/1114268.1114277: rows of L by sparse triangular solves,
///          patterns by the elimination tree.
std::optional<HostLu> factor_symmetric(HostCsr const& A, std::vector<std::int32_t> const& order,
                                       FactorLimits const& limits);
/// Size of the factor in that order.
FactorSize size_of_factor(HostCsr const& A, std::vector<std::int32_t> const& order);

/// L D U of any A, columns in this order, rows by pivots: the diagonal entry where it is at least a
/// thousandth of the column's largest, else that one.
///
/// A column without a pivot above 1e-14 of A's largest entry there gets 1e-7 of that, counted.
/// Throws   MemoryError, with the entries, beyond `limits`.
/// Source   J. Gilbert, T. Peierls, Sparse partial pivoting in time proportional to arithmetic
///          operations, SISSC 9(5), 1988, doi:10.1137/0909058.
HostLu factor_general(HostCsr const& A, std::vector<std::int32_t> const& order,
                      FactorLimits const& limits);

}  // namespace strata::sparse::detail

#endif
