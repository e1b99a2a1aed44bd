// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_LeafBlas.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "core/blas/StrataTest_FiberTeam.hpp"
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/refine/detail/Strata_Equilibrate.hpp>
#include <dense/refine/detail/Strata_RowSums.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace strata::test {
namespace {

/// Entries of both signs whose rows differ by many orders of magnitude; NaN outside the triangle
/// that is read.
HostMatrix badly_scaled(Uplo uplo, std::int64_t n) {
  HostMatrix const values = reference::random(n, n, 1);
  return reference::generate(n, n, [&](auto i, auto j) {
    if (!reference::in_triangle(uplo, i, j)) return nan_value;
    auto const weight = [](auto k) { return std::exp2(static_cast<double>(k * 7 % 41) - 20); };
    return weight(i) * weight(j) * (i == j ? 1 + std::abs(values(i, j)) : values(i, j));
  });
}

// The analysis of a matrix, and the memory that it lies in.
template <class Space>
struct Found : dense::detail::Analysis<typename Space::memory_space> {
  Buffer<Space> memory;
};

template <class Space>
Found<Space> analyse(Space const& exec, Uplo uplo,
                     ConstMatrixRef<typename Space::memory_space> const& A, bool equilibrate) {
  using Memory = typename Space::memory_space;
  dense::detail::AnalysisRoom<Memory> room;
  auto const memory = allocate_pieces(exec, "strata::test::room",
                                      [&](Pieces& pieces) { room.lay_out(pieces, A.rows); });
  return {dense::detail::analyse(exec, uplo, A, equilibrate, room), memory};
}

template <class Space>
void check(Uplo uplo, std::int64_t n, bool equilibrate) {
  SCOPED_TRACE(testing::Message() << uplo << ", n = " << n << ", equilibrate " << equilibrate);
  StoredMatrix<Space> const stored(badly_scaled(uplo, n), fp64, 3);
  auto const A = reference::symmetric(uplo, stored.read());
  Space const exec;
  auto const found = analyse(exec, uplo, stored.ref(), equilibrate);
  std::vector<double> scaling(static_cast<std::size_t>(n), 1.0);
  if (equilibrate) {
    auto const d = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), found.d);
    for (std::int64_t i = 0; i < n; ++i) {
      double const unit = d(i) * A(i, i) * d(i);
      ASSERT_TRUE(unit >= 0.5 && unit <= 2 && std::exp2(std::round(std::log2(d(i)))) == d(i));
      scaling[static_cast<std::size_t>(i)] = d(i);
    }
  } else {
    EXPECT_EQ(found.d.extent(0), 0);
  }
  double norm = 0, scaled_norm = 0, diagonal = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0, scaled_sum = 0;
    double const d = scaling[static_cast<std::size_t>(i)];
    diagonal = std::max(diagonal, d * A(i, i) * d);
    for (std::int64_t j = 0; j < n; ++j) {
      sum += std::abs(A(i, j));
      scaled_sum += std::abs(A(i, j)) * scaling[static_cast<std::size_t>(i)] *
                    scaling[static_cast<std::size_t>(j)];
    }
    norm = std::max(norm, sum);
    scaled_norm = std::max(scaled_norm, scaled_sum);
  }
  double const error = static_cast<double>(n) * 0x1p-52;
  EXPECT_NEAR(found.norm, norm, error * norm);
  EXPECT_NEAR(found.scaled_norm, scaled_norm, error * scaled_norm);
  EXPECT_EQ(found.largest_diagonal, diagonal);
}

template <class Space>
class Equilibrate : public testing::Test {};
TYPED_TEST_SUITE(Equilibrate, Spaces, SpaceNames);

// Orders around the edges of a block, 64 and 512.
TYPED_TEST(Equilibrate, MeasuresBothNormsOfBothTriangles) {
  for (Uplo const uplo : both_uplos)
    for (std::int64_t const n : {1, 2, 63, 64, 65, 511, 512, 513, 1100})
      for (bool const equilibrate : {false, true}) check<TypeParam>(uplo, n, equilibrate);
}

