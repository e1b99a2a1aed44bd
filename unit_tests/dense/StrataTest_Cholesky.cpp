// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Dense.hpp"
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_ResidualNorms.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/Strata_MatrixRef.hpp>
#include <core/kokkos_ext/Strata_FewThreads.hpp>
#include <dense/Strata_Automatic.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/detail/Strata_ForetoldPivot.hpp>
#include <dense/detail/Strata_Ladder.hpp>
#include <dense/tree/Strata_LeafSizes.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;
using P = strata::Precision;

HostMatrix hard(MatrixKind kind, std::int64_t n, double condition, double spread = 1) {
  GeneratorOptions options;
  options.condition = condition;
  options.diagonal_spread = spread;
  HostMatrix const A = generate(kind, n, options);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < j; ++i) A(i, j) = nan_value;  // only the lower triangle is read
  return A;
}

template <class Space>
class CholeskyOn : public testing::Test {};
TYPED_TEST_SUITE(CholeskyOn, Spaces, SpaceNames);

template <class Space, class Layout = Kokkos::LayoutLeft>
SolveReport solve(HostMatrix const& A, std::int64_t columns, LayerList const& layers,
                  CholeskyOptions const& options, CholeskyReport& report,
                  RefinementOptions const& refinement = {}) {
  Space const exec;
  auto const matrix = on_device<Space, Layout>(A, 3);
  auto const B = on_device<Space, Layout>(
      random_matrix(static_cast<std::int64_t>(A.extent(0)), columns, 9), 1);
  auto const X = on_device<Space, Layout>(
      random_matrix(static_cast<std::int64_t>(A.extent(0)), columns, 10), 2);
  auto factor = cholesky(exec, matrix, layers, options);
  EXPECT_TRUE(factor.info().ok()) << factor.info().order();
  SolveReport const result = factor.solve(exec, B, X, refinement);
  report = factor.report();
  // The report's error is checked by an independent residual on the host.
  HostMatrix const x = on_host(X), b = on_host(B);
  auto const lower = [&](std::int64_t i, std::int64_t k) { return i >= k ? A(i, k) : A(k, i); };
  double const backward = worst_of(residual_norms(x.extent_int(0), columns, lower, x, b),
                                   &ResidualNorms::backward_error);
  EXPECT_LE(backward, 2 * result.backward_error + 0x1p-50);
  return result;
}

TYPED_TEST(CholeskyOn, SolvesToFp64BackwardErrorInEveryLayerSet) {
  HostMatrix const A = hard(MatrixKind::Geometric, 200, 1e3);
  for (LayerList const& layers : studied_layer_lists()) {
    CholeskyReport report;
    CholeskyOptions options;
    options.leaf_size = 16;
    SolveReport const result = solve<TypeParam>(A, 3, layers, options, report);
    EXPECT_TRUE(result.converged) << layers.name();
    EXPECT_LE(result.backward_error, 1e-14) << layers.name();
    EXPECT_LE(result.hpl_scaled_residual, hpl_threshold);
    EXPECT_LE(result.slate_error, slate_threshold);
    EXPECT_EQ(report.attempts.front().layers, layers);
  }
}

TYPED_TEST(CholeskyOn, SolvesForAnySizeLayoutAndNumberOfColumns) {
  for (std::int64_t const n : {1, 2, 31, 32, 33, 129}) {
    for (std::int64_t const columns : {1, 7, 40}) {
      HostMatrix const A = hard(MatrixKind::Arithmetic, n, n == 1 ? 1 : 50);
      CholeskyReport report;
      CholeskyOptions options;
      options.leaf_size = 32;
      LayerList const layers{P::fp16, P::fp32};
      EXPECT_TRUE((solve<TypeParam>(A, columns, layers, options, report).converged)) << n;
      EXPECT_TRUE(
          (solve<TypeParam, Kokkos::LayoutRight>(A, columns, layers, options, report).converged))
          << n;
    }
  }
}

TYPED_TEST(CholeskyOn, SolvesFourThousandAndNinetySevenColumns) {
  HostMatrix const A = hard(MatrixKind::Geometric, 4097, 1e3);
  for (LayerList const& layers : {LayerList{P::fp64}, LayerList{P::fp16, P::fp16, P::fp32}}) {
    CholeskyReport report;
    EXPECT_TRUE((solve<TypeParam>(A, 1, layers, {}, report).converged)) << layers.name();
    EXPECT_EQ(report.rung, Rung::AsAsked);
  }
}

