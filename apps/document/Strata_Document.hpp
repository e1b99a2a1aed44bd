// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_DOCUMENT_HPP
#define STRATA_APPS_DOCUMENT_HPP

#include <core/Strata_Fields.hpp>

#include <nlohmann/json.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

/// JSON documents of reports and their schemas, both made from the tables of fields.
namespace strata::apps {

using Json = nlohmann::ordered_json;

namespace detail {

/// Set what stands at a path such as "scaling/smallest".
void put(Json& document, std::string_view path, Json value);
/// The same keys, first the ones in `order`, then the others.
Json in_order(Json const& document, char const* const* order, std::size_t count);
/// The part of a schema that describes the key at a path; objects on the way are made.
Json& described_key(Json& schema, std::string_view path, bool is_required);
/// Let null be a value, too.
void allow_null(Json& schema);
/// Add what a field's notes say of its type, and the meaning.
void describe(Json& schema, char const* sentence, FieldNotes const& notes);
/// Set the type of a key, which may have keys below it already.
void merge_type(Json& key, Json const& type);
/// The properties of a schema, or of an object in it, in an order of the documents' keys.
Json properties_in_order(Json const& schema, char const* const* order, std::size_t count);

template <class T>
concept List =
    requires(T const& list) {
      list.begin() != list.end();
      typename T::value_type;
    } && !std::convertible_to<T, std::string_view> && !std::same_as<T, Json> &&
    !strata::detail::Named<T>;

/// A report whose keys have an order that is not the table's: `key_order(Report const*)`.
template <class Report>
concept Ordered = requires(Report const* report) { key_order(report); };

template <Described Report>
void put_fields(Json& document, Report const& report, std::string_view without);
template <Described Report>
void put_nulls(Json& document, std::string_view without);
/// Whether keys are there, and when they are null.
struct Presence {
  char const* absent = "";  ///< A clause; "": by the field alone.
  bool is_required = true;  ///< Else they may be left out.
};
template <Described Report>
void describe_fields(Json& schema, Presence presence, std::string_view without);

inline bool is_told(char const* name, std::string_view without) {
  return without.find(std::string(" ") + name + ' ') == std::string_view::npos;
}

}  // namespace detail

/// A value of a report in JSON: null for an empty optional, an object for a report.
template <class T>
Json json_of(T const& value) {
  if constexpr (strata::detail::OptionalValue<T>::is_optional) {
    return value ? json_of(*value) : Json(nullptr);
  } else if constexpr (Described<T>) {
    Json document = Json::object();
    detail::put_fields(document, value, "");
    if constexpr (detail::Ordered<T>) {
      constexpr auto order = key_order(static_cast<T const*>(nullptr));
      return detail::in_order(document, order.data(), order.size());
    }
    return document;
  } else if constexpr (detail::List<T>) {
    Json list = Json::array();
    for (auto const& element : value) list.push_back(json_of(element));
    return list;
  } else {
    return strata::detail::told(value);
  }
}

/// The JSON schema of such a value.
template <class T>
Json schema_of() {
  if constexpr (strata::detail::OptionalValue<T>::is_optional) {
    Json schema = schema_of<typename strata::detail::OptionalValue<T>::type>();
    detail::allow_null(schema);
    return schema;
  } else if constexpr (Described<T>) {
    Json schema{{"type", "object"}, {"required", Json::array()}, {"properties", Json::object()}};
    detail::describe_fields<T>(schema, {}, "");
    if constexpr (detail::Ordered<T>) {
      constexpr auto order = key_order(static_cast<T const*>(nullptr));
      return detail::properties_in_order(schema, order.data(), order.size());
    }
    return schema;
  } else if constexpr (detail::List<T>) {
    return {{"type", "array"}, {"items", schema_of<typename T::value_type>()}};
  } else if constexpr (NamedEnum<T>) {
    return {{"enum", names_of(T{}).names}};
  } else if constexpr (std::is_same_v<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::is_integral_v<T>) {
    return {{"type", "integer"}, {"minimum", 0}};
  } else if constexpr (std::is_floating_point_v<T>) {
    return {{"type", {"number", "null"}}};  // null: not finite
  } else if constexpr (std::is_same_v<T, Json>) {
    return Json::object();
  } else {
    return {{"type", "string"}};
  }
}

namespace detail {

template <Described Report>
void put_fields(Json& document, Report const& report, std::string_view without) {
  for_each_field<Report>([&]<class Entry>(Entry const& entry) {
    if constexpr (requires { entry.name; }) {
      if (entry.notes.told == Told::InPython || !is_told(entry.name, without)) return;
      Json value = json_of(std::invoke(entry.of, report));
      if (!value.is_null() || !entry.notes.is_omitted) put(document, entry.key(), std::move(value));
    } else if constexpr (requires { entry.of; }) {
      using Inner = FieldValue<Report, decltype(entry.of)>;
      std::string const left_out = std::string(without) + std::string(entry.without);
      if constexpr (!strata::detail::OptionalValue<Inner>::is_optional)
        put_fields(document, std::invoke(entry.of, report), left_out);
      else if (auto const& inner = std::invoke(entry.of, report))
        put_fields(document, *inner, left_out);
      else if (*entry.absent != 0)
        put_nulls<typename Inner::value_type>(document, left_out);
    }
  });
}

template <Described Report>
void put_nulls(Json& document, std::string_view without) {
  for_each_field<Report>([&]<class Entry>(Entry const& entry) {
    if constexpr (requires { entry.name; }) {
      if (entry.notes.told != Told::InPython && !entry.notes.is_omitted &&
          is_told(entry.name, without))
        put(document, entry.key(), nullptr);
    } else if constexpr (requires { entry.of; }) {
      using Inner = FieldValue<Report, decltype(entry.of)>;
      put_nulls<typename strata::detail::OptionalValue<Inner>::type>(
          document, std::string(without) + std::string(entry.without));
    }
  });
}

template <Described Report>
void describe_fields(Json& schema, Presence presence, std::string_view without) {
  for_each_field<Report>([&]<class Entry>(Entry const& entry) {
    if constexpr (requires { entry.name; }) {
      if (entry.notes.told == Told::InPython || !is_told(entry.name, without)) return;
      using Value = FieldValue<Report, decltype(entry.of)>;
      auto notes = entry.notes;
      if (*notes.absent == 0) notes.absent = presence.absent;
      Json type = notes.is_omitted
                      ? schema_of<typename strata::detail::OptionalValue<Value>::type>()
                      : schema_of<Value>();
      describe(type, entry.sentence, notes);
      merge_type(described_key(schema, entry.key(), presence.is_required && !notes.is_omitted),
                 type);
    } else if constexpr (requires { entry.of; }) {
      using Inner = strata::detail::OptionalValue<FieldValue<Report, decltype(entry.of)>>;
      bool const is_left_out = Inner::is_optional && *entry.absent == 0;
      describe_fields<typename Inner::type>(schema,
                                            {*entry.absent != 0 ? entry.absent : presence.absent,
                                             presence.is_required && !is_left_out},
                                            std::string(without) + std::string(entry.without));
    } else {
      described_key(schema, entry.key, presence.is_required)["description"] = entry.sentence;
    }
  });
}

}  // namespace detail
}  // namespace strata::apps

#endif
