// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_CHOLESKY_HPP
#define STRATA_CHOLESKY_HPP

#include <core/Strata_Errors.hpp>
#include <core/Strata_Ladder.hpp>
#include <core/Strata_Pimpl.hpp>
#include <core/Strata_Precision.hpp>
#include <dense/log_determinant/Strata_LogDeterminant.hpp>
#include <dense/refine/Strata_Condition.hpp>
#include <dense/refine/Strata_Refinement.hpp>
#include <dense/refine/Strata_SpdSolve.hpp>
#include <dense/tree/Strata_Layers.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace strata {
template <class MemorySpace, class Data>
struct MatrixRef;
}  // namespace strata

namespace strata::dense {

/// Choices of a factorisation; the defaults suit a user who knows nothing of the matrix. Whoever
/// wants to know only whether it is positive definite asks `is_positive_definite`
/// (dense/Strata_Definiteness.hpp), which tries no layers first.
struct CholeskyOptions {
  std::int64_t leaf_size = 0;  ///< columns of a diagonal leaf; 0: chosen for device and layers
  std::int64_t columns = 1;    ///< right-hand sides of a solve to come, by which costs are judged
  /// Factor D A D, D powers of two that bring the diagonal into [1/2, 2]. Without it D is 1, or the
  /// power of two that brings a norm of A below 2^-600 or above 2^600 to about 1.
  bool equilibrate = true;
  BlockScaling block_scaling = BlockScaling::TwoWay;  ///< the others are for studies
  double shift = 0;    ///< first attempt: the diagonal is multiplied by 1 + shift; >= 0
  bool ladder = true;  ///< on breakdown or without convergence, go on with the next rung
  /// Where A is not positive definite, factor a copy with a larger diagonal that is. What is added
  /// is the smallest power of ten, as a part of the mean diagonal, that does; 1e-2 at most. Solves
  /// are the copy's then. The report tells.
  bool jitter = false;
  /// Called while an attempt factors, with the part of its flops that is done, 0 to 1; what it
  /// throws ends the call.
  std::function<void(double)> on_progress = {};
};

/// A block of the factor, which is stored in one format.
struct CholeskyBlock {
  /// place and size; only the lower triangle of a diagonal block counts
  std::int64_t row = 0, col = 0, rows = 0, cols = 0;
  Precision precision = Precision::fp64;  ///< format of the stored numbers
  double scale = 1;  ///< times what is stored; of a block with several the largest
};

/// What was done to the matrix.
struct CholeskyReport {
  std::int64_t n = 0, leaf_size = 0;  ///< order of the matrix, and columns of a leaf
  LayerList layers{Precision::fp64};  ///< layers of the present factor
  Rung rung = Rung::AsAsked;          ///< rung of the ladder that held, or was the last
  double shift = 0;                   ///< shift of the present factor
  double jitter = 0;    ///< jitter that was added to the diagonal, as a part of the mean diagonal
  Breakdown breakdown;  ///< why there is no factor
  std::vector<CholeskyAttempt> attempts;  ///< attempts in their order
  /// D A D was factored.
  bool equilibrated = false;
  double smallest_scaling = 1, largest_scaling = 1;  ///< least and largest number of D
  /// least and largest scale of quantised blocks
  double smallest_block_scale = 1, largest_block_scale = 1;
  std::vector<CholeskyBlock> blocks;  ///< blocks of the present factor
  double norm_inf = 0;                ///< ||A||_inf
  /// bytes of the tree, after and while it is factored
  std::size_t stored_bytes = 0, peak_bytes = 0;
  /// Sums over the attempts. On a device that equilibrates the first attempt's load is a part of
  /// the analysis; below order 4096 its rest is not waited for, and counts as factored.
  double analyse_seconds = 0, load_seconds = 0, factor_seconds = 0;
  double factor_flop_per_s = 0;  ///< rate of the last attempt, n^3/3 flops; 0 where it broke down
  /// result of `CholeskyFactor::condition`; its value is 0 until then
  ConditionEstimate condition;
};

namespace detail {

/// A as the View that `cholesky` takes, Target, or a sentence for the compiler to say.
template <class Target, class ViewType>
Target fp64_view(ViewType const& A) {
  static_assert(Kokkos::is_view_v<ViewType>, "cholesky: the matrix must be a Kokkos::View");
  if constexpr (Kokkos::is_view_v<ViewType>) {
    constexpr bool is_double = std::is_same_v<typename ViewType::non_const_value_type, double>;
    static_assert(ViewType::rank() == 2, "cholesky: the matrix must be a View of rank 2");
    static_assert(is_double,
                  "cholesky: the matrix must be a View of double, real and in fp64: the layers say "
                  "what it is rounded to");
    if constexpr (ViewType::rank() == 2 && is_double) {
      constexpr bool fits = std::is_convertible_v<ViewType, Target>;
      static_assert(fits, "cholesky: the execution space cannot access the View's memory");
      if constexpr (fits) return A;
    }
  }
  return Target();
}

}  // namespace detail

/// A Cholesky factorisation in layers of an SPD matrix, which it solves with to fp64 accuracy.
///
/// It keeps a reference to A, which must not change: residuals need it, until `rank_update` or its
/// like makes a copy that is the factor's own. All work runs on the instance passed to `cholesky`;
/// up to n = 1024, and 1024 right-hand sides, on one thread of a host, but for products that the
/// BLAS shares. Not copyable; not to be used by two threads at once. A factor may have been given
/// up for a rung that then had no memory. It is made again when it is next needed. While it can't
/// be made, whatever needs it throws MemoryError.
template <class ExecutionSpace>
class CholeskyFactor {
 public:
  using memory_space = typename ExecutionSpace::memory_space;  ///< memory of the matrix
  /// A matrix of any layout, to be read.
  using MatrixView = Kokkos::View<double const**, Kokkos::LayoutStride, memory_space>;

