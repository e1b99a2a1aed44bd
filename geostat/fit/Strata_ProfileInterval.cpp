// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/fit/Strata_ProfileInterval.hpp>

#include <core/Strata_Stopwatch.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>

#include <boost/math/special_functions/erf.hpp>
#include <boost/math/tools/toms748_solve.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace strata::geostat {

namespace {

// The bounds of sigma2 are the field's where there is a second structure: a first one below them
// may be as little as makes no difference, less than the share of the field that a fit leaves it.
FitOptions with_bounds_about(FitOptions options, MaternCovariance const& estimate) {
  constexpr double least_share = 1e-15;
  if (estimate.second && estimate.sigma2 < options.lower.sigma2)
    options.lower.sigma2 = std::min(estimate.sigma2, least_share * estimate.field());
  return options;
}

void check(FitOptions const& options, MaternCovariance const& estimate, std::size_t parameter,
           ProfileOptions const& how) {
  bool const has_second = estimate.second.has_value();
  STRATA_REQUIRE(ValueError, parameter < (has_second ? 7 : 4),
                 "profile_interval: there is no parameter ", parameter,
                 "; 0 to 3 are sigma2, range, nu and nugget",
                 has_second ? ", 4 to 6 sigma2, range and nu of the second structure" : "");
  STRATA_REQUIRE(ValueError, !is_fixed(options, parameter),
                 "profile_interval: ", all_parameter_names[parameter], " is fixed");
  STRATA_REQUIRE(ValueError, how.level > 0 && how.level < 1, "profile_interval: the level is ",
                 how.level, ", must be in (0, 1)");
  STRATA_REQUIRE(ValueError,
                 how.tolerance > 0 && how.tolerance < 1 && how.first_step >= 0 &&
                     std::isfinite(how.first_step),
                 "profile_interval: the tolerance is ", how.tolerance, " and the first step ",
                 how.first_step, ", must be in (0, 1), and not negative and finite");
  STRATA_REQUIRE(ValueError, !has_second || (options.lower.second && options.upper.second),
                 "profile_interval: the estimate has a second structure, the bounds have none");
  bool const is_range = parameter == 1 || parameter == 5;
  double const mean = is_range && options.directions ? std::sqrt(estimate.ratio) : 1,
               value = mean * parameter_of(estimate, parameter),
               lower = parameter_of(options.lower, parameter),
               upper = parameter_of(options.upper, parameter);
  constexpr double rounding = 1e-12;
  STRATA_REQUIRE(ValueError, lower * (1 - rounding) <= value && value <= upper * (1 + rounding),
                 "profile_interval: ", all_parameter_names[parameter], " is estimated as ", value,
                 " with the bounds ", lower, " and ", upper);
}

// What the ends are sought in: a logarithm; of a variance that may be 0, one that ends there.
struct Scale {
  double offset;

  static Scale of(FitOptions const& options, MaternCovariance const& estimate,
                  std::size_t parameter) {
    bool const may_be_zero = parameter_of(options.lower, parameter) == 0;
    return {may_be_zero ? 1e-3 * (estimate.field() + estimate.nugget) : 0};
  }
  double to(double value) const { return std::log(value + offset); }
  double from(double logarithm) const { return std::exp(logarithm) - offset; }
};

// The largest log-likelihood over the other parameters, at one value of this.
template <class Exec>
class Profile {
 public:
  Profile(Exec const& exec, ooc::DeviceTeam<Exec> const& team, Locations const& locations,
          std::span<double const> values, FitOptions const& options, Scale const& scale,
          double most_error, ProfileInterval& result)
      : exec_(exec),
        team_(team),
        locations_(locations),
        values_(values),
        options_(options),
        scale_(scale),
        most_error_(most_error),
        result_(result) {
    auto const k = result.parameter;
    (k < 4 ? options_.fixed[k] : options_.fixed_second[k - 4]) = true;
    options_.factor.rule = ooc::PrecisionRule{};
    options_.tolerance = std::max(options.tolerance, 1e-4);  // l is flat there: 1e-8 of its scale
    options_.first_step = 0.1;
  }
  // The next value's fit begins at these parameters.
  void begin_at(MaternCovariance const& theta) { options_.start = theta; }

  // NaN where no covariance matrix was positive definite, or rounding leaves more than the error
  // that is allowed.
  double operator()(double logarithm) {
    auto const k = result_.parameter;
    double const held = std::clamp(scale_.from(logarithm), parameter_of(options_.lower, k),
                                   parameter_of(options_.upper, k));
    if (k == 1) keep_ranges_of_axes(held);
    options_.start = with_parameter(options_.start, k, held);
    Fit const found = fit(exec_, team_, locations_, values_, options_);
    double const value = found.likelihood.log_likelihood;
    ++result_.fits;
    result_.evaluations += found.evaluations;
    is_rounding_ = found.likelihood.error() > most_error_;
    if (std::isnan(value) || is_rounding_) return std::numeric_limits<double>::quiet_NaN();
    result_.converged = result_.converged && found.converged;
    options_.start = found.theta;
    if (std::isnan(result_.log_likelihood) || value > result_.log_likelihood) {
      result_.log_likelihood = value;
      result_.best = found.theta;
    }
    return value;
  }
  // The other coordinates' ranges stay, as near as bounds allow, where the first becomes this.
  void keep_ranges_of_axes(double range) {
    for (double& axis : options_.start.axes)
      axis = std::clamp(options_.start.range * axis, options_.lower.range, options_.upper.range) /
             range;
  }
  // Whether the last NaN was of the second kind.
  bool is_rounding() const { return is_rounding_; }

