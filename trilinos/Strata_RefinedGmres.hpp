// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TRILINOS_REFINED_GMRES_HPP
#define STRATA_TRILINOS_REFINED_GMRES_HPP

#include <sparse/krylov/Strata_Preconditioner.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <trilinos/Strata_Parameters.hpp>

#include <cstdint>
#include <optional>

namespace strata::trilinos {

/// The preconditioner that the options ask for, with vectors in Scalar. Collective; fences.
///
/// Throws   ValueError for Gauss-Seidel, Jacobi or AMG of a matrix with a zero on its diagonal
///          (Automatic: none is made then); for sweeps where there are none; MemoryError; on all
///          ranks.
template <class Exec, class Scalar>
sparse::Preconditioner<Exec, Scalar> make_preconditioner(Exec const& exec,
                                                         sparse::DistributedMatrix<Exec> const& A,
                                                         PreconditionerOptions const& options);

/// One preconditioner with vectors in fp64 and in fp32.
template <class Exec>
struct PreconditionerPair {
  sparse::Preconditioner<Exec, double> wide;   ///< preconditioner of cycles in fp64
  sparse::Preconditioner<Exec, float> narrow;  ///< preconditioner of cycles in fp32
};

/// What a solve did.
struct RefinedReport {
  bool converged = false;         ///< the residual meets the tolerance
  bool loss_of_accuracy = false;  ///< the cycle's estimate met the tolerance, the residual did not
  std::int64_t iterations = 0;    ///< iterations of all cycles and attempts
  double residual = 0;            ///< ||b - A x|| over the scaling, fp64
  Precision precision = Precision::fp64;  ///< precision of the last attempt
};

/// GMRES-IR as Belos' parameters describe it, with the ladder of SparseSolver: 16 bits, fp32, fp64.
///
/// The next precision starts where a cycle did not halve the residual, or a number was not finite.
template <class Exec>
class RefinedGmres {
 public:
  /// A vector in the matrix' order.
  using Vector = sparse::Vector<double, typename Exec::memory_space>;

  /// `given`: the preconditioner to use; else it is made as the options say. Collective; fences.
  RefinedGmres(Exec const& exec, sparse::DistributedMatrix<Exec> const& A,
               GmresIrOptions const& options,
               std::optional<PreconditionerPair<Exec>> const& given = {});

  /// Other options with the same preconditioner.
  void set_options(GmresIrOptions const& options);

  /// Solve A x = b from x as given; in the matrix' order, x with room for the halo. Collective;
  /// fences.
  RefinedReport solve(Exec const& exec, Vector const& b, Vector const& x);

 private:
  void prepare(Exec const& exec, Precision precision);
  template <class Scalar>
  sparse::KrylovReport run(Exec const& exec, sparse::Preconditioner<Exec, Scalar> const& M,
                           sparse::KrylovOptions const& krylov, Vector const& b,
                           Vector const& x) const;
  bool prints(int type) const;
  void print(RefinedReport const& report, double set_up_seconds, double solve_seconds) const;

  sparse::DistributedMatrix<Exec> A_;
  GmresIrOptions options_;
  bool is_given_;
  std::optional<sparse::Preconditioner<Exec, double>> wide_;
  std::optional<sparse::Preconditioner<Exec, float>> narrow_;
  Precision narrow_precision_ = Precision::fp32;
};

}  // namespace strata::trilinos

#endif
