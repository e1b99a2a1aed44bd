// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Likelihoods, fits and kriging of strata_geostat.h.
#include <c/detail/Strata_Call.hpp>
#include <c/detail/Strata_CopyFields.hpp>
#include <c/detail/Strata_Options.hpp>
#include <c/geostat/detail/Strata_GeostatInput.hpp>
#include <c/runtime/Strata_Held.hpp>
#include <c/strata_geostat.h>
#include <geostat/fit/Strata_GeostatFields.hpp>
#include <geostat/kriging/Strata_CrossValidation.hpp>
#include <geostat/kriging/Strata_Prediction.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace strata::c;
using namespace strata::c::detail;
using namespace strata::geostat;
using strata::ValueError;

namespace {

constexpr double nan_of = std::numeric_limits<double>::quiet_NaN();

/// What a caller's function has ended.
struct Stopped : strata::Error {
  using Error::Error;
};

/// The observations, the covariance, its factor.
struct Model {
  Model(Observed given, Covariance const& covariance) : observed(std::move(given)) {
    factor.emplace(exec, covariance, observed.locations);
    fit.theta = covariance;
    fit.converged = true;
    fit.likelihood = log_likelihood(exec, *factor, observed.values, observed.trend);
    fit.noise = fit.likelihood.error();
  }
  Model(Observed given, FitOptions const& chosen) : observed(std::move(given)), options(chosen) {
    auto found = strata::geostat::fit(exec, observed.locations, observed.values, *options);
    factor = std::move(found.factor);
    fit = std::move(found);
    options->on_step = {};
  }

  Instance instance = new_instance();  // before what works on it
  Exec exec = *instance;
  Observed observed;
  std::optional<FitOptions> options;  // none: the covariance was given
  std::optional<CovarianceFactor<Exec>> factor;
  Fit fit;
};

// How many parameters of the covariance were estimated.
std::int64_t estimated(Model const& model) {
  if (!model.options) return 0;
  auto const& options = *model.options;
  auto const free = [](auto const& fixed) { return std::count(fixed.begin(), fixed.end(), false); };
  return free(options.fixed) + (model.fit.theta.second ? free(options.fixed_second) : 0) +
         (options.directions ? 2 : 0);
}

// "range,nu_2": what ended at a bound; a nugget of 0 only if it is told `of_nothing`, too.
std::string at_bound(Fit const& fit, bool of_nothing) {
  std::string names;
  auto const add = [&](std::string const& name) { names += (names.empty() ? "" : ",") + name; };
  for (std::size_t k = 0; k < 4; ++k)
    if (fit.at_bound[k] && (k != 3 || of_nothing || fit.theta.nugget > 0))
      add(std::string(parameter_names[k]));
  for (std::size_t k = 0; k < 3; ++k)
    if (fit.second_at_bound[k]) add(std::string(parameter_names[k]) + "_2");
  return names;
}

// What a user should know of a fit, in sentences.
std::string remarks(Model const& model) {
  std::string text;
  auto const& [places, values, trend] = model.observed;
  if (places.error_variances.empty() && !model.options->fixed[3]) {
    auto const copies = find_copies(places, values);
    if (copies.of_same_value > 0)
      text = strata::detail::message(
          copies.places, " places are in the data more than once, ", copies.of_same_value,
          " times with the same value (observations ", copies.first + 1, " and ", copies.second + 1,
          "): the likelihood grows as the nugget goes to 0, so that its lower bound decides the "
          "fit; leave copies out, or fix the nugget");
  }
  if (auto const names = at_bound(model.fit, false); !names.empty())
    text += (text.empty() ? "" : ". ") + ("at a bound: " + names);
  return text;
}

strata_geostat_report filled(Model const& model) {
  strata_geostat_report to{};
  using C = strata_geostat_report;
  auto const& likelihood = model.fit.likelihood;
  copy_fields(to, likelihood, CopyOf{"n", &C::n}, CopyOf{"log_likelihood", &C::log_likelihood},
              CopyOf{"log_det", &C::log_det}, CopyOf{"quadratic_form", &C::quadratic_form},
              CopyOf{"log_det_trend", &C::log_det_trend});
  copy_fields(to, model.fit, CopyOf{"noise", &C::noise}, CopyOf{"evaluations", &C::evaluations},
              CopyOf{"not_positive_definite", &C::not_positive_definite},
              CopyOf{"nugget_below", &C::nugget_below}, CopyOf{"seconds", &C::seconds});
  to.coefficients = model.observed.trend.columns();
  to.parameters = estimated(model);
  to.log_det_columns = model.observed.trend.log_det_of_columns(likelihood.n);
  to.converged = model.fit.converged ? 1 : 0;
  at_bound(model.fit, true).copy(to.at_bound, sizeof to.at_bound - 1);
  model.fit.reason.copy(to.reason, sizeof to.reason - 1);
  return to;
}

/// Each parameter's standard error in its place, and why there is none.
std::pair<strata_covariance, std::string> errors_of(Model& model) {
  strata_covariance to = given_of(model.fit.theta);
  std::string why;
  for (double* value : {&to.sigma2, &to.range, &to.nu, &to.nugget, &to.angle, &to.ratio,
                        &to.sigma2_2, &to.range_2, &to.nu_2})
    *value = nan_of;
  if (!model.options) return {to, "the covariance was given, not estimated"};
  auto const reasons = why_no_error(model.fit, model.options->fixed);
  std::array<bool, 4> wanted{};
  for (std::size_t k = 0; k < 4; ++k) wanted[k] = reasons[k].empty();
  auto const also = also_estimated(model.fit, *model.options);
  auto const information = fisher_information(
      model.exec, *model.factor,
      {.wanted = wanted, .directions = also.directions, .trend = model.observed.trend});
  auto found = standard_errors(information, model.fit.theta, wanted, also);
  to.sigma2 = found.of[0];
  to.range = found.of[1];
  to.nu = found.of[2];
  to.nugget = found.of[3];
  to.angle = found.of_angle;
  to.ratio = found.of_ratio;
  if (model.fit.theta.second) {
    to.sigma2_2 = found.of_second[0];
    to.range_2 = found.of_second[1];
    to.nu_2 = found.of_second[2];
  }
  for (std::size_t k = 0; k < 4; ++k) {
    auto const& reason = wanted[k] ? found.reasons[k] : reasons[k];
    if (!reason.empty() && (k != 2 || has_shape(model.fit.theta.family)))
      why += (why.empty() ? "" : "; ") + std::string(parameter_names[k]) + ": " + reason;
  }
  return {to, why};
}

void write(std::vector<double> const& from, double* to) {
  if (to != nullptr) std::copy(from.begin(), from.end(), to);
}

}  // namespace