  /// Prefer `cholesky`. Contract as there.
  CholeskyFactor(ExecutionSpace const& exec, MatrixView const& A, LayerList const& layers,
                 CholeskyOptions const& options);
  ~CholeskyFactor();
  CholeskyFactor(CholeskyFactor&&) noexcept;
  CholeskyFactor& operator=(CholeskyFactor&&) noexcept;

  /// Factor another matrix of this order, or the same one with other values, as `cholesky` did with
  /// the same layers and options. What this factor and its solves allocated is used again.
  ///
  /// Result   as of `cholesky`. Sync, Memory: as there, of which the tree, the analysis and the
  ///          solves' vectors are those that there are. From the first call on, and until the
  ///          factor ends, a device's pool keeps what was needed only while it was made
  ///          (core/memory/Strata_Buffer.hpp).
  /// Throws   as `cholesky`, and ShapeError for another order. After what A's numbers or a lack of
  ///          memory threw there is no factor.
  void refactor(ExecutionSpace const& exec, MatrixView const& A);

  /// Whether there is a factor, else the minor of A that is not positive.
  Info info() const;
  /// What was done to the matrix.
  CholeskyReport const& report() const;

  /// Solve A X = B, refined in fp64 with the factor as preconditioner.
  ///
  /// Shape    B, X: n x m Views of rank 2, or of rank 1 for m = 1; LayoutLeft or LayoutRight, any
  ///          padding. X may be B, or overlap it in any way, but not A.
  /// Result   as of `dense::solve`, with the ladder of `cholesky`. If info() is not ok afterwards,
  ///          A turned out to be indefinite by less than the first layers could tell.
  /// Sync     fences `exec`.
  /// Memory   3 n m numbers of fp64, `refine`'s memory, and on devices the partial sums of products
  ///          with the matrix and the factor: about n^2 / 100 numbers.
  /// Throws   ShapeError if B or X do not fit; ValueError if there is no factor, B holds a
  ///          non-finite number or X overlaps A; MemoryError where a first X gets no memory.
  template <class InView, class OutView>
  [[nodiscard]] SolveReport solve(ExecutionSpace const& exec, InView const& B, OutView const& X,
                                  RefinementOptions const& options = {}) {
    return solve_strided(exec, strided_matrix<ExecutionSpace, double const>(B),
                         strided_matrix<ExecutionSpace, double>(X), options);
  }

