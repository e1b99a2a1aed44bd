// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Teams and vectors of every size up to 64 threads that run in step, where the backend has them:
// what kernels are made of must not count on 32.
#include "StrataTest_PaddedMatrix.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

using namespace strata;
using namespace strata::test;

template <class Space>
using Counts = Kokkos::View<int*, typename Space::memory_space>;

template <class Space>
std::vector<int> on_host(Space const& exec, Counts<Space> const& counts) {
  std::vector<int> host(counts.extent(0));
  Kokkos::deep_copy(exec,
                    Kokkos::View<int*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
                        host.data(), host.size()),
                    counts);
  exec.fence();
  return host;
}

constexpr int tile_rows = 8;

// How often each item of two leagues was visited: by team_for, then by team_for_tile.
template <class Space>
struct Visits {
  Counts<Space> counts;
  int items;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    int* const mine = counts.data() + team.league_rank() * 2 * items;
    strata::team_for(team, items, [&](int i) { mine[i] += 1; });
    team.team_barrier();
    strata::team_for_tile<tile_rows>(team, items / tile_rows,
                                     [&](int i, int j) { mine[items + i + j * tile_rows] += 1; });
  }
};

// The sum of 0 ... n - 1 by the vector of each thread of a team.
template <class Space>
struct VectorSums {
  Counts<Space> sums;
  int n;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    int sum = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, n), [&](int i, int& part) { part += i; }, sum);
    Kokkos::single(Kokkos::PerThread(team),
                   [&] { sums(team.league_rank() * team.team_size() + team.team_rank()) = sum; });
  }
};

template <class Space>
int largest_team(int vector, auto const& kernel) {
  Kokkos::TeamPolicy<Space> const policy(Space(), 1, 1, vector);
  return policy.team_size_max(kernel, Kokkos::ParallelForTag());
}

template <class Space>
void check_teams() {
  Space const exec;
  using Policy = Kokkos::TeamPolicy<Space>;
  for (int const items : {8, 64, 200}) {
    Visits<Space> kernel{Counts<Space>(Kokkos::view_alloc(exec, "strata::test::counts"), 4 * items),
                         items};
    for (int const team : {1, 16, 32, 33, 64, 96, 128, 256}) {
      if (team > largest_team<Space>(1, kernel)) continue;
      Kokkos::deep_copy(exec, kernel.counts, 0);
      Kokkos::parallel_for("strata::test::visits", Policy(exec, 2, team), kernel);
      auto const counts = on_host(exec, kernel.counts);
      EXPECT_EQ(std::count(counts.begin(), counts.end(), 1), 4 * items) << "team of " << team;
    }
  }
}

template <class Space>
void check_vectors() {
  Space const exec;
  using Policy = Kokkos::TeamPolicy<Space>;
  for (int vector = 1; vector <= std::min(64, Policy::vector_length_max()); vector *= 2)
    for (int const n : {1, 31, 32, 33, 63, 64, 65, 1000}) {
      VectorSums<Space> kernel{Counts<Space>(), n};
      int const team = std::min(4, largest_team<Space>(vector, kernel));
      kernel.sums = Counts<Space>(Kokkos::view_alloc(exec, "strata::test::sums"), 3 * team);
      Kokkos::parallel_for("strata::test::vector_sums", Policy(exec, 3, team, vector), kernel);
      for (int const sum : on_host(exec, kernel.sums))
        EXPECT_EQ(sum, n * (n - 1) / 2) << "vector of " << vector;
    }
}

// y = A^T x, which a device gives to the threads that run in step, column by column.
template <class Space>
void check_thin_product(Precision precision) {
  Space const exec;
  LeafBlas<Space> blas(exec);
  for (Index const rows : {128, 129, 160, 1000}) {
    Index const cols = 65;
    PaddedMatrix<Space> const A(exec, precision, rows, cols, rows + 1, noise(1));
    PaddedMatrix<Space> const x(exec, Precision::fp64, rows, 1, rows, noise(2));
    PaddedMatrix<Space> const y(exec, Precision::fp64, cols, 1, cols, noise(3));
    blas.gemm(Op::Trans, Op::NoTrans, 2, A.ref(), x.ref(), 0.5, y.ref());
    auto const result = y.now();
    for (Index j = 0; j < cols; ++j) {
      double sum = 0, magnitudes = 0;
      for (Index i = 0; i < rows; ++i) {
        sum += A(i, j) * x(i, 0);
        magnitudes += std::abs(A(i, j) * x(i, 0));
      }
      double const expected = 2 * sum + 0.5 * y(j, 0);
      EXPECT_NEAR(result[y.position(j, 0)], expected,
                  allowed(Precision::fp64, Precision::fp64, rows, 2 * magnitudes + 1, expected))
          << rows << ", " << j;
    }
  }
}

template <class Space>
class Wavefront : public testing::Test {};
TYPED_TEST_SUITE(Wavefront, strata::test::Spaces, strata::test::SpaceNames);

TYPED_TEST(Wavefront, TeamsOfAnySizeVisitEachItemOnce) { check_teams<TypeParam>(); }
TYPED_TEST(Wavefront, VectorsOfAnyLengthAddUpAll) { check_vectors<TypeParam>(); }
TYPED_TEST(Wavefront, ThinProductsEqualTheSums) {
  check_thin_product<TypeParam>(Precision::fp64);
  check_thin_product<TypeParam>(Precision::fp32);
  check_thin_product<TypeParam>(Precision::bf16);
}

}  // namespace
