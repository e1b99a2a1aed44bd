// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <perf/ooc/Strata_SimulateRanks.hpp>

#include <core/Strata_Errors.hpp>
#include <ooc/schedule/Strata_RankOrder.hpp>

#include <perf/ooc/Strata_RankMachine.hpp>

#include <algorithm>

namespace strata::study {

namespace {

// The bytes of each rank's tiles.
std::vector<std::uint64_t> own_bytes(RankOrder const& order, TilePlan const& plan) {
  std::vector<std::uint64_t> bytes(static_cast<std::size_t>(order.grid.ranks()), 0);
  for (std::int64_t j = 0; j < order.tiles; ++j)
    for (std::int64_t i = j; i < order.tiles; ++i)
      bytes[static_cast<std::size_t>(order.owner(i, j))] +=
          ooc::tile_bytes(plan.map().at(i, j), plan.rows(i), plan.rows(j));
  return bytes;
}

// Whether the devices hold their rank's tiles beside what others sent.
bool fits(RankOrder const& order, TilePlan const& plan, std::vector<std::uint64_t> const& own,
          std::size_t budget) {
  if (budget == 0) return true;
  auto const room = static_cast<double>(room_of(order)) * static_cast<double>(plan.block_bytes());
  double const most = own.empty() ? 0 : static_cast<double>(*std::ranges::max_element(own));
  if (room + most / order.devices <= static_cast<double>(budget)) return true;
  double const least =
      room + static_cast<double>(plan.block_bytes()) * (2 * order.streams + plan.items());
  STRATA_REQUIRE(MemoryError, order.super_panel > 0, "simulate: a budget of ", budget,
                 " bytes; whole tasks on several ranks need ", room, " for tiles of others and ",
                 most / order.devices, " for the rank's own on each device");
  STRATA_REQUIRE(MemoryError, least <= static_cast<double>(budget), "simulate: a budget of ",
                 budget, " bytes, at least ", least, " are needed for two super-panels");
  return false;
}

// Diagonal tile to diagonal tile.
double chain(RankOrder const& order, TilePlan const& plan, Rates const& rates) {
  TileCosts const costs(plan, rates);
  double seconds = 0;
  for (std::int64_t k = 0; k < order.tiles; ++k) {
    seconds += costs.finish(k, k);
    if (k + 1 == order.tiles) break;
    int const from = order.owner(k, k), below = order.owner(k + 1, k);
    seconds += costs.finish(k + 1, k) + costs.product(k + 1, k + 1, k);
    if (from != below) seconds += costs.message(k, k);
    if (below != order.owner(k + 1, k + 1)) seconds += costs.message(k + 1, k);
  }
  return seconds;
}

}  // namespace

RankSimulation simulate(RankOrder const& order, std::int64_t n, std::int64_t tile_size,
                        PrecisionMap const& map, Rates const& rates, std::size_t budget_bytes) {
  rates.check();
  order.check();
  STRATA_REQUIRE(ValueError, order.first_column == 0, "simulate: an order from column ",
                 order.first_column, ", must be of the whole matrix");
  STRATA_REQUIRE(ShapeError, order.tiles == map.tiles(), "simulate: an order of ", order.tiles,
                 " tile rows and a map of ", map.tiles());
  TilePlan const plan(n, tile_size, map);
  auto const own = own_bytes(order, plan);
  bool const is_resident = fits(order, plan, own, budget_bytes);
  RankSimulation result = RankMachine(order, plan, rates, is_resident).run();
  result.is_resident = is_resident;
  result.chain_seconds = chain(order, plan, rates);
  std::uint64_t most = 0;
  for (std::size_t rank = 0; rank < own.size(); ++rank) {
    SimulatedRank& part = result.ranks[rank];
    part.tile_bytes = own[rank];
    most = std::max({most, part.bytes_sent, part.bytes_received});
  }
  result.network_seconds = static_cast<double>(most) / rates.network_bytes_per_s;
  double const order_of_matrix = static_cast<double>(n);  // whose flops may exceed 64 bits
  if (result.seconds > 0)
    result.flop_per_s = order_of_matrix * order_of_matrix * order_of_matrix / 3 / result.seconds;
  return result;
}

}  // namespace strata::study
