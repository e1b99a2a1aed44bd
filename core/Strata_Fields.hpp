// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_FIELDS_HPP
#define STRATA_FIELDS_HPP

#include <core/Strata_EnumNames.hpp>

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace strata {

/// Where a field of a report is told. Names and keys differ where a document has nested objects.
enum class Told : unsigned char {
  Everywhere,   ///< told in documents and in Python
  InDocuments,  ///< told in JSON and its schema alone
  InPython,     ///< told as an attribute in Python alone
};

/// What a field has beside name, value and sentence. Each part may be left out.
struct FieldNotes {
  char const* key = "";     ///< Path in the document, "scaling/smallest"; empty: the name.
  char const* unit = "";    ///< "s", "byte", "flop/s"; empty: a count, a ratio, or no number.
  char const* absent = "";  ///< When the value is null, as a clause; empty: it never is.
  char const* schema = "";  ///< Members of a JSON object that narrow the type: "\"minimum\": 0".
  bool is_omitted = false;  ///< An optional without a value leaves no key, rather than null.
  Told told = Told::Everywhere;  ///< Who is told.
};

/// One field of a report: what it is called, where its value is, and what the value means.
template <class Member>
struct Field {
  char const* name;      ///< In C++, Python and, without a key of its own, in documents.
  Member of;             ///< Pointer to a member, or a function of the report.
  char const* sentence;  ///< What the value is: a sentence that begins with a noun.
  FieldNotes notes;      ///< The rest.

  /// A row of a table.
  constexpr Field(char const* called, Member where, char const* meaning, FieldNotes more = {})
      : name(called), of(where), sentence(meaning), notes(more) {}
  /// Path in the document.
  constexpr char const* key() const { return *notes.key != 0 ? notes.key : name; }
};
/// All fields of a member that is a report itself, as if they were fields of this one.
template <class Member>
struct FieldsOf {
  Member of;                 ///< Pointer to a member; an optional may be empty.
  char const* absent;        ///< When it is empty and its keys are null; "": they are left out.
  std::string_view without;  ///< Names of fields that are not told, between blanks: " a b ".

  /// Rows of a table.
  constexpr explicit FieldsOf(Member where, char const* when_absent = "", std::string_view but = "")
      : of(where), absent(when_absent), without(but) {}
};
/// An object of a document that several fields lie in, by their keys.
struct FieldGroup {
  char const* key;       ///< Its path.
  char const* sentence;  ///< What it holds.
};

/// A report with a table of its fields. The table is what a function beside the report returns,
/// which an argument of this type finds:
///
///     constexpr auto fields_of(SolveReport const*) {
///       using R = SolveReport;
///       return std::tuple(Field("iterations", &R::iterations, "Number of iterations."),
///                         Field("seconds", &R::seconds, "Time of the solve.", {.unit = "s"}));
///     }
///
/// JSON, its schema, the attributes in Python with their stubs, and the pages of the reference are
/// made of the table, so that a new number is one line.
template <class Report>
concept Described = requires(Report const* report) { fields_of(report); };

/// The table of a report.
template <Described Report>
constexpr auto field_table() {
  return fields_of(static_cast<Report const*>(nullptr));
}

/// Call `visit` with each Field, FieldsOf and FieldGroup of a report's table, in its order.
template <Described Report, class Visit>
constexpr void for_each_field(Visit&& visit) {
  std::apply([&](auto const&... field) { (visit(field), ...); }, field_table<Report>());
}

namespace detail {

template <class T>
struct OptionalValue {
  using type = T;
  static constexpr bool is_optional = false;
};
template <class T>
struct OptionalValue<std::optional<T>> {
  using type = T;
  static constexpr bool is_optional = true;
};

template <class T>
concept Named = requires(T const& value) {
  { value.name() } -> std::convertible_to<std::string>;
};

/// A value as reports tell it: enums and lists of layers by their names, all else as it is.
template <class T>
auto told(T const& value) {
  if constexpr (NamedEnum<T>)
    return std::string(name_of(value));
  else if constexpr (Named<T>)
    return std::string(value.name());
  else
    return value;
}

}  // namespace detail

/// The type of a field's value in a report, without const and reference.
template <class Report, class Member>
using FieldValue = std::remove_cvref_t<std::invoke_result_t<Member const&, Report const&>>;

/// The value of the field that is called `name`, as a T, from a report or the reports in it.
///
/// Result   nothing if there is none of that name, or it is no T.
template <class T, Described Report>
std::optional<T> field_value(Report const& report, std::string_view name) {
  std::optional<T> found;
  for_each_field<Report>([&]<class Entry>(Entry const& entry) {
    if constexpr (requires { entry.name; }) {
      if constexpr (std::is_convertible_v<decltype(detail::told(std::invoke(entry.of, report))), T>)
        if (entry.name == name) found = static_cast<T>(detail::told(std::invoke(entry.of, report)));
    } else if constexpr (requires { entry.of; }) {
      if (auto const inner = field_value<T>(std::invoke(entry.of, report), name)) found = inner;
    }
  });
  return found;
}

}  // namespace strata

#endif
