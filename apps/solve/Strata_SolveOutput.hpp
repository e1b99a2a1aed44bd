// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SOLVE_OUTPUT_HPP
#define STRATA_APPS_SOLVE_OUTPUT_HPP

#include <apps/shared/Strata_Exit.hpp>
#include <apps/solve/Strata_SolveOptions.hpp>
#include <core/io/Strata_MatrixFile.hpp>
#include <core/io/Strata_TextFile.hpp>
#include <core/io/Strata_Trace.hpp>
#include <dense/refine/Strata_LogDeterminant.hpp>

#include <nlohmann/json.hpp>

#include <iostream>
#include <optional>

// What `strata solve` writes and says at the end, whether a dense matrix was in memory or in tiles.
namespace strata::apps {

/// X, the trace and the report, where they were asked for; X only if the system was solved.
template <class Result>
void write_files(SolveOptions const& options, Result const& result, HostMatrix const& X,
                 std::optional<Recorder> const& recorder) {
  if (!options.output.empty() && result.exit() == Exit::Solved) write_matrix(options.output, X);
  if (recorder) write_trace(options.trace, {{"strata", recorder->spans()}});
  if (options.json.empty()) return;
  constexpr auto replace = nlohmann::ordered_json::error_handler_t::replace;
  write_text_file(options.json, to_json(result).dump(2, ' ', false, replace) + '\n');
}

/// One line on stderr if there is no solution that was asked for.
template <class Result>
void explain(Result const& result) {
  if (result.exit() == Exit::NotPositiveDefinite)
    std::cerr << "strata: not positive definite: the leading minor of order " << result.info
              << " is not positive\n";
  if (result.exit() == Exit::NotConverged)
    std::cerr << "strata: not converged: normwise backward error " << result.solve->backward_error
              << "\n";
}

inline nlohmann::ordered_json to_json(
    std::optional<dense::LogDeterminantEstimate> const& estimate) {
  if (!estimate) return nullptr;
  return {{"value", estimate->value},
          {"correction", estimate->correction},
          {"standard_error", estimate->standard_error},
          {"quadrature_error", estimate->quadrature_error},
          {"rounding_error", estimate->rounding_error},
          {"error", estimate->error()}};
}

}  // namespace strata::apps

#endif
