// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_ELL_MATRIX_HPP
#define STRATA_SPARSE_ELL_MATRIX_HPP

#include <core/Strata_Float.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace strata::sparse {

/// Numbers in memory that the kernels of a space work on.
template <class Scalar, class MemorySpace>
using Vector = Kokkos::View<Scalar*, MemorySpace>;
/// The same, to be read.
template <class Scalar, class MemorySpace>
using ConstVector = Kokkos::View<Scalar const*, MemorySpace>;

/// The numbers that some vectors have in one row, side by side. A kernel that works on these reads
/// a matrix once for all of the vectors.
///
/// What they are multiplied by is one number for all, or one for each.
template <class ScalarT>
struct Abreast {
  /// The type of the numbers.
  using Scalar = ScalarT;
  static constexpr int count = 8;  ///< vectors that go abreast

  Scalar of[count];  ///< number of each vector

  Abreast() = default;
  /// The same number in all.
  KOKKOS_FUNCTION explicit Abreast(Scalar value) {
    for (int j = 0; j < count; ++j) of[j] = value;
  }
  /// Numbers of another type, rounded.
  template <class Other>
  KOKKOS_FUNCTION explicit Abreast(Abreast<Other> const& other) {
    for (int j = 0; j < count; ++j) of[j] = static_cast<Scalar>(other.of[j]);
  }

  /// Each sum.
  KOKKOS_FUNCTION Abreast& operator+=(Abreast const& other) {
    for (int j = 0; j < count; ++j) of[j] += other.of[j];
    return *this;
  }
  /// Each difference.
  KOKKOS_FUNCTION Abreast& operator-=(Abreast const& other) {
    for (int j = 0; j < count; ++j) of[j] -= other.of[j];
    return *this;
  }
  /// Each sum.
  KOKKOS_FUNCTION friend Abreast operator+(Abreast a, Abreast const& b) { return a += b; }
  /// Each difference.
  KOKKOS_FUNCTION friend Abreast operator-(Abreast a, Abreast const& b) { return a -= b; }
  /// Each product with one number.
  KOKKOS_FUNCTION friend Abreast operator*(Scalar a, Abreast x) {
    for (int j = 0; j < count; ++j) x.of[j] *= a;
    return x;
  }
  /// Each product.
  KOKKOS_FUNCTION friend Abreast operator*(Abreast const& a, Abreast x) {
    for (int j = 0; j < count; ++j) x.of[j] *= a.of[j];
    return x;
  }
};

namespace detail {

template <class T>
struct Lane {
  using Type = T;
};
template <class Scalar>
struct Lane<Abreast<Scalar>> {
  using Type = Scalar;
};

}  // namespace detail

/// The number of one vector: T itself unless that is Abreast.
template <class T>
using LaneOf = typename detail::Lane<T>::Type;
/// Whether T has the numbers of some vectors.
template <class T>
inline constexpr bool is_abreast = !std::is_same_v<T, LaneOf<T>>;

namespace detail {

/// One call for each row, or whatever has a 64-bit number.
template <class Exec>
using RowPolicy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;

}  // namespace detail

/// How the entries of an EllMatrix lie in memory.
enum class EllStorage {
  Slab,    ///< every row as wide as the widest; entry k of all rows is one contiguous slab
  Sliced,  ///< 32 rows together as wide as their widest: padding ends at the slice
};

/// A sparse matrix whose rows are padded to equal width, entry k of neighbouring rows side by side.
///
/// A copy is a reference to the same matrix. A padded entry has value 0 and the row's own number as
/// its column (the last column for rows below a wide matrix' end), so that products need no branch.
/// Gauss-Seidel, which reads the diagonal on the way, adds 0 to it. Offsets are 64-bit.
///
/// Source   N. Bell & M. Garland, Implementing sparse matrix-vector multiplication on
///          throughput-oriented processors, SC'09, doi:10.1145/1654059.1654078 (ELL); M. Kreutzer
///          et al., A unified sparse matrix data format, SISC 36(5), 2014, doi:10.1137/130930352
///          (SELL).
template <class ValueT, class IndexT, class MemorySpaceT>
class EllMatrix {
 public:
  /// The type of the stored values.
  using Value = ValueT;
  /// The type of the stored columns.
  using Index = IndexT;
  /// The memory of both.
  using MemorySpace = MemorySpaceT;
  static constexpr int slice_rows = 32;  ///< rows of a slice

