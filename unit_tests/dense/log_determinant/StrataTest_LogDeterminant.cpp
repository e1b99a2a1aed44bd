// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_SpdSystem.hpp"
#include <core/Strata_Errors.hpp>
#include <dense/log_determinant/Strata_LogDeterminant.hpp>
#include <dense/log_determinant/detail/Strata_Tridiagonal.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;

template <class Exec>
using Block = typename OnDevice<Exec>::Block;

double log_det_of_factor(PlainMatrix const& L) {
  double sum = 0;
  for (std::size_t i = 0; i < L.rows; ++i) sum += 2 * std::log(L(i, i));
  return sum;
}

/// Half of a solve with the factor in fp64 on the host.
template <class Exec>
std::function<void(Block<Exec> const&)> half(PlainMatrix const& L,
                                             void (*solve)(PlainMatrix const&, double*)) {
  return [factor = std::make_shared<PlainMatrix>(L), solve](Block<Exec> const& V) {
    PlainMatrix X = OnDevice<Exec>::read(V);
    for (std::size_t c = 0; c < X.cols; ++c) solve(*factor, X.data.data() + c * X.rows);
    OnDevice<Exec>::write(V, X);
  };
}

/// The estimate for A with the factor L of M, whose halves are solved in fp64 on the host.
template <class Exec>
LogDeterminantEstimate estimate(PlainMatrix const& A, PlainMatrix const& L,
                                LogDeterminantOptions const& options = {}) {
  Exec const exec;
  auto const device = OnDevice<Exec>::copy(A);
  LogDeterminantOperators<Exec> operators;
  operators.apply = [exec, device](Block<Exec> const& X, Block<Exec> const& Y) {
    reference_product(exec, device, X, Y);
  };
  operators.forward = half<Exec>(L, &reference_forward<double>);
  operators.backward = half<Exec>(L, &reference_backward<double>);
  return log_determinant(exec, static_cast<std::int64_t>(A.rows), log_det_of_factor(L), operators,
                         options);
}

template <class Exec>
class LogDeterminant : public testing::Test {};
TYPED_TEST_SUITE(LogDeterminant, Spaces, SpaceNames);

// The log-determinant of the factor is off by `error`; the estimate must be within its own error
// bar.
template <class Exec>
void corrects_a_single_precision_factor() {
  std::size_t const n = 300;
  for (double const kappa : {1e2, 1e4, 1e6}) {
    PlainMatrix const A = with_spectrum(geometric_spectrum(n, kappa));
    double const exact = log_det_of_factor(reference_cholesky<double>(A));
    auto const result = estimate<Exec>(A, reference_cholesky<float>(A));
    double const error = std::abs(result.value - result.correction - exact);
    double const bar = result.standard_error + result.quadrature_error;
    SCOPED_TRACE("kappa " + std::to_string(kappa) + ": off by " + std::to_string(error) + ", bar " +
                 std::to_string(bar));
    EXPECT_LE(std::abs(result.value - exact), 4 * bar + 1e-10);
    EXPECT_LE(bar, kappa * 0x1p-24);
    EXPECT_GT(result.standard_error, 0);
  }
}
TYPED_TEST(LogDeterminant, CorrectsASinglePrecisionFactor) {
  corrects_a_single_precision_factor<TypeParam>();
}

// For a diagonal matrix each probe of signs has z' f(A) z = tr f(A), and the variance that is
// stated is 2 tr log(A)^2 over the probes.
TYPED_TEST(LogDeterminant, StatesTheVarianceOfSigns) {
  std::size_t const n = 80;
  PlainMatrix A(n, n), L(n, n);
  double exact = 0, squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    A(i, i) = std::exp(std::sin(static_cast<double>(i)));
    L(i, i) = 1;
    exact += std::log(A(i, i));
    squares += std::log(A(i, i)) * std::log(A(i, i));
  }
  auto const result = estimate<TypeParam>(A, L, {.probes = 8});
  EXPECT_NEAR(result.value, exact, result.quadrature_error + 1e-12);
  EXPECT_NEAR(result.standard_error, std::sqrt(2 * squares / 8), 0.02 * result.standard_error);
}

