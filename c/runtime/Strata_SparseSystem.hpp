// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_SPARSE_SYSTEM_HPP
#define STRATA_C_SPARSE_SYSTEM_HPP

#include <c/runtime/Strata_Runtime.hpp>
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/krylov/Strata_Jacobi.hpp>
#include <sparse/krylov/Strata_Preconditioner.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/multigrid/Strata_AlgebraicMultigrid.hpp>
#include <sparse/multigrid/Strata_TransferHierarchy.hpp>

#include <optional>
#include <utility>

namespace strata::c {

/// M^-1 of a matrix as one linear operator: its matrices in the precision of `options`, vectors in
/// fp64.
struct SparsePreconditioner {
  using Matrix = sparse::DistributedMatrix<Exec>;
  using Reals = sparse::Vector<double, Memory>;

  /// Collective. Throws what the preconditioner's set-up throws.
  SparsePreconditioner(Exec const& exec, Matrix const& A, sparse::SparseOptions const& options)
      : matrix(A),
        r(matrix.allocate<double>(exec, "strata::c::preconditioner::r")),
        z(matrix.allocate<double>(exec, "strata::c::preconditioner::z")) {
    using Cycle = sparse::AlgebraicMultigrid<Exec, double>;
    switch (options.preconditioner) {
      case sparse::PreconditionerKind::None:
        return;
      case sparse::PreconditionerKind::Jacobi:
        M = sparse::Jacobi<Exec, double>(exec, matrix);
        return;
      case sparse::PreconditionerKind::GaussSeidel:
        M = Cycle(exec, sparse::single_level(matrix), options.precision);
        return;
      default:
        M = Cycle(exec, sparse::make_algebraic_hierarchy(exec, matrix, options.amg),
                  options.precision);
    }
  }
  /// result = M^-1 natural, both in the caller's order. Collective; enqueued.
  void apply(Exec const& exec, Reals const& natural, Reals const& result) const {
    matrix.gather(exec, natural, r);
    M.apply(exec, r, z);
    matrix.scatter(exec, z, result);
  }

  Matrix matrix;
  sparse::Preconditioner<Exec, double> M;
  Reals r, z;
};

}  // namespace strata::c

#endif
