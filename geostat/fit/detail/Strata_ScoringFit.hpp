// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SCORING_FIT_HPP
#define STRATA_SCORING_FIT_HPP

#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/fit/detail/Strata_FitVariables.hpp>
#include <geostat/fit/detail/Strata_Scoring.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace strata::geostat::detail {

/// What scoring asks of a likelihood, which writes the best that it saw to a Fit.
struct ScoredLikelihood {
  std::function<Scored(std::span<double const>)> value;  ///< the value at some variables
  std::function<Quadratic()> model;  ///< about the point whose value was asked for last
  /// Whether a bound of sigma2 or nugget holds the sill at the best.
  std::function<bool()> sill_is_held;
};

/// The fit of a covariance by Fisher scoring, of whatever approximates its likelihood: a factor in
/// tiles or neighbours.
class ScoringFit {
 public:
  ScoringFit(FitOptions const& options, FitVariables variables, std::int64_t n, Fit& result);

  /// The variables; those of both variances, once a bound of one held the sill.
  FitVariables const& variables() const { return variables_; }
  /// Forgets an earlier search. Returns whether there is anything to search; else the likelihood is
  /// evaluated once.
  bool begin(std::function<Scored(std::span<double const>)> const& value);
  /// Searches from some variables, first by `step`, to this tolerance.
  void search(ScoredLikelihood const& likelihood, std::vector<double> const& from, double step,
              double tolerance);
  /// Where hardly any nugget leaves no factor in fp64, the least that does is a bound, which is
  /// returned.
  double raise_nugget(std::span<double const> x) {
    raise_nugget(x, lower_);
    return lower_[*variables_.nugget()];
  }
  /// Where the last search ended.
  std::vector<double> const& end() const { return end_; }
  /// Says in the Fit which parameters are no further than `slack` from their bounds at its end x,
  /// and what that tells of the nugget.
  void name_boundaries(std::span<double const> x, double slack);

 private:
  void raise_nugget(std::span<double const> x, std::vector<double>& lower) const;
  void search_once(ScoredLikelihood const& likelihood, std::vector<double> const& from, double step,
                   double tolerance);

  FitOptions const& options_;
  FitVariables variables_;
  std::int64_t n_;
  Fit& result_;
  Quadratic model_;                  // about the end of the search; empty: there was none
  std::vector<double> lower_, end_;  // bounds, which a search may have raised; its end
};

/// The median, between two the larger; reorders the values.
double median(std::vector<double>& values);

}  // namespace strata::geostat::detail

#endif
