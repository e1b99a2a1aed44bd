// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BESSEL_K_HPP
#define STRATA_BESSEL_K_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>

namespace strata::geostat::detail {

/// The modified Bessel function of the second kind, of one order nu of (0, 50], for many arguments.
///
/// With nu = mu + s, s an integer and |mu| <= 1/2, the constructor works out all that depends on nu
/// alone, on the host and in long double. An evaluation, on a host or a device, then takes two or
/// four short polynomials, a logarithm or power, and an exponential. Last come s steps of K_(k+1) =
/// 2k/x K_k + K_(k-1), which is stable forwards:
///   x <= 2  Temme's series of x^mu K_mu and x^(mu+1) K_(mu+1), collected as A(z) + T B(z), where
///           z = x^2/4 and T = (1 - (x/2)^(2 mu)) / (2 mu), which is log(2/x) for mu = 0. Nothing
///           overflows on the way.
///   x > 2   Chebyshev polynomials in 4/x - 1 for sqrt(x) e^x K, from its integral at their nodes.
///
/// Error    1e-13 relative where the result is a normal number (tested against
///          Boost.Multiprecision).
/// Source   Temme, On the numerical evaluation of the modified Bessel function of the third kind,
///          J. Comput. Phys. 19 (1975), doi:10.1016/0021-9991(75)90082-0; the integral: DLMF
///          10.32.9, by the trapezoidal rule as in Trefethen & Weideman, SIAM Review 56 (2014),
///          doi:10.1137/130932132; Clenshaw, Math. Tables Aids Comput. 9 (1955). Deviation: Temme's
///          sums are rearranged, his continued fraction is replaced.
class BesselK {
 public:
  /// On the host, in 0.7 ms.
  ///
  /// Throws   ValueError unless nu is in (0, 50].
  explicit BesselK(double nu);

  /// Nothing is worked out: for whoever has a closed form, and needs the order alone.
  struct OrderAlone {
    double nu;
  };
  explicit BesselK(OrderAlone const& order);

  KOKKOS_FUNCTION double order() const { return nu_; }

  /// K_nu(x) for x >= 0; infinite where it is above the range of fp64, as at 0.
  KOKKOS_FUNCTION double operator()(double x) const {
    if (!(x > split)) return small(x) * Kokkos::pow(x, -nu_);
    if (x > 800) return 0;
    return large(x) * Kokkos::exp(-x / 2) * Kokkos::exp(-x / 2);
  }

  /// 2^(1-nu) / Gamma(nu) x^nu K_nu(x) for x >= 0: 1 at 0, never more, and without overflow on the
  /// way.
  KOKKOS_FUNCTION double matern(double x) const {
    if (x == 0) return 1;
    if (x > 1500) return 0;
    double const value =
        !(x > split) ? small(x) : Kokkos::pow(x, nu_) * large(x) * Kokkos::exp(-x / 2);
    double const result = normalisation_ * value * (!(x > split) ? 1.0 : Kokkos::exp(-x / 2));
    return result > 1 ? 1 : result;
  }

  /// The same times e^x, for 0 < x <= 1000.
  KOKKOS_FUNCTION double scaled_matern(double x) const {
    return normalisation_ *
           (!(x > split) ? small(x) * Kokkos::exp(x) : Kokkos::pow(x, nu_) * large(x));
  }

 protected:
  static constexpr double split = 2;
  static constexpr std::size_t small_terms = 14, large_terms = 30;
  // [0] for the order mu, [1] for mu + 1.
  using Small = double[2][small_terms];
  using Large = double[2][large_terms];

  template <std::size_t terms>
  KOKKOS_FUNCTION static double polynomial(double const (&c)[terms], double z) {
    double sum = c[terms - 1];
    for (int k = terms - 2; k >= 0; --k) sum = sum * z + c[k];
    return sum;
  }

