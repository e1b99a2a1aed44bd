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

// In long double: where S is well conditioned, rounding of a long sum would leave more than
// rounding of the solve.
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
  result.mean = result.backward_error = result.log_det_trend = nan;
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

// The largest entry of S.
template <class Exec>
double largest_variance(CovarianceFactor<Exec> const& factor) {
  auto const& errors = factor.locations().error_variances;
  double const error = errors.empty() ? 0 : std::ranges::max(errors);
  return factor.covariance().field() + factor.covariance().nugget + error;
}

// What a number of a column's residual may be, by the backward error and by rounding.
template <class Exec>
double residual_of(CovarianceFactor<Exec> const& factor, double w, HostMatrix const& B,
                   HostMatrix const& X, std::size_t j) {
  double const norm_inf = factor.norm_inf(), x = largest_magnitude(X, j),
               diagonal = largest_variance(factor),
               row = std::sqrt(norm_inf) * std::sqrt(diagonal);  // at least the 2-norm of each row
  return w * (norm_inf * x + largest_magnitude(B, j)) + 0x1p-53 * row * x;
}

// B = [y, Q] and X = S^-1 B give A = Q' S^-1 Q = L L' and b = A^-1 Q' S^-1 y. Then r = y - Q b and
// S^-1 r stand in their first columns, so that the quadratic form is r' S^-1 r. T stands in the
// other columns of X.
template <class Exec>
void take_trend(Trend const& trend, HostMatrix const& B, HostMatrix const& X,
                Weights<Exec>& result) {
  auto const k = static_cast<std::size_t>(trend.columns());
  std::size_t const n = B.extent(0);
  std::vector<double> A(k * k);
  result.coefficients.resize(k);
  for (std::size_t j = 0; j < k; ++j) {
    result.coefficients[j] = sum_of_products(B, j + 1, X, 0);
    for (std::size_t i = j; i < k; ++i)
      A[i + j * k] =
          (sum_of_products(B, i + 1, X, j + 1) + sum_of_products(B, j + 1, X, i + 1)) / 2;
  }
  result.L = lower_factor(A, k);
  substitute(result.L, result.coefficients);
  substitute_transposed(result.L, result.coefficients);
  result.log_det_trend = -trend.log_det_of_basis(static_cast<std::int64_t>(n));
  for (std::size_t j = 0; j < k; ++j) result.log_det_trend += 2 * std::log(result.L[j + j * k]);
  std::vector<double> row(k);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < k; ++j) {
      row[j] = X(i, j + 1);
      B(i, 0) -= result.coefficients[j] * B(i, j + 1);
      X(i, 0) -= result.coefficients[j] * X(i, j + 1);
    }
    substitute(result.L, row);
    for (std::size_t j = 0; j < k; ++j) X(i, j + 1) = row[j];
  }
}

}  // namespace

std::vector<double> lower_factor(std::vector<double> L, std::size_t k) {
  for (std::size_t j = 0; j < k; ++j)
    for (std::size_t i = j; i < k; ++i) {
      double sum = L[i + j * k];
      for (std::size_t l = 0; l < j; ++l) sum -= L[i + l * k] * L[j + l * k];
      L[i + j * k] = i == j ? std::sqrt(sum) : sum / L[j + j * k];
    }
  return L;
}

void substitute_transposed(std::vector<double> const& L, std::span<double> b) {
  std::size_t const k = b.size();
  for (std::size_t j = k; j-- > 0;) {
    for (std::size_t i = j + 1; i < k; ++i) b[j] -= L[i + j * k] * b[i];
    b[j] /= L[j + j * k];
  }
}

void substitute(std::vector<double> const& L, std::span<double> b) {
  std::size_t const k = b.size();
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j < i; ++j) b[i] -= L[i + j * k] * b[j];
    b[i] /= L[i + i * k];
  }
}

template <class Exec>
Weights<Exec> weights(Exec const& exec, CovarianceFactor<Exec>& factor,
                      std::span<double const> values, Trend const& trend, Solves solves) {
  using Block = typename Weights<Exec>::Block;
  std::int64_t const n = factor.order();
  auto const Q = together(factor.comm(), [&] {
    check_values(n, values);
    return trend.basis(n);
  });
  auto const k = static_cast<std::size_t>(trend.columns());
  auto const columns = trend.columns() + 1;
  // B = [y, Q], X = S^-1 B.
  HostMatrix const B = allocate_host_matrix("strata::geostat::weights::B", n, columns),
                   X = allocate_host_matrix("strata::geostat::weights::X", n, columns);
  std::ranges::copy(values, B.data());
  std::ranges::copy(Q, B.data() + n);
  auto const device_B = allocate<Block>(exec, "strata::geostat::weights::device_B", n, columns),
             device_X =
                 allocate_zeros<Block>(exec, "strata::geostat::weights::device_X", n, columns);
  Kokkos::deep_copy(exec, device_B, B);
  Weights<Exec> result;
  result.solve = solve_by(solves, exec, factor, device_B, device_X);
  Kokkos::deep_copy(exec, X, device_X);
  exec.fence("strata::geostat::weights::solved");
  double const w = result.solve.backward_error;
  std::vector<double> residuals;
  for (std::size_t j = 0; j <= k; ++j) residuals.push_back(residual_of(factor, w, B, X, j));
  take_trend(trend, B, X, result);
  double rest = residuals[0];
  for (std::size_t j = 0; j < k; ++j) rest += std::abs(result.coefficients[j]) * residuals[j + 1];
  result.quadratic_form = sum_of_products(B, 0, X, 0);
  // Of a solve that failed X is 0 and w is 1. Rows that are alike have roundings that are alike.
  result.quadratic_form_error =
      w < 1 ? 4 * rest * norm(X, 0) + 0x1p-51 * std::abs(result.quadratic_form) : HUGE_VAL;
  Kokkos::deep_copy(exec, device_X, X);
  exec.fence("strata::geostat::weights::done");
  result.both = device_X;
  result.values =
      Kokkos::subview(device_X, Kokkos::ALL, std::pair(std::int64_t{0}, std::int64_t{1}));
  result.trend = Kokkos::subview(device_X, Kokkos::ALL, std::pair(std::int64_t{1}, columns));
  return result;
}

