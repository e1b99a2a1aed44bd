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
      FieldsOf(&O::problem, "", " nrhs "),
      Field("entries", &O::entries, "Number of entries of both triangles."),
      Field("ranks", &O::ranks, "Number of ranks.", {.schema = R"("minimum": 1)"}),
      Field("colours", &O::colours, "Number of colours of the Gauss-Seidel sweep, on rank 0."),
      Field("asked", &O::asked, "Choices that were asked for."), FieldsOf(&O::report),
      Field("history", &history_of,
            "Relative residual as the method estimates it after these iterations, over all "
            "attempts; thinned to about a thousand."),
      Field("forward_error", &O::forward_error, "Error ||x - known||_oo / ||known||_oo.",
            {.absent = "the solution is not known, or not the only one", .schema = R"("minimum": 0)"}),
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
