// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Panels that are split into fp16 once for all products that they are in.
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_Dense.hpp"
#include <core/Strata_MatrixRef.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/recursion/Strata_TreePotrf.hpp>
#include <dense/tree/Strata_BlockTree.hpp>
#include <dense/tree/Strata_Quantise.hpp>
#include <dense/tree/detail/Strata_SplitCopy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace strata::test {
namespace {

using namespace strata::dense;
using dense::detail::SplitParts;
using enum Precision;
using Half = strata::fp16;

template <class Space>
class SplitCopyOn : public testing::Test {};
TYPED_TEST_SUITE(SplitCopyOn, Spaces, SpaceNames);

/// The copies of X, from number `shift` of their memory on, which holds 77 elsewhere.
template <class Space>
std::vector<double> copies_of_matrix(HostMatrix const& X, std::int64_t padding, SplitParts parts,
                                     double scale, std::int64_t shift,
                                     double const* largest = nullptr) {
  using Memory = typename Space::memory_space;
  auto const m = static_cast<std::int64_t>(X.extent(0)), n = static_cast<std::int64_t>(X.extent(1));
  Kokkos::View<float**, Kokkos::LayoutLeft, Memory> const all("strata::test::X", m + padding, n);
  auto const x = Kokkos::subview(all, std::pair(std::int64_t{0}, m), Kokkos::ALL);
  auto const filled = on_device<Space>(X);
  Kokkos::deep_copy(x, filled);
  Kokkos::View<double, Memory> const s("strata::test::scale");
  Kokkos::deep_copy(s, scale);
  auto const numbers = dense::detail::split_bytes(m, n, parts) / sizeof(Half);
  auto const size = numbers + static_cast<std::size_t>(shift);
  Kokkos::View<Half*, Memory> const memory("strata::test::copies", size);
  Kokkos::deep_copy(memory, Half(77.0f));
  auto const copy = dense::detail::split_matrix<Memory>(
      reinterpret_cast<std::byte*>(memory.data() + shift), m, n, parts, s.data());
  EXPECT_EQ(static_cast<std::size_t>(copy.ld * copy.cols), numbers);
  Kokkos::View<double, Memory> const given("strata::test::largest");
  if (largest != nullptr) Kokkos::deep_copy(given, *largest);
  dense::detail::split(Space(), ConstMatrixRef<Memory>(matrix_ref(x)), parts, copy,
                       largest != nullptr ? given.data() : nullptr);
  Kokkos::fence("strata::test::split");
  if (largest != nullptr) {
    double now = 0;
    Kokkos::deep_copy(now, s);
    EXPECT_EQ(now, block_scale(Precision::fp16, *largest));
  }
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), memory);
  std::vector<double> found;
  for (std::size_t k = static_cast<std::size_t>(shift); k < size; ++k)
    found.push_back(static_cast<double>(static_cast<float>(host(k))));
  return found;
}

TYPED_TEST(SplitCopyOn, HoldsHighAndLowPartsWhereProductsTakeThem) {
  std::string const patterns[] = {"HLHH", "LHH", "HLH"};
  double const scale = 0x1p-14;
  for (auto const& [m, n, padding, shift] : std::vector<std::array<std::int64_t, 4>>{
           {1, 1, 0, 0}, {8, 3, 0, 0}, {16, 5, 8, 0}, {7, 4, 0, 0}, {48, 32, 1, 0}, {64, 17, 0, 3}})
    for (SplitParts const parts : {SplitParts::Both, SplitParts::Left, SplitParts::Below}) {
      HostMatrix const X = random_matrix(m, n, 5);
      X(0, 0) = 1e-9;  // far below the bound
      auto const found = copies_of_matrix<TypeParam>(X, padding, parts, scale, shift);
      auto const& pattern = patterns[static_cast<int>(parts)];
      bool const is_below = parts == SplitParts::Below;
      auto const count = static_cast<std::int64_t>(pattern.size()), rows = is_below ? count * m : m;
      std::int64_t const ld = (rows + 15) / 16 * 16;
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < m; ++i) {
          std::map<char, double> part;
          for (std::int64_t c = 0; c < count; ++c) {
            double const value = is_below ? found[static_cast<std::size_t>(i + c * m + j * ld)]
                                          : found[static_cast<std::size_t>(i + (c * n + j) * ld)];
            auto const [place, is_first] =
                part.emplace(pattern[static_cast<std::size_t>(c)], value);
            EXPECT_EQ(place->second, value) << "copy " << c << " of " << pattern;
          }
          double const x = static_cast<float>(X(i, j));
          EXPECT_EQ(part['H'],
                    static_cast<double>(static_cast<float>(Half(static_cast<float>(x / scale)))));
          EXPECT_LE(std::abs(scale * (part['H'] + part['L']) - x),
                    0x1p-22 * std::abs(x) + scale * 0x1p-25);
        }
      if (rows % 16 != 0) {
        EXPECT_EQ(found[static_cast<std::size_t>(rows)], 77) << "below the copies";
      }
    }
}

TYPED_TEST(SplitCopyOn, TakesItsScaleFromALargestMagnitude) {
  double const largest = 37.5;
  for (std::int64_t const m : {7, 64})  // by numbers, and by packs
    for (SplitParts const parts : {SplitParts::Both, SplitParts::Left, SplitParts::Below}) {
      HostMatrix const X = random_matrix(m, 5, 5);
      EXPECT_EQ(copies_of_matrix<TypeParam>(X, 0, parts, 77, 0, &largest),
                copies_of_matrix<TypeParam>(X, 0, parts, block_scale(Precision::fp16, largest), 0));
    }
}

