// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_HASH_PRODUCT_HPP
#define STRATA_SPARSE_DETAIL_HASH_PRODUCT_HPP

#include <sparse/formats/detail/Strata_LocalCsr.hpp>

namespace strata::sparse::detail {

/// The transpose of a matrix as an index: row j has the entries of column j, rows ascending. It
/// outlives other values.
template <class Exec>
struct TransposedIndex {
  std::int64_t rows = 0;
  PooledVector<std::int64_t, Exec> begin;  ///< begin of each row, and the end
  /// The place of each entry: the matrix' row in the upper half, the position within that row in
  /// the lower.
  PooledVector<std::uint64_t, Exec> place;
};

/// Fences. Throws MemoryError.
template <class Exec>
TransposedIndex<Exec> transposed_index(Exec const& exec, LocalCsr<Exec> const& A);

/// The rows of A' as kernels see them (row source).
template <class Space>
struct TransposedRows {
  Vector<std::int64_t, Space> begin;
  Vector<std::uint64_t, Space> place;
  CsrRef<Space> A;

  KOKKOS_FUNCTION Entry entry(std::int64_t k) const {
    auto const of = static_cast<std::int32_t>(place(k) >> 32);
    return {of, A.value(A.begin(of) + static_cast<std::int64_t>(place(k) & 0xffffffffu))};
  }
  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Emit const& emit) const {
    for (std::int64_t k = begin(row); k < begin(row + 1); ++k) {
      Entry const found = entry(k);
      emit(std::int64_t{found.column}, found.value);
    }
  }
};

/// A B by hashing, columns ascending; each entry is summed in the order of A's entries, so that its
/// error is at most (products + 1) u |A| |B|. A row of B has a column once. Fences.
///
/// Throws   ShapeError where A's columns are not B's rows; MemoryError.
/// Source   Y. Nagasaka, A. Azad, S. Matsuoka, A. Buluc, Performance optimization, modeling and
///          analysis of sparse matrix-matrix products on multi-core and many-core processors,
///          Parallel Computing 90, 2019, doi:10.1016/j.parco.2019.102545; deviation: lanes take a
///          row of B, and nothing is added atomically.
template <class Exec>
LocalCsr<Exec> product(Exec const& exec, LocalCsr<Exec> const& A, LocalCsr<Exec> const& B);
/// A' B, A' by its index; the same of rows of A'.
template <class Exec>
LocalCsr<Exec> product(Exec const& exec, TransposedIndex<Exec> const& index,
                       LocalCsr<Exec> const& A, LocalCsr<Exec> const& B);

/// C = A B, or A' B, anew: its values in the pattern that `product` has given it, the same bits as
/// that would. Fences. Throws MemoryError.
template <class Exec>
void refill_product(Exec const& exec, LocalCsr<Exec> const& A, LocalCsr<Exec> const& B,
                    LocalCsr<Exec> const& C);
template <class Exec>
void refill_product(Exec const& exec, TransposedIndex<Exec> const& index, LocalCsr<Exec> const& A,
                    LocalCsr<Exec> const& B, LocalCsr<Exec> const& C);

}  // namespace strata::sparse::detail

#endif
