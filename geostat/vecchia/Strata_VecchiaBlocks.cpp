// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Blocks by an approximation's options.
#include <core/Strata_Errors.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <geostat/detail/Strata_MaternKernel.hpp>
#include <geostat/neighbours/Strata_MaximinOrder.hpp>
#include <geostat/vecchia/Strata_Vecchia.hpp>

#include <algorithm>

namespace strata::geostat {

namespace {

constexpr std::int64_t most_neighbours = 1000;

}  // namespace

template <class Exec>
VecchiaBlocks vecchia_blocks(Exec const& exec, Locations const& locations,
                             VecchiaOptions const& options) {
  Stopwatch watch;
  auto const order = maximin_order(exec, locations);
  double const seconds = watch.lap();
  auto result = vecchia_blocks(exec, locations, order, options);
  result.report.order_seconds = seconds;
  return result;
}

template <class Exec>
VecchiaBlocks vecchia_blocks(Exec const& exec, Locations const& locations,
                             std::span<std::int64_t const> order, VecchiaOptions const& options) {
  STRATA_REQUIRE(ValueError, options.neighbours >= 0 && options.neighbours <= most_neighbours,
                 "vecchia_blocks: ", options.neighbours, " neighbours, must be 0 to ",
                 most_neighbours);
  VecchiaBlocks result;
  auto& report = result.report;
  Stopwatch watch;
  auto const neighbours = ordered_neighbours(exec, locations, order, options.neighbours);
  report.neighbour_seconds = watch.lap();
  std::int64_t const most = std::max<std::int64_t>(2 * options.neighbours + 2, 16);
  result.blocks = options.grouped ? grouped_blocks(exec, locations, neighbours, order, most)
                                  : blocks_of_neighbours(exec, locations, neighbours, order);
  report.block_seconds = watch.lap();
  report.neighbours = options.neighbours;
  report.blocks = result.blocks.size();
  report.largest = result.blocks.largest();
  for (auto const position : result.blocks.responses)
    report.conditioned_on +=
        static_cast<double>(position) / static_cast<double>(result.blocks.responses.size());
  return result;
}

template <class Exec>
VecchiaBlocks vecchia_blocks(Exec const& exec, Locations const& locations,
                             Covariance const& covariance, VecchiaOptions const& options) {
  return vecchia_blocks(exec, detail::Directions(covariance)(locations), options);
}

#define STRATA_INSTANTIATE(Exec)                                                                \
  template VecchiaBlocks vecchia_blocks<Exec>(Exec const&, Locations const&,                    \
                                              VecchiaOptions const&);                           \
  template VecchiaBlocks vecchia_blocks<Exec>(                                                  \
      Exec const&, Locations const&, std::span<std::int64_t const>, VecchiaOptions const&);     \
  template VecchiaBlocks vecchia_blocks<Exec>(Exec const&, Locations const&, Covariance const&, \
                                              VecchiaOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
