// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Report.hpp>

#include <core/io/Strata_TextFile.hpp>

#include <cmath>
#include <ostream>
#include <string_view>
#include <utility>

namespace strata::apps {

namespace {

std::string shown(Report::Value const& value, std::string_view format) {
  if (value.is_string()) return value;
  if (value.is_boolean()) return value ? "yes" : "no";
  if (format == unit::bytes) return in_bytes(value.get<double>());
  if (!format.empty()) return text(format.data(), value.get<double>());
  return value.is_number_float() ? text("%.6g", value.get<double>()) : value.dump();
}

}  // namespace

void Report::section(std::string title, std::string prefix) {
  sections_.push_back({std::move(title), std::move(prefix), {}});
}

void Report::add(std::string const& key, std::string label, Value value, char const* format,
                 std::string const& note) {
  std::string words = value.is_null() ? "" : shown(value, format);
  if (!words.empty() && !note.empty()) words += "  (" + note + ")";
  tell(key, std::move(label), std::move(value), std::move(words));
}

void Report::tell(std::string const& key, std::string label, Value value, std::string words) {
  auto& section = sections_.back();
  section.entries.push_back({key.empty() ? "" : "/" + section.prefix + key, std::move(label),
                             std::move(words), std::move(value)});
}

void Report::only_json(std::string const& key, Value value) { tell(key, "", std::move(value), ""); }

void Report::only_screen(std::string label, std::string words) {
  tell("", std::move(label), nullptr, std::move(words));
}

void Report::print(std::ostream& out) const {
  bool is_first = true;
  for (auto const& section : sections_) {
    bool begins = true;
    for (auto const& entry : section.entries) {
      if (entry.words.empty()) continue;
      if (std::exchange(begins, false)) {
        if (!std::exchange(is_first, false)) out << '\n';
        if (!section.title.empty()) out << section.title << '\n';
      }
      if (!entry.label.empty()) out << text("  %-24s ", entry.label.c_str());
      out << entry.words << '\n';
    }
  }
}

Report::Value Report::json() const {
  Value document = Value::object();
  for (auto const& section : sections_)
    for (auto const& [key, label, words, value] : section.entries)
      if (!key.empty()) document[Value::json_pointer(key)] = value;
  return document;
}

std::string Report::json_text() const {
  return json().dump(2, ' ', false, Value::error_handler_t::replace) + '\n';
}

void Report::write(std::string const& path) const {
  if (!path.empty()) write_text_file(path, json_text());
}

}  // namespace strata::apps