double log_likelihood_of(Likelihood const& parts, Trend const& trend) {
  return -0.5 * (static_cast<double>(trend.degrees(parts.n)) * std::log(2 * std::numbers::pi) +
                 parts.log_det + parts.log_det_trend + parts.quadratic_form);
}

template <class Exec>
Likelihood log_likelihood(Exec const& exec, CovarianceFactor<Exec>& factor,
                          Weights<Exec> const& weights, Trend const& trend,
                          dense::LogDeterminantOptions const& probes) {
  Likelihood result{.n = factor.order(), .factor = factor.report()};
  if (!factor.info().ok()) return not_positive_definite(result, factor.info().order());
  auto const log_det = factor.log_determinant(exec, probes);
  result.log_det = log_det.value;
  result.log_det_error = log_det.error();
  result.quadratic_form = weights.quadratic_form;
  result.quadratic_form_error = weights.quadratic_form_error;
  auto const k = static_cast<std::size_t>(trend.columns());
  result.coefficients = trend.coefficients(weights.coefficients);
  std::vector<double> inverse(k * k);  // of L L'
  for (std::size_t j = 0; j < k; ++j) {
    std::span<double> const column{inverse.data() + j * k, k};
    column[j] = 1;
    substitute(weights.L, column);
    substitute_transposed(weights.L, column);
  }
  result.coefficient_covariance = trend.covariances(inverse);
  if (trend.criterion() == Criterion::REML) result.log_det_trend = weights.log_det_trend;
  result.mean = k == 0                ? 0
                : trend.is_constant() ? result.coefficients[0]
                                      : std::numeric_limits<double>::quiet_NaN();
  result.backward_error = weights.solve.backward_error;
  result.solve_converged = weights.solve.converged;
  result.solve_iterations = weights.solve.iterations;
  result.log_likelihood = log_likelihood_of(result, trend);
  return result;
}

}  // namespace detail

template <class Exec>
Likelihood log_likelihood(Exec const& exec, CovarianceFactor<Exec>& factor,
                          std::span<double const> values, Trend const& trend,
                          dense::LogDeterminantOptions const& probes) {
  Region const region(exec, "strata::geostat::log_likelihood");
  Stopwatch const watch;
  together(factor.comm(), [&] { detail::check_values(factor.order(), values); });
  detail::Weights<Exec> weights;
  if (factor.info().ok()) weights = detail::weights(exec, factor, values, trend);
  Likelihood result = detail::log_likelihood(exec, factor, weights, trend, probes);
  result.seconds = watch.seconds();
  return result;
}

template <class Exec>
Likelihood log_likelihood(Exec const& exec, MaternCovariance const& covariance,
                          Locations const& locations, std::span<double const> values,
                          Trend const& trend, CovarianceFactorOptions const& options) {
  Stopwatch const watch;
  together(options.comm.get(), [&] {
    detail::check_values(locations.size(), values);
    trend.check(locations.size());
  });
  CovarianceFactor<Exec> factor(exec, covariance, locations, options);
  Likelihood result = log_likelihood(exec, factor, values, trend);
  result.seconds = watch.seconds();
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                                                   \
  template detail::Weights<Exec> detail::weights<Exec>(Exec const&, CovarianceFactor<Exec>&,       \
                                                       std::span<double const>, Trend const&,      \
                                                       detail::Solves);                            \
  template Likelihood detail::log_likelihood<Exec>(Exec const&, CovarianceFactor<Exec>&,           \
                                                   detail::Weights<Exec> const&, Trend const&,     \
                                                   dense::LogDeterminantOptions const&);           \
  template Likelihood log_likelihood<Exec>(Exec const&, CovarianceFactor<Exec>&,                   \
                                           std::span<double const>, Trend const&,                  \
                                           dense::LogDeterminantOptions const&);                   \
  template Likelihood log_likelihood<Exec>(Exec const&, MaternCovariance const&, Locations const&, \
                                           std::span<double const>, Trend const&,                  \
                                           CovarianceFactorOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
