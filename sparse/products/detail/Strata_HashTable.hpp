// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_HASH_TABLE_HPP
#define STRATA_SPARSE_DETAIL_HASH_TABLE_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>

namespace strata::sparse::detail {

/// Where the search for a column begins, in a table of 2^log_size slots.
KOKKOS_INLINE_FUNCTION std::uint32_t first_slot(std::int32_t column, int log_size) {
  return (static_cast<std::uint32_t>(column) * 0x9e3779b1u) >> (32 - log_size);
}

/// Columns and their sums, in memory that the lanes of a device's group share.
struct HashTable {
  static constexpr std::int32_t empty = std::numeric_limits<std::int32_t>::max();
  int log_size;
  double* sum;  ///< none: columns are counted
  std::int32_t* key;

  KOKKOS_FUNCTION void clear(std::int64_t slot) const {
    key[slot] = empty;
    if (sum) sum[slot] = 0;
  }
  /// The slot of a column, which is claimed where there is none. The table must not be full.
  KOKKOS_FUNCTION std::uint32_t slot_of(std::int32_t column) const {
    std::uint32_t const mask = (std::uint32_t{1} << log_size) - 1;
    for (std::uint32_t at = first_slot(column, log_size);; at = (at + 1) & mask) {
      std::int32_t found = key[at];
      if (found == empty) found = Kokkos::atomic_compare_exchange(&key[at], empty, column);
      if (found == empty || found == column) return at;
    }
  }
  /// Slots by columns, empty ones last: bitonic.
  template <class Lanes>
  KOKKOS_FUNCTION void sort(Lanes const& lanes) const {
    std::int64_t const size = std::int64_t{1} << log_size;
    for (std::int64_t run = 2; run <= size; run *= 2)
      for (std::int64_t stride = run / 2; stride > 0; stride /= 2)
        lanes.each(size / 2, [&](std::int64_t k) {
          std::int64_t const low = 2 * k - (k & (stride - 1)), high = low + stride;
          bool const ascends = (low & run) == 0;
          if ((key[low] > key[high]) != ascends) return;
          Kokkos::kokkos_swap(key[low], key[high]);
          Kokkos::kokkos_swap(sum[low], sum[high]);
        });
  }
};

/// Columns and their sums, in a table of one thread. Its slots are `stride` numbers apart, between
/// the slots of the team's other threads, so that each thread has a bank of memory of its own.
struct ThreadTable {
  int log_size, stride;
  double* sum;  ///< none: columns are counted
  std::int32_t* key;
  int found = 0;              ///< columns so far
  bool is_too_small = false;  ///< a column was left out

  KOKKOS_FUNCTION int size() const { return 1 << log_size; }
  KOKKOS_FUNCTION void clear() const {
    for (int slot = 0; slot < size(); ++slot) key[slot * stride] = HashTable::empty;
  }
  KOKKOS_FUNCTION void add(std::int32_t column, double value) {
    std::uint32_t const mask = (std::uint32_t{1} << log_size) - 1;
    std::uint32_t at = first_slot(column, log_size);
    while (key[static_cast<int>(at) * stride] != column) {
      if (key[static_cast<int>(at) * stride] == HashTable::empty) return claim(at, column, value);
      at = (at + 1) & mask;
    }
    if (sum) sum[static_cast<int>(at) * stride] += value;
  }
  /// The columns, ascending, come first.
  KOKKOS_FUNCTION void sort() const {
    int count = 0;
    for (int slot = 0; slot < size(); ++slot) {
      std::int32_t const column = key[slot * stride];
      if (column == HashTable::empty) continue;
      double const value = sum[slot * stride];
      int at = count++;
      for (; at > 0 && key[(at - 1) * stride] > column; --at) {
        key[at * stride] = key[(at - 1) * stride];
        sum[at * stride] = sum[(at - 1) * stride];
      }
      key[at * stride] = column;
      sum[at * stride] = value;
    }
  }

 private:
  // One slot stays empty, so that each search ends.
  KOKKOS_FUNCTION void claim(std::uint32_t at, std::int32_t column, double value) {
    if (found + 1 == size()) {
      is_too_small = true;
      return;
    }
    ++found;
    key[static_cast<int>(at) * stride] = column;
    if (sum) sum[static_cast<int>(at) * stride] = value;
  }
};

struct AddToThreadTable {
  ThreadTable& table;
  KOKKOS_FUNCTION void operator()(std::int32_t column, double value) const {
    table.add(column, value);
  }
};

/// Adds a term; where columns are counted, its column alone.
template <bool Counts>
struct AddToTable {
  HashTable const& table;
  KOKKOS_FUNCTION void operator()(std::int32_t column, double value) const {
    std::uint32_t const at = table.slot_of(column);
    if constexpr (!Counts) table.sum[at] += value;
  }
};

/// Rows of a host one after the other, each column with its sum; of each column of the matrix the
/// place of its last entry is marked.
struct HostRow {
  std::int64_t*
      mark;  ///< an entry's place, for each column of the matrix; before `first`: none in this row
  std::int32_t* column;  ///< column of each entry
  double* sum;           ///< value of each entry
  std::int64_t first, end;

  KOKKOS_FUNCTION void add(std::int32_t j, double value) {
    std::int64_t const place = mark[j];
    if (place >= first) {
      sum[place] += value;
      return;
    }
    mark[j] = end;
    column[end] = j;
    sum[end++] = value;
  }
  /// Columns ascend afterwards; terms come in ascending runs, so that little is moved.
  void sort() {
    for (std::int64_t k = first + 1; k < end; ++k) {
      std::int32_t const j = column[k];
      if (column[k - 1] < j) continue;
      double const value = sum[k];
      std::int64_t at = k;
      for (; at > first && column[at - 1] > j; --at) {
        column[at] = column[at - 1];
        sum[at] = sum[at - 1];
      }
      column[at] = j;
      sum[at] = value;
    }
  }
};

struct AddToHostRow {
  HostRow* row;
  KOKKOS_FUNCTION void operator()(std::int32_t column, double value) const {
    row->add(column, value);
  }
};

/// Adds to entries that are there: of each column its place is marked.
struct AddToPlaces {
  std::int64_t const* mark;
  double* sum;
  KOKKOS_FUNCTION void operator()(std::int32_t column, double value) const {
    sum[mark[column]] += value;
  }
};

}  // namespace strata::sparse::detail

#endif
