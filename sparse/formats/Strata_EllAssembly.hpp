// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_ELL_ASSEMBLY_HPP
#define STRATA_SPARSE_ELL_ASSEMBLY_HPP

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/formats/Strata_EllMatrix.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>

namespace strata::sparse {

// A row source generates the rows of a matrix on the device. It is a copyable object with
//
//   template <class Emit> KOKKOS_FUNCTION void operator()(std::int64_t row, Emit const& emit) const
//
// This calls emit(std::int64_t column, double value) for each entry, the same ones at each call.

/// The rows of a KokkosSparse::CrsMatrix, or of anything with its members graph and values.
template <class CrsMatrix>
struct CrsRows {
  CrsMatrix matrix;  ///< matrix whose rows they are

  /// Calls emit(column, value) for each entry.
  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Emit const& emit) const {
    for (auto k = matrix.graph.row_map(row); k < matrix.graph.row_map(row + 1); ++k)
      emit(static_cast<std::int64_t>(matrix.graph.entries(k)),
           static_cast<double>(matrix.values(k)));
  }
};

/// The rows of an EllMatrix or a SlicedEllMatrix without the padding: zeros in its place, given
/// ones too, are left out.
template <class Matrix>
struct EllRows {
  Matrix matrix;  ///< matrix whose rows they are

  /// Calls emit(column, value) for each entry but the padding.
  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t i, Emit const& emit) const {
    auto const row = matrix.row(i);
    for (int k = 0; k < row.width; ++k) {
      std::int64_t const column = matrix.column(i, k);
      double const value = static_cast<double>(matrix.values()[row.first + k * row.stride]);
      if (value != 0 || !matrix.pads(i, column)) emit(column, value);
    }
  }
};

namespace detail {

/// What one pass over the rows of a source finds out.
struct RowStatistics {
  std::int64_t entries = 0, widest = 0, outside = 0;

  KOKKOS_INLINE_FUNCTION RowStatistics& operator+=(RowStatistics const& other) {
    entries += other.entries;
    widest = other.widest > widest ? other.widest : widest;
    outside += other.outside;
    return *this;
  }
};

template <class Source, class MemorySpace>
struct MeasureRows {
  Source source;
  std::int64_t cols;
  int slice_rows;
  Kokkos::View<std::int64_t*, MemorySpace> slice_width;

  KOKKOS_FUNCTION void operator()(std::int64_t row, RowStatistics& total) const {
    std::int64_t length = 0, outside = 0;
    source(row, [&](std::int64_t column, double) {
      ++length;
      outside += column < 0 || column >= cols;
    });
    Kokkos::atomic_max(&slice_width(row / slice_rows), length);
    total += {length, length, outside};
  }
};

template <class Source, class Matrix>
struct FillRows {
  Source source;
  Matrix matrix;
  typename Matrix::Index* columns;
  typename Matrix::Value* values;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    auto const row = matrix.row(i);
    std::int64_t at = row.first;
    int length = 0;
    if (i < matrix.rows())
      source(i, [&](std::int64_t column, double value) {
        put(at, column, value);
        at += row.stride;
        ++length;
      });
    for (; length < row.width; ++length, at += row.stride) put(at, matrix.padding(i), 0);
  }

 private:
  KOKKOS_FUNCTION void put(std::int64_t at, std::int64_t column, double value) const {
    columns[at] = static_cast<typename Matrix::Index>(column);
    values[at] = static_cast<typename Matrix::Value>(value);
  }
};

}  // namespace detail
}  // namespace strata::sparse

template <>
struct Kokkos::reduction_identity<strata::sparse::detail::RowStatistics> {
  KOKKOS_FORCEINLINE_FUNCTION static strata::sparse::detail::RowStatistics sum() { return {}; }
};

namespace strata::sparse {

namespace detail {

template <class Index>
void check_ell_shape(std::int64_t rows, std::int64_t cols) {
  STRATA_REQUIRE(ShapeError, rows >= 0 && cols >= 0, "ELL matrix of ", rows, " x ", cols);
  STRATA_REQUIRE(ShapeError, cols <= std::int64_t(std::numeric_limits<Index>::max()),
                 "ELL matrix: ", cols, " columns, the index type counts to ",
                 std::int64_t(std::numeric_limits<Index>::max()));
}

inline void check_ell_columns(RowStatistics const& found, std::int64_t rows, std::int64_t cols) {
  STRATA_REQUIRE(ValueError, found.outside == 0, "ELL matrix of ", rows, " x ", cols, ": ",
                 found.outside, " entries have a column outside");
}

// The widths of the slices become their offsets, the end included.
template <class Exec>
void scan_widths(Exec const& exec, int slice_rows,
                 Kokkos::View<std::int64_t*, typename Exec::memory_space> const& offsets) {
  Kokkos::parallel_scan(
      "strata::sparse::make_ell_matrix::offsets",
      detail::RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(offsets.extent(0))),
      KOKKOS_LAMBDA(std::int64_t slice, std::int64_t& sum, bool final) {
        std::int64_t const stored = offsets(slice) * slice_rows;
        if (final) offsets(slice) = sum;
        sum += stored;
      });
}

}  // namespace detail

