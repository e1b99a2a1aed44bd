// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Report.hpp>

#include <core/io/files/Strata_TextFile.hpp>

#include <algorithm>
#include <iostream>
#include <string_view>
#include <utility>

namespace strata::apps {

namespace {

bool is_zero(Report::Value const& value) {
  return value.is_number() ? value == 0 : value.empty() || value == "" || value == false;
}

std::string shown(Report::Value const& value, std::string_view format);

// "seconds 0.012 s, bytes 1.5 MB": the names of members tell their units.
std::string shown_members(Report::Value const& object) {
  std::vector<std::string> list;
  for (auto const& [key, value] : object.items()) {
    bool const bytes = key.find("bytes") != std::string::npos;
    bool const seconds = key.find("seconds") != std::string::npos;
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', ' ');
    list.push_back(name + ' ' +
                   shown(value, bytes     ? unit::bytes
                                : seconds ? unit::short_seconds
                                          : unit::plain));
  }
  return joined(list);
}

std::string shown(Report::Value const& value, std::string_view format) {
  if (value.is_null()) return "not known";
  if (value.is_string()) return value;
  if (value.is_boolean()) return value ? "yes" : "no";
  if (value.is_object()) return shown_members(value);
  if (value.is_array()) {
    std::vector<std::string> list;
    for (auto const& element : value) list.push_back(shown(element, format));
    return joined(list);
  }
  if (format == unit::bytes) return in_bytes(value.get<double>());
  if (!format.empty()) return text(format.data(), value.get<double>());
  return value.is_number_float() ? text("%.6g", value.get<double>()) : value.dump();
}

}  // namespace

void Report::section(std::string title) { sections_.push_back({std::move(title), {}}); }

void Report::document(std::string const& key, Value const& value) {
  if (key.empty())
    document_.update(value);
  else
    document_[key] = value;
}

void Report::show(std::string label, Value const& value, char const* format,
                  std::string const& note) {
  if (value.is_null()) return;
  std::string words = shown(value, format);
  if (!note.empty()) words += "  (" + note + ")";
  only_screen(std::move(label), std::move(words));
}

void Report::show_unless_zero(std::string label, Value const& value, char const* format,
                              std::string const& note) {
  if (!is_zero(value)) show(std::move(label), value, format, note);
}

void Report::only_screen(std::string label, std::string words) {
  sections_.back().rows.push_back({std::move(label), std::move(words)});
}

void Report::print(std::ostream& out, std::string const& json_path) const {
  if (json_path == "-") {
    out << json_text();
    return;
  }
  if (!has_table_) return;
  bool is_first = true;
  for (auto const& section : sections_) {
    bool begins = true;
    for (auto const& [label, words] : section.rows) {
      if (words.empty()) continue;
      if (std::exchange(begins, false)) {
        if (!std::exchange(is_first, false)) out << '\n';
        if (!section.title.empty()) out << section.title << '\n';
      }
      if (!label.empty()) out << text("  %-24s ", label.c_str());
      out << words << '\n';
    }
  }
}

std::string Report::json_text() const {
  return document_.dump(2, ' ', false, Value::error_handler_t::replace) + '\n';
}

void Report::write(std::string const& path) const {
  if (!path.empty() && path != "-") write_text_file(path, json_text());
}

}  // namespace strata::apps
