// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_InfoJson.hpp>
#include <apps/solve/Strata_SparseReport.hpp>

namespace strata::apps {

namespace {

using Json = nlohmann::ordered_json;

Json attempts(sparse::SparseReport const& report) {
  Json list = Json::array();
  for (auto const& attempt : report.attempts)
    list.push_back({{"solver", name_of(attempt.solver)},
                    {"precision", traits(attempt.precision).name},
                    {"status", name_of(attempt.krylov.status)},
                    {"iterations", attempt.krylov.iterations},
                    {"relative_residual", attempt.krylov.relative_residual},
                    {"seconds", attempt.krylov.seconds}});
  return list;
}

Json levels(sparse::SparseReport const& report) {
  Json list = Json::array();
  for (auto const& level : report.levels)
    list.push_back({{"rows", level.rows}, {"entries", level.entries}});
  return list;
}

// Of the numbers of rows, counted from 1, null: there is none.
Json rows(sparse::SparseReport const& report) {
  auto const number = [](std::int64_t row) { return row > 0 ? Json(row) : Json(nullptr); };
  return {{"empty", report.rows.empty},
          {"first_empty", number(report.rows.first_empty + 1)},
          {"first_zero_diagonal", number(report.zero_diagonal_row)},
          {"map_constants_to_zero", report.rows.maps_constants_to_zero}};
}

}  // namespace

Json to_json(SparseOutcome const& outcome) {
  auto const& asked = outcome.asked;
  auto const& report = outcome.report;
  return {
      {"schema", "strata.solve_sparse/1"},
      {"status", status_name(outcome.exit())},
      {"ended", name_of(report.status)},
      {"solver", name_of(report.solver)},
      {"preconditioner", name_of(report.preconditioner)},
      {"precision", traits(report.precision).name},
      {"n", outcome.n},
      {"entries", outcome.entries},
      {"ranks", outcome.ranks},
      {"iterations", report.iterations},
      {"relative_residual", report.relative_residual},
      {"backward_error", report.backward_error},
      {"forward_error", outcome.forward_error ? Json(*outcome.forward_error) : Json(nullptr)},
      {"symmetric", report.symmetric},
      {"rows", rows(report)},
      {"asked",
       {{"solver", name_of(asked.solver)},
        {"preconditioner", name_of(asked.preconditioner)},
        {"precision", traits(asked.precision).name},
        {"tolerance", asked.tolerance},
        {"restart", asked.restart},
        {"max_iterations", asked.max_iterations},
        {"block_size", asked.amg.block_size}}},
      {"problem", {{"source", outcome.source}, {"format", outcome.format}, {"rhs", outcome.rhs}}},
      {"attempts", attempts(report)},
      {"levels", levels(report)},
      {"operator_complexity", report.operator_complexity},
      {"coarse_solve", report.direct_coarse_solve ? "direct" : "sweep"},
      {"colours", outcome.colours},
      {"bytes",
       {{"needed", outcome.bytes_needed}, {"preconditioner", report.preconditioner_bytes}}},
      {"seconds",
       {{"read", outcome.read_seconds},
        {"assemble", outcome.assemble_seconds},
        {"setup", report.set_up_seconds},
        {"solve", report.solve_seconds},
        {"total", outcome.total_seconds}}},
      {"configuration", configuration_json()}};
}

}  // namespace strata::apps
