// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A module of Python with a report of its own, and the same report with one field more.
#include <apps/document/Strata_Document.hpp>
#include <core/Strata_Fields.hpp>
#include <core/Strata_Ladder.hpp>
#include <python/detail/Strata_BindFields.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace strata::test {

struct Part {
  std::int64_t rows = 7;
};
constexpr auto fields_of(Part const*) {
  return std::tuple(Field("rows", &Part::rows, "Number of rows."));
}

struct Inner {
  Outcome outcome = Outcome::BrokeDown;
  double error = std::numeric_limits<double>::quiet_NaN();
};
constexpr auto fields_of(Inner const*) {
  return std::tuple(Field("outcome", &Inner::outcome, "What became of it."),
                    Field("error", &Inner::error, "Error.", {.key = "errors/inner"}));
}

struct Report {
  std::int64_t n = 3;
  double seconds = 0.5;
  std::optional<double> known, unknown;
  std::vector<Part> parts = {Part{}, Part{}};
  Inner inner;
  std::optional<Inner> other;
};
constexpr auto fields_of(Report const*) {
  using R = Report;
  return std::tuple(
      Field("n", &R::n, "Order.", {.schema = R"("minimum": 1)"}), FieldGroup{"errors", "Errors."},
      Field("seconds", &R::seconds, "Time of all.", {.key = "time/seconds", .unit = "s"}),
      FieldGroup{"time", "Times."},
      Field("known", &R::known, "Number that is known.", {.absent = "nobody knows"}),
      Field("unknown", &R::unknown, "Number that is not.", {.absent = "never", .is_omitted = true}),
      Field("parts", &R::parts, "Parts.", {.told = Told::InDocuments}), FieldsOf(&R::inner),
      Field("secret", [](R const& r) { return 2 * r.n; }, "For Python.", {.told = Told::InPython}));
}

// The new number is one line.
struct Extended : Report {
  std::int64_t climbs = 11;
};
constexpr auto fields_of(Extended const*) {
  return std::tuple(FieldsOf([](Extended const& e) -> Report const& { return e; }),
                    Field("climbs", &Extended::climbs, "Number of climbs."));
}

// Its keys stand before those of the others.
struct Sorted : Extended {};
constexpr auto fields_of(Sorted const*) {
  return std::tuple(
      FieldsOf([](Sorted const& s) -> Extended const& { return s; }, "", " secret known "));
}
constexpr auto key_order(Sorted const*) { return std::array{"climbs", "errors/inner", "missing"}; }

// A document with a part that may be missing.
template <bool is_null>
struct Whole {
  std::optional<Part> part;
};
template <bool is_null>
constexpr auto fields_of(Whole<is_null> const*) {
  return std::tuple(FieldsOf(&Whole<is_null>::part, is_null ? "there is no part" : ""));
}

}  // namespace strata::test

namespace {

template <class Report>
void bind(nanobind::module_& m, std::string const& name) {
  using strata::apps::json_of, strata::apps::schema_of;
  m.def(("document_" + name).c_str(), [] { return json_of(Report{}).dump(); });
  m.def(("schema_" + name).c_str(), [] {
    auto schema = schema_of<Report>();
    schema["title"] = "test";
    schema["description"] = "A test's.";
    return schema.dump();
  });
}

}  // namespace

NB_MODULE(strata_fields_test, m) {
  using namespace strata::test;
  strata::python::detail::bind_described<Report>(m, "Report", "A report.").def(nanobind::init<>());
  strata::python::detail::bind_described<Extended>(m, "Extended", "A report with one more.")
      .def(nanobind::init<>());
  bind<Report>(m, "Report");
  bind<Extended>(m, "Extended");
  bind<Sorted>(m, "Sorted");
  bind<Whole<true>>(m, "Null");
  bind<Whole<false>>(m, "LeftOut");
  m.def(
      "number",
      [](std::string const& name) { return strata::field_value<double>(Extended{}, name); },
      nanobind::arg("name"));
}