/// Working blocks in fp64 or fp32, each of one leaf's rows and columns, which hold zeros.
struct LeafBlocksOnHost {
  using Blocks = dense::detail::LeafBlocks<Kokkos::HostSpace>;
  std::int64_t n, size, leaves = (n + size - 1) / size;
  bool is_fp64;
  double shift = 0x1p-4;
  Kokkos::View<Blocks::Block*, Kokkos::HostSpace> table{"strata::test::blocks",
                                                        static_cast<std::size_t>(leaves* leaves)};
  Kokkos::View<double*, Kokkos::HostSpace> numbers{
      "strata::test::numbers", static_cast<std::size_t>(leaves* leaves* size* size)};

  LeafBlocksOnHost(std::int64_t order, std::int64_t leaf_size, bool wide)
      : n(order), size(leaf_size), is_fp64(wide) {
    for (std::int64_t b = 0; b < leaves; ++b)
      for (std::int64_t a = b; a < leaves; ++a)
        table(a + b * leaves) = {&numbers((a + b * leaves) * size * size), static_cast<int>(size),
                                 is_fp64};
  }
  Blocks blocks() const {
    Blocks into;
    into.blocks = table, into.n = n, into.leaf_size = size, into.leaves = leaves,
    into.shift = shift;
    return into;
  }
  double rounded(double value) const {
    return is_fp64 ? value : static_cast<double>(static_cast<float>(value));
  }
  double operator()(std::int64_t i, std::int64_t j) const {
    auto const& block = table(i / size + j / size * leaves);
    std::int64_t const at = i % size + j % size * size;
    return is_fp64 ? static_cast<double const*>(block.data)[at]
                   : static_cast<double>(static_cast<float const*>(block.data)[at]);
  }
};

// The kernel of a device, on the host, with threads in any order.
TYPED_TEST(Equilibrate, RowSumsAndBlocksOfADeviceFollowTheFormulas) {
  using Space = TypeParam;
  if constexpr (!strata::runs_on_host<Space>) {
    GTEST_SKIP() << "runs there in the other tests";
  } else {
    for (bool const is_lower : {true, false})
      for (std::int64_t const n : {1, 63, 64, 65, 200, 201, 323, 600})
        for (bool const scaled : {false, true}) {
          StoredMatrix<Space> const stored(badly_scaled(is_lower ? Uplo::Lower : Uplo::Upper, n),
                                           fp64, 3);
          auto const A = reference::symmetric(is_lower ? Uplo::Lower : Uplo::Upper, stored.read());
          Kokkos::View<double*, Space> const d("strata::test::d", scaled ? n : 0);
          Kokkos::View<double* [2], Space> const sums("strata::test::sums", n);
          auto const weight = [&](auto i) {
            return scaled ? std::ldexp(1.0, static_cast<int>(i % 5)) : 1;
          };
          for (std::size_t i = 0; i < d.extent(0); ++i) d(i) = weight(i);
          LeafBlocksOnHost const leaves(n, n % 2 == 0 ? 16 : 72, n % 3 == 0);
          using Kernel =
              SymmetricTiles<double, dense::detail::RowSumTerms<decltype(d), decltype(sums)>>;
          Tiling const tiling(n, is_lower,
                              8 * (1 + n % 4));  // several columns, of which the last may be fewer
          Kernel const kernel{tiling,
                              stored.ref().template as<double>(),
                              stored.ref().ld,
                              {d, sums, leaves.blocks()}};
          FiberTeam team(Tiling::threads, Kernel::scratch_bytes(tiling.cols),
                         static_cast<unsigned>(n));
          for (int league = 0; league < tiling.down * tiling.across; ++league)
            ASSERT_TRUE(team.run(league, kernel));
          for (std::int64_t i = 0; i < n; ++i) {
            double sum = 0, scaled_sum = 0;
            for (std::int64_t j = 0; j < n; ++j) {
              double const loaded =
                  i < j ? 0 : A(i, j) * weight(i) * weight(j) * (i == j ? 1 + leaves.shift : 1);
              if (i >= j || i / leaves.size == j / leaves.size) {
                EXPECT_EQ(leaves(i, j), leaves.rounded(loaded)) << i << ' ' << j;
              }
              sum += std::abs(A(i, j));
              scaled_sum += std::abs(A(i, j)) * weight(i) * weight(j);
            }
            double const error = static_cast<double>(n) * 0x1p-52;
            EXPECT_NEAR(sums(i, 0), sum, error * sum) << i;
            EXPECT_NEAR(sums(i, 1), scaled ? scaled_sum : 0, error * scaled_sum) << i;
          }
        }
  }
}

