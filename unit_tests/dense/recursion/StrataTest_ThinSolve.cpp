// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_Dense.hpp"
#include <core/Strata_MatrixRef.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/recursion/detail/Strata_LowSolve.hpp>
#include <dense/recursion/detail/Strata_ThinSolve.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace strata::test {
namespace {

using namespace strata::dense;
using enum Precision;

constexpr double c = 4;  // of the bounds c n u

/// A random triangle in a tree, and the one that the tree holds once it is rounded to its layers.
template <class Space>
struct LoadedTree {
  BlockTree<LayerList, Space> tree;
  HostMatrix L;

  LoadedTree(std::int64_t n, LayerList const& layers, std::int64_t leaf, std::int64_t panel = 0)
      : tree(Space(), n, layers, leaf, options(panel)) {
    Space const exec;
    LeafBlas<Space> blas(exec);
    auto const triangle = on_device<Space>(random_triangle(n, 3));
    tree.load(exec, Uplo::Lower, matrix_ref(triangle));
    tree.quantise_all(blas);
    tree.store(exec, Uplo::Lower, matrix_ref(triangle));
    L = on_host(triangle);
  }
  static BlockTreeOptions options(std::int64_t panel) {
    BlockTreeOptions chosen;
    if (panel > 0) chosen.panel_size = panel;
    return chosen;
  }
};

/// The largest |x - L^-T L^-1 b| over the largest |x|, by substitution in long double.
double solve_error(HostMatrix const& L, HostMatrix const& B, HostMatrix const& X) {
  auto const n = L.extent(0);
  double worst = 0, size = 0;
  for (std::size_t col = 0; col < B.extent(1); ++col) {
    std::vector<long double> y(n);
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = B(i, col);
      for (std::size_t j = 0; j < i; ++j) y[i] -= L(i, j) * y[j];
      y[i] /= L(i, i);
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t j = i + 1; j < n; ++j) y[i] -= L(j, i) * y[j];
      y[i] /= L(i, i);
    }
    for (std::size_t i = 0; i < n; ++i) {
      size = std::max(size, std::abs(static_cast<double>(y[i])));
      double const error = std::abs(X(i, col) - static_cast<double>(y[i]));
      if (!(error <= worst)) worst = error;
    }
  }
  return worst / size;
}

template <class Space>
class ThinSolveOn : public testing::Test {};
TYPED_TEST_SUITE(ThinSolveOn, Spaces, SpaceNames);

TYPED_TEST(ThinSolveOn, EqualsSubstitutionWithTheStoredFactor) {
  using Thin = dense::detail::ThinSolve<TypeParam>;
  constexpr bool on_host_space = strata::runs_on_host<TypeParam>;
  for (LayerList const& layers :
       {LayerList{fp64}, LayerList{fp16, fp16, fp32}, LayerList{fp8_e4m3, fp16, fp32},
        LayerList{fp8_e5m2, bf16, fp64}, LayerList{fp32, fp64}, LayerList{fp16, fp64},
        LayerList{bf16, fp32}, LayerList{tf32, fp16_split}}) {
    for (auto const& [n, leaf] : std::vector<std::array<std::int64_t, 2>>{
             {32, 16}, {33, 16}, {200, 16}, {513, 128}, {700, 64}, {1100, 1024}}) {
      SCOPED_TRACE(testing::Message() << layers.name() << ", " << n << ", " << leaf);
      LoadedTree<TypeParam> const loaded(n, layers, leaf);
      ASSERT_EQ(Thin::takes(loaded.tree), !on_host_space);
      if (on_host_space) continue;
      HostMatrix const B = random_matrix(n, 1, 4);
      bool const wide = accumulator(layers.leaf()) == fp64;
      auto const b = on_device<TypeParam>(B);
      Kokkos::View<float**, Kokkos::LayoutLeft, typename TypeParam::memory_space> const low(
          "strata::test::low", n, 1);
      Kokkos::deep_copy(low, b);
      Thin solve(TypeParam(), loaded.tree);
      solve(wide ? matrix_ref(b) : matrix_ref(low));
      Kokkos::fence("strata::test::solved");
      double const error = solve_error(loaded.L, B, wide ? on_host(b) : on_host(low));
      EXPECT_LE(error, c * static_cast<double>(n) * (wide ? 0x1p-53 : 0x1p-24));
    }
  }
}

