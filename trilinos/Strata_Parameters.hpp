// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TRILINOS_PARAMETERS_HPP
#define STRATA_TRILINOS_PARAMETERS_HPP

#include <core/Strata_Precision.hpp>
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/matrix/Strata_GaussSeidel.hpp>

#include <Teuchos_ParameterList.hpp>
#include <Teuchos_RCP.hpp>

#include <iosfwd>
#include <optional>
#include <string>

namespace strata::trilinos {

/// What a preconditioner is made of; `preconditioner_parameters()` has the same as a list.
struct PreconditionerOptions {
  sparse::PreconditionerKind kind = sparse::PreconditionerKind::Automatic;  ///< the method
  /// precision of its matrices; vectors are fp64 for fp64, else fp32
  Precision precision = Precision::fp32;
  int sweeps = 1;                                  ///< number of Gauss-Seidel sweeps
  sparse::Sweep sweep = sparse::Sweep::Symmetric;  ///< direction of a Gauss-Seidel sweep
  /// The order of sweeps; none: Levels, the order of the rows, where one thread runs them, else
  /// JonesPlassmannLuby.
  std::optional<sparse::ColouringMethod> colouring;
  sparse::AmgOptions amg;  ///< choices of the kind Amg
};

/// How a matrix for such a preconditioner orders its rows.
template <class Exec>
sparse::MatrixOptions matrix_options(Exec const& exec, PreconditionerOptions const& options) {
  using sparse::ColouringMethod;
  sparse::MatrixOptions matrix;
  if (options.kind == sparse::PreconditionerKind::GaussSeidel)
    matrix.order = sparse::RowOrder::Sweep;
  matrix.colouring = options.colouring.value_or(
      exec.concurrency() == 1 ? ColouringMethod::Levels : ColouringMethod::JonesPlassmannLuby);
  return matrix;
}

/// Every parameter of a preconditioner with its default and what it means. They are "Type" (auto,
/// none, jacobi, gs, amg), "Precision" (fp64, fp32, bf16, fp16), "Sweeps" and "Sweep Direction"
/// (forward, backward, symmetric). Further ones are "Colouring" (auto, jones-plassmann-luby,
/// greedy, levels), "Strength", "Coarse Rows" and "Block Size".
Teuchos::ParameterList preconditioner_parameters();
/// Throws   ValueError for a name that `preconditioner_parameters` lacks, with the list; a value of
///          another type or outside its range.
PreconditionerOptions preconditioner_options(Teuchos::ParameterList const& parameters);

/// What Belos' solver "Strata GMRES-IR" is told.
struct GmresIrOptions {
  double tolerance = 1e-8;    ///< bound of the residual over the scaling
  int max_iterations = 1000;  ///< most iterations of all cycles together
  int num_blocks = 300;       ///< basis vectors per cycle
  int max_restarts = 20;      ///< cycles after the first
  /// What residuals are divided by.
  enum class Scaling {
    InitialResidual,  ///< the norm of the first residual
    RightSide,        ///< the norm of the right-hand side
    None,             ///< one
  };
  Scaling scaling = Scaling::InitialResidual;  ///< scaling of residuals
  int verbosity = 0;                           ///< Belos::MsgType, added up
  int output_frequency = -1;  ///< iterations between lines of Belos::StatusTestDetails; < 1: none
  Teuchos::RCP<std::ostream> output;     ///< stream to which it prints; not null
  PreconditionerOptions preconditioner;  ///< inside of GMRES
};

/// Belos' names with Belos' defaults: "Convergence Tolerance", "Maximum Iterations", "Num Blocks",
/// "Maximum Restarts", "Explicit Residual Scaling", "Verbosity", "Output Frequency", "Output
/// Stream", and the list "Preconditioner".
Teuchos::ParameterList gmres_ir_parameters();
/// Throws   as `preconditioner_options`.
GmresIrOptions gmres_ir_options(Teuchos::ParameterList const& parameters);

}  // namespace strata::trilinos

#endif
