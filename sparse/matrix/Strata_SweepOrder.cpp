// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/matrix/Strata_SweepOrder.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>

#include <Kokkos_Sort.hpp>

#include <algorithm>
#include <numeric>

namespace strata::sparse {
namespace {

template <class Exec>
using Rows = Vector<std::int32_t, typename Exec::memory_space>;

// A permutation of the rows and its inverse; the identity without Views.
template <class Exec>
struct Ranks {
  Rows<Exec> rank, row_of_rank;

  KOKKOS_FUNCTION std::int64_t of(std::int64_t i) const { return rank.extent(0) > 0 ? rank(i) : i; }
  KOKKOS_FUNCTION std::int32_t row(std::int64_t r) const {
    return rank.extent(0) > 0 ? row_of_rank(r) : static_cast<std::int32_t>(r);
  }
};

// The position of each row's colour in the order of sweeping.
template <class Exec>
void find_positions(Exec const& exec, Rows<Exec> const& colour,
                    Rows<Exec> const& position_of_colour, Rows<Exec> const& position) {
  Kokkos::parallel_for(
      "strata::sparse::make_sweep_order::positions",
      detail::RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(colour.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) { position(i) = position_of_colour(colour(i)); });
}

// Sort the rows by `position`, and those of one position by `rank`: old_row is the permutation, the
// sizes of the positions are returned.
template <class Exec>
std::vector<std::int64_t> sort_rows(Exec const& exec, Rows<Exec> const& position,
                                    std::int64_t positions, Ranks<Exec> const& rank,
                                    Rows<Exec> const& old_row) {
  using Space = typename Exec::memory_space;
  auto const n = static_cast<std::int64_t>(position.extent(0));
  auto const keys = strata::allocate<Vector<std::int64_t, Space>>(
      exec, "strata::sparse::make_sweep_order::keys", n);
  auto const sizes = strata::allocate_zeros<Vector<std::int64_t, Space>>(
      exec, "strata::sparse::make_sweep_order::sizes", positions);
  Kokkos::parallel_for(
      "strata::sparse::make_sweep_order::keys", detail::RowPolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(std::int64_t i) {
        keys(i) = position(i) * n + rank.of(i);
        Kokkos::atomic_inc(&sizes(position(i)));
      });
  Kokkos::sort(exec, keys);
  Kokkos::parallel_for(
      "strata::sparse::make_sweep_order::rows", detail::RowPolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(std::int64_t i) { old_row(i) = rank.row(keys(i) % n); });
  std::vector<std::int64_t> result(static_cast<std::size_t>(positions));
  Kokkos::View<std::int64_t*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(result.data(),
                                                                                     positions);
  Kokkos::deep_copy(exec, host, sizes);
  exec.fence("strata::sparse::make_sweep_order::sorted");
  return result;
}

// dependent(i): row i reads the halo, or a dependent row that is swept before it.
template <class Exec, class Matrix>
void mark_dependent(Exec const& exec, Matrix const& graph, Rows<Exec> const& position,
                    Rows<Exec> const& old_row, RowRange range, Rows<Exec> const& dependent) {
  Kokkos::parallel_for(
      "strata::sparse::make_sweep_order::dependent",
      detail::RowPolicy<Exec>(exec, range.begin, range.end), KOKKOS_LAMBDA(std::int64_t item) {
        std::int64_t const i = old_row(item);
        auto const row = graph.row(i);
        bool found = false;
        for (int k = 0; k < row.width && !found; ++k) {
          std::int64_t const j = graph.columns()[row.first + k * row.stride];
          found = j >= graph.rows() || (position(j) < position(i) && dependent(j));
        }
        dependent(i) = found;
      });
}

// Rows of positions from `free_positions` on count as dependent.
template <class Exec>
void put_dependent_last(Exec const& exec, Rows<Exec> const& dependent, std::int32_t positions,
                        std::int32_t free_positions, Rows<Exec> const& position) {
  Kokkos::parallel_for(
      "strata::sparse::make_sweep_order::dependent_last",
      detail::RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(position.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) {
        position(i) += dependent(i) || position(i) >= free_positions ? positions : 0;
      });
}

template <class Exec>
void invert(Exec const& exec, Rows<Exec> const& old_row, Rows<Exec> const& new_row) {
  Kokkos::parallel_for(
      "strata::sparse::make_sweep_order::invert",
      detail::RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(old_row.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) { new_row(old_row(i)) = static_cast<std::int32_t>(i); });
}

std::vector<RowRange> ranges_of(std::vector<std::int64_t> const& sizes) {
  std::vector<RowRange> ranges;
  std::int64_t begin = 0;
  for (auto const size : sizes) {
    if (size > 0) ranges.push_back({begin, begin + size});
    begin += size;
  }
  return ranges;
}

// Position p holds rows of colour p modulo `colours`.
std::vector<RowRange> united_ranges_of(std::vector<std::int64_t> const& sizes, int colours) {
  std::vector<RowRange> ranges;
  std::size_t before = 0, count = static_cast<std::size_t>(colours);
  std::int64_t begin = 0;
  for (std::size_t position = 0; position < sizes.size(); ++position) {
    if (sizes[position] == 0) continue;
    std::int64_t const end = begin + sizes[position];
    if (!ranges.empty() && before % count == position % count)
      ranges.back().end = end;
    else
      ranges.push_back({begin, end});
    before = position;
    begin = end;
  }
  return ranges;
}

template <class Exec>
Rows<Exec> position_of_colour(Exec const& exec, std::vector<int> const& colour_order, int colours) {
  std::vector<int> sorted(colour_order), all(static_cast<std::size_t>(colours));
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0);
  STRATA_REQUIRE(ValueError, sorted == all, "colour order: ", colour_order.size(),
                 " numbers, must be a permutation of the ", colours, " colours 0 to ", colours - 1);
  std::vector<std::int32_t> position(all.size());
  for (std::size_t p = 0; p < position.size(); ++p)
    position[static_cast<std::size_t>(colour_order[p])] = static_cast<std::int32_t>(p);
  auto const device = strata::allocate<Rows<Exec>>(
      exec, "strata::sparse::make_sweep_order::position_of_colour", colours);
  Kokkos::View<std::int32_t const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(
      position.data(), position.size());
  Kokkos::deep_copy(exec, device, host);
  exec.fence("strata::sparse::make_sweep_order::uploaded");
  return device;
}

}  // namespace