  /// Estimate the condition number; `forward_error` tells from it what a solution is worth.
  ///
  /// Sync     fences `exec` a few times. Cost: 2 or 3 solves of eight columns, with the factor
  ///          alone; where it is too coarse to tell, as many refined ones. Memory: 8 n numbers, and
  ///          `refine`'s. `on_progress` hears after each solve what part of at most 3 is done, 0 to
  ///          1, and of refined ones anew.
  /// Throws   ValueError if there is no factor; MemoryError; what `on_progress` throws.
  ConditionEstimate condition(ExecutionSpace const& exec,
                              std::function<void(double)> const& on_progress = {});

  /// Whether a solution may have fewer than three digits, so that an estimate of the condition is
  /// worth its time. The smallest pivot of the factor tells, for next to nothing. It is seldom
  /// false where they are fewer.
  ///
  /// Sync     fences `exec` the first time.
  /// Throws   ValueError if there is no factor.
  [[nodiscard]] bool needs_condition(ExecutionSpace const& exec, SolveReport const& solve);

  /// Estimate log det A with an error bar; exact to rounding for layers fp64, int8x14 to int8x16.
  ///
  /// Sync     fences `exec`.
  /// Throws   ValueError if there is no factor.
  [[nodiscard]] LogDeterminantEstimate log_determinant(ExecutionSpace const& exec,
                                                       LogDeterminantOptions const& options = {});

  /// Lower triangle of L_A with A ~ L_A L_A^T, equilibration undone, shift and roundings in it.
  ///
  /// Shape    L: n x n, fp64 or fp32, column-major; only its lower triangle is written. Enqueued.
  /// Throws   ShapeError if L does not fit; ValueError if there is no factor.
  void copy_factor(ExecutionSpace const& exec, MatrixRef<memory_space, void> const& L) const;
  /// The old name of `copy_factor`.
  [[deprecated("is now copy_factor")]] void factor(ExecutionSpace const& exec,
                                                   MatrixRef<memory_space, void> const& L) const {
    copy_factor(exec, L);
  }

  /// A, of which the lower triangle holds, as solves read it: the caller's matrix, or the copy that
  /// a jitter or `rank_update` and its like have made.
  MatrixView matrix() const;

  /// Factor A in fp64, unless the factor is as accurate (int8x14 to int8x16, no shift). What comes
  /// below refuses any other factor, with the advice to call this. Returns info().
  ///
  /// Throws   ValueError if there is no factor, or one of lower layers and no ladder; MemoryError.
  [[nodiscard]] Info promote(ExecutionSpace const& exec);

