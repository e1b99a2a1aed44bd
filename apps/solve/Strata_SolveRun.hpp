// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SOLVE_RUN_HPP
#define STRATA_APPS_SOLVE_RUN_HPP

#include <apps/shared/Strata_Progress.hpp>
#include <apps/solve/Strata_SolveOptions.hpp>
#include <apps/solve/Strata_SolveProblem.hpp>
#include <apps/solve/Strata_SolveResult.hpp>

namespace strata::apps {

/// Factor and solve `problem` on the default device, `options.repeat` times; the run of median time counts.
///
/// Memory   the problem's matrix stays; see `require_memory`.
/// Throws   UsageError for numbers in the input that the library refuses; VendorError.
SolveResult run(Problem const& problem, SolveOptions const& options, Progress& progress);

}  // namespace strata::apps

#endif
