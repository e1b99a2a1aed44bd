// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Factorisations by many ranks, on paper.
#include "Strata_OocStudy.hpp"
#include <core/Strata_Errors.hpp>

#include <perf/ooc/Strata_SimulateRanks.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace strata::study {

using Json = nlohmann::json;

namespace {

// As near to a square as it goes, with more rows than columns; a column where there are no
// super-panels.
ooc::RankGrid grid_of(int ranks, std::int64_t super_panel) {
  int cols = super_panel > 0 ? static_cast<int>(std::sqrt(ranks)) : 1;
  while (ranks % cols != 0) --cols;
  return {ranks / cols, cols};
}

template <class Value>
std::vector<Value> of_ranks(RankSimulation const& found, Value SimulatedRank::* member) {
  std::vector<Value> values;
  for (auto const& rank : found.ranks) values.push_back(rank.*member);
  return values;
}

template <class Value>
double most(std::vector<Value> const& values) {
  return static_cast<double>(*std::ranges::max_element(values));
}

}  // namespace

std::vector<RankCase> rank_cases(Request const& r) {
  std::vector<RankCase> cases;
  bool const is_simulated = !r.rates.empty();
  auto const super_panels =
      r.super_panel.empty() ? std::vector<std::int64_t>{is_simulated ? 0 : -1} : r.super_panel;
  for (auto const super_panel : super_panels) {
    std::vector<ooc::RankGrid> grids;
    if (!is_simulated && r.grid.empty()) grids.push_back({0, 0});
    for (int const ranks : r.ranks) {
      STRATA_REQUIRE(ValueError, ranks >= 1, "--ranks ", ranks, " must be at least 1");
      grids.push_back(grid_of(ranks, super_panel));
    }
    for (std::string const& text : r.grid) grids.push_back(ooc::grid_from(text));
    for (ooc::RankGrid const grid : grids) cases.push_back({grid, super_panel});
  }
  return cases;
}

Json Runner::simulate(Case const& one, RankCase const& many, ooc::Rates const& rates) const {
  Json row = row_of(one);
  std::int64_t const tiles = (one.n + one.tile - 1) / one.tile;
  ooc::RankOrder order{tiles, many.grid, one.devices, request_.streams};
  if (order.streams == 0) order.streams = many.super_panel > 0 ? 2 : 4;
  order.super_panel = many.super_panel;
  order.column_block = std::max<std::int64_t>(1, one.column_block);
  ooc::PrecisionMap const map(tiles);
  row.update({{"simulated", true},
              {"ranks", many.grid.ranks()},
              {"grid", {many.grid.rows, many.grid.cols}},
              {"super_panel", many.super_panel},
              {"streams", order.streams},
              {"network_bytes_per_s", rates.network_bytes_per_s},
              {"message_seconds", rates.message_seconds},
              {"histogram", map.histogram()}});
  try {
    auto const found = study::simulate(order, one.n, one.tile, map, rates,
                                       static_cast<std::size_t>(one.budget_bytes));
    double const best = many.grid.ranks() * one.devices * rates.product_flop_per_s[0];
    row.update({{"info", 0},
                {"factor_seconds", found.seconds},
                {"flop_per_s", found.flop_per_s},
                {"of_products", found.flop_per_s / best},
                {"is_resident", found.is_resident},
                {"work_seconds", found.work_seconds},
                {"network_seconds", found.network_seconds},
                {"chain_seconds", found.chain_seconds},
                {"bytes_sent", of_ranks(found, &SimulatedRank::bytes_sent)},
                {"bytes_received", of_ranks(found, &SimulatedRank::bytes_received)},
                {"bytes_in", of_ranks(found, &SimulatedRank::bytes_in)},
                {"bytes_out", of_ranks(found, &SimulatedRank::bytes_out)},
                {"bytes_peer", of_ranks(found, &SimulatedRank::bytes_peer)},
                {"tile_bytes", of_ranks(found, &SimulatedRank::tile_bytes)},
                {"copy_bytes", of_ranks(found, &SimulatedRank::copy_bytes)}});
  } catch (MemoryError const& error) {
    row["error"] = error.what();
  }
  return row;
}

void print_rank_heads() {
  std::printf(
      "\n| n | tile | ranks | super-panel | devices | streams | Gbit/s | seconds | Tflop/s | of "
      "products | "
      "work s | network s | chain s | GB sent | GB received | GB of tiles | GB of copies |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
}

void print_rank_row(Json const& row) {
  auto const grid = row["grid"].get<std::vector<int>>();
  std::printf("| %ld | %ld | %d x %d | %ld | %d | %d | %.3g |", row["n"].get<long>(),
              row["tile_size"].get<long>(), grid[0], grid[1], row["super_panel"].get<long>(),
              row["devices"].get<int>(), row["streams"].get<int>(),
              row["network_bytes_per_s"].get<double>() * 8e-9);
  if (row.contains("error")) {
    std::printf(" refused: %s |\n", row["error"].get<std::string>().c_str());
    return;
  }
  auto const gigabytes = [&](char const* key) {
    return most(row[key].get<std::vector<std::uint64_t>>()) * 1e-9;
  };
  std::printf(" %.3f | %.2f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n",
              row["factor_seconds"].get<double>(), row["flop_per_s"].get<double>() * 1e-12,
              row["of_products"].get<double>(), row["work_seconds"].get<double>(),
              row["network_seconds"].get<double>(), row["chain_seconds"].get<double>(),
              gigabytes("bytes_sent"), gigabytes("bytes_received"), gigabytes("tile_bytes"),
              gigabytes("copy_bytes"));
  std::fflush(stdout);
}

}  // namespace strata::study
