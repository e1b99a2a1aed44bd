// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_BackwardError.hpp"
#include "StrataTest_Dense.hpp"
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Spaces.hpp"
#include <dense/Strata_Cholesky.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// What becomes of X, of the factor and of the report when a solve meets obstacles.

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;
using P = strata::Precision;

template <class Space>
class CholeskySolveOn : public testing::Test {};
TYPED_TEST_SUITE(CholeskySolveOn, Spaces, SpaceNames);

HostMatrix geometric(std::int64_t n, double condition) {
  GeneratorOptions options;
  options.condition = condition;
  return generate(MatrixKind::Geometric, n, options);
}

// The ladder is climbed in the middle of the solve, and what is solved is still A X = B.
template <class Space, class Layout>
void solves_in_place(double condition) {
  std::int64_t const n = 200, columns = 3;
  Space const exec;
  HostMatrix const A = geometric(n, condition), b = random_matrix(n, columns, 5);
  auto const matrix = on_device<Space>(A);
  CholeskyOptions options;
  options.leaf_size = 32;
  LayerList const layers{P::fp8_e4m3, P::fp16};
  auto const B = on_device<Space, Layout>(b, 2), X = on_device<Space, Layout>(b, 1);
  auto apart = cholesky(exec, matrix, layers, options);
  auto const expected = apart.solve(exec, B, X, {.refine = Refine::Classical});
  EXPECT_GT(expected.climbs, 0);
  auto factor = cholesky(exec, matrix, layers, options);
  auto const report = factor.solve(exec, B, B, {.refine = Refine::Classical});
  EXPECT_TRUE(report.converged);
  EXPECT_EQ(largest_difference(on_host(B), on_host(X)), 0);
  EXPECT_LE(backward_error(A, on_host(B), b), 2 * report.backward_error + 0x1p-52);
}
TYPED_TEST(CholeskySolveOn, SolvesInPlaceWhileTheLadderIsClimbed) {
  for (double const condition : {1e6, 1e10}) {
    solves_in_place<TypeParam, Kokkos::LayoutLeft>(condition);
    solves_in_place<TypeParam, Kokkos::LayoutRight>(condition);
  }
}

// X lies on B's columns, one further, or on its rows, some further.
TYPED_TEST(CholeskySolveOn, OverlapsItsRightHandSidesInAnyWay) {
  std::int64_t const n = 100;
  TypeParam const exec;
  HostMatrix const A = geometric(n, 1e6), all = random_matrix(n + 7, 4, 6);
  auto const matrix = on_device<TypeParam>(A);
  using Range = Kokkos::pair<std::int64_t, std::int64_t>;
  auto const part = [&](auto const& view, std::int64_t row, std::int64_t column) {
    return Kokkos::subview(view, Range(row, row + n), Range(column, column + 3));
  };
  for (auto const& [row, column] : {Range(0, 1), Range(7, 0), Range(3, 1)}) {
    auto const memory = on_device<TypeParam>(all);
    auto factor = cholesky(exec, matrix, {P::fp8_e4m3, P::fp16}, {.leaf_size = 16});
    auto const report = factor.solve(exec, part(memory, 0, 0), part(memory, row, column));
    EXPECT_TRUE(report.converged);
    HostMatrix const X("strata::test::X", n, 3), B("strata::test::B", n, 3);
    HostMatrix const found = on_host(memory);
    Kokkos::deep_copy(X, part(found, row, column));
    Kokkos::deep_copy(B, part(all, 0, 0));
    EXPECT_LE(backward_error(A, X, B), 1e-14) << row << " " << column;
  }
}

