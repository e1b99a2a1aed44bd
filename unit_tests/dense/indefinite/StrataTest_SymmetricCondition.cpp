// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What a factor without pivoting says of a matrix that it is far from, and the ends of the range.
#include "StrataTest_HardSymmetric.hpp"
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_Dense.hpp"
#include <dense/indefinite/Strata_SymmetricFactor.hpp>
#include <dense/indefinite/detail/Strata_Butterfly.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;

template <class Space>
class SymmetricConditionOn : public testing::Test {};
TYPED_TEST_SUITE(SymmetricConditionOn, Spaces, SpaceNames);

// The first column of the butterfly U.
template <class Space>
std::vector<double> first_column(std::int64_t n) {
  Space const exec;
  dense::detail::Butterfly<Space> const butterfly(exec, n);
  HostMatrix const unit("strata::test::unit", n, 1);
  unit(0, 0) = 1;
  auto const w = on_device<Space>(unit);
  using Block = typename dense::detail::Butterfly<Space>::Block;
  Block const v("strata::test::v", static_cast<std::size_t>(n), 1);
  butterfly.apply(
      exec, ConstMatrixRef<typename Space::memory_space>{w.data(), n, 1, n, Precision::fp64}, v);
  exec.fence("strata::test: the column is there");
  HostMatrix const host("strata::test::v", static_cast<std::size_t>(n), 1);
  Kokkos::deep_copy(host, v);
  return {host.data(), host.data() + n};
}

// A of which U^T A U has a first pivot of about `pivot`, though A's condition is small.
template <class Space>
HostMatrix of_small_pivot(std::int64_t n, double pivot, std::uint64_t seed) {
  HostMatrix const A = hard_symmetric("random", n, seed);
  auto const u = first_column<Space>(n);
  long double form = 0, square = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    square += static_cast<long double>(u[i]) * u[i];
    for (std::int64_t j = 0; j < n; ++j)
      form += static_cast<long double>(u[i]) * A(std::max(i, j), std::min(i, j)) * u[j];
  }
  auto const change = (form - pivot) / square / square;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = j; i < n; ++i)
      A(i, j) = static_cast<double>(A(i, j) - change * u[i] * u[j]);
  return A;
}

TYPED_TEST(SymmetricConditionOn, IsRightWhereTheFactorIsFarFromTheMatrix) {
  int refined = 0;
  for (std::int64_t const n : {32, 64})
    for (double const pivot : {3e-15, 1e-15, 7e-16})
      for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        auto const A = on_device<TypeParam>(of_small_pivot<TypeParam>(n, pivot, seed));
        SymmetricOptions without, with;
        without.layers = LayerList{Precision::fp64};
        with.pivoted = true;
        auto rough = symmetric_factor(TypeParam(), A, without),
             good = symmetric_factor(TypeParam(), A, with);
        auto const truth = good.condition(TypeParam());
        if (rough.report().rung != SymmetricRung::Fp64) continue;
        auto const found = rough.condition(TypeParam());
        if (!found.converged) continue;  // nothing is stated
        refined += found.refined;
        EXPECT_GT(found.value, truth.value / 3) << n << ' ' << pivot << ' ' << seed;
        EXPECT_LT(found.value, truth.value * 3) << n << ' ' << pivot << ' ' << seed;
      }
  EXPECT_GT(refined, 5);
}

TYPED_TEST(SymmetricConditionOn, TrustsAFactorThatIsNear) {
  SymmetricOptions options;
  options.layers = LayerList{Precision::fp64};
  auto factor = symmetric_factor(TypeParam(),
                                 on_device<TypeParam>(hard_symmetric("saddle", 100, 1)), options);
  EXPECT_FALSE(factor.condition(TypeParam()).refined);
}

// The scaling that would make all rows alike is beyond 2^1000, and A^-1 beyond the range of fp64.
TYPED_TEST(SymmetricConditionOn, RefusesWhatTheScalingCannotReach) {
  HostMatrix const A("strata::test::A", 2, 2);
  A(1, 0) = A(0, 1) = std::ldexp(1, -1074);
  A(1, 1) = std::ldexp(1, 1022);
  auto const factor = symmetric_factor(TypeParam(), on_device<TypeParam>(A));
  EXPECT_EQ(factor.report().largest_scaling, std::ldexp(1, 1000));
  EXPECT_EQ(factor.report().smallest_scaling, std::ldexp(1, -511));
  EXPECT_FALSE(factor.ok());
  EXPECT_EQ(factor.report().refusal.substr(0, 13), "A is singular");
}

}  // namespace
