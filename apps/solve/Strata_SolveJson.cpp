// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_InfoJson.hpp>
#include <apps/solve/Strata_SolveOutput.hpp>
#include <apps/solve/Strata_SolveReport.hpp>

#include <string>

namespace strata::apps {

namespace {

using Json = nlohmann::ordered_json;

template <class Number>
Json or_null(std::optional<Number> const& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json attempts(dense::CholeskyReport const& factor) {
  Json list = Json::array();
  for (auto const& attempt : factor.attempts)
    list.push_back({{"rung", name_of(attempt.rung)},
                    {"layers", attempt.layers.name()},
                    {"shift", attempt.shift},
                    {"info", attempt.info},
                    {"seconds", attempt.seconds()}});
  return list;
}

Json problem(ProblemSummary const& summary) {
  return {{"source", summary.source},
          {"format", summary.format},
          {"entries", or_null(summary.entries)},
          {"condition", or_null(summary.condition)},
          {"rhs", summary.rhs}};
}

Json comparison(SolveResult const& result) {
  if (!result.comparison) return nullptr;
  auto const& vendor = *result.comparison;
  auto const ratio = [](double theirs, double ours) {
    return ours > 0 ? Json(theirs / ours) : Json(nullptr);
  };
  return {{"library", vendor.library},
          {"info", vendor.info},
          {"backward_error", vendor.backward_error},
          {"seconds",
           {{"copy", vendor.copy_seconds},
            {"factor", vendor.factor_seconds},
            {"solve", vendor.solve_seconds}}},
          {"ratio",
           {{"cholesky", ratio(vendor.factor_seconds, result.factor.factor_seconds)},
            {"factor", ratio(vendor.copy_seconds + vendor.factor_seconds, result.seconds.factor)},
            {"whole", ratio(vendor.seconds(), result.seconds.factor + result.seconds.solve)}}}};
}

Json seconds(SolveResult const& result) {
  auto const& wall = result.seconds;
  return {{"read", wall.read},
          {"transfer", wall.transfer},
          {"factor", wall.factor},
          {"factor_parts",
           {{"analyse", result.factor.analyse_seconds},
            {"load", result.factor.load_seconds},
            {"cholesky", result.factor.factor_seconds}}},
          {"solve", wall.solve},
          {"condition", wall.condition},
          {"log_determinant", wall.log_determinant},
          {"compare", wall.compare},
          {"total", wall.total}};
}

// The keys that say how good the solution is; null where there is none.
void add_solution(Json& json, SolveResult const& result) {
  auto const& solve = result.solve;
  auto const of = [&](auto value) { return solve ? Json(value(*solve)) : Json(nullptr); };
  json["backward_error"] = of([](auto const& s) { return s.backward_error; });
  json["forward_error"] = or_null(result.forward_error);
  auto const& condition = result.factor.condition;
  json["condition"] = {{"estimate", condition.value > 0 ? Json(condition.value) : Json(nullptr)},
                       {"converged", condition.converged},
                       {"refined", condition.refined},
                       {"solves", condition.solves}};
  json["expected_forward_error"] =
      of([&](auto const& s) { return dense::forward_error(s.refinement, condition); });
  json["equilibrated_error"] = of([](auto const& s) { return s.refinement.equilibrated_error; });
  json["hpl_scaled_residual"] = of([](auto const& s) { return s.hpl_scaled_residual; });
  json["slate_error"] = of([](auto const& s) { return s.slate_error; });
  json["iterations"] = of([](auto const& s) { return s.iterations; });
  json["refine"] = {
      {"asked", result.refine_asked},
      {"method", of([](auto const& s) { return dense::name_of(s.refinement.method); })},
      {"tolerance", of([](auto const& s) { return s.refinement.tolerance; })},
      {"stagnated", of([](auto const& s) { return s.refinement.stagnated; })},
      {"climbs", of([](auto const& s) { return s.climbs; })},
      {"obstacle", of([](auto const& s) { return s.obstacle; })},
      {"history", of([](auto const& s) { return s.refinement.history; })}};
}

void add_factor(Json& json, SolveResult const& result) {
  auto const& factor = result.factor;
  double const full = 8.0 * static_cast<double>(factor.n) * static_cast<double>(factor.n);
  json["layers"] = factor.layers.name();
  json["layers_asked"] = result.layers_asked;
  json["leaf"] = factor.leaf_size;
  json["rung"] = name_of(factor.rung);
  json["shift"] = factor.shift;
  json["scaling"] = {{"equilibrated", factor.equilibrated},
                     {"smallest", factor.smallest_scaling},
                     {"largest", factor.largest_scaling},
                     {"smallest_block", factor.smallest_block_scale},
                     {"largest_block", factor.largest_block_scale}};
  json["attempts"] = attempts(factor);
  json["log_determinant"] = to_json(result.log_determinant);
  json["bytes"] = {{"needed", result.problem.bytes_needed},
                   {"matrix", static_cast<std::uint64_t>(full)},
                   {"factor", factor.stored_bytes},
                   {"factor_peak", factor.peak_bytes}};
}

}  // namespace

Json to_json(SolveResult const& result) {
  auto const speeds = rates(result);
  Json json;
  json["schema"] = "strata.solve/1";
  json["status"] = status_name(result.exit());
  json["info"] = result.info;
  json["n"] = result.problem.n;
  json["nrhs"] = result.problem.nrhs;
  json["problem"] = problem(result.problem);
  add_solution(json, result);
  add_factor(json, result);
  json["repeat"] = result.repeat;
  json["seconds"] = seconds(result);
  json["tflops"] = {{"factor", speeds.factor / 1e12},
                    {"solve", speeds.solve / 1e12},
                    {"whole", speeds.whole / 1e12}};
  json["compare"] = comparison(result);
  json["configuration"] = configuration_json();
  return json;
}

}  // namespace strata::apps
