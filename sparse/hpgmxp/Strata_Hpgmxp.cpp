// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/hpgmxp/Strata_Hpgmxp.hpp>

#include <comm/Strata_GatherSpans.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/hpgmxp/Strata_ProcessGrid.hpp>
#include <sparse/hpgmxp/detail/Strata_TimeLeft.hpp>
#include <sparse/krylov/Strata_GmresIr.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>
#include <sparse/multigrid/Strata_GeometricMultigrid.hpp>
#include <sparse/multigrid/Strata_GridHierarchy.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata::sparse {

namespace {

constexpr int grid_levels = 4;
constexpr std::int64_t any_number = std::numeric_limits<std::int64_t>::max(), fp64_solves = 10;

StencilProblem problem_of(HpgmxpOptions const& options, std::array<int, 3> const& grid, int rank) {
  StencilProblem problem{options.nx, options.ny, options.nz, grid[0], grid[1], grid[2]};
  problem.px = rank % grid[0];
  problem.py = rank / grid[0] % grid[1];
  problem.pz = rank / (grid[0] * grid[1]);
  problem.beta = options.beta;
  return problem;
}

/// The matrices of both solvers, and b in their order.
template <class Exec>
struct Systems {
  GridHierarchy<Exec> wide, narrow;
  Vector<double, typename Exec::memory_space> b, x;

