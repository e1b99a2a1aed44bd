// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// tree_syrk beyond one leaf's cut and one batch; small shapes are in StrataTest_TreePotrf.
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_Dense.hpp"
#include <dense/recursion/Strata_TreeSyrk.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace strata::test {
namespace {

using namespace strata::dense;
using Kokkos::LayoutLeft;

HostMatrix transposed_copy(HostMatrix const& A) {
  HostMatrix const B("strata::test::transposed", A.extent(1), A.extent(0));
  for (std::size_t j = 0; j < A.extent(1); ++j)
    for (std::size_t i = 0; i < A.extent(0); ++i) B(j, i) = A(i, j);
  return B;
}

/// The largest |C - reference| / (|old C| + |A| |A|^T) within the triangle; infinite if the other
/// triangle has changed. A: n x k. Only entries of diagonal blocks of order `block` count.
double syrk_error(Uplo uplo, double alpha, HostMatrix const& A, HostMatrix const& old,
                  HostMatrix const& found, std::size_t block) {
  double largest = 0;
  for (std::size_t j = 0; j < found.extent(1); ++j) {
    for (std::size_t i = 0; i < found.extent(0); ++i) {
      if (uplo == Uplo::Lower ? i < j : i > j) {
        if (found(i, j) != old(i, j)) return INFINITY;
        continue;
      }
      if (i / block != j / block) continue;
      double sum = old(i, j), size = std::abs(old(i, j));
      for (std::size_t l = 0; l < A.extent(1); ++l) {
        sum += alpha * A(i, l) * A(j, l);
        size += std::abs(alpha * A(i, l) * A(j, l));
      }
      double const error = std::abs(found(i, j) - sum) / size;
      if (!(error <= largest)) largest = error;
    }
  }
  return largest;
}

template <class LayersT, class Space>
double worst_error(HostMatrix const& A, std::int64_t leaf, std::size_t block = 1 << 20) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  HostMatrix const C = random_matrix(n, n, 6);
  for (std::size_t j = 0; j < C.extent(1); ++j)  // graded as A A^T is
    for (std::size_t i = 0; i < C.extent(0); ++i) C(i, j) *= A(i, 0) * A(j, 0);
  double worst = 0;
  for (Uplo const uplo : {Uplo::Lower, Uplo::Upper}) {
    for (Op const op : {Op::NoTrans, Op::Trans}) {
      auto const operand = on_device<Space>(op == Op::NoTrans ? A : transposed_copy(A), 1);
      auto const result = on_device<Space>(C, 2);
      tree_syrk<LayersT>(Space(), uplo, op, -0.5, operand, 1, result, leaf);
      double const error = syrk_error(uplo, -0.5, A, C, on_host(result), block);
      if (!(error <= worst)) worst = error;
    }
  }
  return worst;
}

template <class Space>
class LayeredSyrkOn : public testing::Test {};
TYPED_TEST_SUITE(LayeredSyrkOn, Spaces, SpaceNames);

TYPED_TEST(LayeredSyrkOn, LeavesAndBatchesOfAllSizesAreRight) {
  using Low = Layers<fp16, fp16, fp16, fp64>;
  for (auto const& [n, leaf] : std::vector<std::array<std::int64_t, 2>>{
           {127, 128}, {128, 128}, {129, 128}, {300, 300}, {515, 20}, {600, 150}}) {
    HostMatrix const A = random_matrix(n, 37, 5);
    EXPECT_LE((worst_error<Layers<fp64>, TypeParam>(A, leaf)), 37 * 0x1p-53) << n << " " << leaf;
    EXPECT_LE((worst_error<Low, TypeParam>(A, leaf)), 4 * 0x1p-11) << n << " " << leaf;
  }
}

// Quarters of the rows differ by 2^40: under one scale most of them would be lost. A product whose
// operands are each of one size has the layer's accuracy in every entry.
TYPED_TEST(LayeredSyrkOn, BlocksOfVeryDifferentSizesKeepTheLayersAccuracy) {
  std::int64_t const n = 256, leaf = 16;
  HostMatrix const A = random_matrix(n, 40, 7);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t l = 0; l < 40; ++l)
      A(i, l) = std::ldexp(1.5 + A(i, l) / 2, i < 64 ? -40 : i < 128 ? 0 : i < 192 ? 20 : -15);
  EXPECT_LE((worst_error<Layers<fp16, fp16, fp16, fp16, fp64>, TypeParam>(A, leaf, 128)),
            4 * 0x1p-11);
}

}  // namespace
}  // namespace strata::test
