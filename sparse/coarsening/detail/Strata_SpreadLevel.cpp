// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/coarsening/detail/Strata_SpreadLevel.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/coarsening/detail/Strata_ExtendedInterpolation.hpp>
#include <sparse/coarsening/detail/Strata_Prolongator.hpp>
#include <sparse/formats/detail/Strata_HostCopy.hpp>
#include <sparse/matrix/detail/Strata_RowExchange.hpp>
#include <sparse/products/detail/Strata_SpGemm.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace strata::sparse::detail {
namespace {

using Partition = std::vector<std::int64_t>;

Partition times(Partition first, std::int64_t size) {
  for (auto& row : first) row *= size;
  return first;
}

// The nodes outside that the rows have columns of, ascending.
std::vector<std::int64_t> nodes_outside(Communicator const& comm, SpreadLevel const& level) {
  auto const rank = static_cast<std::size_t>(comm.rank());
  return comm.agree([&] {
    auto const first_row = level.first_row();
    auto outside = columns_outside(level.rows, first_row[rank], first_row[rank + 1]);
    for (auto& column : outside) column /= level.height;
    outside.erase(std::unique(outside.begin(), outside.end()), outside.end());
    return outside;
  });
}

// The rows with this rank's numbers of columns, and behind them empty ones up to `all`.
template <class Exec>
LocalCsr<Exec> local_rows(Exec const& exec, HostRows const& rows, Border<Exec> const& border,
                          int height, std::int64_t all) {
  auto const& outside = border.outside();
  auto const rank = static_cast<std::size_t>(border.comm().rank());
  std::int64_t const first = border.first(), end = border.first_row()[rank + 1];
  std::vector<std::int32_t> local(rows.column.size());
  for (std::size_t k = 0; k < local.size(); ++k) {
    std::int64_t const node = rows.column[k] / height, within = rows.column[k] - node * height;
    bool const is_own = node >= first && node < end;
    std::int64_t const at =
        is_own ? node - first
               : end - first +
                     (std::lower_bound(outside.begin(), outside.end(), node) - outside.begin());
    local[k] = static_cast<std::int32_t>(at * height + within);
  }
  auto begin = rows.begin;
  begin.resize(static_cast<std::size_t>(all) + 1, begin.back());
  LocalCsr<Exec> A;
  A.rows = all;
  A.cols = border.all(end - first) * height;
  A.begin = {exec, "strata::sparse::SpreadLevel::begin", all + 1};
  A.column = {exec, "strata::sparse::SpreadLevel::column", rows.entries()};
  A.value = {exec, "strata::sparse::SpreadLevel::value", rows.entries()};
  auto const copy = [&](auto const& from, auto const& to) {
    using T = typename std::decay_t<decltype(from)>::value_type;
    Kokkos::deep_copy(exec, to,
                      Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                          from.data(), from.size()));
  };
  copy(begin, A.begin.view());
  copy(local, A.column.view());
  copy(rows.value, A.value.view());
  exec.fence("strata::sparse::SpreadLevel::copied");  // `local` and `begin` end here
  return A;
}

// `width` numbers of each of the rank's rows, with room for those outside, which are filled.
template <class Exec, class T>
PooledVector<T, Exec> numbers_of(Exec const& exec, Border<Exec> const& border,
                                 std::vector<double> const& own, int width) {
  if (border.sum(static_cast<std::int64_t>(own.size())) == 0) return {};
  auto const outside = static_cast<std::int64_t>(border.outside().size());
  auto const result = border.agree([&] {
    std::vector<T> const numbers(own.begin(), own.end());
    PooledVector<T, Exec> all(exec, "strata::sparse::SpreadLevel::numbers",
                              static_cast<std::int64_t>(own.size()) + outside * width);
    Kokkos::deep_copy(exec, Vector<T, typename Exec::memory_space>(all.data(), numbers.size()),
                      Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                          numbers.data(), numbers.size()));
    exec.fence("strata::sparse::SpreadLevel::numbers");  // the host's end here
    return all;
  });
  border.fill(exec, result.view(), width);
  return result;
}

// A matrix between nodes of this rank and columns that `whole` numbers, on the host.
template <class Exec>
HostRows host_rows_of(Exec const& exec, BlockCsr<Exec> const& P,
                      std::vector<std::int64_t> const& whole) {
  auto const numbers = to_numbers(exec, P);
  HostRows rows;
  rows.begin = to_host(exec, numbers.begin.view());
  rows.value = to_host(exec, numbers.value.view());
  for (auto const column : to_host(exec, numbers.column.view())) {
    auto const node = static_cast<std::size_t>(column / P.width);
    rows.column.push_back(whole[node] * P.width + column % P.width);
  }
  return rows;
}

