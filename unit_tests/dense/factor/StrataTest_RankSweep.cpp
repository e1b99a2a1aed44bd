// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "core/blas/StrataTest_FiberTeam.hpp"
#include "dense/StrataTest_Dense.hpp"
#include "dense/StrataTest_FactorCases.hpp"
#include "dense/StrataTest_HardMatrices.hpp"
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/factor/detail/Strata_RankSweep.hpp>
#include <dense/tree/Strata_BlockTree.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

// Changes of a factor as devices make them, on every space.

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;
namespace sweep = strata::dense::detail::sweep;
using P = strata::Precision;

template <class Space>
class RankSweepOn : public testing::Test {};
TYPED_TEST_SUITE(RankSweepOn, Spaces, SpaceNames);

// L of A in long double, rounded.
HostMatrix lower_factor(HostMatrix const& A) {
  std::size_t const n = A.extent(0);
  HostMatrix const L("strata::test::L", n, n);
  std::vector<long double> l(n * n, 0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      long double t = A(i, j);
      for (std::size_t k = 0; k < j; ++k) t -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = i == j ? std::sqrt(t) : t / l[j * n + j];
      L(i, j) = static_cast<double>(l[i * n + j]);
    }
  return L;
}

// P = L^-1 V, and the upper triangle of C with C^T C = I - P^T P.
struct Downdate {
  HostMatrix P, C;
  Downdate(HostMatrix const& L, HostMatrix const& V)
      : P("strata::test::P", V.extent(0), V.extent(1)),
        C("strata::test::C", V.extent(1), V.extent(1)) {
    std::size_t const n = V.extent(0), k = V.extent(1);
    for (std::size_t j = 0; j < k; ++j)
      for (std::size_t i = 0; i < n; ++i) {
        long double t = V(i, j);
        for (std::size_t m = 0; m < i; ++m) t -= static_cast<long double>(L(i, m)) * P(m, j);
        P(i, j) = static_cast<double>(t / L(i, i));
      }
    for (std::size_t j = 0; j < k; ++j)
      for (std::size_t i = 0; i <= j; ++i) {
        long double t = i == j ? 1 : 0;
        for (std::size_t m = 0; m < n; ++m) t -= static_cast<long double>(P(m, i)) * P(m, j);
        for (std::size_t m = 0; m < i; ++m) t -= static_cast<long double>(C(m, i)) * C(m, j);
        C(i, j) = static_cast<double>(i == j ? std::sqrt(t) : t / C(i, i));
      }
  }
};

// max |L L^T + plus V V^T - K K^T|_ij / sqrt(a_ii a_jj) with A the larger one of both sides.
double difference(HostMatrix const& L, HostMatrix const& V, int plus, HostMatrix const& K) {
  std::size_t const n = L.extent(0);
  auto const of = [&](HostMatrix const& M, std::size_t i, std::size_t j, std::size_t cols) {
    long double sum = 0;
    for (std::size_t k = 0; k < cols; ++k) sum += static_cast<long double>(M(i, k)) * M(j, k);
    return sum;
  };
  std::vector<double> size(n);
  for (std::size_t i = 0; i < n; ++i)
    size[i] = std::sqrt(
        static_cast<double>(of(L, i, i, i + 1) + (plus > 0 ? of(V, i, i, V.extent(1)) : 0)));
  double worst = 0;
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = j; i < n; ++i) {
      long double const off =
          of(L, i, j, j + 1) + plus * of(V, i, j, V.extent(1)) - of(K, i, j, j + 1);
      if (!(static_cast<double>(std::abs(off)) <= worst * size[i] * size[j]))
        worst = static_cast<double>(std::abs(off)) / size[i] / size[j];
    }
  return worst;
}

template <class Space>
struct OnTree {
  Space exec;
  LeafBlas<Space> blas{exec};
  BlockTree<LayerList, Space> tree;
  dense::detail::RankSweep<Space> sweep;

  OnTree(HostMatrix const& L, std::int64_t leaf, std::int64_t k)
      : tree(exec, static_cast<std::int64_t>(L.extent(0)), {P::fp64}, leaf),
        sweep(loaded(L), tree, k) {}
  LeafBlas<Space>& loaded(HostMatrix const& L) {
    auto const there = on_device<Space>(L);
    tree.load(exec, Uplo::Lower, matrix_ref(there));
    exec.fence();
    return blas;
  }
  HostMatrix factor() {
    auto const n = static_cast<std::size_t>(tree.order());
    auto const L = on_device<Space>(HostMatrix("strata::test::L", n, n));
    tree.store(exec, Uplo::Lower, matrix_ref(L));
    exec.fence();
    return on_host(L);
  }
};

