// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_FIELD_HPP
#define STRATATEST_FIELD_HPP

#include <geostat/Strata_Matern.hpp>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace strata::test {

using namespace geostat;

using Numbers = std::vector<long double>;

/// A Gaussian field's sums in long double, one loop each: what the library is compared with.
class SlowField {
 public:
  SlowField(MaternCovariance const& covariance, Locations const& at)
      : SlowField(at.size(), [&](std::int64_t i, std::int64_t j) -> long double {
          return covariance(at.distance(i, j)) + (i == j ? covariance.nugget : 0);
        }) {}
  /// A field whose covariance matrix has these entries.
  template <class Entry>
  SlowField(std::int64_t n, Entry const& entry) : n_(n), L_(n_ * n_) {
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t i = j; i < n_; ++i) {
        long double sum = entry(i, j);
        for (std::int64_t k = 0; k < j; ++k) sum -= L(i, k) * L(j, k);
        L(i, j) = i == j ? std::sqrt(sum) : sum / L(j, j);
      }
  }

  long double log_det() const {
    long double sum = 0;
    for (std::int64_t i = 0; i < n_; ++i) sum += 2 * std::log(L(i, i));
    return sum;
  }
  /// a' S^-1 b.
  long double form(Numbers a, Numbers b) const {
    forward(a), forward(b);
    return dot(a, b);
  }
  /// S^-1 b.
  Numbers solve(Numbers b) const {
    forward(b);
    for (std::int64_t i = n_ - 1; i >= 0; --i) {
      for (std::int64_t k = i + 1; k < n_; ++k) b[i] -= L(k, i) * b[k];
      b[i] /= L(i, i);
    }
    return b;
  }
  /// The log-likelihood, with the mean taken from y.
  long double log_likelihood(Numbers const& y, bool with_mean) const {
    Numbers const ones(y.size(), 1);
    long double const mean = with_mean ? form(ones, y) / form(ones, ones) : 0;
    Numbers r = y;
    for (auto& value : r) value -= mean;
    return -0.5L * (static_cast<long double>(n_) * std::log(2 * std::numbers::pi_v<long double>) +
                    log_det() + form(r, r));
  }

 private:
  static long double dot(Numbers const& a, Numbers const& b) {
    long double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }
  void forward(Numbers& v) const {
    for (std::int64_t i = 0; i < n_; ++i) {
      for (std::int64_t k = 0; k < i; ++k) v[i] -= L(i, k) * v[k];
      v[i] /= L(i, i);
    }
  }
  long double& L(std::int64_t i, std::int64_t j) { return L_[i + j * n_]; }
  long double const& L(std::int64_t i, std::int64_t j) const { return L_[i + j * n_]; }

  std::int64_t n_;
  Numbers L_;
};

/// Values that are no field's, but differ everywhere.
inline std::vector<double> some_values(std::int64_t n) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(3 + std::sin(7.3 * static_cast<double>(i)));
  return values;
}

}  // namespace strata::test

#endif
