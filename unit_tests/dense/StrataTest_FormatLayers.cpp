// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Layers in tf32 and fp16_split: stored as fp32, with the error of their products.
#include "StrataTest_Dense.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/Strata_Backends.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/recursion/Strata_TreePotrf.hpp>
#include <dense/recursion/Strata_TreeSyrk.hpp>
#include <dense/recursion/Strata_TreeTrsm.hpp>
#include <geostat/Strata_Matern.hpp>

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace strata::test {
namespace {

using namespace strata::dense;
using enum Precision;

[[maybe_unused]] constexpr double c = 10;  // errors are held to c n eps
// A vendor's library may make small products of tf32 in fp32.
template <class Space>
constexpr bool made_in_tf32 = !vendor_libraries<Space>.tf32;
constexpr LeafSolve both[] = {LeafSolve::Substitution, LeafSolve::Inverse};

std::vector<LayerList> const& format_lists() {
  static std::vector<LayerList> const lists = {{tf32},
                                               {fp16_split},
                                               {tf32, tf32, fp32},
                                               {fp16_split, fp16_split, fp32},
                                               {tf32, fp16_split, fp64},
                                               {fp16, tf32, fp16_split, fp32},
                                               {bf16, fp16_split},
                                               {fp8_e4m3, tf32, fp32}};
  return lists;
}

// What the upper triangle holds is not to be read.
HostMatrix const& lower(HostMatrix const& A) {
  for (std::size_t j = 0; j < A.extent(1); ++j)
    for (std::size_t i = 0; i < j; ++i) A(i, j) = nan_value;
  return A;
}

HostMatrix covariance(std::int64_t n, double range) {
  return lower(geostat::covariance_matrix({.range = range}, geostat::synthetic_locations(n)));
}

HostMatrix matrix(MatrixKind kind, std::int64_t n, double condition) {
  GeneratorOptions options;
  options.condition = condition;
  if (n == 0) return HostMatrix("strata::test::empty", 0, 0);
  return lower(generate(kind, n, options));
}

template <class Space>
struct Tree {
  BlockTree<LayerList, Space> blocks;
  LeafBlas<Space> blas{Space()};

  Tree(HostMatrix const& A, LayerList const& layers, std::int64_t leaf, std::int64_t panel = 0,
       LeafSolve solve = LeafSolve::Automatic)
      : blocks(Space(), static_cast<std::int64_t>(A.extent(0)), layers, leaf, sizes(panel, solve)) {
    auto const device = on_device<Space>(A, 3);
    blocks.load(Space(), Uplo::Lower, matrix_ref(device));
    Kokkos::fence("strata::test::loaded");
  }

  /// The order of the minor that fails, or 0 and the factor.
  std::int64_t factor(HostMatrix const& L) {
    Kokkos::View<std::int64_t, typename Space::memory_space> const info("strata::test::info");
    tree_potrf(blas, blocks, info);
    auto const device = on_device<Space>(L, 1);
    blocks.store(Space(), Uplo::Lower, matrix_ref(device));
    Kokkos::fence("strata::test::factored");
    std::int64_t order = -1;
    Kokkos::deep_copy(order, info);
    Kokkos::deep_copy(L, on_host(device));
    return order;
  }

 private:
  static BlockTreeOptions sizes(std::int64_t panel, LeafSolve solve) {
    BlockTreeOptions options;
    options.panel_size = panel;
    options.leaf_solve = solve;
    return options;
  }
};

/// ||A - L L^T|| / ||A|| of a matrix that can be factored.
template <class Space>
double error_of(HostMatrix const& A, LayerList const& layers, std::int64_t leaf, std::int64_t panel,
                LeafSolve solve) {
  HostMatrix const L("strata::test::L", A.extent(0), A.extent(1));
  EXPECT_EQ((Tree<Space>(A, layers, leaf, panel, solve).factor(L)), 0) << layers.name();
  return factor_error(A, L);
}

template <class Space>
class FormatLayersOn : public testing::Test {};
TYPED_TEST_SUITE(FormatLayersOn, Spaces, SpaceNames);

TYPED_TEST(FormatLayersOn, FactorsErrorIsThatOfTheFormat) {
  for (HostMatrix const& A : {matrix(MatrixKind::Geometric, 300, 10),
                              matrix(MatrixKind::Geometric, 300, 1e3), covariance(300, 0.1)})
    for (LeafSolve const solve : both)
      for (std::int64_t const panel : {20, 80, 300}) {
        auto const error = [&](LayerList const& layers) {
          return error_of<TypeParam>(A, layers, 20, panel, solve);
        };
        for (LayerList const& layers : {LayerList{tf32}, LayerList{tf32, tf32, fp32}}) {
          double const found = error(layers);
          EXPECT_LE(found, 4 * 0x1p-11);
          if (made_in_tf32<TypeParam>) {
            EXPECT_GE(found, 0x1p-20) << "made in fp32";
          }
        }
        EXPECT_LE(error({fp16_split}), 4 * 0x1p-22);
        EXPECT_LE(error({fp16_split, fp16_split, fp16_split, fp32}), 4 * 0x1p-22);
        EXPECT_LE(error({fp16_split, fp64}), 4 * 0x1p-22);
      }
}

TYPED_TEST(FormatLayersOn, AgreeWithTheSlowReferenceForAnySizeAndLeaf) {
  for (std::int64_t const n : {0, 1, 15, 16, 17, 33, 130}) {
    HostMatrix const A = matrix(MatrixKind::Geometric, n, 10);
    HostMatrix const L("strata::test::L", n, n), found("strata::test::found", n, n);
    Kokkos::deep_copy(L, A);
    ASSERT_EQ(reference_cholesky(L), 0);
    for (std::int64_t const leaf : {1, 16, 64})
      for (LayerList const& layers : format_lists()) {
        ASSERT_EQ((Tree<TypeParam>(A, layers, leaf).factor(found)), 0) << layers.name();
        EXPECT_LE(triangle_difference(found, L), 20 * layers.unit_roundoff())
            << layers.name() << " " << n << " " << leaf;
      }
  }
}

// Blocks are stored once, as fp32, and are updated where they are.
TYPED_TEST(FormatLayersOn, TakeTheMemoryOfFp32) {
  using Blocks = BlockTree<LayerList, TypeParam>;
  auto const fp32s = Blocks::bytes_needed(200, {fp32}, 16),
             formats = Blocks::bytes_needed(200, {tf32, fp16_split, fp32}, 16);
  EXPECT_EQ(formats.stored, fp32s.stored);
  EXPECT_EQ(formats.working, 0u);
  Tree<TypeParam> const tree(matrix(MatrixKind::Geometric, 200, 10), {tf32, fp16_split, fp32}, 16);
  EXPECT_EQ(tree.blocks.working_bytes(), 0u);
  EXPECT_EQ(tree.blocks.root().stored.precision, tf32);
  EXPECT_EQ(tree.blocks.root().working.precision, fp32);
  EXPECT_EQ(tree.blocks.root().working.data, tree.blocks.root().stored.data);
  EXPECT_EQ(tree.blocks.scales().extent(0), 0u);
}

TYPED_TEST(FormatLayersOn, FindTheFirstMinorThatIsNotPositiveAndNeverPassNan) {
  std::int64_t const n = 60, leaf = 8;
  HostMatrix const L("strata::test::L", n, n);
  for (LeafSolve const solve : both)
    for (LayerList const& layers : {LayerList{tf32, tf32, fp32}, LayerList{fp16_split}}) {
      for (std::int64_t const order : {1, 8, 9, 17, 32, 33, 60}) {
        HostMatrix const A = matrix(MatrixKind::Geometric, n, 10);
        Kokkos::deep_copy(L, A);
        ASSERT_EQ(reference_cholesky(L), 0);
        A(order - 1, order - 1) -= 1.5 * L(order - 1, order - 1) * L(order - 1, order - 1);
        EXPECT_EQ((Tree<TypeParam>(A, layers, leaf, 16, solve).factor(L)), order);
      }
      for (double const poison : {nan_value, HUGE_VAL, -HUGE_VAL})
        for (auto const& [i, j] : std::vector<std::array<std::int64_t, 2>>{
                 {0, 0}, {9, 2}, {40, 3}, {59, 58}, {59, 59}}) {
          HostMatrix const A = matrix(MatrixKind::Geometric, n, 10);
          A(i, j) = poison;
          EXPECT_GT((Tree<TypeParam>(A, layers, leaf, 16, solve).factor(L)), 0) << i << " " << j;
        }
    }
}

/// max |L X - B| of the solution in T for B of 20 columns.
template <class Space, class T>
double solve_error(LayerList const& layers, LeafSolve solve, Products products) {
  std::int64_t const n = 150;
  HostMatrix const L = random_triangle(n, 3), B = random_matrix(n, 20, 4);
  Tree<Space> tree(L, layers, 16, 0, solve);
  tree.blocks.quantise_all(tree.blas);
  Kokkos::View<T**, Kokkos::LayoutLeft, typename Space::memory_space> const X("strata::test::X", n,
                                                                              20);
  Kokkos::deep_copy(X, on_device<Space>(B));
  tree_trsm(tree.blas, Side::Left, Op::NoTrans, Diag::NonUnit, 1, tree.blocks, matrix_ref(X),
            products);
  Kokkos::fence("strata::test::solved");
  HostMatrix const x = on_host(X);
  double largest = 0;
  for (std::int64_t j = 0; j < 20; ++j)
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = -B(i, j);
      for (std::int64_t k = 0; k <= i; ++k) sum += L(i, k) * x(k, j);
      if (!(std::abs(sum) <= largest)) largest = std::abs(sum);
    }
  return largest;
}

// Sums of up to 150 terms are rounded 150 times, by random signs.
TYPED_TEST(FormatLayersOn, TrsmMultipliesInTheFormatOnlyWhereLayersAreAskedFor) {
  double const rounded = 2 * std::sqrt(150.0) * 0x1p-24;
  for (LeafSolve const solve : both)
    for (Precision const format : {tf32, fp16_split}) {
      LayerList const layers{format, format, format, fp32};
      double const unit = traits(format).unit_roundoff;
      auto const fp32s = solve_error<TypeParam, float>(layers, solve, Products::Layered),
                 fp64s = solve_error<TypeParam, double>(layers, solve, Products::Layered);
      EXPECT_LE(fp32s, 8 * unit);
      EXPECT_LE(fp64s, 8 * unit);
      if (format == tf32 && made_in_tf32<TypeParam>) {
        EXPECT_GE(std::min(fp32s, fp64s), 0x1p-18) << "made in fp32";
      }
      EXPECT_LE((solve_error<TypeParam, float>(layers, solve, Products::AsStored)), rounded);
      EXPECT_LE((solve_error<TypeParam, double>(layers, solve, Products::AsStored)), rounded);
    }
}

/// The largest |C - 0.5 A A^T + 2 C| / (|C| + |A| |A|^T) in the triangle, A and C in T.
template <class Space, class T>
double syrk_error(LayerList const& layers, Uplo uplo, Op op, std::int64_t n, std::int64_t leaf) {
  std::int64_t const k = 37;
  HostMatrix const A = random_matrix(op == Op::NoTrans ? n : k, op == Op::NoTrans ? k : n, 5),
                   C = random_matrix(n, n, 6);
  using View = Kokkos::View<T**, Kokkos::LayoutLeft, typename Space::memory_space>;
  View const a("strata::test::a", A.extent(0), A.extent(1)), result("strata::test::c", n, n);
  Kokkos::deep_copy(a, on_device<Space>(A));
  Kokkos::deep_copy(result, on_device<Space>(C));
  LeafBlas<Space> blas{Space()};
  tree_syrk(blas, layers, leaf, uplo, op, 0.5, matrix_ref(a), -2, matrix_ref(result));
  Kokkos::fence("strata::test::updated");
  HostMatrix const found = on_host(result);
  double largest = 0;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) {
      if (uplo == Uplo::Lower ? i < j : i > j) continue;
      double sum = -2 * C(i, j), size = std::abs(sum);
      for (std::int64_t l = 0; l < k; ++l) {
        double const term = 0.5 * (op == Op::NoTrans ? A(i, l) * A(j, l) : A(l, i) * A(l, j));
        sum += term;
        size += std::abs(term);
      }
      double const error = std::abs(found(i, j) - sum) / size;
      if (!(error <= largest)) largest = error;
    }
  return largest;
}

