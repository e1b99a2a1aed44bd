// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/fit/detail/Strata_FitVariables.hpp>

#include <core/Strata_Errors.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata::geostat::detail {

namespace {

constexpr std::size_t of_sigma2 = By::sigma2, of_range = By::range, of_nu = By::nu,
                      of_nugget = By::nugget;
constexpr double most_stretched = 4;            // kappa, where the ratio is 1/55
constexpr double most_of_the_sill = 1 - 1e-12;  // a share; beyond it rounding hides sigma2
constexpr double most_of_the_field = 1 - 1e-9;  // the second structure's share

// An estimate at a bound may be beyond it by rounding, as a mean or ratio of ranges that it keeps.
bool is_within(double start, double lower, double upper) {
  constexpr double rounding = 1e-12;
  return lower * (1 - rounding) <= start && start <= upper * (1 + rounding);
}

void check_bounds(FitOptions const& options, std::size_t k) {
  // With directions the bounds of the range are the geometric mean's.
  double const mean = k == of_range && options.directions ? std::sqrt(options.start.ratio) : 1,
               start = mean * parameters_of(options.start)[k],
               lower = parameters_of(options.lower)[k], upper = parameters_of(options.upper)[k];
  STRATA_REQUIRE(ValueError, std::isfinite(lower) && std::isfinite(upper), "fit: the bounds of ",
                 parameter_names[k], " are ", lower, " and ", upper, ", must be finite");
  bool const is_in_range = k == of_nugget ? lower >= 0 : lower > 0;
  STRATA_REQUIRE(ValueError, is_in_range && is_within(start, lower, upper) && lower < upper,
                 "fit: ", parameter_names[k], " starts at ", start, " with the bounds ", lower,
                 " and ", upper, ": they must be ", k == of_nugget ? "not negative" : "positive",
                 " and hold it between them, or fix it");
}

void check_axis(double start, double lower, double upper) {
  STRATA_REQUIRE(ValueError, lower > 0 && is_within(start, lower, upper) && lower < upper,
                 "fit: the range of a coordinate starts at ", start, " with the bounds ", lower,
                 " and ", upper, ", which must be positive and hold it between them");
}

// A start and its bounds, of a parameter of the second structure.
void check_second(char const* name, double start, double lower, double upper, double least) {
  STRATA_REQUIRE(
      ValueError,
      std::isfinite(upper) && lower >= least && is_within(start, lower, upper) && lower < upper,
      "fit: ", name, " of the second structure starts at ", start, " with the bounds ", lower,
      " and ", upper, ", which must hold it between them, or fix it");
}

// Whether the second structure may have any share of the field: its own bounds say nothing then.
bool may_have_any_share(FitOptions const& options) {
  auto const &second = options.start.second, &lower = options.lower.second,
             &upper = options.upper.second;
  return !second || (!options.fixed_second[0] && lower && lower->sigma2 == 0 && upper &&
                     upper->sigma2 >= options.upper.sigma2);
}

double most_nu(Family family) { return family == Family::PoweredExponential ? 2 : 50; }

}  // namespace

FitVariables::FitVariables(FitOptions const& options, bool may_have_sill)
    : model_(options.start),
      start_(parameters_of(options.start)),
      least_(parameters_of(options.lower)),
      largest_(parameters_of(options.upper)),
      fixed_(options.fixed),
      fixed_second_(options.fixed_second),
      lower_second_(options.lower.second),
      upper_second_(options.upper.second),
      has_sill_(may_have_sill && !options.fixed[0] && may_have_any_share(options) &&
                (options.fixed[3] ? options.start.nugget == 0 : least_[3] == 0)),
      unit_(options.start.field() + options.start.nugget),
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
  double const most = most_nu(options.start.family);
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
  if (model_.second) add_second();
  if (!directions_) return;
  constexpr double widest = 1e12;  // as far apart as ranges may be
  STRATA_REQUIRE(ValueError, !model_.has_axes() || largest_[of_range] <= widest * least_[of_range],
                 "fit: the bounds of the ranges are ", least_[of_range], " and ",
                 largest_[of_range], ", their ratio must be at most ", widest);
  for (double const axis : model_.axes) {
    check_axis(model_.range * axis, least_[of_range], largest_[of_range]);
    add(Kind::Axis, std::log(least_[of_range]), std::log(largest_[of_range]));
  }
  if (model_.has_axes()) return;
  add(Kind::East, -most_stretched, most_stretched);
  add(Kind::Diagonal, -most_stretched, most_stretched);
}

