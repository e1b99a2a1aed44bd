// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MATRIX_MARKET_STREAM_HPP
#define STRATA_MATRIX_MARKET_STREAM_HPP

#include <core/io/Strata_MatrixMarket.hpp>
#include <core/io/files/Strata_ByteSink.hpp>
#include <core/io/files/Strata_ByteSource.hpp>
#include <core/io/files/Strata_ParseNumber.hpp>
#include <core/io/files/detail/Strata_LineReader.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace strata::detail {

/// The readers and writers of Strata_MatrixMarket.hpp over any bytes (fuzz targets use memory).
MatrixMarketMatrix read_matrix_market(ByteSource& source, ReadOptions const& options);
/// An array file, number by number, in its order. `begin` gets the header (also of a coordinate
/// file, which it must refuse by throwing), then `entry` each number. Throws as
/// `read_matrix_market`.
void read_array_entries(ByteSource& source,
                        std::function<void(MatrixMarketHeader const&)> const& begin,
                        std::function<void(double)> const& entry);
void write_matrix_market(ByteSink& sink, ConstHostMatrix const& A, Symmetry symmetry);
void write_matrix_market(ByteSink& sink, CoordinateMatrix const& A);

/// Two entries (0-based, in the order of the list) of the same position, if there are any. Cost:
/// linear for a list sorted by columns or by rows, else n log n.
std::optional<std::pair<std::size_t, std::size_t>> find_duplicate(CoordinateMatrix const& A);
/// Entries at one position become one with their sum, in the place of the first; `added` counts the
/// others. The position whose sum is not finite, if there is one. Cost as `find_duplicate`.
std::optional<std::pair<std::int64_t, std::int64_t>> add_duplicates(CoordinateMatrix& A);
/// The same of the matrix of a file that lists so many entries; `options.on_remark` hears of it.
/// Throws IoError for a sum that is not finite.
void take_duplicates(std::string const& path, CoordinateMatrix& A, std::int64_t listed,
                     ReadOptions const& options);

/// The first lines of a file, up to the sizes. Throws as `read_matrix_market_header`.
MatrixMarketHeader read_market_header(LineReader& lines);

/// The line has nothing more on it.
inline void refuse_rest(LineReader const& lines, std::string_view rest) {
  auto const word = take_word(rest);
  if (!word.empty()) lines.fail("expected the end of the line, found ", excerpt(word));
}

/// Whether a line has an entry: something on it, and it is no comment.
inline bool has_content(std::string_view line) {
  auto const first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line[first] != '%';
}

/// The next line with an entry.
inline bool next_content(LineReader& lines, std::string_view& line) {
  while (lines.next(line))
    if (has_content(line)) return true;
  return false;
}

/// The number that the line goes on with; `what` is for messages.
template <class T>
T take_number(LineReader const& lines, std::string_view& line, char const* what) {
  auto const word = take_word(line);
  if (word.empty()) lines.fail("expected the ", what, ", found the end of the line");
  T value{};
  if (char const* reason = parse_number(word, value))
    lines.fail(what, ' ', excerpt(word), ' ', reason);
  return value;
}

/// Entries without a value, which is 1.
struct PatternField {};

/// The value of an entry; Field is double, std::int64_t or PatternField.
template <class Field>
double take_value(LineReader const& lines, std::string_view& line) {
  if constexpr (std::is_same_v<Field, PatternField>) {
    return 1;
  } else {
    auto const value = take_number<Field>(lines, line, "value");
    constexpr std::int64_t largest_exact_integer = std::int64_t(1) << 53;
    if constexpr (std::is_same_v<Field, std::int64_t>)
      if (value > largest_exact_integer || value < -largest_exact_integer)
        lines.fail("value ", value, " is not exact in fp64");
    return static_cast<double>(value);
  }
}

/// A row or column index from 1 to `extent`, less one.
inline std::int64_t take_index(LineReader const& lines, std::string_view& line, char const* what,
                               std::int64_t extent) {
  auto const index = take_number<std::int64_t>(lines, line, what);
  if (index < 1 || index > extent) lines.fail(what, ' ', index, " is outside 1 to ", extent);
  return index - 1;
}

/// An entry's whole line: calls entry(row, column, value). Refuses an entry on the diagonal of a
/// skew-symmetric list.
template <class Field, class Entry>
void take_entry(LineReader const& lines, std::string_view& line, MatrixMarketHeader const& header,
                Entry const& entry) {
  auto const i = take_index(lines, line, "row index", header.rows);
  auto const j = take_index(lines, line, "column index", header.cols);
  if (header.skew && i == j)
    lines.fail("entry (", i + 1, ", ", j + 1, ") is on the diagonal of a skew-symmetric matrix");
  double const value = take_value<Field>(lines, line);
  refuse_rest(lines, line);
  entry(i, j, value);
}

/// Calls work(Field()) for the type of the numbers that the file lists.
template <class Work>
decltype(auto) with_field(MatrixMarketField field, Work const& work) {
  switch (field) {
    case MatrixMarketField::Pattern:
      return work(PatternField());
    case MatrixMarketField::Integer:
      return work(std::int64_t());
    default:
      return work(double());
  }
}

}  // namespace strata::detail

#endif
