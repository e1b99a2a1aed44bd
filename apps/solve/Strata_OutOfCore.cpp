// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Ending.hpp>
#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Ranks.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <apps/solve/Strata_SolveResult.hpp>
#include <comm/Strata_Together.hpp>
#include <core/Strata_Stopwatch.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <utility>

namespace strata::apps {

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = ooc::TileMatrix<Exec>;
using TiledFactor = ooc::TileFactor<Exec>;

// What is left of a run that is ended.
std::string what_is_kept(SolveOptions const& options) {
  if (options.checkpoint.empty()) return "; without --checkpoint nothing is kept";
  return "; the finished columns are in " + options.checkpoint +
         ", and the same command goes on from them";
}

Matrix fill(Exec const& exec, Problem const& problem, SolveOptions const& options,
            Progress& progress) {
  ooc::TileMatrixOptions choices(precision_rule(options.tiles));
  choices.max_bytes = memory_limit(options.max_memory).bytes;
  choices.anywhere = true;
  choices.devices = tile_devices(options.tiles, options.comm.get());
  choices.storage = options.tiles.storage;
  choices.nodes = ooc::numa_nodes(choices.devices);
  choices.comm = options.comm;
  choices.grid = options.tiles.grid;
  choices.on_progress = until_end(progress.listener(), what_is_kept(options));
  std::int64_t const n = problem.summary.n;
  std::int64_t const tile = options.tiles.tile > 0
                                ? options.tiles.tile
                                : Matrix::automatic_tile_size(n, options.tiles.device_memory);
  as_usage_of_ranks([&] {
    together(options.comm.get(), [&] { require_device_memory(options.tiles, n, tile); });
  });
  return as_usage_of_ranks([&] { return Matrix::generate(exec, n, tile, problem.tiles, choices); });
}

void describe(TiledFactor const& made, OutOfCoreResult& result) {
  result.factor = made.report();
  result.info = made.info().order();
  result.map = made.matrix().map().to_text();
  result.ranks = made.matrix().comm() ? made.matrix().comm()->size() : 1;
  result.storage = made.matrix().storage();
  result.no_room = made.matrix().report().no_room;
  result.tile_bytes = made.matrix().report().bytes;
  result.node_bytes = made.matrix().report().node_bytes;
}

TiledFactor factor(Exec const& exec, Problem const& problem, SolveOptions const& options,
                   Progress& progress, OutOfCoreResult& result) {
  Stopwatch watch;
  progress.phase(words("filling tiles, n = ", problem.summary.n));
  Matrix matrix = fill(exec, problem, options, progress);
  result.seconds.fill = watch.lap();
  progress.phase(words("factoring, n = ", matrix.order(), " in tiles of ", matrix.tile_size()));
  ooc::CholeskyOptions choices;
  choices.checkpoint.folder = options.checkpoint;
  choices.transport = options.tiles.transport;
  choices.on_task = [rest = what_is_kept(options),
                     count =
                         count_tasks(matrix.tiles(), result.ranks, progress)](auto const& task) {
    end_if_asked(rest);
    count(task);
  };
  choices.on_silence = warn_of_silence(options.comm.get(), progress);
  TiledFactor made = as_usage_of_ranks([&] {  // budgets and checkpoints are the user's
    return ooc::cholesky(tile_devices(options.tiles, options.comm.get()), std::move(matrix),
                         choices);
  });
  result.seconds.factor = watch.lap();
  describe(made, result);
  return made;
}

void solve(Exec const& exec, Problem const& problem, SolveOptions const& options,
           TiledFactor& factor, Progress& progress, OutOfCoreResult& result) {
  progress.phase("making the right-hand sides");
  Stopwatch watch;
  DeviceMatrix const B = right_hand_side(
      exec, problem,
      [&](auto const& known, auto const& product) { factor.apply(exec, known, product); });
  DeviceMatrix const X("strata::solve::X", B.extent(0), B.extent(1));
  progress.phase(words("solving, n = ", problem.summary.n));
  auto refinement = watched(options, problem.summary.n, progress);
  refinement.on_step = until_end(refinement.on_step, what_is_kept(options));
  result.solve = as_usage_of_ranks([&] { return factor.solve(exec, B, X, refinement); });
  describe(factor, result);
  result.seconds.solve = watch.lap();
  take_solution(exec, problem, X, result);
  if (!options.log_determinant || result.info != 0) return;
  progress.phase("estimating the log-determinant");
  watch.lap();
  if (factor.matrix().map().is_mixed())
    result.log_determinant = factor.log_determinant(
        exec, {.on_progress = until_end(progress.listener(), what_is_kept(options))});
  else
    result.log_determinant = {.value = factor.log_determinant(),
                              .rounding_error = factor.rounding_error(exec)};
  result.seconds.log_determinant = watch.lap();
}

}  // namespace

OutOfCoreResult run_in_tiles(Problem const& problem, SolveOptions const& options,
                             Progress& progress) {
  Exec const exec;
  OutOfCoreResult result(problem, options);
  result.checkpoint = options.checkpoint;
  result.rule = precision_rule(options.tiles);
  TiledFactor made = factor(exec, problem, options, progress, result);
  if (result.info == 0) solve(exec, problem, options, made, progress, result);
  return result;
}

}  // namespace strata::apps
