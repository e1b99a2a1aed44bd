// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The pieces in which a caller's matrices cross to a device and back.
#include <c/runtime/Strata_HostMatrices.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <vector>

namespace strata::test {
namespace {

using c::BatchShape, c::HostMatrices, c::Part, c::Rectangle, c::rectangles, c::RowsOfColumn;

constexpr Part parts[] = {Part::None, Part::All, Part::Lower, Part::Upper};

/// How often pieces of up to `most` numbers hold each number of a batch's columns, which follow one
/// another.
std::vector<int> times_held(Part part, BatchShape const& shape, std::int64_t most) {
  std::vector<int> held(shape.size(), 0);
  for (Rectangle const& piece : rectangles(part, shape, most)) {
    EXPECT_GT(piece.rows * piece.cols, 0);
    EXPECT_LE(piece.rows * piece.cols, most);
    for (std::int64_t j = piece.col; j < piece.col + piece.cols; ++j)
      for (std::int64_t i = piece.row; i < piece.row + piece.rows; ++i)
        ++held.at(static_cast<std::size_t>(i + j * shape.rows));
  }
  return held;
}

TEST(HostMatrices, PiecesHoldEachNumberOfThePartOnce) {
  for (auto const& [rows, cols, count] : std::initializer_list<std::int64_t[3]>{{1, 1, 1},
                                                                                {7, 7, 1},
                                                                                {7, 3, 1},
                                                                                {3, 7, 1},
                                                                                {40, 40, 1},
                                                                                {5, 5, 4},
                                                                                {1, 1, 9},
                                                                                {0, 4, 1},
                                                                                {4, 0, 1}})
    for (std::int64_t const most : {1, 2, 3, 16, 64, 1000, 100000})
      for (Part const part : parts) {
        SCOPED_TRACE(testing::Message() << rows << " x " << cols << " x " << count << ", " << most);
        BatchShape const shape{rows, cols, rows + 2, (rows + 2) * cols, count};
        auto const held = times_held(part, shape, most);
        for (std::int64_t j = 0; j < cols * count; ++j) {
          RowsOfColumn const of_part(part, rows, j % cols);
          for (std::int64_t i = 0; i < rows; ++i) {
            bool const is_in_part = part != Part::None && of_part.first <= i && i < of_part.end;
            int const times = held[static_cast<std::size_t>(i + j * rows)];
            ASSERT_TRUE(is_in_part ? times == 1 : times <= 1) << i << ' ' << j;
          }
        }
      }
}

// A triangle takes about half of what the square does, in few pieces.
TEST(HostMatrices, PiecesOfATriangleAreLittleMoreThanIt) {
  std::int64_t const n = 4000, most = 1 << 16;
  for (Part const part : {Part::Lower, Part::Upper}) {
    auto const pieces = rectangles(part, {n, n, n}, most);
    std::int64_t numbers = 0;
    for (Rectangle const& piece : pieces) numbers += piece.rows * piece.cols;
    EXPECT_LE(numbers, 51 * n * n / 100);
    EXPECT_LE(pieces.size(), static_cast<std::size_t>(n * n / most));
  }
}

/// Where the device's copy, without padding, has what a piece holds in columns of its own.
template <class Function>
void for_columns(Rectangle const& piece, std::int64_t rows, Function const& f) {
  for (std::int64_t k = 0; k < piece.cols; ++k)
    f(static_cast<std::size_t>(piece.row + (piece.col + k) * rows),
      static_cast<std::size_t>(k * piece.rows), static_cast<std::size_t>(piece.rows));
}

// There and back, to another array of the same shape: the part arrives, and nothing else is read or
// written.
TEST(HostMatrices, ThePartAloneIsReadAndWritten) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  BatchShape const shape{9, 9, 12, 120, 3};
  auto const size = static_cast<std::size_t>(shape.stride * shape.count);
  for (Part const part : parts)
    for (std::int64_t const count : {1, 3}) {
      BatchShape batch = shape;
      batch.count = count;
      std::vector<double> from(size, nan), to(size, -1), device(batch.size(), 0), slot(64, 0);
      std::vector<bool> is_in_part(size, false);
      for (std::int64_t j = 0; j < 9 * count && part != Part::None; ++j) {
        RowsOfColumn const rows(part, 9, j % 9);
        for (std::int64_t i = rows.first; i < rows.end; ++i) {
          auto const k = static_cast<std::size_t>(j / 9 * 120 + j % 9 * 12 + i);
          from[k] = static_cast<double>(k);
          is_in_part[k] = true;
        }
      }
      auto const bytes_of = [](std::vector<double>& v) {
        return reinterpret_cast<std::byte*>(v.data());
      };
      HostMatrices const source{bytes_of(from), sizeof(double), batch, part},
          target{bytes_of(to), sizeof(double), batch, part};
      for (Rectangle const& piece : rectangles(part, batch, 64)) {
        source.pack(piece, bytes_of(slot));
        for_columns(piece, 9, [&](std::size_t there, std::size_t here, std::size_t numbers) {
          std::memcpy(&device[there], &slot[here], numbers * sizeof(double));
        });
      }
      for (double const value : device) EXPECT_FALSE(value != value);
      for (Rectangle const& piece : rectangles(part, batch, 50)) {
        for_columns(piece, 9, [&](std::size_t there, std::size_t here, std::size_t numbers) {
          std::memcpy(&slot[here], &device[there], numbers * sizeof(double));
        });
        target.unpack(piece, bytes_of(slot));
      }
      for (std::size_t k = 0; k < size; ++k)
        ASSERT_EQ(to[k], is_in_part[k] ? static_cast<double>(k) : -1) << k;
    }
}

}  // namespace
}  // namespace strata::test
