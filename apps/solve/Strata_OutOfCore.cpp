// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/solve/Strata_OutOfCore.hpp>

#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Stopwatch.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <apps/solve/Strata_SolveMemory.hpp>
#include <apps/solve/Strata_SolveOutput.hpp>
#include <apps/solve/Strata_SolveVectors.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>

#include <Kokkos_Core.hpp>

#include <iostream>
#include <optional>
#include <utility>

namespace strata::apps {

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = ooc::TileMatrix<Exec>;
using Factor = ooc::TileFactor<Exec>;

Matrix fill(Exec const& exec, Problem const& problem, SolveOptions const& options) {
  ooc::TileMatrixOptions choices(precision_rule(options.tiles));
  choices.max_bytes = memory_limit(options).bytes;
  choices.anywhere = true;
  choices.nodes = ooc::numa_nodes(tile_devices(options.tiles));
  std::int64_t const n = problem.summary.n;
  std::int64_t const tile = options.tiles.tile > 0
                                ? options.tiles.tile
                                : Matrix::automatic_tile_size(n, options.tiles.device_memory);
  return as_usage([&] { return Matrix::generate(exec, n, tile, problem.tiles, choices); });
}

void describe(Factor const& made, OutOfCoreResult& result) {
  result.factor = made.report();
  result.info = made.info().order();
  result.tile_bytes = made.matrix().report().bytes;
  result.node_bytes = made.matrix().report().node_bytes;
}

Factor factor(Exec const& exec, Problem const& problem, SolveOptions const& options,
              Progress& progress, OutOfCoreResult& result) {
  Stopwatch watch;
  progress.phase(text("filling tiles, n = %lld", static_cast<long long>(problem.summary.n)));
  Matrix matrix = fill(exec, problem, options);
  result.fill_seconds = watch.lap();
  progress.phase(text("factoring, n = %lld in tiles of %lld",
                      static_cast<long long>(matrix.order()),
                      static_cast<long long>(matrix.tile_size())));
  ooc::CholeskyOptions choices;
  choices.checkpoint.folder = options.checkpoint;
  Factor made = as_usage([&] {  // budgets and checkpoints are the user's
    return ooc::cholesky(tile_devices(options.tiles), std::move(matrix), choices);
  });
  result.factor_seconds = watch.lap();
  describe(made, result);
  return made;
}

DeviceMatrix right_hand_side(Exec const& exec, Problem const& problem, Factor const& factor) {
  if (!problem.knows_solution) return on_device(exec, problem.B);
  DeviceMatrix const X = on_device(exec, problem.X);
  DeviceMatrix const B("strata::solve::B", X.extent(0), X.extent(1));
  factor.apply(exec, X, B);
  return B;
}

HostMatrix solve(Exec const& exec, Problem const& problem, SolveOptions const& options,
                 Factor& factor, Progress& progress, OutOfCoreResult& result) {
  progress.phase(text("solving, n = %lld", static_cast<long long>(problem.summary.n)));
  Stopwatch watch;
  DeviceMatrix const B = right_hand_side(exec, problem, factor);
  DeviceMatrix const X("strata::solve::X", B.extent(0), B.extent(1));
  result.solve = as_usage([&] { return factor.solve(exec, B, X, options.refinement); });
  describe(factor, result);
  result.solve_seconds = watch.lap();
  HostMatrix const host = on_host(exec, X);
  if (problem.knows_solution) result.forward_error = forward_error(host, problem.X);
  if (options.log_determinant && result.info == 0) {
    progress.phase("estimating the log-determinant");
    watch.lap();
    if (factor.matrix().map().is_mixed())
      result.log_determinant = factor.log_determinant(exec, dense::LogDeterminantOptions{});
    else
      result.log_determinant = {.value = factor.log_determinant(),
                                .rounding_error = factor.rounding_error()};
    result.log_determinant_seconds = watch.lap();
  }
  return in_users_order(host, problem.order);
}

}  // namespace

Exit solve_out_of_core(SolveOptions const& options) {
  check(options);
  Stopwatch total, read;
  Progress progress;
  std::optional<Recorder> recorder;
  if (!options.trace.empty()) recorder.emplace();
  Exec const exec;
  OutOfCoreResult result;
  Problem const problem = as_usage([&] { return set_up(options, progress); });
  result.read_seconds = read.lap();
  result.problem = problem.summary;
  result.refine_asked = dense::name_of(options.refinement.refine);
  result.checkpoint = options.checkpoint;
  result.epsilon = options.tiles.epsilon;
  for (Precision const precision : precision_rule(options.tiles).precisions)
    if (result.epsilon > 0 || precision == Precision::fp64) result.allowed.push_back(precision);
  HostMatrix X;
  {
    Factor made = factor(exec, problem, options, progress, result);
    if (result.info == 0) X = solve(exec, problem, options, made, progress, result);
  }
  result.total_seconds = total.lap();
  progress.phase("writing");
  write_files(options, result, X, recorder);
  progress.clear();
  print(std::cout, result);
  std::cout.flush();
  explain(result);
  return result.exit();
}

}  // namespace strata::apps
