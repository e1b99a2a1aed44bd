// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_TABLE_SIZES_HPP
#define STRATA_SPARSE_DETAIL_TABLE_SIZES_HPP

#include <core/Strata_Errors.hpp>
#include <sparse/formats/detail/Strata_LocalCsr.hpp>

#include <cstdint>

namespace strata::sparse::detail {

/// Rows of a device that have tables of one size: all, or a list's.
template <class Space>
struct RowList {
  std::int64_t count = 0;
  Vector<std::int32_t, Space> rows;  ///< none: all
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t k) const {
    return rows.extent(0) > 0 ? rows(k) : k;
  }
};

/// The rows of a device by the size of their tables: size 2^(k + 4) for k < `sizes` - 1 in scratch
/// memory, up to 24 KB, larger ones in the device's memory. Rows of a negative width have no table.
struct TableSizes {
  static constexpr int sizes = 9, least = 4;
  static constexpr std::uint8_t none = 255;
  std::int64_t rows[sizes] = {};
  std::int64_t most = 0;  ///< terms, or columns, of a row
  KOKKOS_FUNCTION TableSizes& operator+=(TableSizes const& other) {
    for (int k = 0; k < sizes; ++k) rows[k] += other.rows[k];
    most = other.most > most ? other.most : most;
    return *this;
  }
  /// Which one has room for so many columns, half as many again or more.
  KOKKOS_FUNCTION static int of(std::int64_t columns) {
    int k = 0;
    while (k + 1 < sizes && 2 * (std::int64_t{1} << (k + least)) < 3 * columns) ++k;
    return k;
  }
  /// The logarithm of the slots of a table in the device's memory with such room. Throws ShapeError
  /// for more than 2^31: slots are numbered in 32 bits.
  static int log_of_largest(std::int64_t columns) {
    int log_size = least + sizes - 1;
    while (2 * (std::int64_t{1} << log_size) < 3 * columns) ++log_size;
    STRATA_REQUIRE(ShapeError, log_size <= 31, "product: a row of up to ", columns,
                   " columns needs a table of 2^", log_size, " slots, more than 2^31");
    return log_size;
  }
};

}  // namespace strata::sparse::detail

template <>
struct Kokkos::reduction_identity<strata::sparse::detail::TableSizes> {
  KOKKOS_FORCEINLINE_FUNCTION static strata::sparse::detail::TableSizes sum() { return {}; }
};

namespace strata::sparse::detail {

/// Columns that a row may have at most, before it is known: its terms, and the matrix' columns.
template <class Terms>
struct TermsOfRows {
  Terms terms;
  std::int64_t cols;
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t row) const {
    std::int64_t const most = terms.most(row);
    return most < cols ? most : cols;
  }
};

template <class Space>
struct LengthsOfRows {
  Vector<std::int64_t, Space> begin;
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t row) const {
    return begin(row + 1) - begin(row);
  }
};

// How many rows have tables of each size, and the size of each row, for which `widths` is asked
// once.
template <class Exec, class Widths>
TableSizes sizes_of(Exec const& exec, std::int64_t rows, Widths const& widths,
                    Vector<std::uint8_t, typename Exec::memory_space> const& size_of) {
  TableSizes found;
  Kokkos::parallel_reduce(
      "strata::sparse::summed_rows::sizes", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t row, TableSizes& total) {
        std::int64_t const width = widths(row);
        size_of(row) = TableSizes::none;
        if (width < 0) return;
        int const size = TableSizes::of(width);
        size_of(row) = static_cast<std::uint8_t>(size);
        ++total.rows[size];
        total.most = width > total.most ? width : total.most;
      },
      Kokkos::Sum<TableSizes>(found));
  exec.fence("strata::sparse::summed_rows::sizes");
  return found;
}

// The rows with tables of one size, ascending.
template <class Exec>
void list_rows(Exec const& exec, Vector<std::uint8_t, typename Exec::memory_space> const& size_of,
               int size, Vector<std::int32_t, typename Exec::memory_space> const& list) {
  Kokkos::parallel_scan(
      "strata::sparse::summed_rows::list",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(size_of.extent(0))),
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t& at, bool final) {
        bool const mine = size_of(row) == size;
        if (final && mine) list(at) = static_cast<std::int32_t>(row);
        at += mine ? 1 : 0;
      });
}

/// The list of the rows of one size; none where it has all.
template <class Exec>
PooledVector<std::int32_t, Exec> listed(Exec const& exec, TableSizes const& sizes, int size,
                                        PooledVector<std::uint8_t, Exec> const& size_of) {
  PooledVector<std::int32_t, Exec> list;
  if (sizes.rows[size] == size_of.size()) return list;
  list = {exec, "strata::sparse::summed_rows::list", sizes.rows[size]};
  list_rows(exec, size_of.view(), size, list.view());
  return list;
}

}  // namespace strata::sparse::detail

#endif