// M has eigenvalues that are off by up to a factor of 100.
template <class Exec>
void corrects_a_poor_factor() {
  std::size_t const n = 300;
  auto const spectrum = geometric_spectrum(n, 1e5);
  auto other = spectrum;
  double exact = 0, wrong = 0;
  for (std::size_t i = 0; i < n; ++i) {
    other[i] *= std::pow(100.0, static_cast<double>((i * 37) % 101) / 100 - 0.3);
    exact += std::log(spectrum[i]);
    wrong += std::log(other[i]);
  }
  PlainMatrix const A = with_spectrum(spectrum),
                    L = reference_cholesky<double>(with_spectrum(other));
  for (std::uint64_t const seed : {1, 2, 3, 4}) {
    auto const result = estimate<Exec>(A, L, {.seed = seed});
    EXPECT_NEAR(result.correction, exact - wrong,
                4 * (result.standard_error + result.quadrature_error));
    EXPECT_LE(result.standard_error, 0.1 * std::abs(exact - wrong));
  }
}
TYPED_TEST(LogDeterminant, CorrectsAPoorFactor) { corrects_a_poor_factor<TypeParam>(); }

// Eigenvalues of C that are far apart: what Lanczos leaves out has a bound, or there is none.
template <class Exec>
void bounds_what_lanczos_leaves_out() {
  std::size_t const n = 300;
  auto const spectrum = geometric_spectrum(n, 1e2);
  PlainMatrix identity(n, n);
  for (std::size_t i = 0; i < n; ++i) identity(i, i) = 1;
  PlainMatrix const A = with_spectrum(spectrum);
  double exact = 0;
  for (double const value : spectrum) exact += std::log(value);
  for (std::uint64_t const seed : {1, 2}) {
    auto const converged = estimate<Exec>(A, identity, {.steps = 60, .seed = seed});
    EXPECT_LE(std::abs(converged.value - exact), converged.error());
    EXPECT_LE(converged.quadrature_error, 1e-3 * converged.standard_error);
    auto const cut = estimate<Exec>(A, identity, {.steps = 24, .seed = seed});
    EXPECT_LE(std::abs(cut.value - converged.value),
              cut.quadrature_error + converged.quadrature_error);
    EXPECT_TRUE(std::isinf(estimate<Exec>(A, identity, {.steps = 5, .seed = seed}).error()));
  }
}
TYPED_TEST(LogDeterminant, BoundsWhatLanczosLeavesOut) {
  bounds_what_lanczos_leaves_out<TypeParam>();
}

// The factor of A itself but for 1e-6: the probes' scatter is not seen by one step of Lanczos.
template <class Exec>
void states_small_errors_that_hold() {
  std::size_t const n = 300;
  PlainMatrix const A = with_spectrum(geometric_spectrum(n, 1e2));
  double const exact = log_det_of_factor(reference_cholesky<double>(A));
  PlainMatrix L = reference_cholesky<double>(A);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = j + 1; i < n; ++i)
      L(i, j) *= 1 + 1e-6 * std::sin(static_cast<double>(7 * i + 13 * j));
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    auto const result = estimate<Exec>(A, L, {.seed = seed});
    EXPECT_LE(std::abs(result.value - exact), result.error() + 1e-11) << seed;
    EXPECT_LE(result.error(), 1e-3) << seed;
    EXPECT_GT(result.error(), 1e-7) << seed;
  }
}
TYPED_TEST(LogDeterminant, StatesSmallErrorsThatHold) {
  states_small_errors_that_hold<TypeParam>();
}

