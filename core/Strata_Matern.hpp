// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MATERN_HPP
#define STRATA_MATERN_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <core/Strata_Errors.hpp>
#include <core/detail/Strata_MaternKernel.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// The Matern covariance of a stationary, isotropic Gaussian field,
///   C(h) = sigma2 2^(1-nu) / Gamma(nu) (h/range)^nu K_nu(h/range),   C(0) = sigma2,
/// observed with independent errors of variance `nugget`.
///
/// The nugget is added where an observation meets itself (i == j), which for distinct locations is
/// where h = 0.
///
/// Source   equation 2 of Ren et al., Accelerating mixed-precision out-of-core Cholesky
///          factorization with static task scheduling (paper B); Gneiting, Kleiber & Schlather,
///          JASA 105, 2010. There is no factor sqrt(2 nu) in h.
struct MaternCovariance {
  double sigma2 = 1;        ///< variance of the field; > 0
  double range = 0.078809;  ///< in the distance's unit; > 0. Paper B: 0.02627, 0.078809, 0.210158
  double nu = 0.5;          ///< smoothness; in (0, 50]
  double nugget = 0;        ///< >= 0

  /// C(h) for h >= 0, without the nugget; on the host, any nu.
  double operator()(double h) const;

  /// Throws   ValueError that names the parameter out of range or not finite.
  void check() const;

  /// Read "matern:SIGMA2,RANGE,NU" or "matern:SIGMA2,RANGE,NU,NUGGET", without any space.
  ///
  /// Throws   ValueError with the text and the field that is wrong.
  static MaternCovariance parse(std::string_view text);
};

/// "matern:1,0.1,0.5,0": what `parse` reads back to the same numbers.
std::string to_string(MaternCovariance const& covariance);

/// Where observations were made.
struct Locations {
  std::vector<double> x;  ///< or degrees of longitude
  std::vector<double> y;  ///< or degrees of latitude
  Metric metric = Metric::Euclidean;

  std::int64_t size() const { return static_cast<std::int64_t>(x.size()); }
  /// Distance of locations i and j: Euclidean, or great-circle in kilometres on the sphere of the
  /// Earth's mean radius, 6371.0088 km.
  double distance(std::int64_t i, std::int64_t j) const;
  /// Location order[k] becomes number k.
  Locations permuted(std::span<std::int64_t const> order) const;
};

/// Refuse locations and parameters that have no positive definite covariance matrix.
///
/// Throws   ShapeError if x and y differ in length; ValueError if a coordinate is not finite, a
///          latitude is outside [-90, 90], a parameter is out of range, or two locations coincide
///          and there is no nugget (it names both).
void check_covariance(MaternCovariance const& covariance, Locations const& locations);

/// The order of the points along Morton's space-filling curve, which brings neighbours in space
/// close in the matrix, so that blocks far from its diagonal are small and smooth.
///
/// Result   a permutation of 0 ... n-1: place k of the order belongs to point order[k]. Cells are
///          squares, 2^32 along the longer side of the bounding box; points of one cell keep their
///          order.
/// Throws   ShapeError if x and y differ in length; ValueError if a coordinate is not finite.
std::vector<std::int64_t> morton_order(std::span<double const> x, std::span<double const> y);

/// n seeded locations in the unit square, in Morton order: one in each of n cells of a
/// ceil(sqrt(n))^2 grid (the empty cells are random), uniform in the middle 80 % of the cell in x
/// and in y, so that no two coincide.
///
/// Throws   ShapeError if n < 0.
/// Source   the jittered grid of Abdulah et al., ExaGeoStat, TPDS 29, 2018.
Locations synthetic_locations(std::int64_t n, std::uint64_t seed = 1);

/// Which part of a symmetric matrix is written.
enum class Triangle : std::uint8_t { Lower, Full };

/// A = the covariance matrix of observations at `locations`, A_ij = C(h_ij) + nugget [i == j].
///
/// nu = 1/2, 3/2 and 5/2 are evaluated by `exec`; any other nu by all host threads through
/// Boost.Math's Bessel function, a panel of columns at a time. With great-circle distances the
/// matrix is sure to be positive definite for nu <= 1/2 only (Gneiting, Bernoulli 19, 2013).
///
/// Shape    A: n x n for n locations; any layout and stride, accessible to `exec`.
/// Result   the lower triangle, or both, equal to the last bit.
/// Sync     runs on `exec` and fences it before returning.
/// Memory   16 n bytes, or for a general nu up to 64 MiB (but a column) on the host and as much
///          where A lives.
/// Throws   ShapeError if A does not fit; what `check_covariance` throws.
/// Error    a few units of the last place for the closed forms; for a general nu 100 eps C(0) where
///          h is 0 or at least 1e-6 range (tested against Boost.Math in long double).
template <class ExecutionSpace, class MatrixView>
void fill_covariance(ExecutionSpace const& exec, MaternCovariance const& covariance,
                     Locations const& locations, MatrixView const& A,
                     Triangle triangle = Triangle::Full) {
  std::int64_t const n = locations.size();
  STRATA_REQUIRE(
      ShapeError,
      static_cast<std::int64_t>(A.extent(0)) == n && static_cast<std::int64_t>(A.extent(1)) == n,
      "fill_covariance: A is ", A.extent(0), " x ", A.extent(1), ", the locations are ", n);
  check_covariance(covariance, locations);
  bool const full = triangle == Triangle::Full;
  if (detail::has_closed_form(covariance.nu))
    detail::fill_closed_form(exec, covariance, locations, A, full);
  else
    detail::fill_by_panels(exec, covariance, locations, A, full);
}

}  // namespace strata

#endif
