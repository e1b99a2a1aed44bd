// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_COLUMN_MAJOR_HPP
#define STRATA_DETAIL_COLUMN_MAJOR_HPP

#include <core/Strata_Errors.hpp>
#include <core/Strata_MatrixRef.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::dense::detail {

/// A View as a column-major matrix: itself, or its transpose if its columns are contiguous instead.
template <class MemorySpace, class Data>
struct ColumnMajor {
  MatrixRef<MemorySpace, Data> matrix;
  bool transposed = false;

  Uplo of(Uplo uplo) const { return transposed ? strata::transposed(uplo) : uplo; }
  Op of(Op op) const { return transposed ? strata::transposed(op) : op; }
  Side of(Side side) const { return transposed ? strata::transposed(side) : side; }
};

template <class ExecutionSpace, class ViewType>
auto column_major(ViewType const& A) {
  static_assert(ViewType::rank() == 2, "a matrix is a View of rank 2");
  static_assert(
      Kokkos::SpaceAccessibility<ExecutionSpace, typename ViewType::memory_space>::accessible,
      "the execution space cannot access the View's memory");
  using Scalar = typename ViewType::value_type;
  using Data = ConstLike<void, Scalar>;
  auto const rows = static_cast<std::int64_t>(A.extent(0)),
             cols = static_cast<std::int64_t>(A.extent(1));
  auto const row_stride = static_cast<std::int64_t>(A.stride(0)),
             col_stride = static_cast<std::int64_t>(A.stride(1));
  bool const left = row_stride == 1 || rows <= 1, right = col_stride == 1 || cols <= 1;
  STRATA_REQUIRE(ShapeError, left || right, "a ", rows, " x ", cols, " View with strides ",
                 row_stride, " and ", col_stride, ": one of them must be 1");
  bool const direct = left && (col_stride >= rows || cols <= 1);
  std::int64_t const m = direct ? rows : cols, n = direct ? cols : rows;
  std::int64_t const stride = direct ? col_stride : row_stride, least = m > 1 ? m : 1;
  std::int64_t const ld = n > 1 && stride > least ? stride : least;
  return ColumnMajor<typename ExecutionSpace::memory_space, Data>{
      {A.data(), m, n, ld, precision_of<Scalar>, nullptr}, !direct};
}

}  // namespace strata::dense::detail

#endif