TYPED_TEST(CholeskyOn, TellsWhatPartIsDone) {
  std::vector<double> parts, errors;
  CholeskyReport report;
  CholeskyOptions options{.leaf_size = 20};
  options.on_progress = [&](double part) { parts.push_back(part); };
  RefinementOptions refinement{.refine = Refine::Classical};
  refinement.on_step = [&](double error) { errors.push_back(error); };
  auto const solved = solve<TypeParam>(hard(MatrixKind::Geometric, 160, 100), 1,
                                       LayerList::parse("fp32,fp32"), options, report, refinement);
  EXPECT_EQ(errors, solved.refinement.history);
  ASSERT_FALSE(parts.empty());
  EXPECT_TRUE(std::ranges::is_sorted(parts));
  EXPECT_GT(parts.front(), 0);
  EXPECT_DOUBLE_EQ(parts.back(), 1);
  if (!runs_on_host<TypeParam>) return;
  ASSERT_EQ(parts.size(), 8U);  // leaves
  EXPECT_DOUBLE_EQ(parts.front(), 1.0 / (8 * 8 * 8));
  EXPECT_DOUBLE_EQ(parts[4],
                   1.0 / 8 + 3.0 / 4 + 1.0 / (8 * 8 * 8));  // L21 and its product are done
}

TYPED_TEST(CholeskyOn, EndsWithWhatItsListenerThrows) {
  CholeskyOptions options{.leaf_size = 20};
  options.on_progress = [](double part) {
    if (part > 0.5) throw std::runtime_error("enough");
  };
  CholeskyReport report;
  EXPECT_THROW((void)solve<TypeParam>(hard(MatrixKind::Geometric, 160, 100), 1,
                                      LayerList::parse("fp32,fp32"), options, report),
               std::runtime_error);
}

TYPED_TEST(CholeskyOn, TheBlocksOfItsReportCoverTheTriangle) {
  CholeskyReport report;
  (void)solve<TypeParam>(hard(MatrixKind::Geometric, 100, 100), 1, LayerList::parse("fp16,fp32"),
                         {.leaf_size = 30}, report);
  std::int64_t area = 0;
  for (auto const& block : report.blocks) {
    bool const is_leaf = block.row == block.col;
    area += is_leaf ? block.rows * (block.rows + 1) / 2 : block.rows * block.cols;
    EXPECT_GE(block.row, block.col + (is_leaf ? 0 : block.cols));
    EXPECT_EQ(block.precision == P::fp16, block.scale != 1) << block.row << ' ' << block.col;
  }
  EXPECT_EQ(area, 100 * 101 / 2);
}

TYPED_TEST(CholeskyOn, NothingToSolveIsSolved) {
  TypeParam const exec;
  Kokkos::View<double**, Kokkos::LayoutLeft, TypeParam> const A("strata::test::A", 0, 0),
      B("strata::test::B", 0, 4);
  auto factor = cholesky<Layers<fp16, fp32>>(exec, A);
  EXPECT_TRUE(factor.info().ok());
  EXPECT_TRUE(factor.solve(exec, B, B).converged);
  EXPECT_EQ(factor.log_determinant(exec).value, 0);
}

TYPED_TEST(CholeskyOn, ChoosesTheLayersThatAreNotGiven) {
  TypeParam const exec;
  auto const A = on_device<TypeParam>(hard(MatrixKind::Geometric, 300, 100));
  EXPECT_EQ(cholesky(exec, A).report().layers, automatic_layers<TypeParam>(300));
  EXPECT_EQ(cholesky(exec, A, {.leaf_size = 32}).report().leaf_size, 32);
}

