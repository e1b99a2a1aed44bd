// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The handle of a symmetric matrix that need not be definite.
#include <c/detail/Strata_CopyFields.hpp>
#include <c/factor/detail/Strata_FactorHandle.hpp>
#include <c/runtime/Strata_SymmetricWork.hpp>
#include <dense/Strata_DenseFields.hpp>
#include <dense/indefinite/Strata_SymmetricFields.hpp>

#include <limits>
#include <string>

using namespace strata::c;
using namespace strata::c::detail;
using strata::Uplo;

/// What the handle of strata.h is.
struct strata_symmetric {
  strata_symmetric(Uplo uplo, std::int64_t order, double const* data, std::int64_t ld,
                   Choices const& options)
      : refinement(options.refinement),
        held(new_instance(), uplo, order, data, ld,
             strata::dense::SymmetricOptions{options.layers}) {}
  SymmetricWork& work() const { return held.work(); }
  std::int64_t order() const { return work().factor.report().n; }

  strata::dense::RefinementOptions refinement;
  Held<SymmetricWork> held;
};

namespace {

// Throws   ValueError naming a member that acts on Cholesky factors alone.
void require_applicable(Choices const& options) {
  auto const& c = options.cholesky;
  require(c.leaf_size == 0, "options: leaf_size is for Cholesky factors");
  require(c.shift == 0, "options: shift is for Cholesky factors");
  require(c.equilibrate, "options: no_equilibration is for Cholesky factors");
  require(c.ladder, "options: no_ladder is for Cholesky factors");
  require(!c.jitter, "options: jitter is for Cholesky factors");
  require(options.refinement.refine != strata::dense::Refine::Cg,
          "options: STRATA_REFINE_CG needs a positive definite matrix");
}

Outcome refused(SymmetricWork const& work) {
  return {STRATA_SINGULAR, work.factor.report().refusal};
}

/// f(work) with the handle's factor, if there is one.
template <class Function>
strata_status call_with(char const* function, strata_symmetric* factor, Function&& f) {
  return call(function, [&]() -> Outcome {
    require(factor != nullptr, "factor is a null pointer");
    Caller const caller;
    SymmetricWork& work = factor->work();
    if (!work.factor.ok()) return refused(work);
    Outcome const outcome = f(work);
    return work.factor.ok() ? outcome : refused(work);
  });
}

// A NaN or infinity is named in the caller's triangle.
strata_symmetric* make(Uplo uplo, std::int64_t n, double const* A, std::int64_t lda,
                       Choices const& options) {
  try {
    return strata::dense::in_terms_of_triangle(
        uplo == Uplo::Upper, [&] { return new strata_symmetric(uplo, n, A, lda, options); });
  } catch (strata::dense::NonFiniteEntry const& entry) {
    throw NotFinite(entry.what());
  }
}

void fill(strata_solve_report& to, strata::dense::SolveReport const& from) {
  using C = strata_solve_report;
  copy_fields(to, from, CopyOf{"converged", &C::converged}, CopyOf{"iterations", &C::iterations},
              CopyOf{"climbs", &C::climbs}, CopyOf{"backward_error", &C::backward_error},
              CopyOf{"hpl_scaled_residual", &C::hpl_scaled_residual},
              CopyOf{"seconds", &C::seconds}, CopyOf{"relative_residual", &C::relative_residual});
}

Outcome outcome_of(strata::dense::SolveReport const& report, strata::dense::Refine refine) {
  if (report.converged || refine == strata::dense::Refine::None) return {};
  return {STRATA_NOT_CONVERGED,
          strata::detail::message("the refinement did not converge in ", report.iterations,
                                  " iterations; the backward error is ", report.backward_error)};
}

}  // namespace

strata_status strata_symmetric_create(char uplo, int64_t n, double const* A, int64_t lda,
                                      strata_options const* options, strata_symmetric** factor) {
  if (factor != nullptr) *factor = nullptr;
  return call("strata_symmetric_create", [&]() -> Outcome {
    require(factor != nullptr, "factor is a null pointer");
    auto const triangle = uplo_of(uplo);
    require_argument(triangle.has_value(), 1, "uplo is '", uplo, "', must be 'L' or 'U'");
    require_argument(n >= 0, 2, "n is ", n, ", must be >= 0");
    require_matrix("A", A, n, n, lda, sizeof(double), 3, 4);
    auto const chosen = choices(options);
    require_applicable(chosen);
    *factor = make(*triangle, n, A, lda, chosen);
    SymmetricWork const& work = (*factor)->work();
    if (!work.factor.ok()) return refused(work);
    return {STRATA_SUCCESS, n == 0 ? "success: A has no rows" : ""};
  });
}

