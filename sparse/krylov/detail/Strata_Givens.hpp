// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_GIVENS_HPP
#define STRATA_SPARSE_DETAIL_GIVENS_HPP

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace strata::sparse::detail {

/// min_t || rho e_1 - H t ||_2 for a Hessenberg matrix that grows by columns (algorithm 3, lines 31-45).
class Givens {
 public:
  explicit Givens(double rho) : t_{rho} {}

  /// |rho e_1 - H t| of the minimiser so far.
  double residual() const { return std::abs(t_.back()); }
  std::size_t columns() const { return R_.size(); }

  /// Append the column h_1 ... h_k with `beta` below.
  void append(std::vector<double> h, double beta) {
    for (std::size_t j = 0; j + 1 < h.size(); ++j) {
      double const upper = h[j], lower = h[j + 1];
      h[j] = c_[j] * upper + s_[j] * lower;
      h[j + 1] = -s_[j] * upper + c_[j] * lower;
    }
    double const mu = std::hypot(h.back(), beta);
    c_.push_back(mu > 0 ? h.back() / mu : 1);
    s_.push_back(mu > 0 ? beta / mu : 0);
    h.back() = mu;
    double const last = t_.back();
    t_.back() = c_.back() * last;
    t_.push_back(-s_.back() * last);
    residuals_.push_back(residual());
    R_.push_back(std::move(h));
  }

  /// The minimiser; a column without a pivot is left out.
  std::vector<double> minimiser() const { return minimiser(R_.size()); }
  /// The one of the first `columns` columns.
  std::vector<double> minimiser(std::size_t columns) const {
    std::vector<double> t(t_.begin(), t_.begin() + static_cast<std::ptrdiff_t>(columns));
    for (std::size_t k = t.size(); k-- > 0;) {
      t[k] = R_[k][k] > 0 ? t[k] / R_[k][k] : 0;
      for (std::size_t j = 0; j < k; ++j) t[j] -= R_[k][j] * t[k];
    }
    return t;
  }

  /// What the last columns added to the minimiser, those before which the residual was ten times what is left; no entries
  /// where those are all.
  std::vector<double> last_decade() const {
    std::size_t columns = R_.size();
    while (columns > 0 && residuals_[columns - 1] < 10 * residual()) --columns;
    if (columns == 0) return {};
    auto last = minimiser();
    auto const first = minimiser(columns);
    for (std::size_t k = 0; k < columns; ++k) last[k] -= first[k];
    return last;
  }

 private:
  std::vector<std::vector<double>> R_;
  std::vector<double> c_, s_, t_, residuals_;
};

}  // namespace strata::sparse::detail

#endif