/// P, and what the coarse level is made with.
template <class Exec>
struct Interpolation {
  BlockCsr<Exec> P;
  RowAggregates<Exec> aggregates;
  Tentative<Exec> tentative;  // with modes
};

template <class Exec>
std::optional<Interpolation<Exec>> chosen_rows(Exec const& exec, Communicator const& comm,
                                               SpreadLevel const& level,
                                               SpreadChoice const& choice) {
  auto const rank = static_cast<std::size_t>(comm.rank());
  auto const& first = level.first_node;
  auto const with_columns = [&](std::vector<std::int64_t> const& known, HostRows const& rows) {
    return comm.agree([&] {
      auto const outside = columns_outside(rows, first[rank], first[rank + 1]);
      std::vector<std::int64_t> both;
      std::ranges::set_union(known, outside, std::back_inserter(both));
      return both;
    });
  };
  auto const around = with_columns(rows_that_refer(comm, first, level.rows), level.rows);
  auto const more = fetched(comm, first, around, level.rows);
  Border<Exec> const border(exec, comm, first, with_columns(around, more));
  LocalCsr<Exec> A;
  StrongGraph<Exec> S;
  comm.agree([&] {
    // own rows, then those outside in order, of which the ones behind two borders are empty
    HostRows all = level.rows;
    std::size_t at = 0;
    for (auto const row : border.outside()) {
      if (at < around.size() && around[at] == row) {
        for (auto k = static_cast<std::size_t>(more.begin[at]);
             k < static_cast<std::size_t>(more.begin[at + 1]); ++k)
          all.add(more.column[k], more.value[k]);
        ++at;
      }
      all.end_row();
    }
    A = local_rows(exec, all, border, 1, all.rows());
    sort_rows(exec, A);
    S = dependence_graph(exec, A, choice.strength);
  });
  Interpolation<Exec> result;
  result.aggregates = splitting(exec, S, border);
  auto const count = static_cast<double>(border.sum(result.aggregates.count));
  if (count == 0 || count > choice.most_rows) return std::nullopt;
  comm.agree([&] {
    auto const P = extended_interpolation(exec, A, S, result.aggregates, border);
    result.P = {1, 1, P, P.value};
  });
  return result;
}

template <class Exec>
struct SmoothedAndPlain {
  Interpolation<Exec> smoothed;
  BlockCsr<Exec> plain;
};

template <class Exec>
std::optional<SmoothedAndPlain<Exec>> aggregated_rows(Exec const& exec, Communicator const& comm,
                                                      SpreadLevel const& level,
                                                      SpreadChoice const& choice) {
  Border<Exec> const border(exec, comm, level.first_node, nodes_outside(comm, level));
  auto const A = comm.agree([&] {
    auto const rows = local_rows(exec, level.rows, border, level.height, level.rows.rows());
    sort_rows(exec, rows);
    return to_blocks(exec, rows, level.height);
  });
  auto const component = numbers_of<Exec, std::int32_t>(exec, border, level.component, 1);
  auto const F = strong_graph(exec, A.nodes, component, choice.of_aggregates, border);
  SmoothedAndPlain<Exec> result;
  auto& [P, aggregates, tentative] = result.smoothed;
  aggregates = aggregates_of(exec, A.nodes, F, component, border);
  int const width = std::max(level.width, 1);
  auto const count = static_cast<double>(border.sum(aggregates.count) * width);
  if (count == 0 || count > choice.most_rows) return std::nullopt;
  if (level.width == 0) {
    comm.agree([&] {
      auto const smooth = smoothed_prolongator(exec, A.nodes, F, component, aggregates);
      auto const plain = tentative_prolongator(exec, A.nodes, aggregates);
      P = {1, 1, smooth, smooth.value};
      result.plain = {1, 1, plain, plain.value};
    });
    return result;
  }
  Modes<Exec> const modes{
      width, numbers_of<Exec, double>(exec, border, level.modes, level.height * width)};
  tentative = tentative_of(exec, level.height, aggregates, modes, border);
  comm.agree([&] {
    P = smoothed_prolongator(exec, A, F, aggregates, modes, tentative, choice.largest);
    result.plain = tentative_prolongator(exec, A, aggregates, tentative.P0);
  });
  return result;
}