TYPED_TEST(CholeskySolveOn, SolvesOneUnknownAndNoneInPlace) {
  TypeParam const exec;
  auto const A = on_device<TypeParam>(geometric(1, 1));
  Kokkos::View<double*, TypeParam> const x("strata::test::x", 1);
  Kokkos::deep_copy(x, 3.0);
  auto factor = cholesky(exec, A, {P::fp16, P::fp32});
  EXPECT_TRUE(factor.solve(exec, x, x).converged);
  double found = 0, a = 0;
  Kokkos::deep_copy(found, Kokkos::subview(x, 0));
  Kokkos::deep_copy(a, Kokkos::subview(A, 0, 0));
  EXPECT_NEAR(found, 3 / a, 1e-15 * std::abs(3 / a));
  Kokkos::View<double**, Kokkos::LayoutLeft, TypeParam> const nothing("strata::test::none", 1, 0);
  EXPECT_TRUE(factor.solve(exec, nothing, nothing).converged);
}

// HPL's and SLATE's thresholds are those of the default tolerance alone.
TYPED_TEST(CholeskySolveOn, ALooserToleranceCostsNoMore) {
  std::int64_t const n = 300;
  TypeParam const exec;
  HostMatrix const A("strata::test::A", n, n);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      A(i, j) = std::exp(-std::abs(static_cast<double>(i - j)) / 30) + (i == j ? 1e-3 : 0);
  auto const matrix = on_device<TypeParam>(A), B = on_device<TypeParam>(random_matrix(n, 2, 3)),
             X = on_device<TypeParam>(random_matrix(n, 2, 4));
  std::int64_t before = 0;
  for (double const tolerance : {1e-2, 1e-4, 1e-6, 1e-9, 1e-12, 1e-15}) {
    auto factor = cholesky(exec, matrix, {P::fp16, P::fp32}, {.leaf_size = 64});
    auto const report = factor.solve(exec, B, X, {.tolerance = tolerance});
    EXPECT_TRUE(report.converged) << tolerance;
    EXPECT_LE(report.backward_error, tolerance);
    EXPECT_EQ(report.climbs, 0) << tolerance;
    EXPECT_GE(report.iterations, before) << tolerance;
    before = report.iterations;
  }
}

// "converged" is said of A as given, however differently its rows are scaled.
TYPED_TEST(CholeskySolveOn, ConvergedMeansWithinTheToleranceThatWasAskedFor) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  TypeParam const exec;
  int converged = 0;
  for (int r = 0; r < 60; ++r) {
    auto const n = static_cast<std::int64_t>(20 + random() % 100);
    double const decades = static_cast<double>(random() % 40);
    std::vector<double> scale, weight;
    for (std::int64_t i = 0; i < n; ++i) {
      scale.push_back(
          std::pow(10.0, decades * (static_cast<double>(random() % 1000) / 1000 - 0.5)));
      weight.push_back(random() % 2 ? 1 : normal(random));
    }
    HostMatrix const A("strata::test::A", n, n), b("strata::test::b", n, 1);
    for (std::int64_t i = 0; i < n; ++i) {
      auto const at = static_cast<std::size_t>(i);
      b(i, 0) = normal(random) * (random() % 2 ? 1 : scale[at]);
      for (std::int64_t j = 0; j <= i; ++j) {
        auto const to = static_cast<std::size_t>(j);
        double const shift = i == j ? std::pow(10.0, -static_cast<double>(random() % 8)) : 0;
        A(i, j) = A(j, i) = (weight[at] * weight[to] + shift) * scale[at] * scale[to];
      }
    }
    double const tolerance =
        std::sqrt(static_cast<double>(n)) * std::ldexp(1.0, -52 - static_cast<int>(random() % 6));
    auto const matrix = on_device<TypeParam>(A), B = on_device<TypeParam>(b),
               X = on_device<TypeParam>(b);
    LayerList const layers = r % 2 ? LayerList{P::fp16, P::fp32} : LayerList{P::fp32};
    auto factor = cholesky(exec, matrix, layers, {.leaf_size = 32, .ladder = r % 3 != 0});
    if (!factor.info().ok()) continue;
    auto const report = factor.solve(exec, B, X, {.tolerance = tolerance});
    double const truth = backward_error(A, on_host(X), b);
    EXPECT_NEAR(report.backward_error, truth, 0.5 * truth + 0x1p-51) << r;
    if (!report.converged) continue;
    ++converged;
    EXPECT_LE(report.backward_error, tolerance) << r;
  }
  EXPECT_GT(converged, 20);
}