TYPED_TEST(CholeskyOn, LayersAreChosenForTheRightHandSidesToo) {
  for (std::int64_t const n : {1024, 4096, 100'000}) {
    EXPECT_FALSE(fp64_is_faster(n, n / 64)) << n;
    EXPECT_TRUE(fp64_is_faster(n, n / 64 + 1)) << n;
    EXPECT_EQ(automatic_layers<TypeParam>(n, 1), automatic_layers<TypeParam>(n));
    EXPECT_EQ(automatic_layers<TypeParam>(n, n), LayerList{Precision::fp64});
  }
  EXPECT_FALSE(fp64_is_faster(0, 0));
}

TYPED_TEST(CholeskyOn, EquilibrationMakesBadScalingHarmless) {
  HostMatrix const A = hard(MatrixKind::Geometric, 150, 100, 1e12);
  CholeskyReport report;
  CholeskyOptions options;
  options.leaf_size = 16;
  SolveReport const result = solve<TypeParam>(A, 2, {P::fp16, P::fp16, P::fp32}, options, report);
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(report.rung, Rung::AsAsked);
  EXPECT_TRUE(report.equilibrated);
  EXPECT_LE(report.smallest_scaling, 1e-5);
  EXPECT_GE(report.largest_scaling, 1e5);
}

TYPED_TEST(CholeskyOn, ClimbsTheLadderUntilARungHolds) {
  HostMatrix const A = hard(MatrixKind::Geometric, 200, 1e12);
  CholeskyReport report;
  CholeskyOptions options;
  options.leaf_size = 16;
  SolveReport const result =
      solve<TypeParam>(A, 1, {P::fp8_e4m3, P::fp16, P::fp32}, options, report);
  EXPECT_TRUE(result.converged);
  EXPECT_LE(result.backward_error, 1e-14);
  EXPECT_NE(report.rung, Rung::AsAsked);
  EXPECT_GT(report.attempts.size(), 1u);
  for (std::size_t i = 1; i < report.attempts.size(); ++i)  // no rung is left out of turn
    EXPECT_GE(report.attempts[i].rung, report.attempts[i - 1].rung);
  EXPECT_EQ(report.attempts.back().info, 0);
  EXPECT_EQ(report.attempts.back().layers, report.layers);
  EXPECT_EQ(report.attempts.back().shift, report.shift);
}

TYPED_TEST(CholeskyOn, WithoutTheLadderSaysThatItFailed) {
  TypeParam const exec;
  auto const A = on_device<TypeParam>(hard(MatrixKind::Geometric, 200, 1e14));
  CholeskyOptions options;
  options.leaf_size = 16;
  options.ladder = false;
  auto factor = cholesky<Layers<fp8_e5m2, fp8_e5m2, fp8_e5m2, fp16>>(exec, A, options);
  EXPECT_EQ(factor.report().attempts.size(), 1u);
  EXPECT_FALSE(factor.info().ok());
  EXPECT_THROW((void)factor.solve(exec, A, A), ValueError);
}

TYPED_TEST(CholeskyOn, FindsTheExactMinorThatIsNotPositive) {
  TypeParam const exec;
  std::int64_t const n = 60;
  for (std::int64_t const order : {1, 8, 9, 12, 16, 17, 33, 60}) {
    for (bool const negative_diagonal : {false, true}) {
      HostMatrix const A = hard(MatrixKind::Geometric, n, 1e3);
      HostMatrix const L("strata::test::L", n, n);
      Kokkos::deep_copy(L, A);
      ASSERT_EQ(reference_cholesky(L), 0);
      double const pivot = L(order - 1, order - 1) * L(order - 1, order - 1);
      A(order - 1, order - 1) -= pivot + 0.6;  // beyond any shift: the diagonal is about 1
      if (negative_diagonal)
        A(n - 1, n - 1) = -1;  // seen at once, but a later minor than the planted one
      CholeskyOptions options;
      options.leaf_size = 8;
      auto const matrix = on_device<TypeParam>(A);
      auto const factor = cholesky<Layers<fp16, fp16, fp32>>(exec, matrix, options);
      EXPECT_EQ(factor.info().order(), order);
      EXPECT_EQ(factor.report().rung, Rung::Fp64);
    }
  }
}

int factored_blocks = 0;

// The leading block in fp64 settles a breakdown, not all rungs of the ladder. A host, which can
// look, goes no further than the leaf that broke down.
TYPED_TEST(CholeskyOn, AnIndefiniteMatrixTakesOneBreakdownAndOneLeadingBlock) {
  constexpr bool on_host = Kokkos::SpaceAccessibility<TypeParam, Kokkos::HostSpace>::accessible;
  TypeParam const exec;
  std::int64_t const n = 200, leaf = 16;
  auto const saved = Kokkos::Tools::Experimental::get_callbacks();
  for (std::int64_t const order : {2, 17, 100, 199}) {
    HostMatrix const A("strata::test::A", n, n);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = j; i < n; ++i) A(i, j) = std::exp(-static_cast<double>(i - j) / 5);
    A(order - 1, order - 2) = 1.5;
    auto const matrix = on_device<TypeParam>(A);
    for (LayerList const& layers :
         {LayerList{P::fp64}, LayerList{P::fp32}, LayerList{P::fp16, P::fp32},
          LayerList{P::fp8_e4m3, P::fp16, P::fp32}, LayerList{P::bf16}}) {
      factored_blocks = 0;
      Kokkos::Tools::Experimental::set_push_region_callback([](char const* label) {
        factored_blocks += std::string(label).starts_with("strata::core::potrf");
      });
      auto const factor = cholesky(exec, matrix, layers, {.leaf_size = leaf});
      Kokkos::Tools::Experimental::set_callbacks(saved);
      SCOPED_TRACE(layers.name() + " " + std::to_string(order));
      EXPECT_EQ(factor.info().order(), order);
      // late ones of a device: in fp32 alone all five rungs, and two in fp64
      std::size_t const late = layers == LayerList{P::fp32} ? 7 : 6;
      EXPECT_LE(factor.report().attempts.size(), on_host || order < 120 ? 2 : late);
      EXPECT_EQ(factor.report().attempts.back().layers, LayerList{P::fp64});
      EXPECT_EQ(factor.report().attempts.back().info, order);
      if (on_host) {
        EXPECT_LE(factored_blocks, 2 * ((order - 1) / leaf + 1));
      }
    }
  }
}

// Where leaves in fp64 are solved by inverses, a factorisation by substitution has the last word.
TYPED_TEST(CholeskyOn, SubstitutionDecidesOnADevice) {
  bool const on_host = runs_on_host<TypeParam>;
  TypeParam const exec;
  std::int64_t const n = 200;
  for (std::int64_t const leaf : {16, 256}) {
    HostMatrix const A("strata::test::A", n, n);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = j; i < n; ++i) A(i, j) = std::exp(-static_cast<double>(i - j) / 5);
    CholeskyOptions options;
    options.leaf_size = leaf;
    auto const good = cholesky(exec, on_device<TypeParam>(A), {P::fp64}, options);
    EXPECT_TRUE(good.info().ok());
    EXPECT_EQ(good.report().attempts.size(), 1U);
    A(n - 1, n - 2) = 1.5;
    auto const bad = cholesky(exec, on_device<TypeParam>(A), {P::fp64}, options);
    EXPECT_EQ(bad.info().order(), n);
    EXPECT_EQ(bad.report().attempts.size(), on_host || leaf > n ? 1U : 2U);
    options.ladder = false;
    auto const asked = cholesky(exec, on_device<TypeParam>(A), {P::fp64}, options);
    EXPECT_EQ(asked.report().attempts.size(), 1U);
  }
}

