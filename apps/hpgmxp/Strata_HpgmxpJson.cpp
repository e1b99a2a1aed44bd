// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/hpgmxp/Strata_HpgmxpReport.hpp>
#include <apps/shared/Strata_InfoJson.hpp>

namespace strata::apps {

namespace {

using Json = nlohmann::ordered_json;
using sparse::FlopCount;
using sparse::HpgmxpPhase;
using sparse::HpgmxpResult;

Json problem(HpgmxpOutcome const& outcome) {
  auto const& box = outcome.result.problem;
  Json levels = Json::array();
  for (auto const& level : outcome.result.levels)
    levels.push_back({{"equations", level.rows}, {"entries", level.entries}});
  return {{"local", {box.nx, box.ny, box.nz}},
          {"ranks", {box.grid_x, box.grid_y, box.grid_z}},
          {"equations", box.global_rows()},
          {"entries", box.global_entries()},
          {"beta", box.beta},
          {"levels", levels}};
}

Json motifs(HpgmxpResult const& result, HpgmxpPhase const& phase) {
  auto const ornl = cycle_flops(result.levels, phase.cycle_iterations, FlopCount::Ornl);
  auto const reference = cycle_flops(result.levels, phase.cycle_iterations, FlopCount::Reference);
  auto const bytes = cycle_bytes(result.levels, phase.cycle_iterations, phase.storage);
  Json list = Json::array();
  for (auto const& [motif, name] : named_motifs) {
    double const seconds = phase.motif_seconds[motif];
    auto const rate = [&](double work) {
      return seconds > 0 ? Json(work / seconds / 1e9) : Json(nullptr);
    };
    double const copy = result.copy_bytes_per_second * result.ranks;
    list.push_back(
        {{"name", name},
         {"seconds", seconds},
         {"share", seconds / phase.motif_seconds.total()},
         {"gflops", rate(ornl[motif])},
         {"gflops_reference", rate(reference[motif])},
         {"gb_per_s", rate(bytes[motif])},
         {"fraction_of_copy", seconds > 0 ? Json(bytes[motif] / seconds / copy) : Json(nullptr)}});
  }
  return list;
}

Json phase(HpgmxpResult const& result, std::optional<HpgmxpPhase> const& run) {
  if (!run) return nullptr;
  return {{"values", traits(run->values).name},
          {"vectors", traits(run->scalars).name},
          {"basis", traits(run->basis).name},
          {"solves", run->solves},
          {"iterations", run->iterations},
          {"completed", run->completed()},
          {"seconds", run->seconds},
          {"ms_per_iteration", run->ms_per_iteration()},
          {"gflops", result.flop_per_second(*run, FlopCount::Ornl) / 1e9},
          {"gflops_reference", result.flop_per_second(*run, FlopCount::Reference) / 1e9},
          {"solver_bytes", run->bytes},
          {"motifs_of_one_cycle", motifs(result, *run)}};
}

}  // namespace

Json to_json(HpgmxpOutcome const& outcome) {
  auto const& [options, result, estimate, memory, free] = outcome;
  auto const rules = departures(outcome);
  Json json{
      {"schema", "strata.hpgmxp/1"},
      {"configuration", configuration_json()},
      {"run_type", name_of(options.run)},
      {"conforming", rules.empty()},
      {"departures", rules},
      {"valid", result.passed()},
      {"problem", problem(outcome)},
      {"ordering", {{"method", name_of(options.matrix.colouring)}, {"colours", result.colours}}},
      {"restart", options.restart},
      {"orthogonalisation", {{"method", "cgs2"}, {"norm", "summed"}}},
      {"columns",
       {{"shared", result.columns.shared},
        {"narrow", result.columns.narrow},
        {"wide", result.columns.wide},
        {"bytes_per_entry", result.columns.bytes_per_entry}}},
      {"transport", name_of(result.transport)},
      {"set_up_seconds", result.set_up_seconds},
      {"copy_gb_per_s", result.copy_bytes_per_second / 1e9},
      {"estimated_bytes", estimate},
      {"matrix_bytes", result.matrix_bytes},
      {"held_bytes", result.held_bytes},
      {"memory_bytes", memory}};
  if (auto const free_colours = options.matrix.free_colours)
    json["ordering"]["free_colours"] = *free_colours;
  if (auto const& validation = result.validation) {
    json["validation"] = {{"ranks", validation->ranks},
                          {"tolerance", validation->tolerance},
                          {"basis", traits(validation->basis).name},
                          {"seconds_fp64", validation->fp64.seconds},
                          {"seconds_mixed", validation->mixed.seconds},
                          {"passed", validation->passed()}};
    json["iterations_fp64"] = validation->fp64.iterations;
    json["iterations_mixed"] = validation->mixed.iterations;
    json["residual_fp64"] = validation->fp64.relative_residual;
    json["residual_mixed"] = validation->mixed.relative_residual;
    json["penalty"] = validation->penalty();
  }
  json["mixed"] = phase(result, result.mixed);
  json["fp64"] = phase(result, result.fp64);
  if (result.mixed && result.validation)
    json["rating_gflops"] =
        result.validation->penalty() * result.flop_per_second(*result.mixed, FlopCount::Ornl) / 1e9;
  if (auto const speedup = result.speedup()) json["speedup"] = *speedup;
  if (free) {
    Json levels = Json::array();
    for (auto const& level : free->levels)
      levels.push_back({{"equations", level.rows}, {"entries", level.entries}});
    json["free"] = {{"solver", free->conjugate_gradients ? "cg" : "fgmres"},
                    {"values", traits(free->values).name},
                    {"levels", levels},
                    {"iterations", free->krylov.iterations},
                    {"relative_residual", free->krylov.relative_residual},
                    {"converged", free->krylov.status == sparse::KrylovStatus::Converged},
                    {"set_up_seconds", free->set_up_seconds},
                    {"seconds", free->krylov.seconds},
                    {"speedup_over_conforming",
                     outcome.free_speedup() ? Json(*outcome.free_speedup()) : Json(nullptr)}};
  }
  return json;
}

}  // namespace strata::apps