void FitVariables::add_second() {
  SecondStructure const& start = *model_.second;
  STRATA_REQUIRE(ValueError, lower_second_ && upper_second_,
                 "fit: the start has a second structure, the bounds have none");
  fixed_second_[2] = fixed_second_[2] || !has_shape(start.family);
  double const mean = directions_ ? std::sqrt(model_.ratio) : 1;
  SecondStructure const &lower = *lower_second_, &upper = *upper_second_;
  if (!fixed_second_[0]) {
    check_second("sigma2", start.sigma2, lower.sigma2, upper.sigma2, 0);
    if (has_sill_)
      add(Kind::Second, 0, most_of_the_field);
    else
      add(Kind::Second, lower.sigma2 / (lower.sigma2 + unit_),
          upper.sigma2 / (upper.sigma2 + unit_));
  }
  if (!fixed_second_[1]) {
    check_second("range", mean * start.range, lower.range, upper.range, 1e-150);
    add(Kind::Range2, std::log(lower.range), std::log(upper.range));
  }
  if (fixed_second_[2]) return;
  check_second("nu", start.nu, lower.nu, upper.nu, 1e-150);
  STRATA_REQUIRE(ValueError, upper.nu <= most_nu(start.family),
                 "fit: nu of the second structure may reach ", upper.nu, ", must be at most ",
                 most_nu(start.family));
  add(Kind::Nu2, std::log(lower.nu), std::log(upper.nu));
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
    bool const is_logarithm = kinds_[i] != Kind::Share && kinds_[i] != Kind::Sigma2 &&
                              kinds_[i] != Kind::Nugget && kinds_[i] != Kind::Second;
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
  double const mean = directions_ ? std::sqrt(theta.ratio) : 1;
  SecondStructure const second = theta.second.value_or(SecondStructure{});
  double const kappa = -std::log(theta.ratio), turned = 2 * radians_per_degree * theta.angle;
  auto const part = [this](double v) { return v / (v + unit_); };
  std::size_t axis = 0;
  auto const value = [&](Kind kind) {
    switch (kind) {
      case Kind::Share:
        return theta.nugget / (theta.field() + theta.nugget);
      case Kind::Sigma2:
        return part(theta.sigma2);
      case Kind::Range:
        return std::log(mean * theta.range);
      case Kind::Nu:
        return std::log(theta.nu);
      case Kind::Nugget:
        return part(theta.nugget);
      case Kind::Second:
        return has_sill_ ? second.sigma2 / theta.field() : part(second.sigma2);
      case Kind::Range2:
        return std::log(mean * second.range);
      case Kind::Nu2:
        return std::log(second.nu);
      case Kind::Axis:
        return std::log(
            std::clamp(theta.range * theta.axes[axis++], least_[of_range], largest_[of_range]));
      case Kind::East:
        return kappa * std::cos(turned);
      default:
        return kappa * std::sin(turned);
    }
  };
  std::vector<double> x;
  for (std::size_t i = 0; i < size(); ++i)
    x.push_back(std::clamp(value(kinds_[i]), lower_[i], upper_[i]));
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
  if (result.second) take_second(x, result);
  if (directions_ && result.has_axes()) {
    take_axes(x, result);
  } else if (directions_) {
    double const a = x[size() - 2], b = x[size() - 1], kappa = std::hypot(a, b);
    result.ratio = std::exp(-kappa);
    result.angle = std::atan2(b, a) / (2 * radians_per_degree);
    if (result.angle < 0) result.angle += 180;
    if (find(Kind::Range)) result.range *= std::exp(kappa / 2);  // else the major one is fixed
    if (find(Kind::Range2)) result.second->range *= std::exp(kappa / 2);
  }
  return result;
}

void FitVariables::take_axes(std::span<double const> x, Covariance& shape) const {
  for (std::size_t k = 0; k < shape.axes.size(); ++k)
    shape.axes[k] =
        std::clamp(std::exp(x[first_axis() + k]), least_[of_range], largest_[of_range]) /
        shape.range;
}

