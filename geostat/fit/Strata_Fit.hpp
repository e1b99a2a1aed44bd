// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_FIT_HPP
#define STRATA_FIT_HPP

#include <core/Strata_EnumNames.hpp>
#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/Strata_Likelihood.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strata::geostat {

/// The method that searches.
enum class Search : std::uint8_t {
  Scoring,  ///< a trust region by the exact gradient and the average information; few evaluations
  /// NLopt's quadratic models in a trust region, without derivatives; for one variable Nelder-Mead
  Bobyqa,
  NelderMead,  ///< NLopt's simplex; asks less of the function
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(Search) {
  return enum_names<Search>("search", {{Search::Scoring, "scoring"},
                                       {Search::Bobyqa, "bobyqa"},
                                       {Search::NelderMead, "nelder-mead"}});
}
using strata::name_of;

/// One evaluation of the likelihood.
struct FitStep {
  std::int64_t evaluation;  ///< number of the evaluation, from 1
  MaternCovariance theta;   ///< its parameters
  Likelihood likelihood;    ///< there
  double best;              ///< largest log-likelihood until now
};

/// Where to search and when to stop.
struct FitOptions {
  MaternCovariance start, lower, upper;  ///< all positive, but for the nugget
  std::array<bool, 4> fixed{};           ///< these stay as in `start`
  /// the same of sigma2, range and nu of a second structure, which `start` and both bounds have
  std::array<bool, 3> fixed_second{};
  /// angle and ratio are searched, too; or where `start` has a range for each coordinate, these
  bool directions = false;
  Trend trend = Mean::Constant;     ///< what is known of the mean
  Search search = Search::Scoring;  ///< the method
  double tolerance = 1e-5;  ///< relative, of each parameter; as fine as the noise lets it be
  /// first step of a logarithm; the first trust region is twice that; > 0
  double first_step = 0.5;
  std::int64_t max_evaluations = 500;  ///< most evaluations of the likelihood
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
  std::int64_t evaluations = 0;  ///< evaluations of the likelihood
  /// evaluations in fp64 after those with tiles below fp64
  std::int64_t evaluations_in_fp64 = 0;
  std::optional<FitStep> in_low_precision;  ///< the best of these, where fp64 followed
  std::int64_t not_positive_definite = 0;   ///< evaluations at parameters without a factor
  std::int64_t not_known = 0;  ///< evaluations whose log-determinant has an infinite error
  /// Parameters on one of their bounds; with a search without derivatives, within the tolerance of
  /// the bound.
  std::array<bool, 4> at_bound{};
  std::array<bool, 3> second_at_bound{};  ///< the same of a second structure's
  /// The same of the ranges of y and further coordinates, where there are such.
  std::vector<bool> axis_at_bound = {};
  /// A nugget that is 0, its boundary, is below this at 95 %; NaN: it is not 0, or that is not
  /// known.
  double nugget_below = std::numeric_limits<double>::quiet_NaN();
  /// The nugget's share of the sill, where the search kept it as there is no factor with less; else
  /// 0.
  double kept_share = 0;
  double evaluation_seconds = 0;  ///< the median evaluation
  double seconds = 0;             ///< time of the whole fit
};

/// The same with the factor of the covariance matrix there, by which `predict` and `divergence` go
/// on.
template <class ExecutionSpace>
struct FactoredFit : Fit {
  std::optional<CovarianceFactor<ExecutionSpace>> factor;  ///< always one; see its `info`
};

/// A guess for observations of which nothing is known, and bounds about it. With a second
/// structure each has half of the field, and the first a third of the range that it has alone. Both
/// have the same bounds of the range.
///
/// Result   `trend` as given. s^2 is the sample variance of what it leaves by least squares. m^2 =
///          s^2, or without a mean the mean square of the values. Start: sigma2 = 0.9 m^2, the
///          nugget 0.1 s^2, a tenth of the extent as range, nu = 1/2. A spherical range starts at a
///          third of the extent, a Gaussian one at a sixth. A power starts at 1, with the bounds
///          0.1 and 2, or 1 with great circles. Bounds: sigma2 from 1e-14 s^2 to 100 m^2; the
///          nugget from 0, or from 1e-6 s^2 where places repeat, to 100 m^2; nu from 0.1 to 3. With
///          great circles nu ends at 1/2, where Matern covariances are positive definite no
///          further. The range begins at a tenth of the 5 % quantile of the distances to nearest
///          neighbours, a hundredth of the extent at most. It ends at ten times the extent. The
///          extent is taken from 95 % of the coordinates: one far place moves neither bound.
/// Throws   ValueError if there are fewer than 2 values, all are the same, the trend leaves nothing
///          of them, or a bound leaves the range of fp64.
FitOptions default_fit_options(Locations const& locations, std::span<double const> values,
                               Trend const& trend = Mean::Constant, Family family = Family::Matern,
                               std::optional<Family> second = {});

/// Whether the parameter of this number in `all_parameter_names` stays, or the start's covariance
/// does not have it.
bool is_fixed(FitOptions const& options, std::size_t number);

/// Let a parameter stay, which `item` names: "range" as in the start, "range_2=0.5" at this value.
///
/// Throws   ValueError with `option`, which the item is of, for a name that is none of
///          `all_parameter_names`, a parameter that the covariance does not have, and what is no
///          number.
void fix_parameter(FitOptions& options, std::string_view item, std::string_view option);

/// Whether this build can search so: all can by Search::Scoring, the others are NLopt's.
bool can_fit(Search search = Search::Scoring);

/// Fit a covariance of the family and the directions of `start` by maximum likelihood, or by the
/// likelihood of contrasts where the trend says REML.
///
/// Searched are the nugget's share of the sill sigma2 + nugget, from 0 on, and the logarithms of
/// range and nu, as far as they are free; the best sill follows. With sigma2 or a nugget fixed the
/// other one is searched, with known error variances both. Where the covariance matrix is not
/// positive definite, or nothing can be said of its log-determinant, the likelihood counts as less
/// than any seen. With directions the range's bounds hold for the geometric mean of both axes'.
///
/// By Search::Scoring it ends where no step would gain more than 100 tolerance^2 of the
/// log-likelihood, or a tenth of its error. A nugget of 0 is a point like others. Where hardly any
/// nugget leaves no factor in fp64, `kept_share` says which was the least.
///
/// The other searches end at their tolerance, or where they can see no more. A quadratic model has
/// 2 d + 1 points for d variables. They see no more if so many evaluations in a row differ by no
/// more than the error that they state, and twice as many brought no more than that. They begin
/// anew at the best, until that brings no more.
///
/// With tiles below fp64 a search goes on in fp64 from there, in a tenth of the first step. If the
/// error is below 1e-3, it evaluates the likelihood there once in fp64 instead. Without the memory
/// for fp64 the result says so.
///
/// No evaluation asks for the covariance matrix twice. The solves are refined with it at the end
/// only. There a factor is made of the best, and the likelihood is stated with probes that the
/// search has not seen. One team makes all factors.
///
/// Shape    as for `log_likelihood`.
/// Result   the best that was found, and its factor; with its `info` if the matrix was nowhere
///          positive definite.
/// Sync     fences `exec`.
/// Memory   as for CovarianceFactor, and by Search::Scoring 2048 n numbers.
/// Throws   ValueError naming the parameter whose start is not inside its bounds or out of range,
///          or two locations that coincide where the nugget may be 0; Error if the build lacks the
///          optimiser; what `log_likelihood` and `on_step` throw.
/// Source   the average information: Gilmour, Thompson and Cullis, Biometrics 51 (1995),
///          doi:10.2307/2533274; BOBYQA: Powell, report DAMTP 2009/NA06; Nelder and Mead, Computer
///          Journal 7 (1965), with the bounds of Richardson and Kuester, Commun. ACM 16 (1973);
///          both by Johnson, The NLopt package.
template <class ExecutionSpace>
[[nodiscard]] FactoredFit<ExecutionSpace> fit(ExecutionSpace const& exec,
                                              Locations const& locations,
                                              std::span<double const> values,
                                              FitOptions const& options);
/// The same on a team that is there; its devices count, not `options.factor`'s.
template <class ExecutionSpace>
[[nodiscard]] FactoredFit<ExecutionSpace> fit(ExecutionSpace const& exec,
                                              ooc::DeviceTeam<ExecutionSpace> const& team,
                                              Locations const& locations,
                                              std::span<double const> values,
                                              FitOptions const& options);

/// Reason why `standard_errors` has none for a parameter of a fit. The parameter was fixed, is on
/// its bound, or means nothing, as range and nu where sigma2 is 0, or all is a second structure's.
/// Empty: it may have one.
std::array<std::string, 4> why_no_error(Fit const& found, std::array<bool, 4> const& fixed);

/// What `standard_errors` may have an error of beside these four.
AlsoEstimated also_estimated(Fit const& found, FitOptions const& options);

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