// A host looks at a small leading block before it loads the matrix.
TYPED_TEST(CholeskyOn, AnEarlyMinorIsFoundInWhicheverBlock) {
  constexpr bool on_host = Kokkos::SpaceAccessibility<TypeParam, Kokkos::HostSpace>::accessible;
  TypeParam const exec;
  std::int64_t const n = 600;
  for (std::int64_t const order : {2, 71, 72, 300}) {
    HostMatrix const A("strata::test::A", n, n);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = j; i < n; ++i) A(i, j) = std::exp(-static_cast<double>(i - j) / 5);
    A(order - 1, order - 2) = 1.5;
    auto const factor = cholesky(exec, on_device<TypeParam>(A), {P::fp16, P::fp32});
    EXPECT_EQ(factor.info().order(), order);
    EXPECT_EQ(factor.report().attempts.size(), on_host && order < 72 ? 1u : 2u) << order;
  }
}

// A diagonal that is not positive needs no more than the leading block that ends with it.
TYPED_TEST(CholeskyOn, ABadDiagonalTakesOneLeadingBlock) {
  TypeParam const exec;
  HostMatrix const A = hard(MatrixKind::Geometric, 100, 1e3);
  A(40, 40) = 0;
  auto const matrix = on_device<TypeParam>(A);
  auto const factor = cholesky(exec, matrix, {P::fp16, P::fp32}, {.leaf_size = 16});
  EXPECT_EQ(factor.info().order(), 41);
  EXPECT_EQ(factor.report().attempts.size(), 1u);
  EXPECT_EQ(factor.report().rung, Rung::Fp64);
}

// Each block in fp64 is followed by higher layers, or is twice the work of the one before; never is
// one done again.
TYPED_TEST(CholeskyOn, SettlesABreakdownOnlyWhereThatPays) {
  constexpr bool on_host = Kokkos::SpaceAccessibility<TypeParam, Kokkos::HostSpace>::accessible;
  auto const worth = [steps = strata::dense::detail::ladder({P::fp16, P::fp32}, 0)](
                         std::size_t next, std::int64_t failed, std::int64_t minors) {
    auto const never_asked = []() -> bool { throw std::logic_error("costs are not known here"); };
    return strata::dense::detail::worth_settling<TypeParam>(steps, next, 1000, failed, minors,
                                                            never_asked);
  };
  auto const steps = strata::dense::detail::ladder({P::fp16, P::fp32}, 0);
  std::size_t promotes = 1;
  while (steps[promotes].layers == steps[promotes - 1].layers) ++promotes;
  EXPECT_TRUE(worth(1, 500, 0));
  EXPECT_EQ(worth(1, 1000, 0), on_host);
  EXPECT_FALSE(worth(2, 500, 500));
  EXPECT_FALSE(worth(2, 600, 500));
  EXPECT_TRUE(worth(2, 620, 490));
  EXPECT_EQ(worth(2, 700, 500), on_host);
  EXPECT_TRUE(worth(promotes, 501, 500));
  EXPECT_FALSE(worth(promotes, 500, 500));
  EXPECT_EQ(worth(steps.size() - 1, 600, 0), !on_host);
}

// Several threads of a host share what is large: the matrix, or the right-hand sides. Turns between
// both keep nothing of each other.
TYPED_TEST(CholeskyOn, LittleWorkIsForOneThread) {
  TypeParam const exec;
  EXPECT_EQ(has_threads(exec), runs_on_host<TypeParam> && exec.concurrency() > 1);
  EXPECT_EQ(for_work(exec, true) == exec, !has_threads(exec));
  EXPECT_TRUE(for_work(exec, false) == exec);
  std::int64_t const n = 64;
  auto factor =
      cholesky(exec, on_device<TypeParam>(hard(MatrixKind::Geometric, n, 1e4)), {P::fp32});
  HostMatrix first;
  for (std::int64_t const cols : {1, 1024, 1025, 1}) {
    auto const B = on_device<TypeParam>(random_matrix(n, cols, 3)),
               X = on_device<TypeParam>(random_matrix(n, cols, 4));
    EXPECT_TRUE(factor.solve(exec, B, X).converged) << cols;
    if (cols > 1) continue;
    if (first.extent(0) == 0) first = on_host(X);
    EXPECT_EQ(largest_difference(first, on_host(X)), 0);
  }
}

