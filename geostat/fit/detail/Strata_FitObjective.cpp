// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// How a log-likelihood depends on what a fit varies.
#include <geostat/fit/detail/Strata_FitObjective.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace strata::geostat::detail {

std::vector<OfEach> FitVariables::jacobian(MaternCovariance const& shape) const {
  std::vector<OfEach> J(size(), OfEach{});
  SecondStructure const second = shape.second.value_or(SecondStructure{});
  double const field = shape.field();
  double const turned = 2 * radians_per_degree * shape.angle, c = std::cos(turned),
               s = std::sin(turned);
  auto const slope = [this](double v) { return (v + unit_) * (v + unit_) / unit_; };
  for (std::size_t i = 0; i < size(); ++i) {
    if (kinds_[i] == Kind::Share) {
      J[i][By::sigma2] = shape.second ? -shape.sigma2 / field : -1;
      J[i][By::sigma2_2] = -second.sigma2 / field, J[i][By::nugget] = 1;
    }
    if (kinds_[i] == Kind::Second && has_sill_) J[i][By::sigma2] = -field;
    if (kinds_[i] == Kind::Second) J[i][By::sigma2_2] = has_sill_ ? field : slope(second.sigma2);
    if (kinds_[i] == Kind::Range2) J[i][By::range_2] = second.range;
    if (kinds_[i] == Kind::Nu2) J[i][By::nu_2] = second.nu;
    if (kinds_[i] == Kind::Sigma2) J[i][By::sigma2] = slope(shape.sigma2);
    if (kinds_[i] == Kind::Range) J[i][By::range] = shape.range;
    if (kinds_[i] == Kind::Axis) J[i][By::axis + i - first_axis()] = 1;
    // The ranges of the others stay, which x's derivative takes along.
    for (std::size_t k = 0; directions_ && k < shape.axes.size(); ++k)
      if (kinds_[i] == Kind::Range) J[i][By::axis + k] = -1;
    if (kinds_[i] == Kind::Nu) J[i][By::nu] = shape.nu;
    if (kinds_[i] == Kind::Nugget) J[i][By::nugget] = slope(shape.nugget);
    if (kinds_[i] == Kind::East) J[i][By::stretch] = c, J[i][By::shear] = -s;
    if (kinds_[i] == Kind::Diagonal) J[i][By::stretch] = s, J[i][By::shear] = c;
    // Stretch and shear hold the geometric mean of the ranges; with a fixed major one it falls.
    if (kinds_[i] == Kind::East && fixed_[By::range]) J[i][By::range] = -c * shape.range / 2;
    if (kinds_[i] == Kind::Diagonal && fixed_[By::range]) J[i][By::range] = -s * shape.range / 2;
    if (!shape.second || !fixed_second_[1]) continue;
    if (kinds_[i] == Kind::East) J[i][By::range_2] = -c * second.range / 2;
    if (kinds_[i] == Kind::Diagonal) J[i][By::range_2] = -s * second.range / 2;
  }
  return J;
}

// log s is one more variable. Its row of the information is h and h_s, its derivative g_s. It is
// eliminated where s is free, and follows the share where a bound holds.
Quadratic FitVariables::model(MaternCovariance const& shape, double sill, double rss,
                              std::int64_t degrees,
                              LikelihoodDerivatives const& derivatives) const {
  auto const J = jacobian(shape);
  auto const& by = derivatives.by;
  auto const& information = derivatives.information;
  OfEach of_sill{};
  of_sill[By::sigma2] = shape.sigma2, of_sill[By::nugget] = shape.nugget;
  if (shape.second) of_sill[By::sigma2_2] = shape.second->sigma2;
  double const h_s = rss / (2 * sill), g_s = h_s - static_cast<double>(degrees) / 2;
  double by_share = 0;
  bool is_free = has_sill_;
  if (has_sill_) {
    auto const limits = sills(shape);
    is_free = sill > limits.least && sill < limits.largest;
    by_share = sill <= limits.least ? limits.by_share_at_least : limits.by_share_at_largest;
  }
  Quadratic result;
  std::vector<double> h(size(), 0), follows(size(), 0);
  result.g.assign(size(), 0);
  result.H.assign(size(), std::vector<double>(size(), 0));
  for (std::size_t i = 0; i < size(); ++i) {
    if (!is_free && kinds_[i] == Kind::Share) follows[i] = by_share;
    for (std::size_t k = 0; k < by.size(); ++k) {
      if (J[i][k] == 0) continue;
      result.g[i] += J[i][k] * by[k];
      for (std::size_t l = 0; l < by.size(); ++l)
        if (of_sill[l] != 0) h[i] += J[i][k] * information[k][l] * of_sill[l];
    }
    result.g[i] += follows[i] * g_s;
  }
  for (std::size_t i = 0; i < size(); ++i)
    for (std::size_t j = 0; j < size(); ++j) {
      for (std::size_t k = 0; k < by.size(); ++k)
        for (std::size_t l = 0; l < by.size(); ++l)
          if (J[i][k] != 0 && J[j][l] != 0) result.H[i][j] += J[i][k] * information[k][l] * J[j][l];
      result.H[i][j] += is_free
                            ? -h[i] * h[j] / h_s
                            : follows[i] * h[j] + h[i] * follows[j] + follows[i] * follows[j] * h_s;
    }
  return result;
}

double reach_above(Quadratic const& model, std::size_t variable) {
  constexpr double quantile = 3.841458820694124;  // chi-square, one degree of freedom, 95 %
  // The curvature and slope that are left once the others follow: their part is what a step of them
  // alone gains.
  Quadratic others;
  std::vector<double> coupling;
  for (std::size_t i = 0; i < model.g.size(); ++i) {
    if (i == variable) continue;
    others.g.push_back(model.H[i][variable]);
    others.H.emplace_back();
    for (std::size_t j = 0; j < model.g.size(); ++j)
      if (j != variable) others.H.back().push_back(model.H[i][j]);
  }
  std::vector<double> const zero(others.g.size(), 0), low(others.g.size(), -1e9),
      high(others.g.size(), 1e9);
  double const h = model.H[variable][variable] - 2 * best_step(others, zero, low, high, 1e8).gain,
               g = std::min(0.0, model.g[variable]);
  if (!(h > 1e-9 * model.H[variable][variable])) return g < 0 ? quantile / (-2 * g) : HUGE_VAL;
  return (g + std::sqrt(g * g + quantile * h)) / h;
}

}  // namespace strata::geostat::detail
