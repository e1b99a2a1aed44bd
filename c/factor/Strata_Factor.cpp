// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The handle: a factorisation in layers, refined solves, the report.
#include <c/detail/Strata_Call.hpp>
#include <c/detail/Strata_CopyFields.hpp>
#include <c/detail/Strata_Options.hpp>
#include <c/factor/detail/Strata_FactorHandle.hpp>
#include <c/runtime/Strata_Held.hpp>
#include <c/runtime/Strata_Operand.hpp>
#include <c/runtime/Strata_Runtime.hpp>
#include <c/strata.h>
#include <dense/Strata_Cholesky.hpp>
#include <dense/Strata_DenseFields.hpp>

#include <limits>
#include <string>

using namespace strata::c;
using namespace strata::c::detail;
using strata::Uplo;

namespace {

Outcome outcome_of(Work const& work, strata::dense::SolveReport const& report,
                   strata::dense::Refine refine) {
  if (!work.factor.info().ok()) return no_factor(work);
  if (report.converged || refine == strata::dense::Refine::None) return {};
  std::string text = strata::detail::message(
      "the refinement ", report.refinement.converged ? "converged" : "did not converge", " in ",
      report.iterations, " iterations; the backward error is ", report.backward_error);
  if (!report.obstacle.empty()) text += "; it was not factored again: " + report.obstacle;
  return {STRATA_NOT_CONVERGED, text};
}

strata_rung rung_of(strata::Rung rung) {
  using enum strata::Rung;
  return rung == AsAsked        ? STRATA_RUNG_AS_ASKED
         : rung == Shifted      ? STRATA_RUNG_SHIFTED
         : rung == HigherLayers ? STRATA_RUNG_HIGHER_LAYERS
                                : STRATA_RUNG_FP64;
}

}  // namespace

strata_status strata_cholesky(char uplo, int64_t n, double const* A, int64_t lda,
                              strata_options const* options, strata_factor** factor) {
  if (factor != nullptr) *factor = nullptr;
  return call("strata_cholesky", [&]() -> Outcome {
    require(factor != nullptr, "factor is a null pointer");
    auto const triangle = uplo_of(uplo);
    require_argument(triangle.has_value(), 1, "uplo is '", uplo, "', must be 'L' or 'U'");
    require_argument(n >= 0, 2, "n is ", n, ", must be >= 0");
    require_matrix("A", A, n, n, lda, sizeof(double), 3, 4);
    *factor = new strata_factor(*triangle, n, A, lda, choices(options));
    Work const& work = (*factor)->work();
    if (!work.factor.info().ok()) return no_factor(work);
    return {STRATA_SUCCESS, n == 0 ? "success: A has no rows" : ""};
  });
}

strata_status strata_solve(strata_factor* factor, int64_t nrhs, double const* B, int64_t ldb,
                           double* X, int64_t ldx, strata_options const* options,
                           strata_solve_report* report) {
  return call("strata_solve", [&]() -> Outcome {
    require(factor != nullptr, "factor is a null pointer");
    strata_factor& f = *factor;
    require_argument(nrhs >= 0, 2, "nrhs is ", nrhs, ", must be >= 0");
    Caller const caller;
    Work& work = f.work();
    std::int64_t const n = f.order();
    require_matrix("B", B, n, nrhs, ldb, sizeof(double), 3, 4);
    require_matrix("X", X, n, nrhs, ldx, sizeof(double), 5, 6);
    if (!work.factor.info().ok()) return no_factor(work);
    require(!strata::dense::share_memory({B, n, nrhs, 1, ldb}, {X, n, nrhs, 1, ldx}),
            "X overlaps B");
    require_report(report);
    auto const refinement = options == nullptr ? f.refinement : choices(options).refinement;
    Exec const& exec = work.exec;
    Operand<double> const right(exec, const_cast<double*>(B), n, nrhs, ldb, Part::All);
    Operand<double> const solution(exec, X, n, nrhs, ldx, Part::None);
    require_apart_from_A(work, solution.matrix());
    auto const result = with_checked_options(
        [&] { return work.factor.solve(exec, columns(right), columns(solution), refinement); });
    solution.write_back(exec, Part::All);
    exec.fence("strata::c::solve: X is written");
    if (report != nullptr) {
      strata_solve_report filled{};
      using C = strata_solve_report;
      copy_fields(
          filled, result, CopyOf{"converged", &C::converged}, CopyOf{"iterations", &C::iterations},
          CopyOf{"climbs", &C::climbs}, CopyOf{"backward_error", &C::backward_error},
          CopyOf{"hpl_scaled_residual", &C::hpl_scaled_residual}, CopyOf{"seconds", &C::seconds},
          CopyOf{"relative_residual", &C::relative_residual});
      give(filled, report);
    }
    return outcome_of(work, result, refinement.refine);
  });
}

