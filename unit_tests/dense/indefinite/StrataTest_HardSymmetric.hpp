// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TEST_HARD_SYMMETRIC_HPP
#define STRATA_TEST_HARD_SYMMETRIC_HPP

#include <core/io/Strata_HostMatrix.hpp>
#include <core/problems/Strata_Random.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

// Symmetric systems that are not definite, and what long double says of them.
namespace strata::test {

/// Signs of the eigenvalues and log |det A| by Bunch and Parlett's complete pivoting in long
/// double.
struct LongLdlt {
  std::int64_t positive = 0, negative = 0;
  long double log = 0;
  /// least over largest magnitude of a pivot: how near A is to a singular matrix, about
  long double least = 1;
};

class BunchParlett {
 public:
  explicit BunchParlett(HostMatrix const& A) : n_(static_cast<std::int64_t>(A.extent(0))) {
    a_.resize(static_cast<std::size_t>(n_ * n_));
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t i = j; i < n_; ++i) at(i, j) = at(j, i) = A(i, j);
  }
  LongLdlt operator()() {
    for (std::int64_t k = 0; k < n_;) k += step(k);
    result_.least = smallest_ / std::max(largest_, smallest_);
    if (n_ == 0) result_.least = 1;
    return result_;
  }

 private:
  using Number = long double;
  Number& at(std::int64_t i, std::int64_t j) { return a_[static_cast<std::size_t>(i + j * n_)]; }
  void exchange(std::int64_t p, std::int64_t q) {
    for (std::int64_t i = 0; i < n_; ++i) std::swap(at(i, p), at(i, q));
    for (std::int64_t i = 0; i < n_; ++i) std::swap(at(p, i), at(q, i));
  }
  void note(Number eigenvalue) {
    ++(eigenvalue > 0 ? result_.positive : result_.negative);
    result_.log += std::log(std::abs(eigenvalue));
    smallest_ = std::min(smallest_, std::abs(eigenvalue));
    largest_ = std::max(largest_, std::abs(eigenvalue));
  }
  std::int64_t step(std::int64_t k) {
    std::int64_t diagonal = k, row = k, col = k;
    for (std::int64_t j = k; j < n_; ++j) {
      if (std::abs(at(j, j)) > std::abs(at(diagonal, diagonal))) diagonal = j;
      for (std::int64_t i = j + 1; i < n_; ++i)
        if (std::abs(at(i, j)) > (row == col ? 0 : std::abs(at(row, col)))) row = i, col = j;
    }
    Number const off = row == col ? 0 : std::abs(at(row, col));
    if (std::abs(at(diagonal, diagonal)) >= 0.6403882032022076L * off) {
      exchange(k, diagonal);
      Number const d = at(k, k);
      note(d);
      for (std::int64_t j = k + 1; j < n_ && d != 0; ++j)
        for (std::int64_t i = k + 1; i < n_; ++i) at(i, j) -= at(i, k) / d * at(k, j);
      return 1;
    }
    exchange(k, col);
    exchange(k + 1, row == k ? col : row);
    Number const a = at(k, k), b = at(k + 1, k), c = at(k + 1, k + 1);
    Number const half = (a + c) / 2, root = std::sqrt((a - c) * (a - c) / 4 + b * b);
    note(half + root);
    note(half - root);
    Number const det = a * c - b * b;
    for (std::int64_t j = k + 2; j < n_; ++j) {
      Number const p = (c * at(k, j) - b * at(k + 1, j)) / det,
                   q = (a * at(k + 1, j) - b * at(k, j)) / det;
      for (std::int64_t i = k + 2; i < n_; ++i) at(i, j) -= at(i, k) * p + at(i, k + 1) * q;
    }
    return 2;
  }

  std::int64_t n_;
  std::vector<Number> a_;
  LongLdlt result_;
  Number smallest_ = std::numeric_limits<Number>::max(), largest_ = 0;
};

/// The kinds of `hard_symmetric`.
inline std::vector<std::string> const hard_kinds{
    "random",       "saddle",     "kriging",  "kkt",    "shifted", "graded",
    "exchange",     "zero block", "scaled",   "huge",   "tiny",    "nearly",
    "antidiagonal", "definite",   "negative", "hugest", "tiniest"};

