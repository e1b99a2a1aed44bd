// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/fit/detail/Strata_ScoringFit.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace strata::geostat::detail {

ScoringFit::ScoringFit(FitOptions const& options, FitVariables variables, std::int64_t n,
                       Fit& result)
    : options_(options),
      variables_(std::move(variables)),
      n_(n),
      result_(result),
      lower_(variables_.lower()) {}

bool ScoringFit::begin(std::function<Scored(std::span<double const>)> const& value) {
  model_ = {};
  end_.clear();
  lower_ = variables_.lower();
  if (variables_.size() > 0) return true;
  (void)value({});
  result_.converged = true;
  result_.reason = variables_.has_sill() ? "the best sill is known" : "every parameter is fixed";
  return false;
}

// Where a bound of sigma2 or nugget holds the sill, these two are what is in a box.
void ScoringFit::search(ScoredLikelihood const& likelihood, std::vector<double> const& from,
                        double step, double tolerance) {
  search_once(likelihood, from, step, tolerance);
  if (!likelihood.sill_is_held() || result_.evaluations >= options_.max_evaluations) return;
  variables_ = FitVariables(options_, false);
  lower_ = variables_.lower();
  search_once(likelihood, variables_.at(result_.theta), step, tolerance);
}

void ScoringFit::search_once(ScoredLikelihood const& likelihood, std::vector<double> const& from,
                             double step, double tolerance) {
  ScoringSearch how;
  how.start = from;
  how.lower = lower_;
  how.upper = variables_.upper();
  how.safe = variables_.safe();
  how.first_radius = 2 * step;
  how.usual_curvature = static_cast<double>(n_) / 2;  // of a logarithm of a variance
  how.tolerance = tolerance;
  how.max_evaluations = std::max<std::int64_t>(1, options_.max_evaluations - result_.evaluations);
  how.value = likelihood.value;
  how.model = likelihood.model;
  int in_a_row = 0;
  std::int64_t last = 0;
  how.on_undefined = [&](std::span<double const> x, std::vector<double>& lower) {
    in_a_row = result_.evaluations == last + 1 ? in_a_row + 1 : 1;
    last = result_.evaluations;
    if (in_a_row > 1) raise_nugget(x, lower);
  };
  auto const outcome = maximise(how);
  result_.converged = outcome.converged;
  result_.reason = outcome.reason;
  model_ = outcome.model;
  lower_ = outcome.lower;
  end_ = outcome.x;
}

void ScoringFit::raise_nugget(std::span<double const> x, std::vector<double>& lower) const {
  constexpr double hardly_any = 1e-6;
  auto const nugget = variables_.nugget();
  if (!nugget || x[*nugget] >= hardly_any) return;
  lower[*nugget] = std::max(10 * static_cast<double>(n_) * 0x1p-52, 2 * x[*nugget]);
}

void ScoringFit::name_boundaries(std::span<double const> x, double slack) {
  result_.at_bound = {};
  result_.second_at_bound = {};
  result_.axis_at_bound = {};
  result_.kept_share = 0;
  result_.nugget_below = std::numeric_limits<double>::quiet_NaN();
  if (x.size() != variables_.size()) return;
  result_.at_bound = variables_.at_bound(x, result_.theta, slack);
  result_.second_at_bound = variables_.second_at_bound(x, slack);
  result_.axis_at_bound = variables_.axis_at_bound(x, slack);
  auto const nugget = variables_.nugget();
  if (!nugget || model_.g.empty()) return;
  double const least = lower_[*nugget], sill = result_.theta.field() + result_.theta.nugget;
  bool const is_kept = least > variables_.lower()[*nugget] && x[*nugget] <= least;
  if (is_kept) result_.kept_share = result_.theta.nugget / sill;
  if (!is_kept && result_.theta.nugget > 0) return;
  result_.at_bound[3] = true;
  double const reach = std::min(reach_above(model_, *nugget), 1 - x[*nugget]);
  result_.nugget_below = variables_.nugget_at(x[*nugget] + reach, sill);
}

double median(std::vector<double>& values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace strata::geostat::detail
