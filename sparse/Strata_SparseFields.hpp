// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_FIELDS_HPP
#define STRATA_SPARSE_FIELDS_HPP

#include <core/Strata_Fields.hpp>
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/coarsening/Strata_NearNullSpace.hpp>
#include <sparse/krylov/Strata_KrylovReport.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace strata::sparse {

namespace detail {

/// A row from 1, or nothing for 0.
constexpr std::optional<std::int64_t> row_number(std::int64_t row) {
  return row > 0 ? std::optional(row) : std::nullopt;
}

/// A row's number in JSON.
inline constexpr char const* row_schema = R"("minimum": 1)";
/// A number that is not negative.
inline constexpr char const* size_schema = R"("minimum": 0)";

}  // namespace detail

/// What is told of an attempt.
constexpr auto fields_of(SparseAttempt const*) {
  using A = SparseAttempt;
  return std::tuple(
      Field("solver", &A::solver, "Method that ran."),
      Field("preconditioner", &A::preconditioner, "Preconditioner that it ran with."),
      Field("reason", &A::reason, "What was forecast, or how the attempt before it ended."),
      Field("precision", &A::precision, "Precision of the preconditioner's matrices."),
      Field("rung", &A::rung, "Rung of the ladder.", {.told = Told::InPython}),
      Field("outcome", &A::outcome, "What became of the attempt.", {.told = Told::InPython}),
      Field(
          "status", [](A const& a) { return a.krylov.status; }, "How the attempt ended."),
      Field(
          "iterations", [](A const& a) { return a.krylov.iterations; },
          "Number of iterations of this attempt."),
      Field("relative_residual", [](A const& a) { return a.krylov.relative_residual; },
            "Relative residual |b - A x| / |b| that the attempt reached.",
            {.schema = detail::size_schema}),
      Field("set_up_seconds", &A::set_up_seconds,
            "Time to make its preconditioner, if that was made for it.",
            {.key = "setup_seconds", .unit = "s"}),
      Field("seconds", [](A const& a) { return a.krylov.seconds; }, "Time of the attempt.",
            {.unit = "s"}));
}

/// What is told of the options.
constexpr auto fields_of(SparseOptions const*) {
  using O = SparseOptions;
  return std::tuple(
      Field("solver", &O::solver, "Method."),
      Field("preconditioner", &O::preconditioner, "Preconditioner."),
      Field("precision", &O::precision, "Precision of the preconditioner's matrices, at first."),
      Field("tolerance", &O::tolerance, "Relative residual to stop at.",
            {.schema = R"("type": "number", "exclusiveMinimum": 0)"}),
      Field("absolute_tolerance", &O::absolute_tolerance,
            "Residual |b - A x| that will do, too; 0: none.", {.schema = detail::size_schema}),
      Field("stop", &O::stop, "Norm that the tolerance bounds."),
      Field("restart", &O::restart, "Number of basis vectors of GMRES.",
            {.schema = R"("minimum": 1)"}),
      Field("max_iterations", &O::max_iterations, "Most iterations of all attempts together."),
      Field(
          "block_size", [](O const& o) { return o.amg.block_size; },
          "Number of unknowns of a node, which multigrid aggregates together; 0: found from the "
          "pattern."),
      Field("fill", &O::fill, "Level of fill of incomplete factors.",
            {.schema = R"("minimum": 0, "maximum": 20)"}),
      Field(
          "near_null_space",
          [](O const& o) { return o.amg.near_null_space ? o.amg.near_null_space->width : 0; },
          "Number of vectors that multigrid is given to represent."));
}

/// What is told of incomplete factors.
constexpr auto fields_of(SparseReport::Incomplete const*) {
  using I = SparseReport::Incomplete;
  return std::tuple(
      Field("fill", &I::fill, "Level of fill of the factors."),
      Field("entries", &I::entries, "Number of entries of the factors, with the diagonal."),
      Field("shift", &I::shift, "Shift of the diagonal: they are factors of A + shift diag(A).",
            {.schema = R"("minimum": 0)"}),
      Field("replaced", &I::replaced, "Number of pivots that were too small."));
}

/// What is told of a level.
constexpr auto fields_of(SparseReport::Level const*) {
  using L = SparseReport::Level;
  return std::tuple(
      Field("rows", &L::rows, "Number of rows of the level, over all ranks."),
      Field("entries", &L::entries, "Number of entries of the level's matrix, over all ranks."));
}