/// Element (i, j), i >= j, of a hard matrix of order n.
inline double hard_entry(std::string const& kind, std::int64_t n, std::int64_t i, std::int64_t j,
                         std::uint64_t seed) {
  double const r =
      2 * uniform(seed, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j)) - 1;
  auto const m = static_cast<double>(n);
  std::int64_t const first = n - n / 3;  // where a second block begins
  bool const in_first = i < first, in_second = j >= first;
  double const distance = static_cast<double>(i - j);
  if (kind == "saddle") return in_first ? (i == j ? 2 : r / m) : in_second ? 0 : r;
  if (kind == "kriging") {  // a covariance bordered by a mean's columns
    std::int64_t const columns = std::min<std::int64_t>(3, n / 4);
    bool const is_mean = i >= n - columns;
    if (!is_mean) return std::exp(-distance / 20);
    if (j >= n - columns) return 0;
    return std::pow(static_cast<double>(j) / m, static_cast<double>(i - n + columns));
  }
  if (kind == "kkt")  // weights of an interior-point method
    return in_first    ? (i == j ? std::pow(10, 8 * (r + 0.3)) : 0)
           : in_second ? (i == j ? -1e-8 : 0)
                       : r;
  if (kind == "shifted")  // -1, 2, -1 without an eigenvalue, almost
    return i == j ? 2 - (2 - 2 * std::cos(std::numbers::pi * std::floor(0.4 * m + 1) / (m + 1))) *
                            (1 + 1e-9)
                  : (distance == 1 ? -1 : 0);
  if (kind == "graded") return r * std::pow(10, -10 * static_cast<double>(i) / m);
  if (kind == "exchange") return i + j == n - 1 || (i == j && i % 3 == 0 && 2 * i != n - 1) ? 1 : 0;
  if (kind == "zero block") return in_first && j < first && i < n / 2 ? 0 : r;
  if (kind == "scaled")
    return r * std::pow(10, 120 * (uniform(seed + 7, static_cast<std::uint64_t>(i)) - 0.5)) *
           std::pow(10, 120 * (uniform(seed + 7, static_cast<std::uint64_t>(j)) - 0.5));
  if (kind == "huge") return 1e150 * r;
  if (kind == "tiny") return 1e-150 * r;
  if (kind == "hugest") return 1e300 * r;
  if (kind == "tiniest") return 1e-300 * r;
  if (kind == "nearly") return i == j ? 1e-9 * (r > 0 ? 1 : -1) + 1 : 1;
  if (kind == "antidiagonal") return i + j >= n - 1 ? 1 + (i + j == n - 1 ? r : 0) : 0;
  if (kind == "definite") return i == j ? 2 + m : r;
  if (kind == "negative") return i == j ? -2 - m : r;
  return r;
}

/// A hard matrix; what is above the diagonal must not be read.
inline HostMatrix hard_symmetric(std::string const& kind, std::int64_t n, std::uint64_t seed) {
  HostMatrix const A("strata::test::A", static_cast<std::size_t>(n), static_cast<std::size_t>(n));
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      A(i, j) = i < j ? std::nan("") : hard_entry(kind, n, i, j, seed);
  return A;
}

/// max_j ||b_j - A x_j||_inf / (||A||_inf ||x_j||_inf + ||b_j||_inf), sums in long double.
inline double symmetric_backward_error(HostMatrix const& A, HostMatrix const& B,
                                       HostMatrix const& X) {
  auto const n = A.extent(0);
  long double worst = 0;
  for (std::size_t c = 0; c < B.extent(1); ++c) {
    long double residual = 0, norm = 0, x = 0, b = 0;
    for (std::size_t i = 0; i < n; ++i) {
      long double r = B(i, c), row = 0;
      for (std::size_t j = 0; j < n; ++j) {
        long double const a = i >= j ? A(i, j) : A(j, i);
        r -= a * X(j, c);
        row += std::abs(a);
      }
      residual = std::max(residual, std::abs(r));
      norm = std::max(norm, row);
      x = std::max<long double>(x, std::abs(X(i, c)));
      b = std::max<long double>(b, std::abs(B(i, c)));
    }
    if (norm * x + b > 0) worst = std::max(worst, residual / (norm * x + b));
  }
  return static_cast<double>(worst);
}

}  // namespace strata::test

#endif
