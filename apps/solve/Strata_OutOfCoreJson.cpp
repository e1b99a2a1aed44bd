// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_InfoJson.hpp>
#include <apps/solve/Strata_OutOfCore.hpp>
#include <apps/solve/Strata_SolveOutput.hpp>

#include <array>

namespace strata::apps {

namespace {

using Json = nlohmann::ordered_json;

Json tiles(std::array<std::int64_t, 4> const& histogram) {
  return {{"fp64", histogram[0]},
          {"fp32", histogram[1]},
          {"fp16", histogram[2]},
          {"fp8_e4m3", histogram[3]}};
}

Json attempts(ooc::CholeskyReport const& factor) {
  Json list = Json::array();
  for (auto const& attempt : factor.attempts)
    list.push_back({{"rung", name_of(attempt.rung)},
                    {"epsilon", attempt.accuracy},
                    {"tiles", tiles(attempt.histogram)},
                    {"info", attempt.info},
                    {"fill_seconds", attempt.fill_seconds},
                    {"factor_seconds", attempt.factor_seconds}});
  return list;
}

Json devices(ooc::CholeskyReport const& factor) {
  Json list = Json::array();
  for (auto const& device : factor.devices)
    list.push_back({{"id", device.id},
                    {"pool_bytes", device.budget_bytes},
                    {"bytes_in", device.bytes_in},
                    {"bytes_out", device.bytes_out},
                    {"bytes_peer", device.bytes_peer},
                    {"hits", device.hits},
                    {"misses", device.misses},
                    {"evictions", device.evictions}});
  return list;
}

void add_solution(Json& json, OutOfCoreResult const& result) {
  auto const& solve = result.solve;
  auto const of = [&](auto value) { return solve ? Json(value(*solve)) : Json(nullptr); };
  json["backward_error"] = of([](auto const& s) { return s.backward_error; });
  json["forward_error"] = result.forward_error ? Json(*result.forward_error) : Json(nullptr);
  json["iterations"] = of([](auto const& s) { return s.iterations; });
  json["refine"] = {
      {"asked", result.refine_asked},
      {"method", of([](auto const& s) { return dense::name_of(s.refinement.method); })},
      {"tolerance", of([](auto const& s) { return s.refinement.tolerance; })},
      {"stagnated", of([](auto const& s) { return s.refinement.stagnated; })},
      {"climbs", of([](auto const& s) { return s.climbs; })},
      {"obstacle", of([](auto const& s) { return s.obstacle; })},
      {"history", of([](auto const& s) { return s.refinement.history; })}};
  json["log_determinant"] = to_json(result.log_determinant);
}

}  // namespace

Json to_json(OutOfCoreResult const& result) {
  auto const& factor = result.factor;
  Json allowed = Json::array();
  for (Precision const precision : result.allowed) allowed.push_back(traits(precision).name);
  Json json;
  json["schema"] = "strata.solve_out_of_core/1";
  json["status"] = status_name(result.exit());
  json["info"] = result.info;
  json["n"] = result.problem.n;
  json["nrhs"] = result.problem.nrhs;
  json["problem"] = {{"source", result.problem.source},
                     {"format", result.problem.format},
                     {"rhs", result.problem.rhs}};
  add_solution(json, result);
  json["epsilon"] = result.epsilon;
  json["precisions"] = allowed;
  json["tile_size"] = factor.tile_size;
  json["tiles"] = tiles(factor.histogram);
  json["rung"] = name_of(factor.rung);
  json["attempts"] = attempts(factor);
  json["schedule"] = {{"variant", ooc::name_of(factor.variant)},
                      {"streams", factor.streams},
                      {"column_block", factor.column_block},
                      {"first_column", factor.first_column}};
  json["checkpoint"] = result.checkpoint;
  json["devices"] = devices(factor);
  json["nodes"] = Json::array();
  for (auto const& [node, bytes] : result.node_bytes)
    json["nodes"].push_back({{"node", node}, {"tile_bytes", bytes}});
  json["bytes"] = {{"needed", result.problem.bytes_needed},
                   {"tiles", result.tile_bytes},
                   {"scratch", result.problem.scratch_bytes},
                   {"in", factor.bytes_in()},
                   {"out", factor.bytes_out()},
                   {"peer", factor.bytes_peer()}};
  json["seconds"] = {{"read", result.read_seconds},
                     {"fill", result.fill_seconds},
                     {"factor", result.factor_seconds},
                     {"solve", result.solve_seconds},
                     {"log_determinant", result.log_determinant_seconds},
                     {"total", result.total_seconds}};
  json["tflops"] = {{"factor", factor.flop_per_s / 1e12}};
  json["configuration"] = configuration_json();
  return json;
}

}  // namespace strata::apps
