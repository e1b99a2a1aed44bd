// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PYTHON_BIND_HPP
#define STRATA_PYTHON_BIND_HPP

#include <core/Strata_EnumNames.hpp>
#include <core/Strata_Errors.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

namespace strata::python {

namespace nb = nanobind;

/// A matrix without a Cholesky factor: NotPositiveDefinite in Python.
struct NotPositiveDefinite : Error {
  explicit NotPositiveDefinite(std::int64_t order);
  NotPositiveDefinite(std::int64_t order, std::string const& text)
      : Error(text), minor_order(order) {}
  std::int64_t minor_order;
};

namespace detail {

class KeptFactor;

/// The read-only members of a report, in the order in which they were defined: {"n": 10, ...}.
inline nb::dict members_of(nb::handle report) {
  nb::dict members;
  nb::dict const defined = nb::borrow<nb::dict>(report.type().attr("__dict__").attr("copy")());
  for (auto const [key, value] : defined) {
    auto const name = nb::cast<std::string>(key);
    if (name.starts_with('_') || nb::hasattr(value, "__call__")) continue;
    members[key] = report.attr(key);
  }
  return members;
}

/// A struct of results as a class in Python: members, repr and asdict().
template <class Report>
nb::class_<Report> bind_report(nb::module_& m, char const* name, char const* doc) {
  return nb::class_<Report>(m, name, doc)
      .def("__repr__",
           [](nb::handle self) {
             nb::list parts;
             for (auto const [key, value] : members_of(self))
               parts.append(nb::str("{}={!r}").format(key, value));
             return nb::str("{}({})").format(self.type().attr("__name__"),
                                             nb::str(", ").attr("join")(parts));
           })
      .def("asdict", &members_of, nb::sig("def asdict(self) -> dict[str, object]"),
           "The members and their values.");
}

/// The method plot(axes=None) of a report's class: `function` of strata._plot draws it.
template <class Class>
void bind_plot(Class&& report, char const* function) {
  report.def(
      "plot",
      [function](nb::object const& self, nb::object const& axes) {
        return nb::object(nb::module_::import_("strata._plot").attr(function)(self, axes));
      },
      nb::arg("axes") = nb::none(),
      nb::sig("def plot(self, axes: typing.Any = None) -> typing.Any"),
      "Draw it with matplotlib, on `axes` or a new figure. Returns the axes.");
}

/// The name of an enum's value, as Python writes it.
template <class Enum>
std::string name(Enum value) {
  return std::string(name_of(value));
}

}  // namespace detail

void bind_dense(nb::module_& m);
/// The rest of the methods of a dense factor's class.
void bind_more_than_solves(nb::class_<detail::KeptFactor>& factor);
void bind_geostat(nb::module_& m);
void bind_ooc(nb::module_& m);
void bind_sparse(nb::module_& m);

}  // namespace strata::python

#endif
