// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/mle/Strata_MleReport.hpp>
#include <apps/shared/Strata_InfoJson.hpp>
#include <core/Strata_Precision.hpp>

namespace strata::apps {

namespace {

using Json = nlohmann::ordered_json;

Json theta(geostat::MaternCovariance const& c) {
  return {{"sigma2", c.sigma2}, {"range", c.range}, {"nu", c.nu}, {"nugget", c.nugget}};
}

Json named(std::array<bool, 4> const& marks) {
  Json list = Json::array();
  for (std::size_t k = 0; k < marks.size(); ++k)
    if (marks[k]) list.push_back(geostat::parameter_names[k]);
  return list;
}

char const* status(MleResult const& result) {
  if (result.exit() == Exit::NotPositiveDefinite) return "not_positive_definite";
  if (result.exit() == Exit::NotConverged) return "not_converged";
  return result.task == "generate" ? "generated" : result.task == "fit" ? "fitted" : "evaluated";
}

Json low_precision(geostat::Fit const& fit) {
  if (!fit.in_low_precision) return nullptr;
  auto const& low = *fit.in_low_precision;
  return {{"evaluations", low.evaluation},
          {"theta", theta(low.theta)},
          {"log_likelihood", low.likelihood.log_likelihood},
          {"noise", low.likelihood.log_det_error / 2}};
}

Json fit(MleResult const& result) {
  if (!result.fit) return nullptr;
  auto const& fit = *result.fit;
  auto const& asked = *result.asked;
  return {{"converged", fit.converged},
          {"reason", fit.reason},
          {"evaluations", fit.evaluations},
          {"not_positive_definite", fit.not_positive_definite},
          {"search", geostat::name_of(asked.search)},
          {"tolerance", asked.tolerance},
          {"start", theta(asked.start)},
          {"lower", theta(asked.lower)},
          {"upper", theta(asked.upper)},
          {"fixed", named(asked.fixed)},
          {"at_bound", named(fit.at_bound)},
          {"noise", fit.noise},
          {"not_known", fit.not_known},
          {"evaluations_in_fp64", fit.evaluations_in_fp64},
          {"in_low_precision", low_precision(fit)},
          {"evaluation_seconds", fit.evaluation_seconds},
          {"seconds", fit.seconds}};
}

Json divergence(MleResult const& result) {
  if (!result.divergence) return nullptr;
  auto const& kl = *result.divergence;
  return {{"paper", kl.divergence.log_det_half},
          {"full", kl.divergence.full},
          {"standard_error", kl.divergence.standard_error},
          {"truncation_error", kl.divergence.truncation_error},
          {"log_det_factor", kl.log_det_factor},
          {"log_det_fp64", kl.log_det_fp64}};
}

Json prediction(MleResult const& result) {
  if (!result.prediction) return nullptr;
  auto const& prediction = *result.prediction;
  return {{"places", prediction.places},
          {"count", prediction.count},
          {"output", result.output},
          {"average_mean", prediction.mean},
          {"variance_of", result.mean == geostat::Mean::Constant ? "field, ordinary kriging"
                                                                 : "field, simple kriging"},
          {"average_variance", prediction.variance},
          {"average_observation_variance", prediction.observation_variance},
          {"backward_error", prediction.backward_error}};
}

Json precisions(MleResult const& result) {
  Json names = Json::array();
  for (auto const precision : result.rule.precisions)
    if (result.rule.accuracy > 0 || precision == Precision::fp64)
      names.push_back(traits(precision).name);
  Json json = {{"epsilon", result.rule.accuracy},
               {"allowed", names},
               {"tile_size", nullptr},
               {"tiles", nullptr},
               {"rung", nullptr},
               {"attempts", Json::array()}};
  if (!result.likelihood) return json;
  auto const& factor = result.likelihood->factor;
  json["tile_size"] = factor.tile_size;
  json["tiles"] = {{"fp64", factor.tiles[0]},
                   {"fp32", factor.tiles[1]},
                   {"fp16", factor.tiles[2]},
                   {"fp8_e4m3", factor.tiles[3]}};
  json["rung"] = name_of(factor.rung);
  for (auto const& attempt : factor.attempts)
    json["attempts"].push_back({{"rung", name_of(attempt.rung)},
                                {"epsilon", attempt.accuracy},
                                {"info", attempt.info},
                                {"seconds", attempt.factor_seconds}});
  return json;
}

void add_likelihood(Json& json, MleResult const& result) {
  bool const known = result.likelihood && result.likelihood->info == 0;
  auto const number = [known](double value) { return known ? Json(value) : Json(nullptr); };
  auto const likelihood = result.likelihood.value_or(geostat::Likelihood{});
  json["log_likelihood"] = number(likelihood.log_likelihood);
  json["log_det"] = number(likelihood.log_det);
  json["log_det_error"] = number(likelihood.log_det_error);
  json["quadratic_form"] = number(likelihood.quadratic_form);
  json["mean"] = {{"model", name_of(result.mean)}, {"value", number(likelihood.mean)}};
  json["backward_error"] = number(likelihood.backward_error);
}

}  // namespace

Json to_json(MleResult const& result) {
  Json json;
  json["schema"] = "strata.mle/1";
  json["status"] = status(result);
  json["task"] = result.task;
  json["info"] = result.likelihood ? result.likelihood->info : 0;
  json["n"] = result.n;
  json["problem"] = {
      {"source", result.source},
      {"metric", result.metric == geostat::Metric::GreatCircle ? "great_circle_km" : "euclidean"},
      {"ordering", result.ordering},
      {"output", result.output}};
  json["theta"] = theta(result.theta);
  add_likelihood(json, result);
  json["iterations"] = result.fit ? result.fit->evaluations : result.likelihood ? 1 : 0;
  json["fit"] = fit(result);
  json["kl"] = divergence(result);
  json["prediction"] = prediction(result);
  json["precisions"] = precisions(result);
  json["memory"] = {{"needed", result.bytes_needed},
                    {"used", result.likelihood ? result.likelihood->factor.bytes : 0}};
  json["seconds"] = {{"read", result.read_seconds},
                     {"fill", result.likelihood ? result.likelihood->factor.fill_seconds : 0},
                     {"factor", result.likelihood ? result.likelihood->factor.factor_seconds : 0},
                     {"total", result.total_seconds}};
  json["warnings"] = result.warnings;
  json["configuration"] = configuration_json();
  return json;
}

}  // namespace strata::apps