 private:
  Exec const& exec_;
  ooc::DeviceTeam<Exec> const& team_;
  Locations const& locations_;
  std::span<double const> values_;
  FitOptions options_;
  Scale scale_;
  double most_error_;
  bool is_rounding_ = false;
  ProfileInterval& result_;
};

// The first root of `function`, negative at `from`, in steps towards `bound` that double; or where
// it is defined last.
template <class Function>
std::pair<double, EndOf> find_end(Function const& function, double from, double at_from,
                                  double bound, double step, double tolerance) {
  double undefined = HUGE_VAL;  // the least distance at which it is
  auto const guarded = [&](double at) {
    double const value = function(at);
    if (!std::isnan(value)) return value;
    undefined = std::min(undefined, std::abs(at - from));
    return -at_from;
  };
  auto const is_close = [&](double a, double b) {
    return std::abs(a - b) <= tolerance * std::max(std::abs(a - from), std::abs(b - from));
  };
  double inner = from, at_inner = at_from;
  for (;; step *= 2) {
    double const outer =
        bound < from ? std::max(bound, inner - step) : std::min(bound, inner + step);
    if (outer == inner) return {inner, EndOf::Bound};
    double const at_outer = guarded(outer);
    if (at_outer < 0) {
      inner = outer, at_inner = at_outer;
      continue;
    }
    bool const is_above = outer > inner;
    std::uintmax_t most = 50;
    auto const [low, high] = is_above
                                 ? boost::math::tools::toms748_solve(
                                       guarded, inner, outer, at_inner, at_outer, is_close, most)
                                 : boost::math::tools::toms748_solve(
                                       guarded, outer, inner, at_outer, at_inner, is_close, most);
    double const near = is_above ? low : high, far = is_above ? high : low;
    return std::abs(far - from) >= undefined ? std::pair(near, EndOf::Undefined)
                                             : std::pair((near + far) / 2, EndOf::Level);
  }
}

}  // namespace

template <class Exec>
ProfileInterval profile_interval(Exec const& exec, ooc::DeviceTeam<Exec> const& team,
                                 Locations const& locations, std::span<double const> values,
                                 FitOptions const& options, MaternCovariance const& estimate,
                                 std::size_t parameter, ProfileOptions const& how) {
  Region const region(exec, "strata::geostat::profile_interval");
  Stopwatch const watch;
  FitOptions const bounded = with_bounds_about(options, estimate);
  check(bounded, estimate, parameter, how);
  ProfileInterval result{.parameter = parameter,
                         .level = how.level,
                         .log_likelihood = std::numeric_limits<double>::quiet_NaN()};
  // The quantile of chi-square with one degree of freedom is that of |normal| squared.
  double const reach = std::sqrt(2.0) * boost::math::erf_inv(how.level);
  double const fall_at_ends = reach * reach / 2;
  auto const scale = Scale::of(bounded, estimate, parameter);
  Profile<Exec> profile(exec, team, locations, values, bounded, scale, fall_at_ends / 10, result);
  double const value = parameter_of(estimate, parameter), center = scale.to(value);
  profile.begin_at(estimate);
  double const top = profile(center);
  auto const done = [&] {
    result.seconds = watch.seconds();
    return result;
  };
  if (profile.is_rounding()) {
    result.best = estimate;
    result.lower = result.upper = {value, EndOf::Undefined};
    return done();
  }
  STRATA_REQUIRE(ValueError, !std::isnan(top), "profile_interval: at the estimate, ",
                 to_string(estimate), ", the covariance matrix is not positive definite");
  MaternCovariance const middle = result.best;
  auto const fall = [&](double logarithm) {
    double const fallen = 2 * (top - profile(logarithm));
    return std::copysign(std::sqrt(std::abs(fallen)), fallen) - reach;
  };
  double const step = reach * (how.first_step > 0 ? how.first_step : 0.25);
  auto const end = [&](MaternCovariance const& bounds) {
    profile.begin_at(middle);
    double const bound = parameter_of(bounds, parameter);
    auto const [logarithm, what] =
        find_end(fall, center, -reach, scale.to(bound), step, how.tolerance);
    return ProfileEnd{what == EndOf::Bound ? bound : scale.from(logarithm), what};
  };
  result.lower = end(bounded.lower);
  result.upper = end(bounded.upper);
  result.above_estimate = result.log_likelihood - top;
  return done();
}

#define STRATA_INSTANTIATE(Exec)                                                            \
  template ProfileInterval profile_interval<Exec>(                                          \
      Exec const&, ooc::DeviceTeam<Exec> const&, Locations const&, std::span<double const>, \
      FitOptions const&, MaternCovariance const&, std::size_t, ProfileOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
