// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Errors.hpp>
#include <core/io/files/Strata_ParseNumber.hpp>
#include <core/io/files/detail/Strata_LineReader.hpp>
#include <core/io/matrix_file/detail/Strata_ColumnsStream.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace strata::detail {

namespace {

// What to do about a line with a word that `reason` is said of; nothing if that is not known.
std::string remedy(std::string_view line, std::string_view reason, bool is_first) {
  if (reason != "is not a number") return "";
  auto const semicolon = line.find(';');
  if (semicolon != std::string_view::npos)
    return line.find_first_not_of("; \t\r", semicolon) == std::string_view::npos
               ? "; leave out the ';' at the ends of lines"
               : "; numbers are separated by commas or blanks: put ',' for ';', after '.' for "
                 "decimal ','";
  return is_first ? "; leave a line of names out, or begin it with #" : "";
}

// Add the numbers of one line of a file; their count.
std::size_t take_numbers(LineReader const& lines, std::string_view line,
                         std::vector<double>& numbers) {
  bool const by_commas = line.find(',') != std::string_view::npos;
  std::size_t count = 0;
  for (std::string_view rest = line;; ++count) {
    auto const comma = by_commas ? std::min(rest.find(','), rest.size()) : rest.size();
    std::string_view field = rest.substr(0, comma);
    auto const word = take_word(by_commas ? field : rest);
    if (word.empty() && !by_commas) return count;
    double value = 0;
    if (char const* reason = word.empty() ? "is empty" : parse_number(word, value))
      lines.fail("number ", count + 1, ": ", excerpt(word), ' ', reason,
                 remedy(line, reason, numbers.empty()));
    numbers.push_back(value);
    if (!by_commas) continue;
    if (!take_word(field).empty()) lines.fail("expected ',' between numbers");
    if (comma == rest.size()) return count + 1;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

HostMatrix read_columns(ByteSource& source, ReadOptions const& options) {
  LineReader lines(source);
  std::vector<double> numbers;
  std::size_t rows = 0, cols = 0;
  for (std::string_view line; lines.next(line);) {
    auto const first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos || line[first] == '#') continue;
    std::size_t const count = take_numbers(lines, line, numbers);
    if (rows++ == 0) cols = count;
    if (count != cols) lines.fail("expected ", cols, " numbers, found ", count);
    STRATA_REQUIRE(MemoryError, 2 * numbers.size() * sizeof(double) <= options.max_bytes,
                   source.name(), ": more than ", numbers.size(), " numbers; the limit is ",
                   options.max_bytes, " bytes");
  }
  if (rows == 0) lines.fail_at_end("expected a line of numbers");
  HostMatrix const A(Kokkos::view_alloc(Kokkos::WithoutInitializing, "strata::read_matrix"), rows,
                     cols);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < cols; ++j) A(i, j) = numbers[i * cols + j];
  return A;
}

void write_columns(ByteSink& sink, ConstHostMatrix const& A, char separator,
                   std::function<void(double)> const& on_progress) {
  TextWriter text(sink);
  WrittenPart part(A.size(), on_progress);
  for (std::size_t i = 0; i < A.extent(0); ++i) {
    for (std::size_t j = 0; j < A.extent(1); ++j)
      text << A(i, j) << (j + 1 < A.extent(1) ? separator : '\n');
    part.add(A.extent(1));
  }
  text.finish();
}

}  // namespace strata::detail