/// What is told of rows that may make a matrix singular.
constexpr auto fields_of(RowKind const*) {
  using R = RowKind;
  return std::tuple(
      FieldGroup{"rows", "Rows that may make A singular."},
      Field("empty_rows", &R::empty,
            "Number of rows without an entry: the matrix is singular, x is 0 there.",
            {.key = "rows/empty", .told = Told::InDocuments}),
      Field("first_empty", [](R const& r) { return detail::row_number(r.first_empty + 1); },
            "First row without an entry, from 1.",
            {.key = "rows/first_empty",
             .absent = "there is none",
             .schema = detail::row_schema,
             .told = Told::InDocuments}),
      Field("map_constants_to_zero", &R::maps_constants_to_zero,
            "Whether each row's entries add up to 0: the matrix is probably singular.",
            {.key = "rows/map_constants_to_zero", .told = Told::InDocuments}),
      Field("floating_parts", &R::floating_parts,
            "Number of connected parts whose rows add up to 0: x has mean 0 on each.",
            {.key = "rows/floating_parts"}),
      Field("floating_rows", &R::floating_rows, "Number of rows in these parts.",
            {.key = "rows/floating", .told = Told::InDocuments}),
      Field("null_vectors", &R::null_vectors,
            "Number of combinations of the given modes that the matrix maps to 0, beside constants "
            "on these parts.",
            {.key = "rows/null_vectors", .told = Told::InDocuments}));
}

