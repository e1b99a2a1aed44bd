// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/detail/Strata_FitVariables.hpp>

#include <core/Strata_Errors.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata::geostat::detail {

namespace {

constexpr std::size_t of_sigma2 = 0, of_range = 1, of_nu = 2, of_nugget = 3, of_stretch = 4,
                      of_shear = 5;
constexpr double most_stretched = 4;            // kappa, where the ratio is 1/55
constexpr double most_of_the_sill = 1 - 1e-12;  // a share; beyond it rounding hides sigma2

void check_bounds(FitOptions const& options, std::size_t k) {
  // With directions the bounds of the range are the geometric mean's.
  double const mean = k == of_range && options.directions ? std::sqrt(options.start.ratio) : 1,
               start = mean * parameters_of(options.start)[k],
               lower = parameters_of(options.lower)[k], upper = parameters_of(options.upper)[k];
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
    : model_(options.start),
      start_(parameters_of(options.start)),
      least_(parameters_of(options.lower)),
      largest_(parameters_of(options.upper)),
      fixed_(options.fixed),
      has_sill_(may_have_sill && !options.fixed[0] &&
                (options.fixed[3] ? options.start.nugget == 0 : least_[3] == 0)),
      unit_(options.start.sigma2 + options.start.nugget),
      directions_(options.directions) {
  STRATA_REQUIRE(ValueError, options.tolerance > 0 && options.max_evaluations > 0,
                 "fit: the tolerance is ", options.tolerance, " and the evaluations are ",
                 options.max_evaluations, ", must be positive");
  STRATA_REQUIRE(ValueError, options.first_step > 0 && std::isfinite(options.first_step),
                 "fit: the first step is ", options.first_step, ", must be positive and finite");
  options.start.check();
  fixed_[of_nu] = fixed_[of_nu] || !has_shape(options.start.family);
  for (std::size_t k = 0; k < 4; ++k)
    if (!fixed_[k]) check_bounds(options, k);
  double const most = options.start.family == Family::PoweredExponential ? 2 : 50;
  STRATA_REQUIRE(ValueError, fixed_[of_nu] || largest_[of_nu] <= most, "fit: nu may reach ",
                 largest_[of_nu], ", must be at most ", most);
  auto const part = [this](double v) { return v / (v + unit_); };
  if (has_sill_ && !fixed_[of_nugget])
    add(Kind::Share, least_[of_nugget] / (least_[of_nugget] + largest_[of_sigma2]),
        std::min(most_of_the_sill,
                 largest_[of_nugget] / (largest_[of_nugget] + least_[of_sigma2])));
  if (!has_sill_ && !fixed_[of_sigma2])
    add(Kind::Sigma2, part(least_[of_sigma2]), part(largest_[of_sigma2]));
  // With directions that is the geometric mean of the axes' ranges.
  if (!fixed_[of_range]) add(Kind::Range, std::log(least_[of_range]), std::log(largest_[of_range]));
  if (!fixed_[of_nu]) add(Kind::Nu, std::log(least_[of_nu]), std::log(largest_[of_nu]));
  if (!has_sill_ && !fixed_[of_nugget])
    add(Kind::Nugget, part(least_[of_nugget]), part(largest_[of_nugget]));
  if (!directions_) return;
  add(Kind::East, -most_stretched, most_stretched);
  add(Kind::Diagonal, -most_stretched, most_stretched);
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
    bool const is_logarithm =
        kinds_[i] != Kind::Share && kinds_[i] != Kind::Sigma2 && kinds_[i] != Kind::Nugget;
    result.push_back(
        std::min(is_logarithm ? first_step : first_step / 5, (upper_[i] - lower_[i]) / 4));
  }
  return result;
}

// A short range, a rough field, much nugget.
std::vector<double> FitVariables::safe() const {
  std::vector<double> result = lower_;
  for (std::size_t i = 0; i < size(); ++i)
    if (kinds_[i] == Kind::Share || kinds_[i] == Kind::Nugget || kinds_[i] == Kind::East ||
        kinds_[i] == Kind::Diagonal)
      result[i] = (lower_[i] + upper_[i]) / 2;
  return result;
}

std::vector<double> FitVariables::at(MaternCovariance const& theta) const {
  Parameters p = parameters_of(theta);
  if (directions_) p[of_range] *= std::sqrt(theta.ratio);
  double const kappa = -std::log(theta.ratio), turned = 2 * radians_per_degree * theta.angle;
  std::vector<double> x;
  for (std::size_t i = 0; i < size(); ++i) {
    double const value = kinds_[i] == Kind::East       ? kappa * std::cos(turned)
                         : kinds_[i] == Kind::Diagonal ? kappa * std::sin(turned)
                         : kinds_[i] == Kind::Share  ? p[of_nugget] / (p[of_sigma2] + p[of_nugget])
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
  Covariance result = with_parameters(model_, p);
  if (directions_) {
    double const a = x[size() - 2], b = x[size() - 1], kappa = std::hypot(a, b);
    result.ratio = std::exp(-kappa);
    result.angle = std::atan2(b, a) / (2 * radians_per_degree);
    if (result.angle < 0) result.angle += 180;
    if (find(Kind::Range)) result.range *= std::exp(kappa / 2);  // else the major one is fixed
  }
  return result;
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
  return with_parameters(shape, p);
}

std::array<bool, 4> FitVariables::wanted() const {
  return {has_sill_ || !fixed_[of_sigma2], directions_ || !fixed_[of_range], !fixed_[of_nu],
          !fixed_[of_nugget]};
}

std::vector<FitVariables::Six> FitVariables::jacobian(MaternCovariance const& shape) const {
  std::vector<Six> J(size(), Six{});
  double const turned = 2 * radians_per_degree * shape.angle, c = std::cos(turned),
               s = std::sin(turned);
  auto const slope = [this](double v) { return (v + unit_) * (v + unit_) / unit_; };
  for (std::size_t i = 0; i < size(); ++i) {
    if (kinds_[i] == Kind::Share) J[i][of_sigma2] = -1, J[i][of_nugget] = 1;
    if (kinds_[i] == Kind::Sigma2) J[i][of_sigma2] = slope(shape.sigma2);
    if (kinds_[i] == Kind::Range) J[i][of_range] = shape.range;
    if (kinds_[i] == Kind::Nu) J[i][of_nu] = shape.nu;
    if (kinds_[i] == Kind::Nugget) J[i][of_nugget] = slope(shape.nugget);
    if (kinds_[i] == Kind::East) J[i][of_stretch] = c, J[i][of_shear] = -s;
    if (kinds_[i] == Kind::Diagonal) J[i][of_stretch] = s, J[i][of_shear] = c;
    // Stretch and shear hold the geometric mean of the ranges; with a fixed major one it falls.
    if (kinds_[i] == Kind::East && fixed_[of_range]) J[i][of_range] = -c * shape.range / 2;
    if (kinds_[i] == Kind::Diagonal && fixed_[of_range]) J[i][of_range] = -s * shape.range / 2;
  }
  return J;
}

FitVariables::AllDerivatives FitVariables::all_of(LikelihoodDerivatives const& derivatives) {
  AllDerivatives all{};
  for (std::size_t k = 0; k < 4; ++k) {
    all.by[k] = derivatives.gradient.by[k];
    std::copy_n(derivatives.information[k].begin(), 4, all.information[k].begin());
  }
  for (std::size_t d = 0; d < 2; ++d) {
    all.by[of_stretch + d] = derivatives.by_directions[d];
    all.information[of_stretch + d] = derivatives.information_of_directions[d];
    for (std::size_t k = 0; k < 4; ++k)
      all.information[k][of_stretch + d] = all.information[of_stretch + d][k];
  }
  return all;
}

// log s is one more variable. Its row of the information is h and h_s, its derivative g_s. It is
// eliminated where s is free, and follows the share where a bound holds.
Quadratic FitVariables::model(MaternCovariance const& shape, double sill, double rss,
                              std::int64_t degrees,
                              LikelihoodDerivatives const& derivatives) const {
  auto const J = jacobian(shape);
  auto const [by, information] = all_of(derivatives);
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
    for (std::size_t k = 0; k < by.size(); ++k) {
      if (J[i][k] == 0) continue;
      result.g[i] += J[i][k] * by[k];
      for (std::size_t l = 0; l < 4; ++l)
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

std::array<bool, 4> FitVariables::at_bound(std::span<double const> x, MaternCovariance const& theta,
                                           double slack) const {
  std::array<bool, 4> result{};
  Parameters p = parameters_of(theta);
  if (directions_) p[of_range] *= std::sqrt(theta.ratio);
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