int products = 0;

// One product with the matrix in fp64 for each fp64 residual: none more to judge the solution.
TYPED_TEST(CholeskySolveOn, MultipliesOnceForEachResidual) {
  std::int64_t const n = 200;
  TypeParam const exec;
  auto const matrix = on_device<TypeParam>(geometric(n, 1e3)),
             B = on_device<TypeParam>(random_matrix(n, 20, 3)),
             X = on_device<TypeParam>(random_matrix(n, 20, 4));
  for (LayerList const& layers : {LayerList{P::fp64}, LayerList{P::fp16, P::fp32}}) {
    auto factor = cholesky(exec, matrix, layers, {.leaf_size = 64});
    auto const saved = Kokkos::Tools::Experimental::get_callbacks();
    products = 0;
    Kokkos::Tools::Experimental::set_push_region_callback([](char const* label) {
      products += std::string(label).starts_with("strata::core::symm");
    });
    auto const report = factor.solve(exec, B, X, {.refine = Refine::Classical});
    Kokkos::Tools::Experimental::set_callbacks(saved);
    EXPECT_TRUE(report.converged);
    EXPECT_EQ(products, report.refinement.outer_iterations + 1) << layers.name();
  }
}

// A's own backward error may be a few percent above the limit where D A D's is below. This takes
// one more step of these columns, and not all of the refinement again.
TYPED_TEST(CholeskySolveOn, EquilibrationCostsAStepAtMost) {
  for (std::int64_t const n : {200, 600}) {
    TypeParam const exec;
    auto const matrix = on_device<TypeParam>(geometric(n, 1e4)),
               B = on_device<TypeParam>(random_matrix(n, 20, 3)),
               X = on_device<TypeParam>(random_matrix(n, 20, 4));
    std::int64_t iterations[2];
    for (bool const equilibrate : {false, true}) {
      auto factor = cholesky(exec, matrix, {P::fp16, P::fp32}, {.equilibrate = equilibrate});
      auto const report = factor.solve(exec, B, X);
      EXPECT_TRUE(report.converged);
      EXPECT_LE(report.backward_error, std::sqrt(static_cast<double>(n)) * 0x1p-52);
      iterations[equilibrate] = report.iterations;
    }
    EXPECT_LE(iterations[true], iterations[false] + 2) << n;
  }
}

TYPED_TEST(CholeskySolveOn, SolvesAtBothEndsOfTheRangeOfFp64) {
  TypeParam const exec;
  for (double const size : {1e-320, 1e-309, 1e-300, 1e300, 1e306}) {
    for (std::int64_t const n : {1, 3, 40}) {
      HostMatrix const A("strata::test::A", n, n), b("strata::test::b", n, 1);
      for (std::int64_t j = 0; j < n; ++j) {
        b(j, 0) = size;
        for (std::int64_t i = 0; i < n; ++i)
          A(i, j) = size * (i == j ? 1 : 0.1 / static_cast<double>(n));
      }
      auto const matrix = on_device<TypeParam>(A), B = on_device<TypeParam>(b),
                 X = on_device<TypeParam>(b);
      for (LayerList const& layers : {LayerList{P::fp64}, LayerList{P::fp16, P::fp32}}) {
        auto factor = cholesky(exec, matrix, layers, {.leaf_size = 16});
        ASSERT_TRUE(factor.info().ok()) << size << " " << n << ": " << factor.info().order();
        EXPECT_TRUE(factor.solve(exec, B, X).converged) << size << " " << n;
        EXPECT_NEAR(on_host(X)(0, 0), n == 1 ? 1 : 1 / (1 + 0.1 - 0.1 / static_cast<double>(n)),
                    n == 1 ? 1e-15 : 2e-3)
            << size << " " << n;  // of few bits are the entries of a subnormal matrix
        auto const estimate = factor.log_determinant(exec);
        EXPECT_NEAR(estimate.value, static_cast<double>(n) * std::log(size),
                    0.02 + estimate.error() + 1e-3 * std::abs(estimate.value));
      }
    }
  }
}

