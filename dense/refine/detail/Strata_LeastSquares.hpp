// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DENSE_DETAIL_LEAST_SQUARES_HPP
#define STRATA_DENSE_DETAIL_LEAST_SQUARES_HPP

#include <cmath>
#include <cstddef>
#include <vector>

namespace strata::dense::detail {

/// min_y || beta e1 - H y ||_2 for a Hessenberg matrix H that grows by columns; Givens rotations.
class HessenbergLeastSquares {
 public:
  explicit HessenbergLeastSquares(double beta) : g_{beta} {}

  /// Columns so far.
  std::size_t size() const { return R_.size(); }

  /// The least residual with the columns so far.
  double residual() const { return std::abs(g_.back()); }

  /// Append (h, below): the column's entries down to the diagonal and the one below it.
  void append(std::vector<double> h, double below) {
    for (std::size_t k = 0; k + 1 < h.size(); ++k) {
      double const upper = h[k];
      h[k] = c_[k] * upper + s_[k] * h[k + 1];
      h[k + 1] = c_[k] * h[k + 1] - s_[k] * upper;
    }
    double const radius = std::hypot(h.back(), below);
    // A column that depends on the others can't make the residual smaller.
    bool const dependent = !(radius > 0x1p-52 * norm(h));
    double const c = dependent ? 0 : h.back() / radius, s = dependent ? 1 : below / radius;
    h.back() = dependent ? 0 : radius;
    c_.push_back(c);
    s_.push_back(s);
    double const upper = g_.back();
    g_.back() = c * upper;
    g_.push_back(-s * upper);
    R_.push_back(std::move(h));
  }

  /// The minimiser, padded with zeros to `length`. A last column that depends on the others is left
  /// out.
  std::vector<double> solve(std::size_t length) const {
    std::size_t steps = size();
    while (steps > 0 && R_[steps - 1].back() == 0) --steps;
    std::vector<double> y(length, 0.0);
    for (std::size_t k = steps; k-- > 0;) {
      double value = g_[k];
      for (std::size_t j = k + 1; j < steps; ++j) value -= R_[j][k] * y[j];
      y[k] = value / R_[k][k];
    }
    return y;
  }

 private:
  static double norm(std::vector<double> const& column) {
    double result = 0;
    for (double const entry : column) result = std::hypot(result, entry);
    return result;
  }

  std::vector<std::vector<double>> R_;  // upper triangle by columns
  std::vector<double> c_, s_, g_;       // rotations and rotated right-hand side
};

}  // namespace strata::dense::detail

#endif
