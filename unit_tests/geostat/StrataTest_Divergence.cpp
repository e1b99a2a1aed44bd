// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Field.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/problems/Strata_Generators.hpp>
#include <geostat/Strata_CovarianceFactor.hpp>
#include <geostat/Strata_Divergence.hpp>
#include <geostat/Strata_MaternTiles.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::geostat;

template <class Space>
class DivergenceOn : public testing::Test {};
TYPED_TEST_SUITE(DivergenceOn, strata::test::Spaces, strata::test::SpaceNames);

TYPED_TEST(DivergenceOn, OfTheExactFactorIsZero) {
  TypeParam const exec;
  CovarianceFactorOptions in_tiles;
  in_tiles.tile_size = 64;
  CovarianceFactor<TypeParam> factor(exec, {}, synthetic_locations(300), in_tiles);
  double const log_det = factor.log_determinant(exec).value;
  auto const exact = divergence(exec, factor, log_det);
  EXPECT_NEAR(exact.log_det_half, 0, 1e-10);
  EXPECT_GE(exact.full, 0);
  EXPECT_LT(exact.full, 1e-20);
  EXPECT_EQ(exact.standard_error, 0);
  EXPECT_EQ(divergence(exec, factor.factor(), log_det).full, exact.full);
  auto const probed = divergence(exec, factor, log_det, {.exact_up_to = 0});
  EXPECT_LT(probed.full, 1e-20);
  EXPECT_THROW((void)divergence(exec, factor, log_det, {.probes = 1}), ValueError);
}

using LongNumbers = std::vector<long double>;  // n x n, row by row

/// L of A = L L^T.
LongNumbers factor_of(HostMatrix const& A) {
  std::size_t const n = A.extent(0);
  LongNumbers L(n * n, 0);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = j; i < n; ++i) {
      long double sum = A(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= L[i * n + k] * L[j * n + k];
      L[i * n + j] = i == j ? std::sqrt(sum) : sum / L[j * n + j];
    }
  return L;
}
long double log_det(LongNumbers const& L, std::size_t n) {
  long double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += 2 * std::log(L[i * n + i]);
  return sum;
}

/// 1/2 (trace(M^-1 S) - n + log det M - log det S)
double by_definition(HostMatrix const& S, HostMatrix const& M) {
  std::size_t const n = S.extent(0);
  LongNumbers const L = factor_of(M);
  long double trace = 0;
  for (std::size_t c = 0; c < n; ++c) {
    std::vector<long double> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = S(i, c);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < i; ++k) x[i] -= L[i * n + k] * x[k];
      x[i] /= L[i * n + i];
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t k = i + 1; k < n; ++k) x[i] -= L[k * n + i] * x[k];
      x[i] /= L[i * n + i];
    }
    trace += x[c];
  }
  auto const order = static_cast<long double>(n);
  return static_cast<double>((trace - order + log_det(L, n) - log_det(factor_of(S), n)) / 2);
}

/// S, and a matrix whose entries are off by up to `off` of the diagonal, S seen through whose
/// factor is I + E.
struct Pair {
  HostMatrix S, M;
};
Pair pair_of(std::int64_t n, double off, double shift) {
  Pair pair{HostMatrix("strata::test::S", n, n), HostMatrix("strata::test::M", n, n)};
  fill_covariance(Kokkos::DefaultHostExecutionSpace(), MaternCovariance{1, 0.05, 0.5, 0.5},
                  synthetic_locations(n), pair.S);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) {
      auto const angle = static_cast<double>(7 * (i + j) + 3 * i * j);
      pair.M(i, j) = pair.S(i, j) * (1 + off * std::cos(angle)) + (i == j ? shift : 0);
    }
  return pair;
}

/// The factor of M; what it reads afterwards is S.
template <class Exec>
TileFactor<Exec> factor_of(Exec const& exec, Pair const& pair) {
  auto const there = Kokkos::create_mirror(typename Exec::memory_space(), pair.M);
  Kokkos::deep_copy(there, pair.M);
  auto factor = cholesky(make_devices(1), TileMatrix<Exec>::from_view(exec, there, 16));
  Kokkos::deep_copy(there, pair.S);
  return factor;
}

// ||E|| is 0.1 to 0.3, so that each term of the series counts. The definition is met within the
// error stated for the terms left out. This error is no more than the fifth term and what follows.
TYPED_TEST(DivergenceOn, IsThatOfItsDefinitionWithinTheTermsLeftOut) {
  TypeParam const exec;
  std::int64_t const n = 40;
  for (double const shift : {-0.1, 0.0, 0.1, 0.25}) {
    Pair const pair = pair_of(n, 0.1, shift);
    auto const factor = factor_of(exec, pair);
    double const expected = by_definition(pair.S, pair.M);
    auto const log_det_S = static_cast<double>(log_det(factor_of(pair.S), 40));
    auto const found = divergence(exec, factor, log_det_S);
    SCOPED_TRACE(testing::Message() << shift << ": " << found.full << " for " << expected);
    EXPECT_LE(std::abs(found.full - expected), found.truncation_error);
    EXPECT_GE(std::abs(found.full - expected), found.truncation_error / 30);
    EXPECT_LT(found.truncation_error, 0.1 * expected);
    EXPECT_GT(found.truncation_error, 1e-6 * expected);
    EXPECT_NEAR(
        found.log_det_half,
        static_cast<double>(log_det(factor_of(pair.M), 40) - log_det(factor_of(pair.S), 40)) / 2,
        1e-11);
    EXPECT_EQ(found.standard_error, 0);
  }
  // E = -e I with a small e, of which the first term left out, n e^5 / 10, is nearly all of them.
  Pair const scaled = pair_of(n, 0, 0);
  double const e = 1 / 21.0;  // of M = 1.05 S
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) scaled.M(i, j) = 1.05 * scaled.S(i, j);
  auto const found = divergence(exec, factor_of(exec, scaled), 0);
  EXPECT_NEAR(found.truncation_error / (40 * std::pow(e, 5) / 10), 1 / (1 - e), 1e-9);
  EXPECT_NEAR((by_definition(scaled.S, scaled.M) - found.full) / found.truncation_error, 1, 0.02);
  // E beyond 1: nothing is said.
  Pair const far = pair_of(n, 0, -0.95);
  EXPECT_TRUE(std::isinf(divergence(exec, factor_of(exec, far), 0).truncation_error));
}

// The mean of 60 squares of errors in units of the standard error is 1 within 4 sqrt(2 / 60).
TYPED_TEST(DivergenceOn, StandardErrorsAreTheSizeOfTheErrors) {
  TypeParam const exec;
  Pair const pair = pair_of(40, 0.1, 0.1);
  auto const factor = factor_of(exec, pair);
  double const exact = divergence(exec, factor, 0).full;
  int const draws = 60;
  for (int const probes : {8, 64}) {
    double squares = 0;
    for (std::uint64_t seed = 1; seed <= draws; ++seed) {
      auto const found =
          divergence(exec, factor, 0, {.exact_up_to = 0, .probes = probes, .seed = seed});
      squares += std::pow((found.full - exact) / found.standard_error, 2) / draws;
    }
    EXPECT_GT(squares, 1 - 4 * std::sqrt(2.0 / draws)) << probes;
    EXPECT_LT(squares, (1 + 4 * std::sqrt(2.0 / draws)) * (probes < 10 ? 1.4 : 1)) << probes;
  }
}

}  // namespace
