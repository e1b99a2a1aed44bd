// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Refinements whose residuals follow the iterate by products that are less precise.
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_ResidualNorms.hpp"
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_SpdSystem.hpp"
#include <core/Strata_Errors.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/detail/Strata_Ladder.hpp>
#include <dense/refine/Strata_Refinement.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;

template <class Exec>
class ResidualUpdates : public testing::Test {};
TYPED_TEST_SUITE(ResidualUpdates, Spaces, SpaceNames);

template <class Exec>
using UpdateBlock = typename OnDevice<Exec>::Block;

struct UpdatedSolve {
  RefinementReport report;
  PlainMatrix X;
  int products = 0, updates = 0;  ///< calls
  double error = 0;               ///< backward error by the reference
};

double reference_error(PlainMatrix const& A, PlainMatrix const& X, PlainMatrix const& B) {
  return worst_of(
      residual_norms(static_cast<std::int64_t>(B.rows), static_cast<std::int64_t>(B.cols), A, X, B),
      &ResidualNorms::backward_error);
}

/// M is L L^T by fp32. Y = Y - A X, and whatever `spoil` makes there. ||A||_2 = 1.
template <class Exec>
UpdatedSolve refined(PlainMatrix const& A, PlainMatrix const& B,
                     RefinementOptions const& options = {},
                     std::function<void(PlainMatrix&)> const& spoil = {},
                     double update_error = 0x1p-40) {
  Exec const exec;
  auto const L = reference_cholesky<float>(A);
  auto const a = OnDevice<Exec>::copy(A), b = OnDevice<Exec>::copy(B),
             x = OnDevice<Exec>::copy(PlainMatrix(B.rows, B.cols));
  UpdatedSolve solved;
  RefinementOperators<Exec> operators;
  operators.norm_inf = norm_inf(A);
  operators.apply = [&](UpdateBlock<Exec> const& X, UpdateBlock<Exec> const& Y) {
    ++solved.products;
    reference_product(exec, a, X, Y);
  };
  operators.precondition = [&](UpdateBlock<Exec> const& R) {
    PlainMatrix X = OnDevice<Exec>::read(R);
    for (std::size_t c = 0; c < X.cols; ++c) {
      reference_forward<float>(L, X.data.data() + c * X.rows);
      reference_backward<float>(L, X.data.data() + c * X.rows);
    }
    OnDevice<Exec>::write(R, X);
  };
  if (spoil) {
    operators.update_error = update_error;
    operators.update = [&](UpdateBlock<Exec> const& X, UpdateBlock<Exec> const& Y) {
      ++solved.updates;
      PlainMatrix const D = OnDevice<Exec>::read(X);
      PlainMatrix R = OnDevice<Exec>::read(Y);
      PlainMatrix product(R.rows, R.cols);
      for (std::size_t c = 0; c < R.cols; ++c)
        for (std::size_t k = 0; k < R.rows; ++k)
          for (std::size_t i = 0; i < R.rows; ++i) product(i, c) += A(i, k) * D(k, c);
      spoil(product);
      for (std::size_t k = 0; k < R.data.size(); ++k) R.data[k] -= product.data[k];
      OnDevice<Exec>::write(Y, R);
    };
  }
  solved.report = refine(exec, operators, b, x, options);
  solved.X = OnDevice<Exec>::read(x);
  solved.error = reference_error(A, solved.X, B);
  return solved;
}

constexpr int bits = 40;
void round_to_bits(PlainMatrix& A) {
  for (double& x : A.data) {
    int exponent = 0;
    double const mantissa = std::frexp(x, &exponent);
    x = std::ldexp(std::nearbyint(std::ldexp(mantissa, bits)), exponent - bits);
  }
}

// Two residuals in fp64 where there was one for each step, and the same error.
template <class Exec>
void spare_products() {
  std::size_t const n = 150;
  PlainMatrix const A = with_spectrum(geometric_spectrum(n, 3e6)), B = random_numbers(n, 5);
  auto const plain = refined<Exec>(A, B), updated = refined<Exec>(A, B, {}, round_to_bits);
  ASSERT_TRUE(plain.report.converged && updated.report.converged);
  EXPECT_EQ(plain.report.updates, 0);
  EXPECT_EQ(updated.report.updates, updated.updates);
  EXPECT_GE(updated.updates, 2);
  EXPECT_EQ(updated.products, 2);
  EXPECT_GE(plain.products, updated.products + 2);
  EXPECT_LE(updated.report.iterations, plain.report.iterations + 1);
  EXPECT_LE(updated.error, std::sqrt(n) * 0x1p-52);
  EXPECT_NEAR(updated.error, updated.report.backward_error, n * 0x1p-53);
  EXPECT_EQ(updated.report.history.size(),
            static_cast<std::size_t>(updated.report.outer_iterations) + 1);
}
TYPED_TEST(ResidualUpdates, SpareProductsInFp64) { spare_products<TypeParam>(); }

