// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VECCHIA_FIT_HPP
#define STRATA_VECCHIA_FIT_HPP

#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/vecchia/Strata_Vecchia.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace strata::geostat {

/// How a fit by neighbours goes on.
struct VecchiaFitOptions {
  VecchiaOptions approximation;  ///< the likelihood that is maximised
  /// A search with so few neighbours comes first, where there are more than twice as many in the
  /// end and 500 observations.
  std::int64_t first_neighbours = 10;
  /// With no more observations the exact likelihood is evaluated at the estimate; 0: never.
  std::int64_t exact_up_to = 4096;
};

/// The exact likelihood at an estimate by neighbours: what the approximation cost.
struct ExactBeside {
  Likelihood likelihood;  ///< exact
  /// Where one step of scoring by the exact gradient goes: to the exact maximum, nearly, in
  /// standard errors of each parameter; NaN where it is not estimated.
  Parameters distance{};
  std::string reason;  ///< why there is no distance; empty: there is one
  double seconds = 0;  ///< time of both
};

/// A maximum-likelihood estimate by neighbours. Its `likelihood` is the approximate one.
struct VecchiaFit : Fit {
  VecchiaReport approximation;       ///< what it consists of
  FisherInformation information;     ///< information of the approximate likelihood there
  std::optional<ExactBeside> exact;  ///< where there are not too many observations
};

/// The same with the approximation, by which `predict` goes on.
template <class ExecutionSpace>
struct FittedVecchia : VecchiaFit {
  std::optional<Vecchia<ExecutionSpace>> model;  ///< always one
};

/// Fit a covariance by Vecchia's approximation, by maximum likelihood or, where the trend says so,
/// REML. The family and the directions are the start's. The search is Fisher scoring in a trust
/// region, as `fit` by Search::Scoring, but with the expected information. Fitted directions that a
/// first search finds choose the neighbours of the second.
///
/// Shape    as for `fit`.
/// Result   the best that was found, with its standard errors by `standard_errors(information,
///          theta, ...)`.
/// Sync     fences `exec`.
/// Memory   as for `Vecchia`; with the exact likelihood beside it also a CovarianceFactor's.
/// Throws   ValueError for another search than scoring; what `fit`, `vecchia_blocks` and
///          `options.on_step` throw. Of `options.factor` all but the exact likelihood makes no use.
/// Source   see `Vecchia`.
template <class ExecutionSpace>
[[nodiscard]] FittedVecchia<ExecutionSpace> fit_by_neighbours(ExecutionSpace const& exec,
                                                              Locations const& locations,
                                                              std::span<double const> values,
                                                              FitOptions const& options,
                                                              VecchiaFitOptions const& how = {});

/// The exact likelihood beside an approximate estimate: contract of `log_likelihood` and its
/// gradient. `information` is the approximate one, of the parameters that are estimated. Where more
/// than these four were, a step of the four alone is none, and there is a reason instead.
template <class ExecutionSpace>
[[nodiscard]] ExactBeside exact_beside(ExecutionSpace const& exec, Locations const& locations,
                                       std::span<double const> values, Trend const& trend,
                                       MaternCovariance const& theta,
                                       FisherInformation const& information,
                                       std::array<bool, 4> const& estimated,
                                       CovarianceFactorOptions const& factor = {},
                                       AlsoEstimated const& also = {});

}  // namespace strata::geostat

#endif
