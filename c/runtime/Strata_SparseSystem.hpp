// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_SPARSE_SYSTEM_HPP
#define STRATA_C_SPARSE_SYSTEM_HPP

#include <c/runtime/Strata_Runtime.hpp>
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/direct/Strata_SparseFactor.hpp>
#include <sparse/incomplete/Strata_IncompleteFactor.hpp>
#include <sparse/krylov/Strata_Jacobi.hpp>
#include <sparse/krylov/Strata_Preconditioner.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>
#include <sparse/multigrid/Strata_AlgebraicMultigrid.hpp>
#include <sparse/multigrid/Strata_TransferHierarchy.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace strata::c {

/// M^-1 of a matrix as one linear operator: its matrices in the precision of `options`, vectors in
/// fp64.
struct SparsePreconditioner {
  using Matrix = sparse::DistributedMatrix<Exec>;
  using Reals = sparse::Vector<double, Memory>;

  /// What multigrid keeps of a pattern.
  using Kept = std::shared_ptr<sparse::detail::KeptLevels<Exec>>;

  /// `keeps_pattern`: for another with other values, which is given `old` of this one. Collective.
  /// Throws what the preconditioner's set-up throws.
  SparsePreconditioner(Exec const& exec, Matrix const& A, sparse::SparseOptions const& options,
                       bool keeps_pattern = false, Kept const& old = nullptr)
      : matrix(A),
        r(matrix.allocate<double>(exec, "strata::c::preconditioner::r")),
        z(matrix.allocate<double>(exec, "strata::c::preconditioner::z")) {
    using Cycle = sparse::AlgebraicMultigrid<Exec, double>;
    using Factor = sparse::IncompleteFactor<Exec, double>;
    switch (options.preconditioner) {
      case sparse::PreconditionerKind::None:
        return;
      case sparse::PreconditionerKind::Ic:
        M = Factor(exec, matrix, sparse::IncompleteKind::Cholesky, options.fill, options.precision);
        return;
      case sparse::PreconditionerKind::Ilu:
        M = Factor(exec, matrix, sparse::IncompleteKind::Lu, options.fill, options.precision);
        return;
      case sparse::PreconditionerKind::Direct:
        M = sparse::SparseFactor<Exec>(exec, matrix, sparse::is_symmetric(exec, matrix));
        return;
      case sparse::PreconditionerKind::Chebyshev:
      case sparse::PreconditionerKind::L1Jacobi:
      case sparse::PreconditionerKind::GaussSeidel:
        M = Cycle(exec, one_level(options), options.precision);
        return;
      case sparse::PreconditionerKind::Jacobi:
        M = sparse::Jacobi<Exec, double>(exec, matrix);
        return;
      default:
        auto amg = options.amg;
        amg.keeps_patterns = keeps_pattern;
        auto const levels = sparse::make_algebraic_hierarchy(exec, matrix, amg, {}, old);
        has_old_pattern = levels.has_old_pattern;
        kept = levels.kept;
        M = Cycle(exec, levels, options.precision);
    }
  }
  /// result = M^-1 natural, both in the caller's order. Collective; enqueued.
  void apply(Exec const& exec, Reals const& natural, Reals const& result) const {
    matrix.gather(exec, natural, r);
    M.apply(exec, r, z);
    matrix.scatter(exec, z, result);
  }

  /// The matrix with the smoother that is asked for.
  sparse::TransferHierarchy<Exec> one_level(sparse::SparseOptions const& options) const {
    using sparse::PreconditionerKind, sparse::Smoother;
    auto result = sparse::single_level(matrix);
    result.steps = options.amg.steps_or_two();
    result.smoother = options.preconditioner == PreconditionerKind::Chebyshev ? Smoother::Chebyshev
                      : options.preconditioner == PreconditionerKind::L1Jacobi
                          ? Smoother::L1Jacobi
                          : Smoother::GaussSeidel;
    return result;
  }

  Matrix matrix;
  sparse::Preconditioner<Exec, double> M;
  Kept kept;
  bool has_old_pattern = false;  ///< multigrid's aggregates and patterns are an older matrix's
  Reals r, z;
};

}  // namespace strata::c

#endif
