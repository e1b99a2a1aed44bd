// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_HESSENBERG_LEAST_SQUARES_HPP
#define STRATA_HESSENBERG_LEAST_SQUARES_HPP

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace strata {

/// min_y ||beta e_1 - H y||_2 for a Hessenberg matrix H that grows by columns, by Givens rotations.
///
/// A column that depends on the columns before it, up to rounding, gets no pivot: its entry of y is
/// 0. The row that would have been its pivot's waits for a later column.
class HessenbergLeastSquares {
 public:
  /// No column yet: the residual is |beta|.
  explicit HessenbergLeastSquares(double beta) : open_{0}, g_{beta} {}

  /// Columns so far.
  std::size_t columns() const { return R_.size(); }
  /// The least residual with the columns so far.
  double residual() const { return norm(g_, open_); }

  /// Append a column: its entries down to the diagonal, and the one below it.
  void append(std::vector<double> h, double below) {
    open_.push_back(h.size());
    h.push_back(below);
    g_.push_back(0);
    for (Rotation const& rotation : rotations_) rotation.apply(h);
    double const size = norm(h, open_);
    bool const is_dependent = !(size > 0x1p-52 * std::hypot(size, norm(h, pivots_)));
    pivots_.push_back(is_dependent ? none : open_.front());
    if (!is_dependent) {
      for (std::size_t k = 1; k < open_.size(); ++k) eliminate(h, open_.front(), open_[k]);
      open_.erase(open_.begin());
    }
    residuals_.push_back(residual());
    R_.push_back(std::move(h));
  }

  /// The minimiser with all columns.
  std::vector<double> minimiser() const { return minimiser(columns()); }
  /// The minimiser with the first columns alone, at most all.
  std::vector<double> minimiser(std::size_t first) const {
    std::vector<double> y(first, 0.0), g = g_;
    for (std::size_t k = first; k-- > 0;) {
      if (pivots_[k] == none) continue;
      y[k] = g[pivots_[k]] / R_[k][pivots_[k]];
      for (std::size_t j = 0; j < k; ++j)
        if (pivots_[j] != none) g[pivots_[j]] -= R_[k][pivots_[j]] * y[k];
    }
    return y;
  }

  /// The part of the minimiser that the last columns added. Before these columns the residual was
  /// ten times what is left. It has no entries where all columns are such.
  std::vector<double> last_decade() const {
    std::size_t first = columns();
    while (first > 0 && residuals_[first - 1] < 10 * residual()) --first;
    if (first == 0) return {};
    auto last = minimiser();
    auto const before = minimiser(first);
    for (std::size_t k = 0; k < first; ++k) last[k] -= before[k];
    return last;
  }

 private:
  static constexpr std::size_t none = ~std::size_t(0);
  struct Rotation {
    std::size_t upper, lower;  // rows
    double c, s;
    void apply(std::vector<double>& x) const {
      double const a = x[upper], b = x[lower];
      x[upper] = c * a + s * b;
      x[lower] = c * b - s * a;
    }
  };

  static double norm(std::vector<double> const& x, std::vector<std::size_t> const& rows) {
    double result = 0;
    for (std::size_t const row : rows)
      if (row != none) result = std::hypot(result, x[row]);
    return result;
  }
  // h[lower] = 0.
  void eliminate(std::vector<double>& h, std::size_t upper, std::size_t lower) {
    double const radius = std::hypot(h[upper], h[lower]);
    if (radius == 0) return;
    rotations_.push_back({upper, lower, h[upper] / radius, h[lower] / radius});
    rotations_.back().apply(g_);
    h[upper] = radius;
    h[lower] = 0;
  }

  std::vector<std::vector<double>> R_;  // columns after the rotations
  std::vector<std::size_t> pivots_;     // of each column its pivot's row, or none
  std::vector<std::size_t> open_;       // rows that are no pivot's
  std::vector<Rotation> rotations_;
  std::vector<double> g_, residuals_;  // the right-hand side after them; residuals by columns
};

}  // namespace strata

#endif