struct strata_geostat {
  template <class How>
  strata_geostat(Observed&& observed, How const& how) : held(std::move(observed), how) {}
  Model& work() const { return held.work(); }

  Held<Model> held;
};

namespace {

Model& work_of(strata_geostat const* model) {
  require(model != nullptr, "model is a null pointer");
  return model->work();
}

/// The model, if it has a factor, into the caller's hands.
template <class How>
Outcome make(strata_observations const* observations, How const& how_of, strata_geostat** model) {
  require(model != nullptr, "model is a null pointer");
  auto observed = observed_of(observations);
  auto const how = how_of(observed);
  auto made = std::make_unique<strata_geostat>(std::move(observed), how);
  Caller const caller;
  Model const& work = made->work();
  if (!work.factor->info().ok()) return not_positive_definite(work.factor->info().order());
  Outcome outcome;
  if (work.options) {
    outcome.message = remarks(work);
    if (!work.fit.converged)
      outcome = {STRATA_NOT_CONVERGED, "the fit did not converge: " + work.fit.reason};
  }
  *model = made.release();
  return outcome;
}

}  // namespace

strata_status strata_geostat_at(strata_observations const* observations,
                                strata_covariance const* covariance, strata_geostat** model) {
  if (model != nullptr) *model = nullptr;
  return call("strata_geostat_at", [&] {
    auto const given = [&](Observed const&) {
      auto const result = covariance_of(covariance, "covariance");
      result.check();
      return result;
    };
    return make(observations, given, model);
  });
}

