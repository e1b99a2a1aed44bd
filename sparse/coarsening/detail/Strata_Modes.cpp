// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/coarsening/detail/Strata_Modes.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/formats/detail/Strata_HostCopy.hpp>
#include <sparse/formats/detail/Strata_RowLanes.hpp>
#include <sparse/matrix/detail/Strata_RowExchange.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace strata::sparse::detail {
namespace {

// 0 where the diagonal dominates, else modes / scale.
template <class Exec, class Space>
void fit_modes(Exec const& exec, BlockRows<Space> const& A, Vector<double, Space> const& scale,
               int width, Vector<double, Space> const& modes) {
  constexpr double dominated = 0.2;
  Kokkos::parallel_for(
      "strata::sparse::modes_of::fit",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(modes.extent(0)) / width),
      KOKKOS_LAMBDA(std::int64_t i) {
        double diagonal = 0, sum = 0;
        A(i, [&](std::int64_t j, double a) {
          diagonal += j == i ? a : 0;
          sum += j == i ? 0 : Kokkos::abs(a);
        });
        bool const stays = sum >= dominated * Kokkos::abs(diagonal);
        double const factor = scale.extent(0) > 0 ? 1 / scale(i) : 1;
        for (int c = 0; c < width; ++c)
          modes(i * width + c) = stays ? factor * modes(i * width + c) : 0;
      });
}

template <class Exec>
void copy_given(Exec const& exec, NearNullSpace const& given,
                PooledVector<double, Exec> const& to) {
  Kokkos::View<double const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(
      given.values.data(), given.values.size());
  Kokkos::deep_copy(exec, to.view(), host);
}

/// Gram-Schmidt's method on the rows of one aggregate.
template <class Space>
struct Orthonormalise {
  Vector<std::int64_t, Space> begin;    // of each aggregate's nodes
  Vector<std::uint64_t, Space> member;  // whose upper halves they are
  int block_size, width;
  Vector<double, Space> Q, R, is_dead;

  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::int64_t aggregate, Lanes const& lanes) const {
    constexpr double least = 1e-8;
    std::int64_t const first = begin(aggregate), rows = (begin(aggregate + 1) - first) * block_size;
    auto const at = [&](std::int64_t r) {
      std::int64_t const node = r / block_size;
      auto const of = static_cast<std::int64_t>(member(first + node) >> 32);
      return (of * block_size + (r - node * block_size)) * width;
    };
    auto const dot = [&](int c, int d) {
      return lanes.sum(rows, [&](std::int64_t r) { return Q(at(r) + c) * Q(at(r) + d); });
    };
    double* const mine = R.data() + aggregate * width * width;
    lanes.each(width * width, [&](std::int64_t k) { mine[k] = 0; });
    for (int c = 0; c < width; ++c) {
      double const before = Kokkos::sqrt(dot(c, c));
      for (int pass = 0; pass < 2; ++pass)
        for (int d = 0; d < c; ++d) {
          double const share = dot(c, d);
          lanes.each(rows, [&](std::int64_t r) { Q(at(r) + c) -= share * Q(at(r) + d); });
          lanes.each(1, [&](std::int64_t) { mine[d * width + c] += share; });
        }
      double const length = Kokkos::sqrt(dot(c, c));
      bool const dead = !(length > least * before);
      lanes.each(rows, [&](std::int64_t r) { Q(at(r) + c) = dead ? 0 : Q(at(r) + c) / length; });
      lanes.each(1, [&](std::int64_t) {
        mine[c * width + c] = dead ? 0 : length;
        is_dead(aggregate * width + c) = dead ? 1 : 0;
      });
    }
  }
};

/// P0 of the nodes' aggregates, one term a row.
template <class Space>
struct AggregateOfNode {
  Vector<std::int32_t, Space> aggregate;
  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t node, Emit const& emit) const {
    if (aggregate(node) >= 0) emit(std::int64_t(aggregate(node)), 1.0);
  }
};

/// Where the nodes of a rank's aggregates come from.
struct Members {
  std::vector<std::int64_t> begin;            // of each aggregate's, and the end
  std::vector<std::uint64_t> place;           // in the upper half, among all that came
  std::vector<double> modes;                  // of all that came
  std::vector<std::size_t> came;              // nodes from each rank
  std::vector<std::vector<std::size_t>> own;  // nodes that went to each rank
};

