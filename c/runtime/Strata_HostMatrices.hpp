// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_HOST_MATRICES_HPP
#define STRATA_C_HOST_MATRICES_HPP

#include <core/Strata_MatrixRef.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace strata::c {

/// The elements of a matrix that are copied to or from the device.
enum class Part { None, All, Lower, Upper };

inline Part part_of(Uplo uplo) { return uplo == Uplo::Lower ? Part::Lower : Part::Upper; }

/// The rows [first, end) of a part in column j of a matrix of `rows` rows.
struct RowsOfColumn {
  std::int64_t first, end;

  RowsOfColumn(Part part, std::int64_t rows, std::int64_t j)
      : first(part == Part::Lower ? std::min(j, rows) : 0),
        end(part == Part::Upper ? std::min(j + 1, rows) : rows) {}
};

/// `count` column-major matrices of one shape, each `stride` numbers after the one before.
struct BatchShape {
  std::int64_t rows, cols, ld, stride = 0, count = 1;

  /// Numbers from the first of a matrix to its last.
  std::int64_t span() const { return rows > 0 && cols > 0 ? (cols - 1) * ld + rows : 0; }
  std::size_t size() const { return static_cast<std::size_t>(rows * cols * count); }
};

/// Some rows of some columns, where the columns of a batch have one number after the other.
struct Rectangle {
  std::int64_t row, rows, col, cols;
};

/// Rectangles of at most `most` numbers, which hold each number of the part once. Rectangles of a
/// triangle stick out at its diagonal; rectangles of a batch have all rows.
inline std::vector<Rectangle> rectangles(Part part, BatchShape const& shape, std::int64_t most) {
  std::vector<Rectangle> result;
  if (part == Part::None || shape.size() == 0) return result;
  Part const outline = shape.count == 1 ? part : Part::All;
  std::int64_t const columns = shape.cols * shape.count;
  auto const rows_from = [&](std::int64_t col) {
    return RowsOfColumn(outline, shape.rows, col).first;
  };
  auto const rows_to = [&](std::int64_t col) { return RowsOfColumn(outline, shape.rows, col).end; };
  for (std::int64_t col = 0; col < columns && rows_from(col) < shape.rows;) {
    std::int64_t const first = rows_from(col);
    auto const fit = [&](std::int64_t cols) {
      return cols * (rows_to(col + cols - 1) - first) <= most;
    };
    // The largest number of columns that fit: an upper triangle's get longer.
    auto const c = static_cast<double>(col), all = static_cast<double>(most);
    std::int64_t cols = outline == Part::Upper
                            ? static_cast<std::int64_t>((std::sqrt(c * c + 4 * all) - c) / 2) + 1
                            : most / (shape.rows - first);
    cols = std::clamp<std::int64_t>(std::max(cols, most / shape.rows), 1, columns - col);
    while (cols > 1 && !fit(cols)) --cols;
    std::int64_t const end = rows_to(col + cols - 1);
    for (std::int64_t row = first; row < end; row += most)
      result.push_back({row, std::min(most, end - row), col, cols});
    col += cols;
  }
  return result;
}

/// Matrices in a host's memory. Only the part named is ever read or written. Other threads may use
/// the rest, and the rows below in a padded matrix.
struct HostMatrices {
  std::byte* data;
  std::size_t number;  ///< bytes of one
  BatchShape shape;
  Part part;

  /// `packed`, whose columns are as long as the rectangle's = the part's numbers in it.
  void pack(Rectangle const& from, std::byte* packed) const {
    for_columns(from, packed, [](std::byte* mine, std::byte* theirs, std::size_t bytes) {
      std::memcpy(mine, theirs, bytes);
    });
  }
  /// The part's numbers in a rectangle = `packed`.
  void unpack(Rectangle const& to, std::byte* packed) const {
    for_columns(to, packed, [](std::byte* mine, std::byte* theirs, std::size_t bytes) {
      std::memcpy(theirs, mine, bytes);
    });
  }

 private:
  template <class Function>
  void for_columns(Rectangle const& of, std::byte* packed, Function const& f) const {
    for (std::int64_t k = 0; k < of.cols; ++k) {
      std::int64_t const matrix = (of.col + k) / shape.cols, j = (of.col + k) % shape.cols;
      RowsOfColumn const rows(part, shape.rows, j);
      std::int64_t const first = std::max(rows.first, of.row),
                         end = std::min(rows.end, of.row + of.rows);
      if (first >= end) continue;
      auto const bytes = [&](std::int64_t numbers) {
        return static_cast<std::size_t>(numbers) * number;
      };
      f(packed + bytes(first - of.row + k * of.rows),
        data + bytes(matrix * shape.stride + j * shape.ld + first), bytes(end - first));
    }
  }
};

}  // namespace strata::c

#endif