// A rung of the same layers whose leaves are solved otherwise is another one, and the one before it
// costs as much as the last.
TYPED_TEST(CholeskyOn, SubstitutionIsARungOfItsOwn) {
  namespace detail = strata::dense::detail;
  auto steps = detail::ladder({P::fp16, P::fp32}, 0);
  std::size_t const last = steps.size() - 1;
  auto const worth = [&](std::size_t next, std::int64_t failed) {
    return detail::worth_settling<TypeParam>(steps, next, 1000, failed, 0, [] { return false; });
  };
  bool const cheap = worth(last, 600), dear = worth(last, 900);
  EXPECT_EQ(detail::next_layers(steps, last + 1), last + 1);
  steps.push_back({Rung::Fp64, LayerList{P::fp64}, 0, LeafSolve::Substitution});
  EXPECT_EQ(worth(last, 600), cheap);
  EXPECT_EQ(worth(last, 900), dear);
  EXPECT_FALSE(dear);
  EXPECT_EQ(detail::next_layers(steps, last + 1), last + 1);
  EXPECT_LT(detail::next_layers(steps, last + 1), steps.size());
  steps.back().leaf_solve = LeafSolve::Automatic;
  EXPECT_EQ(detail::next_layers(steps, last + 1), steps.size());
}

// By the last whole leaf before the breakdown: 64 unit roundoffs of fp16 are 2^-5 of the largest
// pivot.
TYPED_TEST(CholeskyOn, RoundingExplainsABreakdownAfterSmallPivots) {
  TypeParam const exec;
  strata::dense::BlockTree<LayerList, TypeParam> const tree(exec, 64, {P::fp16, P::fp32}, 16);
  auto const explains = [&](std::vector<double> const& pivots, std::int64_t failed) {
    std::vector<double> sums;
    for (double const pivot : pivots) sums.push_back(16 * std::log(pivot) / 2);
    return strata::dense::detail::rounding_explains(tree, sums, failed);
  };
  double const nan = std::numeric_limits<double>::quiet_NaN();
  for (double const largest : {1.0, 0x1p-500, 0x1p500}) {
    double const small = 0x1p-6 * largest, healthy = 0x1p-4 * largest;
    EXPECT_TRUE(explains({largest, small, nan, nan}, 33));
    EXPECT_TRUE(explains({healthy, largest, small, nan}, 64));
    EXPECT_FALSE(explains({largest, healthy, nan, nan}, 33));
    EXPECT_FALSE(explains({largest, small, healthy, nan}, 50));
    EXPECT_FALSE(explains({largest, small, nan, nan}, 32)) << "its leaf is not whole";
  }
  EXPECT_FALSE(explains({nan, nan, nan, nan}, 1));
  EXPECT_FALSE(explains({1, nan, nan, nan}, 17)) << "no smaller than itself";
}

// Where costs were measured the next rung is tried at once; elsewhere with shifts first.
TYPED_TEST(CholeskyOn, ClimbsByCostsWhereTheyAreKnown) {
  namespace detail = strata::dense::detail;
  LayerList const fp32{P::fp32}, fp64{P::fp64}, low{P::fp16, P::fp32};
  auto const expect_shifts = [](std::int64_t n, LayerList const& layers, double shift) {
    auto const steps = detail::rungs<TypeParam>(n, layers, shift),
               all = detail::ladder(layers, shift);
    ASSERT_EQ(steps.size(), all.size()) << n << ' ' << layers.name();
    auto const patience = detail::patience<TypeParam>(n, layers, steps.back().layers);
    EXPECT_EQ(patience.iterations, 40 + n / 120);
    EXPECT_FALSE(patience.is_measured);
  };
  expect_shifts(500, fp32, 0);
  expect_shifts(500, low, 0);
  expect_shifts(5000, low, 0);
  EXPECT_EQ(detail::rungs<TypeParam>(5000, fp32, 1e-3).size(), detail::ladder(fp32, 1e-3).size());
  if (strata::runs_on_host<TypeParam>) {
    auto const steps = detail::rungs<TypeParam>(5000, fp32, 0);
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_EQ(steps[0].layers, fp32);
    EXPECT_EQ(steps[1].layers, fp64);
    EXPECT_EQ(steps[1].rung, Rung::Fp64);
    EXPECT_EQ(detail::patience<TypeParam>(5000, fp32, fp64).iterations, 8 + 5000 / 160);
    EXPECT_TRUE(detail::patience<TypeParam>(5000, fp32, fp64).is_measured);
  } else if (leaf_architecture<TypeParam>() == "sm_90") {
    LayerList const split = automatic_layers<TypeParam>(9000, 1),
                    fp16 = automatic_layers<TypeParam>(30000, 1);
    auto const steps = detail::rungs<TypeParam>(30000, fp16, 0);
    ASSERT_EQ(steps.size(), 4u);
    EXPECT_EQ(*steps[1].layers.begin(), P::fp16_split);
    EXPECT_EQ(steps[2].layers, LayerList{P::int8x9});
    EXPECT_EQ(steps[3].layers, fp64);
    EXPECT_EQ(detail::rungs<TypeParam>(9000, split, 0).size(), 2u) << "integers pay from 12288 on";
    EXPECT_EQ(detail::rungs<TypeParam>(12288, automatic_layers<TypeParam>(12288, 1), 0).size(), 3u);
    LayerList const integers{P::int8x7}, more = automatic_layers<TypeParam>(13000, 1);
    EXPECT_EQ(detail::patience<TypeParam>(13000, more, integers).iterations, 16);
    EXPECT_EQ(detail::patience<TypeParam>(9000, split, fp64).iterations, 9000 / 400);
    EXPECT_EQ(detail::patience<TypeParam>(30000, fp16, steps[1].layers).iterations, 30);
    // a block in fp64 that costs more than the rung is left
    auto const worth = [&](std::int64_t failed, bool explained) {
      return detail::worth_settling<TypeParam>(steps, 1, 30000, failed, 0,
                                               [=] { return explained; });
    };
    EXPECT_TRUE(worth(15000, false));
    EXPECT_FALSE(worth(15000, true));
    EXPECT_FALSE(worth(25000, false));
    // where an attempt is left: 6 u of fp16; and where 0.15 / sqrt(p) is more than 0.6 of the
    // patience
    EXPECT_EQ(detail::least_pivot<TypeParam>(30000, fp16, steps[1].layers), 6 * 0x1p-11);
    EXPECT_EQ(detail::least_pivot<TypeParam>(9000, split, fp64), std::pow(0.15 / (0.6 * 22), 2));
    // Integers that were chosen by a foretold pivot go on where it was right, and a few steps more.
    for (double const pivot : {1e-5, 1e-7, 1e-9}) {
      LayerList const chosen{integer_precision(detail::moduli_for(16384, pivot))};
      double const least = detail::least_pivot<TypeParam>(16384, chosen, fp64);
      EXPECT_LE(31 * least, pivot) << chosen.name();
      EXPECT_GE(32 * 32 * least, pivot) << chosen.name();
    }
  }
}

