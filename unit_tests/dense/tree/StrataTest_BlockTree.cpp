// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_Dense.hpp"
#include <core/info/Strata_Version.hpp>
#include <dense/refine/detail/Strata_Equilibrate.hpp>
#include <dense/tree/Strata_BlockTree.hpp>
#include <dense/tree/Strata_Quantise.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;
using P = strata::Precision;

template <class Space>
using Tree = BlockTree<LayerList, Space>;

template <class Space>
class BlockTreeOn : public testing::Test {};
TYPED_TEST_SUITE(BlockTreeOn, Spaces, SpaceNames);

/// A block on the host, without its scale.
template <class Space>
HostMatrix read(MatrixRef<typename Space::memory_space> const& block) {
  Space const exec;
  LeafBlas<Space> blas(exec);
  Kokkos::View<double**, Kokkos::LayoutLeft, typename Space::memory_space> const wide(
      "strata::test::wide", block.rows, block.cols);
  blas.convert(Op::NoTrans, block, matrix_ref(wide));
  exec.fence("strata::test::read");
  return on_host(wide);
}

/// tril(A) through a tree and back into a matrix of `background`.
template <class Space>
HostMatrix through_tree(HostMatrix const& A, LayerList const& layers, std::int64_t leaf,
                        Uplo uplo = Uplo::Lower) {
  Space const exec;
  LeafBlas<Space> blas(exec);
  auto const source = on_device<Space>(A, 3);
  HostMatrix const background("strata::test::background", A.extent(0), A.extent(1));
  Kokkos::deep_copy(background, 77);
  auto const target = on_device<Space>(background, 5);
  Tree<Space> tree(exec, static_cast<std::int64_t>(A.extent(0)), layers, leaf);
  tree.load(exec, uplo, matrix_ref(source));
  tree.quantise_all(blas);
  tree.release_working();
  tree.store(exec, uplo, matrix_ref(target));
  exec.fence();
  return on_host(target);
}

TYPED_TEST(BlockTreeOn, KeepsOneTriangleExactlyAndNeverSeesTheOther) {
  for (std::int64_t const n : {0, 1, 2, 3, 7, 8, 9, 33}) {
    for (std::int64_t const leaf : {1, 3, 8, 64}) {
      HostMatrix const A = random_matrix(n, n, 7);
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < j; ++i) A(i, j) = nan_value;
      HostMatrix const B = through_tree<TypeParam>(A, {P::fp64}, leaf);
      HostMatrix const U("strata::test::upper", n, n);
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i) U(i, j) = A(j, i);
      HostMatrix const V = through_tree<TypeParam>(U, {P::fp64}, leaf, Uplo::Upper);
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < n; ++i) {
          ASSERT_EQ(B(i, j), i >= j ? A(i, j) : 77) << n << " " << leaf << " " << i << " " << j;
          ASSERT_EQ(V(j, i), i >= j ? A(i, j) : 77);
        }
      }
    }
  }
}

// Every block has its own scale. With off-diagonal blocks of very different magnitudes, each entry
// that is not far below its block's largest has the relative error of its layer.
TYPED_TEST(BlockTreeOn, RoundsEachBlockToItsLayerWithItsOwnScale) {
  std::int64_t const n = 40, leaf = 5;
  for (Precision const low :
       {P::fp16, P::bf16, P::fp8_e4m3, P::fp8_e5m2, P::fp8_e4m3fnuz, P::fp8_e5m2fnuz}) {
    HostMatrix const A = random_matrix(n, n, 11);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = j; i < n; ++i) {
        A(i, j) = std::copysign(1 + std::abs(A(i, j)), A(i, j));
        if (i >= 20 && j < 20) A(i, j) *= 1e-30;
        if (i >= 10 && i < 20 && j < 10) A(i, j) *= 1e+30;
      }
    }
    HostMatrix const B = through_tree<TypeParam>(A, {low, low, low, P::fp32}, leaf);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = j; i < n; ++i)
        ASSERT_NEAR(B(i, j) / A(i, j), 1, traits(low).unit_roundoff)
            << traits(low).name << " " << i << " " << j;
  }
}

