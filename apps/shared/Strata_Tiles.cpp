// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Tiles.hpp>

#include <apps/shared/Strata_Exit.hpp>
#include <apps/shared/Strata_Options.hpp>
#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Report.hpp>
#include <apps/shared/Strata_Terminal.hpp>
#include <comm/Strata_Communicator.hpp>
#include <ooc/schedule/Strata_Schedule.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <memory>
#include <numeric>
#include <sstream>

namespace strata::apps {

namespace {

std::vector<Precision> parse_precisions(std::string const& text) {
  std::vector<Precision> list;
  for (std::size_t begin = 0; begin <= text.size();) {
    auto const end = std::min(text.find(',', begin), text.size());
    auto const name = text.substr(begin, end - begin);
    list.push_back(name == "fp8" ? Precision::fp8_e4m3 : from_name<Precision>(name));
    begin = end + 1;
  }
  ooc::PrecisionRule{.accuracy = 0.5, .precisions = list}.check();
  return list;
}

constexpr std::array<char const*, 4> names = {"fp64", "fp32", "fp16", "fp8_e4m3"};

std::string in_words(std::array<std::int64_t, 4> const& count) {
  auto const all =
      static_cast<double>(std::accumulate(count.begin(), count.end(), std::int64_t{0}));
  std::vector<std::string> list;
  for (std::size_t k = 0; k < names.size(); ++k)
    if (count[k] > 0)
      list.push_back(words(count[k], " in ", names[k],
                           text(" (%.1f %%)", 100 * static_cast<double>(count[k]) / all)));
  return joined(list);
}

std::string layers_name(std::vector<Precision> const& layers) {
  return dense::LayerList(layers).name();
}

std::string rule_of(ooc::CholeskyAttempt const& attempt) {
  if (!attempt.layers.empty()) return words("layers ", layers_name(attempt.layers), ": ");
  return text("epsilon %.1e: ", attempt.accuracy);
}

}  // namespace

void add_tile_options(OptionGroup& group, TileOptions& options) {
  group.parsed(
      "--precisions", options.precisions, "LIST", parse_precisions,
      "precisions of tiles, used with --epsilon [fp64,fp32,fp16,fp8]; without --epsilon one: fp64, "
      "or "
      "fp64_int8, int8x6 to int8x16 in its place, which multiplies fp64 tiles as integers; "
      "fp16_split for fp32 multiplies fp32 tiles on matrix units");
  group.add("--epsilon", options.epsilon, "E",
            "paper B's accuracy: tiles are rounded where that changes the matrix by less");
  group.add("--devices", options.devices, "N", "GPUs, or workers on a host [1]")
      ->check(CLI::Range(1, 64).description(""));
  group.bytes("--device-memory", options.device_memory,
              "memory of each for tiles, as 40GB; the matrix may be larger [what is free]");
  group.count("--tile", options.tile, "N", "order of the tiles [the library's choice]");
  group.parsed("--grid", options.grid, "PxQ", ooc::grid_from,
               "grid of mpirun's ranks, in P rows and Q columns [by their number]");
  group.named(
      "--transport", options.transport,
      "how tiles travel between ranks: MPI with a device's memory, MPI through host memory, NCCL "
      "or RCCL");
}

void check(TileOptions const& options, Communicator const* comm) {
  int const ranks = comm ? comm->size() : 1;
  auto const [rows, cols] = options.grid;
  require(rows == 0 || std::int64_t{rows} * cols == ranks, "--grid: ", rows, "x", cols, " is of ",
          std::int64_t{rows} * cols, " ranks, there are ", ranks);
  require(options.epsilon >= 0 && options.epsilon < 1, "--epsilon: ", options.epsilon,
          " must be in [0, 1)");
  require(options.precisions.size() < 2 || options.epsilon > 0,
          "--precisions with more than one needs --epsilon");
  if (!options.layers) return;
  require(options.epsilon == 0 && options.precisions.empty(),
          "--layers and --epsilon, with its --precisions, are two ways to choose the tiles' "
          "precisions; leave one of them out");
  as_usage([&] { precision_rule(options).check(); });
}

// In fp64, which takes the least.
void require_device_memory(TileOptions const& options, std::int64_t n, std::int64_t tile) {
  if (options.device_memory == 0 || n == 0) return;
  std::size_t const least =
      ooc::smallest_budget_bytes(n, tile, ooc::PrecisionMap((n + tile - 1) / tile), 1);
  require(options.device_memory >= least, "--device-memory: a device has a budget of ",
          options.device_memory, " bytes; a stream with tiles of ", tile, " needs at least ", least,
          "; take a smaller --tile");
}

ooc::PrecisionRule precision_rule(TileOptions const& options) {
  ooc::PrecisionRule rule;
  rule.accuracy = options.epsilon;
  if (!options.precisions.empty()) rule.precisions = options.precisions;
  if (options.layers) rule.layers.assign(options.layers->begin(), options.layers->end());
  return rule;
}

ooc::Devices tile_devices(TileOptions const& options, Communicator const* comm) {
  auto devices = ooc::make_devices(options.devices, options.device_memory);
  if (!comm) return devices;
  auto const hosts = comm->hosts();
  auto const own = static_cast<std::size_t>(comm->rank());
  auto const before = std::count(hosts.begin(), hosts.begin() + comm->rank(), hosts[own]);
  int const there = std::max(1, Kokkos::num_devices());
  for (ooc::Device& device : devices)
    device.id = (static_cast<int>(before) * options.devices + device.id) % there;
  return devices;
}

RankBytes tile_bytes_of_rank(double all, std::int64_t n, std::int64_t tile,
                             TileOptions const& options, Communicator const* comm) {
  if (!comm) return {all, 0};
  auto const grid = options.grid.rows > 0 ? options.grid : ooc::automatic_grid(comm->size());
  double const bytes = 8 * static_cast<double>(tile) * static_cast<double>(tile);
  auto const tiles = static_cast<double>((n + tile - 1) / tile);
  auto const width = static_cast<double>(ooc::automatic_super_panel(grid));
  double const around = 1.0 / grid.rows + 1.0 / grid.cols;
  double const uneven = grid.cols == 1 ? 1 : around;  // rows of tiles
  // No less than `ooc::room_of`, which looks at each tile.
  double const room = grid.ranks() == 1 ? 0
                      : width == 0      ? 2 * tiles
                                        : 2 * width * (tiles * around + 2);
  return {all / comm->size() + uneven * (tiles + 1) * bytes,
          std::min(room, tiles * (tiles + 1) / 2) * bytes};
}

// A tile of column j takes j updates, and a solve that counts as one.
std::function<void(ooc::Task const&)> count_tasks(std::int64_t rows, int ranks,
                                                  Progress& progress) {
  double const all = static_cast<double>(rows * (rows + 1) * (rows + 2) / 6) / ranks;
  auto const updates = std::make_shared<std::atomic<std::int64_t>>(0);
  return [=, &progress](ooc::Task const& task) {
    auto const done = static_cast<double>(updates->fetch_add(task.col + 1));
    if (done <= all) progress.done(done / all);
  };
}

std::function<void(int, double)> warn_of_silence(Communicator const* comm, Progress& progress) {
  int const own = comm ? comm->rank() : 0;
  return [own, &progress](int rank, double seconds) {
    progress.aside([&] {
      std::cerr << warning_line(words("rank ", own, " has waited ", text("%.0f", seconds),
                                      " s for a tile of rank ", rank));
    });
  };
}

std::vector<std::string> lines_of(std::string const& map) {
  std::vector<std::string> list;
  std::istringstream lines(map);
  for (std::string line; std::getline(lines, line);) list.push_back(line);
  return list;
}

void show_tiles(Report& report, Tiles const& tiles) {
  auto const tries = tiles.attempts.size();
  report.only_screen("tiles", words(in_words(tiles.count), ", order ", tiles.size));
  if (tries < 2) return;
  report.only_screen("rung of the ladder",
                     words(name_of(tiles.rung), ", after ", tries, " attempts"));
  for (auto const& attempt : tiles.attempts)
    report.only_screen(words("  ", name_of(attempt.rung)), rule_of(attempt) + outcome_of(attempt));
}

std::vector<std::string> allowed_precisions(ooc::PrecisionRule const& rule) {
  std::vector<std::string> names;
  auto const is_layer = [&](Precision precision) {
    return std::ranges::find(rule.layers, precision) != rule.layers.end();
  };
  std::vector<Precision> all{Precision::fp64};
  for (int moduli = most_moduli; moduli >= least_moduli; --moduli)
    all.push_back(integer_precision(moduli));
  all.insert(all.end(),
             {Precision::fp32, Precision::fp16_split, Precision::fp16, Precision::fp8_e4m3});
  bool const by_integers = moduli_of(rule.precisions.front()) > 0 && rule.layers.empty();
  for (auto const precision : all) {
    if (by_integers && precision == rule.precisions.front()) {
      names.emplace_back(traits(precision).name);
      continue;
    }
    bool const may_be = rule.accuracy > 0
                            ? std::ranges::find(rule.precisions, precision) != rule.precisions.end()
                            : is_layer(precision);
    if (may_be || precision == Precision::fp64) names.emplace_back(traits(precision).name);
  }
  return names;
}

}  // namespace strata::apps
