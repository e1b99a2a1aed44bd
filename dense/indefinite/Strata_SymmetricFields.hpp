// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SYMMETRIC_FIELDS_HPP
#define STRATA_SYMMETRIC_FIELDS_HPP

#include <core/Strata_Fields.hpp>
#include <dense/Strata_DenseFields.hpp>
#include <dense/indefinite/Strata_SymmetricFactor.hpp>

#include <tuple>

/// What documents and Python tell of a symmetric matrix that need not be definite.
namespace strata::dense {

/// What is told of an attempt.
constexpr auto fields_of(SymmetricAttempt const*) {
  using A = SymmetricAttempt;
  return std::tuple(
      Field("rung", &A::rung, "Rung of the ladder."),
      Field("layers", &A::layers, "Precisions that were tried, outermost block first.",
            {.schema = detail::layers_schema}),
      Field("outcome", &A::outcome, "What became of the attempt."),
      Field("growth", &A::growth,
            "Largest magnitude of all reduced matrices over that of the first; 0: not known.",
            {.schema = detail::size_schema}),
      Field("zero_pivot", &A::zero_pivot, "First pivot that is 0, from 1; 0: none is."),
      Field("seconds", &A::seconds, "Time to load and factor the matrix.", {.unit = "s"}));
}

/// What is told of the signs of eigenvalues.
constexpr auto fields_of(Inertia const*) {
  using I = Inertia;
  return std::tuple(
      Field("positive", &I::positive, "Number of eigenvalues above 0."),
      Field("negative", &I::negative, "Number of eigenvalues below 0."),
      Field("zero", &I::zero, "Number of eigenvalues that are 0: none where it is decided."),
      Field("decided", &I::decided,
            "Whether rounding leaves the signs decided; if not, the numbers are 0."),
      Field("distance", &I::distance, "Bound of ||I - M^-1 A||_2; below 1 it is decided.",
            {.schema = detail::size_schema}));
}

/// What is told of a determinant.
constexpr auto fields_of(SignedLogDeterminant const*) {
  using L = SignedLogDeterminant;
  return std::tuple(
      Field("sign", &L::sign, "Sign of det A, 1 or -1; 0: not decided.",
            {.schema = R"("minimum": -1, "maximum": 1)"}),
      Field("value", &L::value, "Logarithm of |det A|."),
      Field("error", &L::error,
            "Error to state: |value - log |det A|| is less but for about one case in a thousand."));
}

/// What is told of a factorisation.
constexpr auto fields_of(SymmetricReport const*) {
  using R = SymmetricReport;
  return std::tuple(
      Field("n", &R::n, "Order of the matrix.", {.told = Told::InPython}),
      Field("layers", &R::layers, "Precisions of the factor, farthest from the diagonal first.",
            {.schema = detail::layers_schema}),
      FieldGroup{"scaling", "Scaling of rows and columns by powers of two, D A D."},
      Field("smallest_scaling", &R::smallest_scaling, "Least number of D, a power of two.",
            {.key = "scaling/smallest"}),
      Field("largest_scaling", &R::largest_scaling, "Largest number of D, a power of two.",
            {.key = "scaling/largest"}),
      Field("rung", &R::rung, "Rung of the ladder that held, or was the last."),
      Field("attempts", &R::attempts, "Factorisations that were tried, in order."),
      Field("growth", &R::growth, "Growth of the factor; 0: not known.",
            {.schema = detail::size_schema}),
      Field("refusal", &R::refusal, "Why there is no factor; empty: there is one."),
      Field("norm_inf", &R::norm_inf, "Largest sum of magnitudes in a row of A.",
            {.told = Told::InPython}),
      FieldGroup{"bytes", "Memory."},
      Field("stored_bytes", &R::stored_bytes, "Memory of the factor.",
            {.key = "bytes/factor", .unit = "byte"}),
      Field("condition", &R::condition, "Condition of the matrix, estimated.",
            {.told = Told::InDocuments}),
      FieldGroup{"seconds/factor_parts", "Parts of seconds/factor, over all attempts."},
      Field("analyse_seconds", &R::analyse_seconds, "Time to check and scale A.",
            {.key = "seconds/factor_parts/analyse", .unit = "s"}),
      Field("factor_seconds", &R::factor_seconds, "Time to load and factor A.",
            {.key = "seconds/factor_parts/ldlt", .unit = "s"}));
}

}  // namespace strata::dense

#endif