// D^-1 X is in the range, and the first column of X is not.
TYPED_TEST(CholeskySolveOn, AColumnBeyondTheRangeIsZeroAfterRefinementToo) {
  std::int64_t const n = 40;
  TypeParam const exec;
  HostMatrix const A = geometric(n, 1e3), b = random_matrix(n, 2, 3);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) A(i, j) *= 0x1p-1000;
  for (std::int64_t i = 0; i < n; ++i) b(i, 0) *= 0x1p40, b(i, 1) *= 0x1p-900;
  auto const matrix = on_device<TypeParam>(A), B = on_device<TypeParam>(b),
             X = on_device<TypeParam>(b);
  auto factor = cholesky(exec, matrix, {P::fp16, P::fp32}, {.leaf_size = 16});
  auto const report = factor.solve(exec, B, X);
  EXPECT_GT(report.refinement.outer_iterations, 0) << "X is known at once";
  EXPECT_FALSE(report.converged);
  EXPECT_FALSE(report.refinement.in_range);
  EXPECT_EQ(report.refinement.unconverged_columns, 1);
  EXPECT_EQ(report.backward_error, 1);
  HostMatrix const x = on_host(X), second("strata::test::x", n, 1), of_b("strata::test::b", n, 1);
  for (std::int64_t i = 0; i < n; ++i) {
    EXPECT_EQ(x(i, 0), 0);
    second(i, 0) = x(i, 1), of_b(i, 0) = b(i, 1);
  }
  EXPECT_LE(backward_error(A, second, of_b), std::sqrt(static_cast<double>(n)) * 0x1p-52);
}

// Of A with subnormal entries, and of X with such entries, which are rounded to few bits.
TYPED_TEST(CholeskySolveOn, StatesTheTrueErrorAtBothEndsOfTheRangeOfFp64) {
  std::int64_t const n = 40;
  TypeParam const exec;
  double const rounding = std::sqrt(static_cast<double>(n)) * 0x1p-52;
  for (auto const& [size, size_of_b] : sizes_at_the_ends_of_fp64) {
    HostMatrix const A = geometric(n, 100), b = random_matrix(n, 2, 3);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) A(i, j) *= size;
    for (std::int64_t i = 0; i < n; ++i) b(i, 0) *= size_of_b, b(i, 1) *= size_of_b;
    auto const matrix = on_device<TypeParam>(A), B = on_device<TypeParam>(b),
               X = on_device<TypeParam>(b);
    for (bool const equilibrate : {false, true})
      for (Refine const refine : {Refine::None, Refine::Automatic}) {
        auto factor = cholesky(exec, matrix, {P::fp16, P::fp32},
                               {.leaf_size = 16, .equilibrate = equilibrate});
        ASSERT_TRUE(factor.info().ok()) << size << " " << equilibrate;
        auto const report = factor.solve(exec, B, X, {.refine = refine});
        double const truth = backward_error(A, on_host(X), b);
        EXPECT_NEAR(report.backward_error, truth, 0.01 * truth + 2 * rounding)
            << size << " " << size_of_b << " " << equilibrate << " " << name_of(refine);
        EXPECT_EQ(report.converged, truth <= 1.01 * rounding);
        EXPECT_LE(report.iterations, 200) << size << " " << size_of_b;
      }
  }
}