/// What a thin solve makes of a vector of numbers in fp32.
template <class Space>
std::vector<float> solve_low(dense::detail::ThinSolve<Space>& solve, std::vector<float> b) {
  using Vector = Kokkos::View<float**, Kokkos::LayoutLeft, typename Space::memory_space>;
  Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace> const host(b.data(), b.size(), 1);
  Vector const x("strata::test::x", b.size(), 1);
  Kokkos::deep_copy(x, host);
  solve(matrix_ref(x));
  Kokkos::fence("strata::test::solved");
  Kokkos::deep_copy(host, x);
  return b;
}

std::vector<float> random_vector(std::int64_t n, unsigned seed) {
  HostMatrix const B = random_matrix(n, 1, seed);
  return {B.data(), B.data() + n};
}

// Columns in strips with scales of their own, strips of more rows than one chunk has, and more
// leaves than teams run.
TYPED_TEST(ThinSolveOn, HandlesStripsOfScalesAndManyChunks) {
  if constexpr (!strata::runs_on_host<TypeParam>) {
    for (auto const& [n, leaf, panel] : std::vector<std::array<std::int64_t, 3>>{
             {700, 32, 64}, {4500, 64, 256}, {4500, 2048, 0}, {4505, 16, 0}, {5001, 1024, 1024}}) {
      LoadedTree<TypeParam> const loaded(n, {fp8_e4m3, fp8_e4m3, fp32}, leaf, panel);
      dense::detail::ThinSolve<TypeParam> solve(TypeParam(), loaded.tree);
      HostMatrix const B = random_matrix(n, 1, 4), X("strata::test::X", n, 1);
      std::vector<float> const x = solve_low(solve, random_vector(n, 4));
      std::copy(x.begin(), x.end(), X.data());
      EXPECT_LE(solve_error(loaded.L, B, X), c * static_cast<double>(n) * 0x1p-24) << n;
    }
  }
}

// Teams hand on numbers in whatever order they run: it must not show.
TYPED_TEST(ThinSolveOn, GivesTheSameBitsEachTime) {
  if constexpr (!strata::runs_on_host<TypeParam>) {
    for (auto const& [n, leaf] :
         std::vector<std::array<std::int64_t, 2>>{{700, 16}, {3001, 128}, {4500, 1024}}) {
      LoadedTree<TypeParam> const loaded(n, {fp16, fp16, fp32}, leaf);
      dense::detail::ThinSolve<TypeParam> solve(TypeParam(), loaded.tree), another = solve;
      std::vector<float> const b = random_vector(n, 4), x = solve_low(solve, b);
      for (unsigned again = 0; again < 20; ++again) {
        (void)solve_low(
            solve, random_vector(n, 5 + again));  // what it leaves must not be taken for this one's
        ASSERT_EQ(solve_low(again % 2 == 0 ? solve : another, b), x) << n << ", " << again;
      }
    }
  }
}

