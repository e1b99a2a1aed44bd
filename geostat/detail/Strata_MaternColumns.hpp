// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MATERN_COLUMNS_HPP
#define STRATA_MATERN_COLUMNS_HPP

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <geostat/Strata_Locations.hpp>
#include <geostat/model/Strata_Family.hpp>
#include <geostat/model/detail/Strata_MaternTable.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace strata::geostat::detail {

/// sigma2 times the closed form of nu = 1/2, 3/2 or 5/2, or what a table has of another nu, or a
/// Gaussian or spherical correlation.
struct ColumnCovariance {
  double sigma2, range, nu;
  MaternTable const* table = nullptr;
  Family family = Family::Matern;
  bool is_added = false;  ///< the covariance is added to what is there
};

/// C[i] = C(h_i) for the distances h_i of (x[i], y[i]) from a point in the plane, i < n, many at a
/// time. What an entry is depends on nothing but its two points, which may be exchanged.
///
/// Error    3 ulp for nu = 1/2, 4 for the others without a table, beside what the distance's
///          rounding makes (tested); of a table see MaternTable.
using MaternColumn = void(ColumnCovariance const& covariance, Location const& from, double const* x,
                          double const* y, std::int64_t n, double* C);

/// For the widest vectors that the processor has, of 16, 32 or 64 bytes, but no wider ones than
/// asked for.
MaternColumn* matern_column(int most_bytes = 64);

/// Locations coordinate by coordinate, on a host; elsewhere there are none.
template <class MemorySpace>
using Coordinates = Kokkos::View<double* [2], Kokkos::LayoutLeft, MemorySpace>;

template <class MemorySpace>
Coordinates<MemorySpace> coordinates_of(Locations const& locations) {
  Coordinates<MemorySpace> result;
  if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace, MemorySpace>::accessible) {
    result = allocate_on_host<Coordinates<MemorySpace>>(
        "strata::geostat::CovarianceEntries::coordinates", locations.size());
    for (std::size_t i = 0; i < locations.x.size(); ++i) {
      result(i, 0) = locations.x[i];
      result(i, 1) = locations.y[i];
    }
  }
  return result;
}

/// Columns of a matrix on a host: all of their entries, or those on and below the diagonal.
template <class MatrixView>
struct MaternColumns {
  MaternColumn* column;
  ColumnCovariance covariance, second;  // the second one's sigma2 is 0: there is none
  double const *x, *y;                  // of the rows
  Location const* points;               // of the columns
  std::int64_t on_diagonal;             // the row of column 0 that is the same location
  double nugget;
  double const* errors;  // of the rows; nullptr: none
  bool lower;
  MatrixView A;

  void operator()(std::int64_t j) const {
    auto const rows = static_cast<std::int64_t>(A.extent(0));
    std::int64_t const first = lower ? j : 0, diagonal = on_diagonal + j;
    column(covariance, points[j], x + first, y + first, rows - first, &A(first, j));
    if (second.sigma2 > 0)
      column(second, points[j], x + first, y + first, rows - first, &A(first, j));
    if (diagonal >= 0 && diagonal < rows)
      A(diagonal, j) += nugget + (errors ? errors[diagonal] : 0.0);
  }
};

}  // namespace strata::geostat::detail

#endif