// The k-th allocation fails, k = 1, 2, ...: a MemoryError, or the best X so far and its true error;
// afterwards the object works.
template <class Space>
void survives_failing_allocations(FailingAllocations::Then then, LayerList const& layers) {
  std::int64_t const n = 60;
  Space const exec;
  HostMatrix const A = geometric(n, 1e7), b = random_matrix(n, 2, 7);
  auto const matrix = on_device<Space>(A), B = on_device<Space>(b);
  int refused = 0, best = 0, climbed = 0;
  auto const count = fail_each_allocation(
      [&](FailingAllocations& failing) {
        auto const X = on_device<Space>(b);
        std::optional<CholeskyFactor<Space>> factor;
        try {
          factor.emplace(exec, matrix, layers, CholeskyOptions{.leaf_size = 16});
          auto const report = factor->solve(exec, B, X, {.refine = Refine::Classical});
          EXPECT_LE(backward_error(A, on_host(X), b), 2 * report.backward_error + 0x1p-51);
          EXPECT_TRUE(report.obstacle.empty() || failing.failed());
          best += !report.obstacle.empty();
          climbed += report.converged && report.climbs > 0;
          EXPECT_TRUE(std::isfinite(factor->log_determinant(exec).value));
          (void)factor->condition(exec);
        } catch (MemoryError const& error) {
          EXPECT_TRUE(failing.failed()) << error.what();
          EXPECT_NE(std::string(error.what()).find("made to fail"), std::string::npos)
              << error.what();
          ++refused;
        }
        failing.relent();
        if (!factor) return;
        EXPECT_TRUE(factor->info().ok());
        auto const estimate = factor->log_determinant(exec);
        EXPECT_TRUE(std::isfinite(estimate.value));
        auto const report = factor->solve(exec, B, X);
        EXPECT_TRUE(report.converged);
        EXPECT_LE(backward_error(A, on_host(X), b), 1e-14);
      },
      then);
  // Each of the tree's blocks, of the solve's vectors and of those of a climb: 41 and 55 on a host.
  // That failures meet a solve and a climb is what the next lines ask; fewer allocations would be
  // no fault.
  EXPECT_GT(count, 40);
  EXPECT_GT(refused, 0);
  EXPECT_GT(best, 0);
  EXPECT_GT(climbed, 0);
}
TYPED_TEST(CholeskySolveOn, SurvivesOneFailingAllocation) {
  survives_failing_allocations<TypeParam>(FailingAllocations::Then::Succeed,
                                          {P::fp8_e4m3, P::fp16});
}
TYPED_TEST(CholeskySolveOn, SurvivesWithoutMemoryFromOneAllocationOn) {
  survives_failing_allocations<TypeParam>(FailingAllocations::Then::Fail, {P::fp16, P::fp32});
}

// The first solution is not good enough, and what is called next ends the solve.
TYPED_TEST(CholeskySolveOn, LeavesBWhereAnExceptionEndsASolveInPlace) {
  std::int64_t const n = 60;
  TypeParam const exec;
  HostMatrix const A = geometric(n, 1e7), b = random_matrix(n, 2, 7);
  auto const matrix = on_device<TypeParam>(A), B = on_device<TypeParam>(b);
  auto factor = cholesky(exec, matrix, {P::fp16, P::fp32}, {.leaf_size = 16});
  ASSERT_TRUE(factor.info().ok());
  RefinementOptions options;
  options.on_step = [](double) { throw std::runtime_error("no more"); };
  EXPECT_THROW((void)factor.solve(exec, B, B, options), std::runtime_error);
  HostMatrix const now = on_host(B);
  for (std::int64_t j = 0; j < 2; ++j)
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(now(i, j), b(i, j)) << i << ' ' << j;
  EXPECT_TRUE(factor.solve(exec, B, B).converged);
  EXPECT_LE(backward_error(A, on_host(B), b), 1e-14);
}

// There is memory for the rung that was asked for and for none above. The report says so, X is the
// best one that this factor gives, and the factor goes on working.
TYPED_TEST(CholeskySolveOn, KeepsItsFactorWhereThereIsNoMemoryToClimb) {
  std::int64_t const n = 200;
  TypeParam const exec;
  HostMatrix const A = geometric(n, 1e8), b = random_matrix(n, 1, 8);
  auto const matrix = on_device<TypeParam>(A), B = on_device<TypeParam>(b),
             X = on_device<TypeParam>(b);
  auto factor = cholesky(exec, matrix, {P::fp16, P::fp32}, {.leaf_size = 32});
  ASSERT_TRUE(factor.info().ok());
  RefinementOptions const cut{.refine = Refine::Classical, .max_iterations = 3};
  bool below = true;  // the first tree that is made is that of the next rung
  FailingAllocations failing("strata::dense::BlockTree::stored",
                             [&] { return std::exchange(below, false); });
  auto const report = factor.solve(exec, B, X, cut);
  EXPECT_FALSE(report.converged);
  EXPECT_NE(report.obstacle.find("could not be allocated"), std::string::npos) << report.obstacle;
  EXPECT_LE(backward_error(A, on_host(X), b), 2 * report.backward_error + 0x1p-51);
  EXPECT_TRUE(factor.info().ok());
  auto const again = factor.solve(exec, B, X, cut);
  EXPECT_EQ(again.backward_error, report.backward_error);
  EXPECT_TRUE(factor.solve(exec, B, X).converged);
}