  KOKKOS_FUNCTION static double chebyshev(double const (&c)[large_terms], double t) {
    double b1 = 0, b2 = 0;
    for (int k = large_terms - 1; k > 0; --k) {
      double const b = 2 * t * b1 - b2 + c[k];
      b2 = b1;
      b1 = b;
    }
    return t * b1 - b2 + c[0];
  }

  double nu_, mu_;
  int steps_;  // nu = mu + steps
  double normalisation_;
  Small small_a_, small_b_;
  Large large_;

 private:
  // x^nu K_nu(x) for 0 <= x <= split.
  KOKKOS_FUNCTION double small(double x) const {
    // For nu >= 1/2 it is constant to rounding below 1e-30, where (x/2)^(2 mu) could overflow.
    if (steps_ > 0 && x < 1e-30) x = 1e-30;
    double const z = x * x / 4, logarithm = -Kokkos::log(x / 2);
    double const T = mu_ == 0 ? logarithm : -Kokkos::expm1(-2 * mu_ * logarithm) / (2 * mu_);
    double before = polynomial(small_a_[0], z) + T * polynomial(small_b_[0], z);
    if (steps_ == 0) return before;
    double value = polynomial(small_a_[1], z) + T * polynomial(small_b_[1], z);
    for (int k = 1; k < steps_; ++k) {
      double const next = 2 * (mu_ + k) * value + x * x * before;
      before = value;
      value = next;
    }
    return value;
  }

  // e^x K_nu(x) for x > split.
  KOKKOS_FUNCTION double large(double x) const {
    double const t = 2 * split / x - 1, scale = 1 / Kokkos::sqrt(x);
    double before = scale * chebyshev(large_[0], t);
    if (steps_ == 0) return before;
    double value = scale * chebyshev(large_[1], t);
    for (int k = 1; k < steps_; ++k) {
      double const next = 2 * (mu_ + k) / x * value + before;
      before = value;
      value = next;
    }
    return value;
  }
};

/// The Matern correlation M(x) = 2^(1-nu) / Gamma(nu) x^nu K_nu(x) and its derivatives by the
/// logarithm of the range, -x M'(x), and by nu.
struct MaternTerms {
  double value, by_log_range, by_nu;
};

/// These, of one order nu of (0, 50], for many arguments.
///
/// -x M'(x) has K_(nu-1) for K_nu, and x for one factor. K has no elementary derivative by its
/// order, but all of BesselK's steps have one. The constructor differentiates the coefficients of
/// the polynomials. The power in T and the recurrence have derivatives, too; terms of one sign keep
/// the recurrence stable.
///
/// Error    of by_nu 1e-13 (1 + 1/nu + log x) M(x) for x > 2, and 1e-13 (1 + 1/nu) for x <= 2,
///          where it is a difference; of by_log_range 1e-13 relative for x > 2, and 1e-13 for x <=
///          2 (tested against Boost.Multiprecision).
/// Source   the derivative by x: DLMF 10.29.4; otherwise as BesselK.
class MaternGradient : private BesselK {
 public:
  /// On the host. Throws   ValueError unless nu is in (0, 50].
  explicit MaternGradient(double nu);
  /// As of BesselK.
  using BesselK::OrderAlone;
  explicit MaternGradient(OrderAlone const& order);

  KOKKOS_FUNCTION MaternTerms operator()(double x) const {
    if (x == 0) return {1, 0, 0};
    if (x > 1500) return {0, 0, 0};
    MaternTerms m = x > split ? large(x, Kokkos::exp(-x / 2)) : small(x);
    m.value = Kokkos::min(1.0, m.value);
    return m;
  }

  /// The same times e^x, for 0 < x <= 1000.
  KOKKOS_FUNCTION MaternTerms scaled(double x) const {
    if (x > split) return large(x, 1);
    MaternTerms const m = small(x);
    double const factor = Kokkos::exp(x);
    return {m.value * factor, m.by_log_range * factor, m.by_nu * factor};
  }

