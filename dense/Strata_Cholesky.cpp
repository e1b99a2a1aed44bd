// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <algorithm>
#include <cmath>
#include <core/Strata_FlopCount.hpp>
#include <core/detail/Strata_Instantiate.hpp>
#include <core/detail/Strata_Team.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/Strata_TreeCholesky.hpp>
#include <dense/detail/Strata_BlockVectors.hpp>
#include <dense/detail/Strata_Equilibrate.hpp>
#include <dense/detail/Strata_FactorKernels.hpp>
#include <dense/detail/Strata_Ladder.hpp>
#include <dense/detail/Strata_LowSolve.hpp>
#include <dense/detail/Strata_TreeCholeskyViews.hpp>
#include <limits>
#include <utility>

namespace strata::dense {

std::string_view name_of(Rung rung) {
  switch (rung) {
    case Rung::AsAsked:
      return "as asked";
    case Rung::Shifted:
      return "shifted";
    case Rung::HigherLayers:
      return "higher layers";
    case Rung::Fp64:
      break;
  }
  return "fp64";
}

template <class ExecutionSpace>
struct CholeskyFactor<ExecutionSpace>::State {
  using Tree = BlockTree<LayerList, ExecutionSpace>;
  using Block = Kokkos::View<double**, Kokkos::LayoutLeft, memory_space>;
  using Info64 = typename LeafBlas<ExecutionSpace>::InfoView;

  State(ExecutionSpace const& space, MatrixView const& matrix, LayerList const& layers,
        CholeskyOptions const& choices);

  void analyse(LayerList const& layers);
  bool climb();
  Info attempt(detail::Step const& step);
  void describe_scales();
  void use(ExecutionSpace const& other);

  void apply_scaled(Block const& X, Block const& Y);
  void half_solve(Op op, Block const& V);
  RefinementReport refine_once(Block const& B, Block const& Y, RefinementOptions const& options,
                               bool last);
  void evaluate(Block const& B, Block const& X, Block const& R, SolveReport& report);
  void correct(Block const& B, Block const& X, Block const& R, RefinementOptions const& options,
               SolveReport& report);
  Block block(std::int64_t cols, char const* label) const {
    return Block(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, std::string(label)), n,
                 cols);
  }
  double log_determinant_of_factor() const;
  void require_factor(char const* function) const;

  ExecutionSpace exec;
  MatrixView view;  // keeps A alive
  MatrixRef<memory_space> A;
  Uplo uplo;
  CholeskyOptions options;
  std::int64_t n;
  std::unique_ptr<LeafBlas<ExecutionSpace>> blas;
  std::unique_ptr<Tree> tree;
  std::unique_ptr<detail::LowSolve<ExecutionSpace>> low_solve;  // of the tree
  Block scaled;                                                 // D X
  detail::Analysis<memory_space> analysis;
  std::vector<detail::Step> steps;
  std::size_t next_step = 0;
  Info info = Info::success();
  CholeskyReport report;
};

