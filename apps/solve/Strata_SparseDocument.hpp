// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SPARSE_DOCUMENT_HPP
#define STRATA_APPS_SPARSE_DOCUMENT_HPP

#include <apps/shared/Strata_Exit.hpp>
#include <apps/solve/Strata_SolveFields.hpp>
#include <apps/solve/Strata_Sparse.hpp>
#include <core/Strata_Fields.hpp>
#include <sparse/Strata_SparseFields.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

/// What the document of a sparse `strata solve` tells beside what the library reports.
namespace strata::apps {

/// The residual after some of the iterations.
struct ResidualHistory {
  std::vector<std::int64_t> iterations;   ///< How many.
  std::vector<double> relative_residual;  ///< After each of them.
};
/// The fields of its report.
constexpr auto fields_of(ResidualHistory const*) {
  using H = ResidualHistory;
  return std::tuple(
      Field("iterations", &H::iterations, "Numbers of iterations."),
      Field("relative_residual", &H::relative_residual, "Relative residual after each of them."));
}
/// Evenly thinned to about a thousand, with the last one.
ResidualHistory history_of(SparseOutcome const& outcome);

/// How a column of X came out.
struct ColumnOutcome {
  sparse::SparseReport report;  ///< What the solve did.
};
/// What is told of a column.
constexpr auto fields_of(ColumnOutcome const*) {
  using C = ColumnOutcome;
  return std::tuple(
      Field(
          "ended", [](C const& c) { return c.report.status; }, "How the last attempt ended."),
      Field(
          "iterations", [](C const& c) { return c.report.iterations; },
          "Number of iterations of all attempts."),
      Field("abreast", [](C const& c) { return c.report.columns_abreast; },
            "Number of columns that CG solved for in step with this one, itself included; 1: it "
            "was alone.",
            {.schema = R"("minimum": 1)"}),
      Field("relative_residual", [](C const& c) { return c.report.relative_residual; },
            "Relative residual |b - A x| / |b| in the 2-norm.", {.schema = R"("minimum": 0)"}),
      Field("backward_error", [](C const& c) { return c.report.backward_error; },
            "Backward error |b - A x| / (|A| |x| + |b|) in the infinity norm.",
            {.schema = R"("minimum": 0)"}));
}
/// Each column's.
inline std::vector<ColumnOutcome> column_outcomes(SparseOutcome const& outcome) {
  std::vector<ColumnOutcome> columns;
  for (auto const& report : outcome.columns) columns.push_back({report});
  return columns;
}

/// All that the document tells.
constexpr auto fields_of(SparseOutcome const*) {
  using O = SparseOutcome;
  return std::tuple(
      Field("schema", [](O const&) { return std::string("strata.solve_sparse/1"); },
            "Name and version of this schema.", {.schema = R"("const": "strata.solve_sparse/1")"}),
      Field("exit", [](O const& o) { return std::string(status_name(o.exit())); },
            "How the run ended: exit code 0, 3 or 4.",
            {.key = "status",
             .schema = R"("enum": ["solved", "not_positive_definite", "not_converged"])"}),
      FieldsOf(&O::problem), Field("entries", &O::entries, "Number of entries of both triangles."),
      Field("ranks", &O::ranks, "Number of ranks.", {.schema = R"("minimum": 1)"}),
      Field("colours", &O::colours, "Number of colours of the Gauss-Seidel sweep, on rank 0."),
      Field("asked", &O::asked, "Choices that were asked for."), FieldsOf(&O::report),
      Field("history", &history_of,
            "Relative residual as the method estimates it after these iterations, over all "
            "attempts; thinned to about a thousand."),
      Field("columns", &column_outcomes, "What became of each column of X."),
      Field("forward_error", &O::forward_error,
            "Error ||x - known||_oo / ||known||_oo; the largest of several columns.",
            {.absent = "the solution is not known, or not the only one",
             .schema = R"("minimum": 0)"}),
      FieldGroup{"seconds", "Where the time went."},
      Field("read_seconds", &O::read_seconds, "Time to read the files.",
            {.key = "seconds/read", .unit = "s"}),
      Field("assemble_seconds", &O::assemble_seconds, "Time to make the matrix.",
            {.key = "seconds/assemble", .unit = "s"}),
      Field("total_seconds", &O::total_seconds, "Time of all.",
            {.key = "seconds/total", .unit = "s"}));
}
/// Keys where the tables' order is not the document's.
constexpr auto key_order(SparseOutcome const*) {
  return std::array{"schema",
                    "status",
                    "ended",
                    "problem",
                    "n",
                    "nrhs",
                    "entries",
                    "symmetric",
                    "ranks",
                    "bytes",
                    "rows/empty",
                    "rows/first_empty",
                    "rows/first_zero_diagonal",
                    "rows/map_constants_to_zero",
                    "colours",
                    "solver",
                    "asked",
                    "preconditioner",
                    "precision",
                    "block_size",
                    "modes",
                    "levels",
                    "operator_complexity",
                    "coarse_solve",
                    "attempts",
                    "history",
                    "columns",
                    "iterations",
                    "backward_error",
                    "forward_error",
                    "condition_at_least",
                    "forward_error_estimate",
                    "digits",
                    "incompatible",
                    "relative_residual",
                    "seconds/read",
                    "seconds/assemble"};
}

}  // namespace strata::apps

#endif