template <class Exec, class Value>
SweepOrder<typename Exec::memory_space> make_sweep_order(
    Exec const& exec, EllMatrix<Value, std::int32_t, typename Exec::memory_space> const& graph,
    Colouring<typename Exec::memory_space> const& colouring, std::vector<int> const& colour_order,
    Vector<std::int32_t, typename Exec::memory_space> const& positions, int free_colours) {
  Region const region(exec, "strata::sparse::make_sweep_order");
  std::int64_t const n = graph.rows();
  auto const rows = [&](char const* name) {
    return strata::allocate<Rows<Exec>>(exec, std::string("strata::sparse::SweepOrder::") + name,
                                        n);
  };
  SweepOrder<typename Exec::memory_space> order;
  order.old_row = rows("old_row");
  order.new_row = rows("new_row");
  order.colours = colouring.count;
  Ranks<Exec> ranks{positions, {}};
  if (positions.extent(0) > 0) {
    ranks.row_of_rank = rows("row_of_rank");
    invert(exec, positions, ranks.row_of_rank);
  }
  auto const position = rows("position");
  find_positions(exec, colouring.colour, position_of_colour(exec, colour_order, colouring.count),
                 position);
  auto sizes = sort_rows(exec, position, colouring.count, ranks, order.old_row);
  order.free_rows = n;
  if (graph.cols() > n) {
    auto const dependent = rows("dependent");
    for (auto const range : ranges_of(sizes))
      mark_dependent(exec, graph, position, order.old_row, range, dependent);
    put_dependent_last(exec, dependent, colouring.count, free_colours, position);
    sizes = sort_rows(exec, position, 2 * std::int64_t(colouring.count), ranks, order.old_row);
    order.free_rows =
        std::accumulate(sizes.begin(), sizes.begin() + colouring.count, std::int64_t(0));
  }
  order.blocks = ranges_of(sizes);
  order.united = united_ranges_of(sizes, colouring.count);
  invert(exec, order.old_row, order.new_row);
  return order;
}

template <class Exec>
SweepOrder<typename Exec::memory_space> natural_order(Exec const& exec, std::int64_t rows) {
  SweepOrder<typename Exec::memory_space> order;
  auto const same = strata::allocate<Rows<Exec>>(exec, "strata::sparse::SweepOrder::natural", rows);
  Kokkos::parallel_for(
      "strata::sparse::natural_order", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { same(i) = static_cast<std::int32_t>(i); });
  order.old_row = order.new_row = same;
  order.free_rows = rows;
  order.is_natural = true;
  return order;
}

#define STRATA_INSTANTIATE_ORDER(Space, Value)                                  \
  template SweepOrder<Space::memory_space> make_sweep_order(                    \
      Space const&, EllMatrix<Value, std::int32_t, Space::memory_space> const&, \
      Colouring<Space::memory_space> const&, std::vector<int> const&,           \
      Vector<std::int32_t, Space::memory_space> const&, int);
#define STRATA_INSTANTIATE_SWEEP_ORDER(Space)                                         \
  template SweepOrder<Space::memory_space> natural_order(Space const&, std::int64_t); \
  STRATA_INSTANTIATE_ORDER(Space, fp64)                                               \
  STRATA_INSTANTIATE_ORDER(Space, fp8_e4m3)
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_SWEEP_ORDER)

}  // namespace strata::sparse
