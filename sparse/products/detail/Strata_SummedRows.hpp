// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_SUMMED_ROWS_HPP
#define STRATA_SPARSE_DETAIL_SUMMED_ROWS_HPP

#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/formats/detail/Strata_LocalCsr.hpp>
#include <sparse/formats/detail/Strata_RowLanes.hpp>
#include <sparse/products/detail/Strata_HashTable.hpp>
#include <sparse/products/detail/Strata_RowsByThread.hpp>
#include <sparse/products/detail/Strata_TableSizes.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Matrices whose rows are sums of terms, as products are: of each row first the columns that occur,
// then the sums.
//
// Terms is a copyable object with
//   std::int64_t most(std::int64_t row) const                    // terms of the row, at most
//   void operator()(std::int64_t row, Lanes const&, Take const&) const
// that calls lanes.each(count, f) one after the other. In these f(k) calls take(column, value)
// once, for k < count with a column each of its own. All lanes add at once, and each sum has the
// order of the calls.
namespace strata::sparse::detail {

/// Rows [begin, end) on a host's thread, in memory that grows.
template <class Terms>
struct SumRowsOnHost {
  struct Part {
    std::vector<std::int32_t> column;
    std::vector<double> value;
    std::int64_t count = 0;
  };
  Terms terms;
  std::int64_t rows, cols, parts;
  std::vector<Part>* part;
  std::int64_t* length;  // of each row

  void operator()(std::int64_t number) const {
    Part& mine = (*part)[static_cast<std::size_t>(number)];
    std::vector<std::int64_t> mark(static_cast<std::size_t>(cols), -1);
    std::int64_t const first = rows * number / parts, end = rows * (number + 1) / parts,
                       tried = first + (end - first) / 16;
    for (std::int64_t i = first; i < end; ++i) {
      // after the first rows: the rest will be as wide
      std::int64_t const room = i == tried ? mine.count * 17 : mine.count;
      make_room(mine, std::max(room, mine.count + std::min(terms.most(i), cols)));
      HostRow row{mark.data(), mine.column.data(), mine.value.data(), mine.count, mine.count};
      terms(i, OneLane{}, AddToHostRow{&row});
      constexpr std::int64_t few = 48;
      if (row.end - row.first <= few)
        row.sort();
      else
        sort_many(row);
      length[i] = row.end - row.first;
      mine.count = row.end;
    }
  }

 private:
  static void make_room(Part& part, std::int64_t count) {
    auto const size = static_cast<std::size_t>(count);
    if (part.column.size() >= size) return;
    part.column.resize(std::max(size, part.column.size() * 5 / 4));
    part.value.resize(part.column.size());
  }
  static void sort_many(HostRow const& row) {
    auto const count = static_cast<std::size_t>(row.end - row.first);
    std::vector<std::pair<std::int32_t, double>> entries(count);
    for (std::size_t k = 0; k < count; ++k)
      entries[k] = {row.column[row.first + static_cast<std::int64_t>(k)],
                    row.sum[row.first + static_cast<std::int64_t>(k)]};
    std::sort(entries.begin(), entries.end(),
              [](auto const& a, auto const& b) { return a.first < b.first; });
    for (std::size_t k = 0; k < count; ++k) {
      row.column[row.first + static_cast<std::int64_t>(k)] = entries[k].first;
      row.sum[row.first + static_cast<std::int64_t>(k)] = entries[k].second;
    }
  }
};

/// The sums of rows whose columns are known.
template <class Terms, class Space>
struct RefillRowsOnHost {
  Terms terms;
  std::int64_t rows, cols, parts;
  CsrRef<Space> C;

