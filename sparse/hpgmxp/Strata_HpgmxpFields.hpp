// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_HPGMXP_FIELDS_HPP
#define STRATA_SPARSE_HPGMXP_FIELDS_HPP

#include <core/Strata_Fields.hpp>
#include <sparse/hpgmxp/Strata_Hpgmxp.hpp>
#include <sparse/hpgmxp/Strata_HpgmxpFree.hpp>

#include <array>
#include <tuple>

namespace strata::sparse {

/// What is told of a level.
constexpr auto fields_of(LevelSize const*) {
  using L = LevelSize;
  return std::tuple(
      Field("equations", &L::rows, "Number of unknowns of the level, over all ranks."),
      Field("entries", &L::entries, "Number of entries of the level's matrix, over all ranks."));
}

/// What is told of how columns are stored.
constexpr auto fields_of(ColumnForms const*) {
  using C = ColumnForms;
  return std::tuple(Field("shared", &C::shared,
                          "Share of the slices whose columns are distances that the rows share.",
                          {.schema = R"("type": "number", "minimum": 0)"}),
                    Field("narrow", &C::narrow, "Share of the slices with 16 bits a column.",
                          {.schema = R"("type": "number", "minimum": 0)"}),
                    Field("wide", &C::wide, "Share of the slices with 32 bits a column.",
                          {.schema = R"("type": "number", "minimum": 0)"}),
                    Field("bytes_per_entry", &C::bytes_per_entry,
                          "Bytes of a column, over all slices.", {.unit = "byte"}));
}

/// What is told of the problem.
constexpr auto fields_of(StencilProblem const*) {
  using P = StencilProblem;
  return std::tuple(
      Field("local", [](P const& p) { return std::array{p.nx, p.ny, p.nz}; },
            "Points of each rank along x, y and z.",
            {.schema =
                 R"("items": {"type": "integer", "minimum": 16}, "minItems": 3, "maxItems": 3)"}),
      Field("ranks", [](P const& p) { return std::array{p.grid_x, p.grid_y, p.grid_z}; },
            "Ranks along x, y and z.",
            {.schema =
                 R"("items": {"type": "integer", "minimum": 1}, "minItems": 3, "maxItems": 3)"}),
      Field("equations", &P::global_rows, "Number of unknowns of all ranks.",
            {.schema = R"("minimum": 1)"}),
      Field("entries", &P::global_entries, "Number of entries of the matrix, over all ranks.",
            {.schema = R"("minimum": 1)"}),
      Field("beta", &P::beta, "Factor of the nonsymmetric part; 0: symmetric."));
}

/// What is told of the validation.
constexpr auto fields_of(HpgmxpValidation const*) {
  using V = HpgmxpValidation;
  return std::tuple(
      FieldGroup{"validation", "Validation of the mixed solver against fp64."},
      Field("ranks", &V::ranks, "Number of ranks that took part.",
            {.key = "validation/ranks", .schema = R"("minimum": 1)"}),
      Field("tolerance", &V::tolerance, "Relative residual that both solve to.",
            {.key = "validation/tolerance", .schema = R"("type": "number", "minimum": 0)"}),
      Field("basis", &V::basis, "Precision of the mixed solver's Krylov basis.",
            {.key = "validation/basis"}),
      Field("passed", &V::passed, "Whether the mixed solver met the tolerance.",
            {.key = "validation/passed"}),
      Field(
          "iterations_fp64", [](V const& v) { return v.fp64.iterations; },
          "Number of iterations of the validation in fp64."),
      Field(
          "residual_fp64", [](V const& v) { return v.fp64.relative_residual; },
          "Relative residual that the validation in fp64 reached."),
      Field("seconds_fp64", [](V const& v) { return v.fp64.seconds; }, "Time of the solve in fp64.",
            {.key = "validation/seconds_fp64", .unit = "s"}),
      Field(
          "iterations_mixed", [](V const& v) { return v.mixed.iterations; },
          "Number of iterations of the validation's mixed solve."),
      Field(
          "residual_mixed", [](V const& v) { return v.mixed.relative_residual; },
          "Relative residual that the mixed solve reached."),
      Field("seconds_mixed", [](V const& v) { return v.mixed.seconds; }, "Time of the mixed solve.",
            {.key = "validation/seconds_mixed", .unit = "s"}),
      Field("penalty", &V::penalty,
            "Factor of the rating: iterations_fp64 / iterations_mixed, at most 1.",
            {.schema = R"("type": "number", "exclusiveMinimum": 0, "maximum": 1)"}));
}

/// What is told of a timed phase.
constexpr auto fields_of(HpgmxpPhase const*) {
  using P = HpgmxpPhase;
  return std::tuple(
      Field("values", &P::values, "Precision of the matrices."),
      Field("vectors", &P::scalars, "Precision of the vectors."),
      Field("basis", &P::basis, "Precision of the Krylov basis."),
      Field("solves", &P::solves,
            "Number of solves from zero, each with a fixed number of iterations.",
            {.schema = R"("minimum": 1)"}),
      Field("iterations", &P::iterations, "Number of iterations of all solves."),
      Field("seconds", &P::seconds, "Time of the solves, on the slowest rank.", {.unit = "s"}),
      Field("completed", &P::completed, "Whether every solve ran to its end."),
      Field("ms_per_iteration", &P::ms_per_iteration, "Time of an iteration.",
            {.unit = "ms", .schema = R"("exclusiveMinimum": 0)"}),
      Field("solver_bytes", &P::bytes, "Memory of rank 0's solver.",
            {.unit = "byte", .schema = R"("minimum": 1)"}));
}

/// What is told of a solve without the benchmark's rules.
constexpr auto fields_of(HpgmxpFree const*) {
  using F = HpgmxpFree;
  return std::tuple(
      Field(
          "solver", [](F const& f) { return std::string(f.conjugate_gradients ? "cg" : "fgmres"); },
          "Method: cg or fgmres."),
      Field("levels", &F::levels, "Levels of multigrid, the finest first.",
            {.schema = R"("minItems": 1)"}),
      Field("values", &F::values, "Precision of the preconditioner's matrices."),
      Field("set_up_seconds", &F::set_up_seconds, "Time of the set-up.", {.unit = "s"}),
      Field(
          "iterations", [](F const& f) { return f.krylov.iterations; },
          "Number of iterations of the solve."),
      Field(
          "relative_residual", [](F const& f) { return f.krylov.relative_residual; },
          "Relative residual ||b - A x||_2 / ||b||_2 in fp64."),
      Field(
          "converged", [](F const& f) { return f.krylov.status == KrylovStatus::Converged; },
          "Whether the tolerance was met."),
      Field("seconds", [](F const& f) { return f.krylov.seconds; }, "Time of the solve.",
            {.unit = "s"}));
}

/// What is told of a run.
constexpr auto fields_of(HpgmxpResult const*) {
  using R = HpgmxpResult;
  return std::tuple(
      Field("valid", &R::passed,
            "Whether what was validated passed, and every timed solve ran to its end."),
      Field("ended", &R::is_cut,
            "Whether a signal ended the run before all that was asked for had run."),
      Field("problem", &R::problem, "Linear system."),
      Field("levels", &R::levels, "Levels of multigrid, the finest first.",
            {.key = "problem/levels", .schema = R"("minItems": 1)"}),
      Field("colours", &R::colours, "Number of colours of the finest matrix.",
            {.key = "ordering/colours", .schema = R"("minimum": 1)"}),
      Field("matrix_bytes", &R::matrix_bytes,
            "Memory of rank 0's matrices, fp64 and narrower values together.",
            {.unit = "byte", .schema = R"("minimum": 1)"}),
      Field("held_bytes", &R::held_bytes,
            "Memory of matrices, b, x and a solver at a time, on the rank that has the least.",
            {.unit = "byte", .schema = R"("minimum": 1)"}),
      Field("columns", &R::columns, "How the finest matrix stores its columns."),
      Field("transport", &R::transport, "How halos travel between ranks.",
            {.schema = R"("enum": ["direct", "staged", "enqueued"])"}),
      Field("set_up_seconds", &R::set_up_seconds, "Time to make matrices and levels.",
            {.unit = "s"}),
      Field("copy_gb_per_s", [](R const& r) { return r.copy_bytes_per_second / 1e9; },
            "Rate of a copy on one rank, read and written, all ranks at once.",
            {.unit = "GB/s", .schema = R"("type": "number", "exclusiveMinimum": 0)"}),
      FieldsOf(&R::validation));
}

}  // namespace strata::sparse

#endif
