// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_SLICED_ELL_MATRIX_HPP
#define STRATA_SPARSE_SLICED_ELL_MATRIX_HPP

#include <sparse/formats/Strata_EllMatrix.hpp>
#include <sparse/formats/Strata_MatrixOptions.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::sparse {

/// 32 rows of a SlicedEllMatrix.
struct EllSlice {
  std::int64_t values = 0;   ///< offset of the first value; entry k of row r is 32 k + r further on
  std::int64_t columns = 0;  ///< offset of the first distance, 16-bit or 32-bit column
  std::int32_t base = 0;     ///< what 16-bit columns are counted from
  std::int32_t lower = 0;    ///< how many leading entries hold all up to the diagonal
  std::uint32_t width : 30 = 0;  ///< entries of each row, with the padding
  std::uint32_t kind : 2 = 0;    ///< Columns
};

/// A sparse matrix in slices of 32 rows, each as wide as it must be, whose columns take as few
/// bytes as the slice allows: any matrix, without loss.
///
/// A copy is a reference to the same matrix. Where the rows of a slice have the same neighbours,
/// relative to themselves, a slice stores each distance once, and a row that lacks one has the
/// value 0 there. Where columns lie close together, they take 16 bits. Padded entries have the
/// value 0 and some column of the matrix: x must be finite there for them to add nothing. In each
/// row the entries up to the diagonal come first, so that a sweep from zero reads few others. Rows
/// whose entries are none of the halo's, the columns from rows() on, have no padding there either:
/// for them x may hold anything in its halo.
///
/// Source   sliced ELL, M. Kreutzer et al., SISC 36(5), 2014, doi:10.1137/130930352; columns as
///          differences within a slice: X. Feng et al., ICPADS'11, doi:10.1109/ICPADS.2011.91;
///          distances shared by neighbouring rows are the diagonal format, slice by slice.
template <class ValueT, class MemorySpaceT>
class SlicedEllMatrix {
 public:
  /// The type of the stored values.
  using Value = ValueT;
  /// The memory of all arrays.
  using MemorySpace = MemorySpaceT;
  static constexpr int slice_rows = 32;  ///< rows of a slice

  /// What slices and columns are stored in.
  struct Arrays {
    Kokkos::View<EllSlice*, MemorySpace> slices;       ///< slices in the order of the rows
    Kokkos::View<std::int32_t*, MemorySpace> numbers;  ///< distances and 32-bit columns
    /// 16-bit columns.
    Kokkos::View<std::uint16_t*, MemorySpace> narrow;
  };

  SlicedEllMatrix() = default;
  /// From arrays that are filled; nothing is checked.
  SlicedEllMatrix(std::int64_t rows, std::int64_t cols, std::int64_t entries, Arrays const& arrays,
                  Kokkos::View<Value*, MemorySpace> const& values)
      : rows_(rows), cols_(cols), entries_(entries), arrays_(arrays), values_(values) {}

  /// Rows of the matrix.
  KOKKOS_FUNCTION std::int64_t rows() const { return rows_; }
  /// Columns of the matrix.
  KOKKOS_FUNCTION std::int64_t cols() const { return cols_; }
  /// Entries that were given, without the padding.
  std::int64_t entries() const { return entries_; }
  /// Entries that are stored, with the padding.
  std::int64_t stored() const { return static_cast<std::int64_t>(values_.extent(0)); }
  /// Bytes of slices and columns.
  std::int64_t column_bytes() const {
    return static_cast<std::int64_t>(arrays_.slices.extent(0) * sizeof(EllSlice) +
                                     arrays_.numbers.extent(0) * sizeof(std::int32_t) +
                                     arrays_.narrow.extent(0) * sizeof(std::uint16_t));
  }
  /// Bytes of values, slices and columns.
  std::int64_t bytes() const {
    return stored() * static_cast<std::int64_t>(sizeof(Value)) + column_bytes();
  }
  /// For those who work on the stored columns.
  Arrays const& arrays() const { return arrays_; }

  /// Where the values of one row are: first, first + stride, ... (width times).
  struct Row {
    std::int64_t first, stride;  ///< offsets into values()
    int width;                   ///< entries of the row, with the padding
  };
  /// Where the values of row i are.
  KOKKOS_FUNCTION Row row(std::int64_t i) const {
    EllSlice const& own = slice(i / slice_rows);
    return {own.values + i % slice_rows, slice_rows, static_cast<int>(own.width)};
  }
  /// The column of entry k of row i.
  KOKKOS_FUNCTION std::int64_t column(std::int64_t i, int k) const {
    EllSlice const& own = slice(i / slice_rows);
    if (static_cast<Columns>(own.kind) == Columns::Shared)
      return i + arrays_.numbers(own.columns + k);
    std::int64_t const at = own.columns + std::int64_t{k} * slice_rows + i % slice_rows;
    return static_cast<Columns>(own.kind) == Columns::Narrow ? own.base + arrays_.narrow(at)
                                                             : arrays_.numbers(at);
  }

  /// Whether an entry of row i in that column is padding if its value is 0.
  KOKKOS_FUNCTION static bool pads(std::int64_t, std::int64_t) { return true; }

  /// A slice by its number, row / slice_rows.
  KOKKOS_FUNCTION EllSlice const& slice(std::int64_t number) const {
    return arrays_.slices(number);
  }
  /// Values of all stored entries.
  KOKKOS_FUNCTION Value const* values() const { return values_.data(); }
  /// Distances and 32-bit columns.
  KOKKOS_FUNCTION std::int32_t const* numbers() const { return arrays_.numbers.data(); }
  /// 16-bit columns.
  KOKKOS_FUNCTION std::uint16_t const* narrow() const { return arrays_.narrow.data(); }

  /// The same pattern with other values.
  template <class Other>
  SlicedEllMatrix<Other, MemorySpace> with_values(
      Kokkos::View<Other*, MemorySpace> const& values) const {
    return {rows_, cols_, entries_, {arrays_.slices, arrays_.numbers, arrays_.narrow}, values};
  }

 private:
  std::int64_t rows_ = 0, cols_ = 0, entries_ = 0;
  Arrays arrays_;
  Kokkos::View<Value*, MemorySpace> values_;
};

}  // namespace strata::sparse

#endif
