// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PROFILE_INTERVAL_HPP
#define STRATA_PROFILE_INTERVAL_HPP

#include <core/Strata_EnumNames.hpp>
#include <geostat/fit/Strata_Fit.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace strata::geostat {

/// Which interval, and how sharp its ends.
struct ProfileOptions {
  double level = 0.95;  ///< level of confidence; in (0, 1)
  /// tolerance of an end, relative to its distance from the estimate in logarithms
  double tolerance = 1e-3;
  double first_step = 0;  ///< about a standard error of the logarithm; 0: 0.25
};

/// What an end of a profile interval is.
enum class EndOf : std::uint8_t {
  Level,  ///< the log-likelihood has fallen there by as much as the level says
  Bound,  ///< the bound of the fit, where it has not fallen so far: the interval may go on
  /// The last value, to the tolerance, at which the log-likelihood was known. It is known if the
  /// covariance matrix was positive definite, and rounding (`Likelihood::error`) less than a tenth
  /// of the fall that ends an interval.
  Undefined
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(EndOf) {
  return enum_names<EndOf>(
      "end", {{EndOf::Level, "level"}, {EndOf::Bound, "bound"}, {EndOf::Undefined, "undefined"}});
}
using strata::name_of;

/// An end of a profile interval.
struct ProfileEnd {
  double value = 0;           ///< value of the parameter
  EndOf what = EndOf::Level;  ///< what ends the interval there
};

/// Values of one parameter that the observations don't contradict.
struct ProfileInterval {
  std::size_t parameter = 0;  ///< number among `all_parameter_names`
  double level = 0;           ///< level of confidence
  ProfileEnd lower, upper;    ///< the two ends
  double log_likelihood = 0;  ///< the largest that was seen, in fp64
  MaternCovariance best;      ///< there
  bool converged = true;      ///< all fits on the way were
  /// Fits with the parameter held, and their evaluations of the likelihood.
  std::int64_t fits = 0, evaluations = 0;
  double seconds = 0;  ///< time of all fits

  /// By how much a fit on the way was above the estimate. Where that is not small beside 1, the
  /// estimate was no maximum. Then the interval is about that fit, not about `best`.
  double above_estimate = 0;
};

/// The profile-likelihood interval of one parameter of a fit,
///   { theta_k : 2 (l(estimate) - max over the others of l(theta_k, others)) <= q },
/// q the quantile of chi-square_1 at the level.
///
/// Each value that is tried is a fit with that parameter fixed. It begins at the other parameters
/// of the last fit, in fp64 throughout whatever tiles `options` asks for: the noise of low tiles
/// would move the ends. The ends are bracketed in steps that double, and found by TOMS 748 in the
/// signed root of the fall, which is near a line. `parameter` is a number of
/// `all_parameter_names`. Unlike +- 1.96 standard errors the interval is as
/// skewed as the likelihood, and the same for a parameter and its logarithm.
///
/// Shape    as for `fit`; `options` are the fit's and `estimate` its theta, inside the bounds.
///          With a second structure the bounds of sigma2 are the field's.
/// Result   see ProfileInterval. Ends at a bound say so. Where the log-likelihood is not known at
///          the estimate itself, both ends are the estimate, and Undefined.
/// Sync     fences `exec`.
/// Memory   as `fit`. Cost: about 6 to 10 fits for each end, of one parameter less.
/// Throws   ValueError for a parameter that is no number of one or is fixed; a level outside (0,
///          1); a tolerance or step out of range; an estimate that is outside the bounds or without
///          a likelihood; what `fit` throws.
/// Error    of an end: the tolerance, and what the fits' tolerance leaves.
/// Source   Venzon and Moolgavkar, Appl. Statist. 37 (1988), doi:10.2307/2347496; deviation: nested
///          fits. The root: Alefeld, Potra and Shi, ACM TOMS 21 (1995), doi:10.1145/210089.210111,
///          as Boost.Math has it.
template <class ExecutionSpace>
[[nodiscard]] ProfileInterval profile_interval(
    ExecutionSpace const& exec, ooc::DeviceTeam<ExecutionSpace> const& team,
    Locations const& locations, std::span<double const> values, FitOptions const& options,
    MaternCovariance const& estimate, std::size_t parameter, ProfileOptions const& how = {});

}  // namespace strata::geostat

#endif
