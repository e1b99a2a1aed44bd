// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SYMMETRIC_FIELDS_HPP
#define STRATA_APPS_SYMMETRIC_FIELDS_HPP

#include <apps/symmetric/Strata_Symmetric.hpp>
#include <apps/system/Strata_SystemFields.hpp>
#include <core/Strata_Fields.hpp>
#include <dense/Strata_DenseFields.hpp>
#include <dense/indefinite/Strata_SymmetricFields.hpp>

#include <array>
#include <optional>
#include <string>
#include <tuple>

namespace strata::apps {

/// The vendor's library beside Strata.
struct SymmetricCompared {
  SymmetricComparison vendor;  ///< What the vendor's library did.
  double factor_seconds = 0;   ///< Strata's time of the factorisation.
  double solve_seconds = 0;    ///< Strata's time of the solve.

  /// Their seconds over ours; nothing where we took none.
  static std::optional<double> ratio(double theirs, double ours) {
    return ours > 0 ? std::optional(theirs / ours) : std::nullopt;
  }
};
/// The fields of its report.
constexpr auto fields_of(SymmetricCompared const*) {
  using C = SymmetricCompared;
  return std::tuple(
      Field(
          "library", [](C const& c) { return c.vendor.library; }, "Routine of the library."),
      Field(
          "refusal", [](C const& c) { return c.vendor.refusal; },
          "Why there is no factor; none: there is one."),
      FieldGroup{"seconds", "Where the time went: the library factors."},
      Field("factor_seconds", [](C const& c) { return c.vendor.factor_seconds; },
            "Time of the factorisation.", {.key = "seconds/factor", .unit = "s"}),
      Field("solve_seconds", [](C const& c) { return c.vendor.solve_seconds; },
            "Time of Strata's solve with the library's factor.",
            {.key = "seconds/solve", .unit = "s"}),
      FieldGroup{"ratio", "Seconds with the library over Strata's."},
      Field("factor",
            [](C const& c) { return C::ratio(c.vendor.factor_seconds, c.factor_seconds); },
            "Ratio of the factorisations.", {.key = "ratio/factor", .schema = R"("minimum": 0)"}),
      Field("solve", [](C const& c) { return C::ratio(c.vendor.solve_seconds, c.solve_seconds); },
            "Ratio of Strata's solves: with the library's factor, over the refined one.",
            {.key = "ratio/solve", .schema = R"("minimum": 0)"}),
      Field("whole",
            [](C const& c) {
              return C::ratio(c.vendor.seconds(), c.factor_seconds + c.solve_seconds);
            },
            "Ratio of factorisation and solve.",
            {.key = "ratio/whole", .schema = R"("minimum": 0)"}),
      Field("backward_error", [](C const& c) { return c.vendor.backward_error; },
            "Backward error of the solution with the library's factor.",
            {.schema = R"("minimum": 0)"}));
}

/// All that the document of a solve with a symmetric matrix tells.
constexpr auto fields_of(SymmetricResult const*) {
  using R = SymmetricResult;
  return std::tuple(
      Field("schema", [](R const&) { return std::string("strata.solve_symmetric/1"); },
            "Name and version of this schema.",
            {.schema = R"("const": "strata.solve_symmetric/1")"}),
      Field("status",
            [](R const& r) {
              return std::string(r.factor.refusal.empty() ? status_name(r.exit()) : "singular");
            },
            "How the run ended.", {.schema = R"("enum": ["solved", "singular", "not_converged"])"}),
      FieldsOf([](R const& r) -> SystemResult const& { return r; }),
      Field("entries", [](R const& r) { return r.problem.entries; },
            "Number of entries that a Matrix Market file lists.",
            {.key = "problem/entries", .absent = "there is no such file"}),
      FieldsOf(&R::factor),
      Field("layers_asked", &R::layers_asked, "List of precisions that was asked for.",
            {.schema = dense::detail::layers_schema}),
      FieldsOf(&R::solve, "there is no factor"),
      Field("expected_forward_error",
            [](R const& r) {
              return r.solve ? std::optional(expected_error(*r.solve, r.factor.condition).error)
                             : std::nullopt;
            },
            "About the largest error that the condition and the backward error of the scaled "
            "system leave, at most 1.",
            {.absent = "there is no factor", .schema = R"("minimum": 0)"}),
      Field("inertia", &R::inertia, "Numbers of eigenvalues by their signs.",
            {.absent = "there is no factor, or no memory to decide it"}),
      Field("log_determinant", &R::log_determinant, "Sign of det A and logarithm of |det A|.",
            {.absent = "it was not asked for"}),
      Field("repeat", &R::repeat, "Number of runs; the one of median time is reported.",
            {.schema = R"("minimum": 1)"}),
      FieldsOf(&R::seconds, "", " fill "),
      Field("inertia_seconds", &R::inertia_seconds, "Time of the inertia.",
            {.key = "seconds/inertia", .unit = "s"}),
      Field("compare",
            [](R const& r) {
              return r.comparison ? std::optional(SymmetricCompared{*r.comparison, r.seconds.factor,
                                                                    r.seconds.solve})
                                  : std::nullopt;
            },
            "The same system by the vendor's library in fp64.",
            {.absent = "it was not asked for, or there is no solution to compare"}));
}
/// Keys where the tables' order is not the document's.
constexpr auto key_order(SymmetricResult const*) {
  return std::array{"schema",
                    "status",
                    "refusal",
                    "problem",
                    "n",
                    "nrhs",
                    "bytes",
                    "layers",
                    "layers_asked",
                    "scaling",
                    "rung",
                    "attempts",
                    "growth",
                    "refine",
                    "iterations",
                    "backward_error",
                    "equilibrated_error",
                    "forward_error",
                    "condition",
                    "expected_forward_error",
                    "inertia",
                    "log_determinant",
                    "repeat",
                    "seconds",
                    "compare"};
}

}  // namespace strata::apps

#endif
