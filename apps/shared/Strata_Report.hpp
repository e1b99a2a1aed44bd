// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_REPORT_HPP
#define STRATA_APPS_REPORT_HPP

#include <apps/shared/Strata_Text.hpp>

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace strata::apps {

/// How a number looks on screen, as printf's format for a double: any other text may stand around
/// it.
namespace unit {
inline constexpr char const* plain = "";       ///< integers in full, else six digits
inline constexpr char const* bytes = "bytes";  ///< see `in_bytes`
inline constexpr char const* seconds = "%10.4f";
inline constexpr char const* short_seconds = "%.3g s";
inline constexpr char const* error = "%.2e";
}  // namespace unit

/// What a run tells: a list of values in sections, from which one printer makes the table for
/// people, and another the JSON document for machines.
///
/// A key is the path of a value in the document, as "seconds/total"; "attempts/-" is one more
/// element of that list. A value that is not known is null: the document says so, the table has no
/// row of it. Of lists and objects the table has the elements in one row.
class Report {
 public:
  using Value = nlohmann::ordered_json;

  /// Begin a section. The table has its title if a row of it; `prefix` goes before the keys that
  /// follow.
  void section(std::string title, std::string prefix = "");

  /// A value of both; `note` stands behind it in brackets.
  void add(std::string const& key, std::string label, Value value, char const* format = unit::plain,
           std::string const& note = "");
  /// The same, but 0, false and an empty text are only in the document.
  void add_unless_zero(std::string const& key, std::string label, Value value,
                       char const* format = unit::plain, std::string const& note = "");
  /// A value of both that the table puts into words; no words: only in the document.
  void tell(std::string const& key, std::string label, Value value, std::string words);
  /// Only in the document.
  void only_json(std::string const& key, Value value);
  /// A part of the document, as the tables of fields make it; its root for an empty key.
  void document(std::string const& key, Value value);
  /// Only in the table: a value as it looks there, with `note` behind it in brackets; none of null.
  void show(std::string label, Value const& value, char const* format = unit::plain,
            std::string const& note = "");
  /// The same, but 0, false and an empty text are not shown.
  void show_unless_zero(std::string label, Value const& value, char const* format = unit::plain,
                        std::string const& note = "");
  /// Values that are not known.
  void nulls(std::initializer_list<char const*> keys);
  /// Only in the table; without a label a line of its own.
  void only_screen(std::string label, std::string words);

  /// Print no table.
  void hide_table() { has_table_ = false; }

  /// The table; where `json_path` is "-" the document.
  void print(std::ostream& out, std::string const& json_path = "") const;
  /// The document, numbers that are not finite as null.
  Value json() const;
  std::string json_text() const;
  /// Write the document to a file; nothing if the path is empty or "-", for `print`. Throws
  /// IoError.
  void write(std::string const& path) const;

 private:
  struct Entry {
    std::string key;           ///< empty: only on screen
    std::string label, words;  ///< no words: only in JSON
    Value value;
  };
  struct Section {
    std::string title, prefix;
    std::vector<Entry> entries;
  };
  std::vector<Section> sections_{1};
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
