// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_COPY_FIELDS_HPP
#define STRATA_C_COPY_FIELDS_HPP

#include <core/Strata_Errors.hpp>
#include <core/Strata_Fields.hpp>

#include <string>

namespace strata::c::detail {

/// A number of a C struct, which is the field of that name of a report.
template <class Struct, class T>
struct CopyOf {
  char const* name;  ///< Name of the field.
  T Struct::* to;    ///< Member to which the field's value goes.
};

/// Set members of a C struct to the fields of a report that they are copies of.
///
/// Throws   Error where the report's table has no number of that name.
template <class Struct, Described Report, class... T>
void copy_fields(Struct& to, Report const& report, CopyOf<Struct, T> const&... member) {
  auto const copy = [&]<class Number>(CopyOf<Struct, Number> const& one) {
    auto const value = field_value<Number>(report, one.name);
    if (!value) throw Error(std::string("the report has no number ") + one.name);
    to.*one.to = *value;
  };
  (copy(member), ...);
}

}  // namespace strata::c::detail

#endif