// What fp32 will break down for is factored in fp64 as soon as half of the columns tell, with that
// rung's own leaves.
TYPED_TEST(CholeskyOn, ClimbsFromAutomaticLayersToFp64) {
  if (!strata::runs_on_host<TypeParam>) GTEST_SKIP() << "layers pay from other orders on";
  TypeParam const exec;
  std::int64_t const n = 800;
  auto const A = on_device<TypeParam>(hard(MatrixKind::Geometric, n, 1e10)),
             B = on_device<TypeParam>(random_matrix(n, 1, 3)),
             X = on_device<TypeParam>(random_matrix(n, 1, 4));
  auto factor = cholesky(exec, A);
  ASSERT_TRUE(factor.info().ok());
  auto const& report = factor.report();
  ASSERT_EQ(report.attempts.size(), 2u);
  EXPECT_EQ(report.attempts[0].layers, LayerList{P::fp32});
  EXPECT_EQ(report.attempts[0].outcome, Outcome::Foretold);
  EXPECT_EQ(report.attempts[0].info, 0);
  EXPECT_EQ(report.rung, Rung::Fp64);
  EXPECT_EQ(report.leaf_size, automatic_leaf_size<TypeParam>(n, LayerList{P::fp64}));
  EXPECT_TRUE(factor.solve(exec, B, X).converged);
}

// The pivots of a diagonal matrix are its entries: on a straight line down to 2^-exponent, against
// 64 u = 2^-18.
TYPED_TEST(CholeskyOn, LeavesAnAttemptWhosePivotsForetellThatItWillNotServe) {
  if (!strata::runs_on_host<TypeParam>) GTEST_SKIP() << "layers pay from other orders on";
  TypeParam const exec;
  std::int64_t const n = 800;
  auto const falling = [n](double exponent, double from = 1) {
    HostMatrix const A("strata::test::falling", n, n);
    for (std::int64_t i = 0; i < n; ++i)
      A(i, i) = from * std::exp2(-exponent * static_cast<double>(i) / static_cast<double>(n));
    return on_device<TypeParam>(A);
  };
  double done = 0;
  CholeskyOptions options;
  options.equilibrate = false;
  options.on_progress = [&done](double part) { done += part < 0.5 ? 1 : 0; };
  auto factor = cholesky(exec, falling(17), options);
  ASSERT_TRUE(factor.info().ok());
  ASSERT_EQ(factor.report().attempts.size(), 1u);
  EXPECT_EQ(factor.report().layers, LayerList{P::fp32});
  EXPECT_GT(done, 0);
  for (double const scale : {1.0, 0x1p-90, 0x1p90}) {
    factor.refactor(exec, falling(19, scale));
    ASSERT_TRUE(factor.info().ok()) << scale;
    auto const& report = factor.report();
    ASSERT_EQ(report.attempts.size(), 2u) << scale;
    EXPECT_EQ(report.attempts[0].outcome, Outcome::Foretold) << scale;
    EXPECT_EQ(report.attempts[0].rung, Rung::AsAsked) << scale;
    EXPECT_EQ(report.attempts[1].outcome, Outcome::Held) << scale;
    EXPECT_EQ(report.layers, LayerList{P::fp64}) << scale;
  }
  factor.refactor(exec, falling(17));  // as if nothing had been
  EXPECT_EQ(factor.report().attempts.size(), 1u);
  EXPECT_EQ(factor.report().attempts[0].outcome, Outcome::Held);
  options.ladder = false;
  auto const asked = cholesky(exec, falling(19), options);
  ASSERT_TRUE(asked.info().ok());
  EXPECT_EQ(asked.report().layers, LayerList{P::fp32});
  options.equilibrate = options.ladder = true;  // pivots of D A D, which are about 1
  EXPECT_EQ(cholesky(exec, falling(19), options).report().attempts.size(), 1u);
}