TYPED_TEST(FormatLayersOn, SyrkHasTheErrorOfTheFormat) {
  for (Precision const format : {tf32, fp16_split})
    for (LayerList const& layers : {LayerList{format}, LayerList{format, format, fp64}})
      for (Uplo const uplo : {Uplo::Lower, Uplo::Upper})
        for (Op const op : {Op::NoTrans, Op::Trans})
          for (auto const& [n, leaf] :
               std::vector<std::array<std::int64_t, 2>>{{1, 4}, {129, 128}, {300, 20}}) {
            double const unit = traits(format).unit_roundoff;
            EXPECT_LE((syrk_error<TypeParam, double>(layers, uplo, op, n, leaf)), 6 * unit);
            EXPECT_LE((syrk_error<TypeParam, float>(layers, uplo, op, n, leaf)), 6 * unit);
          }
}

// What the level is for: fp16 layers can't hold these, fp16_split as good as fp32, in one attempt.
TYPED_TEST(FormatLayersOn, SplitLayersHoldWhatFp16CanNot) {
  for (HostMatrix const& A : {matrix(MatrixKind::Geometric, 256, 1e5), covariance(256, 0.8)}) {
    auto const device = on_device<TypeParam>(A);
    auto const B = on_device<TypeParam>(random_matrix(256, 2, 9)),
               X = on_device<TypeParam>(random_matrix(256, 2, 1));
    CholeskyOptions options;
    options.leaf_size = 32;
    options.ladder = false;
    auto const iterations = [&](LayerList const& layers) -> std::int64_t {
      auto factor = cholesky(TypeParam(), device, layers, options);
      if (!factor.info().ok()) return 1000;
      EXPECT_EQ(factor.report().layers.name(), layers.name());
      SolveReport const result = factor.solve(TypeParam(), B, X);
      EXPECT_TRUE(result.converged) << layers.name();
      return result.iterations;
    };
    auto const split = iterations({fp16_split, fp16_split, fp16_split, fp32}),
               single = iterations({fp32}), half = iterations({fp16, fp16, fp16, fp32});
    EXPECT_LE(split, single + 4);
    EXPECT_GT(half, split);
  }
}

}  // namespace
}  // namespace strata::test
