// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TABLE_COLUMNS_HPP
#define STRATA_TABLE_COLUMNS_HPP

#include <core/io/files/detail/Strata_LineReader.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata::detail {

/// A field of a line.
struct Field {
  std::string_view text;  ///< cell without its quotes
  bool quoted;
};

/// The text that quotes hold: of two quotes inside one.
std::string unquoted(Field const& field);

/// Text without the blanks around it.
std::string_view trimmed(std::string_view text);

std::string in_lower_case(std::string_view text);

/// The fields of a line.
///
/// Throws   IoError for a quote that is not closed, and for text behind one that is.
void split(LineReader const& lines, std::string_view line, char delimiter,
           std::vector<Field>& fields);

/// What the first line of a table says of the others.
struct TableColumns {
  bool geographic = false;
  std::size_t count = 0;  ///< fields of each line
  char delimiter = ',';
  std::vector<std::string> names;  ///< names of all columns
  /// Name and number of those whose numbers are read: coordinates, the value of stations, then what
  /// is asked for beside them.
  std::vector<std::pair<std::string, std::size_t>> used;

  bool is_used(std::size_t column) const;
};

/// The columns of these names and more of numbers, as in StationColumns, or the columns that the
/// rule of `read_stations` chooses.
///
/// Throws   IoError that says what was found where a column is not there, there twice, or not to be
///          told from others.
TableColumns find_columns(LineReader const& lines, std::string_view header,
                          std::vector<std::string> const& names,
                          std::vector<std::string> const& also, bool with_values);

}  // namespace strata::detail

#endif
