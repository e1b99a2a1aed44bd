// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_CHOLESKY_STATE_HPP
#define STRATA_DETAIL_CHOLESKY_STATE_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/Strata_StepLadder.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/memory/Strata_Buffer.hpp>
#include <core/memory/Strata_PoolReserve.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/detail/Strata_Ladder.hpp>
#include <dense/recursion/detail/Strata_LowSolve.hpp>
#include <dense/recursion/detail/Strata_PanelPotrf.hpp>
#include <dense/refine/detail/Strata_Equilibrate.hpp>
#include <dense/tree/Strata_BlockTree.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace strata::dense {

/// What a factor consists of: the matrix as it was analysed, the rungs, and the tree of the rung
/// that held.
///
/// H = D A D is the matrix that is factored.
template <class ExecutionSpace>
struct CholeskyFactor<ExecutionSpace>::State final : SpdFactor<ExecutionSpace> {
  using Tree = BlockTree<LayerList, ExecutionSpace>;
  using Block = Kokkos::View<double**, Kokkos::LayoutLeft, memory_space>;
  using Info64 = typename LeafBlas<ExecutionSpace>::InfoView;
  using FirstColumns = detail::FirstColumns<ExecutionSpace>;

  State(ExecutionSpace const& space, MatrixView const& matrix, LayerList const& layers,
        CholeskyOptions const& choices);

  // --- the ladder (Strata_Cholesky.cpp) ---

  /// Analyse and factor a matrix of this order; what an earlier one left is used again.
  void take(MatrixView const& matrix, LayerList const& layers);
  void take_as_it_is(MatrixView const& matrix, LayerList const& layers);
  /// The same of copies with more and more on the diagonal, until one has a factor.
  void take_with_jitter(MatrixView const& matrix, LayerList const& layers);
  void analyse(LayerList const& layers);
  /// The rungs. In fp64 leaves may be solved by their inverses, which costs digits of an
  /// ill-conditioned leaf. Then the last rung solves by substitution, as LAPACK does, and decides
  /// whether a matrix is positive definite.
  std::vector<detail::Step> steps_for(LayerList const& layers) const;
  /// As asked, or what is fast for such layers.
  std::int64_t leaf_size(LayerList const& layers) const;
  /// Factor on the next rung that holds; false if none does. An exception leaves the rung that
  /// held, whose factor `need_factor` makes again.
  bool climb();
  /// From the factor that there is.
  bool climb(Climb how) override {
    report.attempts.back().outcome = outcome_of(how);
    auto const& steps = ladder.steps();
    ladder.go_to(how == Climb::ToTheTop ? steps.size() - 1
                                        : detail::next_layers(steps, ladder.next()));
    return climb();
  }
  void end_ladder() override { ladder.end(); }
  bool at_the_top() const override { return ladder.at_the_top(); }
  /// Whether an attempt on this rung serves, and then is the factor; else what comes next.
  bool holds(Info found);
  /// Factor on one rung; an exception leaves no factor.
  Info attempt(detail::Step const& step, bool may_leave = true);
  /// The tree of a step, if it is not there.
  void make_tree(detail::Step const& step);
  void drop_tree();
  BlockTreeOptions tree_options(detail::Step const& step) const;
  /// The leading block of A into a tree, which `factor` then factors.
  void load(Tree& into, double shift);
  Info factor(Tree& into, FirstColumns const& first_columns);
  /// Ends an attempt that is not worth its time.
  FirstColumns first_look();
  Info note_attempt(detail::Step const& step, std::function<Info()> const& work);
  void find_minor(std::int64_t order);
  void give_up(detail::Step const& step, Info found);
  /// What the tree of an attempt in fp64 that broke down tells.
  Breakdown look_into(Tree const& failed, std::int64_t order);
  /// The pivot of the last column of a leading block; those before it are positive.
  double pivot_of(std::int64_t order, double lift);
  /// The smallest and the largest l_ii^2 before a column.
  std::pair<double, double> pivots(Tree const& of, std::int64_t end);
  void describe(detail::Step const& step);
  void describe_blocks();
  /// Refuses, or makes the factor again that was given up for a rung which then had no memory.
  void need_factor(char const* function);
  /// Continue on another instance, with blocks of so many columns: the work enqueued on the old one
  /// has ended.
  void use(ExecutionSpace const& other, std::int64_t cols = 1);

  // --- the solve (Strata_CholeskySolve.cpp) ---

  Block block(std::int64_t cols, char const* label) const;
  /// Y = H X.
  void apply_scaled(Block const& X, Block const& Y);
  /// V = L^-1 V or L^-T V in fp64 arithmetic.
  void half_solve(Op op, MatrixRef<memory_space> const& V);
  std::int64_t order() const override { return n; }
  Kokkos::View<double const*, memory_space> scaling() const override { return analysis.d; }
  /// On the instance of `use`, which the argument is.
  RefinementOperators<ExecutionSpace> operators(ExecutionSpace const&) override;
  Patience patience() const override {
    return detail::patience<ExecutionSpace>(n, report.layers, ladder.steps()[ladder.next()].layers,
                                            std::max(options.columns, columns));
  }
  /// The sums of log l_ii, of each leaf in the tree's order, and 2 sum_i log d_i. Fences.
  struct Logarithms {
    std::vector<double> leaves;
    double scaling = 0;
  };
  Logarithms logarithms() const;

