// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SYMMETRIC_FACTOR_HPP
#define STRATA_SYMMETRIC_FACTOR_HPP

#include <core/Strata_EnumNames.hpp>
#include <core/Strata_Ladder.hpp>
#include <core/Strata_Pimpl.hpp>
#include <dense/refine/Strata_Condition.hpp>
#include <dense/refine/Strata_Refinement.hpp>
#include <dense/refine/Strata_SpdSolve.hpp>
#include <dense/tree/Strata_Layers.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace strata::dense {

/// The rungs of the ladder of symmetric matrices, in their order.
enum class SymmetricRung : std::uint8_t {
  Layers,   ///< L D L^T in the layers, after a random butterfly, without pivoting
  Fp64,     ///< L D L^T in fp64, after a random butterfly, without pivoting
  Pivoted,  ///< pivots of order one and two in fp64: LAPACK's sytrf or cuSOLVER's
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(SymmetricRung) {
  return enum_names<SymmetricRung>("rung", {{SymmetricRung::Layers, "layers"},
                                            {SymmetricRung::Fp64, "fp64"},
                                            {SymmetricRung::Pivoted, "pivoted"}});
}
using strata::name_of;

/// Choices of `symmetric_factor`.
struct SymmetricOptions {
  /// Layers of the first rung, of fp32, tf32 and fp16_split; fp64: that rung is left out. None:
  /// fp32, or below order 256 the pivoted rung at once.
  std::optional<LayerList> layers;
  bool pivoted = false;  ///< begin with the pivoted rung
};

/// One factorisation that was tried.
struct SymmetricAttempt {
  SymmetricRung rung = SymmetricRung::Layers;  ///< its rung
  LayerList layers{Precision::fp64};           ///< layers of its products
  Outcome outcome = Outcome::Held;             ///< what became of it
  /// The largest magnitude in all reduced matrices over the largest in the first; 0: not known.
  double growth = 0;
  std::int64_t zero_pivot = 0;  ///< the first pivot that is 0, from 1; 0: none
  double seconds = 0;           ///< time to load and factor the matrix
};

/// The numbers of eigenvalues by their signs.
struct Inertia {
  std::int64_t positive = 0;  ///< eigenvalues above 0
  std::int64_t negative = 0;  ///< eigenvalues below 0
  /// Eigenvalues 0, of which rounding leaves none: 0 where the inertia is decided.
  std::int64_t zero = 0;
  /// The signs of the pivots are those of the eigenvalues. Otherwise all numbers are 0.
  bool decided = false;
  /// A bound of ||I - M^-1 A||_2 with the factor's matrix M; below 1 the two have the same signs.
  double distance = std::numeric_limits<double>::infinity();
};

/// The determinant by its sign and the logarithm of its magnitude.
struct SignedLogDeterminant {
  int sign = 0;      ///< 1 or -1; 0: not decided, or det A = 0
  double value = 0;  ///< log |det A|
  /// |value - log |det A|| is less, but for about one case in a thousand; infinite where the sign
  /// is not decided
  double error = std::numeric_limits<double>::infinity();
};

/// What was done to the matrix.
struct SymmetricReport {
  std::int64_t n = 0;                                ///< order of the matrix
  LayerList layers{Precision::fp64};                 ///< layers of the present factor
  SymmetricRung rung = SymmetricRung::Layers;        ///< rung that held, or was the last
  std::vector<SymmetricAttempt> attempts;            ///< attempts in their order
  double smallest_scaling = 1, largest_scaling = 1;  ///< least and largest number of D
  double norm_inf = 0;                               ///< ||A||_inf
  double growth = 0;                                 ///< growth of the present factor
  std::size_t stored_bytes = 0;                      ///< bytes of the factor
  double analyse_seconds = 0;                        ///< time to check and scale A
  double factor_seconds = 0;                         ///< time of all attempts
  /// Why A is refused, with numbers: it is singular, or so near to it that no digit is left.
  std::string refusal;
  ConditionEstimate condition;  ///< once it was asked for
};

/// L D L^T of a symmetric matrix that need not be definite, with which it is solved to fp64
/// accuracy.
///
/// H = D A D has rows whose largest magnitude is about one. The first two rungs factor U^T H U
/// without pivoting, U a random butterfly. Growth and what it costs in accuracy is repaired by
/// GMRES in fp64, and where that does not converge the next rung is climbed. It keeps a reference
/// to A, which must not change. All work runs on the instance passed. Not copyable; not to be used
/// by two threads at once.
template <class ExecutionSpace>
class SymmetricFactor {
 public:
  using memory_space = typename ExecutionSpace::memory_space;  ///< memory of the matrix
  /// A matrix of any layout, to be read.
  using MatrixView = Kokkos::View<double const**, Kokkos::LayoutStride, memory_space>;