strata_status strata_factor_describe(strata_factor const* factor, strata_factor_report* report) {
  return call("strata_factor_describe", [&] {
    require(factor != nullptr && report != nullptr, "a null pointer for the factor or the report");
    Caller const caller;
    auto const& found = factor->work().factor.report();
    strata_factor_report filled{};
    using C = strata_factor_report;
    copy_fields(filled, found, CopyOf{"n", &C::n}, CopyOf{"leaf_size", &C::leaf_size},
                CopyOf{"shift", &C::shift}, CopyOf{"norm_inf", &C::norm},
                CopyOf{"stored_bytes", &C::stored_bytes}, CopyOf{"seconds", &C::seconds},
                CopyOf{"jitter", &C::jitter});
    filled.info = factor->work().factor.info().order();
    filled.rung = rung_of(found.rung);
    filled.attempts = static_cast<std::int64_t>(found.attempts.size());
    std::string const name = found.layers.name();
    name.copy(filled.layers, sizeof filled.layers - 1);
    give(filled, report);
    return Outcome{};
  });
}

strata_status strata_condition(strata_factor* factor, double* value) {
  return call("strata_condition", [&]() -> Outcome {
    require(factor != nullptr && value != nullptr, "a null pointer for the factor or the value");
    Caller const caller;
    Work& work = factor->work();
    if (!work.factor.info().ok()) return no_factor(work);
    auto const found = work.factor.condition(work.exec);
    *value = found.converged ? found.value : std::numeric_limits<double>::infinity();
    return Outcome{};
  });
}

double strata_forward_error(strata_solve_report const* solve, double condition) {
  if (solve == nullptr || solve->struct_size < sizeof *solve) return 1;
  return strata::dense::forward_error({.relative_residual = solve->relative_residual},
                                      {.value = condition});
}

double strata_digits(double forward_error) { return strata::dense::digits(forward_error); }

strata_status strata_log_determinant(strata_factor* factor, double* value, double* error) {
  return call("strata_log_determinant", [&]() -> Outcome {
    require(factor != nullptr && value != nullptr, "a null pointer for the factor or the value");
    Caller const caller;
    Work& work = factor->work();
    if (!work.factor.info().ok()) return no_factor(work);
    auto const found = work.factor.log_determinant(work.exec);
    *value = found.value;
    if (error != nullptr) *error = found.error();
    return Outcome{};
  });
}

strata_status strata_factor_copy(strata_factor const* factor, double* L, int64_t ldl) {
  return call("strata_factor_copy", [&]() -> Outcome {
    require(factor != nullptr, "factor is a null pointer");
    Caller const caller;
    Work const& work = factor->work();
    if (!work.factor.info().ok()) return no_factor(work);
    std::int64_t const n = factor->order();
    require_matrix("L", L, n, n, ldl, sizeof(double), 2, 3);
    Operand<double> const result(work.exec, L, n, n, ldl, Part::None);
    work.factor.copy_factor(work.exec, result.matrix());
    result.write_back(work.exec, Part::Lower);
    work.exec.fence("strata::c::factor_copy: L is written");
    return Outcome{};
  });
}

void strata_factor_destroy(strata_factor* factor) { delete factor; }
