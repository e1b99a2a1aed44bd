// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/document/Strata_Document.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace strata::apps::detail {

namespace {

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts(1);
  for (char const c : path) c == '/' ? parts.emplace_back() : parts.back() += c;
  return parts;
}

// What `from` has goes to the places that `into` has for it, or to its end.
void fill_places(Json& into, Json const& from) {
  for (auto const& [key, value] : from.items())
    if (value.is_object() && into.contains(key) && into[key].is_object())
      fill_places(into[key], value);
    else
      into[key] = value;
}

bool holds(Json const& list, Json const& value) {
  return std::any_of(list.begin(), list.end(), [&](Json const& one) { return one == value; });
}

}  // namespace

void put(Json& document, std::string_view path, Json value) {
  document[Json::json_pointer("/" + std::string(path))] = std::move(value);
}

Json in_order(Json const& document, char const* const* order, std::size_t count) {
  Json placed = Json::object();
  for (std::size_t k = 0; k < count; ++k)
    if (document.contains(Json::json_pointer('/' + std::string(order[k])))) {
      bool const is_object =
          document.at(Json::json_pointer('/' + std::string(order[k]))).is_object();
      put(placed, order[k], is_object ? Json::object() : Json());
    }
  fill_places(placed, document);
  return placed;
}

Json& described_key(Json& schema, std::string_view path, bool is_required) {
  Json* at = &schema;
  for (auto const& part : parts_of(path)) {
    if (!at->contains("properties")) {
      (*at)["type"] = "object";
      (*at)["required"] = Json::array();
      (*at)["properties"] = Json::object();
    }
    Json& required = (*at)["required"];
    if (is_required && !holds(required, part)) required.push_back(part);
    at = &(*at)["properties"][part];
    if (at->is_null()) *at = Json::object();
  }
  return *at;
}

void merge_type(Json& key, Json const& type) {
  if (!key.contains("properties") || !type.contains("properties")) {
    key = type;
    return;
  }
  Json const before = key;
  key = type;
  key["required"].insert(key["required"].end(), before["required"].begin(),
                         before["required"].end());
  key["properties"].update(before["properties"]);
}

void allow_null(Json& schema) {
  if (schema.contains("enum")) {
    if (!holds(schema["enum"], nullptr)) schema["enum"].push_back(nullptr);
  } else if (schema.contains("type")) {
    Json& type = schema["type"];
    if (!type.is_array()) type = Json::array({type});
    if (!holds(type, "null")) type.push_back("null");
  }
}

void describe(Json& schema, char const* sentence, FieldNotes const& notes) {
  std::string const unit = notes.unit;
  if (unit == "s" || unit == "byte") {  // always known
    if (schema["type"].is_array()) schema["type"] = "number";
    schema["minimum"] = 0;
  }
  Json const more = Json::parse('{' + std::string(notes.schema) + '}');
  for (auto const& [key, value] : more.items()) schema[key] = value;
  std::string text = sentence;
  if (*notes.absent != 0 && !notes.is_omitted) allow_null(schema);
  if (*notes.absent != 0)
    text += std::string(notes.is_omitted ? " Left out: " : " Null: ") + notes.absent + '.';
  if (!unit.empty()) schema["unit"] = unit;
  schema["description"] = text;
}

Json properties_in_order(Json const& schema, char const* const* order, std::size_t count) {
  std::vector<std::string> paths;
  for (std::size_t k = 0; k < count; ++k) {
    std::string path;
    for (auto const& part : parts_of(order[k])) path += (path.empty() ? "" : "/properties/") + part;
    paths.push_back(path);
  }
  std::vector<char const*> places;
  for (auto const& path : paths) places.push_back(path.c_str());
  Json ordered = schema;
  ordered["properties"] = in_order(schema["properties"], places.data(), places.size());
  return ordered;
}

}  // namespace strata::apps::detail
