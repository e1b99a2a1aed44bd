// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_OUT_OF_CORE_HPP
#define STRATA_APPS_OUT_OF_CORE_HPP

#include <apps/shared/Strata_Exit.hpp>
#include <apps/solve/Strata_SolveOptions.hpp>
#include <apps/solve/Strata_SolveProblem.hpp>
#include <core/Strata_Precision.hpp>
#include <dense/refine/Strata_LogDeterminant.hpp>
#include <dense/refine/Strata_SpdSolve.hpp>
#include <ooc/Strata_Cholesky.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace strata::apps {

/// `strata solve --out-of-core`: open or describe the system, factor it in tiles in host memory, solve it, write the
/// files asked for, print the report.
///
/// Throws   UsageError for input that can't be used; Error for everything else that fails.
Exit solve_out_of_core(SolveOptions const& options);

/// All that its report tells, on screen and in JSON.
struct OutOfCoreResult {
  ProblemSummary problem;
  std::string refine_asked, checkpoint;
  std::vector<Precision> allowed;  ///< precisions of tiles
  double epsilon = 0;              ///< asked for
  std::int64_t info = 0;           ///< 0, or the order of the leading minor that is not positive
  ooc::CholeskyReport factor;
  std::map<int, std::size_t> node_bytes;    ///< of tiles, by NUMA node
  std::size_t tile_bytes = 0;               ///< in host memory
  std::optional<dense::SolveReport> solve;  ///< none without a factor
  std::optional<double> forward_error;      ///< max_j ||x_j - known_j||_inf / ||known_j||_inf
  std::optional<dense::LogDeterminantEstimate> log_determinant;
  double read_seconds = 0, fill_seconds = 0, factor_seconds = 0, solve_seconds = 0,
         log_determinant_seconds = 0, total_seconds = 0;

  Exit exit() const {
    if (info != 0) return Exit::NotPositiveDefinite;
    return solve && solve->converged ? Exit::Solved : Exit::NotConverged;
  }
};

/// The report as a table for people.
void print(std::ostream& out, OutOfCoreResult const& result);

/// The report for machines, as schema/solve_out_of_core.schema.json describes it. Numbers that are not finite become
/// null.
nlohmann::ordered_json to_json(OutOfCoreResult const& result);

}  // namespace strata::apps

#endif