  /// Where the entries of one row are: first, first + stride, ... (width times).
  struct Row {
    std::int64_t first, stride;  ///< offsets into columns() and values()
    int width;                   ///< entries of the row, with the padding
  };

  EllMatrix() = default;
  /// `offsets` of the slices, the end included, for Sliced; empty for a Slab of that width.
  EllMatrix(std::int64_t rows, std::int64_t cols, std::int64_t entries, int width,
            Kokkos::View<std::int64_t*, MemorySpace> offsets,
            Kokkos::View<Index*, MemorySpace> columns, Kokkos::View<Value*, MemorySpace> values)
      : rows_(rows),
        cols_(cols),
        entries_(entries),
        stride_(padded(rows)),
        width_(width),
        sliced_(offsets.extent(0) > 0),
        offsets_(offsets),
        columns_(columns),
        values_(values) {}

  /// Rows of the matrix.
  KOKKOS_FUNCTION std::int64_t rows() const { return rows_; }
  /// Columns of the matrix.
  KOKKOS_FUNCTION std::int64_t cols() const { return cols_; }
  /// Entries that were given, without the padding.
  std::int64_t entries() const { return entries_; }
  /// Entries that are stored, with the padding.
  std::int64_t stored() const { return static_cast<std::int64_t>(values_.extent(0)); }
  /// Entries of the widest row.
  int width() const { return width_; }
  /// How the entries lie.
  EllStorage storage() const { return sliced_ ? EllStorage::Sliced : EllStorage::Slab; }
  /// Bytes of values, columns and offsets.
  std::int64_t bytes() const {
    return stored() * static_cast<std::int64_t>(sizeof(Value) + sizeof(Index)) +
           static_cast<std::int64_t>(offsets_.extent(0) * sizeof(std::int64_t));
  }

  /// Where the entries of row i are.
  KOKKOS_FUNCTION Row row(std::int64_t i) const {
    if (!sliced_) return {i, stride_, width_};
    std::int64_t const slice = i / slice_rows, first = offsets_(slice);
    return {first + i % slice_rows, slice_rows,
            static_cast<int>((offsets_(slice + 1) - first) / slice_rows)};
  }
  /// The column of entry k of row i.
  KOKKOS_FUNCTION std::int64_t column(std::int64_t i, int k) const {
    Row const own = row(i);
    return columns_(own.first + k * own.stride);
  }
  /// Columns of all stored entries.
  KOKKOS_FUNCTION Index const* columns() const { return columns_.data(); }
  /// Values of all stored entries.
  KOKKOS_FUNCTION Value const* values() const { return values_.data(); }

  /// The same pattern with other values.
  template <class Other>
  EllMatrix<Other, Index, MemorySpace> with_values(
      Kokkos::View<Other*, MemorySpace> const& values) const {
    return {rows_, cols_, entries_, width_, offsets_, columns_, values};
  }

  /// Whether an entry of row i in that column is padding if its value is 0.
  KOKKOS_FUNCTION bool pads(std::int64_t i, std::int64_t column) const {
    return column == padding(i);
  }
  /// The column of a padded entry of row i.
  KOKKOS_FUNCTION std::int64_t padding(std::int64_t i) const { return i < cols_ ? i : cols_ - 1; }

  /// The number rounded up to whole slices.
  static constexpr std::int64_t padded(std::int64_t rows) {
    return (rows + slice_rows - 1) / slice_rows * slice_rows;
  }

 private:
  std::int64_t rows_ = 0, cols_ = 0, entries_ = 0, stride_ = 0;
  int width_ = 0;
  bool sliced_ = false;
  Kokkos::View<std::int64_t*, MemorySpace> offsets_;
  Kokkos::View<Index*, MemorySpace> columns_;
  Kokkos::View<Value*, MemorySpace> values_;
};

}  // namespace strata::sparse

#endif
