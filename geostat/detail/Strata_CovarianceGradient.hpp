// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_COVARIANCE_GRADIENT_HPP
#define STRATA_COVARIANCE_GRADIENT_HPP

#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <geostat/Strata_CovarianceFactor.hpp>
#include <geostat/detail/Strata_MaternKernel.hpp>
#include <geostat/model/detail/Strata_MaternTable.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace strata::geostat::detail {

/// What a covariance is differentiated by: its parameters, and two directions' ways.
inline constexpr int derivative_count = 6;

/// Numbers of sigma2, range, nu and nugget, and of the stretch and the shear of the plane.
///
/// The stretch is kappa = -log ratio while the product of both axes' ranges stays. The shear is
/// twice the angle that the axes turn by, times kappa. Both have derivatives where there are no
/// directions, kappa = 0, too.
struct EntrySums {
  double of[derivative_count] = {0, 0, 0, 0, 0, 0};

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

/// The derivatives of a covariance matrix's entries by sigma2, range, nu and nugget, evaluated
/// where they are asked for, and by stretch and shear, which are 0 unless wanted. The derivative by
/// nu, if it is not wanted, is any number: without it there are closed forms for nu = 1/2, 3/2 and
/// 5/2. Known error variances have no derivative.
///
/// Memory   24 bytes for each location in MemorySpace, and 2.4 kB; on hosts of many locations a
///          table of 108 kB.
/// Error    see MaternGradient, times sigma2 by nu, and sigma2 / range by range.
template <class MemorySpace>
class CovarianceGradient {
 public:
  /// Sync     fences `exec`.
  template <class ExecutionSpace>
  CovarianceGradient(ExecutionSpace const& exec, MaternCovariance const& c,
                     Locations const& locations, bool by_nu, bool by_directions = false)
      : sigma2_(c.sigma2),
        range_(c.range),
        nu_(c.order()),
        family_(c.family),
        plain_(!is_matern(c.family)),
        closed_(plain_ || ((!by_nu || !has_shape(c.family)) && has_closed_form(c.order()))),
        metric_(locations.metric),
        matern_(unless_closed<MaternGradient>(closed_, c.order())),
        by_directions_(by_directions),
        turn_(turn_of(c)),
        points_(points_of<MemorySpace>(exec, Directions(c, by_directions)(locations))) {
    auto const pairs = locations.size() * locations.size() / 2;
    if (!closed_) table_ = table_for<MemorySpace>(c.nu, pairs, true);
    table_on_host_ = table_.get();
  }

  KOKKOS_FUNCTION EntrySums operator()(std::int64_t i, std::int64_t j) const {
    double const x = distance(metric_, points_(i), points_(j)) / range_;
    MaternTerms const m = plain_    ? plain_terms(family_, nu_, x)
                          : closed_ ? matern_closed_terms(nu_, x)
                                    : terms(x);
    EntrySums sums{{m.value, sigma2_ * m.by_log_range / range_, sigma2_ * m.by_nu,
                    i == j ? 1.0 : 0.0, 0.0, 0.0}};
    if (!by_directions_) return sums;
    auto const by = detail::by_directions(sigma2_ * m.by_log_range, turn_, points_(i), points_(j));
    sums.of[4] = by.stretch, sums.of[5] = by.shear;
    return sums;
  }

 private:
  KOKKOS_FUNCTION MaternTerms terms(double x) const {
    if constexpr (std::is_same_v<MemorySpace, Kokkos::HostSpace>)
      if (table_on_host_) return table_on_host_->derivatives(x);
    return matern_(x);
  }

  double sigma2_, range_, nu_;
  Family family_;
  bool plain_, closed_;
  Metric metric_;
  MaternGradient matern_;
  bool by_directions_;
  double turn_;                               // sinh(kappa) / kappa
  std::shared_ptr<MaternTable const> table_;  // on hosts, if any
  MaternTable const* table_on_host_ = nullptr;
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
