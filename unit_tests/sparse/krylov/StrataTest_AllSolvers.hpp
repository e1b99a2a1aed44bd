// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_ALL_SOLVERS_HPP
#define STRATATEST_ALL_SOLVERS_HPP

#include <sparse/choice/Strata_SparseMethods.hpp>

namespace strata::test {

/// Iterations for any matrix that they are told to take.
inline constexpr sparse::SolverKind all_solvers[] = {
    sparse::SolverKind::ConjugateGradients, sparse::SolverKind::Gmres, sparse::SolverKind::Fgmres};

}  // namespace strata::test

#endif