template <class Exec>
void is_reproducible_and_depends_on_the_seed() {
  PlainMatrix const A = with_spectrum(geometric_spectrum(50, 1e3));
  PlainMatrix const L = reference_cholesky<float>(A);
  double const first = estimate<Exec>(A, L).correction;
  EXPECT_EQ(estimate<Exec>(A, L).correction, first);
  EXPECT_NE(estimate<Exec>(A, L, {.seed = 2}).correction, first);
}
TYPED_TEST(LogDeterminant, TellsWhatPartIsDone) {
  PlainMatrix const A = with_spectrum(geometric_spectrum(200, 1e4));
  auto const L = reference_cholesky<float>(A);
  std::vector<double> parts;
  LogDeterminantOptions options;
  options.on_progress = [&](double part) { parts.push_back(part); };
  auto const found = estimate<TypeParam>(A, L, options);
  EXPECT_LT(found.steps, options.steps);  // it ends before its time
  ASSERT_EQ(parts.size(), static_cast<std::size_t>(found.steps));
  EXPECT_TRUE(std::ranges::is_sorted(parts));
  EXPECT_GT(parts.front(), 0);
  EXPECT_EQ(parts.back(), 1);
  options.on_progress = {};
  EXPECT_EQ(estimate<TypeParam>(A, L, options).value, found.value);
  options.on_progress = [](double) { throw std::runtime_error("enough"); };
  EXPECT_THROW((void)estimate<TypeParam>(A, L, options), std::runtime_error);
}

TYPED_TEST(LogDeterminant, IsReproducibleAndDependsOnTheSeed) {
  is_reproducible_and_depends_on_the_seed<TypeParam>();
}

template <class Exec>
void is_exact_for_few_unknowns() {
  for (std::size_t const n : {1, 2, 5, 16}) {
    auto const spectrum = geometric_spectrum(n, 1e3);
    double exact = 0;
    for (double const value : spectrum) exact += std::log(value);
    PlainMatrix identity(n, n);
    for (std::size_t i = 0; i < n; ++i) identity(i, i) = 2;
    auto const result = estimate<Exec>(with_spectrum(spectrum), identity);
    EXPECT_NEAR(result.value, exact, 1e-11 * (1 + std::abs(exact)));
    EXPECT_EQ(result.standard_error, 0);
    EXPECT_EQ(result.quadrature_error, 0);
  }
  auto const nothing = estimate<Exec>(PlainMatrix(), PlainMatrix());
  EXPECT_EQ(nothing.value, 0);
}
TYPED_TEST(LogDeterminant, IsExactForFewUnknowns) { is_exact_for_few_unknowns<TypeParam>(); }

bool says_nothing(LogDeterminantEstimate const& estimate) {
  return std::isfinite(estimate.value) && estimate.correction == 0 && std::isinf(estimate.error());
}

template <class Exec>
void says_nothing_without_positive_definiteness() {
  std::size_t const n = 40;
  auto spectrum = geometric_spectrum(n, 1e2);
  PlainMatrix const L = reference_cholesky<double>(with_spectrum(spectrum));
  spectrum[0] = -1;
  EXPECT_TRUE(says_nothing(estimate<Exec>(with_spectrum(spectrum), L)));
  PlainMatrix A = with_spectrum(geometric_spectrum(n, 1e2));
  A(3, 4) = A(4, 3) = std::nan("");
  EXPECT_TRUE(says_nothing(estimate<Exec>(A, L)));
}
TYPED_TEST(LogDeterminant, IsThatOfTheFactorWithoutPositiveDefiniteness) {
  says_nothing_without_positive_definiteness<TypeParam>();
}

// Flat spectra, graded ones, and one in which a single eigenvalue is all there is of the inverse's
// norm.
template <class Exec>
void rounding_knows_the_norm_of_the_inverse() {
  for (std::size_t const n : {1, 7, 16, 17, 300})
    for (double const kappa : {1.0, 1e4, -1e4}) {
      auto spectrum = kappa < 0 ? std::vector<double>(n, 1.0) : geometric_spectrum(n, kappa);
      if (kappa < 0) spectrum[0] = -1 / kappa;
      double squares = 0;
      for (double const value : spectrum) squares += 1 / (value * value);
      LogDeterminantOperators<Exec> operators;
      operators.forward = half<Exec>(reference_cholesky<double>(with_spectrum(spectrum)),
                                     &reference_forward<double>);
      auto const order = static_cast<std::int64_t>(n);
      double const expected = 0x1p-52 * 2 * (std::sqrt(n) + 8) * std::sqrt(squares);
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        SCOPED_TRACE(std::to_string(n) + " " + std::to_string(kappa));
        double const found =
            log_determinant_rounding(Exec(), order, 0.0, operators, {.seed = seed});
        EXPECT_LE(found, (n <= 16 ? 1.001 : 2.5) * expected);
        EXPECT_GE(found, (n <= 16 ? 0.999 : 0.3) * expected);
      }
      double const of_one = log_determinant_rounding(Exec(), order, 0.0, operators);
      operators.diagonal = 0x1p60;
      EXPECT_EQ(log_determinant_rounding(Exec(), order, 0.0, operators), 0x1p60 * of_one);
    }
}
TYPED_TEST(LogDeterminant, RoundingKnowsTheNormOfTheInverse) {
  rounding_knows_the_norm_of_the_inverse<TypeParam>();
}

