// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_Dense.hpp"
#include <dense/detail/Strata_FactorKernels.hpp>
#include <dense/tree/Strata_Quantise.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace strata::test {
namespace {

using namespace strata::dense;

template <class Space>
class QuantiseOn : public testing::Test {};
TYPED_TEST_SUITE(QuantiseOn, Spaces, SpaceNames);

/// The numbers of a block in `precision`, its scale applied, and last the scale.
template <class Space>
class Quantised {
  using Memory = typename Space::memory_space;

 public:
  Quantised(std::int64_t rows, std::int64_t cols, Precision precision)
      : bytes_("strata::test::stored",
               static_cast<std::size_t>(rows * cols) * traits(precision).bytes),
        scale_("strata::test::scale"),
        stored_{bytes_.data(), rows, cols, rows, precision, scale_.data()} {}

  MatrixRef<Memory> const& stored() const { return stored_; }
  double* scale() const { return scale_.data(); }
  std::vector<double> numbers(LeafBlas<Space>& blas) const {
    Kokkos::View<double**, Kokkos::LayoutLeft, Memory> const wide("strata::test::wide",
                                                                  stored_.rows, stored_.cols);
    blas.convert(Op::NoTrans, ConstMatrixRef<Memory>(stored_), matrix_ref(wide));
    auto const host = on_host(wide);
    std::vector<double> found(host.data(), host.data() + host.size());
    double scale = 0;
    Kokkos::deep_copy(scale, scale_);
    found.push_back(scale);
    return found;
  }

 private:
  Kokkos::View<std::byte*, Memory> bytes_;
  Kokkos::View<double, Memory> scale_;
  MatrixRef<Memory> stored_;
};

// From 1e-9 to 1e9, and a 0.
HostMatrix graded(std::int64_t rows, std::int64_t cols, double unit) {
  HostMatrix const A = random_matrix(rows, cols, 3);
  for (std::int64_t j = 0; j < cols; ++j)
    for (std::int64_t i = 0; i < rows; ++i)
      A(i, j) *= unit * std::pow(10.0, static_cast<double>((i + 7 * j) % 19) - 9);
  A(rows - 1, 0) = 0;
  return A;
}

template <class T, class Space>
void is_the_same_below_a_known_largest_magnitude() {
  using Memory = typename Space::memory_space;
  LeafBlas<Space> blas{Space()};
  Kokkos::View<double, Memory> const largest("strata::test::largest");
  for (double const unit : {1.0, 1e-20, 1e20})
    for (Precision const precision :
         {Precision::fp16, Precision::bf16, Precision::fp8_e4m3, Precision::fp32})
      for (BlockScaling const scaling :
           {BlockScaling::TwoWay, BlockScaling::DownOnly, BlockScaling::None}) {
        std::int64_t const rows = 37, cols = 11;
        auto const source = converted<Space, T>(graded(rows, cols, unit));
        ConstMatrixRef<Memory> const A = matrix_ref(source);
        Quantised<Space> const at_once(rows, cols, precision), measured(rows, cols, precision);
        measure_largest(Space(), A, largest.data());
        quantise_below(Space(), A, largest.data(), at_once.stored(), at_once.scale(), scaling);
        quantise(blas, A, measured.stored(), measured.scale(), scaling);
        auto const found = at_once.numbers(blas), expected = measured.numbers(blas);
        for (std::size_t k = 0; k < found.size(); ++k)
          EXPECT_TRUE(found[k] == expected[k] || (std::isnan(found[k]) && std::isnan(expected[k])))
              << unit << ' ' << traits(precision).name << ": " << found[k] << " for "
              << expected[k];
      }
}

TYPED_TEST(QuantiseOn, BelowAKnownLargestMagnitudeIsTheSameBitByBit) {
  is_the_same_below_a_known_largest_magnitude<double, TypeParam>();
  is_the_same_below_a_known_largest_magnitude<float, TypeParam>();
}

TYPED_TEST(QuantiseOn, BelowAKnownLargestMagnitudeRefusesWhatItCannotTake) {
  using Memory = typename TypeParam::memory_space;
  auto const source = on_device<TypeParam>(random_matrix(4, 3, 1));
  ConstMatrixRef<Memory> const A = matrix_ref(source);
  Quantised<TypeParam> const stored(4, 3, Precision::fp16), other(3, 3, Precision::fp16);
  Kokkos::View<double, Memory> const largest("strata::test::largest");
  EXPECT_TRUE(throws_with<ShapeError>("quantise_below: the source is 4 x 3, stored 3 x 3", [&] {
    quantise_below(TypeParam(), A, largest.data(), other.stored(), other.scale());
  }));
  char const* const scales = "quantise_below: the scale must be the stored block's";
  EXPECT_TRUE(throws_with<ValueError>(scales, [&] {
    quantise_below(TypeParam(), A, stored.scale(), stored.stored(), stored.scale());
  }));
  EXPECT_TRUE(throws_with<ValueError>(scales, [&] {
    quantise_below(TypeParam(), A, largest.data(), stored.stored(), other.scale());
  }));
}

// More than one kernel takes, one of no rows, and scales.
TYPED_TEST(QuantiseOn, LogarithmsOfDiagonalsAreThoseOfEachBlock) {
  using Memory = typename TypeParam::memory_space;
  HostMatrix const A = random_matrix(300, 300, 4);
  for (std::int64_t i = 0; i < 300; ++i) A(i, i) = 1 + static_cast<double>(i) / 7;
  auto const device = on_device<TypeParam>(A);
  Kokkos::View<double, Memory> const scale("strata::test::scale");
  Kokkos::deep_copy(scale, 8.0);
  std::vector<ConstMatrixRef<Memory>> blocks;
  std::vector<double> expected;
  for (std::int64_t k = 0, begin = 0; k < 23; begin += k++) {
    ConstMatrixRef<Memory> block = matrix_ref(device).block(begin, begin, k, k);
    if (k % 2 == 1) block.scale = scale.data();
    blocks.push_back(block);
    expected.push_back(0);
    for (std::int64_t i = 0; i < k; ++i)
      expected.back() += std::log((k % 2 == 1 ? 8 : 1) * A(begin + i, begin + i));
  }
  Kokkos::View<double*, Memory> const sums("strata::test::sums", blocks.size());
  dense::detail::log_diagonals<TypeParam>(TypeParam(), blocks, sums.data());
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), sums);
  for (std::size_t k = 0; k < blocks.size(); ++k)
    EXPECT_NEAR(found(k), expected[k], 1e-13 * (1 + std::abs(expected[k]))) << k;
}

TYPED_TEST(QuantiseOn, TheLargestMagnitudeIsThatOfFiniteNumbers) {
  Kokkos::View<double, typename TypeParam::memory_space> const largest("strata::test::largest");
  HostMatrix const A = random_matrix(5, 3, 1);
  A(4, 2) = -7;
  A(0, 0) = std::numeric_limits<double>::infinity(), A(1, 1) = std::nan("");
  auto const source = on_device<TypeParam>(A);
  Kokkos::deep_copy(largest, 1e10);
  ConstMatrixRef<typename TypeParam::memory_space> const all = matrix_ref(source);
  measure_largest(TypeParam(), all, largest.data());
  double found = 0;
  Kokkos::deep_copy(found, largest);
  EXPECT_EQ(found, 7);
}

}  // namespace
}  // namespace strata::test
