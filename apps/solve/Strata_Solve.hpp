// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SOLVE_HPP
#define STRATA_APPS_SOLVE_HPP

#include <apps/shared/Strata_Exit.hpp>
#include <apps/system/Strata_SolveOptions.hpp>

namespace strata::apps {

/// `strata solve`: read or make the system, solve it, write the files asked for, print the report.
///
/// Throws   UsageError for input that can't be used; Error for everything else that fails.
Exit solve(SolveOptions const& options);

/// The same for sparse matrices, or in tiles, on all ranks; rank 0 reports.
///
/// Result   the same on all ranks. An error is agreed on by all ranks and reported by rank 0.
/// Throws   on one rank alone: UsageError for input that can't be used, Error for everything else
///          that fails.
Exit solve_sparse(SolveOptions const& options);
Exit solve_in_tiles(SolveOptions options);

}  // namespace strata::apps

#endif