  // --- the condition (Strata_CholeskyCondition.cpp) ---

  ConditionEstimate condition(std::function<void(double)> const& on_progress);
  /// Note how much larger than B a solution is, of a few columns: the condition is not below that.
  void note_growth(StridedMatrix<double const> const& B, StridedMatrix<double> const& X);
  /// ||H||_inf / min l_ii^2, which the condition of the factor is not below; found once.
  double condition_by_pivots();
  /// Work on a block that comes from the host and goes back to it.
  void apply_to_host(std::vector<double>& V, std::function<void(Block const&)> const& work);

  // --- more than solves (factor/Strata_CholeskyHalves.cpp, factor/Strata_CholeskyInverse.cpp) ---

  bool is_precise() const { return report.layers.is_as_fp64() && report.shift == 0; }
  /// Refuses a factor that is not one of fp64's accuracy.
  void need_precise_factor(char const* function);
  void require_apart_from_A(char const* function, StridedMatrix<double> const& X) const;
  void require_finite(char const* function, char const* name, StridedMatrix<double const> const& B);
  /// D, or nothing where D = I.
  Kokkos::View<double const*, memory_space> scaling_unless_one() const;
  /// X = L_A Z.
  void sample(StridedMatrix<double const> const& Z, StridedMatrix<double> const& X);
  /// X = L_A^-1 B, or with its transpose.
  void half_solve_strided(Op op, StridedMatrix<double const> const& B,
                          StridedMatrix<double> const& X);
  double whitening_error();
  /// ||W H W^T - I||_2, from above, of a W that `half` multiplies a block by, or W^T.
  double defect(std::function<void(Op, Block const&)> const& half);
  /// What an inverse is off, relative to the roots of its diagonal.
  double error_of_inverse();
  /// The lower triangle of X = L^-1.
  void invert_factor(MatrixRef<memory_space> const& X);
  /// X = A^-1 by products of fp32 numbers, if its error, which is returned, is at most this. Else X
  /// is not written.
  double invert_in_fp32(MatrixRef<memory_space> const& X, double tolerance);
  /// D B, in a block of its own.
  Block scaled_copy(StridedMatrix<double const> const& B, char const* label);

  // --- other matrices from this one (factor/Strata_CholeskyUpdate.cpp) ---

  void require_in_range(char const* function, StridedMatrix<double const> const& V);
  /// The factor's own copy of A.
  void own_matrix();
  /// From now on A is the lower triangle of this; analysed.
  void read(Block const& own);
  using Vector = Kokkos::View<double*, memory_space>;
  Vector present_scaling();
  /// Analyse the own copy of A after it has changed, and scale L's rows by the new D instead of the
  /// one before, which is used up.
  void follow_matrix(Vector const& before);
  /// The factor is this triangle from now on, and A the lower triangle of this.
  void take_factor(Block const& L, Block const& own);
  void note_change();
  /// A + sign V V^T, by a factorisation.
  Info change_anew(double sign, Block const& V);
  /// A + V V^T; V is used up.
  void update(Block const& V);
  Info downdate(Block const& V);
  /// The first leading minor of I - P^T P that is not positive, by P's rows.
  std::int64_t first_bad_row(Block const& P);

  ExecutionSpace given;  // the caller's instance
  bool is_little;        // the work, for which one thread of several is enough
  ExecutionSpace exec;   // that works, see `for_work`
  MatrixView view;       // keeps A alive
  Block copy;            // of A, with a jitter
  ConstMatrixRef<memory_space> A;
  Uplo uplo;
  CholeskyOptions options;
  std::int64_t n;
  PoolReserve<ExecutionSpace> reserve;  // of a factor that is made again; it outlives what is below
  std::unique_ptr<LeafBlas<ExecutionSpace>> blas;
  std::unique_ptr<Tree> tree;
  LeafSolve tree_solve = LeafSolve::Automatic;                  // the tree's
  std::unique_ptr<detail::LowSolve<ExecutionSpace>> low_solve;  // of the tree
  Block scaled;                                                 // D X
  std::int64_t columns = 1;                                     // of the present solve
  Buffer<ExecutionSpace> analysis_memory;                       // of `room` and `pivot`
  detail::AnalysisRoom<memory_space> room;
  detail::Analysis<memory_space> analysis;
  Info64 pivot;                     // the first that was not positive
  StepLadder<detail::Step> ladder;  // whose `held` is the step whose factor there is, or was
  bool factored = false;            // the tree holds it
  bool is_loaded = false;           // the tree's working blocks, by the analysis
  bool is_foretold = false;  // the last attempt ended where its pivots told that it would not serve
  bool refused = false;      // the matrix: `take` threw
  std::int64_t minors = 0;   // leading minors up to this order are positive in fp64
  double by_pivots = 0;      // `condition_by_pivots`, once it was asked for
  double whitening = -1;     // `whitening_error`, once it was asked for
  double by_solution = 0;    // on a host, ||H|| ||H^-1 c|| / ||c|| of right-hand sides c
  Info info = Info::success();
  CholeskyReport report;
};

}  // namespace strata::dense

#endif
