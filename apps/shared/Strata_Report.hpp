// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_REPORT_HPP
#define STRATA_APPS_REPORT_HPP

#include <apps/shared/Strata_Text.hpp>

#include <nlohmann/json.hpp>

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace strata::apps {

/// How a number looks on screen: printf's format for a double, among any other text.
namespace unit {
inline constexpr char const* plain = "";       ///< integers in full, else six digits
inline constexpr char const* bytes = "bytes";  ///< see `in_bytes`
inline constexpr char const* seconds = "%10.4f";
inline constexpr char const* short_seconds = "%.3g s";
inline constexpr char const* error = "%.2e";
}  // namespace unit

/// What a run tells: rows in sections, the table for people, and a JSON document for machines.
///
/// The tables of fields make the document; a value that is not known is null there. A row of the
/// table that has no words is left out, a list or an object has its elements in one row.
class Report {
 public:
  using Value = nlohmann::ordered_json;

  /// Begin a section of the table, which is left out if it has no rows.
  void section(std::string title);

  /// A part of the document, under its key; the members of `value` themselves for an empty key.
  void document(std::string const& key, Value const& value);
  /// A row of the table, with `note` behind it in brackets; none for null.
  void show(std::string label, Value const& value, char const* format = unit::plain,
            std::string const& note = "");
  /// The same, but 0, false and an empty text are not shown.
  void show_unless_zero(std::string label, Value const& value, char const* format = unit::plain,
                        std::string const& note = "");
  /// A row of the table in words; without a label a line of its own.
  void only_screen(std::string label, std::string words);

  /// Print no table.
  void hide_table() { has_table_ = false; }

  /// The table; where `json_path` is "-" the document.
  void print(std::ostream& out, std::string const& json_path = "") const;
  /// The document, numbers that are not finite as null.
  std::string json_text() const;
  /// Write the document to a file; nothing if the path is empty or "-", for `print`. Throws
  /// IoError.
  void write(std::string const& path) const;

 private:
  struct Row {
    std::string label, words;
  };
  struct Section {
    std::string title;
    std::vector<Row> rows;
  };
  std::vector<Section> sections_{1};
  Value document_ = Value::object();
  bool has_table_ = true;
};

/// null if there is none.
template <class T>
Report::Value or_null(std::optional<T> const& value) {
  return value ? Report::Value(*value) : Report::Value(nullptr);
}

/// Add what `strata info` tells, versions, backends and devices, to another command's document, as
/// `configuration`.
void add_configuration(Report& report);

}  // namespace strata::apps

#endif
