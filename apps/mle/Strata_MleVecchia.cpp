// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/mle/Strata_Mle.hpp>
#include <apps/mle/Strata_MleSearch.hpp>
#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Text.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace strata::apps {

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using geostat::Vecchia;

constexpr std::array<bool, 4> all_parameters = {true, true, true, true};

// With no more observations the exact likelihood is beside the approximate one.
std::int64_t exact_up_to(MleOptions const& options) {
  return options.exact_beside == When::On    ? std::numeric_limits<std::int64_t>::max()
         : options.exact_beside == When::Off ? 0
                                             : geostat::VecchiaFitOptions{}.exact_up_to;
}

geostat::VecchiaOptions approximation(MleOptions const& options) {
  geostat::VecchiaOptions result;
  result.neighbours = options.neighbours;
  return result;
}

// Before anything is allocated.
void require_memory(MleOptions const& options, Observations const& data, MleResult& result) {
  auto const n = static_cast<double>(result.n), m = static_cast<double>(options.neighbours),
             q = static_cast<double>(data.trend.columns() + 1);
  bool const by_directions = options.anisotropy.is_fitted || result.theta.has_directions();
  auto const d = static_cast<double>(data.locations.coordinates() - 1), p = 9 + d;
  double const numbers = options.anisotropy.by_axes ? p * (p + 1) / 2 + p + 2 + q * (p + 1)
                         : result.theta.second || options.families.second ? 56 + 10 * q
                         : by_directions                                  ? 29 + 7 * q
                                                                          : 16 + 5 * q;
  double bytes = n * (8 * (m + 1) + 8 * (q + 3) + 8 * numbers + 200);
  if (result.n <= exact_up_to(options))
    bytes += static_cast<double>(MleFactor::bytes_needed(result.n));
  require_memory(memory_limit(options.max_memory), bytes,
                 words(options.neighbours, " neighbours of ", result.n, " observations",
                       result.n <= exact_up_to(options)
                           ? " and the exact likelihood (--exact-beside off leaves it out) need"
                           : " need"));
  result.bytes_needed = static_cast<std::size_t>(bytes);
}

StandardErrorsSummary errors_of(MleOptions const& options, geostat::VecchiaFit const& fit,
                                geostat::FitOptions const& asked) {
  StandardErrorsSummary summary;
  summary.reason = !fit.converged                         ? "the fit did not converge"
                   : options.standard_errors == When::Off ? "--standard-errors off"
                                                          : "";
  if (!summary.reason.empty()) return summary;
  auto const reasons = geostat::why_no_error(fit, asked.fixed);
  std::array<bool, 4> estimated{};
  for (std::size_t k = 0; k < 4; ++k) estimated[k] = reasons[k].empty();
  summary.errors = geostat::standard_errors(fit.information, fit.theta, estimated,
                                            geostat::also_estimated(fit, asked));
  for (std::size_t k = 0; k < 4; ++k)
    if (!reasons[k].empty()) summary.errors.reasons[k] = reasons[k];
  summary.seconds = fit.information.seconds;
  return summary;
}

// Nothing where a signal ended the search: the result has the best that was found.
std::optional<Vecchia<Exec>> search(Exec const& exec, MleOptions const& options,
                                    Observations const& data,
                                    geostat::CovarianceFactorOptions const& factor,
                                    Progress& progress, MleResult& result) {
  Search now(options, data, factor, progress, result);
  auto fitted = now.run([&](geostat::FitOptions const& how) {
    return geostat::fit_by_neighbours(
        exec, data.locations, data.values, how,
        {.approximation = approximation(options), .exact_up_to = exact_up_to(options)});
  });
  if (!fitted) return std::nullopt;
  result.vecchia = {fitted->approximation, fitted->exact};
  result.standard_errors = errors_of(options, *fitted, now.options);
  return std::move(fitted->model);
}

Vecchia<Exec> evaluate(Exec const& exec, MleOptions const& options, Observations const& data,
                       geostat::CovarianceFactorOptions const& factor, Progress& progress,
                       MleResult& result) {
  auto const blocks =
      geostat::vecchia_blocks(exec, data.locations, result.theta, approximation(options));
  Vecchia<Exec> model(exec, data.locations, data.values, data.trend, blocks.blocks);
  progress.phase("the log-likelihood");
  result.likelihood = model.log_likelihood(exec, result.theta);
  result.vecchia = {blocks.report, std::nullopt};
  if (result.n <= exact_up_to(options) && options.evaluate) {
    progress.phase("the exact log-likelihood");
    result.vecchia->exact = geostat::exact_beside(exec, data.locations, data.values, data.trend,
                                                  result.theta, {}, {}, factor);
  }
  return model;
}

}  // namespace

void estimate_by_neighbours(Exec const& exec, MleOptions const& options, Observations const& data,
                            Progress& progress, MleResult& result) {
  require_memory(options, data, result);
  auto factor = factor_options(options);
  factor.max_bytes = memory_limit(options.max_memory).bytes;
  progress.phase(words(options.neighbours, " neighbours of ", result.n, " observations"));
  auto const model = options.fits() ? search(exec, options, data, factor, progress, result)
                                    : evaluate(exec, options, data, factor, progress, result);
  if (!model || result.likelihood->info != 0) return;
  if (options.gradient) {
    progress.phase("the gradient");
    result.gradient = model->gradient(exec, result.theta, all_parameters);
  }
  validate(exec, options, data, *model, progress, result);
  if (options.predicts()) predict(exec, options, data, *model, progress, result);
}

}  // namespace strata::apps