strata_status strata_geostat_fit(strata_observations const* observations,
                                 strata_fit_options const* options, strata_geostat** model) {
  if (model != nullptr) *model = nullptr;
  return call("strata_geostat_fit", [&]() -> Outcome {
    auto const chosen = [&](Observed const& observed) {
      auto result = fit_options_of(options, observed);
      result.trend = observed.trend;
      strata_fit_options const o =
          options == nullptr ? strata_fit_options{} : taken(options, "the fit's options");
      if (o.on_step != nullptr)
        result.on_step = [o](FitStep const& step) {
          if (o.on_step(o.context, step.evaluation, step.likelihood.log_likelihood) != 0)
            throw Stopped(strata::detail::message("on_step ended the fit after ", step.evaluation,
                                                  " evaluations"));
        };
      return result;
    };
    try {
      return make(observations, chosen, model);
    } catch (Stopped const& stopped) {
      return {STRATA_NOT_CONVERGED, stopped.what()};
    }
  });
}

strata_status strata_geostat_describe(strata_geostat const* model, strata_geostat_report* report) {
  return call("strata_geostat_describe", [&] {
    require(report != nullptr, "report is a null pointer");
    Caller const caller;
    give(filled(work_of(model)), report);
    return Outcome{};
  });
}

strata_status strata_geostat_covariance(strata_geostat const* model,
                                        strata_covariance* covariance) {
  return call("strata_geostat_covariance", [&] {
    require(covariance != nullptr, "covariance is a null pointer");
    Caller const caller;
    give(given_of(work_of(model).fit.theta), covariance);
    return Outcome{};
  });
}

strata_status strata_geostat_standard_errors(strata_geostat* model, strata_covariance* errors) {
  return call("strata_geostat_standard_errors", [&]() -> Outcome {
    require(errors != nullptr, "errors is a null pointer");
    require_report(errors);
    Caller const caller;
    auto const [found, why] = errors_of(work_of(model));
    give(found, errors);
    return {STRATA_SUCCESS, why};
  });
}

strata_status strata_geostat_coefficients(strata_geostat const* model, double* b,
                                          double* covariance, int64_t ldc) {
  return call("strata_geostat_coefficients", [&] {
    Caller const caller;
    auto const& likelihood = work_of(model).fit.likelihood;
    auto const k = static_cast<std::int64_t>(likelihood.coefficients.size());
    if (covariance != nullptr)
      require_matrix("covariance", covariance, k, k, ldc, sizeof(double), 3, 4);
    write(likelihood.coefficients, b);
    for (std::int64_t j = 0; covariance != nullptr && j < k; ++j)
      std::copy_n(likelihood.coefficient_covariance.begin() + j * k, k, covariance + j * ldc);
    return Outcome{};
  });
}

strata_status strata_geostat_predict(strata_geostat* model, int64_t m, double const* x,
                                     double const* y, double const* trend, int64_t ldt, int exact,
                                     double* mean, double* variance) {
  return call("strata_geostat_predict", [&]() -> Outcome {
    Caller const caller;
    Model& work = work_of(model);
    auto const places = locations_of(m, x, y, work.observed.locations.metric);
    require(m == 0 || mean != nullptr, "mean is a null pointer");
    auto const& F = work.observed.trend;
    std::int64_t const k = F.is_constant() ? 0 : F.columns();
    PredictionOptions const options{.trend_columns = columns_of(trend, m, k, ldt),
                                    .nugget = exact != 0 ? NuggetIs::Variation : NuggetIs::Error,
                                    .variances = variance != nullptr};
    auto const found = predict(work.exec, *work.factor, work.observed.values, places, F, options);
    write(found.mean, mean);
    write(found.variance, variance);
    if (found.converged) return {};
    return {STRATA_NOT_CONVERGED,
            strata::detail::message("a solve did not converge: the backward error is ",
                                    found.backward_error)};
  });
}

strata_status strata_geostat_cross_validate(strata_geostat* model, int64_t const* folds,
                                            double* residual, double* variance) {
  return call("strata_geostat_cross_validate", [&]() -> Outcome {
    Caller const caller;
    Model& work = work_of(model);
    auto const n = work.observed.values.size();
    auto const groups = folds == nullptr ? std::span<std::int64_t const>()
                                         : std::span<std::int64_t const>(folds, n);
    auto const found =
        cross_validate(work.exec, *work.factor, work.observed.values, work.observed.trend, groups);
    write(found.residual, residual);
    write(found.variance, variance);
    if (found.without == 0) return {};
    return {STRATA_SUCCESS, strata::detail::message(found.without,
                                                    " observations have no prediction: the others "
                                                    "do not tell the trend")};
  });
}

void strata_geostat_destroy(strata_geostat* model) { delete model; }
