// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_MLE_DOCUMENT_HPP
#define STRATA_APPS_MLE_DOCUMENT_HPP

#include <apps/mle/Strata_Mle.hpp>
#include <apps/mle/Strata_MleParts.hpp>
#include <core/Strata_Fields.hpp>
#include <geostat/fit/Strata_GeostatFields.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

/// What the document of `strata mle` tells beside what the library reports.
namespace strata::apps {

namespace detail {

std::string status_of(MleResult const& result);
/// Criteria of a fit: nothing without one, or where the matrix is not positive definite.
std::optional<double> aic_of(MleResult const& result);
std::optional<double> bic_of(MleResult const& result);

/// The likelihood, if there is one whose matrix is positive definite.
inline std::optional<geostat::Likelihood> known_likelihood(MleResult const& result) {
  return result.likelihood && result.likelihood->info == 0 ? result.likelihood : std::nullopt;
}
inline std::optional<geostat::CovarianceFactorReport> known_factor(MleResult const& result) {
  bool const has_factor = result.likelihood && !result.vecchia;
  return has_factor ? std::optional(result.likelihood->factor) : std::nullopt;
}

/// What is told of the problem.
constexpr auto fields_of_problem() {
  using R = MleResult;
  return std::tuple(
      Field("schema", [](R const&) { return std::string("strata.mle/1"); },
            "Name and version of this schema.", {.schema = R"("const": "strata.mle/1")"}),
      Field("status", &status_of, "How the run ended.",
            {.schema = R"("enum": ["fitted", "evaluated", "generated", "not_positive_definite",)"
                       R"( "not_converged", "ended"])"}),
      Field("task", &R::task, "What was done.",
            {.schema = R"("enum": ["fit", "evaluate", "predict", "generate"])"}),
      Field(
          "info", [](R const& r) { return r.likelihood ? r.likelihood->info : 0; },
          "0, or the order of the first leading minor that is not positive."),
      FieldGroup{"problem", "Observations, or the synthetic field."},
      Field("source", &R::source, "File, or the seed of a synthetic field.",
            {.key = "problem/source"}),
      Field("n", &R::n, "Number of locations.", {.schema = R"("minimum": 1)"}),
      Field("ranks", &R::ranks, "Number of ranks; bytes are rank 0's.",
            {.schema = R"("minimum": 1)"}),
      Field("output", &R::output, "File that was written; empty: none.", {.key = "problem/output"}),
      Field("metric",
            [](R const& r) {
              return std::string(r.metric == geostat::Metric::GreatCircle ? "great_circle_km"
                                 : r.metric == geostat::Metric::Chordal   ? "chordal_km"
                                                                          : "euclidean");
            },
            "Distance between locations.",
            {.key = "problem/metric",
             .schema = R"("enum": ["euclidean", "great_circle_km", "chordal_km"])"}),
      Field("error_variances", &R::error_variances,
            "Column of the known variances of the observations' errors; empty: none are known.",
            {.key = "problem/error_variances"}),
      Field("ordering", &R::ordering, "Order of the locations in the matrix.",
            {.key = "problem/ordering"}),
      Field("mean_model",
            [](R const& r) {
              return std::string(r.trend.columns() == 0  ? "none"
                                 : r.trend.is_constant() ? "constant"
                                                         : "trend");
            },
            "Model of the mean. none: it is 0; constant: one number, estimated; trend: see trend.",
            {.key = "mean/model", .schema = R"("enum": ["none", "constant", "trend"])"}),
      Field(
          "likelihood", [](R const& r) { return r.trend.criterion(); },
          "Kind of likelihood. reml: the one of contrasts that the trend's coefficients have no "
          "influence on."),
      FieldGroup{"memory", "Memory."},
      Field("bytes_needed", &R::bytes_needed, "Memory of the host that is needed at most.",
            {.key = "memory/needed", .unit = "byte"}),
      Field("bytes_on_devices", &R::bytes_on_devices,
            "Memory of the devices that is needed, where these are to hold the matrix.",
            {.key = "memory/needed_on_devices", .unit = "byte"}),
      Field("copies", &R::copies, "Observations at a place that has one before.",
            {.key = "problem/copies"}));
}

/// What is told of the parameters.
constexpr auto fields_of_parameters() {
  using R = MleResult;
  return std::tuple(
      FieldGroup{"covariance", "The function whose parameters these are."},
      Field("family", [](R const& r) { return r.theta.family; }, "Family of the covariance.",
            {.key = "covariance/family"}),
      Field("second", [](R const& r) { return r.theta.second; },
            "Second structure, which is added; theta is the first and the nugget.",
            {.key = "covariance/second", .absent = "there is one structure alone"}),
      Field("angle", [](R const& r) { return r.theta.angle; },
            "Angle of the axis with the longest range, in degrees clockwise from y.",
            {.key = "covariance/angle"}),
      Field("ratio", [](R const& r) { return r.theta.ratio; },
            "Range across that axis by the one along it; 1: directions do not differ.",
            {.key = "covariance/ratio", .schema = R"("exclusiveMinimum": 0, "maximum": 1)"}),
      Field("ranges",
            [](R const& r) {
              return r.theta.has_axes() ? std::optional(r.theta.ranges()) : std::nullopt;
            },
            "Range of each coordinate, x first.",
            {.key = "covariance/ranges", .absent = "one range holds for all"}),
      Field("directions_fitted", [](R const& r) { return r.asked && r.asked->directions; },
            "Whether angle and ratio were fitted, or a range for each coordinate.",
            {.key = "covariance/directions_fitted"}),
      Field("theta", &R::theta, "Parameters that were given, or fitted."),
      Field("trend", &trend_of,
            "Columns of the mean, a constant one among them, and their coefficients by "
            "generalised least squares.",
            {.absent = "there are none, or they are not known"}),
      Field("standard_errors",
            [](R const& r) {
              return r.standard_errors ? std::optional(ErrorsOfResult{&*r.standard_errors, &r.theta,
                                                                      further_reasons(r)})
                                       : std::nullopt;
            },
            "Standard errors of the fitted parameters.", {.absent = "they were not asked for"}),
      Field("profile_intervals",
            [](R const& r) {
              return r.profile_intervals.empty()
                         ? std::nullopt
                         : std::optional(IntervalsOfResult{&r.profile_intervals});
            },
            "Profile-likelihood intervals of the fitted parameters.",
            {.absent = "they were not asked for"}),
      Field("fit", [](R const& r) { return r.fit ? std::optional(FitOfResult{&r}) : std::nullopt; },
            "The fit.", {.absent = "the parameters were given"}));
}

/// What is told of the likelihood.
constexpr auto fields_of_likelihood() {
  using R = MleResult;
  constexpr char const* absent = "there is no likelihood, or it was not fitted";
  return std::tuple(
      Field(
          "iterations",
          [](R const& r) {
            return r.fit ? r.fit->evaluations : std::int64_t{r.likelihood ? 1 : 0};
          },
          "Number of evaluations of the log-likelihood."),
      Field("aic", &aic_of, "Akaike's information criterion.", {.absent = absent}),
      Field("bic", &bic_of, "Bayesian information criterion.", {.absent = absent}),
      FieldsOf(&known_likelihood, "there is no factor"),
      FieldGroup{"precisions", "Precisions of the covariance matrix' tiles."},
      Field("epsilon", [](R const& r) { return r.rule.accuracy; },
            "Accuracy that the tiles' precisions were chosen by, at first; 0: all in fp64.",
            {.key = "precisions/epsilon", .schema = R"("minimum": 0)"}),
      Field("allowed", [](R const& r) { return allowed_precisions(r.rule); },
            "Precisions that a tile may have.",
            {.key = "precisions/allowed", .schema = R"("minItems": 1)"}),
      FieldsOf(&known_factor, "there is no factor", " attempts no_room "),
      Field("no_room",
            [](R const& r) {
              auto const factor = known_factor(r);
              return factor ? std::optional(factor->no_room) : std::nullopt;
            },
            "Why devices do not hold the matrix that might have; empty: they do, or were not to.",
            {.key = "precisions/no_room", .absent = "there is no factor", .is_omitted = true}),
      Field("attempts",
            [](R const& r) {
              return r.likelihood ? r.likelihood->factor.attempts
                                  : std::vector<ooc::CholeskyAttempt>();
            },
            "Rungs that were tried, in order.", {.key = "precisions/attempts"}),
      Field("map",
            [](R const& r) {
              return known_factor(r) ? std::optional(lines_of(r.map)) : std::nullopt;
            },
            map_sentence,
            {.key = "precisions/map", .absent = "there is no factor", .schema = map_schema}),
      Field("bytes", [](R const& r) { return r.likelihood ? r.likelihood->factor.bytes : 0; },
            "Memory of the tiles.", {.key = "memory/used", .unit = "byte"}));
}

/// What is told of the rest.
constexpr auto fields_of_rest() {
  using R = MleResult;
  return std::tuple(
      Field("vecchia", &R::vecchia, "Vecchia's approximation, where --neighbours asked for it.",
            {.absent = "the likelihood is exact"}),
      Field("kl", &R::divergence, "Divergence of the factor from one in fp64.",
            {.absent = "it was not asked for"}),
      Field("variogram", &variogram_of,
            "Empirical variogram of what the trend leaves, where --variogram asked for it."),
      Field("validation", &R::validation,
            "Observations predicted from the others, where --loo asked for it.",
            {.absent = "it was not asked for"}),
      Field("prediction",
            [](R const& r) {
              return r.prediction ? std::optional(PredictionOfResult{&r}) : std::nullopt;
            },
            "Kriging.", {.absent = "it was not asked for"}),
      Field("gradient",
            [](R const& r) {
              return r.gradient ? std::optional(GradientOfResult{&*r.gradient, &r.theta})
                                : std::nullopt;
            },
            "Gradient of the log-likelihood.", {.absent = "it was not asked for"}),
      FieldGroup{"seconds", "Where the time went."},
      Field("read_seconds", &R::read_seconds, "Time to read the files.",
            {.key = "seconds/read", .unit = "s"}),
      Field("fill_seconds",
            [](R const& r) { return r.likelihood ? r.likelihood->factor.fill_seconds : 0.0; },
            "Time to evaluate tiles of the last covariance matrix.",
            {.key = "seconds/fill", .unit = "s"}),
      Field("factor_seconds",
            [](R const& r) { return r.likelihood ? r.likelihood->factor.factor_seconds : 0.0; },
            "Time to factor it.", {.key = "seconds/factor", .unit = "s"}),
      Field("total_seconds", &R::total_seconds, "Time of all.",
            {.key = "seconds/total", .unit = "s"}),
      Field("warnings", &R::warnings,
            "What one should know of the data and the model; also on stderr."));
}

}  // namespace detail

/// All that the document tells.
constexpr auto fields_of(MleResult const*) {
  return std::tuple_cat(detail::fields_of_problem(), detail::fields_of_parameters(),
                        detail::fields_of_likelihood(), detail::fields_of_rest());
}
/// Keys where the tables' order is not the document's.
constexpr auto key_order(MleResult const*) {
  return std::array{"schema",
                    "status",
                    "task",
                    "info",
                    "problem",
                    "n",
                    "ranks",
                    "mean",
                    "likelihood",
                    "memory",
                    "covariance",
                    "theta",
                    "trend",
                    "standard_errors",
                    "profile_intervals",
                    "fit",
                    "iterations",
                    "log_likelihood",
                    "aic",
                    "bic",
                    "log_det",
                    "log_det_error",
                    "quadratic_form",
                    "quadratic_form_error",
                    "backward_error",
                    "precisions/epsilon",
                    "precisions/allowed",
                    "precisions/storage",
                    "precisions/whole",
                    "precisions/no_room",
                    "precisions/tiles",
                    "precisions/tile_size",
                    "precisions/map",
                    "precisions/rung",
                    "precisions/attempts"};
}

}  // namespace strata::apps

#endif
