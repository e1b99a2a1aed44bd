// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_Dense.hpp"
#include <dense/tree/Strata_Quantise.hpp>
#include <dense/tree/detail/Strata_BandedCopy.hpp>

#include <gtest/gtest.h>

namespace strata::test {
namespace {

using namespace strata::dense;
using dense::detail::BandedCopy;

/// Bands of 4 lines whose sizes differ by powers of two: 2^-30, 1, 2^20, 1, 2^-3, times 2^shift.
HostMatrix graded(std::int64_t lines, std::int64_t length, bool in_rows, int shift = 0) {
  HostMatrix const A = in_rows ? random_matrix(lines, length, 1) : random_matrix(length, lines, 1);
  constexpr int exponents[] = {-30, 0, 20, 0, -3};
  for (std::size_t j = 0; j < A.extent(1); ++j)
    for (std::size_t i = 0; i < A.extent(0); ++i)
      A(i, j) = std::ldexp(A(i, j), exponents[(in_rows ? i : j) / 4 % 5] + shift);
  return A;
}

template <class Space, class From>
class BandedCopyTester {
 public:
  using Copy = BandedCopy<Space>;
  using Matrix = MatrixRef<typename Space::memory_space>;
  using ConstMatrix = ConstMatrixRef<typename Space::memory_space>;

  BandedCopyTester(HostMatrix const& A, Precision precision, bool in_rows)
      : A_(A),
        in_rows_(in_rows),
        source_(converted<Space, From>(A)),
        copy_(blas_,
              blas_.scratch(0, Copy::bytes_needed(matrix_ref(source_), precision, along(), 4)),
              matrix_ref(source_), precision, along(), 4, BlockScaling::TwoWay) {}

  Copy& copy() { return copy_; }

  /// Lines [begin, begin + size) are what quantising them as one block gives, bit by bit.
  void expect_block(std::int64_t begin, std::int64_t size, std::int64_t part) {
    HostMatrix const block = Kokkos::subview(A_, range(in_rows_, begin, size, A_.extent(0)),
                                             range(!in_rows_, begin, size, A_.extent(1)));
    auto const rows = static_cast<std::int64_t>(block.extent(0)),
               cols = static_cast<std::int64_t>(block.extent(1));
    HostMatrix const contiguous("strata::test::block", block.extent(0), block.extent(1));
    Kokkos::deep_copy(contiguous, block);
    auto const source = converted<Space, From>(contiguous);
    ConstMatrix const copy = copy_(begin, size, part);
    Kokkos::View<double, typename Space::memory_space> const scale("strata::test::scale");
    Matrix const expected{blas_.scratch(1, static_cast<std::size_t>(rows * cols) * 8),
                          rows,
                          cols,
                          rows,
                          copy.precision,
                          scale.data()};
    quantise(blas_, matrix_ref(source), expected, scale.data());
    EXPECT_EQ(largest_difference(widened(copy), widened(expected)), 0) << begin << " " << size;
  }

 private:
  typename Copy::Along along() const { return in_rows_ ? Copy::Along::Rows : Copy::Along::Columns; }
  static Kokkos::pair<std::size_t, std::size_t> range(bool cut, std::int64_t begin,
                                                      std::int64_t size, std::size_t all) {
    if (!cut) return {0, all};
    return {static_cast<std::size_t>(begin), static_cast<std::size_t>(begin + size)};
  }
  HostMatrix widened(ConstMatrix const& A) {
    Kokkos::View<double**, Kokkos::LayoutLeft, typename Space::memory_space> const wide(
        "strata::test::wide", A.rows, A.cols);
    blas_.convert(Op::NoTrans, A, matrix_ref(wide));
    return on_host(wide);
  }

