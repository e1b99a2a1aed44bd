// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/detail/Strata_FitVariables.hpp>

#include <core/Strata_Errors.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata::geostat::detail {

namespace {

constexpr std::size_t of_sigma2 = 0, of_range = 1, of_nu = 2, of_nugget = 3;
constexpr double most_of_the_sill = 1 - 1e-12;  // a share; beyond it rounding hides sigma2

void check_bounds(FitOptions const& options, std::size_t k) {
  double const start = parameters_of(options.start)[k], lower = parameters_of(options.lower)[k],
               upper = parameters_of(options.upper)[k];
  STRATA_REQUIRE(ValueError, std::isfinite(lower) && std::isfinite(upper), "fit: the bounds of ",
                 parameter_names[k], " are ", lower, " and ", upper, ", must be finite");
  bool const is_in_range = k == of_nugget ? lower >= 0 : lower > 0;
  STRATA_REQUIRE(ValueError, is_in_range && lower <= start && start <= upper && lower < upper,
                 "fit: ", parameter_names[k], " starts at ", start, " with the bounds ", lower,
                 " and ", upper, ": they must be ", k == of_nugget ? "not negative" : "positive",
                 " and hold it between them, or fix it");
}

}  // namespace

FitVariables::FitVariables(FitOptions const& options, bool may_have_sill)
    : start_(parameters_of(options.start)),
      least_(parameters_of(options.lower)),
      largest_(parameters_of(options.upper)),
      fixed_(options.fixed),
      has_sill_(!options.fixed[0] &&
                (options.fixed[3] ? options.start.nugget == 0 : may_have_sill && least_[3] == 0)),
      unit_(options.start.sigma2 + options.start.nugget) {
  STRATA_REQUIRE(ValueError, options.tolerance > 0 && options.max_evaluations > 0,
                 "fit: the tolerance is ", options.tolerance, " and the evaluations are ",
                 options.max_evaluations, ", must be positive");
  STRATA_REQUIRE(ValueError, options.first_step > 0 && std::isfinite(options.first_step),
                 "fit: the first step is ", options.first_step, ", must be positive and finite");
  options.start.check();
  for (std::size_t k = 0; k < 4; ++k)
    if (!fixed_[k]) check_bounds(options, k);
  STRATA_REQUIRE(ValueError, start_[of_nu] <= 50 && (fixed_[of_nu] || largest_[of_nu] <= 50),
                 "fit: nu may reach ", largest_[of_nu], ", must be at most 50");
  auto const part = [this](double v) { return v / (v + unit_); };
  if (has_sill_ && !fixed_[of_nugget])
    add(Kind::Share, least_[of_nugget] / (least_[of_nugget] + largest_[of_sigma2]),
        std::min(most_of_the_sill,
                 largest_[of_nugget] / (largest_[of_nugget] + least_[of_sigma2])));
  if (!has_sill_ && !fixed_[of_sigma2])
    add(Kind::Sigma2, part(least_[of_sigma2]), part(largest_[of_sigma2]));
  if (!fixed_[of_range]) add(Kind::Range, std::log(least_[of_range]), std::log(largest_[of_range]));
  if (!fixed_[of_nu]) add(Kind::Nu, std::log(least_[of_nu]), std::log(largest_[of_nu]));
  if (!has_sill_ && !fixed_[of_nugget])
    add(Kind::Nugget, part(least_[of_nugget]), part(largest_[of_nugget]));
}

void FitVariables::add(Kind kind, double lower, double upper) {
  kinds_.push_back(kind);
  lower_.push_back(lower);
  upper_.push_back(upper);
}

std::optional<std::size_t> FitVariables::find(Kind kind) const {
  auto const found = std::ranges::find(kinds_, kind);
  if (found == kinds_.end()) return {};
  return static_cast<std::size_t>(found - kinds_.begin());
}

std::vector<double> FitVariables::steps(double first_step) const {
  std::vector<double> result;
  for (std::size_t i = 0; i < size(); ++i) {
    bool const is_logarithm = kinds_[i] == Kind::Range || kinds_[i] == Kind::Nu;
    result.push_back(
        std::min(is_logarithm ? first_step : first_step / 5, (upper_[i] - lower_[i]) / 4));
  }
  return result;
}

// A short range, a rough field, much nugget.
std::vector<double> FitVariables::safe() const {
  std::vector<double> result = lower_;
  for (std::size_t i = 0; i < size(); ++i)
    if (kinds_[i] == Kind::Share || kinds_[i] == Kind::Nugget)
      result[i] = (lower_[i] + upper_[i]) / 2;
  return result;
}

std::vector<double> FitVariables::at(MaternCovariance const& theta) const {
  Parameters const p = parameters_of(theta);
  std::vector<double> x;
  for (std::size_t i = 0; i < size(); ++i) {
    double const value = kinds_[i] == Kind::Share    ? p[of_nugget] / (p[of_sigma2] + p[of_nugget])
                         : kinds_[i] == Kind::Sigma2 ? p[of_sigma2] / (p[of_sigma2] + unit_)
                         : kinds_[i] == Kind::Nugget
                             ? p[of_nugget] / (p[of_nugget] + unit_)
                             : std::log(p[kinds_[i] == Kind::Nu ? of_nu : of_range]);
    x.push_back(std::clamp(value, lower_[i], upper_[i]));
  }
  return x;
}

