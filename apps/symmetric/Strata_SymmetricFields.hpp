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
      FieldsOf(&R::seconds, "", " fill compare "),
      Field("inertia_seconds", &R::inertia_seconds, "Time of the inertia.",
            {.key = "seconds/inertia", .unit = "s"}));
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
                    "seconds"};
}

}  // namespace strata::apps

#endif
