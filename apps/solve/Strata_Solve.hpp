// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SOLVE_HPP
#define STRATA_APPS_SOLVE_HPP

#include <apps/shared/Strata_Exit.hpp>
#include <apps/solve/Strata_SolveOptions.hpp>

namespace strata::apps {

/// `strata solve`: read or make the system, solve it, write the files asked for, print the report.
///
/// Throws   UsageError for input that can't be used; Error for everything else that fails.
Exit solve(SolveOptions const& options);

}  // namespace strata::apps

#endif
