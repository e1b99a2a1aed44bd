// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_FIT_HPP
#define STRATA_FIT_HPP

#include <core/Strata_EnumNames.hpp>
#include <geostat/Strata_Likelihood.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace strata::geostat {

/// The derivative-free method that searches; both are NLopt's.
enum class Search : std::uint8_t {
  Bobyqa,  ///< quadratic models in a trust region, few evaluations; for one parameter Nelder-Mead
  NelderMead,  ///< a simplex; asks less of the function
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(Search) {
  return enum_names<Search>("search",
                            {{Search::Bobyqa, "bobyqa"}, {Search::NelderMead, "nelder-mead"}});
}
using strata::name_of;

/// One evaluation of the likelihood.
struct FitStep {
  std::int64_t evaluation;  ///< from 1
  MaternCovariance theta;   ///< where
  Likelihood likelihood;    ///< there
  double best;              ///< largest log-likelihood until now
};

/// Where to search and when to stop.
struct FitOptions {
  MaternCovariance start, lower, upper;  ///< all positive, but for a nugget that is fixed
  std::array<bool, 4> fixed{};           ///< these stay as in `start`
  Mean mean = Mean::Constant;            ///< what is known of it
  Search search = Search::Bobyqa;        ///< the method
  double tolerance = 1e-5;  ///< relative, of each parameter; as fine as the noise lets it be
  double first_step = 0.5;  ///< of each parameter's logarithm; > 0
  std::int64_t max_evaluations = 500;  ///< of the likelihood, at most
  CovarianceFactorOptions factor;      ///< how covariance matrices are factored
  /// Where tiles are below fp64: once their noise ends the search, go on in fp64 from there.
  bool finish_in_fp64 = true;
  std::function<void(FitStep const&)>
      on_step;  ///< called after each evaluation, on the ranks that have one
};

/// A maximum-likelihood estimate.
struct Fit {
  MaternCovariance theta;  ///< the best that was found
  Likelihood likelihood;   ///< there
  bool converged = false;  ///< else the evaluations were used up
  std::string reason;      ///< why the search ended
  /// The log-likelihood there is off by no more: `likelihood.error()`.
  /// What is less apart than twice that, the search does not tell apart.
  double noise = 0;
  std::int64_t evaluations = 0;             ///< of the likelihood
  std::int64_t evaluations_in_fp64 = 0;     ///< of them after those with tiles below fp64
  std::optional<FitStep> in_low_precision;  ///< the best of these, where fp64 followed
  std::int64_t not_positive_definite = 0;   ///< evaluations at parameters without a factor
  std::int64_t not_known = 0;      ///< evaluations whose log-determinant has an infinite error
  std::array<bool, 4> at_bound{};  ///< parameters within the tolerance of one of their bounds
  double evaluation_seconds = 0;   ///< the median evaluation
  double seconds = 0;              ///< of all
};

/// The same with the factor of the covariance matrix there, by which `predict` and `divergence` go on.
template <class ExecutionSpace>
struct FactoredFit : Fit {
  std::optional<CovarianceFactor<ExecutionSpace>> factor;  ///< always one; see its `info`
};

/// A guess for observations of which nothing is known, and bounds about it.
///
/// Result   `mean` as given, and with s^2 the sample variance and m^2 = s^2, or without a mean the mean square of
///          the values: start: sigma2 = 0.9 m^2, the nugget 0.1 s^2, a tenth of the extent as range, nu = 1/2.
///          Bounds: sigma2 and nugget 1e-6 s^2 to 100 m^2, the range 1e-4 to 10 times the extent, nu from 0.1 to
///          3, or to 1/2 on the sphere, where Matern covariances are positive definite no further.
/// Throws   ValueError if there are fewer than 2 values, all are the same, or a bound leaves the range of fp64.
FitOptions default_fit_options(Locations const& locations, std::span<double const> values,
                               Mean mean = Mean::Constant);

/// Whether this build has the optimiser (NLopt).
bool can_fit();

/// Fit a Matern covariance by maximum likelihood.
///
/// The search is over the logarithms of the parameters that are not fixed. Where the covariance matrix is not
/// positive definite, or nothing can be said of its log-determinant, the likelihood counts as less than any seen.
///
/// The search ends at its tolerance, or where it can see no more: where as many evaluations in a row as a
/// quadratic model has points, 2 d + 1 for d parameters, differ among themselves by no more than the error that they
/// state, and twice as many brought no more than that. It then begins anew at the best, until that brings no more.
/// With tiles below fp64 it goes on in fp64 from there, in a tenth of the first step, or, if the error is below
/// 1e-3, evaluates the likelihood there once in fp64. Without the memory for that the result says so.
///
/// The largest of many estimates owes some of its height to the error of the probes that they share. So the search
/// has probes of its own, and the likelihood of the best is estimated once more with those of `log_likelihood`.
///
/// One team makes all factors. The best one is kept beside the next, where `options.factor.max_bytes` holds both and
/// the tiles of as many workers on the host, as long as there is memory for both; else it is made once more at the end.
///
/// Shape    as for `log_likelihood`.
/// Result   the best that was found, and its factor; with its `info` if the matrix was nowhere positive definite.
/// Sync     fences `exec`.
/// Memory   as for CovarianceFactor, on the host twice that where max_bytes is at least four times as much.
/// Throws   ValueError naming the parameter whose start is not inside its bounds or not positive;
///          Error if the build has no optimiser; what `log_likelihood` and `on_step` throw.
/// Source   BOBYQA: Powell, report DAMTP 2009/NA06; Nelder and Mead, Computer Journal 7 (1965), with the bounds of
///          Richardson and Kuester, Commun. ACM 16 (1973); both by Johnson, The NLopt package.
template <class ExecutionSpace>
[[nodiscard]] FactoredFit<ExecutionSpace> fit(ExecutionSpace const& exec,
                                              Locations const& locations,
                                              std::span<double const> values,
                                              FitOptions const& options);
/// The same on a team that is there; its devices count, not those of `options.factor`.
template <class ExecutionSpace>
[[nodiscard]] FactoredFit<ExecutionSpace> fit(ExecutionSpace const& exec,
                                              ooc::DeviceTeam<ExecutionSpace> const& team,
                                              Locations const& locations,
                                              std::span<double const> values,
                                              FitOptions const& options);

namespace detail {

/// Largest value of a function over a box, by NLopt. The function may throw.
struct BoundedSearch {
  Search search = Search::Bobyqa;
  std::vector<double> start, lower, upper, step;
  double tolerance = 0;  ///< absolute, of each argument
  std::int64_t max_evaluations = 0;
  std::function<bool()> enough;  ///< asked after each value: whether the search may end
};
struct SearchOutcome {
  bool converged = false;
  bool was_enough = false;
  std::string reason;
};
SearchOutcome maximise(BoundedSearch const& search,
                       std::function<double(std::span<double const>)> const& function);

}  // namespace detail

}  // namespace strata::geostat

#endif