  HostMatrix A_;
  bool in_rows_;
  LeafBlas<Space> blas_{Space()};
  Kokkos::View<From**, Kokkos::LayoutLeft, typename Space::memory_space> source_;
  Copy copy_;
};

template <class Space>
class BandedCopyOn : public testing::Test {};
TYPED_TEST_SUITE(BandedCopyOn, Spaces, SpaceNames);

// 19 lines are 5 bands, the last a short one; halves of 3 and 2, then of 2, 1, 1 and 1.
template <class Space, class From>
void parts_have_their_scales(int shift) {
  for (bool const in_rows : {true, false}) {
    for (Precision const precision : {Precision::fp16, Precision::fp8_e4m3}) {
      BandedCopyTester<Space, From> tester(graded(19, 2100, in_rows, shift), precision, in_rows);
      tester.copy().measure(0, 5);
      tester.copy().unite(0, 5, 0);
      tester.expect_block(0, 19, 0);
      tester.copy().unite(0, 5, 1);
      tester.expect_block(0, 12, 0);
      tester.expect_block(12, 7, 1);
      tester.copy().unite(0, 5, 2);
      tester.expect_block(0, 8, 0);
      tester.expect_block(8, 4, 1);
      tester.expect_block(12, 4, 2);
      tester.expect_block(16, 3, 3);
      tester.copy().unite(0, 5, 3);  // bands that can't be cut are first halves
      tester.expect_block(0, 4, 0);
      tester.expect_block(4, 4, 1);
      tester.expect_block(8, 4, 2);
      tester.expect_block(12, 4, 4);
      tester.expect_block(16, 3, 6);
      tester.copy().unite(0, 5, 0);
      tester.expect_block(0, 19, 0);
    }
  }
}

TYPED_TEST(BandedCopyOn, PartsHaveTheScalesOfTheirLargestEntries) {
  for (int const shift : {0, -300}) parts_have_their_scales<TypeParam, double>(shift);
  // In fp32 also where the scale or its inverse is no normal number of that type.
  for (int const shift : {0, 100, -90}) parts_have_their_scales<TypeParam, float>(shift);
}

// As a triangular solve does: bands become final one after the other, from either end.
TYPED_TEST(BandedCopyOn, BandsAreMeasuredWhenTheyAreFinal) {
  BandedCopyTester<TypeParam, double> tester(graded(16, 70, false), Precision::fp16, false);
  tester.copy().measure(3, 1);
  tester.copy().unite(3, 1, 0);
  tester.expect_block(12, 4, 0);
  tester.copy().measure(2, 1);
  tester.copy().unite(2, 2, 0);
  tester.expect_block(8, 8, 0);
  tester.copy().measure(0, 2);
  tester.copy().unite(0, 2, 0);
  tester.expect_block(0, 8, 0);
}

TYPED_TEST(BandedCopyOn, ZerosAndNumbersThatAreNotFiniteStayVisible) {
  HostMatrix const A = random_matrix(12, 5, 3);
  for (std::size_t j = 0; j < 5; ++j) A(1, j) = A(2, j) = A(3, j) = A(0, j) = 0;
  A(5, 2) = nan_value;
  A(9, 4) = INFINITY;
  BandedCopyTester<TypeParam, double> tester(A, Precision::fp16, true);
  tester.copy().measure(0, 3);
  tester.copy().unite(0, 3, 2);
  tester.expect_block(0, 4, 0);
  LeafBlas<TypeParam> blas{TypeParam()};
  for (auto const& [begin, part, row, col] :
       {std::array<std::int64_t, 4>{4, 1, 1, 2}, std::array<std::int64_t, 4>{8, 2, 1, 4}}) {
    auto const band = tester.copy()(begin, 4, part);
    Kokkos::View<double**, Kokkos::LayoutLeft, typename TypeParam::memory_space> const wide(
        "strata::test::wide", band.rows, band.cols);
    blas.convert(Op::NoTrans, band, matrix_ref(wide));
    EXPECT_FALSE(
        std::isfinite(on_host(wide)(static_cast<std::size_t>(row), static_cast<std::size_t>(col))));
  }
}

}  // namespace
}  // namespace strata::test
