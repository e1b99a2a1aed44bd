// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_SLICE_ROWS_HPP
#define STRATA_SPARSE_DETAIL_SLICE_ROWS_HPP

#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/formats/Strata_SlicedEllMatrix.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

// The rows of a sliced matrix as set-up goes through them: a row is a device's item, a slice is a
// host's, whose inner loops are contiguous then.
namespace strata::sparse::detail {

template <class Exec>
inline constexpr int rows_of_item = strata::runs_on_host<Exec> ? 32 : 1;

/// Rows of a slice, with those below the matrix' last one.
template <class Matrix, int Rows>
struct SliceRows {
  Matrix const& A;
  std::int64_t first;  ///< first row
  int count;           ///< rows of the matrix among them

  KOKKOS_FUNCTION SliceRows(Matrix const& matrix, std::int64_t item)
      : A(matrix), first(item * Rows) {
    std::int64_t const left = A.rows() - first;
    count = static_cast<int>(left < 0 ? 0 : left < Rows ? left : Rows);
  }
  /// Items of a matrix, to the end of its last slice.
  static std::int64_t items(Matrix const& A) {
    constexpr int slice = Matrix::slice_rows;
    return (A.rows() + slice - 1) / slice * (slice / Rows);
  }

  /// step(r, the place of the value, column) for each slot of each row first + r, a row's slots in
  /// order. Below the last row a column may be any.
  template <class Step>
  KOKKOS_FUNCTION void for_each(Step const& step) const {
    std::int64_t const lane = first % Matrix::slice_rows;
    EllSlice const slice = A.slice(first / Matrix::slice_rows);
    auto const width = static_cast<int>(slice.width);
    switch (static_cast<Columns>(slice.kind)) {
      case Columns::Shared:
        return for_each_slot(slice.values + lane, width, step, [&](int k, int r) {
          return first + r + A.numbers()[slice.columns + k];
        });
      case Columns::Narrow:
        return for_each_slot(slice.values + lane, width, step, [&](int k, int r) {
          return std::int64_t{slice.base} +
                 A.narrow()[slice.columns + lane + k * Matrix::slice_rows + r];
        });
      case Columns::Wide:
        return for_each_slot(slice.values + lane, width, step, [&](int k, int r) {
          return std::int64_t{A.numbers()[slice.columns + lane + k * Matrix::slice_rows + r]};
        });
    }
  }

 private:
  template <class Step, class Column>
  KOKKOS_FUNCTION void for_each_slot(std::int64_t at, int width, Step const& step,
                                     Column const& column) const {
    for (int k = 0; k < width; ++k)
      for (int r = 0; r < Rows; ++r)
        step(r, at + std::int64_t{k} * Matrix::slice_rows + r, column(k, r));
  }
};

/// The sum of each row's entries, of their sizes, and of those on the diagonal.
template <class Matrix, int Rows>
struct RowSums : SliceRows<Matrix, Rows> {
  double sum[Rows], size[Rows], diagonal[Rows];

  KOKKOS_FUNCTION RowSums(Matrix const& A, std::int64_t item) : SliceRows<Matrix, Rows>(A, item) {
    for (int r = 0; r < Rows; ++r) sum[r] = size[r] = diagonal[r] = 0;
    auto const* const values = A.values();
    std::int64_t const first = this->first;
    this->for_each([&](int r, std::int64_t at, std::int64_t column) {
      auto const a = static_cast<double>(values[at]);
      sum[r] += a;
      size[r] += Kokkos::abs(a);
      diagonal[r] += column == first + r ? a : 0;
    });
  }
};

}  // namespace strata::sparse::detail

#endif
