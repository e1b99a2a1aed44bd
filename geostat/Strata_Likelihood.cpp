// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/Strata_Likelihood.hpp>

#include <comm/Strata_Together.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace strata::geostat {

namespace {

// In long double: what rounding of a long sum would leave is more than that of the solve where S is well conditioned.
double sum_of_products(HostMatrix const& A, std::size_t i, HostMatrix const& B, std::size_t j) {
  long double sum = 0;
  for (std::size_t k = 0; k < A.extent(0); ++k)
    sum += static_cast<long double>(A(k, i)) * static_cast<long double>(B(k, j));
  return static_cast<double>(sum);
}

double largest_magnitude(HostMatrix const& A, std::size_t j) {
  double largest = 0;
  for (std::size_t i = 0; i < A.extent(0); ++i) largest = std::max(largest, std::abs(A(i, j)));
  return largest;
}

// The 2-norm of a column, whose squares may be out of range.
double norm(HostMatrix const& A, std::size_t j) {
  double const largest = largest_magnitude(A, j);
  if (!(largest > 0) || !std::isfinite(largest)) return largest;
  double sum = 0;
  for (std::size_t i = 0; i < A.extent(0); ++i) sum += (A(i, j) / largest) * (A(i, j) / largest);
  return largest * std::sqrt(sum);
}

Likelihood not_positive_definite(Likelihood result, std::int64_t order) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  result.info = order;
  result.log_likelihood = result.log_det = result.quadratic_form = nan;
  result.log_det_error = result.quadratic_form_error = nan;
  result.mean = result.backward_error = nan;
  result.solve_converged = false;
  return result;
}

}  // namespace

namespace detail {

void check_values(std::int64_t n, std::span<double const> values) {
  STRATA_REQUIRE(ShapeError, n > 0 && static_cast<std::int64_t>(values.size()) == n,
                 "log_likelihood: ", values.size(), " values at ", n, " locations");
  for (std::size_t i = 0; i < values.size(); ++i)
    STRATA_REQUIRE(ValueError, std::isfinite(values[i]), "log_likelihood: value ", i + 1, " is ",
                   values[i], ", must be finite");
}

namespace {

template <class Exec, class Block>
dense::SolveReport solve_by(Solves how, Exec const& exec, CovarianceFactor<Exec>& factor,
                            Block const& B, Block const& X) {
  if (how == Solves::Refined || factor.map().is_mixed()) return factor.solve(exec, B, X);
  Kokkos::deep_copy(exec, X, B);
  factor.half_solve(exec, Op::NoTrans, X);
  factor.half_solve(exec, Op::Trans, X);
  dense::SolveReport report;
  report.converged = true;
  report.backward_error = 0x1p-52;
  report.iterations = 1;
  return report;
}

}  // namespace

template <class Exec>
Weights<Exec> weights(Exec const& exec, CovarianceFactor<Exec>& factor,
                      std::span<double const> values, Mean mean, Solves solves) {
  using Block = typename Weights<Exec>::Block;
  std::int64_t const n = factor.order();
  together(factor.comm(), [&] { check_values(n, values); });
  int const columns = mean == Mean::Constant ? 2 : 1;
  // B = [y, 1], X = S^-1 B.
  HostMatrix const B = allocate_host_matrix("strata::geostat::weights::B", n, columns),
                   X = allocate_host_matrix("strata::geostat::weights::X", n, columns);
  for (std::int64_t i = 0; i < n; ++i) {
    B(i, 0) = values[static_cast<std::size_t>(i)];
    if (columns == 2) B(i, 1) = 1;
  }
  auto const device_B = allocate<Block>(exec, "strata::geostat::weights::device_B", n, columns),
             device_X =
                 allocate_zeros<Block>(exec, "strata::geostat::weights::device_X", n, columns);
  Kokkos::deep_copy(exec, device_B, B);
  Weights<Exec> result;
  result.solve = solve_by(solves, exec, factor, device_B, device_X);
  Kokkos::deep_copy(exec, X, device_X);
  exec.fence("strata::geostat::weights::solved");
  // What a number of a column's residual may be, by the backward error and by rounding.
  double const norm_inf = factor.norm_inf(), w = result.solve.backward_error,
               diagonal = factor.covariance().sigma2 + factor.covariance().nugget,
               row = std::sqrt(norm_inf) * std::sqrt(diagonal);  // at least the 2-norm of each row
  auto const residual = [&](std::size_t j) {
    double const x = largest_magnitude(X, j);
    return w * (norm_inf * x + largest_magnitude(B, j)) + 0x1p-53 * row * x;
  };
  double rest = residual(0);
  if (mean == Mean::Constant) {
    result.ones_form = sum_of_products(B, 1, X, 1);
    result.mean = sum_of_products(B, 1, X, 0) / result.ones_form;
    rest += std::abs(result.mean) * residual(1);
    // r = y - mean 1 and S^-1 r, by which the quadratic form is r' S^-1 r.
    for (std::int64_t i = 0; i < n; ++i) {
      B(i, 0) -= result.mean;
      X(i, 0) -= result.mean * X(i, 1);
    }
    result.ones = Kokkos::subview(device_X, Kokkos::ALL, std::pair(1, 2));
  }
  result.quadratic_form = sum_of_products(B, 0, X, 0);
  // Of a solve that failed X is 0 and w is 1. Rows that are alike have roundings that are alike.
  result.quadratic_form_error =
      w < 1 ? 4 * rest * norm(X, 0) + 0x1p-51 * std::abs(result.quadratic_form) : HUGE_VAL;
  result.values = Kokkos::subview(device_X, Kokkos::ALL, std::pair(0, 1));
  Kokkos::deep_copy(exec, result.values, Kokkos::subview(X, Kokkos::ALL, std::pair(0, 1)));
  exec.fence("strata::geostat::weights::done");
  return result;
}

template <class Exec>
Likelihood log_likelihood(Exec const& exec, CovarianceFactor<Exec>& factor,
                          Weights<Exec> const& weights,
                          dense::LogDeterminantOptions const& probes) {
  Likelihood result{.n = factor.order(), .factor = factor.report()};
  if (!factor.info().ok()) return not_positive_definite(result, factor.info().order());
  auto const log_det = factor.log_determinant(exec, probes);
  result.log_det = log_det.value;
  result.log_det_error = log_det.error();
  result.quadratic_form = weights.quadratic_form;
  result.quadratic_form_error = weights.quadratic_form_error;
  result.mean = weights.mean;
  result.backward_error = weights.solve.backward_error;
  result.solve_converged = weights.solve.converged;
  result.solve_iterations = weights.solve.iterations;
  result.log_likelihood = -0.5 * (static_cast<double>(result.n) * std::log(2 * std::numbers::pi) +
                                  result.log_det + result.quadratic_form);
  return result;
}

}  // namespace detail