MaternCovariance FitVariables::shape(std::span<double const> x) const {
  Parameters p = start_;
  if (has_sill_) p[of_sigma2] = 1, p[of_nugget] = 0;
  // exp(log(bound)) may leave the box by rounding.
  auto const exponential = [this](std::size_t k, double value) {
    return std::clamp(std::exp(value), least_[k], largest_[k]);
  };
  auto const variance = [this](std::size_t k, double value) {
    return std::clamp(unit_ * value / (1 - value), least_[k], largest_[k]);
  };
  for (std::size_t i = 0; i < size(); ++i) {
    if (kinds_[i] == Kind::Share) p[of_sigma2] = 1 - x[i], p[of_nugget] = x[i];
    if (kinds_[i] == Kind::Sigma2) p[of_sigma2] = variance(of_sigma2, x[i]);
    if (kinds_[i] == Kind::Range) p[of_range] = exponential(of_range, x[i]);
    if (kinds_[i] == Kind::Nu) p[of_nu] = exponential(of_nu, x[i]);
    if (kinds_[i] == Kind::Nugget) p[of_nugget] = variance(of_nugget, x[i]);
  }
  return covariance_of(p);
}

FitVariables::Sills FitVariables::sills(MaternCovariance const& shape) const {
  double const t = shape.nugget, field = shape.sigma2;
  Sills result{least_[of_sigma2] / field, largest_[of_sigma2] / field, 0, 0};
  if (!share()) return result;
  result.by_share_at_least = result.by_share_at_largest = 1 / field;
  if (least_[of_nugget] > t * result.least)
    result.least = least_[of_nugget] / t, result.by_share_at_least = -1 / t;
  if (largest_[of_nugget] < t * result.largest)
    result.largest = largest_[of_nugget] / t, result.by_share_at_largest = -1 / t;
  return result;
}

double FitVariables::sill(MaternCovariance const& shape, double rss, std::int64_t degrees) const {
  if (!has_sill_) return 1;
  auto const limits = sills(shape);
  return std::min(std::max(rss / static_cast<double>(degrees), limits.least), limits.largest);
}

bool FitVariables::sill_is_held(MaternCovariance const& shape, double sill) const {
  if (!share()) return false;
  auto const limits = sills(shape);
  return sill <= limits.least || sill >= limits.largest;
}

MaternCovariance FitVariables::theta(MaternCovariance const& shape, double sill) const {
  if (!has_sill_) return shape;
  Parameters p = parameters_of(shape);
  p[of_sigma2] = std::clamp(sill * p[of_sigma2], least_[of_sigma2], largest_[of_sigma2]);
  if (share())
    p[of_nugget] = std::clamp(sill * p[of_nugget], least_[of_nugget], largest_[of_nugget]);
  return covariance_of(p);
}

std::array<bool, 4> FitVariables::wanted() const {
  return {has_sill_ || !fixed_[of_sigma2], !fixed_[of_range], !fixed_[of_nu], !fixed_[of_nugget]};
}

std::vector<Parameters> FitVariables::jacobian(MaternCovariance const& shape) const {
  std::vector<Parameters> J(size(), Parameters{});
  auto const slope = [this](double v) { return (v + unit_) * (v + unit_) / unit_; };
  for (std::size_t i = 0; i < size(); ++i) {
    if (kinds_[i] == Kind::Share) J[i][of_sigma2] = -1, J[i][of_nugget] = 1;
    if (kinds_[i] == Kind::Sigma2) J[i][of_sigma2] = slope(shape.sigma2);
    if (kinds_[i] == Kind::Range) J[i][of_range] = shape.range;
    if (kinds_[i] == Kind::Nu) J[i][of_nu] = shape.nu;
    if (kinds_[i] == Kind::Nugget) J[i][of_nugget] = slope(shape.nugget);
  }
  return J;
}

// log s is one more variable. Its row of the information is h and h_s, its derivative g_s. It is
// eliminated where s is free, and follows the share where a bound holds.
Quadratic FitVariables::model(MaternCovariance const& shape, double sill, double rss,
                              std::int64_t degrees,
                              LikelihoodDerivatives const& derivatives) const {
  auto const J = jacobian(shape);
  auto const& information = derivatives.information;
  Parameters const of_sill = {shape.sigma2, 0, 0, shape.nugget};
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
    for (std::size_t k = 0; k < 4; ++k) {
      if (J[i][k] == 0) continue;
      result.g[i] += J[i][k] * derivatives.gradient.by[k];
      for (std::size_t l = 0; l < 4; ++l)
        if (of_sill[l] != 0) h[i] += J[i][k] * information[k][l] * of_sill[l];
    }
    result.g[i] += follows[i] * g_s;
  }
  for (std::size_t i = 0; i < size(); ++i)
    for (std::size_t j = 0; j < size(); ++j) {
      for (std::size_t k = 0; k < 4; ++k)
        for (std::size_t l = 0; l < 4; ++l) result.H[i][j] += J[i][k] * information[k][l] * J[j][l];
      result.H[i][j] += is_free
                            ? -h[i] * h[j] / h_s
                            : follows[i] * h[j] + h[i] * follows[j] + follows[i] * follows[j] * h_s;
    }
  return result;
}

std::array<bool, 4> FitVariables::at_bound(std::span<double const> x, MaternCovariance const& theta,
                                           double slack) const {
  std::array<bool, 4> result{};
  Parameters const p = parameters_of(theta);
  for (std::size_t k = 0; k < 4; ++k)
    result[k] =
        !fixed_[k] && (p[k] <= least_[k] * (1 + slack) || p[k] >= largest_[k] / (1 + slack));
  for (std::size_t i = 0; i < size(); ++i) {
    if (kinds_[i] != Kind::Share) continue;
    if (x[i] <= lower_[i] + slack) result[of_nugget] = true;
    if (x[i] >= upper_[i] - slack) result[of_sigma2] = true;
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