template <class Space>
void changes(HostMatrix const& A, HostMatrix const& V, std::int64_t leaf, std::int64_t first = 0) {
  auto const n = static_cast<std::int64_t>(A.extent(0)), k = static_cast<std::int64_t>(V.extent(1));
  HostMatrix const L = lower_factor(A);
  OnTree<Space> there(L, leaf, k);
  there.sweep.update(on_device<Space>(V), first);
  HostMatrix const more = there.factor();
  double const units = static_cast<double>(n + 20 * k) * roundoff;
  EXPECT_LE(difference(L, V, 1, more), units) << n << ' ' << k << ' ' << leaf;
  for (std::int64_t i = 0; i < n; ++i) EXPECT_GT(more(i, i), 0) << i;
  if (k > 64) return;
  Downdate const down(more, V);
  there.sweep.downdate(on_device<Space>(down.P), on_device<Space>(down.C));
  EXPECT_LE(difference(more, V, -1, there.factor()), units) << n << ' ' << k << ' ' << leaf;
}

TYPED_TEST(RankSweepOn, UpdatesAndDowndatesTreesOfAnyShape) {
  for (auto const& [n, k, leaf] : {std::array<std::int64_t, 3>{1, 1, 8},
                                   {2, 3, 8},
                                   {40, 0, 16},
                                   {64, 7, 64},
                                   {65, 64, 64},
                                   {65, 65, 64},
                                   {130, 1, 130},
                                   {150, 5, 40},
                                   {300, 1, 48},
                                   {300, 17, 150},
                                   {200, 130, 48}}) {
    HostMatrix const A = easy_matrix(n), V = random_matrix(n, k, 5);
    changes<TypeParam>(A, V, leaf);
  }
}

// Diagonals of 2^-80 to 2^80, and columns of V of very different lengths.
TYPED_TEST(RankSweepOn, KeepsRowsOfAllScales) {
  std::int64_t const n = 120, k = 7;
  HostMatrix const A = rescaled(easy_matrix(n), 40, 3), V = random_matrix(n, k, 5);
  for (std::int64_t j = 0; j < k; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      V(i, j) *= std::sqrt(A(i, i)) * std::pow(10.0, static_cast<double>(3 - j));
  changes<TypeParam>(A, V, 32);
  HostMatrix const tiny("strata::test::A", n, n), small("strata::test::V", n, k);
  for (std::int64_t j = 0; j < n; ++j) {  // whose squares leave the range
    for (std::int64_t i = 0; i < n; ++i) tiny(i, j) = i == j ? 0x1p-1000 : 0;
    for (std::int64_t i = 0; i < k; ++i) small(j, i) = 0x1p-502;
  }
  HostMatrix const L = lower_factor(tiny);
  OnTree<TypeParam> there(L, 32, k);
  there.sweep.update(on_device<TypeParam>(small));
  EXPECT_LE(difference(L, small, 1, there.factor()), 4.0 * n * roundoff);
}

TYPED_TEST(RankSweepOn, KeepsCovariancesThatAreNearlySingular) {
  HardMatrices draw(5);
  std::int64_t const n = 200;
  HostMatrix const A = draw.covariance(draw.stations(n, 0, 1), 0.5, 1e-10);
  for (std::int64_t const k : {1, 7, 33}) {
    HostMatrix const V = random_matrix(n, k, 5);
    changes<TypeParam>(A, V, 48);
  }
}

// V V^T is about 1e10 times A.
TYPED_TEST(RankSweepOn, DowndatesToWhatIsNearlyLost) {
  std::int64_t const n = 90;
  HostMatrix const A = easy_matrix(n), V = random_matrix(n, 3, 5);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < 3; ++j) V(i, j) *= 1e5;
  changes<TypeParam>(A, V, 32);
}

TYPED_TEST(RankSweepOn, LeavesRowsAboveTheFirstAlone) {
  std::int64_t const n = 100, first = 37;
  HostMatrix const A = easy_matrix(n), V = random_matrix(n, 2, 5);
  for (std::int64_t i = 0; i < first; ++i) V(i, 0) = V(i, 1) = 0;
  changes<TypeParam>(A, V, 32, first);
  HostMatrix const L = lower_factor(A), zero("strata::test::V", n, 3);
  OnTree<TypeParam> there(L, 32, 3);
  there.sweep.update(on_device<TypeParam>(zero));
  EXPECT_EQ(largest_difference(there.factor(), L), 0);
}