TYPED_TEST(SplitCopyOn, ATreeSplitsPanelsWhereAllThatIsMultipliedIsInTheFormat) {
  using Tree = BlockTree<LayerList, TypeParam>;
  auto const tree = [](LayerList const& layers, std::int64_t n, LeafSolve solve) {
    BlockTreeOptions options;
    options.leaf_solve = solve;
    return Tree(TypeParam(), n, layers, 16, options);
  };
  for (LayerList const& layers : {LayerList{fp16_split}, LayerList{fp16_split, fp16_split, fp32}}) {
    auto const found = tree(layers, 60, LeafSolve::Inverse);
    EXPECT_TRUE(found.splits_panels()) << layers.name();
    EXPECT_EQ(found.panels().size(), 4U) << layers.name();
    EXPECT_FALSE(tree(layers, 60, LeafSolve::Substitution).splits_panels()) << layers.name();
    EXPECT_FALSE(tree(layers, 16, LeafSolve::Inverse).splits_panels()) << "one leaf";
    EXPECT_EQ(tree(layers, 60, LeafSolve::Automatic).splits_panels(),
              !strata::runs_on_host<TypeParam>);
  }
  for (LayerList const& layers :
       {LayerList{fp16_split, fp32}, LayerList{fp16_split, fp16_split, fp64}, LayerList{fp32},
        LayerList{fp16, fp16_split, fp32}, LayerList{tf32, tf32, fp32}})
    EXPECT_FALSE(tree(layers, 60, LeafSolve::Inverse).splits_panels()) << layers.name();
}

// While it lives, how often kernels of a name were launched.
class Launches {
 public:
  Launches() : saved_(Kokkos::Tools::Experimental::get_callbacks()) {
    counts().clear();
    auto const kernel = [](char const* name, std::uint32_t, std::uint64_t*) { ++counts()[name]; };
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(kernel);
  }
  ~Launches() { Kokkos::Tools::Experimental::set_callbacks(saved_); }
  Launches(Launches const&) = delete;
  Launches& operator=(Launches const&) = delete;

  static std::map<std::string, int>& counts() {
    static std::map<std::string, int> found;
    return found;
  }

 private:
  Kokkos::Tools::Experimental::EventSet saved_;
};

TYPED_TEST(SplitCopyOn, EachPanelOfAFactorisationIsSplitOnce) {
  std::int64_t const n = 120, leaf = 32;
  HostMatrix const A = generate(MatrixKind::Geometric, n, {.condition = 100});
  auto const device = on_device<TypeParam>(A);
  BlockTreeOptions options;
  options.leaf_solve = LeafSolve::Inverse;
  BlockTree<LayerList, TypeParam> tree(TypeParam(), n, {fp16_split, fp16_split, fp32}, leaf,
                                       options);
  tree.load(TypeParam(), Uplo::Lower, matrix_ref(device));
  LeafBlas<TypeParam> blas{TypeParam()};
  Kokkos::View<std::int64_t, typename TypeParam::memory_space> const info("strata::test::info");
  {
    Launches const launches;
    tree_potrf(blas, tree, info);
    // Three panels: an inverse, and the two sides of each block below them, of which the second
    // panel's is solved in two parts.
    EXPECT_EQ(Launches::counts()["strata::dense::tree_potrf::split"], 3 + 2 * (2 + 2 + 1));
    EXPECT_EQ(Launches::counts()["strata::core::gemm::split"], 0);
  }
  auto const L = on_device<TypeParam>(HostMatrix("strata::test::L", n, n));
  tree.store(TypeParam(), Uplo::Lower, matrix_ref(L));
  Kokkos::fence("strata::test::stored");
  EXPECT_LE(factor_error(A, on_host(L)), 4 * 0x1p-22);
}

// The bounds that a block is split under are those of its rows and columns.
TYPED_TEST(SplitCopyOn, RowsOfAnySizeKeepTheirDigits) {
  std::int64_t const n = 100;
  for (double const size : {0x1p-60, 0x1p-20, 1.0, 0x1p50}) {
    HostMatrix const A = generate(MatrixKind::Geometric, n, {.condition = 100});
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) A(i, j) *= size;
    auto const device = on_device<TypeParam>(A);
    BlockTreeOptions options;
    options.leaf_solve = LeafSolve::Inverse;
    options.scaling = BlockScaling::None;
    BlockTree<LayerList, TypeParam> tree(TypeParam(), n, {fp16_split}, 16, options);
    tree.load(TypeParam(), Uplo::Lower, matrix_ref(device));
    LeafBlas<TypeParam> blas{TypeParam()};
    Kokkos::View<std::int64_t, typename TypeParam::memory_space> const info("strata::test::info");
    tree_potrf(blas, tree, info);
    auto const L = on_device<TypeParam>(HostMatrix("strata::test::L", n, n));
    tree.store(TypeParam(), Uplo::Lower, matrix_ref(L));
    Kokkos::fence("strata::test::stored");
    EXPECT_LE(factor_error(A, on_host(L)), 4 * 0x1p-22) << size;
  }
}

}  // namespace
}  // namespace strata::test