  void operator()(std::int64_t number) const {
    std::vector<std::int64_t> mark(static_cast<std::size_t>(cols), 0);
    for (std::int64_t i = rows * number / parts; i < rows * (number + 1) / parts; ++i) {
      for (std::int64_t k = C.begin(i); k < C.begin(i + 1); ++k) {
        mark[static_cast<std::size_t>(C.column(k))] = k;
        C.value(k) = 0;
      }
      terms(i, OneLane{}, AddToPlaces{mark.data(), C.value.data()});
    }
  }
};

template <class Exec, class Terms>
LocalCsr<Exec> summed_on_host(Exec const& exec, std::int64_t rows, std::int64_t cols,
                              Terms const& terms) {
  using Kernel = SumRowsOnHost<Terms>;
  LocalCsr<Exec> C;
  C.rows = rows, C.cols = cols;
  C.begin = {exec, "strata::sparse::LocalCsr::begin", rows + 1};
  std::int64_t const parts = std::max(1, exec.concurrency());
  std::vector<typename Kernel::Part> part(static_cast<std::size_t>(parts));
  Kokkos::parallel_for("strata::sparse::summed_rows::host", RowPolicy<Exec>(exec, 0, parts),
                       Kernel{terms, rows, cols, parts, &part, C.begin.data()});
  std::int64_t const entries = scan_lengths(exec, C.begin.view());
  C.column = {exec, "strata::sparse::LocalCsr::column", entries};
  C.value = {exec, "strata::sparse::LocalCsr::value", entries};
  std::int64_t at = 0;
  for (auto const& one : part) {
    std::copy_n(one.column.begin(), one.count, C.column.data() + at);
    std::copy_n(one.value.begin(), one.count, C.value.data() + at);
    at += one.count;
  }
  return C;
}

/// Counts the columns of each row, or makes the rows, in a table of each group of lanes: in scratch
/// memory, or of `tables`.
template <class Exec, class Terms, bool Counts>
struct SumRowsOnDevice {
  using Space = typename Exec::memory_space;
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  Terms terms;
  RowList<Space> list;
  int log_size, lanes;
  std::int64_t groups;
  Vector<double, Space> tables;  // none: scratch
  Vector<std::int64_t, Space> begin;
  Vector<std::int32_t, Space> column;
  Vector<double, Space> value;

  static std::size_t bytes(int log_size) {
    return (Counts ? 4 : 12) * (std::size_t{1} << log_size);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    std::int64_t const group =
        std::int64_t(team.league_rank()) * team.team_size() + team.team_rank();
    std::int64_t const size = std::int64_t{1} << log_size;
    double* const memory =
        tables.extent(0) > 0
            ? tables.data() + group * static_cast<std::int64_t>(Counts ? size / 2 : size + size / 2)
            : static_cast<double*>(team.thread_scratch(0).get_shmem(Counts ? 4 * size : 12 * size));
    HashTable const table{log_size, Counts ? nullptr : memory,
                          reinterpret_cast<std::int32_t*>(Counts ? memory : memory + size)};
    VectorLanes<Member> const vector{team, lanes};
    for (std::int64_t item = group; item < list.count; item += groups)
      make(vector, table, list(item));
  }

 private:
  KOKKOS_FUNCTION void make(VectorLanes<Member> const& vector, HashTable const& table,
                            std::int64_t row) const {
    std::int64_t const size = std::int64_t{1} << log_size;
    vector.each(size, [&](std::int64_t k) { table.clear(k); });
    terms(row, vector, AddToTable<Counts>{table});
    if constexpr (Counts) {
      std::int64_t found = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(vector.team, size),
          [&](std::int64_t k, std::int64_t& sum) { sum += table.key[k] != HashTable::empty; },
          found);
      Kokkos::single(Kokkos::PerThread(vector.team), [&] { begin(row) = found; });
    } else {
      table.sort(vector);
      std::int64_t const first = begin(row), width = begin(row + 1) - first;
      vector.each(width, [&](std::int64_t k) {
        column(first + k) = table.key[k];
        value(first + k) = table.sum[k];
      });
    }
  }
};

// As many lanes as keep the team's scratch within what leaves a multiprocessor full.
template <class Exec, class Terms, bool Counts>
void launch_rows(Exec const& exec, int lanes, SumRowsOnDevice<Exec, Terms, Counts> kernel) {
  using Kernel = SumRowsOnDevice<Exec, Terms, Counts>;
  using Policy = Kokkos::TeamPolicy<Exec>;
  constexpr std::int64_t threads = 128, scratch = 24 * 1024;
  auto const bytes = static_cast<std::int64_t>(Kernel::bytes(kernel.log_size));
  bool const in_scratch = kernel.tables.extent(0) == 0;
  constexpr std::int64_t most_lanes = 32, in_step = 64;  // a block has whole warps or wavefronts
  if (in_scratch)
    while (lanes < most_lanes && in_step / lanes * bytes > scratch) lanes *= 2;
  std::int64_t team = threads / lanes;
  if (in_scratch)
    while (team > 1 && team * bytes > scratch) team /= 2;
  std::int64_t const teams = (std::min(kernel.groups, kernel.list.count) + team - 1) / team;
  if (teams == 0) return;
  kernel.groups = teams * team;
  kernel.lanes = lanes;
  Policy policy(exec, static_cast<int>(teams), static_cast<int>(team), lanes);
  if (in_scratch)
    policy.set_scratch_size(0, Kokkos::PerThread(static_cast<int>(bytes + 2 * sizeof(double))));
  Kokkos::parallel_for(
      Counts ? "strata::sparse::summed_rows::count" : "strata::sparse::summed_rows::sum", policy,
      kernel);
}

