// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_ROWS_BY_THREAD_HPP
#define STRATA_SPARSE_DETAIL_ROWS_BY_THREAD_HPP

#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/formats/detail/Strata_LocalCsr.hpp>
#include <sparse/formats/detail/Strata_RowLanes.hpp>
#include <sparse/products/detail/Strata_HashTable.hpp>
#include <sparse/products/detail/Strata_TableSizes.hpp>

#include <cstdint>

// Sums of terms as in Strata_SummedRows.hpp, a thread a row, where tables are small.
namespace strata::sparse::detail {

constexpr std::int64_t too_long = -1;  // the length of a row that its table had no room for

/// Counts the columns of each row, or makes the rows, a thread a row. Groups of fewer lanes than a
/// warp wait for each other group by group, and a warp then runs the groups one after the other: a
/// thread waits for nobody. A count that its table has no room for is `too_long`.
template <class Exec, class Terms, bool Counts>
struct SumRowsByThread {
  using Space = typename Exec::memory_space;
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  Terms terms;
  RowList<Space> list;
  int log_size;
  Vector<std::int64_t, Space> begin;
  Vector<std::int32_t, Space> column;
  Vector<double, Space> value;

  KOKKOS_FUNCTION static constexpr std::int64_t bytes(int log_size) {
    return (Counts ? 4 : 12) * (std::int64_t{1} << log_size);
  }
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    int const threads = team.team_size();
    std::int64_t const item = std::int64_t(team.league_rank()) * threads + team.team_rank();
    auto* const memory = static_cast<double*>(
        team.team_scratch(0).get_shmem(static_cast<std::size_t>(bytes(log_size) * threads)));
    if (item >= list.count) return;
    std::int64_t const slots = (std::int64_t{1} << log_size) * threads, own = team.team_rank();
    auto* const keys = reinterpret_cast<std::int32_t*>(Counts ? memory : memory + slots);
    ThreadTable table{log_size, threads, Counts ? nullptr : memory + own, keys + own};
    make(table, list(item));
  }

 private:
  KOKKOS_FUNCTION void make(ThreadTable& table, std::int64_t row) const {
    table.clear();
    terms(row, OneLane{}, AddToThreadTable{table});
    if constexpr (Counts) {
      begin(row) = table.is_too_small ? too_long : table.found;
    } else {
      table.sort();
      std::int64_t const first = begin(row), width = begin(row + 1) - first;
      for (std::int64_t k = 0; k < width; ++k) {
        column(first + k) = table.key[static_cast<int>(k) * table.stride];
        value(first + k) = table.sum[static_cast<int>(k) * table.stride];
      }
    }
  }
};

/// The same for rows that are `too_long` for the table that was tried.
template <class Terms, class Space>
struct TermsOfLongRows {
  TermsOfRows<Terms> terms;
  Vector<std::int64_t, Space> begin;
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t row) const {
    return begin(row) == too_long ? terms(row) : -1;
  }
};

/// Columns that a row is thought to have: rows of a product have each several times.
template <class Terms>
struct ColumnsOfRows {
  TermsOfRows<Terms> terms;
  std::int64_t most;  // above, none is tried
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t row) const {
    constexpr std::int64_t times = 4, few = 21;  // few: the smallest two tables have room for them
    std::int64_t const count = terms(row);
    if (count <= few) return count;
    std::int64_t const expected = (count + times - 1) / times;
    return expected > most ? -1 : expected > few ? expected : few;
  }
};

// As many threads a team as have their tables in scratch.
template <class Exec, class Terms, bool Counts>
void launch_rows(Exec const& exec, SumRowsByThread<Exec, Terms, Counts> const& kernel) {
  using Kernel = SumRowsByThread<Exec, Terms, Counts>;
  constexpr std::int64_t most_threads = 128, scratch = 24 * 1024;
  std::int64_t const bytes = Kernel::bytes(kernel.log_size);
  std::int64_t threads = runs_on_host<Exec> ? 1 : most_threads;
  while (threads > 1 && threads * bytes > scratch) threads /= 2;
  std::int64_t const teams = (kernel.list.count + threads - 1) / threads;
  if (teams == 0) return;
  Kokkos::TeamPolicy<Exec> policy(exec, static_cast<int>(teams), static_cast<int>(threads), 1);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(threads * bytes + 16)));
  Kokkos::parallel_for(Counts ? "strata::sparse::summed_rows::count by threads"
                              : "strata::sparse::summed_rows::sum by threads",
                       policy, kernel);
}

// The largest tables of which a warp or a wavefront has one for each thread.
template <bool Counts>
constexpr int most_by_thread = Counts ? 7 : 6;  // log2 of the slots

// The rows that are thought to fit are counted by threads; others become `too_long`.
template <class Exec, class Terms>
void count_short_rows(Exec const& exec, Terms const& terms, LocalCsr<Exec> const& C) {
  using Space = typename Exec::memory_space;
  PooledVector<std::uint8_t, Exec> const size_of(exec, "strata::sparse::summed_rows::sizes",
                                                 C.rows);
  constexpr std::int64_t room = (std::int64_t{1} << most_by_thread<true>)*2 / 3;
  auto const sizes =
      sizes_of(exec, C.rows, ColumnsOfRows<Terms>{{terms, C.cols}, room}, size_of.view());
  Kokkos::deep_copy(exec, C.begin.view(), too_long);
  for (int size = 0; size < TableSizes::sizes; ++size) {
    std::int64_t const count = sizes.rows[size];
    if (count == 0) continue;
    auto const list = listed(exec, sizes, size, size_of);
    launch_rows(
        exec,
        SumRowsByThread<Exec, Terms, true>{
            terms, RowList<Space>{count, list.view()}, size + TableSizes::least, C.begin, {}, {}});
    exec.fence("strata::sparse::summed_rows::counted");  // `list` ends here
  }
}

}  // namespace strata::sparse::detail

#endif