// Where the next rung has no memory, what was left serves: fp32 holds, and needs half as much.
TYPED_TEST(CholeskyOn, GoesOnWithWhatItLeftWhereTheNextRungHasNoMemory) {
  if (!strata::runs_on_host<TypeParam>) GTEST_SKIP() << "layers pay from other orders on";
  TypeParam const exec;
  std::int64_t const n = 800;
  HostMatrix const A("strata::test::falling", n, n);
  for (std::int64_t i = 0; i < n; ++i)
    A(i, i) = std::exp2(-19 * static_cast<double>(i) / static_cast<double>(n));
  auto const matrix = on_device<TypeParam>(A), B = on_device<TypeParam>(random_matrix(n, 1, 3)),
             X = on_device<TypeParam>(random_matrix(n, 1, 4));
  CholeskyOptions options;
  options.equilibrate = false;
  FailingAllocations failing("strata::dense::BlockTree::stored", [&, trees = 0]() mutable {
    return ++trees == 3;  // after the early block and fp32: fp64
  });
  auto factor = cholesky(exec, matrix, options);
  EXPECT_TRUE(failing.failed());
  failing.relent();
  ASSERT_TRUE(factor.info().ok());
  auto const& report = factor.report();
  ASSERT_EQ(report.attempts.size(), 2u);
  EXPECT_EQ(report.attempts[0].outcome, Outcome::Foretold);
  EXPECT_EQ(report.attempts[1].outcome, Outcome::Held);
  EXPECT_EQ(report.layers, LayerList{P::fp32});
  EXPECT_TRUE(factor.solve(exec, B, X).converged);
}

// By the spectra of `--generate geometric`: fp32 pays up to a condition of 1e7 on hosts. On a GPU
// fp16_split pays up to 1e4. From 1e6 on products of integers cost less than the refinement. Where
// their moduli do not suffice, fp64 follows.
TYPED_TEST(CholeskyOn, ForetellsByTheCondition) {
  bool const on_host = strata::runs_on_host<TypeParam>;
  if (!on_host && leaf_architecture<TypeParam>() != "sm_90") GTEST_SKIP() << "costs are not known";
  TypeParam const exec;
  std::int64_t const n = on_host ? 800 : 8192;
  double const most = on_host ? 1e7 : 1e4, between = on_host ? 30 : 300;
  for (double const condition : {1e2, 1e4, 1e6, 1e7, 1e8, 1e9}) {
    if (condition > most && condition < between * most) continue;  // about as fast
    auto factor = cholesky(exec, on_device<TypeParam>(hard(MatrixKind::Geometric, n, condition)));
    ASSERT_TRUE(factor.info().ok());
    auto const& attempts = factor.report().attempts;
    EXPECT_EQ(attempts[0].outcome, condition <= most ? Outcome::Held : Outcome::Foretold)
        << condition;
    EXPECT_EQ(attempts.size(), condition <= most ? 1u : 2u) << condition;
    auto const B = on_device<TypeParam>(random_matrix(n, 1, 3)),
               X = on_device<TypeParam>(random_matrix(n, 1, 4));
    EXPECT_TRUE(factor.solve(exec, B, X).converged) << condition;
  }
}

// Indefinite by less than fp16 resolves: the factorisation in layers holds, the solve finds out.
TYPED_TEST(CholeskyOn, SolveFindsWhatTheLayersCouldNotTell) {
  TypeParam const exec;
  std::int64_t const n = 60;
  HostMatrix const A = hard(MatrixKind::Geometric, n, 1e3);
  HostMatrix const L("strata::test::L", n, n);
  Kokkos::deep_copy(L, A);
  ASSERT_EQ(reference_cholesky(L), 0);
  A(n - 1, n - 1) -= 1.5 * L(n - 1, n - 1) * L(n - 1, n - 1);
  CholeskyOptions options;
  options.leaf_size = 8;
  auto const matrix = on_device<TypeParam>(A), B = on_device<TypeParam>(random_matrix(n, 2, 3)),
             X = on_device<TypeParam>(random_matrix(n, 2, 3));
  auto factor = cholesky<Layers<fp8_e4m3, fp16, fp32>>(exec, matrix, options);
  if (factor.info().ok()) {
    EXPECT_FALSE(factor.solve(exec, B, X).converged);
  }
  EXPECT_EQ(factor.info().order(), n);
}

template <class Function>
std::string message_of_call(Function const& f) {
  try {
    f();
  } catch (Error const& error) {
    return error.what();
  }
  return "no error";
}