/// The matrix whose rows `source` generates, each value rounded once to `Value`.
///
/// Shape    rows, cols >= 0; cols <= rows or more. Rows may be empty, a column may be given twice
///          (the entries then add up in products).
/// Sync     fences `exec` twice, to read the measured widths.
/// Memory   stored() numbers of Value and Index; sliced, at most 32 times the longest row more than
///          the entries of each 32 rows; Slab, rows times the longest row.
/// Throws   ShapeError if a number is negative or `cols` is more than Index can count; ValueError
///          if the source gives a column outside the matrix; MemoryError with the bytes.
template <class Value, class Index, class Exec, class Source>
EllMatrix<Value, Index, typename Exec::memory_space> make_ell_matrix(
    Exec const& exec, std::int64_t rows, std::int64_t cols, Source const& source,
    EllStorage storage = EllStorage::Sliced) {
  using Matrix = EllMatrix<Value, Index, typename Exec::memory_space>;
  using Space = typename Exec::memory_space;
  Region const region(exec, "strata::sparse::make_ell_matrix");
  detail::check_ell_shape<Index>(rows, cols);
  auto offsets = strata::allocate_zeros<Kokkos::View<std::int64_t*, Space>>(
      exec, "strata::sparse::EllMatrix::offsets", Matrix::padded(rows) / Matrix::slice_rows + 1);
  detail::RowStatistics found;
  Kokkos::parallel_reduce(
      "strata::sparse::make_ell_matrix::measure", detail::RowPolicy<Exec>(exec, 0, rows),
      detail::MeasureRows<Source, Space>{source, cols, Matrix::slice_rows, offsets},
      Kokkos::Sum<detail::RowStatistics>(found));
  exec.fence("strata::sparse::make_ell_matrix::measured");
  detail::check_ell_columns(found, rows, cols);
  std::int64_t stored = Matrix::padded(rows) * found.widest;
  if (storage == EllStorage::Sliced) {
    detail::scan_widths(exec, Matrix::slice_rows, offsets);
    Kokkos::View<std::int64_t, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const end(&stored);
    Kokkos::deep_copy(exec, end, Kokkos::subview(offsets, offsets.extent(0) - 1));
    exec.fence("strata::sparse::make_ell_matrix::stored");
  } else {
    offsets = {};
  }
  auto const columns = strata::allocate<Kokkos::View<Index*, Space>>(
      exec, "strata::sparse::EllMatrix::columns", stored);
  auto const values = strata::allocate<Kokkos::View<Value*, Space>>(
      exec, "strata::sparse::EllMatrix::values", stored);
  Matrix const matrix(rows, cols, found.entries, static_cast<int>(found.widest), offsets, columns,
                      values);
  Kokkos::parallel_for(
      "strata::sparse::make_ell_matrix::fill",
      detail::RowPolicy<Exec>(exec, 0, Matrix::padded(rows)),
      detail::FillRows<Source, Matrix>{source, matrix, columns.data(), values.data()});
  return matrix;
}

namespace detail {

template <class From, class To>
struct ConvertValues {
  From const* from;
  To* to;

  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    to[k] = static_cast<To>(static_cast<double>(from[k]));
  }
};

}  // namespace detail

/// The same matrix with its values rounded to `Value`; the pattern is shared.
///
/// Sync     enqueued on `exec`.
/// Throws   MemoryError with the bytes.
template <class Value, class Exec, class Matrix>
auto converted(Exec const& exec, Matrix const& A) {
  auto const values = strata::allocate<Kokkos::View<Value*, typename Exec::memory_space>>(
      exec, "strata::sparse::EllMatrix::values", A.stored());
  Kokkos::parallel_for(
      "strata::sparse::converted", detail::RowPolicy<Exec>(exec, 0, A.stored()),
      detail::ConvertValues<typename Matrix::Value, Value>{A.values(), values.data()});
  return A.with_values(values);
}

}  // namespace strata::sparse

#endif
