// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_HARD_MATRICES_HPP
#define STRATATEST_HARD_MATRICES_HPP

#include "dense/StrataTest_Dense.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

// Matrices that are nearly singular, as users bring them, and what they are in long double.
namespace strata::test {

/// The number of an environment variable, by which a study of hundreds of cases is asked for.
inline int setting(char const* name, int otherwise) {
  char const* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

/// A = L L^T in long double, of A's lower triangle.
class ExactFactor {
 public:
  explicit ExactFactor(HostMatrix const& A) : n_(A.extent(0)), L_(n_ * n_) {
    for (std::size_t i = 0; i < n_ && ok_; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        long double t = A(i, j);
        for (std::size_t k = 0; k < j; ++k) t -= at(i, k) * at(j, k);
        if (i == j && !(t > 0)) {
          ok_ = false;
          return;
        }
        at(i, j) = i == j ? std::sqrt(t) : t / at(j, j);
      }
  }

  /// Whether there is one.
  bool ok() const { return ok_; }
  double log_determinant() const {
    long double sum = 0;
    for (std::size_t i = 0; i < n_; ++i) sum += 2 * std::log(at(i, i));
    return static_cast<double>(sum);
  }
  /// x = A^-1 x, whose first `zeros` numbers are 0.
  void solve(std::vector<long double>& x, std::size_t zeros = 0) const {
    for (std::size_t i = zeros; i < n_; ++i) {
      long double t = x[i];
      for (std::size_t k = zeros; k < i; ++k) t -= at(i, k) * x[k];
      x[i] = t / at(i, i);
    }
    for (std::size_t i = n_; i-- > 0;) {
      x[i] /= at(i, i);
      for (std::size_t k = 0; k < i; ++k) x[k] -= at(i, k) * x[i];
    }
  }
  /// ||A^-1||_1
  double norm_of_inverse() const {
    long double norm = 0;
    for (std::size_t c = 0; c < n_; ++c) {
      std::vector<long double> x(n_, 0);
      x[c] = 1;
      solve(x, c);
      long double sum = 0;
      for (long double const number : x) sum += std::abs(number);
      norm = std::max(norm, sum);
    }
    return static_cast<double>(norm);
  }

 private:
  long double& at(std::size_t i, std::size_t j) { return L_[i * n_ + j]; }
  long double at(std::size_t i, std::size_t j) const { return L_[i * n_ + j]; }

  std::size_t n_;
  std::vector<long double> L_;
  bool ok_ = true;
};

/// ||A||_1 of a symmetric matrix.
inline double norm_of(HostMatrix const& A) {
  double norm = 0;
  for (std::size_t j = 0; j < A.extent(1); ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < A.extent(0); ++i) sum += std::abs(A(i, j));
    norm = std::max(norm, sum);
  }
  return norm;
}

/// a + I e: one large eigenvalue, and all others e.
inline HostMatrix ones_and(double e, std::int64_t n) {
  HostMatrix const A("strata::test::ones", n, n);
  Kokkos::deep_copy(A, 1.0);
  for (std::int64_t i = 0; i < n; ++i) A(i, i) += e;
  return A;
}

/// Draws of matrices.
class HardMatrices {
 public:
  explicit HardMatrices(unsigned seed) : random_(seed) {}

  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  double power_of_ten(double low, double high) { return std::pow(10, uniform(low, high)); }
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }

  /// Stations in the unit square, of which `pairs` nearly coincide, at this distance; any two
  /// indices.
  std::vector<std::pair<double, double>> stations(std::int64_t n, std::int64_t pairs,
                                                  double distance) {
    std::vector<std::pair<double, double>> at(static_cast<std::size_t>(n));
    for (auto& [x, y] : at) x = uniform(), y = uniform();
    if (integer(0, 1) == 0) std::ranges::sort(at);
    for (; pairs > 0; --pairs) {
      auto const& from = at[static_cast<std::size_t>(integer(0, n - 1))];
      double const turn = uniform(0, 2 * std::numbers::pi);
      at[static_cast<std::size_t>(integer(0, n - 1))] = {from.first + distance * std::cos(turn),
                                                         from.second + distance * std::sin(turn)};
    }
    return at;
  }

  /// A covariance of such stations: exponential, Matern of 3/2 or 5/2, of a power between, or
  /// squared exponential.
  HostMatrix covariance(std::vector<std::pair<double, double>> const& at, double range,
                        double nugget) {
    std::int64_t const kind = integer(0, 4), n = static_cast<std::int64_t>(at.size());
    HostMatrix const A("strata::test::A", n, n);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) {
        auto const &a = at[static_cast<std::size_t>(i)], &b = at[static_cast<std::size_t>(j)];
        double const s = std::hypot(a.first - b.first, a.second - b.second) / range;
        A(i, j) = (i == j ? nugget : 0) + correlation(kind, s);
      }
    return A;
  }

  /// 1 to 5 near pairs at distances of 1e-12 to 1e-3, without a nugget in every second.
  HostMatrix near_pairs(std::int64_t least, std::int64_t most) {
    auto const at = stations(integer(least, most), integer(1, 5), power_of_ten(-12, -3));
    double const range = power_of_ten(-2, 0);
    return covariance(at, range, integer(0, 1) == 0 ? 0 : power_of_ten(-12, -4));
  }

  /// Another kind: a known spectrum, Hilbert's, ones, minij, a process in time, Wishart, an arrow.
  HostMatrix other(std::int64_t n) {
    double const condition = power_of_ten(0, 14), e = 1 / condition;
    std::int64_t const kind = integer(0, 6);
    if (kind == 0) {
      GeneratorOptions options;
      options.condition = condition;
      return generate(MatrixKind::Geometric, n, options);
    }
    if (kind == 1) return ones_and(e, n);
    HostMatrix const A("strata::test::A", n, n), W = random_matrix(n, n + 2, unsigned(random_()));
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) A(i, j) = entry(kind, i, j, n, e, W);
    return A;
  }

 private:
  static double correlation(std::int64_t kind, double s) {
    return kind == 0   ? std::exp(-s)
           : kind == 1 ? (1 + s) * std::exp(-s)
           : kind == 2 ? (1 + s + s * s / 3) * std::exp(-s)
           : kind == 3 ? std::exp(-std::pow(s, 1.5))
                       : std::exp(-s * s);
  }
  static double entry(std::int64_t kind, std::int64_t i, std::int64_t j, std::int64_t n, double e,
                      HostMatrix const& W) {
    if (kind == 2) return 1 / static_cast<double>(i + j + 1) + (i == j ? e : 0);
    if (kind == 3) return static_cast<double>(std::min(i, j) + 1);
    if (kind == 4) return std::pow(1 - e, std::abs(static_cast<double>(i - j)));
    if (kind == 6) return i == j ? static_cast<double>(n) : i == 0 ? W(j, 0) : j == 0 ? W(i, 0) : 0;
    double sum = 0;
    for (std::size_t k = 0; k < W.extent(1); ++k) {
      auto const row = static_cast<std::size_t>(i), col = static_cast<std::size_t>(j);
      sum += W(row, k) * W(col, k);
    }
    return sum;
  }

  std::mt19937_64 random_;
};

}  // namespace strata::test

#endif
