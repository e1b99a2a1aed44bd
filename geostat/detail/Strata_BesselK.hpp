// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BESSEL_K_HPP
#define STRATA_BESSEL_K_HPP

#include <Kokkos_Core.hpp>

namespace strata::geostat::detail {

/// The modified Bessel function of the second kind, of one order nu of (0, 50], for many arguments.
///
/// With nu = mu + s, s an integer and |mu| <= 1/2, the constructor works out on the host and in long double all
/// that depends on nu alone; an evaluation, on a host or a device, is then two or four short polynomials, a
/// logarithm or power, an exponential, and s steps of K_(k+1) = 2k/x K_k + K_(k-1), which is stable forwards:
///   x <= 2  Temme's series of x^mu K_mu and x^(mu+1) K_(mu+1), collected as A(z) + T B(z), where z = x^2/4 and
///           T = (1 - (x/2)^(2 mu)) / (2 mu), which is log(2/x) for mu = 0. Nothing overflows on the way.
///   x > 2   Chebyshev polynomials in 4/x - 1 for sqrt(x) e^x K, from its integral at their nodes.
///
/// Error    1e-13 relative where the result is a normal number (tested against Boost.Multiprecision).
/// Source   Temme, On the numerical evaluation of the modified Bessel function of the third kind, J. Comput. Phys.
///          19 (1975), doi:10.1016/0021-9991(75)90082-0; the integral: DLMF 10.32.9, by the trapezoidal rule as in
///          Trefethen & Weideman, SIAM Review 56 (2014), doi:10.1137/130932132; Clenshaw, Math. Tables Aids
///          Comput. 9 (1955). Deviation: Temme's sums are rearranged, his continued fraction is replaced.
class BesselK {
 public:
  /// On the host.
  ///
  /// Throws   ValueError unless nu is in (0, 50].
  explicit BesselK(double nu);

  KOKKOS_FUNCTION double order() const { return nu_; }

  /// K_nu(x) for x >= 0; infinite where it is above the range of fp64, as at 0.
  KOKKOS_FUNCTION double operator()(double x) const {
    if (!(x > split)) return small(x) * Kokkos::pow(x, -nu_);
    if (x > 800) return 0;
    return large(x) * Kokkos::exp(-x / 2) * Kokkos::exp(-x / 2);
  }

  /// 2^(1-nu) / Gamma(nu) x^nu K_nu(x) for x >= 0: 1 at 0, never more, and without overflow on the way.
  KOKKOS_FUNCTION double matern(double x) const {
    if (x == 0) return 1;
    if (x > 1500) return 0;
    double const value =
        !(x > split) ? small(x) : Kokkos::pow(x, nu_) * large(x) * Kokkos::exp(-x / 2);
    double const result = normalisation_ * value * (!(x > split) ? 1.0 : Kokkos::exp(-x / 2));
    return result > 1 ? 1 : result;
  }

 private:
  static constexpr double split = 2;
  static constexpr int small_terms = 14, large_terms = 30;

  void prepare_small(long double mu);
  void prepare_large(long double mu);

  template <int terms>
  KOKKOS_FUNCTION static double polynomial(double const (&c)[terms], double z) {
    double sum = c[terms - 1];
    for (int k = terms - 2; k >= 0; --k) sum = sum * z + c[k];
    return sum;
  }

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

  KOKKOS_FUNCTION static double chebyshev(double const (&c)[large_terms], double t) {
    double b1 = 0, b2 = 0;
    for (int k = large_terms - 1; k > 0; --k) {
      double const b = 2 * t * b1 - b2 + c[k];
      b2 = b1;
      b1 = b;
    }
    return t * b1 - b2 + c[0];
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

  double nu_, mu_;
  int steps_;  // nu = mu + steps
  double normalisation_;
  // [0] for the order mu, [1] for mu + 1.
  double small_a_[2][small_terms], small_b_[2][small_terms], large_[2][large_terms];
};

}  // namespace strata::geostat::detail

#endif
