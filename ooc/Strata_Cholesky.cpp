// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/Strata_Cholesky.hpp>

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <ooc/Strata_Simulate.hpp>
#include <ooc/detail/Strata_Executor.hpp>
#include <ooc/detail/Strata_MapLadder.hpp>
#include <ooc/detail/Strata_TileKernels.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace strata::ooc {

std::string_view name_of(Variant variant) {
  switch (variant) {
    case Variant::Sync:
      return "sync";
    case Variant::Async:
      return "async";
    case Variant::V1:
      return "v1";
    case Variant::V2:
      return "v2";
    case Variant::V3:
      return "v3";
    case Variant::V4:
      break;
  }
  return "v4";
}

Variant variant_from_name(std::string_view name) {
  std::string valid;
  for (Variant const variant : all_variants) {
    if (name == name_of(variant)) return variant;
    valid.append(valid.empty() ? "" : ", ").append(name_of(variant));
  }
  throw ValueError(strata::detail::message("no variant '", name, "'; there are ", valid));
}

std::string_view name_of(Rung rung) {
  switch (rung) {
    case Rung::AsAsked:
      return "as asked";
    case Rung::Stricter:
      return "stricter accuracy";
    case Rung::Fp64:
      break;
  }
  return "fp64";
}

Devices make_devices(int count, std::size_t budget_bytes) {
  STRATA_REQUIRE(ValueError, count >= 1, "devices: ", count, ", must be at least 1");
  Devices devices;
  for (int id = 0; id < count; ++id) devices.push_back({id, budget_bytes});
  return devices;
}

template <class Exec>
std::vector<int> numa_nodes(Devices const& devices) {
  std::vector<int> nodes;
  for (Device const& device : devices) nodes.push_back(detail::Lane<Exec>::node_of(device.id));
  return nodes;
}

namespace {

template <auto member>
std::uint64_t sum_of(std::vector<DeviceReport> const& devices) {
  std::uint64_t sum = 0;
  for (DeviceReport const& device : devices) sum += device.*member;
  return sum;
}

}  // namespace

std::uint64_t CholeskyReport::bytes_in() const { return sum_of<&DeviceReport::bytes_in>(devices); }
std::uint64_t CholeskyReport::bytes_out() const {
  return sum_of<&DeviceReport::bytes_out>(devices);
}
std::uint64_t CholeskyReport::bytes_peer() const {
  return sum_of<&DeviceReport::bytes_peer>(devices);
}

std::size_t smallest_budget_bytes(std::int64_t n, std::int64_t tile_size, PrecisionMap const& map,
                                  int streams) {
  STRATA_REQUIRE(ValueError, streams >= 1, "cholesky: ", streams, " streams, must be at least 1");
  detail::TilePlan const plan(n, tile_size, map);
  return plan.block_bytes() * static_cast<std::size_t>(plan.items()) *
         static_cast<std::size_t>(streams);
}