  DistributedMatrix<Exec> const& A() const { return wide.levels.front().A; }
};

// The narrowest that loses nothing; on a host, where narrow values cost more than they save, fp32.
template <class Exec>
Precision narrowest(Exec const& exec, GridHierarchy<Exec> const& wide) {
  if (!strata::runs_on_host<Exec>)
    for (auto const precision : {Precision::fp8_e4m3, Precision::bf16, Precision::fp16})
      if (std::all_of(wide.levels.begin(), wide.levels.end(),
                      [&](auto const& level) { return level.A.is_exact_in(exec, precision); }))
        return precision;
  return Precision::fp32;
}

template <class Exec>
Systems<Exec> set_up(Exec const& exec, Communicator const& comm, StencilProblem const& problem,
                     HpgmxpOptions const& options) {
  Systems<Exec> systems;
  systems.wide = make_grid_hierarchy(exec, comm, problem, grid_levels, options.matrix);
  auto const& A = systems.A();
  systems.narrow = systems.wide.stored_in(
      exec, options.values ? *options.values : narrowest(exec, systems.wide));
  comm.agree([&] {
    systems.b = A.template allocate<double>(exec, "strata::sparse::hpgmxp::b");
    systems.x = A.template allocate<double>(exec, "strata::sparse::hpgmxp::x");
  });
  Kokkos::deep_copy(exec, systems.x, 1.0);  // the solution: b = A 1
  A.multiply(exec, systems.x, systems.b);
  exec.fence("strata::sparse::hpgmxp::set_up");
  return systems;
}

// As the rules write orthogonalisation: sums over the ranks of k, k and 1 values.
KrylovOptions gmres_options(int restart, double tolerance, std::int64_t iterations) {
  KrylovOptions options{restart, tolerance, iterations};
  options.norm = BasisNorm::Summed;
  return options;
}

// On a host widening costs more than the bytes save, and on small grids the iterations that a cycle
// gains less.
template <class Exec>
Precision chosen_basis(StencilProblem const& problem, HpgmxpOptions const& options) {
  constexpr std::int64_t large = std::int64_t{128} * 128 * 128;
  bool const pays = !strata::runs_on_host<Exec> && problem.global_rows() >= large;
  return options.basis.value_or(pays ? Precision::fp16 : Precision::fp32);
}

template <class Exec, class Scalar, class Stored>
KrylovReport solve_from_zero(Exec const& exec, Systems<Exec> const& systems,
                             GmresIr<Exec, Scalar, Stored>& solver) {
  Kokkos::deep_copy(exec, systems.x, 0.0);
  return solver.solve(exec, systems.b, systems.x);
}

template <class Exec, class Scalar, class Stored = Scalar>
KrylovReport solve_once(Exec const& exec, Systems<Exec> const& systems,
                        GridHierarchy<Exec> const& inner, KrylovOptions const& gmres) {
  GeometricMultigrid<Exec, Scalar> const preconditioner(exec, inner);
  GmresIr<Exec, Scalar, Stored> solver(exec, systems.A(), preconditioner, gmres);
  return solve_from_zero(exec, systems, solver);
}

// Whether any rank is to end. Collective, and no message without `ends`, which all ranks have or
// none.
bool is_ended(Communicator const& comm, HpgmxpOptions const& options) {
  return options.ends && comm.max(options.ends() ? 1 : 0) > 0;
}

// What a validation's solver tells after each iteration.
std::function<void(std::int64_t, double)> validation_monitor(Communicator const& comm,
                                                             HpgmxpOptions const& options) {
  constexpr std::int64_t iterations = 32;  // between questions, each a sum over the ranks
  return [&](std::int64_t iteration, double residual) {
    if (options.on_validation_residual) options.on_validation_residual(residual);
    if (!options.ends || iteration % iterations != 0) return;
    comm.agree([&] {
      if (options.ends())
        throw Error(
            strata::detail::message("the validation was ended after ", iteration, " iterations"));
    });
  };
}

template <class Exec>
HpgmxpValidation validate(Exec const& exec, Communicator const& comm, Systems<Exec> const& systems,
                          Precision basis, HpgmxpOptions const& options) {
  Region const region(exec, "strata::sparse::hpgmxp::validate");
  HpgmxpValidation result;
  result.ranks = comm.size();
  auto gmres = gmres_options(options.restart, options.tolerance, options.max_iterations);
  gmres.monitor = validation_monitor(comm, options);
  options.progress("validation, fp64");
  result.fp64 = solve_once<Exec, double>(exec, systems, systems.wide, gmres);
  if (result.fp64.status == KrylovStatus::IterationLimit &&
      options.validation == ValidationType::FullScale)
    gmres.tolerance = result.fp64.relative_residual;
  result.tolerance = gmres.tolerance;
  gmres.max_iterations *= 10;
  options.progress("validation, mixed");
  result.basis = basis;
  result.mixed = basis == Precision::fp16
                     ? solve_once<Exec, fp32, fp16>(exec, systems, systems.narrow, gmres)
                     : solve_once<Exec, fp32>(exec, systems, systems.narrow, gmres);
  return result;
}

// Solves until all ranks have done so for the run time, or one breaks down; one before warms up.
template <class Exec, class Scalar, class Stored>
void run_solves(Exec const& exec, Systems<Exec> const& systems,
                GmresIr<Exec, Scalar, Stored>& solver, HpgmxpOptions const& options,
                std::int64_t most_solves, std::string const& name, HpgmxpPhase& phase) {
  auto const& comm = systems.A().comm();
  auto report = solve_from_zero(exec, systems, solver);
  do {
    options.progress(strata::detail::message(name, ", solve ", phase.solves + 1, ", ",
                                             std::llround(phase.least_seconds), " of ",
                                             options.seconds, " s done"));
    detail::tell_time_left(options, phase, most_solves, report.seconds);
    report = solve_from_zero(exec, systems, solver);
    phase.count(report);
    phase.least_seconds = -comm.max(-phase.seconds);
  } while (phase.least_seconds < options.seconds && phase.solves < most_solves &&
           phase.completed() && !is_ended(comm, options));
  phase.seconds = comm.max(phase.seconds);
}

// The breakdown of one more solve, which is recorded.
template <class Exec, class Scalar, class Stored>
Breakdown breakdown(Exec const& exec, Systems<Exec> const& systems,
                    GmresIr<Exec, Scalar, Stored>& solver) {
  Recorder recorder;
  auto const report = solve_from_zero(exec, systems, solver);
  return breakdown_of(systems.A().comm(), motif_times(recorder.spans()), report.seconds,
                      report.iterations);
}

template <class Exec, class Scalar, class Stored = Scalar>
HpgmxpPhase timed_phase(Exec const& exec, Systems<Exec> const& systems,
                        GridHierarchy<Exec> const& inner, HpgmxpOptions const& options,
                        std::int64_t most_solves, std::string const& name) {
  Region const region(exec, "strata::sparse::hpgmxp::", name);
  auto gmres =
      gmres_options(options.restart, 0, (timed_iterations / options.restart + 1) * options.restart);
  GeometricMultigrid<Exec, Scalar> const preconditioner(exec, inner);
  options.progress(name + ", warm-up");
  gmres.monitor = detail::warm_up_monitor(options, gmres.max_iterations);
  GmresIr<Exec, Scalar, Stored> solver(exec, systems.A(), preconditioner, gmres);
  HpgmxpPhase phase{
      inner.levels.front().A.precision(), precision_of<Scalar>, precision_of<Stored>, {}};
  auto const& A = inner.levels.front().A;
  phase.storage = {static_cast<double>(traits(phase.values).bytes),
                   static_cast<double>(A.column_bytes()) / static_cast<double>(A.entries()),
                   sizeof(Scalar), sizeof(Stored), 8};
  phase.bytes = solver.bytes();
  phase.solve_iterations = gmres.max_iterations;
  phase.cycle_iterations = options.restart;
  run_solves(exec, systems, solver, options, most_solves, name, phase);
  options.progress(name + ", breakdown");
  if (!is_ended(systems.A().comm(), options)) phase.breakdown = breakdown(exec, systems, solver);
  return phase;
}

// A few iterations as they run, each part with its events, kernel by kernel.
template <class Exec, class Scalar, class Stored = Scalar>
std::vector<TracedProcess> traced_solve(Exec const& exec, Systems<Exec> const& systems,
                                        GridHierarchy<Exec> const& inner,
                                        HpgmxpOptions const& options) {
  options.progress("trace");
  int const iterations = std::min(options.traced_iterations, options.restart);
  GeometricMultigrid<Exec, Scalar> const preconditioner(exec, inner);
  GmresIr<Exec, Scalar, Stored> solver(exec, systems.A(), preconditioner,
                                       gmres_options(iterations, 0, iterations));
  Recorder recorder;
  solve_from_zero(exec, systems, solver);
  return gather_spans(systems.A().comm(), recorder);
}

// Both arrays together are larger than any cache.
template <class Exec>
double copy_rate(Exec const& exec, Communicator const& comm) {
  using Array = Vector<double, typename Exec::memory_space>;
  std::int64_t const n = strata::runs_on_host<Exec> ? 1 << 24 : 1 << 26;
  Array from, to;
  comm.agree([&] {
    from = strata::allocate<Array>(exec, "strata::sparse::hpgmxp::copy", n);
    to = strata::allocate<Array>(exec, "strata::sparse::hpgmxp::copy", n);
  });
  Kokkos::deep_copy(exec, from, 1.0);
  double best = 0;
  for (int repeat = 0; repeat < 4; ++repeat) {  // the first touches the pages
    exec.fence("strata::sparse::hpgmxp::copy");
    comm.barrier();
    Stopwatch const watch;
    Kokkos::deep_copy(exec, to, from);
    exec.fence("strata::sparse::hpgmxp::copied");
    best = std::max(best, 16.0 * static_cast<double>(n) / watch.seconds());
  }
  return -comm.max(-best);
}

template <class Exec>
void describe(Exec const& exec, Systems<Exec> const& systems, HpgmxpResult& result) {
  auto const& A = systems.A();
  result.colours = A.order().colours;
  result.columns = column_forms(exec, A);
  result.transport = A.transport();
  for (auto const& level : systems.wide.levels)
    result.levels.push_back({level.A.global_rows(), level.A.global_entries()});
  result.matrix_bytes = systems.wide.bytes();
  for (auto const& level : systems.narrow.levels)
    result.matrix_bytes += level.A.bytes() - level.A.column_bytes();
}

}  // namespace

