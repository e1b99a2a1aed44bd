// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_SPARSE_METHODS_HPP
#define STRATA_SPARSE_SPARSE_METHODS_HPP

#include <core/Strata_EnumNames.hpp>

namespace strata::sparse {

/// The method of a sparse solve.
enum class SolverKind {
  Automatic,           ///< see `SparseSolver`
  ConjugateGradients,  ///< CG, for symmetric positive definite matrices
  Minres,              ///< MINRES, for symmetric matrices, with a positive definite preconditioner
  Gmres,               ///< GMRES-IR
  Fgmres,              ///< flexible GMRES, whose preconditioner may change
  BiCgStab,            ///< short recurrences for any matrix
  Direct,              ///< sparse factors, refined; of one rank
};
/// What it is preconditioned with.
enum class PreconditionerKind {
  Automatic,  ///< see `SparseSolver`
  None,       ///< none
  Jacobi,     ///< the diagonal
  L1Jacobi,   ///< steps with the rows' absolute sums
  Chebyshev,  ///< Chebyshev's polynomial of the matrix, for symmetric ones with a positive diagonal
  GaussSeidel,  ///< Gauss-Seidel sweeps
  Ic,           ///< incomplete Cholesky factor
  Ilu,          ///< incomplete LU factors
  Amg,          ///< algebraic multigrid
  Direct,       ///< the factors of a direct solver
};

/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(SolverKind) {
  return enum_names<SolverKind>("solver", {{SolverKind::Automatic, "auto"},
                                           {SolverKind::ConjugateGradients, "cg"},
                                           {SolverKind::Minres, "minres"},
                                           {SolverKind::Gmres, "gmres"},
                                           {SolverKind::Fgmres, "fgmres"},
                                           {SolverKind::BiCgStab, "bicgstab"},
                                           {SolverKind::Direct, "direct"}});
}
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(PreconditionerKind) {
  return enum_names<PreconditionerKind>("preconditioner",
                                        {{PreconditionerKind::Automatic, "auto"},
                                         {PreconditionerKind::None, "none"},
                                         {PreconditionerKind::Jacobi, "jacobi"},
                                         {PreconditionerKind::L1Jacobi, "l1-jacobi"},
                                         {PreconditionerKind::Chebyshev, "chebyshev"},
                                         {PreconditionerKind::GaussSeidel, "gs"},
                                         {PreconditionerKind::Ic, "ic"},
                                         {PreconditionerKind::Ilu, "ilu"},
                                         {PreconditionerKind::Amg, "amg"},
                                         {PreconditionerKind::Direct, "direct"}});
}
using strata::name_of;

}  // namespace strata::sparse

#endif