// Beyond half the range of fp64 products leave it, and what is subnormal is rounded to few bits.
template <class Space>
void scales_as_a_whole(double size, double expected) {
  std::int64_t const n = 3;
  StoredMatrix<Space> const A(
      reference::generate(n, n, [=](auto i, auto j) { return i >= j ? size : nan_value; }), fp64,
      1);
  auto const found = analyse(Space(), Uplo::Lower, A.ref(), false);
  EXPECT_EQ(found.norm, 3 * size);
  EXPECT_EQ(found.smallest_scaling, expected) << size;
  EXPECT_EQ(found.largest_scaling, expected) << size;
  EXPECT_EQ(found.scaled_norm, 3 * size * expected * expected);
  EXPECT_EQ(found.largest_diagonal, size * expected * expected);
  ASSERT_EQ(found.d.extent(0), expected == 1 ? 0 : n);
  auto const d = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), found.d);
  for (std::size_t i = 0; i < d.extent(0); ++i) EXPECT_EQ(d(i), expected);
}
// D A D has its diagonal in [1/2, 2): also just below an odd power of two, where a logarithm rounds
// to it.
TYPED_TEST(Equilibrate, ScalesTheDiagonalToBetweenOneHalfAndTwo) {
  TypeParam const exec;
  std::vector<double> diagonal{0x1p-1074, 0x1.8p-1073, 0x1p-1023, 1, 3, 1e300};
  for (double const power : {0x1p-1021, 0x1p-1, 0x1p1, 0x1p2, 0x1p301, 0x1p1023})
    diagonal.insert(diagonal.end(),
                    {std::nextafter(power, 0), power, std::nextafter(power, 2 * power)});
  auto const n = static_cast<std::int64_t>(diagonal.size());
  StoredMatrix<TypeParam> const stored(
      reference::generate(
          n, n, [&](auto i, auto j) { return i == j ? diagonal[static_cast<std::size_t>(i)] : 0; }),
      fp64, 3);
  auto const found = analyse(exec, Uplo::Lower, stored.ref(), true);
  auto const d = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), found.d);
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    double const unit = d(i) * diagonal[i] * d(i);
    EXPECT_TRUE(0.5 <= unit && unit < 2 && std::exp2(std::round(std::log2(d(i)))) == d(i))
        << diagonal[i] << ' ' << d(i);
  }
}

TYPED_TEST(Equilibrate, ScalesAMatrixAsAWholeOnlyNearTheEndsOfTheRange) {
  scales_as_a_whole<TypeParam>(0x1p-1074, 0x1p536);
  scales_as_a_whole<TypeParam>(0x1p-602, 0x1p300);
  scales_as_a_whole<TypeParam>(0x1p-600, 1);
  scales_as_a_whole<TypeParam>(0, 1);
  scales_as_a_whole<TypeParam>(0x1p598, 1);
  scales_as_a_whole<TypeParam>(0x1p1020, 0x1p-511);
}

}  // namespace
}  // namespace strata::test
