// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_STRIDED_MATRIX_HPP
#define STRATA_STRIDED_MATRIX_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace strata::dense {

/// A matrix of any layout: element (i, j) is data[i * row_stride + j * col_stride].
template <class Scalar>
struct StridedMatrix {
  Scalar* data = nullptr;  ///< element (0, 0)
  /// Its shape, and elements from a row or a column to the next.
  std::int64_t rows = 0, cols = 0, row_stride = 1, col_stride = 1;

  /// The same, to be read. A template, as nvcc warns of a conversion of a class to itself.
  template <class Other>
    requires(std::is_same_v<Other, Scalar const> && !std::is_const_v<Scalar>)
  operator StridedMatrix<Other>() const {
    return {data, rows, cols, row_stride, col_stride};
  }
  /// Element (i, j).
  KOKKOS_FUNCTION Scalar& operator()(std::int64_t i, std::int64_t j) const {
    return data[i * row_stride + j * col_stride];
  }
};

/// Whether an element of A and one of B may be the same. They may if a line of A, a row or a column
/// by the smaller stride, overlaps a line of B. Lines of one may lie between lines of the other.
bool share_memory(StridedMatrix<double const> const& A, StridedMatrix<double const> const& B);
/// Whether two lines of A overlap, as where a stride is 0.
bool overlaps_itself(StridedMatrix<double const> const& A);

/// A View of rank 1 (one column) or 2 as a strided matrix; what it can't be is said by the
/// compiler.
template <class ExecutionSpace, class Scalar, class ViewType>
StridedMatrix<Scalar> strided_matrix(ViewType const& A) {
  static_assert(ViewType::rank() == 1 || ViewType::rank() == 2,
                "a matrix is a View of rank 1 or 2");
  static_assert(
      std::is_same_v<typename ViewType::non_const_value_type, std::remove_const_t<Scalar>>,
      "right-hand sides and solutions are Views of double");
  static_assert(std::is_const_v<Scalar> || !std::is_const_v<typename ViewType::value_type>,
                "the solution is written: its View must not be const");
  static_assert(
      Kokkos::SpaceAccessibility<ExecutionSpace, typename ViewType::memory_space>::accessible,
      "the execution space cannot access the View's memory");
  auto const rows = static_cast<std::int64_t>(A.extent(0)),
             row_stride = static_cast<std::int64_t>(A.stride(0));
  if constexpr (ViewType::rank() == 1) {
    return {A.data(), rows, 1, row_stride, 0};
  } else {
    return {A.data(), rows, static_cast<std::int64_t>(A.extent(1)), row_stride,
            static_cast<std::int64_t>(A.stride(1))};
  }
}

}  // namespace strata::dense

#endif