// A device's team of a thread for each row or place, on the host, with threads in any order.
template <int K>
void reflections_are_those_of_a_thread(int cols, int k, unsigned seed) {
  using Together = sweep::Reflections<K, true>;
  HostMatrix const V = random_matrix(cols, std::max(k, 1), seed),
                   L = lower_factor(easy_matrix(cols));
  HostMatrix const alone("strata::test::L", L.extent(0), L.extent(1));
  Kokkos::deep_copy(alone, L);
  auto const room = static_cast<std::size_t>(Together::most_columns) * K;
  std::vector<double> t(room), t_alone(room);
  std::vector<sweep::Pair> of_y(room), of_y_alone(room);  // aligned
  auto* const y = reinterpret_cast<double*>(of_y.data());
  auto* const y_alone = reinterpret_cast<double*>(of_y_alone.data());
  auto const ld = static_cast<std::int64_t>(V.stride(1));
  auto const ldl = static_cast<std::int64_t>(L.stride(1));
  sweep::Reflections<K, false> const one{V.data(), ld,   k,       alone.data(),
                                         ldl,      cols, y_alone, t_alone.data()};
  for (int i = 0; i < cols; ++i) one.row_alone(i);
  FiberTeam team(Together::threads, Together::scratch_bytes + 16, seed);
  ASSERT_TRUE(team.run(0, Together{V.data(), ld, k, L.data(), ldl, cols, y, t.data()}));
  for (std::size_t i = 0; i < static_cast<std::size_t>(cols * K); ++i)
    EXPECT_NEAR(y[i], y_alone[i], 1e-13) << i;
  for (std::size_t i = 0; i < static_cast<std::size_t>(cols); ++i)
    EXPECT_NEAR(t[i], t_alone[i], 1e-13) << i;
  EXPECT_LE(triangle_difference(L, alone), 1e-12);
}
TEST(RankSweep, ReflectionsOfADeviceAreThoseOfOneThread) {
  for (int const cols : {1, 2, 64, 127, 128}) {
    reflections_are_those_of_a_thread<1>(cols, 1, 1);
    reflections_are_those_of_a_thread<4>(cols, 3, 2);
    reflections_are_those_of_a_thread<16>(cols, 16, 3);
    reflections_are_those_of_a_thread<64>(cols, 50, 4);
  }
}

template <int K, bool Together>
std::vector<sweep::Rotation> rotations(Downdate const& down, unsigned seed) {
  auto const n = static_cast<std::int64_t>(down.P.extent(0));
  std::vector<sweep::Rotation> found(static_cast<std::size_t>(n * K));
  using Kernel = sweep::Rotations<K, Together>;
  FiberTeam team(Kernel::threads, Kernel::scratch_bytes + 16, seed);
  EXPECT_TRUE(team.run(
      0, Kernel{down.P.data(), down.C.data(), n, static_cast<std::int64_t>(down.P.stride(1)),
                static_cast<std::int64_t>(down.C.stride(1)), static_cast<int>(down.P.extent(1)),
                found.data()}));
  return found;
}
template <int K>
void rotations_are_those_of_a_thread(std::int64_t n, std::int64_t k, unsigned seed) {
  HostMatrix const V = random_matrix(n, k, seed);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < k; ++j) V(i, j) *= 0.5 / static_cast<double>(k);
  Downdate const down(lower_factor(easy_matrix(n)), V);
  auto const one = rotations<K, false>(down, seed), many = rotations<K, true>(down, seed);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_NEAR(one[i].cosine, many[i].cosine, 1e-13) << i;
    EXPECT_NEAR(one[i].sine, many[i].sine, 1e-13) << i;
  }
}
TEST(RankSweep, RotationsOfADeviceAreThoseOfOneThread) {
  for (std::int64_t const n : {1, 3, 16, 70}) {
    rotations_are_those_of_a_thread<1>(n, 1, 1);
    rotations_are_those_of_a_thread<4>(n, 3, 2);
    rotations_are_those_of_a_thread<16>(n, 9, 3);
    rotations_are_those_of_a_thread<64>(n, 20, 4);
  }
}

}  // namespace
