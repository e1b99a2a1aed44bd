// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_DIAGONAL_SCALES_HPP
#define STRATA_SPARSE_DETAIL_DIAGONAL_SCALES_HPP

#include <sparse/formats/detail/Strata_Extents.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>
#include <sparse/scaling/detail/Strata_PowersOfTwo.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::sparse::detail {

/// Throws   ValueError on all ranks, with the row, where a diagonal entry is 0 or missing.
///          Collective; fences.
template <class Exec>
void require_diagonal(Exec const& exec, DistributedMatrix<Exec> const& A,
                      Vector<double, typename Exec::memory_space> const& d) {
  auto const kind = kind_of_diagonal(exec, A, d);
  A.comm().agree([&] {
    STRATA_REQUIRE(ValueError, kind.zero == 0, "Gauss-Seidel: ", kind.zero,
                   " diagonal entries are 0 or missing; the first row that is not positive is ",
                   kind.first + 1, " of ", A.global_rows());
  });
}

/// d_i = 2^-k with 2^2k near |a_ii|, and its inverse: products with them are exact. Enqueued on
/// `exec`.
template <class Exec>
void find_power_scales(Exec const& exec,
                       Vector<double, typename Exec::memory_space> const& diagonal,
                       std::int64_t rows, Vector<double, typename Exec::memory_space> const& d,
                       Vector<double, typename Exec::memory_space> const& inverse) {
  Kokkos::parallel_for(
      "strata::sparse::find_power_scales", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        int const k = rounded_log2_of_root(diagonal(i));
        bool const usable = k > -500 && k < 500;
        d(i) = usable ? power_of_two(-k) : 1;
        inverse(i) = usable ? power_of_two(k) : 1;
      });
}

/// y_i = a_i x_i in Y's type. Enqueued on `exec`. Throws ShapeError for vectors of fewer rows.
template <class Exec, class A, class X, class Y>
void scale_by(Exec const& exec, A const& a, X const& x, Y const& y, std::int64_t rows) {
  using Scalar = typename Y::non_const_value_type;
  require_entries("preconditioner", "r", x, rows);
  require_entries("preconditioner", "z", y, rows);
  Kokkos::parallel_for(
      "strata::sparse::scale_by", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        y(i) = static_cast<LaneOf<Scalar>>(a(i)) * static_cast<Scalar>(x(i));
      });
}

/// y_i = a_i x_j, j = row(i), in Y's type, for vectors of another order. Enqueued on `exec`. Throws
/// as `scale_by`.
template <class Exec, class Rows, class A, class X, class Y>
void gather_scaled(Exec const& exec, Rows const& row, A const& a, X const& x, Y const& y) {
  using Scalar = typename Y::non_const_value_type;
  auto const rows = static_cast<std::int64_t>(row.extent(0));
  require_entries("preconditioner", "r", x, rows);
  Kokkos::parallel_for(
      "strata::sparse::gather_scaled", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        y(i) = static_cast<LaneOf<Scalar>>(a(i)) * static_cast<Scalar>(x(row(i)));
      });
}

/// y_j = a_i x_i, j = row(i): back.
template <class Exec, class Rows, class A, class X, class Y>
void scatter_scaled(Exec const& exec, Rows const& row, A const& a, X const& x, Y const& y) {
  using Scalar = typename Y::non_const_value_type;
  auto const rows = static_cast<std::int64_t>(row.extent(0));
  require_entries("preconditioner", "z", y, rows);
  Kokkos::parallel_for(
      "strata::sparse::scatter_scaled", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        y(row(i)) = static_cast<LaneOf<Scalar>>(a(i)) * static_cast<Scalar>(x(i));
      });
}

}  // namespace strata::sparse::detail

#endif
