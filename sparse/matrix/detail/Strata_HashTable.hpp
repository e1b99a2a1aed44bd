// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_HASH_TABLE_HPP
#define STRATA_SPARSE_DETAIL_HASH_TABLE_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

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

/// Adds a term; where columns are counted, its column alone.
template <bool Counts>
struct AddToTable {
  HashTable const& table;
  KOKKOS_FUNCTION void operator()(std::int32_t column, double value) const {
    std::uint32_t const at = table.slot_of(column);
    if constexpr (!Counts) table.sum[at] += value;
  }
};

/// Columns and their sums side by side, in the order of their first terms, and a table that finds them.
struct HostTable {
  std::int32_t* slots;  ///< number of a column, from 1 on; 0: none
  std::int32_t* column;
  double* sum;
  int log_size;
  std::int32_t count = 0;

  KOKKOS_FUNCTION void add(std::int32_t j, double value) {
    std::uint32_t const mask = (std::uint32_t{1} << log_size) - 1;
    for (std::uint32_t at = first_slot(j, log_size);; at = (at + 1) & mask) {
      std::int32_t const number = slots[at];
      if (number == 0) {
        column[count] = j;
        sum[count] = value;
        slots[at] = ++count;
        return;
      }
      if (column[number - 1] == j) {
        sum[number - 1] += value;
        return;
      }
    }
  }
};

struct AddToHostTable {
  HostTable* table;
  KOKKOS_FUNCTION void operator()(std::int32_t column, double value) const {
    table->add(column, value);
  }
};

/// The memory of a host's rows, one after the other.
class GrownRow {
 public:
  /// An empty table for so many columns.
  HostTable table(std::int64_t most) {
    int log_size = 4;
    while (2 * (std::int64_t{1} << log_size) < 3 * most) ++log_size;
    auto const size = std::size_t{1} << log_size;
    if (slots_.size() < size) slots_.resize(size, 0);
    if (column_.size() < size) {
      column_.resize(size);
      sum_.resize(size);
      order_.resize(size);
    }
    return {slots_.data(), column_.data(), sum_.data(), log_size};
  }
  /// Appends the row with its columns ascending, and empties the table.
  void append_sorted(HostTable const& table, std::vector<std::int32_t>& column,
                     std::vector<double>& value) {
    constexpr std::size_t few = 48;
    auto const count = static_cast<std::size_t>(table.count);
    std::size_t const first = column.size();
    column.insert(column.end(), column_.begin(), column_.begin() + table.count);
    value.insert(value.end(), sum_.begin(), sum_.begin() + table.count);
    if (count <= few)
      insert_in_order(column.data() + first, value.data() + first, count);
    else
      sort_many(column.data() + first, value.data() + first, count);
    std::fill_n(slots_.begin(), std::size_t{1} << table.log_size, 0);
  }

 private:
  // Terms come in ascending runs, so that little is moved.
  static void insert_in_order(std::int32_t* column, double* value, std::size_t count) {
    for (std::size_t k = 1; k < count; ++k) {
      std::int32_t const j = column[k];
      if (column[k - 1] < j) continue;
      double const sum = value[k];
      std::size_t at = k;
      for (; at > 0 && column[at - 1] > j; --at) {
        column[at] = column[at - 1];
        value[at] = value[at - 1];
      }
      column[at] = j;
      value[at] = sum;
    }
  }
  void sort_many(std::int32_t* column, double* value, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k)
      order_[k] = (static_cast<std::uint64_t>(column_[k]) << 32) | k;
    std::sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(count));
    for (std::size_t k = 0; k < count; ++k) {
      column[k] = static_cast<std::int32_t>(order_[k] >> 32);
      value[k] = sum_[static_cast<std::size_t>(order_[k] & 0xffffffffu)];
    }
  }

  std::vector<std::int32_t> slots_, column_;
  std::vector<double> sum_;
  std::vector<std::uint64_t> order_;
};

}  // namespace strata::sparse::detail

#endif