template <class Exec>
Likelihood log_likelihood(Exec const& exec, CovarianceFactor<Exec>& factor,
                          std::span<double const> values, Mean mean,
                          dense::LogDeterminantOptions const& probes) {
  Region const region(exec, "strata::geostat::log_likelihood");
  Stopwatch const watch;
  together(factor.comm(), [&] { detail::check_values(factor.order(), values); });
  detail::Weights<Exec> weights;
  if (factor.info().ok()) weights = detail::weights(exec, factor, values, mean);
  Likelihood result = detail::log_likelihood(exec, factor, weights, probes);
  result.seconds = watch.seconds();
  return result;
}

template <class Exec>
Likelihood log_likelihood(Exec const& exec, MaternCovariance const& covariance,
                          Locations const& locations, std::span<double const> values, Mean mean,
                          CovarianceFactorOptions const& options) {
  Stopwatch const watch;
  together(options.comm.get(), [&] { detail::check_values(locations.size(), values); });
  CovarianceFactor<Exec> factor(exec, covariance, locations, options);
  Likelihood result = log_likelihood(exec, factor, values, mean);
  result.seconds = watch.seconds();
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                                                   \
  template detail::Weights<Exec> detail::weights<Exec>(                                            \
      Exec const&, CovarianceFactor<Exec>&, std::span<double const>, Mean, detail::Solves);        \
  template Likelihood detail::log_likelihood<Exec>(Exec const&, CovarianceFactor<Exec>&,           \
                                                   detail::Weights<Exec> const&,                   \
                                                   dense::LogDeterminantOptions const&);           \
  template Likelihood log_likelihood<Exec>(Exec const&, CovarianceFactor<Exec>&,                   \
                                           std::span<double const>, Mean,                          \
                                           dense::LogDeterminantOptions const&);                   \
  template Likelihood log_likelihood<Exec>(Exec const&, MaternCovariance const&, Locations const&, \
                                           std::span<double const>, Mean,                          \
                                           CovarianceFactorOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