  /// X = W B with W = L^-1, A = L L^T. What has the covariance A becomes white.
  ///
  /// Shape    B, X: n x m Views of rank 2, or of rank 1 for m = 1, of any strides. X may be B, or
  ///          overlap it in any way, but not A.
  /// Sync     fences `exec`. Cost n^2 m flops. Memory: n m numbers, or none for X apart from B.
  /// Throws   ShapeError if B or X do not fit; ValueError if the factor is not one of fp64's
  ///          accuracy, B holds a non-finite number or X overlaps A; MemoryError.
  /// Error    ||W A W^T - I||_2 <= `whitening_error`.
  template <class InView, class OutView>
  void whiten(ExecutionSpace const& exec, InView const& B, OutView const& X) {
    apply_half(exec, Half::Whiten, strided_matrix<ExecutionSpace, double const>(B),
               strided_matrix<ExecutionSpace, double>(X));
  }
  /// X = W^T B = L^-T B. White noise gets the covariance A^-1. Contract as of `whiten`.
  template <class InView, class OutView>
  void whiten_transposed(ExecutionSpace const& exec, InView const& B, OutView const& X) {
    apply_half(exec, Half::WhitenTransposed, strided_matrix<ExecutionSpace, double const>(B),
               strided_matrix<ExecutionSpace, double>(X));
  }
  /// X = L Z. White noise gets the covariance A. Contract as of `whiten`.
  ///
  /// Error    |A - L L^T|_ij <= c n u sqrt(a_ii a_jj), tested with c = 1.
  template <class InView, class OutView>
  void sample(ExecutionSpace const& exec, InView const& Z, OutView const& X) {
    apply_half(exec, Half::Sample, strided_matrix<ExecutionSpace, double const>(Z),
               strided_matrix<ExecutionSpace, double>(X));
  }
  /// A bound w of ||W A W^T - I||_2, of the order of u times the condition. It is five times what
  /// steps of the power method find. A^-1 has the error e = w / (1 - w), infinite from w = 1 on.
  ///
  /// Sync     fences `exec`. Cost of six solves with eight columns, once.
  /// Source   Kuczynski and Wozniakowski, SIAM J. Matrix Anal. Appl. 13 (1992), section 3,
  ///          doi:10.1137/0613066; deviation: eight vectors, of which the largest counts.
  [[nodiscard]] double whitening_error(ExecutionSpace const& exec);

  /// x = diag(A^-1), sums of squares of W's columns. Returns e: |x_j - (A^-1)_jj| <= e x_j.
  ///
  /// Shape    x: View of n numbers.
  /// Sync     fences `exec`. Cost n^3/3 flops. Memory: n^2 numbers.
  /// Throws   ShapeError; ValueError if the factor is not one of fp64's accuracy; MemoryError.
  template <class OutView>
  double inverse_diagonal(ExecutionSpace const& exec, OutView const& x) {
    return write_inverse_diagonal(exec, strided_matrix<ExecutionSpace, double>(x));
  }
  /// X = A^-1 = W^T W, both triangles. Returns e: |X - A^-1|_ij <= e sqrt(x_ii x_jj).
  ///
  /// Shape    X: n x n View, LayoutLeft or LayoutRight, any padding. It must not overlap A.
  /// Sync     fences `exec`. Cost 2 n^3/3 flops. With A equilibrated and a tolerance above e, which
  ///          then is likely and no bound, in fp32 (fp16_split on devices), 4 n^2 bytes; else fp64.
  ///          Measure::Nothing saves six solves with eight columns; an e that is not known is NaN.
  /// Throws   as `inverse_diagonal`; ValueError if the tolerance is negative.
  /// Source   Du Croz and Higham, IMA J. Numer. Anal. 12 (1992), doi:10.1093/imanum/12.1.1.
  template <class OutView>
  double inverse(ExecutionSpace const& exec, OutView const& X, double tolerance = 0,
                 Measure measure = Measure::Error) {
    return write_inverse(exec, strided_matrix<ExecutionSpace, double>(X), tolerance, measure);
  }
  /// values[k] = (A^-1)_ij, i = rows[k], j = cols[k]. Returns e, as `inverse`.
  ///
  /// Sync     fences `exec`. Cost n^2 flops and n numbers for each index, or those of `inverse`.
  /// Throws   as `inverse_diagonal`; ValueError for an index that is not in [0, n).
  double inverse_entries(ExecutionSpace const& exec, std::span<std::int64_t const> rows,
                         std::span<std::int64_t const> cols, std::span<double> values);
  /// Q = B^T A^-1 B, or its diagonal where Q is of rank 1. Returns e: |dQ|_ij <= e sqrt(q_ii q_jj).
  ///
  /// Shape    B: n x k View of rank 2, or of rank 1 for k = 1. Q: k x k View, or k numbers.
  /// Sync     fences `exec`. Cost n^2 k + n k^2 flops. Memory: n k numbers.
  /// Throws   as `inverse_diagonal`; ValueError if B holds a non-finite number.
  template <class InView, class OutView>
  double quadratic_form(ExecutionSpace const& exec, InView const& B, OutView const& Q) {
    return write_quadratic_form(exec, strided_matrix<ExecutionSpace, double const>(B),
                                strided_matrix<ExecutionSpace, double>(Q), OutView::rank() == 1);
  }

