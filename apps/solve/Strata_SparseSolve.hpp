// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SPARSE_SOLVE_HPP
#define STRATA_APPS_SPARSE_SOLVE_HPP

#include <apps/shared/Strata_Exit.hpp>
#include <apps/solve/Strata_SolveOptions.hpp>

namespace strata::apps {

/// `strata solve` for sparse matrices, on all ranks: read or make the system, solve it, report it on rank 0.
///
/// Result   the same on all ranks. An error is agreed on by all ranks and reported by rank 0.
/// Throws   on one rank alone: UsageError for input that can't be used, Error for everything else that fails.
Exit solve_sparse(SolveOptions const& options);

}  // namespace strata::apps

#endif
