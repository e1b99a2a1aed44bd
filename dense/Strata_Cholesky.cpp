// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/Strata_Cholesky.hpp>

#include <core/Strata_MatrixRef.hpp>
#include <core/blas/Strata_FlopCount.hpp>
#include <core/kokkos_ext/Strata_FewThreads.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/memory/Strata_Pieces.hpp>
#include <dense/detail/Strata_CholeskyState.hpp>
#include <dense/detail/Strata_FactorKernels.hpp>
#include <dense/detail/Strata_ForetoldPivot.hpp>
#include <dense/tree/detail/Strata_ColumnMajor.hpp>

#include <algorithm>
#include <utility>

namespace strata::dense {

namespace {

// True for few rows or columns, which one thread reads sooner than several begin and end loops.
bool is_small(std::int64_t extent) { return extent <= 1024; }

}  // namespace

template <class ExecutionSpace>
CholeskyFactor<ExecutionSpace>::State::State(ExecutionSpace const& space, MatrixView const& matrix,
                                             LayerList const& layers,
                                             CholeskyOptions const& choices)
    : given(space),
      is_little(has_threads(space) && is_small(static_cast<std::int64_t>(matrix.extent(0)))),
      exec(for_work(space, is_little)),
      options(choices),
      n(static_cast<std::int64_t>(matrix.extent(0))) {
  STRATA_REQUIRE(ValueError, options.leaf_size >= 0, "cholesky: the leaf size is ",
                 options.leaf_size, ", must be >= 1, or 0 for automatic");
  STRATA_REQUIRE(ValueError, options.shift >= 0 && options.shift <= 1, "cholesky: the shift is ",
                 options.shift, ", must be in [0, 1]");
  STRATA_REQUIRE(ShapeError, matrix.extent(0) == matrix.extent(1), "cholesky: A is ",
                 matrix.extent(0), " x ", matrix.extent(1), ", must be square");
  blas = std::make_unique<LeafBlas<ExecutionSpace>>(exec);
  analysis_memory = allocate_pieces(exec, "strata::dense::cholesky::vectors", [&](Pieces& pieces) {
    room.lay_out(pieces, n);
    pieces.lay_out(pivot);
  });
  take(matrix, layers);
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::take(MatrixView const& matrix,
                                                 LayerList const& layers) {
  copy = {};
  take_as_it_is(matrix, layers);
  if (!info.ok() && options.jitter) take_with_jitter(matrix, layers);
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::take_as_it_is(MatrixView const& matrix,
                                                          LayerList const& layers) {
  view = matrix;
  auto const columns = detail::column_major<ExecutionSpace>(matrix);
  A = columns.matrix;
  uplo = columns.of(Uplo::Lower);
  report = {};
  report.n = n;
  report.layers = layers;
  report.leaf_size = leaf_size(layers);
  info = Info::success();
  factored = is_foretold = is_loaded = false;
  by_pivots = by_solution = 0;
  whitening = -1;
  refused = true;
  minors = 0;
  analyse(layers);
  if (options.ladder && analysis.bad_diagonal != 0) {
    end_ladder();  // not positive definite for certain: only the first minor is left to be found
    find_minor(analysis.bad_diagonal);
  } else {
    if (options.ladder) {  // on a host a matrix that breaks down early is not worth loading
      std::int64_t const order = detail::early_block<ExecutionSpace>(n);
      if (order > 0) find_minor(order);
      minors = 0;  // too little work to count when the next block is weighed
    }
    if (info.ok()) (void)climb();
  }
  refused = false;
}

template <class ExecutionSpace>
std::int64_t CholeskyFactor<ExecutionSpace>::State::leaf_size(LayerList const& layers) const {
  return options.leaf_size > 0 ? options.leaf_size : automatic_leaf_size<ExecutionSpace>(n, layers);
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::analyse(LayerList const& layers) {
  Region const region(exec, "strata::dense::cholesky::analyse");
  Kokkos::Timer const timer;
  ladder = StepLadder(steps_for(layers));
  auto const& first = ladder.steps().front();
  detail::LeafBlocks<memory_space> into;
  if (!runs_on_host<ExecutionSpace> && options.equilibrate) {
    try {
      make_tree(first);
      into = tree->begin_load(exec, first.shift);
    } catch (MemoryError const&) {
      drop_tree();  // a matrix that is refused needs none; of others the attempt says so
    }
  }
  try {
    analysis = detail::analyse(exec, uplo, A, options.equilibrate, room, into);
  } catch (...) {
    drop_tree();
    throw;
  }
  is_loaded = into.n > 0;
  report.equilibrated = options.equilibrate;
  report.smallest_scaling = analysis.smallest_scaling;
  report.largest_scaling = analysis.largest_scaling;
  report.norm_inf = analysis.norm;
  report.analyse_seconds = timer.seconds();
}

template <class ExecutionSpace>
std::vector<detail::Step> CholeskyFactor<ExecutionSpace>::State::steps_for(
    LayerList const& layers) const {
  if (!options.ladder) return {{Rung::AsAsked, layers, options.shift}};
  auto found = detail::rungs<ExecutionSpace>(n, layers, options.shift);
  LayerList const fp64{Precision::fp64};
  if (!runs_on_host<ExecutionSpace> && n > leaf_size(fp64))
    found.push_back({Rung::Fp64, fp64, 0, LeafSolve::Substitution});
  return found;
}

template <class ExecutionSpace>
bool CholeskyFactor<ExecutionSpace>::State::climb() {
  bool was_foretold = false;
  return ladder.climb(
      [&](detail::Step const& step) {
        was_foretold = is_foretold;
        return note_attempt(step, [&] { return attempt(step); });
      },
      [&](MemoryError const&) {
        if (!was_foretold) throw;
        ladder.step_back();  // what was left may serve, and needs less
        return note_attempt(ladder.now(), [&] { return attempt(ladder.now(), false); });
      },
      [&](Info const& found) { return holds(found); });
}

template <class ExecutionSpace>
bool CholeskyFactor<ExecutionSpace>::State::holds(Info found) {
  detail::Step const& step = ladder.now();
  if (found.ok()) {
    factored = true;
    by_pivots = 0;
    whitening = -1;
    describe(step);
    describe_blocks();
    return true;
  }
  if (at_the_top()) {
    give_up(step, found);
    return false;
  }
  auto const rounding_explains = [&] {
    return detail::rounding_explains(*tree, logarithms().leaves, found.order());
  };
  bool const is_time = !is_foretold && detail::worth_settling<ExecutionSpace>(
                                           ladder.steps(), ladder.next(), n, found.order(), minors,
                                           rounding_explains);
  if (!is_time) return false;
  try {
    find_minor(found.order());
  } catch (MemoryError const&) {
    return false;  // the rungs will tell
  }
  return false;
}

// What work() found, which is an attempt at a step.
template <class ExecutionSpace>
Info CholeskyFactor<ExecutionSpace>::State::note_attempt(detail::Step const& step,
                                                         std::function<Info()> const& work) {
  Kokkos::Timer const timer;
  double const before = report.factor_seconds;
  Info const found = work();
  double const seconds = timer.seconds(), factoring = report.factor_seconds - before;
  auto const outcome = found.ok()    ? Outcome::Held
                       : is_foretold ? Outcome::Foretold
                                     : Outcome::BrokeDown;
  std::int64_t const failed = is_foretold ? 0 : found.order();
  report.attempts.push_back(
      {{{step.rung, outcome}, failed, seconds - factoring, factoring}, step.layers, step.shift});
  return found;
}

template <class ExecutionSpace>
Info CholeskyFactor<ExecutionSpace>::State::attempt(detail::Step const& step, bool may_leave) {
  factored = is_foretold = false;
  blas->release_scratch();  // of an attempt that threw
  make_tree(step);
  load(*tree, step.shift);
  return factor(*tree, may_leave ? first_look() : FirstColumns());
}

template <class ExecutionSpace>
BlockTreeOptions CholeskyFactor<ExecutionSpace>::State::tree_options(
    detail::Step const& step) const {
  BlockTreeOptions chosen(options.block_scaling);
  chosen.leaf_solve = step.leaf_solve;
  return chosen;
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::drop_tree() {
  low_solve.reset();
  tree.reset();
  is_loaded = false;
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::make_tree(detail::Step const& step) {
  if (tree && tree->layers() == step.layers && tree_solve == step.leaf_solve) return;
  drop_tree();
  tree = std::make_unique<Tree>(exec, n, step.layers, leaf_size(step.layers), tree_options(step));
  tree_solve = step.leaf_solve;
}

// Where the cost of higher layers is known, the first pivots tell whether the rest is worth it.
template <class ExecutionSpace>
auto CholeskyFactor<ExecutionSpace>::State::first_look() -> FirstColumns {
  if (at_the_top() || tree->layers().is_fp64() || !patience().is_measured) return {};
  return {
      detail::telling_columns<ExecutionSpace>(*tree),
      [this](ExecutionSpace const& instance, std::int64_t columns) {
        double const pivot = detail::foretold_pivot(instance, *tree, columns, room.sums.data());
        auto& steps = ladder.steps();
        auto const next = ladder.next();
        is_foretold = pivot < detail::least_pivot<ExecutionSpace>(
                                  n, tree->layers(), steps[next].layers, options.columns);
        if (is_foretold)
          ladder.go_to(detail::rung_for<ExecutionSpace>(n, steps, next, pivot, options.columns));
        return !is_foretold;
      }};
}

// L of the leading block of H that has the tree's order.
template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::load(Tree& into, double shift) {
  std::int64_t const m = into.order();
  Region const region(exec, "strata::dense::cholesky::load");
  Kokkos::Timer const timer;
  Kokkos::View<double const*, memory_space> d = analysis.d;
  if (d.extent(0) > 0) d = Kokkos::subview(d, std::pair<std::int64_t, std::int64_t>(0, m));
  if (&into == tree.get() && std::exchange(is_loaded, false))
    into.bound_scales(exec, A, d, shift);
  else
    into.load(exec, uplo, A.block(0, 0, m, m), d, shift);
  // On a device a fence takes longer than to load a small matrix, which counts as factored.
  if (strata::runs_on_host<ExecutionSpace> || m >= 4096)
    exec.fence("strata::dense::cholesky: loaded");
  report.load_seconds += timer.seconds();
}

template <class ExecutionSpace>
Info CholeskyFactor<ExecutionSpace>::State::factor(Tree& into, FirstColumns const& first_columns) {
  Region const region(exec, "strata::dense::cholesky::factor ", into.layers().name());
  Kokkos::Timer const timer;
  Kokkos::deep_copy(exec, pivot, std::int64_t(0));
  detail::tree_potrf(*blas, into, pivot, options.on_progress, first_columns);
  std::int64_t first = 0;
  Kokkos::deep_copy(exec, first, pivot);
  exec.fence("strata::dense::cholesky: read the pivot status");
  double const seconds = timer.seconds();
  report.factor_seconds += seconds;
  report.factor_flop_per_s =
      seconds > 0 ? static_cast<double>(potrf_flops(into.order())) / seconds : 0;
  report.stored_bytes = into.stored_bytes();
  report.peak_bytes = std::max(report.peak_bytes, into.stored_bytes() + into.working_bytes());
  into.release_working();
  blas->release_scratch();
  return first == 0 ? Info::success() : Info::breakdown(first);
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::describe(detail::Step const& step) {
  report.rung = step.rung;
  report.layers = step.layers;
  report.leaf_size = leaf_size(step.layers);
  report.shift = step.shift;
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::describe_blocks() {
  report.smallest_block_scale = report.largest_block_scale = 1;
  report.blocks.clear();
  if (n == 0) return;
  std::vector<double> scales(tree->scales().extent(0));
  if (!scales.empty()) {
    Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const host(
        scales.data(), scales.size());
    Kokkos::deep_copy(exec, host, tree->scales());
    exec.fence("strata::dense::cholesky: read the scales");
    auto const [smallest, largest] = std::minmax_element(scales.begin(), scales.end());
    report.smallest_block_scale = *smallest;
    report.largest_block_scale = *largest;
  }
  for (auto const& node : tree->nodes()) {
    auto const scale = scales.begin() + (node.scales > 0 ? node.scale - tree->scales().data() : 0);
    report.blocks.push_back({node.begin + node.first_size, node.begin, node.stored.rows,
                             node.stored.cols, node.stored.precision,
                             node.scales > 0 ? *std::max_element(scale, scale + node.scales) : 1});
  }
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::need_factor(char const* function) {
  STRATA_REQUIRE(ValueError, !refused, function,
                 ": there is no factor; `refactor` refused the matrix, or had no memory");
  STRATA_REQUIRE(ValueError, info.ok(), function,
                 ": there is no factor; the leading minor of order ", info.order(),
                 " is not positive");
  if (factored) return;
  detail::Step const& step = ladder.held();
  Info const found = attempt(step, false);
  STRATA_REQUIRE(ValueError, found.ok(), function, ": there is no factor; factored again in ",
                 step.layers.name(), ", the leading minor of order ", found.order(),
                 " is not positive: A has changed");
  factored = true;
  describe(step);
  describe_blocks();
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::use(ExecutionSpace const& other, std::int64_t cols) {
  bool const little = has_threads(other) && is_small(std::max(n, cols));
  if (other == given && little == is_little) return;
  exec.fence("strata::dense::cholesky: change of instance");
  auto const working = for_work(other, little);
  auto next = std::make_unique<LeafBlas<ExecutionSpace>>(working);
  low_solve.reset();
  blas = std::move(next);
  given = other, exec = working, is_little = little;
}

template <class ExecutionSpace>
CholeskyFactor<ExecutionSpace>::CholeskyFactor(ExecutionSpace const& exec, MatrixView const& A,
                                               LayerList const& layers,
                                               CholeskyOptions const& options)
    : state_("CholeskyFactor", std::make_unique<State>(exec, A, layers, options)) {}
template <class ExecutionSpace>
CholeskyFactor<ExecutionSpace>::~CholeskyFactor() = default;
template <class ExecutionSpace>
CholeskyFactor<ExecutionSpace>::CholeskyFactor(CholeskyFactor&&) noexcept = default;
template <class ExecutionSpace>
CholeskyFactor<ExecutionSpace>& CholeskyFactor<ExecutionSpace>::operator=(
    CholeskyFactor&&) noexcept = default;

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::refactor(ExecutionSpace const& exec, MatrixView const& A) {
  State& s = *state_;
  auto const n = static_cast<std::size_t>(s.n);
  STRATA_REQUIRE(ShapeError, A.extent(0) == n && A.extent(1) == n, "refactor: A is ", A.extent(0),
                 " x ", A.extent(1), ", the factor of order ", n);
  s.use(exec);
  if (s.reserve.bytes() < s.report.peak_bytes) s.reserve = {s.exec, s.report.peak_bytes};
  LayerList const layers = s.ladder.steps().front().layers;
  s.take(A, layers);
}

template <class ExecutionSpace>
Info CholeskyFactor<ExecutionSpace>::info() const {
  return state_->info;
}
template <class ExecutionSpace>
CholeskyReport const& CholeskyFactor<ExecutionSpace>::report() const {
  return state_->report;
}

template <class ExecutionSpace>
auto CholeskyFactor<ExecutionSpace>::matrix() const -> MatrixView {
  return state_->view;
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::copy_factor(ExecutionSpace const& exec,
                                                 MatrixRef<memory_space> const& L) const {
  State& s = *state_;
  s.need_factor("copy_factor");
  s.tree->store(exec, Uplo::Lower, L);
  if (s.analysis.d.extent(0) > 0) detail::unscale_factor(exec, s.analysis.d, L);
}

#define STRATA_INSTANTIATE(Exec) template class CholeskyFactor<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