// Whatever an update does, and says of its error, no claim is taken for a solution.
template <class Exec>
void claims_are_proved() {
  std::size_t const n = 90;
  PlainMatrix const A = with_spectrum(geometric_spectrum(n, 1e4)), B = random_numbers(n, 4);
  auto const nothing = [](PlainMatrix& product) { std::ranges::fill(product.data, 0); };
  auto const all_of_it = [](PlainMatrix& product) {
    for (double& x : product.data) x *= 1 + 1e-3;
  };
  auto const not_a_number = [](PlainMatrix& product) {
    std::ranges::fill(product.data, std::numeric_limits<double>::quiet_NaN());
  };
  auto const huge = [](PlainMatrix& product) { std::ranges::fill(product.data, 1e300); };
  std::function<void(PlainMatrix&)> const spoils[] = {nothing, all_of_it, not_a_number, huge};
  for (std::size_t k = 0; k < std::size(spoils); ++k)
    for (double const said : {0.0, 0x1p-27, 1.0}) {
      SCOPED_TRACE(testing::Message() << "update " << k << " that says " << said);
      auto const solved = refined<Exec>(A, B, {}, spoils[k], said);
      EXPECT_TRUE(solved.report.converged) << solved.report.iterations;
      EXPECT_LE(solved.error, std::sqrt(n) * 0x1p-52) << name_of(solved.report.method);
      EXPECT_LE(solved.report.iterations, 30);
    }
}
TYPED_TEST(ResidualUpdates, AreProvedBeforeAnythingEnds) { claims_are_proved<TypeParam>(); }

// A refinement that is ended early has the best iterate that was proved, and its true error.
template <class Exec>
void end_with_a_proof() {
  std::size_t const n = 100;
  PlainMatrix const A = with_spectrum(geometric_spectrum(n, 1e5)), B = random_numbers(n, 3);
  for (Refine const method : {Refine::Automatic, Refine::Classical})
    for (int most = 1; most <= 4; ++most) {
      RefinementOptions options;
      options.refine = method;
      options.max_iterations = most;
      auto const plain = refined<Exec>(A, B, options),
                 updated = refined<Exec>(A, B, options, round_to_bits);
      EXPECT_LE(updated.report.iterations, most);
      EXPECT_NEAR(updated.error, updated.report.backward_error, 0.01 * updated.error + n * 0x1p-53);
      EXPECT_LE(updated.error, 4 * plain.error + n * 0x1p-53) << most;
    }
  for (Refine const method : {Refine::None, Refine::Cg, Refine::Gmres}) {
    RefinementOptions options;
    options.refine = method;
    EXPECT_EQ(refined<Exec>(A, B, options, round_to_bits).updates, 0);
  }
}
TYPED_TEST(ResidualUpdates, EndWithAProof) { end_with_a_proof<TypeParam>(); }

/// A solve by a factor in these layers, with integers of A or without.
template <class Exec>
SolveReport solve_by_factor(PlainMatrix const& A, PlainMatrix const& B, LayerList const& layers,
                            int moduli, PlainMatrix& X) {
  Exec const exec;
  auto const a = OnDevice<Exec>::copy(A), b = OnDevice<Exec>::copy(B),
             x = OnDevice<Exec>::copy(PlainMatrix(B.rows, B.cols));
  auto factor = cholesky(exec, a, layers);
  EXPECT_TRUE(factor.info().ok());
  RefinementOptions options;
  options.update_moduli = moduli;
  auto report = factor.solve(exec, b, x, options);
  X = OnDevice<Exec>::read(x);
  return report;
}

template <class Exec>
void solve_to_fp64(bool scaled) {
  using enum Precision;
  std::size_t const n = 130;
  PlainMatrix const plain = with_spectrum(geometric_spectrum(n, 1e5)),
                    A = scaled ? badly_scaled(plain, 40) : plain;
  for (std::size_t const cols : {1, 16, 33}) {
    PlainMatrix B = random_numbers(n, cols), X, Y;
    for (std::size_t j = 1; j < cols; ++j)
      for (std::size_t i = 0; i < n; ++i)
        B(i, j) *= j % 4 == 1 ? 1e200 : j % 4 == 2 ? 1e-200 : j % 4 == 3 ? 0 : 1;
    auto const updated = solve_by_factor<Exec>(A, B, LayerList{fp32}, 7, X),
               direct = solve_by_factor<Exec>(A, B, LayerList{fp32}, 0, Y);
    EXPECT_TRUE(updated.converged && direct.converged);
    EXPECT_GE(updated.refinement.updates, 2);
    EXPECT_EQ(direct.refinement.updates, 0);
    EXPECT_LE(updated.iterations, direct.iterations + 1);
    EXPECT_LE(updated.refinement.equilibrated_error, std::sqrt(n) * 0x1p-52);
    EXPECT_LE(updated.hpl_scaled_residual, hpl_threshold);
    if (!scaled) {
      EXPECT_LE(reference_error(A, X, B), std::sqrt(n) * 0x1p-52);
    }
    for (std::size_t j = 3; j < cols; j += 4)
      for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(X(i, j), 0);
    EXPECT_EQ(solve_by_factor<Exec>(A, B, LayerList{fp64}, 7, X).refinement.updates, 0);
  }
}
TYPED_TEST(ResidualUpdates, SolveToFp64ByIntegersOfTheMatrix) { solve_to_fp64<TypeParam>(false); }
TYPED_TEST(ResidualUpdates, SolveToFp64ByIntegersOfAMatrixThatIsScaled) {
  solve_to_fp64<TypeParam>(true);
}