// What came from the ranks, in order of the aggregates from number `first` on.
void take_in(std::vector<std::vector<double>> const& parts, std::size_t size, std::int64_t count,
             std::int64_t first, Members& result) {
  std::vector<std::size_t> aggregate;  // of each node that came
  for (auto const& part : parts) {
    result.came.push_back(part.size() / (size + 1));
    for (std::size_t at = 0; at < part.size(); at += size + 1) {
      aggregate.push_back(static_cast<std::size_t>(static_cast<std::int64_t>(part[at]) - first));
      auto const values = part.begin() + static_cast<std::ptrdiff_t>(at) + 1;
      result.modes.insert(result.modes.end(), values, values + static_cast<std::ptrdiff_t>(size));
    }
  }
  // Ranks, and nodes within a rank, come in order, and stay so.
  result.begin.assign(static_cast<std::size_t>(count) + 1, 0);
  for (auto const a : aggregate) ++result.begin[a + 1];
  std::partial_sum(result.begin.begin(), result.begin.end(), result.begin.begin());
  result.place.resize(aggregate.size());
  auto next = result.begin;
  for (std::size_t k = 0; k < aggregate.size(); ++k)
    result.place[static_cast<std::size_t>(next[aggregate[k]]++)] = std::uint64_t{k} << 32;
}

// Each node's modes go to the rank of its aggregate.
template <class Exec>
Members gathered_members(Border<Exec> const& border, std::int64_t nodes, std::size_t size,
                         std::vector<std::int32_t> const& of, RowAggregates<Exec> const& aggregates,
                         std::vector<std::int64_t> const& first, std::vector<double> const& modes) {
  auto const& comm = border.comm();
  auto const ranks = static_cast<std::size_t>(comm.size());
  Members result;
  auto const parts = comm.exchange(comm.agree([&] {
    std::vector<std::vector<double>> to(ranks);
    result.own.resize(ranks);
    for (std::size_t node = 0; node < static_cast<std::size_t>(nodes); ++node) {
      if (of[node] < 0) continue;
      auto const whole = aggregates.whole[static_cast<std::size_t>(of[node])];
      auto const rank = owner_of(first, whole);
      result.own[rank].push_back(node);
      to[rank].push_back(static_cast<double>(whole));
      auto const at = modes.begin() + static_cast<std::ptrdiff_t>(node * size);
      to[rank].insert(to[rank].end(), at, at + static_cast<std::ptrdiff_t>(size));
    }
    return to;
  }));
  auto const mine = first[static_cast<std::size_t>(comm.rank())];
  comm.agree([&] { take_in(parts, size, aggregates.count, mine, result); });
  return result;
}

// And P0's rows come back.
template <class Exec>
void return_rows(Border<Exec> const& border, Members const& members, std::size_t size,
                 std::vector<double> const& Q, std::vector<double>& P0) {
  auto const parts = border.comm().exchange(border.agree([&] {
    std::vector<std::vector<double>> back(members.own.size());
    auto at = Q.begin();
    for (std::size_t rank = 0; rank < back.size(); ++rank) {
      auto const end = at + static_cast<std::ptrdiff_t>(members.came[rank] * size);
      back[rank].assign(at, end);
      at = end;
    }
    return back;
  }));
  for (std::size_t rank = 0; rank < parts.size(); ++rank)
    for (std::size_t k = 0; k < members.own[rank].size(); ++k)
      std::copy_n(parts[rank].begin() + static_cast<std::ptrdiff_t>(k * size), size,
                  P0.begin() + static_cast<std::ptrdiff_t>(members.own[rank][k] * size));
}

template <class Exec>
Tentative<Exec> room_for(Exec const& exec, std::int64_t numbers, std::int64_t count, int width) {
  Tentative<Exec> result{{width, {}}, {width, {}}, {width, {}}, {}};
  result.P0.value = {exec, "strata::sparse::tentative_of::P0", numbers};
  result.coarse.value = {exec, "strata::sparse::tentative_of::coarse", count * width * width};
  result.is_dead = {exec, "strata::sparse::tentative_of::is_dead", count * width};
  return result;
}

// Of Q's rows, which `place` lists. Fences.
template <class Exec, class Space>
void orthonormalise(Exec const& exec, Vector<std::int64_t, Space> const& begin,
                    Vector<std::uint64_t, Space> const& place, int block_size,
                    Vector<double, Space> const& Q, Tentative<Exec> const& result) {
  auto const count = static_cast<std::int64_t>(begin.extent(0)) - 1;
  auto const nodes = static_cast<std::int64_t>(place.extent(0));
  std::int64_t const mean = count > 0 ? nodes * block_size / count : 1;
  for_each_row(exec, "strata::sparse::tentative_of::orthonormalise", count, lanes_for_items(mean),
               Orthonormalise<Space>{begin, place, block_size, result.coarse.width, Q,
                                     result.coarse.value, result.is_dead});
  exec.fence("strata::sparse::tentative_of");  // what `place` refers to may end here
}