double HpgmxpValidation::penalty() const {
  if (mixed.iterations == 0) return 1;
  return std::min(1.0,
                  static_cast<double>(fp64.iterations) / static_cast<double>(mixed.iterations));
}

void HpgmxpPhase::count(KrylovReport const& report) {
  ++solves;
  seconds += report.seconds;
  iterations += report.iterations;
  cycles += report.cycles;
  is_finite = is_finite && report.status != KrylovStatus::Breakdown;
}

bool HpgmxpResult::passed() const {
  auto const holds = [](auto const& part, auto const& test) { return !part || test(*part); };
  auto const completed = [](HpgmxpPhase const& phase) { return phase.completed(); };
  return holds(validation, [](HpgmxpValidation const& part) { return part.passed(); }) &&
         holds(mixed, completed) && holds(fp64, completed);
}

double HpgmxpResult::flop_per_second(HpgmxpPhase const& phase, FlopCount count) const {
  double const cycle = cycle_flops(levels, phase.cycle_iterations, count).total();
  return cycle * static_cast<double>(phase.iterations) / phase.cycle_iterations / phase.seconds;
}

std::optional<double> HpgmxpResult::speedup() const {
  if (!mixed || !fp64) return std::nullopt;
  return fp64->ms_per_iteration() / mixed->ms_per_iteration() *
         (validation ? validation->penalty() : 1);
}