TYPED_TEST(BlockTreeOn, CutsAtMultiplesOfTheLeafAndTypesByDepth) {
  std::int64_t const n = 1009, leaf = 64;
  LayerList const layers{P::fp8_e4m3, P::fp16, P::fp32};
  Tree<TypeParam> const tree(TypeParam(), n, layers, leaf);
  std::int64_t entries = 0;
  for (auto const& node : tree.nodes()) {
    EXPECT_EQ(node.begin % leaf, 0);
    if (node.is_leaf()) {
      EXPECT_LE(node.size, leaf);
      EXPECT_TRUE(node.size == leaf || node.begin + node.size == n);
      EXPECT_EQ(node.stored.precision, P::fp32);
      entries += node.size * (node.size + 1) / 2;
    } else {
      EXPECT_EQ(node.stored.precision, layers.at_depth(static_cast<std::size_t>(node.depth)));
      EXPECT_EQ(node.stored.cols, node.first_size);
      EXPECT_EQ(node.stored.rows, node.size - node.first_size);
      EXPECT_EQ(tree.left(node).begin, node.begin);
      EXPECT_EQ(tree.left(node).size, node.first_size);
      EXPECT_EQ(tree.right(node).begin, node.begin + node.first_size);
      EXPECT_EQ(tree.right(node).size, node.size - node.first_size);
      entries += node.stored.rows * node.stored.cols;
    }
  }
  EXPECT_EQ(entries, n * (n + 1) / 2);
}

TYPED_TEST(BlockTreeOn, TakesTheBytesThatItSaid) {
  TypeParam const exec;
  std::int64_t const n = 512, leaf = 32;
  LayerList const layers{P::fp16, P::fp16, P::fp16, P::fp32};
  auto const bytes = Tree<TypeParam>::bytes_needed(n, layers, leaf);
  Tree<TypeParam> tree(exec, n, layers, leaf);
  EXPECT_EQ(tree.stored_bytes(), bytes.stored);
  EXPECT_EQ(tree.working_bytes(), 0u);
  auto const A = on_device<TypeParam>(random_matrix(n, n, 1));
  tree.load(exec, Uplo::Lower, matrix_ref(A));
  EXPECT_EQ(tree.working_bytes(), bytes.working);
  tree.release_working();
  EXPECT_EQ(tree.working_bytes(), 0u);
  // There are 7/16 n^2 numbers off the diagonal in fp16, and 1/16 n^2 and half of the leaves'
  // squares in fp32. On a device, or with units for fp16, there are the leaves' inverses in fp32
  // and fp16.
  bool const on_host = std::is_same_v<typename TypeParam::memory_space, Kokkos::HostSpace>;
  bool const has_inverses = !on_host || host_has_matrix_units(P::fp16);
  EXPECT_LE(bytes.stored, 1.4 * n * n + (has_inverses ? 6.0 * n * leaf : 0));
  EXPECT_LE(bytes.working, 2.0 * n * n);
}

/// The lower triangle of an fp64 tree that took up one triangle of A with the scaling d, if any,
/// and a shift.
template <class Space, class Scaling>
HostMatrix loaded(HostMatrix const& A, std::int64_t leaf, Uplo uplo, Scaling const& d,
                  double shift) {
  Space const exec;
  auto const source = on_device<Space>(A, 3);
  auto const target = on_device<Space>(A);
  Tree<Space> tree(exec, static_cast<std::int64_t>(A.extent(0)), {P::fp64}, leaf);
  tree.load(exec, uplo, matrix_ref(source), d, shift);
  tree.store(exec, Uplo::Lower, matrix_ref(target));
  exec.fence();
  return on_host(target);
}