namespace detail {

/// What is told of the matrix.
constexpr auto fields_of_matrix() {
  using R = SparseReport;
  return std::tuple(
      Field("symmetric", &R::symmetric, "Whether A is symmetric, with its values."),
      FieldsOf(&R::rows),
      Field("first_zero_diagonal",
            [](R const& r) { return detail::row_number(r.zero_diagonal_row); },
            "First row, from 1, of those that are not empty, whose diagonal is 0.",
            {.key = "rows/first_zero_diagonal",
             .absent = "there is none",
             .schema = detail::row_schema,
             .told = Told::InDocuments}),
      Field("matrix_remarks", &R::remarks_on_matrix,
            "What is odd about the matrix, which `SparseWarning` says.", {.told = Told::InPython}),
      Field("not_positive_row", &R::not_positive_row,
            "First row, from 1, whose diagonal is not positive; 0: none.",
            {.told = Told::InPython}),
      Field("zero_diagonal_row", &R::zero_diagonal_row,
            "First row, from 1, of those that are not empty, whose diagonal is 0; 0: none.",
            {.told = Told::InPython}),
      Field("contradicts_empty_row", &R::contradicts_empty_row,
            "Whether b is not 0 where a row of A is empty: there is no solution.",
            {.told = Told::InPython}));
}

/// What is told of incomplete factors.
constexpr auto fields_of_factors() {
  using R = SparseReport;
  return std::tuple(
      Field("incomplete",
            [](R const& r) {
              return r.has_incomplete_factor() ? std::optional(r.incomplete) : std::nullopt;
            },
            "Incomplete factors that were used last.",
            {.absent = "there are none", .is_omitted = true, .told = Told::InDocuments}),
      Field("factor_entries", [](R const& r) { return r.incomplete.entries; },
            "Number of entries of incomplete factors, with the diagonal; 0: there are none.",
            {.told = Told::InPython}),
      Field("factor_shift", [](R const& r) { return r.incomplete.shift; },
            "Shift of the diagonal: incomplete factors belong to A + factor_shift diag(A).",
            {.told = Told::InPython}),
      Field("replaced_pivots", [](R const& r) { return r.incomplete.replaced; },
            "Number of pivots of incomplete factors that were too small.",
            {.told = Told::InPython}));
}

/// What is told of the method and of what it took.
constexpr auto fields_of_method() {
  using R = SparseReport;
  return std::tuple(
      Field("solver", &R::solver, "Method that ran last."),
      Field("preconditioner", &R::preconditioner, "Preconditioner that was used."),
      Field("precision", &R::precision, "Precision of the preconditioner that ran last."),
      Field("preconditioner_bytes", &R::preconditioner_bytes,
            "Memory of the preconditioner on a rank: its matrices and vectors.",
            {.key = "bytes/preconditioner", .unit = "byte"}),
      Field("levels", &R::levels,
            "Levels of the preconditioner; the matrix alone where it has no levels.",
            {.schema = R"("minItems": 1)"}),
      Field("block_size", &R::block_size, "Number of unknowns of a node, as multigrid takes them.",
            {.schema = detail::row_schema}),
      Field("modes", &R::modes, "Number of unknowns of an aggregate of multigrid.",
            {.schema = detail::row_schema}),
      Field("has_old_pattern", &R::has_old_pattern,
            "Whether multigrid's aggregates and patterns were kept from an old matrix.",
            {.told = Told::InPython}),
      Field("operator_complexity", &R::operator_complexity,
            "Number of entries of all levels over the matrix' entries.",
            {.schema = R"("type": "number", "minimum": 1)"}),
      Field("coarse_solve",
            [](R const& r) { return std::string(r.direct_coarse_solve ? "direct" : "sweep"); },
            "How the coarsest level is solved.",
            {.schema = R"("enum": ["direct", "sweep"])", .told = Told::InDocuments}),
      Field("attempts", &R::attempts,
            "Attempts in order; each goes on where the last one stopped."),
      Field("iterations", &R::iterations, "Number of iterations of all attempts."),
      Field("history",
            [](R const& r) {
              std::vector<double> all;
              for (auto const& attempt : r.attempts)
                all.insert(all.end(), attempt.krylov.history.begin(), attempt.krylov.history.end());
              return all;
            },
            "Relative residual |b - A x| / |b| after each iteration, as the methods estimate it.",
            {.told = Told::InPython}),
      Field("columns_abreast", &R::columns_abreast,
            "Number of columns that CG solved for in step with this one, itself included.",
            {.told = Told::InPython}),
      Field("obstacle", &R::obstacle, "Why no higher precision was tried; empty: nothing.",
            {.told = Told::InPython}),
      Field("advice", &R::advice,
            "What may be tried where a solve did not converge; empty: nothing.",
            {.told = Told::InPython}),
      Field("set_up_seconds", &R::set_up_seconds, "Time of the preconditioner's set-up.",
            {.key = "seconds/setup", .unit = "s"}),
      Field("solve_seconds", &R::solve_seconds, "Time of the solve.",
            {.key = "seconds/solve", .unit = "s"}));
}

/// What is told of x.
constexpr auto fields_of_solution() {
  using R = SparseReport;
  return std::tuple(
      Field("solved", &R::solved, "Whether x is as good as was asked for, or as fp64 has it.",
            {.told = Told::InPython}),
      Field("status", &R::status,
            "How the last attempt ended. rounding_limit: the tolerance is not met, but the "
            "backward error is fp64's own limit, and the residual at most 1e-3 of b. "
            "least_squares: A is singular, b has no solution, and x solves for the nearest b that "
            "has one.",
            {.key = "ended"}),
      Field("backward_error", &R::backward_error,
            "Backward error |b - A x| / (|A| |x| + |b|) in the infinity norm.",
            {.schema = detail::size_schema}),
      Field("condition_at_least", &R::condition_at_least,
            "Lower bound of A's condition in the infinity norm, its rows and columns scaled by "
            "powers of two.",
            {.schema = detail::row_schema}),
      Field(
          "forward_error_estimate",
          [](R const& r) {
            return r.solved() && r.digits() >= 0 ? std::optional(r.forward_error) : std::nullopt;
          },
          "Estimate of |x - A^-1 b| / |x| in the infinity norm, by how far x moved while its "
          "residual fell; rather too small than too large.",
          {.absent = "nothing is known", .schema = detail::size_schema, .told = Told::InDocuments}),
      Field("forward_error", &R::forward_error,
            "Estimate of |x - A^-1 b| / |x| in the infinity norm, rather too small than too large; "
            "nan: unknown.",
            {.told = Told::InPython}),
      Field(
          "digits",
          [](R const& r) {
            return r.solved() && r.digits() >= 0 ? std::optional(r.digits()) : std::nullopt;
          },
          "Decimal digits of x's largest entry that are right, at most, by that estimate.",
          {.absent = "nothing is known", .schema = R"("maximum": 15)", .told = Told::InDocuments}),
      Field("digits", &R::digits,
            "Decimal digits of x's largest entry that are right, at most; -1: unknown.",
            {.told = Told::InPython}),
      Field("incompatible", &R::incompatible,
            "Part of b, in the 2-norm, that a symmetric singular A has no solution for.",
            {.schema = detail::size_schema}),
      Field("relative_residual", &R::relative_residual,
            "Relative residual |b - A x| / |b| in the 2-norm.", {.schema = detail::size_schema}),
      Field("tolerance", &R::tolerance,
            "Bound of the relative residual that this solve had, the absolute one considered.",
            {.schema = detail::size_schema}),
      Field("solution_remarks", &R::remarks_on_solution,
            "What is odd about x, which `SparseWarning` says.", {.told = Told::InPython}));
}

}  // namespace detail

/// What is told of a solve.
constexpr auto fields_of(SparseReport const*) {
  return std::tuple_cat(detail::fields_of_solution(), detail::fields_of_matrix(),
                        detail::fields_of_factors(), detail::fields_of_method());
}

}  // namespace strata::sparse

#endif