// A number whose bits say that it is not there yet would be waited for without end.
TYPED_TEST(ThinSolveOn, HandsOnInfinitiesAndAnyNaN) {
  if constexpr (!strata::runs_on_host<TypeParam>) {
    std::int64_t const n = 1100;
    LoadedTree<TypeParam> const loaded(n, {fp16, fp16, fp32}, 128);
    dense::detail::ThinSolve<TypeParam> solve(TypeParam(), loaded.tree);
    for (float const value :
         {std::bit_cast<float>(~std::uint32_t(0)), std::bit_cast<float>(~std::uint32_t(0) >> 1),
          std::numeric_limits<float>::infinity()})
      for (std::int64_t const place : {std::int64_t{0}, n / 2, n - 1}) {
        std::vector<float> b = random_vector(n, 4);
        b[static_cast<std::size_t>(place)] = value;
        for (float const x : solve_low(solve, b)) ASSERT_FALSE(std::isfinite(x)) << place;
      }
    for (float const x : solve_low(solve, random_vector(n, 4))) ASSERT_TRUE(std::isfinite(x));
  }
}

TYPED_TEST(ThinSolveOn, TakesTheTreesOfAutomaticLeaves) {
  for (std::int64_t const n : {300, 1000, 2000, 3001, 5000})
    EXPECT_EQ(
        dense::detail::ThinSolve<TypeParam>::takes(
            LoadedTree<TypeParam>(n, {fp16, fp32}, automatic_leaf_size<TypeParam>(n, {fp32})).tree),
        !strata::runs_on_host<TypeParam>)
        << n;
}

TYPED_TEST(ThinSolveOn, TakesNoSingleLeafAndNoLeafThatIsCutBetweenLoads) {
  using Thin = dense::detail::ThinSolve<TypeParam>;
  EXPECT_FALSE(Thin::takes(LoadedTree<TypeParam>(16, {fp32}, 16).tree));
  EXPECT_FALSE(Thin::takes(LoadedTree<TypeParam>(50, {fp16, fp32}, 20).tree));
  EXPECT_FALSE(Thin::takes(LoadedTree<TypeParam>(64, {fp64, fp32}, 16).tree));  // wider blocks
}

// The number of columns decides the way, and what is recorded for one number must not serve
// another.
TYPED_TEST(ThinSolveOn, LowSolveIsTheSameForAnyNumberOfColumnsInAnyOrder) {
  std::int64_t const n = 300;
  LoadedTree<TypeParam> const loaded(n, {fp16, fp16, fp32}, 32);
  LeafBlas<TypeParam> blas{TypeParam()};
  dense::detail::LowSolve<TypeParam> solve(blas, loaded.tree);
  for (std::int64_t const cols : {1, 1, 1, 3, 3, 3, 1, 1, 5, 5, 5, 20, 1, 4, 4, 4}) {
    HostMatrix const B = random_matrix(n, cols, static_cast<unsigned>(cols));
    auto const x = on_device<TypeParam>(B);
    solve(matrix_ref(x));
    Kokkos::fence("strata::test::solved");
    double const layered = cols >= 16 && !strata::runs_on_host<TypeParam> ? 0x1p-9 : 0;
    EXPECT_LE(solve_error(loaded.L, B, on_host(x)), c * n * 0x1p-24 + layered) << cols;
  }
}

// The first solve is run, the second one captured, and from then on it is replayed.
TYPED_TEST(ThinSolveOn, LowSolveGivesTheSameBitsWhenItIsReplayed) {
  std::int64_t const n = 1500;
  LoadedTree<TypeParam> const loaded(n, {fp16, fp16, fp32}, 128);
  LeafBlas<TypeParam> blas{TypeParam()};
  dense::detail::LowSolve<TypeParam> solve(blas, loaded.tree);
  HostMatrix const B = random_matrix(n, 1, 4);
  auto const x = on_device<TypeParam>(B);
  solve(matrix_ref(x));
  Kokkos::fence("strata::test::solved");
  HostMatrix const first = on_host(x);
  for (int again = 0; again < 8; ++again) {
    Kokkos::deep_copy(x, on_device<TypeParam>(B));
    solve(matrix_ref(x));
    Kokkos::fence("strata::test::solved");
    HostMatrix const now = on_host(x);
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(now(i, 0), first(i, 0)) << i << ", " << again;
  }
}

}  // namespace
}  // namespace strata::test