TYPED_TEST(CholeskyOn, NamesNonFiniteEntries) {
  TypeParam const exec;
  for (double const poison : {nan_value, static_cast<double>(INFINITY)}) {
    HostMatrix const A = hard(MatrixKind::Geometric, 100, 10);
    A(70, 33) = poison;
    auto const matrix = on_device<TypeParam>(A);
    EXPECT_EQ(message_of_call([&] { (void)cholesky<Layers<fp32>>(exec, matrix); }),
              "cholesky: A(70, 33) is not finite (indices from 0)");
  }
  HostMatrix const B = random_matrix(100, 3, 1);
  B(17, 2) = nan_value;
  auto const matrix = on_device<TypeParam>(hard(MatrixKind::Geometric, 100, 10));
  auto factor = cholesky<Layers<fp32>>(exec, matrix);
  auto const right = on_device<TypeParam>(B);
  auto const X = on_device<TypeParam>(B);
  EXPECT_EQ(message_of_call([&] { (void)factor.solve(exec, right, X); }),
            "solve: column 2 of B holds a non-finite number, in row 17 (indices from 0)");
}

TYPED_TEST(CholeskyOn, SaysWhatIsWrong) {
  TypeParam const exec;
  auto const wide = on_device<TypeParam>(random_matrix(4, 5, 1));
  EXPECT_EQ(message_of_call([&] { (void)cholesky<Layers<fp32>>(exec, wide); }),
            "cholesky: A is 4 x 5, must be square");
  auto const A = on_device<TypeParam>(hard(MatrixKind::Geometric, 4, 10));
  CholeskyOptions options;
  options.leaf_size = -2;
  EXPECT_EQ(message_of_call([&] { (void)cholesky<Layers<fp32>>(exec, A, options); }),
            "cholesky: the leaf size is -2, must be >= 1, or 0 for automatic");
  options = {};
  options.shift = 2;
  EXPECT_EQ(message_of_call([&] { (void)cholesky<Layers<fp32>>(exec, A, options); }),
            "cholesky: the shift is 2, must be in [0, 1]");
  auto factor = cholesky<Layers<fp32>>(exec, A);
  auto const X = on_device<TypeParam>(random_matrix(4, 4, 1));
  EXPECT_EQ(message_of_call([&] { (void)factor.solve(exec, wide, X); }),
            "solve: B is 4 x 5, X 4 x 4, A of order 4");
}

TYPED_TEST(CholeskyOn, LogDeterminantIsRightWithItsErrorBar) {
  TypeParam const exec;
  HostMatrix const A = hard(MatrixKind::Geometric, 200, 1e3, 1e6);
  HostMatrix const L("strata::test::L", 200, 200);
  Kokkos::deep_copy(L, A);
  ASSERT_EQ(reference_cholesky(L), 0);
  double exact = 0;
  for (int i = 0; i < 200; ++i) exact += 2 * std::log(L(i, i));
  auto const matrix = on_device<TypeParam>(A);
  CholeskyOptions options;
  options.leaf_size = 16;
  auto fp64_factor = cholesky<Layers<fp64>>(exec, matrix, options);
  auto const in_fp64 = fp64_factor.log_determinant(exec);
  EXPECT_NEAR(in_fp64.value, exact, in_fp64.error());
  EXPECT_EQ(in_fp64.standard_error, 0);
  EXPECT_LE(in_fp64.error(), 1e-10 * std::abs(exact));
  auto factor = cholesky<Layers<fp16, fp16, fp32>>(exec, matrix, options);
  auto const estimate = factor.log_determinant(exec);
  EXPECT_NEAR(estimate.value, exact, estimate.error());
  EXPECT_GT(estimate.standard_error, 0);
}

TYPED_TEST(CholeskyOn, GivesTheFactorOfTheMatrixAsGiven) {
  TypeParam const exec;
  HostMatrix const A = hard(MatrixKind::Geometric, 90, 100, 1e8);
  auto const matrix = on_device<TypeParam>(A);
  auto const factor = cholesky<Layers<fp64>>(exec, matrix);
  auto const L = on_device<TypeParam>(A);
  factor.copy_factor(exec, matrix_ref(L));
  exec.fence();
  EXPECT_LE(factor_error(A, on_host(L)), 90 * 0x1p-52);
}

TYPED_TEST(CholeskyOn, MovesAndWorksOnAnotherInstance) {
  STRATATEST_NEEDS_INSTANCES(TypeParam, 2);
  auto const instances = Kokkos::Experimental::partition_space(TypeParam(), 1, 1);
  auto const A = on_device<TypeParam>(hard(MatrixKind::Geometric, 100, 100));
  auto const b = on_device<TypeParam>(random_matrix(100, 1, 5));
  Kokkos::fence();
  auto first = cholesky<Layers<fp16, fp32>>(instances[0], A);
  auto factor = std::move(first);
  Kokkos::View<double*, TypeParam> const x("strata::test::x", 100);
  auto const column = Kokkos::subview(b, Kokkos::ALL, 0);
  EXPECT_TRUE(factor.solve(instances[1], column, x).converged);
}

}  // namespace
