// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_SLOW_GRADIENT_HPP
#define STRATATEST_SLOW_GRADIENT_HPP

#include "StrataTest_Field.hpp"

#include <boost/math/special_functions/bessel.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::test {

/// sigma2, range, nu and nugget.
using Wide = std::array<long double, 4>;

inline Wide wide(MaternCovariance const& c) { return {c.sigma2, c.range, c.nu, c.nugget}; }

/// An entry of the covariance matrix by the definition.
inline long double wide_entry(Wide const& theta, Locations const& at, std::int64_t i,
                              std::int64_t j) {
  if (i == j) return theta[0] + theta[3];
  long double const x = at.distance(i, j) / theta[1], nu = theta[2];
  return theta[0] * std::exp2(1 - nu) / std::tgamma(nu) * std::pow(x, nu) *
         boost::math::cyl_bessel_k(nu, x);
}

/// The derivative of f by a parameter: differences of order 8, whose error is about 1e-16 f in the
/// logarithm. A nugget of 0 has none: its steps are a hundredth of `at_zero`, which must be below
/// S's least eigenvalue.
template <class Function>
auto difference(Wide const& theta, std::size_t parameter, Function const& f,
                long double at_zero = 1e-5L) {
  constexpr std::array<long double, 4> weight = {4 / 5.0L, -1 / 5.0L, 4 / 105.0L, -1 / 280.0L};
  long double const h = 0.01L * (theta[parameter] > 0 ? theta[parameter] : at_zero);
  auto sum = 0 * f(theta);
  for (std::size_t k = 0; k < weight.size(); ++k)
    for (int const side : {-1, 1}) {
      Wide moved = theta;
      moved[parameter] += side * static_cast<long double>(k + 1) * h;
      sum += side * weight[k] / h * f(moved);
    }
  return sum;
}

/// S^-1 and the four S_k in long double, by columns. S is linear in sigma2 and nugget, and
/// symmetric.
struct SlowMatrices {
  std::int64_t n;
  Numbers inverse;
  std::array<Numbers, 4> derivative;

  SlowMatrices(MaternCovariance const& c, Locations const& at) : n(at.size()) {
    Wide const theta = wide(c);
    SlowField const S(n,
                      [&](std::int64_t i, std::int64_t j) { return wide_entry(theta, at, i, j); });
    derivative.fill(Numbers(static_cast<std::size_t>(n * n)));
    for (std::int64_t j = 0; j < n; ++j) {
      Numbers unit(static_cast<std::size_t>(n));
      unit[static_cast<std::size_t>(j)] = 1;
      Numbers const column = S.solve(unit);
      inverse.insert(inverse.end(), column.begin(), column.end());
      for (std::int64_t i = j; i < n; ++i) {
        auto const entry = [&](Wide const& moved) { return wide_entry(moved, at, i, j); };
        Wide const by = {entry({1, theta[1], theta[2], 0}), difference(theta, 1, entry),
                         difference(theta, 2, entry), i == j ? 1.0L : 0.0L};
        for (std::size_t k = 0; k < 4; ++k)
          derivative[k][static_cast<std::size_t>(i + n * j)] =
              derivative[k][static_cast<std::size_t>(j + n * i)] = by[k];
      }
    }
  }
};

}  // namespace strata::test

#endif
