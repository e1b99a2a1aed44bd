// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SOLVE_REPORT_HPP
#define STRATA_APPS_SOLVE_REPORT_HPP

#include <apps/solve/Strata_SolveResult.hpp>

#include <nlohmann/json.hpp>

#include <iosfwd>

namespace strata::apps {

/// The report as a table for people, HPL-MxP's line included.
void print(std::ostream& out, SolveResult const& result);

/// The report for machines, as schema/solve.schema.json describes it. Numbers that are not finite become null.
nlohmann::ordered_json to_json(SolveResult const& result);

/// Flop/s by the models of core: of the last attempt's Cholesky, of the refined solve (`refinement_flops` for each
/// iteration), and of both together as a user sees them, who asked for `potrf_flops` + `potrs_flops`.
struct Rates {
  double factor = 0, solve = 0, whole = 0;
};
Rates rates(SolveResult const& result);

}  // namespace strata::apps

#endif