template <class Exec>
HpgmxpResult run_hpgmxp(Exec const& exec, Communicator const& comm, HpgmxpOptions const& options) {
  Region const region(exec, "strata::sparse::hpgmxp");
  comm.agree([&] { check(options, comm.size()); });
  HpgmxpResult result;
  result.ranks = comm.size();
  result.problem = problem_of(options, grid_of(options, comm.size()), comm.rank());
  Precision const basis = chosen_basis<Exec>(result.problem, options);
  result.copy_bytes_per_second = copy_rate(exec, comm);
  bool const all_ranks =
      options.validation == ValidationType::FullScale || options.validation_ranks >= comm.size();
  if (has_validation(options.run) && !all_ranks) {
    auto const part = comm.first(options.validation_ranks);
    // Its ranks talk among themselves; the others wait for what they agree on.
    result.validation = comm.agree_with_part(part, [&] {
      auto const problem = problem_of(options, process_grid(part->size()), part->rank());
      return validate(exec, *part, set_up(exec, *part, problem, options), basis, options);
    });
  }
  options.progress("set-up");
  Stopwatch const watch;
  auto const systems = set_up(exec, comm, result.problem, options);
  result.set_up_seconds = comm.max(watch.seconds());
  describe(exec, systems, result);
  if (has_validation(options.run) && all_ranks)
    result.validation = validate(exec, comm, systems, basis, options);
  bool const narrow_basis = basis == Precision::fp16;
  // Once it is true, it stays so, on all ranks the same.
  auto const goes_on = [&] {
    result.is_cut = result.is_cut || is_ended(comm, options);
    return !result.is_cut;
  };
  if (has_mixed(options.run) && goes_on())
    result.mixed = narrow_basis ? timed_phase<Exec, fp32, fp16>(exec, systems, systems.narrow,
                                                                options, any_number, "mixed")
                                : timed_phase<Exec, fp32>(exec, systems, systems.narrow, options,
                                                          any_number, "mixed");
  bool const traces = options.traced_iterations > 0;
  if (traces && has_mixed(options.run) && goes_on())
    result.trace = narrow_basis
                       ? traced_solve<Exec, fp32, fp16>(exec, systems, systems.narrow, options)
                       : traced_solve<Exec, fp32>(exec, systems, systems.narrow, options);
  if (has_fp64(options.run) && goes_on())
    result.fp64 =
        timed_phase<Exec, double>(exec, systems, systems.wide, options, fp64_solves, "fp64");
  if (traces && options.run == RunType::StandaloneRef && goes_on())
    result.trace = traced_solve<Exec, double>(exec, systems, systems.wide, options);
  for (auto const* const phase : {&result.mixed, &result.fp64})
    result.is_cut = result.is_cut || (*phase && !(*phase)->breakdown);
  std::int64_t const solver =
      std::max(result.mixed ? result.mixed->bytes : 0, result.fp64 ? result.fp64->bytes : 0);
  auto const vectors =
      static_cast<std::int64_t>((systems.b.extent(0) + systems.x.extent(0)) * sizeof(double));
  result.held_bytes = static_cast<std::int64_t>(
      -comm.max(-static_cast<double>(result.matrix_bytes + vectors + solver)));
  return result;
}

#define STRATA_INSTANTIATE_HPGMXP(Space) \
  template HpgmxpResult run_hpgmxp(Space const&, Communicator const&, HpgmxpOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_HPGMXP)

}  // namespace strata::sparse
