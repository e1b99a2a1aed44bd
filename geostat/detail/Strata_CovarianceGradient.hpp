// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_COVARIANCE_GRADIENT_HPP
#define STRATA_COVARIANCE_GRADIENT_HPP

#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <geostat/Strata_CovarianceFactor.hpp>
#include <geostat/detail/Strata_MaternKernel.hpp>
#include <geostat/model/detail/Strata_Derivatives.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace strata::geostat::detail {

/// Numbers of what a covariance is differentiated by.
struct EntrySums {
  double of[derivative_count] = {};

  KOKKOS_INLINE_FUNCTION EntrySums& operator+=(EntrySums const& other) {
    for (int k = 0; k < derivative_count; ++k) of[k] += other.of[k];
    return *this;
  }
};

/// An entry's derivatives by stretch and shear.
struct ByDirections {
  double stretch = 0, shear = 0;
};

/// sinh(kappa) / kappa.
inline double turn_of(Covariance const& c) {
  return c.has_directions() ? (1 / c.ratio - c.ratio) / (-2 * std::log(c.ratio)) : 1;
}

/// Those of the entry of two points in the plane of `Directions`, for the one by log range.
///
/// They are those of q = (u^2 e^-kappa + v^2 e^kappa) / g^2 in the axes' frame, of which v is
/// stretched here.
KOKKOS_INLINE_FUNCTION ByDirections by_directions(double by_log_range, double turn,
                                                  Location const& a, Location const& b) {
  double const u = b.x - a.x, v = b.y - a.y, squared = u * u + v * v;
  if (squared == 0) return {};
  return {by_log_range / 2 * ((u - v) * (u + v) / squared),
          by_log_range * turn * (u * v / squared)};
}

/// What part of the squared distance of two points, h^2, lies along coordinate 1 + `axis`.
KOKKOS_INLINE_FUNCTION double part_along(int axis, Location const& a, Location const& b, double h) {
  if (h == 0) return 0;
  double const d = (axis == 0 ? b.y - a.y : b.further[axis - 1] - a.further[axis - 1]) / h;
  return d * d;
}

/// The derivatives of a covariance matrix's entries, evaluated where they are asked for. Stretch,
/// shear and single ranges have 0 unless wanted. The one by nu, if it is not wanted, is any
/// number: without it there are closed forms for nu = 1/2, 3/2 and 5/2. Known errors have no
/// derivative.
///
/// Memory   40 bytes for each location in MemorySpace, and 2.4 kB a structure; on hosts of many
///          locations a table of 108 kB.
/// Error    see MaternGradient, times sigma2 by nu, and sigma2 / range by range.
template <class MemorySpace>
class CovarianceGradient {
 public:
  /// Sync     fences `exec`.
  template <class ExecutionSpace>
  CovarianceGradient(ExecutionSpace const& exec, MaternCovariance const& c,
                     Locations const& locations, Wanted const& wanted)
      : metric_(locations.metric),
        terms_(exec, c, locations.size() * locations.size() / 2, wanted[By::nu], wanted[By::nu_2]),
        by_directions_(wanted[By::stretch]),
        axes_(wanted[By::axis] ? static_cast<int>(c.axes.size()) : 0),
        turn_(turn_of(c)),
        points_(points_of<MemorySpace>(exec, Directions(c, wanted[By::stretch])(locations))) {}

  KOKKOS_FUNCTION EntrySums operator()(std::int64_t i, std::int64_t j) const {
    double const h = distance(metric_, points_(i), points_(j));
    auto const& first = terms_.first();
    MaternTerms const m = first(h);
    double by_log_range = first.sigma2 * m.by_log_range;
    EntrySums sums{
        {m.value, by_log_range / first.range, first.sigma2 * m.by_nu, i == j ? 1.0 : 0.0}};
    if (terms_.has_second()) {
      auto const& second = terms_.second();
      MaternTerms const m2 = second(h);
      double const slope = second.sigma2 * m2.by_log_range;
      sums.of[By::sigma2_2] = m2.value;
      sums.of[By::range_2] = slope / second.range;
      sums.of[By::nu_2] = second.sigma2 * m2.by_nu;
      by_log_range += slope;
    }
    for (int k = 0; k < axes_; ++k)
      sums.of[By::axis + k] = by_log_range * part_along(k, points_(i), points_(j), h);
    if (!by_directions_) return sums;
    auto const by = detail::by_directions(by_log_range, turn_, points_(i), points_(j));
    sums.of[By::stretch] = by.stretch, sums.of[By::shear] = by.shear;
    return sums;
  }

 private:
  Metric metric_;
  AllTerms<MemorySpace, true> terms_;
  bool by_directions_;
  int axes_;     // by the ranges of so many coordinates
  double turn_;  // sinh(kappa) / kappa
  Points<MemorySpace> points_;
};

/// Columns of S^-1 and the like that are worked on at a time.
inline constexpr std::int64_t column_block = 512;

/// The unit vectors from number `first` on.
template <class ExecutionSpace, class Block>
void fill_unit_vectors(ExecutionSpace const& exec, std::int64_t first, Block const& E) {
  for_each_element(
      "strata::geostat::unit_vectors", exec, static_cast<std::int64_t>(E.extent(0)),
      static_cast<std::int64_t>(E.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { E(i, j) = i == first + j ? 1.0 : 0.0; });
}

/// What solves of many columns came to.
struct ManySolves {
  double backward_error = 0;  ///< the largest
  bool converged = true;
};

/// X = S^-1 X, its rows from `first_row` on, before which X is 0. The factor alone serves if all
/// tiles are in fp64. Else the solve is refined to fp64 with S, which may make a more accurate
/// factor, and find that there is none. Other rows are undefined then.
template <class ExecutionSpace>
void solve_in_place(ExecutionSpace const& exec, CovarianceFactor<ExecutionSpace>& factor,
                    typename CovarianceFactor<ExecutionSpace>::Block const& X, ManySolves& solves,
                    std::int64_t first_row = 0) {
  if (!factor.map().is_mixed()) {
    factor.half_solve(exec, Op::NoTrans, X, first_row);
    factor.half_solve(exec, Op::Trans, X, first_row);
    return;
  }
  auto const report = factor.solve(exec, X, X);
  solves.backward_error = std::max(solves.backward_error, report.backward_error);
  solves.converged = solves.converged && report.converged;
}

}  // namespace strata::geostat::detail

template <>
struct Kokkos::reduction_identity<strata::geostat::detail::EntrySums> {
  KOKKOS_FORCEINLINE_FUNCTION static strata::geostat::detail::EntrySums sum() { return {}; }
};

#endif