template <class Exec>
void throws_with_the_numbers() {
  auto const expect = [](std::int64_t n, LogDeterminantOptions const& options,
                         std::string const& expected) {
    try {
      (void)log_determinant(Exec(), n, 0.0, LogDeterminantOperators<Exec>{}, options);
      FAIL() << "nothing was thrown";
    } catch (ValueError const& error) {
      EXPECT_EQ(error.what(), expected);
    }
  };
  expect(-1, {}, "log_determinant: n is -1, must be >= 0");
  expect(5, {.probes = 1}, "log_determinant: probes is 1, must be >= 2");
  expect(5, {.steps = 0}, "log_determinant: steps is 0, must be >= 1");
  expect(5, {}, "log_determinant: the operators apply, forward and backward must all be given");
}
TYPED_TEST(LogDeterminant, ThrowsWithTheNumbers) { throws_with_the_numbers<TypeParam>(); }

// The matrix with 2 on the diagonal and -1 beside it: eigenvalues 2 - 2 cos(i pi / (k + 1)), first
// components of the eigenvectors sqrt(2 / (k + 1)) sin(i pi / (k + 1)).
TEST(GaussRule, KnowsTheSecondDifference) {
  for (std::size_t const k : {0, 1, 2, 7, 30}) {
    std::vector<double> const diagonal(k, 2.0), below(k, -1.0);
    auto rule = dense::detail::gauss_rule(diagonal, below);
    ASSERT_EQ(rule.nodes.size(), k);
    for (std::size_t i = 0; i < k; ++i) {
      double const angle = static_cast<double>(i + 1) * M_PI / static_cast<double>(k + 1);
      auto const nearest = std::ranges::min_element(
          rule.nodes, {}, [&](double node) { return std::abs(node - (2 - 2 * std::cos(angle))); });
      EXPECT_NEAR(*nearest, 2 - 2 * std::cos(angle), 1e-13);
      auto const position = static_cast<std::size_t>(nearest - rule.nodes.begin());
      EXPECT_NEAR(rule.weights[position],
                  2 / static_cast<double>(k + 1) * std::pow(std::sin(angle), 2), 1e-14);
    }
  }
}

// Wilkinson's graded matrix: tiny eigenvalues must be accurate relatively, as their logarithm is
// taken.
TEST(GaussRule, IsExactForPolynomials) {
  std::vector<double> diagonal, below;
  for (int i = 0; i < 12; ++i) {
    diagonal.push_back(std::pow(10.0, -i));
    below.push_back(0.3 * std::pow(10.0, -i - 0.5));
  }
  auto const rule = dense::detail::gauss_rule(diagonal, below);
  double weight = 0, mean = 0, square = 0;
  for (std::size_t i = 0; i < rule.nodes.size(); ++i) {
    EXPECT_GT(rule.nodes[i], 0);
    weight += rule.weights[i];
    mean += rule.weights[i] * rule.nodes[i];
    square += rule.weights[i] * rule.nodes[i] * rule.nodes[i];
  }
  EXPECT_NEAR(weight, 1, 1e-14);
  EXPECT_NEAR(mean, diagonal[0], 1e-14);                                        // (T e1)' e1
  EXPECT_NEAR(square, diagonal[0] * diagonal[0] + below[0] * below[0], 1e-14);  // |T e1|^2
}

TEST(GaussRule, SaysNaNForNaN) {
  auto const rule = dense::detail::gauss_rule({1, std::nan(""), 3}, {1, 1});
  EXPECT_TRUE(std::ranges::any_of(rule.nodes, [](double node) { return std::isnan(node); }));
}

}  // namespace
