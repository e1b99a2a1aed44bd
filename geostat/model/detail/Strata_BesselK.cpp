// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/model/detail/Strata_BesselK.hpp>

#include <core/Strata_Errors.hpp>

#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/gamma.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace strata::geostat::detail {

namespace {

// For the orders mu and mu + 1: sqrt(x) e^x K_mu(x) = sqrt(x) int_0^oo exp(-2x sinh(t/2)^2) cosh(mu
// t) dt. With t = s / sqrt(x) the integrand is near exp(-s^2/2) and analytic for |Im s| < pi/2
// sqrt(x): the trapezoidal rule with steps of 1/6 leaves an error below 1e-30 for x >= 2.
// `factor`(order, t) is cosh(order t), or its derivative by the order.
template <class Factor>
std::array<long double, 2> scaled_integrals(long double mu, long double x, Factor const& factor) {
  constexpr long double step = 1 / 6.0L;
  long double const root = std::sqrt(x);
  std::array<long double, 2> sums = {factor(mu, 0.0L) / 2, factor(mu + 1, 0.0L) / 2};
  for (int k = 1;; ++k) {
    long double const t = k * step / root, half = std::sinh(t / 2);
    long double const weight = std::exp(-2 * x * half * half);
    long double const last = weight * factor(mu + 1, t);
    sums[0] += weight * factor(mu, t);
    sums[1] += last;
    if (last < 1e-24L) return {step * sums[0], step * sums[1]};
  }
}

template <std::size_t terms>
using OfOrders = std::array<std::array<long double, terms>, 2>;  // mu and mu + 1

// Temme's f_k, p_k and q_k are f_k = phi f_0 + alpha p_0 + beta q_0, p_k = pi p_0, q_k = rho q_0.
// The factors do not depend on x. x^mu f_0 = a0 + a1 T, x^mu p_0 = p, x^mu q_0 = q (1 - 2 mu T).
template <std::size_t terms>
struct Temme {
  OfOrders<terms> a, b;

  explicit Temme(long double mu) {
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
    for (std::size_t k = 0; k < terms; ++k) {
      auto const n = static_cast<long double>(k);
      if (k > 0) {
        long double const divisor = (n - mu) * (n + mu);
        phi = n * phi / divisor;
        alpha = (n * alpha + pi) / divisor;
        beta = (n * beta + rho) / divisor;
        pi /= n - mu;
        rho /= n + mu;
        factorial *= n;
      }
      long double const f = phi * a0 + alpha * p + beta * q, t = phi * a1 - 2 * mu * beta * q;
      a[0][k] = f / factorial;
      b[0][k] = t / factorial;
      a[1][k] = 2 * (pi * p - n * f) / factorial;
      b[1][k] = -2 * n * t / factorial;
    }
  }
};

// Chebyshev coefficients of the integrals in t = 4/x - 1.
template <std::size_t terms, class Factor>
OfOrders<terms> chebyshev_coefficients(long double split, long double mu, Factor const& factor) {
  constexpr std::size_t nodes = terms + 10;  // so that what is cut off folds back into nothing
  constexpr long double pi = std::numbers::pi_v<long double>;
  auto const node = [](std::size_t j) { return pi * (static_cast<long double>(j) + 0.5L) / nodes; };
  std::array<std::array<long double, 2>, nodes> values;
  for (std::size_t j = 0; j < nodes; ++j)
    values[j] = scaled_integrals(mu, 2 * split / (std::cos(node(j)) + 1), factor);
  OfOrders<terms> result;
  for (std::size_t k = 0; k < terms; ++k) {
    std::array<long double, 2> sums = {};
    for (std::size_t j = 0; j < nodes; ++j) {
      long double const cosine = std::cos(static_cast<long double>(k) * node(j));
      for (std::size_t order = 0; order < 2; ++order) sums[order] += cosine * values[j][order];
    }
    for (std::size_t order = 0; order < 2; ++order)
      result[order][k] = (k == 0 ? 1 : 2) * sums[order] / nodes;
  }
  return result;
}

template <std::size_t terms>
void store(OfOrders<terms> const& from, double (&to)[2][terms]) {
  for (std::size_t order = 0; order < 2; ++order)
    for (std::size_t k = 0; k < terms; ++k) to[order][k] = static_cast<double>(from[order][k]);
}

}  // namespace

BesselK::BesselK(OrderAlone const& order)
    : nu_(order.nu), mu_(0), steps_(0), normalisation_(0), small_a_{}, small_b_{}, large_{} {}

BesselK::BesselK(double nu) : BesselK(OrderAlone{nu}) {
  STRATA_REQUIRE(ValueError, nu > 0 && nu <= 50, "BesselK: the order nu is ", nu,
                 ", must be in (0, 50]");
  steps_ = static_cast<int>(std::floor(nu + 0.5));
  mu_ = nu - steps_;  // exact
  long double const order = nu;
  normalisation_ = static_cast<double>(std::exp2(1 - order) / boost::math::tgamma(order));
  Temme<small_terms> const temme(mu_);
  store(temme.a, small_a_);
  store(temme.b, small_b_);
  store(chebyshev_coefficients<large_terms>(
            split, mu_, [](long double o, long double t) { return std::cosh(o * t); }),
        large_);
}

MaternGradient::MaternGradient(OrderAlone const& order)
    : BesselK(order), slope_(0), d_small_a_{}, d_small_b_{}, d_large_{} {}

MaternGradient::MaternGradient(double nu)
    : BesselK(nu), slope_(0), d_small_a_{}, d_small_b_{}, d_large_{} {
  slope_ = static_cast<double>(std::numbers::ln2_v<long double> +
                               boost::math::digamma(static_cast<long double>(nu)));
  // Central differences of order 12. The nearest singularities are at |mu| = 1: in these steps the
  // error is that of long double's rounding, 1e-17.
  constexpr int points = 6;
  constexpr long double step = 1 / 256.0L;
  long double weight = -1;
  std::array<OfOrders<small_terms>, 2> sums{};
  for (int j = 1; j <= points; ++j) {
    weight *= -static_cast<long double>(points - j + 1) / (points + j);
    for (long double const side : {-1.0L, 1.0L}) {
      Temme<small_terms> const temme(mu_ + side * j * step);
      for (std::size_t order = 0; order < 2; ++order)
        for (std::size_t k = 0; k < small_terms; ++k) {
          sums[0][order][k] += side * weight / (j * step) * temme.a[order][k];
          sums[1][order][k] += side * weight / (j * step) * temme.b[order][k];
        }
    }
  }
  store(sums[0], d_small_a_);
  store(sums[1], d_small_b_);
  store(chebyshev_coefficients<large_terms>(
            split, mu_, [](long double o, long double t) { return t * std::sinh(o * t); }),
        d_large_);
}

}  // namespace strata::geostat::detail