 private:
  // K of an order and of the order below, each times the power or exponential that it comes with,
  // and the derivative by the order.
  struct Pair {
    double before, value, d_before, d_value;

    // K_(k+1) = factor K_k + weight K_(k-1), the factor's derivative being d_factor.
    KOKKOS_FUNCTION void step(double factor, double d_factor, double weight) {
      double const next = factor * value + weight * before,
                   d_next = d_factor * value + factor * d_value + weight * d_before;
      before = value, d_before = d_value;
      value = next, d_value = d_next;
    }
  };

  // T = (1 - e^-s) / (2 mu) and its derivative by mu, s = 2 mu logarithm.
  KOKKOS_FUNCTION void power(double logarithm, double& T, double& d_T) const {
    double const s = 2 * mu_ * logarithm;
    T = mu_ == 0 ? logarithm : -Kokkos::expm1(-s) / (2 * mu_);
    if (Kokkos::abs(s) > 0.5) {
      d_T = (logarithm * Kokkos::exp(-s) - T) / mu_;
      return;
    }
    // T = logarithm (1 - s/2! + s^2/3! - ...).
    double sum = 1;
    for (int k = 13; k > 0; --k) sum = 1 - s * (k + 1) / (k * (k + 2)) * sum;
    d_T = -logarithm * logarithm * sum;
  }

  KOKKOS_FUNCTION MaternTerms small(double x) const {
    if (steps_ > 0 && x < 1e-30) x = 1e-30;
    double const z = x * x / 4;
    double T, d_T;
    power(-Kokkos::log(x / 2), T, d_T);
    double K[2], d_K[2];  // x^order K of the orders mu and mu + 1
    for (int o = 0; o < 2; ++o) {
      double const b = polynomial(small_b_[o], z);
      K[o] = polynomial(small_a_[o], z) + T * b;
      d_K[o] = polynomial(d_small_a_[o], z) + T * polynomial(d_small_b_[o], z) + d_T * b;
    }
    if (steps_ == 0) return terms(normalisation_, K[0], K[1] - 2 * mu_ * K[0], d_K[0], slope_);
    Pair pair{K[0], K[1], d_K[0], d_K[1]};
    for (int k = 1; k < steps_; ++k) pair.step(2 * (mu_ + k), 2, x * x);
    return terms(normalisation_, pair.value, x * x * pair.before, pair.d_value, slope_);
  }

  // `half` is e^(-x/2), or 1 of what is scaled by e^x.
  KOKKOS_FUNCTION MaternTerms large(double x, double half) const {
    double const t = 2 * split / x - 1;
    double const scale = Kokkos::pow(x, nu_) * half / Kokkos::sqrt(x) * normalisation_ * half;
    double const slope = slope_ - Kokkos::log(x);
    Pair pair{chebyshev(large_[0], t), chebyshev(large_[1], t), chebyshev(d_large_[0], t),
              chebyshev(d_large_[1], t)};
    if (steps_ == 0)
      return terms(scale, pair.before, x * pair.value - 2 * mu_ * pair.before, pair.d_before,
                   slope);
    for (int k = 1; k < steps_; ++k) pair.step(2 * (mu_ + k) / x, 2 / x, 1);
    return terms(scale, pair.value, x * pair.before, pair.d_value, slope);
  }

  // Of c K, where `lower` is -x d/dx (c K) / c, and c has the derivative -slope c by the order.
  KOKKOS_FUNCTION static MaternTerms terms(double c, double K, double lower, double d_K,
                                           double slope) {
    return {c * K, Kokkos::max(0.0, c * lower), c * (d_K - slope * K)};
  }

  double slope_;  // -d log(normalisation) / d nu = log 2 + digamma(nu)
  Small d_small_a_, d_small_b_;
  Large d_large_;
};

}  // namespace strata::geostat::detail

#endif