template <class ExecutionSpace>
CholeskyFactor<ExecutionSpace>::State::State(ExecutionSpace const& space, MatrixView const& matrix,
                                             LayerList const& layers,
                                             CholeskyOptions const& choices)
    : exec(space), view(matrix), options(choices), n(static_cast<std::int64_t>(matrix.extent(0))) {
  STRATA_REQUIRE(ShapeError, matrix.extent(0) == matrix.extent(1), "cholesky: A is ",
                 matrix.extent(0), " x ", matrix.extent(1), ", must be square");
  STRATA_REQUIRE(ValueError, options.leaf_size >= 0, "cholesky: the leaf size is ",
                 options.leaf_size, ", must be >= 1, or 0 for automatic");
  STRATA_REQUIRE(ValueError, options.shift >= 0 && options.shift <= 1, "cholesky: the shift is ",
                 options.shift, ", must be in [0, 1]");
  auto const columns = detail::column_major<ExecutionSpace>(matrix);
  A = columns.matrix;
  uplo = columns.of(Uplo::Lower);
  blas = std::make_unique<LeafBlas<ExecutionSpace>>(exec);
  report.n = n;
  report.layers = layers;
  report.leaf_size =
      options.leaf_size > 0 ? options.leaf_size : automatic_leaf_size<ExecutionSpace>(n, layers);
  analyse(layers);
  (void)climb();
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::analyse(LayerList const& layers) {
  Span const span(options.trace, "analyse", "cholesky");
  Kokkos::Timer const timer;
  analysis = detail::analyse(exec, uplo, A, options.equilibrate);
  report.equilibrated = options.equilibrate;
  report.smallest_scaling = analysis.smallest_scaling;
  report.largest_scaling = analysis.largest_scaling;
  report.norm_inf = analysis.norm;
  steps = options.ladder ? detail::ladder(layers, options.shift)
                         : std::vector<detail::Step>{{Rung::AsAsked, layers, options.shift}};
  // Not positive definite for certain: only the exact minor is left to be found.
  if (analysis.bad_diagonal != 0 && options.ladder) next_step = steps.size() - 1;
  report.analyse_seconds = timer.seconds();
}

// Factor on the next rung that holds; false if none does.
template <class ExecutionSpace>
bool CholeskyFactor<ExecutionSpace>::State::climb() {
  while (next_step < steps.size()) {
    detail::Step const& step = steps[next_step++];
    Kokkos::Timer const timer;
    info = attempt(step);
    report.attempts.push_back({step.rung, step.layers, step.shift, info.order(), timer.seconds()});
    report.rung = step.rung;
    report.layers = step.layers;
    report.shift = step.shift;
    if (info.ok()) {
      describe_scales();
      return true;
    }
  }
  if (!info.ok()) {
    low_solve.reset();
    tree.reset();
  }
  return false;
}

template <class ExecutionSpace>
Info CholeskyFactor<ExecutionSpace>::State::attempt(detail::Step const& step) {
  low_solve.reset();
  if (!tree || !(tree->layers() == step.layers)) {
    tree.reset();
    tree = std::make_unique<Tree>(exec, n, step.layers, report.leaf_size, options.block_scaling);
  }
  {
    Span const span(options.trace, "load", "cholesky");
    Kokkos::Timer const timer;
    tree->load(exec, uplo, A, analysis.d, step.shift);
    exec.fence("strata::dense::cholesky: loaded");
    report.load_seconds += timer.seconds();
  }
  Span const span(options.trace, "factor " + step.layers.name(), "cholesky");
  Kokkos::Timer const timer;
  Info64 const order(Kokkos::view_alloc(exec, "strata::dense::cholesky::info"));
  tree_potrf(*blas, *tree, order);
  std::int64_t first = 0;
  Kokkos::deep_copy(exec, first, order);
  exec.fence("strata::dense::cholesky: read the pivot status");
  double const seconds = timer.seconds();
  report.factor_seconds += seconds;
  report.factor_flop_per_s = seconds > 0 ? static_cast<double>(potrf_flops(n)) / seconds : 0;
  report.stored_bytes = tree->stored_bytes();
  report.peak_bytes = std::max(report.peak_bytes, tree->stored_bytes() + tree->working_bytes());
  tree->release_working();
  blas->release_scratch();
  return first == 0 ? Info::success() : Info::breakdown(first);
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::describe_scales() {
  report.smallest_block_scale = report.largest_block_scale = 1;
  std::vector<double> scales(n == 0 ? 0 : tree->scales().extent(0));
  if (scales.empty()) return;
  Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const host(
      scales.data(), scales.size());
  Kokkos::deep_copy(exec, host, tree->scales());
  exec.fence("strata::dense::cholesky: read the scales");
  auto const [smallest, largest] = std::minmax_element(scales.begin(), scales.end());
  report.smallest_block_scale = *smallest;
  report.largest_block_scale = *largest;
}

// Continue on another instance: the work enqueued on the old one has ended.
template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::use(ExecutionSpace const& other) {
  if (other == exec) return;
  exec.fence("strata::dense::cholesky: change of instance");
  exec = other;
  low_solve.reset();
  blas = std::make_unique<LeafBlas<ExecutionSpace>>(exec);
}

// Y = H X with H = D A D.
template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::apply_scaled(Block const& X, Block const& Y) {
  auto const cols = static_cast<std::int64_t>(X.extent(1));
  if (analysis.d.extent(0) == 0) return blas->symm(uplo, 1, A, matrix_ref(X), 0, matrix_ref(Y));
  if (static_cast<std::int64_t>(scaled.extent(1)) < cols) {
    scaled = {};
    scaled = block(cols, "strata::dense::cholesky::scaled");
  }
  Block const V =
      Kokkos::subview(scaled, Kokkos::ALL, std::pair<std::int64_t, std::int64_t>(0, cols));
  detail::scale_rows(exec, analysis.d, X, V, n, cols);
  blas->symm(uplo, 1, A, matrix_ref(V), 0, matrix_ref(Y));
  detail::scale_rows(exec, analysis.d, Y, Y, n, cols);
}

// V = L^-1 V or L^-T V in fp64 arithmetic.
template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::half_solve(Op op, Block const& V) {
  tree_trsm(*blas, Side::Left, op, Diag::NonUnit, 1, *tree, matrix_ref(V), Products::AsStored);
}

// Below the last rung a slow refinement costs more than the next rung: it is cut short.
template <class ExecutionSpace>
RefinementReport CholeskyFactor<ExecutionSpace>::State::refine_once(
    Block const& B, Block const& Y, RefinementOptions const& options, bool last) {
  RefinementOperators<ExecutionSpace> operators;
  operators.apply = [this](Block const& X, Block const& Z) { apply_scaled(X, Z); };
  if (!low_solve) low_solve = std::make_unique<detail::LowSolve<ExecutionSpace>>(exec, *tree);
  operators.precondition = [this](Block const& R) { (*low_solve)(matrix_ref(R)); };
  operators.norm_inf = analysis.scaled_norm;
  RefinementOptions limited = options;
  if (!last && limited.max_iterations == 0) limited.max_iterations = detail::patience(n);
  return refine(exec, operators, B, Y, limited);
}

// R = B - A X and the backward errors of X, for the matrix as given.
template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::evaluate(Block const& B, Block const& X, Block const& R,
                                                     SolveReport& result) {
  auto const cols = static_cast<std::int64_t>(X.extent(1));
  detail::BlockVectors<ExecutionSpace> vectors(exec, n, cols);
  blas->symm(uplo, 1, A, matrix_ref(X), 0, matrix_ref(R));
  std::vector<std::int64_t> all(static_cast<std::size_t>(cols));
  for (std::size_t j = 0; j < all.size(); ++j) all[j] = static_cast<std::int64_t>(j);
  std::vector<double> const ones(all.size(), 1.0);
  auto const norms = vectors.residual(ones, B, vectors.indices(all), X, R);
  auto const b_norms = vectors.norms(ones, B);
  double backward = 0, residual_1 = 0, solution_1 = 0;
  for (std::size_t j = 0; j < all.size(); ++j) {
    double const bound = analysis.norm * norms[j].max[1] + b_norms[j].max[0];
    double const error = norms[j].max[0] == 0 ? 0 : norms[j].max[0] / bound;
    backward = error <= backward ? backward : error;  // NaN stays
    residual_1 = std::max(residual_1, norms[j].sum[0]);
    solution_1 = std::max(solution_1, norms[j].sum[1]);
  }
  auto const order = static_cast<double>(n);
  result.backward_error = backward;
  result.hpl_scaled_residual = backward / (order * 0x1p-52);
  result.slate_error = residual_1 == 0 ? 0 : residual_1 / (order * analysis.norm * solution_1);
}

// The equilibrated system's backward error says little of A's where rows differ by many orders of
// magnitude: A's own residual, if it is too large, is solved for as well.
template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::correct(Block const& B, Block const& X, Block const& R,
                                                    RefinementOptions const& options,
                                                    SolveReport& result) {
  constexpr int most = 3;
  auto const cols = static_cast<std::int64_t>(X.extent(1));
  Block const E = block(cols, "strata::dense::solve::correction"),
              F = block(cols, "strata::dense::solve::right");
  for (int k = 0; k < most && result.backward_error > result.refinement.tolerance; ++k) {
    detail::scale_rows(exec, analysis.d, R, F, n, cols);
    auto const refinement = refine_once(F, E, options, true);
    detail::scale_rows(exec, analysis.d, E, E, n, cols);
    detail::add(exec, X, E);
    SolveReport better = result;
    evaluate(B, E, R, better);
    result.refinement.iterations += refinement.iterations;
    if (!(better.backward_error < result.backward_error)) return;
    result.backward_error = better.backward_error;
    result.hpl_scaled_residual = better.hpl_scaled_residual;
    result.slate_error = better.slate_error;
    Kokkos::deep_copy(exec, X, E);
  }
}

template <class ExecutionSpace>
double CholeskyFactor<ExecutionSpace>::State::log_determinant_of_factor() const {
  double total = 0;
  for (auto const& node : tree->nodes()) {
    if (!node.is_leaf()) continue;
    auto const leaf = node.stored;
    with_type(leaf.precision, [&]<class T>(std::type_identity<T>) {
      total += detail::log_diagonal<T>(exec, leaf);
    });
  }
  return 2 * total;
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::require_factor(char const* function) const {
  STRATA_REQUIRE(ValueError, info.ok(), function,
                 ": there is no factor; the leading minor of order ", info.order(),
                 " is not positive");
}

template <class ExecutionSpace>
CholeskyFactor<ExecutionSpace>::CholeskyFactor(ExecutionSpace const& exec, MatrixView const& A,
                                               LayerList const& layers,
                                               CholeskyOptions const& options)
    : state_(std::make_unique<State>(exec, A, layers, options)) {}
template <class ExecutionSpace>
CholeskyFactor<ExecutionSpace>::~CholeskyFactor() = default;
template <class ExecutionSpace>
CholeskyFactor<ExecutionSpace>::CholeskyFactor(CholeskyFactor&&) noexcept = default;
template <class ExecutionSpace>
CholeskyFactor<ExecutionSpace>& CholeskyFactor<ExecutionSpace>::operator=(
    CholeskyFactor&&) noexcept = default;

template <class ExecutionSpace>
Info CholeskyFactor<ExecutionSpace>::info() const {
  return state_->info;
}
template <class ExecutionSpace>
CholeskyReport const& CholeskyFactor<ExecutionSpace>::report() const {
  return state_->report;
}

template <class ExecutionSpace>
SolveReport CholeskyFactor<ExecutionSpace>::solve(ExecutionSpace const& exec,
                                                  detail::StridedMatrix<double const> const& B,
                                                  detail::StridedMatrix<double> const& X,
                                                  RefinementOptions const& options) {
  State& s = *state_;
  s.require_factor("solve");
  STRATA_REQUIRE(ShapeError, B.rows == s.n && X.rows == s.n && B.cols == X.cols, "solve: B is ",
                 B.rows, " x ", B.cols, ", X ", X.rows, " x ", X.cols, ", A of order ", s.n);
  Kokkos::Profiling::ScopedRegion const region("strata::dense::solve");
  s.use(exec);
  SolveReport best;
  best.converged = true;
  if (s.n == 0 || B.cols == 0) return best;
  auto const right = s.block(B.cols, "strata::dense::solve::B"),
             solution = s.block(B.cols, "strata::dense::solve::X"),
             residual = s.block(B.cols, "strata::dense::solve::R");
  Kokkos::View<double*, memory_space> const identity;
  std::int64_t iterations = 0;
  double seconds = 0;
  for (int climbs = 0;; ++climbs) {
    Span const span(s.options.trace, "solve", "cholesky");
    Kokkos::Timer const timer;
    SolveReport now;
    bool const last = !s.options.ladder || s.next_step >= s.steps.size();
    detail::scale_rows(exec, s.analysis.d, B, right, s.n, B.cols);  // D B
    if (climbs == 0) detail::require_finite(exec, right);
    now.refinement = s.refine_once(right, solution, options, last);
    detail::scale_rows(exec, s.analysis.d, solution, solution, s.n, B.cols);  // X = D Y
    detail::scale_rows(exec, identity, B, right, s.n, B.cols);
    s.evaluate(right, solution, residual, now);
    if (now.refinement.converged) s.correct(right, solution, residual, options, now);
    now.converged = now.refinement.converged && now.hpl_scaled_residual <= hpl_threshold &&
                    now.slate_error <= slate_threshold;
    iterations += now.refinement.iterations;
    if (climbs == 0 || now.converged || now.backward_error < best.backward_error) {
      detail::scale_rows(exec, identity, solution, X, s.n, B.cols);
      best = now;
    }
    exec.fence("strata::dense::solve: X is ready");
    seconds += timer.seconds();
    best.climbs = climbs;
    // A is indefinite by less than the layers resolve: fp64 finds the minor.
    bool const doubtful = now.refinement.indefinite;
    if (last || options.refine == Refine::None || (best.converged && !doubtful)) break;
    s.next_step = doubtful ? s.steps.size() - 1 : detail::next_layers(s.steps, s.next_step);
    if (!s.climb()) {
      best.converged = false;
      break;
    }
  }
  best.iterations = iterations;
  best.seconds = seconds;
  return best;
}

template <class ExecutionSpace>
LogDeterminantEstimate CholeskyFactor<ExecutionSpace>::log_determinant(
    ExecutionSpace const& exec, LogDeterminantOptions const& options) {
  State& s = *state_;
  s.require_factor("log_determinant");
  s.use(exec);
  double log_scaling = 0;  // log det A = log det H - 2 sum log d_i
  if (s.analysis.d.extent(0) > 0) log_scaling = detail::sum_of_logs(exec, s.analysis.d);
  double const of_factor = s.n == 0 ? 0 : s.log_determinant_of_factor();
  LogDeterminantEstimate estimate;
  if (s.report.layers.is_fp64() && s.report.shift == 0) {
    estimate.value = of_factor;
  } else {
    LogDeterminantOperators<ExecutionSpace> operators;
    using Block = typename State::Block;
    operators.apply = [&s](Block const& X, Block const& Y) { s.apply_scaled(X, Y); };
    operators.forward = [&s](Block const& V) { s.half_solve(Op::NoTrans, V); };
    operators.backward = [&s](Block const& V) { s.half_solve(Op::Trans, V); };
    estimate = dense::log_determinant(exec, s.n, of_factor, operators, options);
  }
  estimate.value -= 2 * log_scaling;
  return estimate;
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::factor(ExecutionSpace const& exec,
                                            MatrixRef<memory_space> const& L) const {
  State const& s = *state_;
  s.require_factor("factor");
  s.tree->store(exec, Uplo::Lower, L);
  if (s.analysis.d.extent(0) > 0) detail::unscale_factor(exec, s.analysis.d, L);
}

#define STRATA_INSTANTIATE(Exec) template class CholeskyFactor<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