// [1, c; c, c^2 (1 - 1e-6)] along the diagonals, which c rounded down makes positive definite. CG
// sees that the matrix is not. Without the memory for fp64, which tells, no X is said to be right.
TYPED_TEST(CholeskySolveOn, SaysThatAMayBeIndefiniteWhereThereIsNoMemoryToTell) {
  std::int64_t const n = 32, leaf = n / 2;
  double const c = 0.7003;
  TypeParam const exec;
  HostMatrix const A("strata::test::indefinite", n, n), b = random_matrix(n, 1, 8);
  for (std::int64_t i = 0; i < leaf; ++i) {
    A(i, i) = 1;
    A(i, i + leaf) = A(i + leaf, i) = c;
    A(i + leaf, i + leaf) = c * c * (1 - 1e-6);
  }
  auto const matrix = on_device<TypeParam>(A), B = on_device<TypeParam>(b),
             X = on_device<TypeParam>(b);
  LayerList const layers{P::fp16, P::fp64};
  auto told = cholesky(exec, matrix, layers, {.leaf_size = leaf});
  ASSERT_TRUE(told.info().ok());
  EXPECT_FALSE(told.solve(exec, B, X).converged);
  EXPECT_EQ(told.info().order(), leaf + 1);
  EXPECT_EQ(told.report().attempts.front().outcome, Outcome::SeemsIndefinite);
  auto factor = cholesky(exec, matrix, layers, {.leaf_size = leaf});
  FailingAllocations failing("strata::dense::BlockTree::stored", [] { return true; });
  auto const report = factor.solve(exec, B, X);
  EXPECT_FALSE(report.converged);
  EXPECT_EQ(report.obstacle.rfind("A may be indefinite, which a higher rung would tell: ", 0), 0u)
      << report.obstacle;
  EXPECT_LE(backward_error(A, on_host(X), b), 2 * report.backward_error + 0x1p-51);
}

// 1e-300 x = 1e100 has no solution in fp64: its column is 0 and not converged, the others are
// right.
TYPED_TEST(CholeskySolveOn, ASolutionBeyondTheRangeOfFp64IsNotSaidToBeOne) {
  TypeParam const exec;
  std::int64_t const n = 6;
  HostMatrix const A("strata::test::tiny", n, n), B("strata::test::columns", n, 3);
  for (std::int64_t i = 0; i < n; ++i) {
    A(i, i) = 1e-300 * static_cast<double>(i + 1);
    B(i, 0) = 1e-300, B(i, 1) = 1e100, B(i, 2) = -1e-290;
  }
  auto const matrix = on_device<TypeParam>(A), right = on_device<TypeParam>(B),
             solution = on_device<TypeParam>(B);
  auto factor = cholesky<Layers<fp32>>(exec, matrix);
  auto const report = factor.solve(exec, right, solution);
  EXPECT_FALSE(report.converged);
  EXPECT_EQ(report.backward_error, 1);
  HostMatrix const X = on_host(solution);
  for (std::int64_t i = 0; i < n; ++i) {
    EXPECT_NEAR(X(i, 0), 1 / static_cast<double>(i + 1), 1e-15);
    EXPECT_EQ(X(i, 1), 0);
    EXPECT_NEAR(X(i, 2), -1e10 / static_cast<double>(i + 1), 1e-5);
  }
}

}  // namespace
