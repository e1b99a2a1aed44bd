// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/detail/Strata_BesselK.hpp>

#include <core/Strata_Errors.hpp>

#include <boost/math/special_functions/gamma.hpp>

#include <array>
#include <cmath>
#include <numbers>

namespace strata::geostat::detail {

namespace {

// For the orders mu and mu + 1: sqrt(x) e^x K_mu(x) = sqrt(x) int_0^oo exp(-2x sinh(t/2)^2) cosh(mu t) dt. With
// t = s / sqrt(x) the integrand is near exp(-s^2/2) and analytic for |Im s| < pi/2 sqrt(x): the trapezoidal rule with
// steps of 1/6 leaves an error below 1e-30 for x >= 2.
std::array<long double, 2> scaled_integrals(long double mu, long double x) {
  constexpr long double step = 1 / 6.0L;
  long double const root = std::sqrt(x);
  std::array<long double, 2> sums = {0.5L, 0.5L};
  for (int k = 1;; ++k) {
    long double const t = k * step / root, half = std::sinh(t / 2);
    long double const weight = std::exp(-2 * x * half * half);
    long double const last = weight * std::cosh((mu + 1) * t);
    sums[0] += weight * std::cosh(mu * t);
    sums[1] += last;
    if (last < 1e-24L) return {step * sums[0], step * sums[1]};
  }
}

}  // namespace

BesselK::BesselK(double nu) : nu_(nu), steps_(0) {
  STRATA_REQUIRE(ValueError, nu > 0 && nu <= 50, "BesselK: the order nu is ", nu,
                 ", must be in (0, 50]");
  steps_ = static_cast<int>(std::floor(nu + 0.5));
  mu_ = nu - steps_;  // exact
  long double const order = nu;
  normalisation_ = static_cast<double>(std::exp2(1 - order) / boost::math::tgamma(order));
  prepare_small(mu_);
  prepare_large(mu_);
}

// Temme's f_k, p_k and q_k are f_k = phi f_0 + alpha p_0 + beta q_0, p_k = pi p_0, q_k = rho q_0 with factors that do
// not depend on x, and x^mu f_0 = a0 + a1 T, x^mu p_0 = p, x^mu q_0 = q (1 - 2 mu T).
void BesselK::prepare_small(long double mu) {
  // Gamma(1 +- mu) = exp(even +- odd), without cancellation for small mu.
  long double const plus = std::log1p(boost::math::tgamma1pm1(mu)),
                    minus = std::log1p(boost::math::tgamma1pm1(-mu));
  long double const even = (plus + minus) / 2, odd = (plus - minus) / 2;
  long double const power = std::exp2(mu), scale = power * std::exp(even);
  long double const slope = mu == 0 ? -std::numbers::egamma_v<long double> : std::sinh(odd) / mu;
  // f_0 = e^even [cosh(sigma) sinh(odd)/mu + sinh(sigma)/mu cosh(odd)], sigma = mu log(2/x), and
  // x^mu cosh(sigma) = 2^mu (1 - mu T), x^mu sinh(sigma)/mu = 2^mu T.
  long double const a0 = scale * slope, a1 = scale * (std::cosh(odd) - mu * slope);
  long double const p = power * std::exp(plus) / 2, q = power * std::exp(minus) / 2;

  long double phi = 1, alpha = 0, beta = 0, pi = 1, rho = 1, factorial = 1;
  for (int k = 0; k < small_terms; ++k) {
    if (k > 0) {
      long double const divisor = (k - mu) * (k + mu);
      phi = k * phi / divisor;
      alpha = (k * alpha + pi) / divisor;
      beta = (k * beta + rho) / divisor;
      pi /= k - mu;
      rho /= k + mu;
      factorial *= k;
    }
    long double const f = phi * a0 + alpha * p + beta * q, t = phi * a1 - 2 * mu * beta * q;
    small_a_[0][k] = static_cast<double>(f / factorial);
    small_b_[0][k] = static_cast<double>(t / factorial);
    small_a_[1][k] = static_cast<double>(2 * (pi * p - k * f) / factorial);
    small_b_[1][k] = static_cast<double>(-2 * k * t / factorial);
  }
}

void BesselK::prepare_large(long double mu) {
  constexpr int nodes = large_terms + 10;  // so that what is cut off folds back into nothing
  constexpr long double pi = std::numbers::pi_v<long double>;
  std::array<std::array<long double, 2>, nodes> values;
  for (int j = 0; j < nodes; ++j)
    values[j] = scaled_integrals(mu, 2 * split / (std::cos(pi * (j + 0.5L) / nodes) + 1));
  for (int k = 0; k < large_terms; ++k) {
    std::array<long double, 2> sums = {};
    for (int j = 0; j < nodes; ++j) {
      long double const cosine = std::cos(pi * k * (j + 0.5L) / nodes);
      for (int order = 0; order < 2; ++order) sums[order] += cosine * values[j][order];
    }
    for (int order = 0; order < 2; ++order)
      large_[order][k] = static_cast<double>((k == 0 ? 1 : 2) * sums[order] / nodes);
  }
}

}  // namespace strata::geostat::detail