// In one leaf and in many, from either triangle, where the other one must not be read.
TYPED_TEST(BlockTreeOn, ScalesAndShiftsWhileLoading) {
  HostMatrix const A = random_matrix(9, 9, 3);
  Kokkos::View<double*, TypeParam> const d("strata::test::d", 9), none;
  auto const d_host = Kokkos::create_mirror_view(d);
  for (int i = 0; i < 9; ++i) d_host(i) = std::ldexp(1.0, 3 * i - 10);
  Kokkos::deep_copy(d, d_host);
  for (std::int64_t const leaf : {1, 2, 8, 9, 64})
    for (Uplo const uplo : {Uplo::Lower, Uplo::Upper})
      for (bool const scaled : {false, true})
        for (double const shift : {0.0, 0.25}) {
          HostMatrix const half("strata::test::half", 9, 9);
          for (int j = 0; j < 9; ++j)
            for (int i = 0; i < 9; ++i)
              (uplo == Uplo::Lower ? half(i, j) : half(j, i)) = i >= j ? A(i, j) : nan_value;
          HostMatrix const B = loaded<TypeParam>(half, leaf, uplo, scaled ? d : none, shift);
          for (int j = 0; j < 9; ++j)
            for (int i = j; i < 9; ++i) {
              double const factor = scaled ? d_host(i) * d_host(j) : 1;
              ASSERT_EQ(B(i, j), A(i, j) * factor * (i == j ? 1 + shift : 1))
                  << leaf << (uplo == Uplo::Lower ? " lower " : " upper ") << scaled << ' ' << shift
                  << ": " << i << ' ' << j;
            }
        }
}

template <class Function>
std::string message_of(Function const& f) {
  try {
    f();
  } catch (Error const& error) {
    return error.what();
  }
  return "no error";
}

// A device's analysis loads the same numbers as `load`, in one pass, with the same scales.
TYPED_TEST(BlockTreeOn, IsLoadedByTheAnalysisAsByItself) {
  using Memory = typename TypeParam::memory_space;
  TypeParam const exec;
  bool const on_host = runs_on_host<TypeParam>;
  for (auto const& [n, leaf] : {std::pair(1, 16), std::pair(65, 16), std::pair(600, 64),
                                std::pair(1030, 256), std::pair(1100, 72), std::pair(300, 50)})
    for (LayerList const& layers :
         {LayerList{P::fp64}, LayerList{P::fp16_split, P::fp32}, LayerList{P::fp32, P::fp64},
          LayerList{P::fp16, P::fp32}, LayerList{P::fp8_e4m3, P::fp16}, LayerList{P::fp8_e4m3}})
      for (Uplo const uplo : {Uplo::Lower, Uplo::Upper}) {
        SCOPED_TRACE(layers.name() + " " + std::to_string(n) + " " + std::to_string(leaf));
        HostMatrix const values("strata::test::A", n, n);
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = 0; i < n; ++i) {
            double const size = std::ldexp(1.0, static_cast<int>(i + j) % 9),
                         entry = i == j ? 3.0 : std::sin(static_cast<double>(7 * (i + j)));
            values(i, j) = (uplo == Uplo::Lower ? i >= j : i <= j) ? size * entry : nan_value;
          }
        auto const A = on_device<TypeParam>(values, 3);
        strata::dense::detail::AnalysisRoom<Memory> room;
        auto const memory = allocate_pieces(exec, "strata::test::room",
                                            [&](Pieces& pieces) { room.lay_out(pieces, n); });
        double const shift = 0x1p-5;
        Tree<TypeParam> at_once(exec, n, layers, leaf), alone(exec, n, layers, leaf);
        auto const into = at_once.begin_load(exec, shift);
        bool const is_one = n <= leaf;
        EXPECT_EQ(into.n > 0, !on_host && (leaf % 8 == 0 || is_one));
        if (into.n == 0) continue;
        auto const found =
            strata::dense::detail::analyse(exec, uplo, matrix_ref(A), true, room, into);
        at_once.bound_scales(exec, matrix_ref(A), found.d, shift);
        alone.load(exec, uplo, matrix_ref(A), found.d, shift);
        for (std::size_t k = 0; k < alone.nodes().size(); ++k) {
          auto const &one = at_once.nodes()[k], &other = alone.nodes()[k];
          HostMatrix const W = read<TypeParam>(one.working),
                           expected = read<TypeParam>(other.working);
          for (std::int64_t j = 0; j < one.working.cols; ++j)
            for (std::int64_t i = is_one && one.scale == nullptr ? j : 0; i < one.working.rows; ++i)
              ASSERT_EQ(W(i, j), expected(i, j)) << k << ' ' << i << ' ' << j;
        }
        auto const scales =
                       Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), at_once.scales()),
                   same = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), alone.scales());
        for (std::size_t k = 0; k < scales.extent(0); ++k) EXPECT_EQ(scales(k), same(k));
      }
}

