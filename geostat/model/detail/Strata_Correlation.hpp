// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_CORRELATION_HPP
#define STRATA_CORRELATION_HPP

#include <geostat/model/Strata_Family.hpp>
#include <geostat/model/detail/Strata_BesselK.hpp>

#include <Kokkos_Core.hpp>

namespace strata::geostat::detail {

inline bool has_closed_form(double nu) { return nu == 0.5 || nu == 1.5 || nu == 2.5; }

// 2^(1-nu) / Gamma(nu) x^nu K_nu(x) for nu = 1/2, 3/2, 5/2.
KOKKOS_INLINE_FUNCTION double matern_closed_form(double nu, double x) {
  double const polynomial = nu == 0.5 ? 1.0 : nu == 1.5 ? 1.0 + x : 1.0 + x + x * x / 3;
  return x > 800 ? 0.0 : polynomial * Kokkos::exp(-x);  // avoids inf * 0
}

// The same and -x times its derivative by x; nothing of the one by nu.
KOKKOS_INLINE_FUNCTION MaternTerms matern_closed_terms(double nu, double x) {
  if (x > 800) return {0, 0, 0};
  double const value = nu == 0.5 ? 1.0 : nu == 1.5 ? 1.0 + x : 1.0 + x + x * x / 3;
  double const slope = nu == 0.5 ? x : nu == 1.5 ? x * x : x * x * (1 + x) / 3;
  double const decay = Kokkos::exp(-x);
  return {value * decay, slope * decay, 0};
}

/// rho(x) of a family other than Matern's, -x times its derivative by x, and the one by nu, which
/// is 0 where the family has none; for x >= 0.
///
/// Error    a few ulp, and of the powered exponential x^nu ulp; tested against 60 digits.
KOKKOS_INLINE_FUNCTION MaternTerms plain_terms(Family family, double nu, double x) {
  if (family == Family::Spherical) {
    if (!(x < 1)) return {0, 0, 0};
    return {(1 - x) * (1 - x) * (1 + x / 2), 1.5 * x * (1 - x) * (1 + x), 0};
  }
  if (x == 0) return {1, 0, 0};
  double const power = family == Family::Gaussian ? 2 : nu,
               q = family == Family::Gaussian ? x * x : Kokkos::pow(x, nu);
  if (q > 800) return {0, 0, 0};  // avoids inf * 0
  double const value = Kokkos::exp(-q);
  bool const has_power = family == Family::PoweredExponential;
  return {value, power * q * value, has_power ? -Kokkos::log(x) * q * value : 0.0};
}

}  // namespace strata::geostat::detail

#endif
