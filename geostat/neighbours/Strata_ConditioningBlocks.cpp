// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/neighbours/Strata_ConditioningBlocks.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <geostat/detail/Strata_MaternKernel.hpp>
#include <geostat/neighbours/detail/Strata_BlockWindows.hpp>
#include <geostat/neighbours/detail/Strata_CopyBack.hpp>
#include <geostat/neighbours/detail/Strata_PlacesInSpace.hpp>

#include <algorithm>
#include <array>
#include <bit>

namespace strata::geostat {

namespace {

using Ranks = std::vector<std::int32_t>;

// Ranks by the number of their binary digits, of those with as many along a curve.
Ranks by_bands(Ranks const& rank, Locations const& locations) {
  auto const along = detail::with_dimension(locations, [&]<int D>(std::integral_constant<int, D>) {
    return detail::curve_through(detail::places_in_space<D>(locations));
  });
  auto const band_of = [](std::int32_t r) {
    return static_cast<std::size_t>(std::bit_width(static_cast<std::uint32_t>(r) + 1));
  };
  std::array<std::size_t, 34> begin{};
  for (auto const r : rank) ++begin[band_of(r) + 1];
  for (std::size_t k = 1; k < begin.size(); ++k) begin[k] += begin[k - 1];
  Ranks sequence(rank.size());
  for (auto const i : along) {
    auto const r = rank[static_cast<std::size_t>(i)];
    sequence[begin[band_of(r)]++] = r;
  }
  return sequence;
}

Ranks inverse_of(Ranks const& permutation) {
  Ranks result(permutation.size());
  for (std::size_t k = 0; k < permutation.size(); ++k)
    result[static_cast<std::size_t>(permutation[k])] = static_cast<std::int32_t>(k);
  return result;
}

// Appends the blocks of some windows.
template <class Exec>
void append(Exec const& exec, char const* function, detail::BlockWindows<Exec> windows,
            std::int64_t count, ConditioningBlocks& blocks) {
  using Windows = detail::BlockWindows<Exec>;
  Kokkos::parallel_for("strata::geostat::vecchia::join",
                       Kokkos::RangePolicy<Exec, typename Windows::Join>(exec, 0, count), windows);
  std::int64_t wrong = 0, packed = 0;
  Kokkos::parallel_reduce("strata::geostat::vecchia::check",
                          Kokkos::RangePolicy<Exec, typename Windows::Check>(exec, 0, count),
                          windows, wrong);
  STRATA_REQUIRE(ValueError, wrong == 0, function, ": ", wrong,
                 " neighbours are not before their location in the order");
  Kokkos::parallel_scan("strata::geostat::vecchia::count",
                        Kokkos::RangePolicy<Exec, typename Windows::Count>(exec, 0, count), windows,
                        packed);
  std::int64_t const size = packed >> Windows::digits,
                     entries = packed & ((std::int64_t{1} << Windows::digits) - 1);
  std::int64_t responses = 0;
  for (std::int64_t w = 0; w < count; ++w) responses += windows.count_of(w);
  windows.block_offsets =
      allocate<typename Windows::Offsets>(exec, "strata::geostat::vecchia::block_offsets", size);
  windows.response_offsets =
      allocate<typename Windows::Offsets>(exec, "strata::geostat::vecchia::response_offsets", size);
  windows.block_members =
      allocate<typename Windows::Numbers>(exec, "strata::geostat::vecchia::block_members", entries);
  windows.responses =
      allocate<typename Windows::Numbers>(exec, "strata::geostat::vecchia::responses", responses);
  Kokkos::parallel_for("strata::geostat::vecchia::write",
                       Kokkos::RangePolicy<Exec, typename Windows::Write>(exec, 0, count), windows);
  auto const before = blocks.offsets.size();
  std::int64_t const entries_before = blocks.offsets.back(),
                     responses_before = blocks.response_offsets.back();
  detail::append_back(exec, windows.block_offsets, blocks.offsets);
  detail::append_back(exec, windows.response_offsets, blocks.response_offsets);
  detail::append_back(exec, windows.block_members, blocks.members);
  detail::append_back(exec, windows.responses, blocks.responses);
  for (std::size_t k = before; k < blocks.offsets.size(); ++k) {
    blocks.offsets[k] += entries_before;
    blocks.response_offsets[k] += responses_before;
  }
}

// No block that is joined has more than `most` members; 0: none is joined.
template <class Exec>
ConditioningBlocks blocks_in_windows(Exec const& exec, char const* function,
                                     Locations const& locations, NeighbourLists const& neighbours,
                                     std::span<std::int64_t const> order, std::int64_t most) {
  using Windows = detail::BlockWindows<Exec>;
  using Space = typename Exec::memory_space;
  constexpr std::int64_t most_bytes = std::int64_t{1} << 29, per_thread = 64;
  auto const n = static_cast<std::int64_t>(order.size());
  auto const rank = detail::ranks_of(function, order, locations.size());
  STRATA_REQUIRE(ShapeError, neighbours.offsets.size() == order.size() + 1, function, ": ",
                 neighbours.offsets.size() - 1, " lists of neighbours for ", n, " locations");
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < n; ++i)
    longest = std::max(longest, static_cast<std::int64_t>(neighbours.of(i).size()));
  Ranks const sequence = by_bands(rank, locations), place = inverse_of(sequence),
              locations_in_order(order.begin(), order.end());
  auto const copied = [&exec]<class T>(std::vector<T> const& host, char const* label) {
    return detail::copy_of<Space>(exec, host, label);
  };
  Windows windows;
  windows.order = copied(locations_in_order, "strata::geostat::vecchia::order");
  windows.rank = copied(rank, "strata::geostat::vecchia::rank");
  windows.sequence = copied(sequence, "strata::geostat::vecchia::sequence");
  windows.place = copied(place, "strata::geostat::vecchia::place");
  windows.offsets = copied(neighbours.offsets, "strata::geostat::vecchia::offsets");
  windows.neighbours = copied(neighbours.members, "strata::geostat::vecchia::neighbours");
  exec.fence("strata::geostat::vecchia::copied");
  // Joined blocks of c^2 <= a^2 + b^2 have at most sqrt(width) times the members of the largest.
  static_assert(Windows::width < 12 * 12);
  windows.most = std::min({most, n, 12 * (longest + 1)});
  std::int64_t const depth = std::max(windows.most, longest + 1),
                     total = (n + Windows::width - 1) / Windows::width;
  std::int64_t some = std::clamp<std::int64_t>(most_bytes / Windows::scratch_bytes(depth), 1,
                                               Windows::most_windows);
  if (runs_on_host<Exec>)
    some = std::min(some, per_thread * static_cast<std::int64_t>(exec.concurrency()));
  some = std::min(some, total);
  windows.allocate_scratch(exec, some, depth);
  ConditioningBlocks blocks;
  blocks.responses.reserve(order.size());
  for (windows.first = 0; windows.first < total; windows.first += some)
    append(exec, function, windows, std::min(some, total - windows.first), blocks);
  return blocks;
}

}  // namespace