TYPED_TEST(BlockTreeOn, SaysWhatIsWrong) {
  TypeParam const exec;
  EXPECT_EQ(message_of([&] { Tree<TypeParam>(exec, -1, {P::fp64}, 4); }),
            "BlockTree: n is -1, must be >= 0");
  EXPECT_EQ(message_of([&] { Tree<TypeParam>(exec, 4, {P::fp64}, 0); }),
            "BlockTree: the leaf size is 0, must be >= 1");
  Tree<TypeParam> tree(exec, 4, {P::fp64}, 2);
  auto const A = on_device<TypeParam>(random_matrix(4, 5, 1));
  EXPECT_EQ(message_of([&] { tree.load(exec, Uplo::Lower, matrix_ref(A)); }),
            "BlockTree::load: A is 4 x 5, the tree of order 4");
  EXPECT_EQ(message_of([&] { tree.store(exec, Uplo::Lower, matrix_ref(A)); }),
            "BlockTree::store: A is 4 x 5, the tree of order 4");
  EXPECT_NE(message_of([&] {
              Tree<TypeParam>(exec, std::int64_t(1) << 24, {P::fp64}, 1 << 14);
            }).find(" bytes are needed"),
            std::string::npos);
}

TEST(Quantise, ScalesUpAndDownToTheTopOfTheFormat) {
  EXPECT_EQ(block_scale(P::fp16, 1), 0x1p-15);
  EXPECT_EQ(block_scale(P::fp16, 65504), 1);
  EXPECT_EQ(block_scale(P::fp16, 65505), 2);
  EXPECT_EQ(block_scale(P::fp8_e4m3, 448), 1);
  EXPECT_EQ(block_scale(P::fp8_e4m3, 449), 2);
  EXPECT_EQ(block_scale(P::fp8_e4m3, 224), 0.5);
  EXPECT_EQ(block_scale(P::fp16, 1, BlockScaling::DownOnly), 1);
  EXPECT_EQ(block_scale(P::fp16, 1e6, BlockScaling::DownOnly), 16);
  EXPECT_EQ(block_scale(P::fp16, 1e6, BlockScaling::None), 1);
  for (Precision const low :
       {P::fp16, P::fp8_e4m3, P::fp8_e5m2, P::fp8_e4m3fnuz, P::fp8_e5m2fnuz}) {
    double const largest = traits(low).max_finite;
    for (double amax = 1e-30; amax < 1e30; amax *= 1.37) {
      double const stored = amax / block_scale(low, amax);
      EXPECT_TRUE(stored <= largest && stored > largest / 2) << traits(low).name << " " << amax;
    }
  }
  for (Precision const wide : {P::fp64, P::fp32, P::bf16}) EXPECT_EQ(block_scale(wide, 1e30), 1);
  for (double const odd : {0.0, nan_value, static_cast<double>(INFINITY)})
    EXPECT_EQ(block_scale(P::fp16, odd), 1);
}

}  // namespace