  /// A := A + V V^T. The first change copies A's lower triangle. From then on the factor reads and
  /// changes its own A, and the caller's is free, until `refactor`.
  ///
  /// Shape    V: n x k View of rank 2, or of rank 1 for k = 1, of any strides.
  /// Sync     fences `exec`. Cost 4 n^2 k flops, n^3/3 at most. Memory: n^2 numbers that stay.
  /// Throws   as `inverse_diagonal`; ValueError if V V^T is out of range. There is still a factor.
  /// Source   Gill, Golub, Murray and Saunders, Math. Comp. 28 (1974),
  ///          doi:10.1090/S0025-5718-1974-0343558-6; deviation: hosts gather rotations to products.
  template <class InView>
  void rank_update(ExecutionSpace const& exec, InView const& V) {
    update_with(exec, strided_matrix<ExecutionSpace, double const>(V));
  }
  /// A := A - V V^T. Contract as of `rank_update`.
  ///
  /// Result   success; or the order of the first leading minor that is not positive. The factor,
  ///          and A, are then what they were.
  /// Error    ||A' - L L^T|| <= c n u ||A|| for the former A: `whitening_error` measures it.
  /// Source   Stewart, J. Inst. Maths Applics 23 (1979), doi:10.1093/imamat/23.2.203; deviation: as
  ///          `rank_update`.
  template <class InView>
  [[nodiscard]] Info rank_downdate(ExecutionSpace const& exec, InView const& V) {
    return downdate_with(exec, strided_matrix<ExecutionSpace, double const>(V));
  }
  /// A gets m rows and columns behind its last: its order becomes n + m. Contract and result as of
  /// `rank_downdate`.
  ///
  /// Shape    B: (n + m) x m View, or n + 1 numbers, the new columns; of the last m rows the lower
  ///          triangle is read.
  /// Sync     fences `exec`. Cost n^2 m flops. Memory: 3 (n + m)^2 numbers, while it works.
  template <class InView>
  [[nodiscard]] Info append(ExecutionSpace const& exec, InView const& B) {
    return append_columns(exec, strided_matrix<ExecutionSpace, double const>(B));
  }
  /// A loses these k rows and columns, in any order: its order becomes n - k.
  ///
  /// Sync     fences `exec`. Cost 4 n^2 k flops. Memory: 4 n^2 numbers, while it works.
  /// Throws   as `rank_update`; ValueError for an index that is not in [0, n), or is there twice.
  void remove(ExecutionSpace const& exec, std::span<std::int64_t const> rows);

