// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Dense.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/Strata_MatrixRef.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/Strata_PosvMixed.hpp>
#include <dense/recursion/Strata_TreePotrf.hpp>
#include <dense/vectors/Strata_StridedMatrix.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

// Objects that were moved from, and operands that overlap where they must not.

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;
using P = strata::Precision;

template <class Space>
class MisuseOn : public testing::Test {};
TYPED_TEST_SUITE(MisuseOn, Spaces, SpaceNames);

HostMatrix geometric(std::int64_t n, double condition) {
  return generate(MatrixKind::Geometric, n, {.condition = condition});
}

// NOLINTBEGIN(bugprone-use-after-move)
TYPED_TEST(MisuseOn, AFactorThatWasMovedFromIsRefused) {
  TypeParam const exec;
  std::int64_t const n = 40;
  auto const A = on_device<TypeParam>(geometric(n, 10)),
             B = on_device<TypeParam>(random_matrix(n, 2, 1)),
             X = on_device<TypeParam>(random_matrix(n, 2, 2));
  auto factor = cholesky(exec, A, {P::fp32});
  auto other = std::move(factor);
  auto const refused = [](auto const& call) {
    EXPECT_TRUE(throws_with<ValueError>("CholeskyFactor: moved from", call));
  };
  refused([&] { (void)factor.info(); });
  refused([&] { (void)factor.report(); });
  refused([&] { (void)factor.solve(exec, B, X); });
  refused([&] { (void)factor.condition(exec); });
  refused([&] { (void)factor.log_determinant(exec); });
  refused([&] { factor.copy_factor(exec, matrix_ref(A)); });
  factor = std::move(other);
  EXPECT_TRUE(factor.solve(exec, B, X).converged);
  refused([&] { (void)other.info(); });

  LayerList const layers{P::fp32};
  BlockTree<LayerList, TypeParam> tree(exec, n, layers, 16);
  tree.load(exec, Uplo::Lower, matrix_ref(A));
  Kokkos::View<std::int64_t, typename TypeParam::memory_space> const info("strata::test::info");
  RepeatedPotrf<TypeParam> potrf(exec, tree);
  auto const moved = std::move(potrf);
  EXPECT_TRUE(throws_with<ValueError>("RepeatedPotrf: moved from", [&] { potrf(info); }));
}
// NOLINTEND(bugprone-use-after-move)

// What is wrong with the last of B's columns is known before the first of X's, which lies on it, is
// written.
TYPED_TEST(MisuseOn, WritesNothingWhereBHoldsANonFiniteNumber) {
  std::int64_t const n = 100;
  TypeParam const exec;
  auto const matrix = on_device<TypeParam>(geometric(n, 1e4));
  HostMatrix B = random_matrix(n, 3, 6);
  B(n - 1, 2) = std::numeric_limits<double>::infinity();
  for (LayerList const& layers : {LayerList{P::fp64}, LayerList{P::fp32}}) {
    auto const X = on_device<TypeParam>(B);
    auto factor = cholesky(exec, matrix, layers);
    EXPECT_TRUE(throws_with<ValueError>("solve: column 2 of B holds a non-finite number",
                                        [&] { (void)factor.solve(exec, X, X); }));
    HostMatrix const found = on_host(X);
    for (std::int64_t j = 0; j < 3; ++j)
      for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(found(i, j), B(i, j));
  }
}

// The first one is named, and no column is refined in vain.
TYPED_TEST(MisuseOn, RefinesNothingWhereBHoldsANonFiniteNumber) {
  std::int64_t const n = 100;
  TypeParam const exec;
  auto factor = cholesky(exec, on_device<TypeParam>(geometric(n, 1e4)), {P::fp32});
  HostMatrix B = random_matrix(n, 4, 6);
  B(70, 1) = std::numeric_limits<double>::quiet_NaN();
  B(80, 1) = B(3, 3) = -std::numeric_limits<double>::infinity();
  auto const right = on_device<TypeParam>(B), X = on_device<TypeParam>(random_matrix(n, 4, 7));
  int steps = 0;
  RefinementOptions options;
  options.on_step = [&](double) { ++steps; };
  EXPECT_TRUE(throws_with<ValueError>(
      "solve: column 1 of B holds a non-finite number, in row 70 (indices from 0)",
      [&] { (void)factor.solve(exec, right, X, options); }));
  EXPECT_EQ(steps, 0);
  HostMatrix const found = on_host(X), before = random_matrix(n, 4, 7);
  for (std::int64_t j = 0; j < 4; ++j)
    for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(found(i, j), before(i, j));
}