strata_status strata_symmetric_solve(strata_symmetric* factor, int64_t nrhs, double const* B,
                                     int64_t ldb, double* X, int64_t ldx,
                                     strata_options const* options, strata_solve_report* report) {
  return call_with("strata_symmetric_solve", factor, [&](SymmetricWork& work) -> Outcome {
    std::int64_t const n = factor->order();
    require_argument(nrhs >= 0, 2, "nrhs is ", nrhs, ", must be >= 0");
    require_matrix("B", B, n, nrhs, ldb, sizeof(double), 3, 4);
    require_matrix("X", X, n, nrhs, ldx, sizeof(double), 5, 6);
    require(!strata::dense::share_memory({B, n, nrhs, 1, ldb}, {X, n, nrhs, 1, ldx}),
            "X overlaps B");
    auto const A = work.A.matrix();
    require(!strata::dense::share_memory({static_cast<double const*>(A.data), n, n, 1, A.ld},
                                         {X, n, nrhs, 1, ldx}),
            "X overlaps A");
    require_report(report);
    auto chosen = options == nullptr ? Choices{.refinement = factor->refinement} : choices(options);
    require_applicable(chosen);
    Exec const& exec = work.exec;
    Operand<double> const right(exec, const_cast<double*>(B), n, nrhs, ldb, Part::All);
    Operand<double> const solution(exec, X, n, nrhs, ldx, Part::None);
    auto const result = with_checked_options([&] {
      return work.factor.solve(exec, columns(right), columns(solution), chosen.refinement);
    });
    solution.write_back(exec, Part::All);
    exec.fence("strata::c::symmetric_solve: X is written");
    if (report != nullptr) {
      strata_solve_report filled{};
      fill(filled, result);
      give(filled, report);
    }
    return outcome_of(result, chosen.refinement.refine);
  });
}

strata_status strata_symmetric_describe(strata_symmetric const* factor,
                                        strata_symmetric_report* report) {
  return call("strata_symmetric_describe", [&] {
    require(factor != nullptr && report != nullptr, "a null pointer for the factor or the report");
    Caller const caller;
    auto const& found = factor->work().factor.report();
    strata_symmetric_report filled{};
    using C = strata_symmetric_report;
    copy_fields(filled, found, CopyOf{"n", &C::n}, CopyOf{"stored_bytes", &C::stored_bytes},
                CopyOf{"norm_inf", &C::norm}, CopyOf{"growth", &C::growth},
                CopyOf{"factor_seconds", &C::seconds});
    filled.attempts = static_cast<std::int64_t>(found.attempts.size());
    std::string(strata::name_of(found.rung)).copy(filled.rung, sizeof filled.rung - 1);
    found.layers.name().copy(filled.layers, sizeof filled.layers - 1);
    give(filled, report);
    return Outcome{};
  });
}

strata_status strata_symmetric_condition(strata_symmetric* factor, double* value) {
  return call_with("strata_symmetric_condition", factor, [&](SymmetricWork& work) -> Outcome {
    require(value != nullptr, "a null pointer for the value");
    auto const found = work.factor.condition(work.exec);
    *value = found.converged ? found.value : std::numeric_limits<double>::infinity();
    return {};
  });
}

strata_status strata_symmetric_inertia(strata_symmetric* factor, int64_t* positive,
                                       int64_t* negative) {
  return call_with("strata_symmetric_inertia", factor, [&](SymmetricWork& work) -> Outcome {
    require(positive != nullptr && negative != nullptr, "a null pointer for a number");
    auto const found = work.factor.inertia(work.exec);
    *positive = found.decided ? found.positive : -1;
    *negative = found.decided ? found.negative : -1;
    return {};
  });
}

strata_status strata_symmetric_log_determinant(strata_symmetric* factor, int* sign, double* value,
                                               double* error) {
  return call_with("strata_symmetric_log_determinant", factor, [&](SymmetricWork& work) -> Outcome {
    require(sign != nullptr, "a null pointer for the sign");
    auto const found = work.factor.log_determinant(work.exec);
    *sign = found.sign;
    if (value != nullptr) *value = found.value;
    if (error != nullptr) *error = found.error;
    return {};
  });
}

void strata_symmetric_destroy(strata_symmetric* factor) { delete factor; }
