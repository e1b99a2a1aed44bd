// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Which products are one batch: arithmetic on pointers, without a product.
#include <core/Strata_MatrixRef.hpp>
#include <dense/recursion/detail/Strata_ProductBatch.hpp>
#include <dense/tree/detail/Strata_SplitCopy.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::test {
namespace {

using Space = Kokkos::HostSpace;
using Matrix = MatrixRef<Space>;
using Product = dense::detail::Product<Space>;
using enum Precision;

constexpr std::int64_t leaf = 32, leaves = 4, depth = 16;

/// The sizes of the batches; each product lies where its batch says.
std::vector<std::ptrdiff_t> sizes_of_batches(std::vector<Product> products) {
  std::vector<std::ptrdiff_t> sizes;
  dense::detail::for_each_batch(products, [&](auto first, auto last) {
    sizes.push_back(last - first);
    Batch const batch = dense::detail::batch_of(first, last);
    EXPECT_EQ(batch.count, last - first);
    if (batch.count > 1) {
      EXPECT_GE(batch.stride_a, 0);
      EXPECT_GE(batch.stride_b, 0);
      EXPECT_GT(batch.stride_c, 0);
    }
    for (auto p = first; p != last; ++p) {
      EXPECT_EQ(p->A.data, first->A.shifted((p - first) * batch.stride_a).data);
      EXPECT_EQ(p->B.data, first->B.shifted((p - first) * batch.stride_b).data);
      EXPECT_EQ(p->C.data, first->C.shifted((p - first) * batch.stride_c).data);
    }
  });
  return sizes;
}

// Memory for the rows of a panel, and for the blocks of a tree, one below the other.
class ProductBatch : public testing::Test {
 protected:
  std::vector<double> memory_ = std::vector<double>(2 * leaves * leaf * leaf * leaves);
  Matrix const panel_{memory_.data(), leaves* leaf, 4 * depth, leaves* leaf, fp16};
  Matrix const blocks_{memory_.data() + leaves * leaf * leaf, 2 * leaves* leaf, leaf,
                       2 * leaves* leaf, fp32};

  static Matrix rows(Matrix const& A, std::int64_t k) { return A.block(k * leaf, 0, leaf, A.cols); }
  /// C += A B^T of a tree of leaves, pairs before the leaves in them, of which the blocks lie one
  /// after the other.
  std::vector<Product> products_of_tree(Matrix const& A, Matrix const& B) const {
    std::vector<Product> products;
    for (std::int64_t k = 0; k < leaves; k += 2) {
      products.push_back({rows(A, k + 1), rows(B, k), rows(blocks_, k / 2)});
      for (std::int64_t const i : {k, k + 1})
        products.push_back({rows(A, i), rows(B, i), rows(blocks_, leaves / 2 + i)});
    }
    return products;
  }
};

TEST_F(ProductBatch, LeavesOfATreeAreOneBatchAndSoAreThePairs) {
  auto const A = panel_.block(0, 0, panel_.rows, depth);
  EXPECT_EQ(sizes_of_batches(products_of_tree(A, A)), (std::vector<std::ptrdiff_t>{4, 2}));
}

// The operands of a panel that is split once never start at one place, and a pair's block comes
// before its leaves'.
TEST_F(ProductBatch, NoStrideIsNegativeWhereTheOperandsAreSplit) {
  auto const A = dense::detail::left_of(panel_), B = dense::detail::right_of(panel_);
  EXPECT_EQ(sizes_of_batches(products_of_tree(A, B)), (std::vector<std::ptrdiff_t>{4, 2}));
}

TEST_F(ProductBatch, DownwardsThereIsNone) {
  auto const A = dense::detail::left_of(panel_), B = dense::detail::right_of(panel_);
  for (int const which : {0, 1, 2}) {
    std::vector<Product> products;
    for (std::int64_t k = 0; k < leaves; ++k) {
      auto const place = [&](int operand) { return operand == which ? leaves - 1 - k : k; };
      products.push_back({rows(A, place(0)), rows(B, place(1)), rows(blocks_, place(2))});
    }
    EXPECT_EQ(sizes_of_batches(products), std::vector<std::ptrdiff_t>(leaves, 1)) << which;
  }
}

TEST_F(ProductBatch, OperandsMayBeTheSameAndResultsMayNot) {
  Matrix const A = panel_.block(0, 0, panel_.rows, depth);
  std::vector<Product> of_one_operand, into_one_result;
  for (std::int64_t k = 0; k < leaves; ++k) {
    of_one_operand.push_back({rows(A, k), rows(A, 0), rows(blocks_, k)});
    into_one_result.push_back({rows(A, k), rows(A, k), rows(blocks_, 0)});
  }
  of_one_operand.erase(of_one_operand.begin());  // a square
  EXPECT_EQ(sizes_of_batches(of_one_operand), (std::vector<std::ptrdiff_t>{leaves - 1}));
  EXPECT_EQ(sizes_of_batches(into_one_result), std::vector<std::ptrdiff_t>(leaves, 1));
}

// A batch has one shape, leading dimension and precision for each operand, and scales in all of an
// operand or in none.
TEST_F(ProductBatch, WhatIsNotAlikeIsNotInOneBatch) {
  double const scale = 2;
  Matrix const A = dense::detail::left_of(panel_), B = dense::detail::right_of(panel_);
  std::vector<Product> const same{{rows(A, 0), rows(B, 0), rows(blocks_, 0)},
                                  {rows(A, 1), rows(B, 1), rows(blocks_, 1)}};
  EXPECT_EQ(sizes_of_batches(same), (std::vector<std::ptrdiff_t>{2}));
  auto const changed = [&](auto const& change) {
    auto products = same;
    change(products[1]);
    return sizes_of_batches(products);
  };
  std::vector<std::ptrdiff_t> const two{1, 1};
  EXPECT_EQ(changed([](Product& p) { ++p.A.ld; }), two);
  EXPECT_EQ(changed([](Product& p) { ++p.B.ld; }), two);
  EXPECT_EQ(changed([](Product& p) { ++p.C.ld; }), two);
  EXPECT_EQ(changed([](Product& p) { p.A.cols = p.B.cols = depth; }), two);
  EXPECT_EQ(changed([](Product& p) { p.A.precision = bf16; }), two);
  EXPECT_EQ(changed([](Product& p) { p.B.precision = bf16; }), two);
  EXPECT_EQ(changed([&](Product& p) { p.A.scale = &scale; }), two);
  EXPECT_EQ(changed([&](Product& p) { p.B.scale = &scale; }), two);
}

}  // namespace
}  // namespace strata::test