void FitVariables::take_second(std::span<double const> x, Covariance& shape) const {
  SecondStructure& second = *shape.second;
  for (std::size_t i = 0; i < size(); ++i) {
    if (kinds_[i] == Kind::Second && has_sill_) {
      second.sigma2 = shape.sigma2 * x[i];
      shape.sigma2 *= 1 - x[i];
    } else if (kinds_[i] == Kind::Second) {
      second.sigma2 =
          std::clamp(unit_ * x[i] / (1 - x[i]), lower_second_->sigma2, upper_second_->sigma2);
    }
    if (kinds_[i] == Kind::Range2)
      second.range = std::clamp(std::exp(x[i]), lower_second_->range, upper_second_->range);
    if (kinds_[i] == Kind::Nu2)
      second.nu = std::clamp(std::exp(x[i]), lower_second_->nu, upper_second_->nu);
  }
}

FitVariables::Sills FitVariables::sills(MaternCovariance const& shape) const {
  double const t = shape.nugget, field = shape.field();
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
  double const field = std::clamp(sill * shape.field(), least_[of_sigma2], largest_[of_sigma2]);
  p[of_sigma2] = shape.second ? shape.sigma2 * (field / shape.field()) : field;
  if (share())
    p[of_nugget] = std::clamp(sill * p[of_nugget], least_[of_nugget], largest_[of_nugget]);
  Covariance result = with_parameters(shape, p);
  if (result.second) result.second->sigma2 *= field / shape.field();
  return result;
}

Wanted FitVariables::wanted() const {
  bool const has_second = model_.second.has_value();
  bool const turned = directions_ && !model_.has_axes();
  Wanted result = {has_sill_ || !fixed_[of_sigma2],
                   turned || !fixed_[of_range],
                   !fixed_[of_nu],
                   !fixed_[of_nugget],
                   turned,
                   turned,
                   has_second && !fixed_second_[0],
                   has_second && (turned || !fixed_second_[1]),
                   has_second && !fixed_second_[2]};
  for (std::size_t k = 0; directions_ && k < model_.axes.size(); ++k) result[By::axis + k] = true;
  return result;
}

std::array<bool, 4> FitVariables::at_bound(std::span<double const> x, MaternCovariance const& theta,
                                           double slack) const {
  std::array<bool, 4> result{};
  Parameters p = parameters_of(theta);
  if (directions_) p[of_range] *= std::sqrt(theta.ratio);
  if (has_sill_) p[of_sigma2] = theta.field();
  for (std::size_t k = 0; k < 4; ++k)
    result[k] =
        !fixed_[k] && (p[k] <= least_[k] * (1 + slack) || p[k] >= largest_[k] / (1 + slack));
  for (std::size_t i = 0; i < size(); ++i) {
    bool const is_all_second = has_sill_ && kinds_[i] == Kind::Second && x[i] >= upper_[i] - slack;
    if (is_all_second) result[of_sigma2] = true;
    if (kinds_[i] != Kind::Share) continue;
    if (x[i] <= lower_[i] + slack) result[of_nugget] = true;
    if (x[i] >= upper_[i] - slack) result[of_sigma2] = true;
  }
  return result;
}

std::vector<bool> FitVariables::axis_at_bound(std::span<double const> x, double slack) const {
  std::vector<bool> result;
  for (std::size_t i = 0; i < size(); ++i)
    if (kinds_[i] == Kind::Axis)
      result.push_back(x[i] <= lower_[i] + slack || x[i] >= upper_[i] - slack);
  return result;
}

std::array<bool, 3> FitVariables::second_at_bound(std::span<double const> x, double slack) const {
  std::array<bool, 3> result{};
  for (std::size_t i = 0; i < size(); ++i) {
    bool const is_low = x[i] <= lower_[i] + slack, is_high = x[i] >= upper_[i] - slack;
    // All of the field is the end of the first structure, not of the second.
    if (kinds_[i] == Kind::Second) result[0] = is_low || (is_high && !has_sill_);
    if (kinds_[i] == Kind::Range2) result[1] = is_low || is_high;
    if (kinds_[i] == Kind::Nu2) result[2] = is_low || is_high;
  }
  return result;
}

}  // namespace strata::geostat::detail