// A climb would load what X has overwritten.
TYPED_TEST(MisuseOn, XMustNotOverlapTheMatrixOfTheFactor) {
  TypeParam const exec;
  std::int64_t const n = 100;
  using Range = Kokkos::pair<std::int64_t, std::int64_t>;
  HostMatrix const all("strata::test::all", n + 2, n + 2), A = geometric(n, 1e6);
  Kokkos::deep_copy(Kokkos::subview(all, Range(0, n), Range(0, n)), A);
  auto const memory = on_device<TypeParam>(all), B = on_device<TypeParam>(random_matrix(n, 2, 1));
  auto const matrix = Kokkos::subview(memory, Range(0, n), Range(0, n));
  auto factor = cholesky(exec, matrix, {P::fp8_e4m3, P::fp16}, {.leaf_size = 16});
  for (auto const& [row, column] : {Range(0, 0), Range(2, 0), Range(1, 1), Range(0, n - 1)}) {
    auto const X = Kokkos::subview(memory, Range(row, row + n), Range(column, column + 2));
    EXPECT_TRUE(throws_with<ValueError>("solve: X overlaps A, which the factor reads",
                                        [&] { (void)factor.solve(exec, B, X); }));
  }
  EXPECT_EQ(largest_difference(on_host(memory), all), 0);
  auto const beside = Kokkos::subview(memory, Range(0, n), Range(n, n + 2));
  auto const column_of_A = Kokkos::subview(memory, Range(0, n), Range(3, 5));
  EXPECT_TRUE(factor.solve(exec, column_of_A, beside).converged);
}

// What the first try has written to X is neither A nor B for the second.
TYPED_TEST(MisuseOn, PosvMixedRefusesOperandsThatOverlap) {
  TypeParam const exec;
  std::int64_t const n = 60;
  HostMatrix const given = geometric(n, 10);
  auto const A = on_device<TypeParam>(given), B = on_device<TypeParam>(random_matrix(n, n, 1)),
             X = on_device<TypeParam>(random_matrix(n, n, 2));
  auto const refused = [&](std::string const& text, auto const& a, auto const& b, auto const& x) {
    EXPECT_TRUE(throws_with<ValueError>("posv_mixed: " + text,
                                        [&] { (void)posv_mixed(exec, Uplo::Lower, a, b, x); }));
  };
  refused("X overlaps B", A, B, B);
  refused("X overlaps A", A, B, A);
  refused("B overlaps A", A, A, X);
  EXPECT_EQ(largest_difference(on_host(A), given), 0);
}

TYPED_TEST(MisuseOn, PosvMixedRefusesOptionsAndStridesBeforeItWrites) {
  TypeParam const exec;
  std::int64_t const n = 30;
  HostMatrix const given = geometric(n, 10);
  auto const A = on_device<TypeParam>(given), B = on_device<TypeParam>(random_matrix(n, 2, 1)),
             X = on_device<TypeParam>(random_matrix(n, 2, 2));
  auto const refused = [&](auto const& text, auto const& x, MixedOptions const& options) {
    std::string const message =
        message_of<Error>([&] { (void)posv_mixed(exec, Uplo::Lower, A, B, x, options); });
    EXPECT_EQ(message, std::string("posv_mixed: the ") + text);
  };
  refused("leaf size is -5 and the iterations are 0, must be >= 1, or 0 for automatic", X,
          {.layers = LayerList{P::fp32}, .leaf_size = -5});
  refused("leaf size is 0 and the iterations are -5, must be >= 1, or 0 for automatic", X,
          {.layers = LayerList{P::fp32}, .max_iterations = -5});
  Kokkos::View<double**, Kokkos::LayoutStride, typename TypeParam::memory_space> const one_column(
      X.data(), Kokkos::LayoutStride(n, 1, 2, 0));
  refused("leading dimensions of A, B and X are 30, 30 and 0, must be at least 30", one_column, {});
  EXPECT_EQ(largest_difference(on_host(A), given), 0);
  auto factor = cholesky(exec, A, {P::fp32});
  EXPECT_EQ(message_of<Error>([&] { (void)factor.solve(exec, B, one_column); }),
            "solve: elements of X share memory; its strides are 1 and 0");
}

std::set<double const*> elements(StridedMatrix<double const> const& A) {
  std::set<double const*> found;
  for (std::int64_t i = 0; i < A.rows; ++i)
    for (std::int64_t j = 0; j < A.cols; ++j) found.insert(&A(i, j));
  return found;
}

// As the sets of their elements say, for rows or columns that have no gaps.
TEST(ShareMemory, IsWhetherAnElementIsInBoth) {
  std::vector<double> const memory(200);
  std::vector<StridedMatrix<double const>> matrices;
  for (std::int64_t const begin : {0, 3, 4, 11, 30})
    for (std::int64_t const rows : {0, 1, 3, 5})
      for (std::int64_t const cols : {1, 2, 4})
        for (std::int64_t const ld : {5, 9}) {
          matrices.push_back({memory.data() + begin, rows, cols, 1, ld});
          matrices.push_back({memory.data() + begin, rows, cols, ld, 1});
        }
  for (auto const& A : matrices)
    for (auto const& B : matrices) {
      auto const of_A = elements(A), of_B = elements(B);
      bool const shared = std::ranges::any_of(of_A, [&](auto* a) { return of_B.contains(a); });
      EXPECT_EQ(share_memory(A, B), shared);
    }
  for (auto const& A : matrices)
    EXPECT_EQ(overlaps_itself(A), elements(A).size() < static_cast<std::size_t>(A.rows * A.cols));
  EXPECT_TRUE(overlaps_itself({memory.data(), 3, 2, 0, 1}));
  EXPECT_TRUE(overlaps_itself({memory.data(), 3, 2, 1, 2}));
  EXPECT_FALSE(overlaps_itself({memory.data(), 3, 1, 1, 0}));
}

}  // namespace