// A dead unknown's equation is x = 0.
void hold_dead(std::vector<double> const& is_dead, std::int64_t first, HostRows& rows) {
  for (std::size_t i = 0; i < is_dead.size(); ++i)
    if (is_dead[i] > 0)
      for (auto k = static_cast<std::size_t>(rows.begin[i]);
           k < static_cast<std::size_t>(rows.begin[i + 1]); ++k)
        if (rows.column[k] == first + static_cast<std::int64_t>(i)) rows.value[k] = 1;
}

/// A coarse level's rows, where they are, and P and R as the level's own unknowns have them.
struct Products {
  HostRows P, R, A;
  Partition first;  // of coarse rows
};

template <class Exec>
Products products(Exec const& exec, Communicator const& comm, SpreadLevel const& level,
                  BlockCsr<Exec> const& P, RowAggregates<Exec> const& aggregates,
                  Partition const& first_coarse) {
  Products result;
  result.first = times(first_coarse, P.width);
  auto const rows = level.first_row();
  result.P = comm.agree([&] { return host_rows_of(exec, P, aggregates.whole); });
  result.R = transposed(comm, rows, result.first, result.P);
  auto const AP = spgemm(exec, comm, rows, result.first, level.rows, result.P);
  result.A = spgemm(exec, comm, rows, result.first, result.R, AP);
  return result;
}

std::int64_t entries_of(Communicator const& comm, HostRows const& rows) {
  return partition_of(comm, rows.entries()).back();
}

template <class Exec>
SpreadCoarsening finished(Exec const& exec, Communicator const& comm, SpreadLevel const& level,
                          Interpolation<Exec> const& made, SpreadChoice const& choice,
                          Partition const& first_coarse, Products&& found) {
  auto const width = static_cast<std::size_t>(made.P.width);
  auto const given = partition_of(comm, made.aggregates.count);
  SpreadCoarsening result;
  auto& coarse = result.coarse;
  coarse.rows = std::move(found.A);
  coarse.first_node = first_coarse;
  coarse.height = made.P.width;
  coarse.width = level.width;
  auto const host = [&](auto const& view) {
    return comm.agree([&] {
      auto const numbers = to_host(exec, view);
      return std::vector<double>(numbers.begin(), numbers.end());
    });
  };
  coarse.component = moved(comm, given, first_coarse, host(made.aggregates.component.view()), 1);
  if (level.width > 0) {
    coarse.modes =
        moved(comm, given, first_coarse, host(made.tentative.coarse.value.view()), width * width);
    auto const dead = moved(comm, given, first_coarse, host(made.tentative.is_dead.view()), width);
    hold_dead(dead, found.first[static_cast<std::size_t>(comm.rank())], coarse.rows);
  }
  result.P = std::move(found.P);
  result.R = std::move(found.R);
  if (!level.has_units) return result;
  for (std::size_t i = 0; i < level.unit.size(); ++i)
    for (auto k = static_cast<std::size_t>(result.P.begin[i]);
         k < static_cast<std::size_t>(result.P.begin[i + 1]); ++k)
      result.P.value[k] *= level.unit[i];
  if (choice.is_symmetric) result.R = transposed(comm, level.first_row(), found.first, result.P);
  return result;
}

}  // namespace

Partition SpreadLevel::first_row() const { return times(first_node, height); }

Partition on_fewer_ranks(Partition const& first_row, std::int64_t least_rows, std::int64_t height) {
  auto const ranks = static_cast<std::int64_t>(first_row.size()) - 1;
  std::int64_t const least = (least_rows + height - 1) / height;
  std::int64_t const wanted =
      least > 0 ? std::clamp<std::int64_t>(first_row.back() / least, 1, ranks) : ranks;
  std::int64_t const group = (ranks + wanted - 1) / wanted;
  Partition result(first_row.size(), first_row.back());
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    std::int64_t const leader = (rank + group - 1) / group * group;  // of the next rows
    result[static_cast<std::size_t>(rank)] =
        first_row[static_cast<std::size_t>(std::min(leader, ranks))];
  }
  return result;
}

int width_of_modes(Communicator const& comm, std::int64_t rows, NearNullSpace const* given,
                   int block_size) {
  int const mine = given ? given->width : 0;
  auto const most_of = [&](int number) { return static_cast<int>(comm.max(number)); };
  int const most = most_of(rows > 0 ? mine : 0), least = -most_of(rows > 0 ? -mine : -most);
  int const largest = most_of(block_size), smallest = -most_of(-block_size);
  comm.agree([&] {
    STRATA_REQUIRE(ShapeError, least == most, "near-null space: ranks have ", least, " to ", most,
                   " vectors, must be as many on all");
    STRATA_REQUIRE(ShapeError, smallest == largest, "AMG: ranks have blocks of ", smallest, " to ",
                   largest, ", must be the same on all");
  });
  return most;
}