/// Launches `kernel` for the rows of each size of tables.
template <bool Counts, class Exec, class Terms, class Widths>
void sum_by_sizes(Exec const& exec, Terms const& terms, std::int64_t rows, Widths const& widths,
                  int lanes, LocalCsr<Exec> const& C) {
  using Space = typename Exec::memory_space;
  using Kernel = SumRowsOnDevice<Exec, Terms, Counts>;
  PooledVector<std::uint8_t, Exec> const size_of(exec, "strata::sparse::summed_rows::sizes", rows);
  auto const sizes = sizes_of(exec, rows, widths, size_of.view());
  for (int size = 0; size < TableSizes::sizes; ++size) {
    std::int64_t const count = sizes.rows[size];
    if (count == 0) continue;
    auto const list = listed(exec, sizes, size, size_of);
    if (!Counts && size + TableSizes::least <= most_by_thread<Counts>) {
      launch_rows(exec, SumRowsByThread<Exec, Terms, Counts>{
                            terms, RowList<Space>{count, list.view()}, size + TableSizes::least,
                            C.begin, C.column, C.value});
      exec.fence("strata::sparse::summed_rows::made");  // `list` ends here
      continue;
    }
    Kernel kernel{terms,
                  RowList<Space>{count, list.view()},
                  size + TableSizes::least,
                  1,
                  count,
                  {},
                  C.begin,
                  C.column,
                  C.value};
    PooledVector<double, Exec> tables;
    bool const is_large = size + 1 == TableSizes::sizes;
    if (is_large) {
      constexpr std::int64_t budget = std::int64_t{1} << 28;
      kernel.log_size = TableSizes::log_of_largest(sizes.most);
      auto const bytes = static_cast<std::int64_t>(Kernel::bytes(kernel.log_size));
      kernel.groups =
          std::clamp<std::int64_t>(budget / bytes, 1, std::min<std::int64_t>(count, 4096));
      std::int64_t const team = 4, all = (kernel.groups + team - 1) / team * team;
      tables = {exec, "strata::sparse::summed_rows::tables", all * bytes / 8};
      kernel.tables = tables;
    }
    launch_rows(exec, is_large ? 32 : lanes, kernel);
    exec.fence("strata::sparse::summed_rows::made");  // `list` and `tables` end here
  }
}

/// The matrix whose rows are the sums of `terms`, columns ascending; the same bits on every backend
/// whose multiplications and additions are the same. `lanes`: of a device, a power of two up to 32,
/// about the terms of one call of `each`. Fences.
///
/// Throws   MemoryError; ShapeError for a row of more than 2^31 / 1.5 terms on a device.
template <class Exec, class Terms>
LocalCsr<Exec> summed_rows(Exec const& exec, std::int64_t rows, std::int64_t cols,
                           Terms const& terms, int lanes) {
  if constexpr (runs_on_host<Exec>) {
    return summed_on_host(exec, rows, cols, terms);
  } else {
    using Space = typename Exec::memory_space;
    LocalCsr<Exec> C;
    C.rows = rows, C.cols = cols;
    C.begin = {exec, "strata::sparse::LocalCsr::begin", rows + 1};
    count_short_rows(exec, terms, C);
    sum_by_sizes<true>(exec, terms, rows,
                       TermsOfLongRows<Terms, Space>{{terms, cols}, C.begin.view()}, lanes, C);
    std::int64_t const entries = scan_lengths(exec, C.begin.view());
    C.column = {exec, "strata::sparse::LocalCsr::column", entries};
    C.value = {exec, "strata::sparse::LocalCsr::value", entries};
    sum_by_sizes<false>(exec, terms, rows, LengthsOfRows<Space>{C.begin}, lanes, C);
    return C;
  }
}

/// New sums in the pattern that `summed_rows` has made of the same terms. Fences. Throws
/// MemoryError.
template <class Exec, class Terms>
void refill_rows(Exec const& exec, Terms const& terms, int lanes, LocalCsr<Exec> const& C) {
  using Space = typename Exec::memory_space;
  if constexpr (runs_on_host<Exec>) {
    std::int64_t const parts = std::max(1, exec.concurrency());
    Kokkos::parallel_for("strata::sparse::refill_rows::host", RowPolicy<Exec>(exec, 0, parts),
                         RefillRowsOnHost<Terms, Space>{terms, C.rows, C.cols, parts, C.ref()});
    exec.fence("strata::sparse::refill_rows::host");
  } else {
    sum_by_sizes<false>(exec, terms, C.rows, LengthsOfRows<Space>{C.begin}, lanes, C);
  }
}

}  // namespace strata::sparse::detail

#endif
