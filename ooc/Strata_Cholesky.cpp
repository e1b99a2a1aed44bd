// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/Strata_Cholesky.hpp>

#include <comm/Strata_Together.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <ooc/detail/Strata_Budgets.hpp>
#include <ooc/detail/Strata_TileFactorState.hpp>
#include <ooc/executor/detail/Strata_Executor.hpp>
#include <ooc/schedule/Strata_RankOrder.hpp>
#include <ooc/schedule/Strata_Schedule.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>
#include <ooc/team/detail/Strata_Machine.hpp>
#include <ooc/tiles/detail/Strata_TileCheckpoint.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

namespace strata::ooc {

namespace {

// The operand rule with the norms of L that were measured.
template <class Exec>
double operand_excess(TileMatrix<Exec> const& matrix) {
  std::int64_t const tiles = matrix.tiles();
  if (!matrix.map().is_mixed() || matrix.rule().accuracy == 0) return 0;
  std::vector<double> squares(tile_count(tiles), 0);
  together(matrix.comm(), [&] {  // a device may not give one
    for (std::int64_t k = 0; k < tiles; ++k)
      for (std::int64_t i = k + 1; i < tiles; ++i)
        if (matrix.has_tile(i, k)) squares[tile_number(i, k, tiles)] = matrix.square(i, k);
  });
  if (matrix.comm()) matrix.comm()->sum(squares);  // of one number and zeros
  double const allowed =
      matrix.rule().accuracy_each() * matrix.norms().frobenius() / static_cast<double>(tiles);
  double worst = 0;
  for (std::int64_t k = 0; k < tiles; ++k) {
    std::vector<double> norms;
    for (std::int64_t i = k + 1; i < tiles; ++i)
      norms.push_back(std::sqrt(squares[tile_number(i, k, tiles)]));
    std::vector<double> sorted(norms);
    std::ranges::sort(sorted, std::greater());
    for (std::size_t t = 0; t < norms.size() && norms.size() > 1; ++t) {
      double const other = norms[t] == sorted[0] ? sorted[1] : sorted[0];
      Precision const precision = matrix.map().at(k + 1 + static_cast<std::int64_t>(t), k);
      if (storage(precision) == Precision::fp64) continue;
      worst = std::max(worst, norms[t] * other * traits(precision).unit_roundoff / allowed);
    }
  }
  return worst;
}

// Rungs that the first would be mistaken for keep their columns apart, and so does a rung that is
// repeated with all moduli. With few, another rank than the one whose sums outgrew them may have
// kept columns that were made from these.
std::string folder_of(std::string folder, std::size_t rung, bool is_repeated) {
  if (folder.empty()) return folder;
  if (rung > 0) folder += "/rung_" + std::to_string(rung);
  return is_repeated ? folder + "/all_moduli" : folder;
}

// Tiles by the moduli of their products, which without a ladder are all.
auto moduli_taken(PrecisionMap const& map, bool has_ladder) {
  auto tiles = map.moduli_histogram();
  if (has_ladder || map.moduli() == 0) return tiles;
  auto const all = std::accumulate(tiles.begin(), tiles.end(), std::int64_t{0});
  tiles.fill(0);
  tiles[static_cast<std::size_t>(map.moduli() - least_moduli)] = all;
  return tiles;
}

// Why a ladder goes on from here, for the reader of a message.
std::string reason(CholeskyAttempt const& left) {
  if (left.outcome == Outcome::NotConverged) return "the refinement did not converge";
  if (left.outcome == Outcome::SeemsIndefinite) return "A may be indefinite";
  if (left.outcome == Outcome::Overflowed) return "sums of integers outgrew their moduli";
  return strata::detail::message("broke down at the minor of order ", left.info);
}

template <class Exec>
CholeskyReport report_of(TileMatrix<Exec> const& matrix, CholeskyOptions const& options) {
  CholeskyReport report;
  report.n = matrix.order();
  report.tile_size = matrix.tile_size();
  report.tiles = matrix.tiles();
  report.variant = options.variant;
  report.grid_rows = matrix.grid().rows;
  report.grid_cols = matrix.grid().cols;
  report.super_panel = matrix.super_panel();
  report.streams = detail::streams_of<Exec>(options);
  return report;
}

// The first alone without a ladder; of a matrix without rows none.
template <class Exec>
std::vector<detail::LadderStep> steps_of(TileMatrix<Exec> const& matrix,
                                         CholeskyOptions const& options) {
  if (matrix.order() == 0) return {};
  if (!options.ladder) return {{Rung::AsAsked, matrix.rule()}};
  return detail::map_ladder(matrix.norms(), matrix.rule());
}

}  // namespace

template <class Exec>
TileFactor<Exec>::State::State(DeviceTeam<Exec> const& given, TileMatrix<Exec>&& filled,
                               CholeskyOptions const& choices)
    : team(given),
      solving(given),
      options(choices),
      ladder(steps_of(filled, choices)),
      factored(filled.order() == 0),
      report(report_of(filled, choices)),
      matrix(std::move(filled)) {}

template <class Exec>
bool TileFactor<Exec>::State::climb() {
  Info found = Info::success();
  CholeskyReport before;
  bool const is_held = ladder.climb(
      [&](detail::LadderStep const&) {
        before = report;
        return attempt(ladder.number());
      },
      [&](MemoryError const& error) -> Info {
        if (report.attempts.empty()) throw;
        report = std::move(before);  // of the rung that holds
        auto const tell = [&] {
          throw MemoryError(strata::detail::message(
              "cholesky: ", reason(report.attempts.back()),
              " with tiles below fp64, and the next rung of the ladder can't be had: ",
              error.what()));
        };
        if (matrix.comm() && is_agreed(error)) matrix.comm()->agree(tell);
        tell();
        return found;
      },
      [&](Info const& now) {
        found = now;
        auto const outcome = now.ok()   ? Outcome::Held
                             : outgrown ? Outcome::Overflowed
                                        : Outcome::BrokeDown;
        if (outcome == Outcome::Overflowed) take_all_moduli();
        report.attempts.push_back(
            {{{report.rung, outcome}, now.order(), fill_seconds, report.factor_seconds},
             matrix.map().is_mixed() ? matrix.rule().accuracy : 0,
             report.histogram,
             matrix.rule().layers});
        return now.ok();
      });
  if (!is_held) info = found;
  return found.ok();
}

// The same step comes again.
template <class Exec>
void TileFactor<Exec>::State::take_all_moduli() {
  ladder.steps()[ladder.number()].rule.fewer_moduli = false;
  ladder.go_to(ladder.number());
}

// What can be refused is, before the tiles there are given up.
template <class Exec>
Info TileFactor<Exec>::State::attempt(std::size_t number) {
  detail::Loan<Exec> const loan(team);
  Communicator const* const comm = matrix.comm();
  detail::LadderStep const& step = ladder.steps()[number];
  bool const is_first = report.attempts.empty();
  PrecisionMap const map = is_first ? matrix.map() : precision_map(matrix.norms(), step.rule);
  std::size_t least = 0;
  if (!is_first && matrix.storage() == TileStorage::Devices)
    loan.machine().give_back_pools();  // for wider tiles, on all ranks before one asks what is free
  auto const sharing = detail::ranks_that_share<Exec>(team.devices(), comm);
  Devices const ready = together(comm, [&] {
    report.streams = detail::streams_of<Exec>(options);
    least = ooc::smallest_budget_bytes(report.n, report.tile_size, map, report.streams);
    matrix.require_memory(map, std::max<std::int64_t>(1, options.column_block));
    return detail::with_budgets(loan.machine(), report, least, sharing, matrix, map);
  });
  if (strata::runs_on_host<Exec> && options.streams == 0 && options.variant != Variant::Sync) {
    report.streams = detail::streams_on_cores<Exec>(ready, report.tiles, report.tile_size, least);
    least *= static_cast<std::size_t>(report.streams);
  }
  factored = false;
  fill_seconds = 0;
  if (!is_first) {
    matrix.round_anew(step.rule);
    fill_seconds = matrix.report().pin_seconds + matrix.report().generate_seconds;
  }
  report.rung = step.rung;
  report.histogram = map.histogram();
  report.moduli = map.moduli();
  report.moduli_histogram = moduli_taken(map, options.ladder);
  report.smallest_budget_bytes = least;
  report.column_block =
      detail::column_block_of(loan.machine().devices(), ready, matrix, options, report.streams);
  bool const is_repeated = std::ranges::any_of(report.attempts, [&](CholeskyAttempt const& before) {
    return before.rung == step.rung && before.outcome == Outcome::Overflowed;
  });
  std::string const folder = folder_of(options.checkpoint.folder, number, is_repeated);
  detail::CheckpointFolder const checkpoint(folder, nullptr, comm);
  report.first_column = detail::resume(matrix, checkpoint);
  report.devices.clear();
  RankOrder const order{report.tiles,       matrix.grid(),        static_cast<int>(ready.size()),
                        report.streams,     matrix.super_panel(), report.column_block,
                        report.first_column};
  matrix.overwrite();
  detail::Executor<Exec> executor(loan.machine(), ready, matrix, order, folder, options);
  Info const found = executor.run(report);
  outgrown = executor.outgrown();
  factored = found.ok();
  report.operand_excess = factored ? operand_excess(matrix) : 0;
  return found;
}

template <class Exec>
void TileFactor<Exec>::State::need_factor(char const* function) {
  STRATA_REQUIRE(ValueError, info.ok(), function, ": there is no factor; the minor of order ",
                 info.order(), " is not positive");
  if (factored) return;
  Info const found = attempt(ladder.number_held());
  STRATA_REQUIRE(ValueError, found.ok(), function,
                 ": there is no factor; factored again, the minor of order ", found.order(),
                 " is not positive: A has changed");
}

template <class Exec>
void TileFactor<Exec>::State::need_factor(char const* function, std::size_t rows) {
  STRATA_REQUIRE(ShapeError, static_cast<std::int64_t>(rows) == report.n, function, ": ", rows,
                 " rows, the matrix has ", report.n);
  need_factor(function);
}

// What throws leaves the caller's matrix to the caller.
template <class Exec>
TileFactor<Exec>::TileFactor(DeviceTeam<Exec> const& team, TileMatrix<Exec>&& matrix,
                             CholeskyOptions const& options)
    : state_("TileFactor") {
  Region const region("strata::ooc::cholesky");
  STRATA_REQUIRE(ValueError, options.lookahead >= 0, "cholesky: the lookahead is ",
                 options.lookahead, ", must not be negative");
  STRATA_REQUIRE(ValueError, options.column_block <= 1 || matrix.super_panel() == 0,
                 "cholesky: blocks of ", options.column_block,
                 " columns for a matrix in super-panels of ", matrix.super_panel(),
                 ", which go by these");
  STRATA_REQUIRE(ValueError, matrix.is_filled(),
                 "cholesky: the tiles are not the matrix's any more: a factorisation or an "
                 "exception has left others; fill it again");
  name_bad_alloc("cholesky", [&] {
    state_ = Pimpl<State>("TileFactor", std::make_unique<State>(team, std::move(matrix), options));
    try {
      (void)state_->climb();
    } catch (...) {
      matrix = std::move(state_->matrix);
      throw;
    }
  });
}

template <class Exec>
TileFactor<Exec> cholesky(DeviceTeam<Exec> const& team, TileMatrix<Exec>&& matrix,
                          CholeskyOptions const& options) {
  return TileFactor<Exec>(team, std::move(matrix), options);
}

template <class Exec>
TileFactor<Exec> cholesky(Devices const& devices, TileMatrix<Exec>&& matrix,
                          CholeskyOptions const& options) {
  STRATA_REQUIRE(ValueError, !devices.empty(), "cholesky: there is no device");
  auto team = name_bad_alloc("cholesky", [&] { return DeviceTeam<Exec>(devices); });
  auto factor = cholesky(team, std::move(matrix), options);
  team.release();
  return factor;
}

#define STRATA_INSTANTIATE(Exec)                                                        \
  template bool TileFactor<Exec>::State::climb();                                       \
  template void TileFactor<Exec>::State::need_factor(char const*);                      \
  template void TileFactor<Exec>::State::need_factor(char const*, std::size_t);         \
  template TileFactor<Exec>::TileFactor(DeviceTeam<Exec> const&, TileMatrix<Exec>&&,    \
                                        CholeskyOptions const&);                        \
  template TileFactor<Exec> cholesky<Exec>(DeviceTeam<Exec> const&, TileMatrix<Exec>&&, \
                                           CholeskyOptions const&);                     \
  template TileFactor<Exec> cholesky<Exec>(Devices const&, TileMatrix<Exec>&&,          \
                                           CholeskyOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