// Each piece of the integers' memory may be what there is none for.
TYPED_TEST(ResidualUpdates, DoWithoutWhereThereIsNoMemory) {
  std::size_t const n = 60;
  PlainMatrix const A = with_spectrum(geometric_spectrum(n, 1e5)), B = random_numbers(n, 3);
  PlainMatrix expected, X;
  (void)solve_by_factor<TypeParam>(A, B, LayerList{Precision::fp32}, 0, expected);
  for (char const* const piece : {"rows", "room", "passing"}) {
    FailingAllocations failing(std::string("strata::dense::kept_residues::") + piece,
                               [] { return true; });
    auto const report = solve_by_factor<TypeParam>(A, B, LayerList{Precision::fp32}, 7, X);
    EXPECT_TRUE(failing.failed()) << piece;
    EXPECT_TRUE(report.converged && report.obstacle.empty());
    EXPECT_EQ(report.refinement.updates, 0);
    EXPECT_EQ(X.data, expected.data);
  }
}

TYPED_TEST(ResidualUpdates, RefuseWhatIsNotFiniteAndDoNothingWithNothing) {
  PlainMatrix const A = with_spectrum(geometric_spectrum(30, 1e5));
  LayerList const layers{Precision::fp32};
  for (double const bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    PlainMatrix B = random_numbers(30, 4), X;
    B(7, 2) = bad;
    EXPECT_TRUE(throws_with<ValueError>("column 2 of B holds a non-finite number, in row 7", [&] {
      (void)solve_by_factor<TypeParam>(A, B, layers, 7, X);
    }));
  }
  PlainMatrix X;
  for (auto const& [order, cols] : {std::pair{0, 3}, {30, 0}}) {
    auto const size = static_cast<std::size_t>(order);
    EXPECT_TRUE(solve_by_factor<TypeParam>(order > 0 ? A : PlainMatrix(0, 0),
                                           PlainMatrix(size, static_cast<std::size_t>(cols)),
                                           layers, 7, X)
                    .converged);
  }
  PlainMatrix const zeros(30, 3);
  EXPECT_TRUE(solve_by_factor<TypeParam>(A, zeros, layers, 7, X).converged);
  EXPECT_EQ(X.data, zeros.data);
}

TYPED_TEST(ResidualUpdates, RefuseOtherNumbersOfModuli) {
  PlainMatrix const A = with_spectrum(geometric_spectrum(20, 10)), B = random_numbers(20, 2);
  for (int const moduli : {-2, 1, 5, 17}) {
    PlainMatrix X;
    EXPECT_TRUE(throws_with<ValueError>("update_moduli is " + std::to_string(moduli), [&] {
      (void)solve_by_factor<TypeParam>(A, B, LayerList{Precision::fp32}, moduli, X);
    }));
  }
}

// On an H200 integers pay from some hundred columns on, and patience ends where an iteration is a
// product.
TEST(ResidualUpdateRates, ForetellWhatIsSooner) {
  using namespace strata::dense::detail;
  ProductRates const rates{50e12, 1.0e15, 3e12};
  EXPECT_TRUE(updates_pay(rates, 65536, 1024, 9));
  EXPECT_TRUE(updates_pay(rates, 16384, 256, 9));
  EXPECT_FALSE(updates_pay(rates, 65536, 16, 9));
  EXPECT_FALSE(updates_pay(rates, 65536, 1, 9));
  EXPECT_FALSE(updates_pay({500e12, 1.0e15, 3e12}, 65536, 1024, 9));  // as fast in fp64
  EXPECT_EQ(moduli_beside(0x1p-22), 9);
  EXPECT_EQ(moduli_beside(0x1p-24), 10);
  EXPECT_EQ(moduli_beside(0x1p-11), 7);
  EXPECT_EQ(moduli_beside(1e-12), 0);
  EXPECT_EQ(iterations_for(1, 40), 40);
  EXPECT_EQ(iterations_for(128, 40), 40);
  EXPECT_EQ(iterations_for(256, 40), 20);
  EXPECT_EQ(iterations_for(1024, 163), 20);
  EXPECT_EQ(iterations_for(1024, 40), 8);
  EXPECT_EQ(iterations_for(1024, 5), 5);
}

}  // namespace
