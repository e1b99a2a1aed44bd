// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Errors.hpp>
#include <geostat/fit/Strata_Fit.hpp>

#ifdef STRATA_ENABLE_TPL_NLOPT
#include <nlopt.h>

#include <exception>
#include <memory>
#include <type_traits>
#endif

namespace strata::geostat {

#ifdef STRATA_ENABLE_TPL_NLOPT

bool can_fit(Search) { return true; }

namespace {

struct Destroy {
  void operator()(nlopt_opt search) const { nlopt_destroy(search); }
};
using Handle = std::unique_ptr<std::remove_pointer_t<nlopt_opt>, Destroy>;

void check(nlopt_result status, char const* call) {
  STRATA_REQUIRE(VendorError, status >= 0, call, ": ", nlopt_result_to_string(status));
}

// What NLopt calls; an exception ends the search and goes on behind it.
struct Objective {
  std::function<double(std::span<double const>)> const& function;
  std::function<bool()> const& enough;
  nlopt_opt search;
  std::exception_ptr error;
  bool was_enough = false;

  static double evaluate(unsigned n, double const* x, double*, void* data) {
    auto& self = *static_cast<Objective*>(data);
    try {
      double const value = self.function(std::span(x, n));
      self.was_enough = self.enough && self.enough();
      if (self.was_enough) nlopt_force_stop(self.search);
      return value;
    } catch (...) {
      self.error = std::current_exception();
      nlopt_force_stop(self.search);
      return 0;
    }
  }
};

std::string reason_of(nlopt_result status) {
  switch (status) {
    case NLOPT_SUCCESS:  // of BOBYQA: its trust region
    case NLOPT_XTOL_REACHED:
      return "the parameters changed by less than the tolerance";
    case NLOPT_FTOL_REACHED:
      return "the log-likelihood no longer changed";
    case NLOPT_MAXEVAL_REACHED:
      return "the evaluations are used up";
    case NLOPT_ROUNDOFF_LIMITED:
      return "rounding errors hide further progress";
    default:
      return nlopt_result_to_string(status);
  }
}

}  // namespace

detail::SearchOutcome detail::maximise(
    BoundedSearch const& search, std::function<double(std::span<double const>)> const& function) {
  auto const n = static_cast<unsigned>(search.start.size());
  bool const bobyqa = search.search == Search::Bobyqa && n > 1;  // it needs two arguments
  Handle const handle(nlopt_create(bobyqa ? NLOPT_LN_BOBYQA : NLOPT_LN_NELDERMEAD, n));
  STRATA_REQUIRE(VendorError, handle, "nlopt_create: out of memory");
  Objective objective{function, search.enough, handle.get(), nullptr};
  check(nlopt_set_max_objective(handle.get(), Objective::evaluate, &objective),
        "nlopt_set_max_objective");
  check(nlopt_set_lower_bounds(handle.get(), search.lower.data()), "nlopt_set_lower_bounds");
  check(nlopt_set_upper_bounds(handle.get(), search.upper.data()), "nlopt_set_upper_bounds");
  check(nlopt_set_initial_step(handle.get(), search.step.data()), "nlopt_set_initial_step");
  check(nlopt_set_xtol_abs1(handle.get(), search.tolerance), "nlopt_set_xtol_abs1");
  check(nlopt_set_maxeval(handle.get(), static_cast<int>(search.max_evaluations)),
        "nlopt_set_maxeval");
  std::vector<double> x = search.start;
  double best = 0;
  auto const status = nlopt_optimize(handle.get(), x.data(), &best);
  if (objective.error) std::rethrow_exception(objective.error);
  if (objective.was_enough) return {true, true, "the search had enough"};
  if (status != NLOPT_ROUNDOFF_LIMITED) check(status, "nlopt_optimize");
  return {status != NLOPT_MAXEVAL_REACHED, false, reason_of(status)};
}

#else

bool can_fit(Search search) { return search == Search::Scoring; }

detail::SearchOutcome detail::maximise(BoundedSearch const&,
                                       std::function<double(std::span<double const>)> const&) {
  throw Error(
      "this build has no NLopt (Debian: libnlopt-dev), whose BOBYQA and Nelder-Mead are; take the "
      "search by derivatives");
}

#endif

}  // namespace strata::geostat