namespace {

template <class Exec>
int streams_of(CholeskyOptions const& options) {
  STRATA_REQUIRE(ValueError, options.streams >= 0 && options.streams <= 64,
                 "cholesky: ", options.streams, " streams, must be at most 64, or 0 for automatic");
  if (options.variant == Variant::Sync) return 1;
  if (options.streams > 0) return options.streams;
  return strata::runs_on_host<Exec> ? 1 : 4;
}

// The devices with the bytes that they may take, each at least the smallest budget: where the user
// left it open, 9/10 of what is free, in equal parts for those that share a memory.
template <class Exec>
Devices with_budgets(Devices devices, CholeskyReport const& report) {
  using Lane = detail::Lane<Exec>;
  std::map<int, std::size_t> open;  // devices of each memory
  std::map<int, std::size_t> free;
  for (Device const& device : devices)
    if (device.budget_bytes == 0 && ++open[Lane::memory_of(device.id)] == 1)
      free[Lane::memory_of(device.id)] = Lane::free_bytes(device.id);
  for (Device& device : devices) {
    int const memory = Lane::memory_of(device.id);
    bool const asked = device.budget_bytes > 0;
    if (!asked) device.budget_bytes = free[memory] / 10 * 9 / open[memory];
    std::string const source = asked ? ""
                                     : strata::detail::message(" (its part of the ", free[memory],
                                                               " bytes that are free)");
    STRATA_REQUIRE(MemoryError, device.budget_bytes >= report.smallest_budget_bytes,
                   "cholesky: device ", device.id, " has a budget of ", device.budget_bytes,
                   " bytes", source, "; ", report.streams, " streams with tiles of ",
                   report.tile_size, " need at least ", report.smallest_budget_bytes);
  }
  return devices;
}

// The block of columns for which V4 moves least, the smaller of two that move nearly the same.
template <class Exec>
std::int64_t column_block_of(Devices const& devices, TileMatrix<Exec> const& matrix,
                             CholeskyOptions const& options, int streams) {
  STRATA_REQUIRE(ValueError, options.column_block >= 0, "cholesky: blocks of ",
                 options.column_block, " columns, must be at least 1, or 0 for automatic");
  if (options.column_block > 0 || options.variant != Variant::V4)
    return std::max<std::int64_t>(1, options.column_block);
  SimulationOptions asked;
  asked.budget_bytes = ~std::size_t(0);
  for (Device const& device : devices)
    asked.budget_bytes = std::min(asked.budget_bytes, device.budget_bytes);
  if (asked.budget_bytes >= matrix.report().bytes) return 1;  // each tile is read once anyway
  asked.lookahead = options.lookahead;
  std::int64_t best = 1;
  std::uint64_t least = ~std::uint64_t(0);
  for (std::int64_t const block : {1, 2, 4, 8}) {
    auto const schedule =
        cholesky_schedule(matrix.tiles(), static_cast<int>(devices.size()), streams, block);
    auto const found = simulate(schedule, matrix.order(), matrix.tile_size(), matrix.map(), asked);
    std::uint64_t const bytes = found.bytes_in + found.bytes_peer;
    if (bytes >= least - least / 50) continue;
    best = block;
    least = bytes;
  }
  return best;
}

// Columns that a checkpoint holds, read into the matrix.
template <class Exec>
std::int64_t resume(TileMatrix<Exec>& matrix, std::string const& folder) {
  if (folder.empty()) return 0;
  std::int64_t column = 0;
  for (; column < matrix.tiles(); ++column) {
    auto const header = detail::header_of(matrix, column);
    if (!detail::find_column(folder, header)) break;
    matrix.overwrite();
    detail::read_column(folder, header, detail::column_tiles_of(matrix, column));
  }
  return column;
}

// The operand rule with the norms of L that were measured.
template <class Exec>
double operand_excess(TileMatrix<Exec> const& matrix) {
  std::int64_t const tiles = matrix.tiles();
  if (!matrix.map().is_mixed() || matrix.rule().accuracy == 0) return 0;
  double const allowed =
      matrix.rule().accuracy * matrix.norms().frobenius() / static_cast<double>(tiles);
  double worst = 0;
  for (std::int64_t k = 0; k < tiles; ++k) {
    std::vector<double> norms;
    for (std::int64_t i = k + 1; i < tiles; ++i) norms.push_back(std::sqrt(matrix.square(i, k)));
    std::vector<double> sorted(norms);
    std::ranges::sort(sorted, std::greater());
    for (std::size_t t = 0; t < norms.size() && norms.size() > 1; ++t) {
      double const other = norms[t] == sorted[0] ? sorted[1] : sorted[0];
      Precision const precision = matrix.map().at(k + 1 + static_cast<std::int64_t>(t), k);
      if (precision == Precision::fp64) continue;
      worst = std::max(worst, norms[t] * other * traits(precision).unit_roundoff / allowed);
    }
  }
  return worst;
}

// Factor the matrix as it is; what the report says of this attempt.
template <class Exec>
Info attempt(Devices const& asked, TileMatrix<Exec>& matrix, CholeskyOptions const& options,
             std::string const& folder, CholeskyReport& report) {
  report.histogram = matrix.map().histogram();
  report.smallest_budget_bytes =
      smallest_budget_bytes(report.n, report.tile_size, matrix.map(), report.streams);
  Devices const devices = with_budgets<Exec>(asked, report);
  report.column_block = column_block_of(devices, matrix, options, report.streams);
  detail::CheckpointFolder const checkpoint(folder);
  report.first_column = resume(matrix, folder);
  report.devices.clear();
  Schedule const schedule =
      cholesky_schedule(report.tiles, static_cast<int>(devices.size()), report.streams,
                        report.column_block, report.first_column);
  matrix.overwrite();
  Info const info = detail::Executor<Exec>(devices, matrix, schedule, folder, options).run(report);
  report.operand_excess = info.ok() ? operand_excess(matrix) : 0;
  report.attempts.push_back({.rung = report.rung,
                             .accuracy = matrix.map().is_mixed() ? matrix.rule().accuracy : 0,
                             .histogram = report.histogram,
                             .info = info.order(),
                             .factor_seconds = report.factor_seconds});
  return info;
}

// The matrix on its next rung; the seconds that it took.
template <class Exec>
double climb(TileMatrix<Exec>& matrix, PrecisionRule const& rule, Info broken) {
  try {
    matrix.round_anew(rule);
  } catch (MemoryError const& error) {
    throw MemoryError(strata::detail::message(
        "cholesky: broke down at the minor of order ", broken.order(),
        " with tiles below fp64, and the next rung of the ladder can't be had: ", error.what()));
  }
  return matrix.report().pin_seconds + matrix.report().generate_seconds;
}

// Rungs that the first would be mistaken for keep their columns apart.
std::string folder_of(std::string const& folder, std::size_t rung) {
  return folder.empty() || rung == 0 ? folder : folder + "/rung_" + std::to_string(rung);
}

// Rung after rung, from the matrix as it is.
template <class Exec>
TileFactor<Exec> climb_until_it_holds(Devices const& devices, TileMatrix<Exec>& matrix,
                                      CholeskyOptions const& options) {
  CholeskyReport report;
  report.n = matrix.order();
  report.tile_size = matrix.tile_size();
  report.tiles = matrix.tiles();
  report.variant = options.variant;
  report.streams = streams_of<Exec>(options);
  if (report.n == 0) return {std::move(matrix), Info::success(), std::move(report)};
  std::string const& folder = options.checkpoint.folder;
  Info info = attempt(devices, matrix, options, folder, report);
  if (info.ok() || !options.ladder) return {std::move(matrix), info, std::move(report)};
  auto const steps = detail::map_ladder(matrix.norms(), matrix.rule());
  for (std::size_t k = 0; k < steps.size() && !info.ok(); ++k) {
    double const seconds = climb(matrix, steps[k].rule, info);
    report.rung = steps[k].rung;
    info = attempt(devices, matrix, options, folder_of(folder, k + 1), report);
    report.attempts.back().fill_seconds = seconds;
  }
  return {std::move(matrix), info, std::move(report)};
}

}  // namespace

template <class Exec>
TileFactor<Exec> cholesky(Devices const& devices, TileMatrix<Exec>&& matrix,
                          CholeskyOptions const& options) {
  Region const region("strata::ooc::cholesky");
  STRATA_REQUIRE(ValueError, !devices.empty(), "cholesky: there is no device");
  STRATA_REQUIRE(ValueError, options.lookahead >= 0, "cholesky: the lookahead is ",
                 options.lookahead, ", must not be negative");
  STRATA_REQUIRE(ValueError, matrix.is_filled(),
                 "cholesky: the tiles are not the matrix's any more: a factorisation or an "
                 "exception has left others; fill it again");
  return name_bad_alloc("cholesky", [&] { return climb_until_it_holds(devices, matrix, options); });
}

#define STRATA_INSTANTIATE(Exec)                                               \
  template std::vector<int> numa_nodes<Exec>(Devices const&);                  \
  template TileFactor<Exec> cholesky<Exec>(Devices const&, TileMatrix<Exec>&&, \
                                           CholeskyOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