std::int64_t ConditioningBlocks::largest() const {
  std::int64_t most = 0;
  for (std::size_t k = 0; k + 1 < offsets.size(); ++k)
    most = std::max(most, offsets[k + 1] - offsets[k]);
  return most;
}

std::int64_t ConditioningBlocks::pairs() const {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k + 1 < offsets.size(); ++k) {
    std::int64_t const count = offsets[k + 1] - offsets[k];
    sum += count * (count + 1) / 2;
  }
  return sum;
}

template <class Exec>
ConditioningBlocks blocks_of_neighbours(Exec const& exec, Locations const& locations,
                                        NeighbourLists const& neighbours,
                                        std::span<std::int64_t const> order) {
  Region const region(exec, "strata::geostat::blocks_of_neighbours");
  return blocks_in_windows(exec, "blocks_of_neighbours", locations, neighbours, order, 0);
}

template <class Exec>
ConditioningBlocks grouped_blocks(Exec const& exec, Locations const& locations,
                                  NeighbourLists const& neighbours,
                                  std::span<std::int64_t const> order, std::int64_t most) {
  Region const region(exec, "strata::geostat::grouped_blocks");
  return blocks_in_windows(exec, "grouped_blocks", locations, neighbours, order,
                           std::max<std::int64_t>(most, 1));
}

#define STRATA_INSTANTIATE(Exec)                                                            \
  template ConditioningBlocks blocks_of_neighbours<Exec>(                                   \
      Exec const&, Locations const&, NeighbourLists const&, std::span<std::int64_t const>); \
  template ConditioningBlocks grouped_blocks<Exec>(Exec const&, Locations const&,           \
                                                   NeighbourLists const&,                   \
                                                   std::span<std::int64_t const>, std::int64_t);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