 private:
  enum class Half { Whiten, WhitenTransposed, Sample };
  void apply_half(ExecutionSpace const& exec, Half half, StridedMatrix<double const> const& B,
                  StridedMatrix<double> const& X);
  double write_inverse_diagonal(ExecutionSpace const& exec, StridedMatrix<double> const& x);
  double write_inverse(ExecutionSpace const& exec, StridedMatrix<double> const& X, double tolerance,
                       Measure measure);
  double write_quadratic_form(ExecutionSpace const& exec, StridedMatrix<double const> const& B,
                              StridedMatrix<double> const& Q, bool diagonal_alone);
  void update_with(ExecutionSpace const& exec, StridedMatrix<double const> const& V);
  Info downdate_with(ExecutionSpace const& exec, StridedMatrix<double const> const& V);
  Info append_columns(ExecutionSpace const& exec, StridedMatrix<double const> const& B);
  SolveReport solve_strided(ExecutionSpace const& exec, StridedMatrix<double const> const& B,
                            StridedMatrix<double> const& X, RefinementOptions const& options);
  struct State;
  Pimpl<State> state_;
};

/// Factor a symmetric positive definite matrix in layers.
///
/// Shape    A: n x n View of fp64, n >= 0, LayoutLeft or LayoutRight, any padding; only its lower
///          triangle is read, and it is not changed.
/// Result   a factor whose info() is ok: A, or a matrix within the layers' roundoff and the shift
///          of A, is positive definite (`solve` finds out which); or info() holds the order of the
///          leading minor that is not positive: of A, found in fp64, if the ladder is on; of the
///          first attempt otherwise. An automatic attempt ends early where its first pivots fall so
///          fast that the next rung costs less (`Outcome::Foretold`). Hosts look after an eighth of
///          the flops, GPUs whose rungs were measured after a third.
/// Sync     fences `exec` once per attempt, and before it to check A; an attempt that may end early
///          waits for its first pivots.
/// Memory   `BlockTree::bytes_needed`: about n^2 bytes for fp16 layers and 2 n^2 more while
///          factoring.
/// Throws   ShapeError if A is not square; ValueError naming the first non-finite entry of A's
///          lower triangle, or an option out of range; MemoryError with the bytes needed;
///          VendorError.
/// Error    see `tree_potrf`; solves are refined, so that only their cost depends on it.
/// Source   Paper A; ladder and scaling after Higham and Pranesh, SIAM J. Sci. Comput. 43 (2021),
///          doi:10.1137/19M1298263; deviation: the first attempt has no shift, and scaling is by
///          powers of two.
template <class ExecutionSpace, class MatrixView>
[[nodiscard]] CholeskyFactor<ExecutionSpace> cholesky(ExecutionSpace const& exec,
                                                      MatrixView const& A, LayerList const& layers,
                                                      CholeskyOptions const& options = {}) {
  using View = typename CholeskyFactor<ExecutionSpace>::MatrixView;
  return CholeskyFactor<ExecutionSpace>(exec, detail::fp64_view<View>(A), layers, options);
}
/// The same with the layers in the type: cholesky<Layers<fp16, fp16, fp32>>(exec, A).
template <class LayersT, class ExecutionSpace, class MatrixView>
[[nodiscard]] CholeskyFactor<ExecutionSpace> cholesky(ExecutionSpace const& exec,
                                                      MatrixView const& A,
                                                      CholeskyOptions const& options = {}) {
  return cholesky(exec, A, LayersT::list(), options);
}

/// Layers for a matrix of order n of which nothing is known: fp64 where that is as fast, on devices
/// fp16 over fp32, else fp32; refinement does the rest. See `automatic_choice`.
template <class ExecutionSpace>
LayerList automatic_layers(std::int64_t n);
/// The same with `automatic_layers`.
template <class ExecutionSpace, class MatrixView>
[[nodiscard]] CholeskyFactor<ExecutionSpace> cholesky(ExecutionSpace const& exec,
                                                      MatrixView const& A,
                                                      CholeskyOptions const& options = {}) {
  using View = typename CholeskyFactor<ExecutionSpace>::MatrixView;
  View const view = detail::fp64_view<View>(A);
  auto const n = static_cast<std::int64_t>(view.extent(0));
  return cholesky(exec, view, automatic_layers<ExecutionSpace>(n), options);
}

/// The leaf size that is fastest for a matrix of order n on `ExecutionSpace`.
template <class ExecutionSpace>
std::int64_t automatic_leaf_size(std::int64_t n, LayerList const& layers);

}  // namespace strata::dense

#endif
