// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SYSTEM_FIELDS_HPP
#define STRATA_APPS_SYSTEM_FIELDS_HPP

#include <apps/system/Strata_SystemResult.hpp>
#include <core/Strata_Fields.hpp>

#include <tuple>

/// What documents on dense solves tell of the system, whichever the factor.
namespace strata::apps {

/// What is told of the system.
constexpr auto fields_of(ProblemSummary const*) {
  using P = ProblemSummary;
  return std::tuple(
      FieldGroup{"problem", "System that was solved."},
      Field("source", &P::source, "File, or generator and its seed.", {.key = "problem/source"}),
      Field("format", &P::format, "Format of the file, or \"generated\".",
            {.key = "problem/format"}),
      Field("n", &P::n, "Order of A."), Field("nrhs", &P::nrhs, "Number of right-hand sides."),
      Field("rhs", &P::rhs, "Where the right-hand side is from.", {.key = "problem/rhs"}),
      FieldGroup{"bytes", "Memory."},
      Field("bytes_needed", &P::bytes_needed, "Memory needed on the host, at most.",
            {.key = "bytes/needed", .unit = "byte"}));
}

/// What is told of wall time.
constexpr auto fields_of(Seconds const*) {
  using S = Seconds;
  return std::tuple(
      FieldGroup{"seconds", "Where the time went."},
      Field("read", &S::read, "Time to read the files or to generate.",
            {.key = "seconds/read", .unit = "s"}),
      Field("transfer", &S::transfer, "Time to bring A to the device.",
            {.key = "seconds/transfer", .unit = "s"}),
      Field("fill", &S::fill, "Time to fill the tiles.", {.key = "seconds/fill", .unit = "s"}),
      Field("factor", &S::factor, "Time of all factorisations.",
            {.key = "seconds/factor", .unit = "s"}),
      Field("solve", &S::solve, "Time of the solve.", {.key = "seconds/solve", .unit = "s"}),
      Field("condition", &S::condition, "Time of the condition's estimate.",
            {.key = "seconds/condition", .unit = "s"}),
      Field("log_determinant", &S::log_determinant, "Time of the log-determinant.",
            {.key = "seconds/log_determinant", .unit = "s"}),
      Field("compare", &S::compare, "Time of the comparison.",
            {.key = "seconds/compare", .unit = "s"}),
      Field("total", &S::total, "Time of all.", {.key = "seconds/total", .unit = "s"}));
}

/// What is told of a dense solve by whichever factor, but for the solve's own report and seconds.
constexpr auto fields_of(SystemResult const*) {
  using R = SystemResult;
  return std::tuple(
      FieldsOf(&R::problem), FieldGroup{"refine", "How solutions were refined."},
      Field("refine_asked", &R::refine_asked, "Method of refinement that was asked for.",
            {.key = "refine/asked",
             .schema = R"("enum": ["auto", "none", "classical", "cg", "gmres"])"}),
      Field("forward_error", &R::forward_error,
            "Largest ||x_j - known_j||_oo / ||known_j||_oo of a column.",
            {.absent = "the solution is not known", .schema = R"("minimum": 0)"}));
}

}  // namespace strata::apps

#endif
