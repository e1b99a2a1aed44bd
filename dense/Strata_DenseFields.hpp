// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DENSE_FIELDS_HPP
#define STRATA_DENSE_FIELDS_HPP

#include <core/Strata_Fields.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/log_determinant/Strata_LogDeterminant.hpp>
#include <dense/refine/Strata_Condition.hpp>
#include <dense/refine/Strata_Refinement.hpp>
#include <dense/refine/Strata_SpdSolve.hpp>
#include <dense/tree/Strata_Layers.hpp>

#include <cstdint>
#include <optional>
#include <tuple>

namespace strata::dense {

namespace detail {
/// A list of layers in JSON, "fp16,fp32".
inline constexpr char const* layers_schema = R"("pattern": "^[a-z0-9_]+(,[a-z0-9_]+)*$")";
/// A number that is not negative.
inline constexpr char const* size_schema = R"("minimum": 0)";
}  // namespace detail

/// What is told of an attempt.
constexpr auto fields_of(CholeskyAttempt const*) {
  using A = CholeskyAttempt;
  return std::tuple(
      Field("rung", &A::rung, "Rung of the ladder."),
      Field("layers", &A::layers, "Precisions that were tried, outermost block first.",
            {.schema = detail::layers_schema}),
      Field("shift", &A::shift, "Shift: the diagonal was multiplied by 1 + shift.",
            {.schema = detail::size_schema}),
      Field("outcome", &A::outcome, "What became of the attempt."),
      Field("info", &A::info, "0, or the order of the minor that was not positive."),
      Field("seconds", &A::seconds, "Time to load and factor the matrix.", {.unit = "s"}));
}

/// What is told of a block.
constexpr auto fields_of(CholeskyBlock const*) {
  using B = CholeskyBlock;
  return std::tuple(
      Field("row", &B::row, "First row, from 0."), Field("col", &B::col, "First column, from 0."),
      Field("rows", &B::rows, "Number of rows."), Field("cols", &B::cols, "Number of columns."),
      Field("precision", &B::precision, "Precision that the block is stored in."),
      Field("scale", &B::scale,
            "Scale: times what is stored it is the block; the largest of several scales.",
            {.schema = detail::size_schema}));
}

/// What is told of a condition.
constexpr auto fields_of(ConditionEstimate const*) {
  using C = ConditionEstimate;
  return std::tuple(
      Field("estimate",
            [](C const& c) { return c.value > 0 ? std::optional(c.value) : std::nullopt; },
            "Estimate of ||H||_1 ||H^-1||_1 for the equilibrated matrix H.",
            {.absent = "there is none, or it is not finite",
             .schema = detail::size_schema,
             .told = Told::InDocuments}),
      Field(
          "value", &C::value,
          "Estimate in the 1-norm, of the equilibrated matrix; seldom below a third of the truth.",
          {.told = Told::InPython}),
      Field("converged", &C::converged,
            "Whether the estimate converged; if not, the true condition may be far larger."),
      Field("refined", &C::refined,
            "Whether solves were refined, since the factor alone was too coarse to tell."),
      Field("solves", &C::solves, "Number of solves with the factor that the estimate took."),
      Field("seconds", &C::seconds, "Time of the estimate.",
            {.unit = "s", .told = Told::InPython}));
}

/// What is told of a log-determinant.
constexpr auto fields_of(LogDeterminantEstimate const*) {
  using L = LogDeterminantEstimate;
  return std::tuple(
      Field("value", &L::value, "Logarithm of det A."),
      Field("correction", &L::correction,
            "Correction: value - log det of the matrix that the factor stands for."),
      Field("standard_error", &L::standard_error,
            "Standard error of the correction, one standard deviation; 0: exact."),
      Field("quadrature_error", &L::quadrature_error, "Bound of what Lanczos left out."),
      Field("rounding_error", &L::rounding_error, "Bound of what fp64 arithmetic rounds."),
      Field("error", &L::error,
            "Error to state: |value - log det A| is less but for about one case in a thousand."),
      Field("steps", &L::steps, "Number of steps of Lanczos.", {.told = Told::InPython}));
}

/// What is told of a factorisation.
constexpr auto fields_of(CholeskyReport const*) {
  using R = CholeskyReport;
  return std::tuple(
      Field("n", &R::n, "Order of the matrix.", {.told = Told::InPython}),
      Field("layers", &R::layers, "Precisions of the factor, farthest from the diagonal first.",
            {.schema = detail::layers_schema}),
      Field("leaf_size", &R::leaf_size, "Number of columns of a diagonal leaf."),
      Field("leaf", &R::leaf_size, "Old name of leaf_size, which is told until 0.4.",
            {.told = Told::InDocuments}),
      FieldGroup{"scaling", "Scaling of rows and columns by powers of two, D A D."},
      Field("equilibrated", &R::equilibrated, "Whether A was scaled.",
            {.key = "scaling/equilibrated"}),
      Field("smallest_scaling", &R::smallest_scaling, "Least number of D, a power of two.",
            {.key = "scaling/smallest"}),
      Field("largest_scaling", &R::largest_scaling, "Largest number of D, a power of two.",
            {.key = "scaling/largest"}),
      Field("smallest_block_scale", &R::smallest_block_scale,
            "Least scale of a block in low precision.", {.key = "scaling/smallest_block"}),
      Field("largest_block_scale", &R::largest_block_scale,
            "Largest scale of a block in low precision.", {.key = "scaling/largest_block"}),
      Field("shift", &R::shift, "Shift of the factor: the diagonal was multiplied by 1 + shift.",
            {.schema = detail::size_schema}),
      Field("jitter", &R::jitter,
            "Jitter that was added to the diagonal, as a part of the mean diagonal.",
            {.schema = detail::size_schema}),
      Field("rung", &R::rung, "Rung of the ladder of precisions that held, or was the last."),
      Field("attempts", &R::attempts, "Factorisations that were tried, in order."),
      Field("norm_inf", &R::norm_inf, "Largest sum of magnitudes in a row of A.",
            {.told = Told::InPython}),
      FieldGroup{"bytes", "Memory."},
      Field("stored_bytes", &R::stored_bytes, "Memory of the factor.",
            {.key = "bytes/factor", .unit = "byte"}),
      Field("peak_bytes", &R::peak_bytes, "Memory of the factor while it was made.",
            {.key = "bytes/factor_peak", .unit = "byte"}),
      Field("matrix_bytes",
            [](R const& r) {
              return static_cast<std::uint64_t>(8.0 * static_cast<double>(r.n) *
                                                static_cast<double>(r.n));
            },
            "Memory of A in fp64.",
            {.key = "bytes/matrix", .unit = "byte", .told = Told::InDocuments}),
      Field("blocks", &R::blocks, "Blocks of the factor's lower triangle, as they are stored.",
            {.told = Told::InDocuments}),
      Field("condition", &R::condition, "Condition of the matrix, estimated.",
            {.told = Told::InDocuments}),
      Field("seconds",
            [](R const& r) { return r.analyse_seconds + r.load_seconds + r.factor_seconds; },
            "Time of all attempts.", {.unit = "s", .told = Told::InPython}),
      FieldGroup{"seconds/factor_parts", "Parts of seconds/factor, over all attempts."},
      Field("analyse_seconds", &R::analyse_seconds, "Time to check and scale A.",
            {.key = "seconds/factor_parts/analyse", .unit = "s"}),
      Field("load_seconds", &R::load_seconds, "Time to bring A into layers.",
            {.key = "seconds/factor_parts/load", .unit = "s"}),
      Field("factor_seconds", &R::factor_seconds, "Time of the factorisation itself.",
            {.key = "seconds/factor_parts/cholesky", .unit = "s"}),
      Field("factor_flop_per_s", &R::factor_flop_per_s,
            "Rate of the last attempt, by n^3/3 flops; 0 where it broke down.",
            {.unit = "flop/s", .told = Told::InPython}));
}

/// What is told of a refinement.
constexpr auto fields_of(RefinementReport const*) {
  using R = RefinementReport;
  return std::tuple(
      Field("equilibrated_error", &R::equilibrated_error,
            "Backward error of the equilibrated system.", {.schema = detail::size_schema}),
      Field("relative_residual", &R::relative_residual,
            "Largest |r_j| / (|A| |x_j|) of that system, its rounding counted.",
            {.told = Told::InPython}),
      Field("method", &R::method, "Method of refinement that ran last.", {.key = "refine/method"}),
      Field("tolerance", &R::tolerance, "Tolerance on the backward error, as it was applied.",
            {.key = "refine/tolerance", .schema = detail::size_schema}),
      Field("stagnated", &R::stagnated,
            "Whether a column stopped because its error no longer fell.",
            {.key = "refine/stagnated"}),
      Field("history", &R::history, "Backward error of the worst column after each step.",
            {.key = "refine/history"}));
}

/// What is told of a solve.
constexpr auto fields_of(SolveReport const*) {
  using R = SolveReport;
  return std::tuple(
      Field("converged", &R::converged, "Whether x meets the tolerance.", {.told = Told::InPython}),
      Field("backward_error", &R::backward_error,
            "Largest |r_j| / (|A| |x_j| + |b_j|) of a column in the infinity norm.",
            {.schema = detail::size_schema}),
      Field("hpl_scaled_residual", &R::hpl_scaled_residual,
            "Backward error over n 2^-52; it is to be below 16.", {.schema = detail::size_schema}),
      Field("slate_error", &R::slate_error,
            "Error ||B - A X||_1 / (n ||A||_1 ||X||_1); it is to be at most 5.6e-15.",
            {.schema = detail::size_schema}),
      FieldsOf(&R::refinement),
      Field("iterations", &R::iterations,
            "Number of applications of the factor to the column that took most, over all rungs."),
      Field("climbs", &R::climbs,
            "Number of factorisations in higher precision, since a refinement did not converge.",
            {.key = "refine/climbs"}),
      Field("obstacle", &R::obstacle,
            "Why the matrix was not factored again, where there was no memory; empty: nothing was "
            "in the way.",
            {.key = "refine/obstacle"}),
      Field("seconds", &R::seconds, "Time of the solve, without factorisations of climbs.",
            {.unit = "s", .told = Told::InPython}));
}

}  // namespace strata::dense

#endif