// What is known of the aggregates of all ranks that this one knows, from what each has.
template <class Exec>
std::vector<double> of_known_aggregates(Border<Exec> const& border,
                                        RowAggregates<Exec> const& aggregates,
                                        std::vector<std::int64_t> const& first, std::size_t size,
                                        std::vector<double> const& own) {
  HostRows mine;
  auto const wanted = border.agree([&] {
    for (std::size_t k = 0; k < own.size(); ++k) {
      mine.add(0, own[k]);
      if ((k + 1) % size == 0) mine.end_row();
    }
    auto const begin = aggregates.whole.begin() + static_cast<std::ptrdiff_t>(aggregates.first);
    std::vector<std::int64_t> others(aggregates.whole.begin(), begin);
    others.insert(others.end(), begin + static_cast<std::ptrdiff_t>(aggregates.count),
                  aggregates.whole.end());
    return others;
  });
  auto const theirs = fetched(border.comm(), first, wanted, mine).value;
  return border.agree([&] {
    auto const before = theirs.begin() + static_cast<std::ptrdiff_t>(
                                             static_cast<std::size_t>(aggregates.first) * size);
    std::vector<double> all(theirs.begin(), before);
    all.insert(all.end(), own.begin(), own.end());
    all.insert(all.end(), before, theirs.end());
    return all;
  });
}

template <class Exec>
void copy_numbers(Exec const& exec, std::vector<double> const& from,
                  Vector<double, typename Exec::memory_space> const& to) {
  Kokkos::View<double const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(from.data(),
                                                                                     from.size());
  Kokkos::deep_copy(exec, to, host);
  exec.fence("strata::sparse::tentative_of::copied");  // `from` may end here
}

// The rank of an aggregate has its nodes for a while.
template <class Exec>
Tentative<Exec> tentative_on_ranks(Exec const& exec, int block_size,
                                   RowAggregates<Exec> const& aggregates, Modes<Exec> const& modes,
                                   Border<Exec> const& border) {
  int const width = modes.width;
  auto const size = static_cast<std::size_t>(block_size * width);
  auto const first = partition_of(border.comm(), aggregates.count);
  auto const of = border.agree([&] { return to_host(exec, aggregates.of.view()); });
  auto values = border.agree([&] { return to_host(exec, modes.value.view()); });
  auto const members = gathered_members(border, border.own(aggregates.of.size()), size, of,
                                        aggregates, first, values);
  Tentative<Exec> result;
  std::vector<double> Q, coarse;
  border.agree([&] {
    result = room_for(exec, modes.value.size(), aggregates.count, width);
    auto const on_device = to_device(exec, "strata::sparse::tentative_of::Q", members.modes);
    orthonormalise(exec, to_device(exec, "strata::sparse::tentative_of::begin", members.begin),
                   to_device(exec, "strata::sparse::tentative_of::place", members.place),
                   block_size, on_device, result);
    Q = to_host(exec, on_device);
    coarse = to_host(exec, result.coarse.value.view());
  });
  return_rows(border, members, size, Q, values);
  auto const known = of_known_aggregates(border, aggregates, first,
                                         static_cast<std::size_t>(width * width), coarse);
  border.agree([&] {
    copy_numbers(exec, values, result.P0.value.view());
    result.reached.value = {exec, "strata::sparse::tentative_of::reached",
                            static_cast<std::int64_t>(known.size())};
    copy_numbers(exec, known, result.reached.value.view());
  });
  border.fill(exec, result.P0.value.view(), static_cast<int>(size));
  return result;
}

}  // namespace

template <class Exec>
Modes<Exec> modes_of(Exec const& exec, BlockCsr<Exec> const& A, NearNullSpace const& given,
                     Vector<double, typename Exec::memory_space> const& scale) {
  using Space = typename Exec::memory_space;
  Modes<Exec> result{given.width, {}};
  result.value = {exec, "strata::sparse::modes_of::value", A.rows() * result.width};
  copy_given(exec, given, result.value);
  fit_modes(exec, BlockRows<Space>::of(A), scale, result.width, result.value.view());
  exec.fence("strata::sparse::modes_of");  // the given ones are the host's
  return result;
}

template <class Exec>
Tentative<Exec> tentative_of(Exec const& exec, int block_size,
                             RowAggregates<Exec> const& aggregates, Modes<Exec> const& modes,
                             Border<Exec> const& border) {
  using Space = typename Exec::memory_space;
  Region const region(exec, "strata::sparse::tentative_of");
  if (!border.is_whole()) return tentative_on_ranks(exec, block_size, aggregates, modes, border);
  int const width = modes.width;
  LocalCsr<Exec> nodes;
  (void)make_local_csr(exec, aggregates.of.size(), aggregates.count,
                       AggregateOfNode<Space>{aggregates.of}, nodes);
  auto const members = transposed_index(exec, nodes);
  auto result = room_for(exec, modes.value.size(), aggregates.count, width);
  Kokkos::deep_copy(exec, result.P0.value.view(), modes.value.view());
  orthonormalise(exec, members.begin.view(), members.place.view(), block_size, result.P0.value,
                 result);
  result.reached = result.coarse;
  return result;
}

#define STRATA_INSTANTIATE_MODES(Space)                                                      \
  template Modes<Space> modes_of(Space const&, BlockCsr<Space> const&, NearNullSpace const&, \
                                 Vector<double, Space::memory_space> const&);                \
  template Tentative<Space> tentative_of(Space const&, int, RowAggregates<Space> const&,     \
                                         Modes<Space> const&, Border<Space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_MODES)

}  // namespace strata::sparse::detail