template <class Exec>
SpreadLevel finest_spread(Exec const& exec, DistributedMatrix<Exec> const& A,
                          LevelFacts<Exec> const& facts) {
  auto const& comm = A.comm();
  auto const* modes = facts.near_null_space.get();
  SpreadLevel level;
  level.width = width_of_modes(comm, A.rows(), modes, facts.block_size);
  NearNullSpace const none{level.width, {}};
  if (A.rows() == 0) modes = level.width > 0 ? &none : nullptr;
  level.rows = rows_of(exec, A);
  int const size = facts.block_size > 0 ? facts.block_size
                                        : likely_block_size(comm, A.global_rows(), level.rows);
  level.block_size = size;
  level.first_node = first_rows(A);
  comm.agree([&] {
    STRATA_REQUIRE(ShapeError, !modes || modes->rows() == A.rows(),
                   "near-null space: ", modes ? modes->rows() : 0, " rows for the ", A.rows(),
                   " of the rank");
    STRATA_REQUIRE(ShapeError, !modes || A.rows() % size == 0, "near-null space: ", A.rows(),
                   " rows of the rank are no whole number of blocks of ", size);
  });
  if (modes) {
    level.height = size;
    for (auto& row : level.first_node) row /= size;
  }
  Border<Exec> const border(exec, comm, level.first_node, nodes_outside(comm, level));
  auto const rows = comm.agree(
      [&] { return local_rows(exec, level.rows, border, level.height, level.rows.rows()); });
  if (modes) {
    comm.agree([&] {
      auto const blocks = to_blocks(exec, rows, size);
      level.modes = to_host(exec, modes_of(exec, blocks, *modes, facts.scale).value.view());
    });
    return level;
  }
  comm.agree([&] {
    for (std::int64_t row = 0; size > 1 && row < A.rows(); ++row)
      level.component.push_back(static_cast<double>((A.first_row() + row) % size));
  });
  level.share_with_sign = share_with_sign(exec, rows, border);
  if (comm.max(static_cast<double>(facts.scale.extent(0))) == 0) return level;
  auto const unit = take_best_unit(exec, rows, facts, border);
  level.has_units = comm.max(static_cast<double>(unit.size())) > 0;
  if (level.has_units)
    comm.agree([&] {
      level.rows.value = to_host(exec, rows.value.view());
      level.unit = to_host(exec, unit.view());
    });
  return level;
}

template <class Exec>
std::optional<SpreadCoarsening> coarsened(Exec const& exec, Communicator const& comm,
                                          SpreadLevel const& level, SpreadChoice const& choice) {
  Region const region(exec, "strata::sparse::coarsened");
  constexpr std::int64_t most_growth = 2;
  std::int64_t const entries = entries_of(comm, level.rows);
  auto const placed = [&](Interpolation<Exec> const& made) {
    return on_fewer_ranks(partition_of(comm, made.aggregates.count), choice.least_rows,
                          made.P.width);
  };
  if (choice.is_classical) {
    if (auto const made = chosen_rows(exec, comm, level, choice)) {
      auto const first = placed(*made);
      auto found = products(exec, comm, level, made->P, made->aggregates, first);
      if (entries_of(comm, found.A) <= most_growth * entries)
        return finished(exec, comm, level, *made, choice, first, std::move(found));
    }
  }
  auto const made = aggregated_rows(exec, comm, level, choice);
  if (!made) return std::nullopt;
  auto const& smoothed = made->smoothed;
  auto const first = placed(smoothed);
  auto found = products(exec, comm, level, smoothed.P, smoothed.aggregates, first);
  if (entries_of(comm, found.A) > entries)  // graphs without geometry: P would fill them
    found = products(exec, comm, level, made->plain, smoothed.aggregates, first);
  return finished(exec, comm, level, smoothed, choice, first, std::move(found));
}

#define STRATA_INSTANTIATE_SPREAD(Space)                                                \
  template SpreadLevel finest_spread(Space const&, DistributedMatrix<Space> const&,     \
                                     LevelFacts<Space> const&);                         \
  template std::optional<SpreadCoarsening> coarsened(Space const&, Communicator const&, \
                                                     SpreadLevel const&, SpreadChoice const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_SPREAD)

}  // namespace strata::sparse::detail