  /// Prefer `symmetric_factor`. Contract as there.
  SymmetricFactor(ExecutionSpace const& exec, MatrixView const& A, SymmetricOptions const& options);
  ~SymmetricFactor();
  SymmetricFactor(SymmetricFactor&&) noexcept;
  SymmetricFactor& operator=(SymmetricFactor&&) noexcept;

  /// Whether there is a factor; else the report has the refusal.
  bool ok() const;
  /// What was done to the matrix.
  SymmetricReport const& report() const;

  /// Solve A X = B, refined in fp64 with the factor as preconditioner.
  ///
  /// Shape    as of `CholeskyFactor::solve`.
  /// Result   as of `dense::solve`, with the ladder of SymmetricRung. Where X is so large that A
  ///          may be singular, the pivoted rung decides: if no digit can be expected, ok() is false
  ///          afterwards, and the report not converged. Refine::Automatic is GMRES.
  /// Sync     fences `exec`.
  /// Throws   as `CholeskyFactor::solve`; ValueError for Refine::Cg.
  template <class InView, class OutView>
  [[nodiscard]] SolveReport solve(ExecutionSpace const& exec, InView const& B, OutView const& X,
                                  RefinementOptions const& options = {}) {
    return solve_strided(exec, strided_matrix<ExecutionSpace, double const>(B),
                         strided_matrix<ExecutionSpace, double>(X), options);
  }

  /// Count eigenvalues by the signs of D. Where a bound says that M and A could differ in them,
  /// rungs are climbed, and where none is left nothing is said.
  ///
  /// ||I - M^-1 A|| < 1 keeps all matrices between M and A from being singular, so that no
  /// eigenvalue passes 0. It is bounded by 20 times the largest image of eight normal random
  /// vectors, which fails in 1e-11 of the draws at most.
  ///
  /// Sync     fences `exec`. Cost: eight solves and products with A; rungs that are climbed.
  /// Throws   ValueError if there is no factor; MemoryError.
  /// Source   Sylvester's law; the bound: Dixon, SIAM J. Numer. Anal. 20 (1983),
  ///          doi:10.1137/0720053.
  [[nodiscard]] Inertia inertia(ExecutionSpace const& exec);

  /// Sign and logarithm of det A from a factor in fp64. The sign is that of the inertia.
  ///
  /// Sync, Cost, Throws   as of `inertia`.
  [[nodiscard]] SignedLogDeterminant log_determinant(ExecutionSpace const& exec);

  /// Estimate the condition number of H; `forward_error` tells from it what a solution is worth.
  ///
  /// The factor alone serves where it was made with pivoting, or in fp64 with the bound of
  /// `inertia` below 1. Else solves with it are refined.
  ///
  /// Sync     fences `exec`. Cost: two or three solves of eight columns, and eight for the bound.
  /// Throws   ValueError if there is no factor; MemoryError.
  ConditionEstimate condition(ExecutionSpace const& exec);

  /// Whether a solution may have fewer than three digits, by how large solutions were beside their
  /// right-hand sides.
  [[nodiscard]] bool needs_condition(SolveReport const& solve) const;

 private:
  struct State;
  SolveReport solve_strided(ExecutionSpace const& exec, StridedMatrix<double const> const& B,
                            StridedMatrix<double> const& X, RefinementOptions const& options);
  Pimpl<State> state_;
};

/// Factor a symmetric matrix, definite or not, A = L D L^T in layers of precision.
///
/// Shape    A: n x n View of double, n >= 0, any layout with one stride of 1; the lower triangle is
///          read.
/// Result   a factor, or a refusal in the report: A is singular.
/// Sync     fences `exec`.
/// Memory   n^2 numbers of the leaves' type, and of fp64 on the other rungs. Cost n^3/3 flops.
/// Throws   ShapeError if A is not square; NonFiniteEntry; ValueError if the sum of a row of A
///          overflows, or naming a layer that cannot act; MemoryError; VendorError.
/// Error    solves are refined to a backward error of sqrt(n) 2^-52.
/// Source   Baboulin, Becker and Dongarra, A parallel tiled solver for dense symmetric indefinite
///          systems on multicore architectures, IPDPS 2012, doi:10.1109/IPDPS.2012.12; layers:
///          V. Carrica, R. Alomairy, E. Ringoot, A. Edelman, Hierarchical Precision and Recursion
///          for Accelerating Symmetric Linear Solves on MXUs, with D in the middle.
template <class ExecutionSpace, class ViewType>
SymmetricFactor<ExecutionSpace> symmetric_factor(ExecutionSpace const& exec, ViewType const& A,
                                                 SymmetricOptions const& options = {}) {
  return {exec, A, options};
}

}  // namespace strata::dense

#endif
