// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_ENUM_NAMES_HPP
#define STRATA_ENUM_NAMES_HPP

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace strata {

/// The values of an enum and their names, as users write and read them.
template <class Enum, std::size_t count>
struct EnumNames {
  std::string_view what;           ///< what a value is: "no refinement 'x'; there are ..."
  std::array<Enum, count> values;  ///< values in the table's order
  std::array<std::string_view, count> names;  ///< names of the values, one by one
};

/// A value of an enum and its name, as a row of the table.
template <class Enum>
struct EnumName {
  Enum value;             ///< value of the enum
  std::string_view name;  ///< name for people and files
};

/// The table of an enum, for a function beside it that its argument finds:
///
///     constexpr auto names_of(Refine) {
///       return enum_names<Refine>("refinement", {{Refine::None, "none"}, {Refine::Cg, "cg"}});
///     }
///     using strata::name_of;  // where the enum is in a namespace of its own
template <class Enum, std::size_t count>
constexpr EnumNames<Enum, count> enum_names(std::string_view what,
                                            EnumName<Enum> const (&pairs)[count]) {
  EnumNames<Enum, count> table{what, {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    table.values[i] = pairs[i].value;
    table.names[i] = pairs[i].name;
  }
  return table;
}

/// An enum that has such a table.
template <class Enum>
concept NamedEnum = requires(Enum value) { names_of(value); };

/// All its values, for loops, in the table's order.
template <NamedEnum Enum>
inline constexpr auto enum_values = names_of(Enum{}).values;

namespace detail {
template <class Enum, std::size_t count>
constexpr std::string_view name_in(EnumNames<Enum, count> const& table, Enum value,
                                   std::string_view otherwise) {
  for (std::size_t i = 0; i < count; ++i)
    if (table.values[i] == value) return table.names[i];
  return otherwise;
}
std::string joined(std::span<std::string_view const> names);
/// Which of `names` the text is, in any case of A to Z; how many there are if it is none.
std::size_t position_of(std::span<std::string_view const> names, std::string_view text);
/// The same.
///
/// Throws   ValueError that lists them.
std::size_t find_name(std::string_view what, std::span<std::string_view const> names,
                      std::string_view text);
}  // namespace detail

/// The name of `value`, which ends with a 0; "unknown" if it is not in the table.
template <NamedEnum Enum>
constexpr std::string_view name_of(Enum value) {
  return detail::name_in(names_of(Enum{}), value, "unknown");
}

/// Whether a value is called `text`, in any case of A to Z.
template <NamedEnum Enum>
bool is_name(std::string_view text) {
  if constexpr (requires { aliases_of(Enum{}); }) {
    static constexpr auto more = aliases_of(Enum{});
    if (detail::position_of(more.names, text) < more.names.size()) return true;
  }
  static constexpr auto table = names_of(Enum{});
  return detail::position_of(table.names, text) < table.names.size();
}

/// The value called `text`, in any case of A to Z; where `aliases_of` has a table of more names,
/// those too.
///
/// Throws   ValueError that lists the names.
template <NamedEnum Enum>
Enum from_name(std::string_view text) {
  if constexpr (requires { aliases_of(Enum{}); }) {
    static constexpr auto more = aliases_of(Enum{});
    std::size_t const at = detail::position_of(more.names, text);
    if (at < more.names.size()) return more.values[at];
  }
  static constexpr auto table = names_of(Enum{});
  return table.values[detail::find_name(table.what, table.names, text)];
}

/// All names of an enum: "a, b, c".
template <NamedEnum Enum>
std::string list_of_names() {
  return detail::joined(names_of(Enum{}).names);
}

}  // namespace strata

#endif
