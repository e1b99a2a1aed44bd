// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SOLVE_REPORT_HPP
#define STRATA_APPS_SOLVE_REPORT_HPP

#include <apps/Strata_SolveResult.hpp>
#include <iosfwd>
#include <nlohmann/json.hpp>

namespace strata::apps {

/// The report as a table for people, HPL-MxP's line included.
void print(std::ostream& out, SolveResult const& result);

/// The report for machines, as schema/solve.schema.json describes it. Numbers that are not finite become null.
nlohmann::ordered_json to_json(SolveResult const& result);

/// Flops of factor and solve: n^3/3, and 4 n^2 for each application of the factor and A to each column.
struct Rates {
  double factor = 0;  ///< of the final rung's factorisation alone, flop/s
  double solve = 0;
  double whole =
      0;  ///< n^3/3 + 2 n^2 nrhs flops over the seconds of factor and solve: what a user gets
};
Rates rates(SolveResult const& result);

}  // namespace strata::apps

#endif
