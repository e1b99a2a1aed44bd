// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PYTHON_BIND_FIELDS_HPP
#define STRATA_PYTHON_BIND_FIELDS_HPP

#include <core/Strata_Fields.hpp>
#include <python/detail/Strata_Bind.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace strata::python::detail {

/// How Python has values of a type that it does not have as they are: a specialisation has
/// `from(value)`, and `name`, the type in signatures.
template <class T>
struct AsPython {};
template <class T>
concept Translated = requires(T const& value) { AsPython<T>::from(value); };

/// A read-only attribute whose value `get` takes from a report.
template <class Report, class Get>
void bind_attribute(nb::class_<Report>& bound, char const* name, char const* sentence, Get get) {
  using Value = std::invoke_result_t<Get const&, Report const&>;
  using Plain = std::remove_cvref_t<Value>;
  if constexpr (Translated<Plain>) {
    std::string const signature = std::string("def ") + name + "(self) -> " + AsPython<Plain>::name;
    bound.def_prop_ro(
        name, [get](Report const& report) { return AsPython<Plain>::from(get(report)); },
        nb::rv_policy::reference, nb::for_getter(nb::sig(signature.c_str())), sentence);
  } else if constexpr (std::is_same_v<decltype(strata::detail::told(std::declval<Plain>())),
                                      Plain>) {
    bound.def_prop_ro(name, [get](Report const& report) -> Value { return get(report); }, sentence);
  } else {
    bound.def_prop_ro(
        name, [get](Report const& report) { return strata::detail::told(get(report)); }, sentence);
  }
}

/// Attributes for the fields of `Part`, which `part` takes from the report.
template <Described Part, class Report, class PartOf>
void bind_fields(nb::class_<Report>& bound, PartOf part) {
  for_each_field<Part>([&]<class Entry>(Entry const& entry) {
    if constexpr (requires { entry.of; }) {
      auto const get = [part, of = entry.of](Report const& report) -> decltype(auto) {
        return std::invoke(of, part(report));
      };
      if constexpr (requires { entry.name; }) {
        if (entry.notes.told != Told::InDocuments)
          bind_attribute(bound, entry.name, entry.sentence, get);
      } else {
        bind_fields<FieldValue<Part, decltype(entry.of)>>(bound, get);
      }
    }
  });
}

/// A report as a class in Python: an attribute for each field of its table, repr and asdict().
template <Described Report>
nb::class_<Report> bind_described(nb::module_& m, char const* name, char const* doc) {
  auto bound = bind_report<Report>(m, name, doc);
  bind_fields<Report>(bound, [](Report const& report) -> Report const& { return report; });
  return bound;
}

}  // namespace strata::python::detail

#endif
