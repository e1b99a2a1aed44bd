// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The kernel of devices by threads of the host, that of hosts in vectors of each length, and what
// the paths take and refuse. Results: StrataTest_BatchedCholesky.
#include "StrataTest_Matchers.hpp"
#include "StrataTest_ResidualNorms.hpp"
#include "StrataTest_Spaces.hpp"
#include "core/blas/StrataTest_FiberTeam.hpp"
#include <core/Strata_Backends.hpp>
#include <core/blas/batched/Strata_BatchedBlas.hpp>
#include <core/blas/batched/detail/Strata_BatchedLanes.hpp>
#include <core/blas/batched/detail/Strata_BatchedOneByOne.hpp>
#include <core/blas/batched/detail/Strata_BatchedTeams.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

namespace {

using namespace strata;
using namespace strata::test;
using strata::detail::BatchedLanes;
using strata::detail::BatchedSystems;
using strata::detail::BatchedTeams;

// A padded batch whose numbers outside the triangles are NaN.
template <class T>
struct HostBatch {
  static constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  int n, columns, count, ld;
  bool lower;
  std::vector<T> A, B;
  std::vector<std::int64_t> info;

  HostBatch(int order, int right_hand_sides, int systems, bool is_lower)
      : n(order),
        columns(right_hand_sides),
        count(systems),
        ld(order + 3),
        lower(is_lower),
        A(static_cast<std::size_t>(count * stride_a()), nan),
        B(static_cast<std::size_t>(count * stride_b()), nan),
        info(static_cast<std::size_t>(count), -7) {
    std::mt19937 random(static_cast<unsigned>(n));
    std::uniform_real_distribution<T> number(0, 1);
    for (int b = 0; b < count; ++b) {
      for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) a(b, i, j) = number(random) + T(i == j) * T(n);
      for (int c = 0; c < columns; ++c)
        for (int i = 0; i < n; ++i) x(b, i, c) = number(random);
    }
  }
  int stride_a() const { return ld * n + 5; }
  int stride_b() const { return (n + 1) * columns; }
  T& a(int b, int i, int j) {
    return A[static_cast<std::size_t>(b * stride_a() + (lower ? i + j * ld : j + i * ld))];
  }
  T& x(int b, int i, int c) {
    return B[static_cast<std::size_t>(b * stride_b() + i + c * (n + 1))];
  }

  BatchedSystems<T> systems(bool factors) {
    BatchedSystems<T> s;
    s.A = A.data();
    s.B = columns > 0 ? B.data() : nullptr;
    s.info = factors ? info.data() : nullptr;
    s.count = count;
    s.n = n;
    s.columns = columns;
    s.row_stride = lower ? 1 : ld;
    s.column_stride = lower ? ld : 1;
    s.stride_a = stride_a();
    s.ld_b = n + 1;
    s.stride_b = stride_b();
    return s;
  }
};

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <int width, int columns, class T>
void run_on_fibers(BatchedSystems<T> const& systems, int threads, unsigned seed) {
  int const shared = std::max(1, 64 / threads);
  BatchedTeams<T, width, columns> const kernel{systems, threads, shared};
  FiberTeam team(threads * shared, kernel.scratch_bytes(shared), seed);
  for (int league = 0; league * shared < systems.count; ++league)
    ASSERT_TRUE(team.run(league, kernel))
        << "some threads wait at a barrier that others don't reach";
}

// Residuals of A X = B, relative to n u.
template <class T>
double residual(HostBatch<T>& before, HostBatch<T>& after, int b) {
  int const n = before.n;
  auto const A = [&](std::int64_t i, std::int64_t k) {
    return before.a(b, static_cast<int>(std::max(i, k)), static_cast<int>(std::min(i, k)));
  };
  auto const in = [b](HostBatch<T>& batch) {
    return [&batch, b](std::int64_t i, std::int64_t c) {
      return batch.x(b, static_cast<int>(i), static_cast<int>(c));
    };
  };
  long double worst = 0;
  for (auto const& norms : residual_norms(n, before.columns, A, in(after), in(before)))
    worst = larger(worst, norms.residual);
  return static_cast<double>(worst) / (n * static_cast<double>(std::numeric_limits<T>::epsilon()));
}

// Each order and seed; a barrier too few would make the results depend on the seed.
template <class T, int width, int columns>
void solves_on_fibers(int n, int right_hand_sides, bool lower) {
  HostBatch<T> before(n, right_hand_sides, 5, lower), first = before;
  int const threads = n <= 16 ? 16 : (n + 31) / 32 * 32;
  for (unsigned const seed : {1u, 2u, 3u}) {
    HostBatch<T> after = before;
    run_on_fibers<width, columns>(after.systems(true), threads, seed);
    EXPECT_EQ(after.info, std::vector<std::int64_t>(5, 0)) << n;
    for (int b = 0; b < after.count; ++b) EXPECT_LE(residual(before, after, b), 4) << n;
    if (seed == 1) first = after;
    EXPECT_TRUE(same_bits(first.A, after.A) && same_bits(first.B, after.B)) << n << ' ' << seed;
    HostBatch<T> again = after;  // the factor once more, on the first right-hand sides
    again.B = before.B;
    run_on_fibers<width, columns>(again.systems(false), threads, seed);
    EXPECT_TRUE(same_bits(again.B, after.B)) << n;
  }
}

TEST(BatchedTeams, SolveWithEachOrderOfThreads) {
  for (bool const lower : {true, false}) {
    for (int const n : {1, 3, 4, 5, 15, 16}) {
      solves_on_fibers<double, 16, 1>(n, 1, lower);
      solves_on_fibers<float, 16, 4>(n, 3, lower);
    }
    for (int const n : {17, 31, 32, 33, 63, 64, 65, 129}) {
      solves_on_fibers<double, 32, 1>(n, 1, lower);
      solves_on_fibers<float, 32, 4>(n, 5, lower);
    }
  }
}

TEST(BatchedTeams, BreakdownStaysWhereItIs) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  for (int const n : {7, 16, 33, 70}) {
    HostBatch<double> before(n, 2, 6, true), good = before;
    int const threads = n <= 16 ? 16 : (n + 31) / 32 * 32;
    run_on_fibers<32, 1>(good.systems(true), (threads + 31) / 32 * 32, 1);
    before.a(1, n / 2, n / 2) = -1;
    before.a(3, n - 1, 0) = nan;
    before.a(4, 0, 0) = 0;
    HostBatch<double> after = before;
    run_on_fibers<32, 1>(after.systems(true), (threads + 31) / 32 * 32, 2);
    EXPECT_EQ(after.info, (std::vector<std::int64_t>{0, n / 2 + 1, 0, n, 1, 0})) << n;
    for (int b = 0; b < 6; ++b) {
      bool const broken = b == 1 || b == 3 || b == 4;
      auto const same = [](std::vector<double> const& x, std::vector<double> const& y, int stride,
                           int number) {
        return std::memcmp(&x[static_cast<std::size_t>(number * stride)],
                           &y[static_cast<std::size_t>(number * stride)],
                           static_cast<std::size_t>(stride) * sizeof(double)) == 0;
      };
      EXPECT_TRUE(broken || same(after.A, good.A, good.stride_a(), b)) << n << ' ' << b;
      EXPECT_TRUE(same(after.B, broken ? before.B : good.B, good.stride_b(), b)) << n << ' ' << b;
    }
  }
}

template <class T>
void solves_in_lanes(int most_bytes, int n, bool lower) {
  HostBatch<T> before(n, 5, 19, lower), after = before;
  after.a(7, n - 1, n - 1) = before.a(7, n - 1, n - 1) = -1;
  BatchedLanes<T> const lanes(most_bytes);
  std::vector<T> room(lanes.room_bytes(n) / sizeof(T) + 64 / sizeof(T));
  void* place = room.data();
  std::size_t bytes = room.size() * sizeof(T);
  auto* const aligned = static_cast<T*>(std::align(64, lanes.room_bytes(n), place, bytes));
  for (std::int64_t const turn : {1, 0}) lanes.kernel()(after.systems(true), turn, 2, aligned);
  for (int b = 0; b < after.count; ++b) {
    EXPECT_EQ(after.info[static_cast<std::size_t>(b)], b == 7 ? n : 0) << n << ' ' << most_bytes;
    if (b != 7) {
      EXPECT_LE(residual(before, after, b), 4) << n << ' ' << most_bytes;
    }
  }
  for (std::size_t i = 0; i < after.A.size(); ++i)
    ASSERT_TRUE(!std::isnan(before.A[i]) || std::isnan(after.A[i]));
}
TEST(BatchedLanes, SolveInVectorsOfEachLength) {
  for (int const bytes : {16, 32, 64})
    for (int const n : {1, 2, 3, 4, 7, 8, 9, 33, 66, 131})
      for (bool const lower : {true, false}) {
        solves_in_lanes<double>(bytes, n, lower);
        solves_in_lanes<float>(bytes, n, lower);
      }
}

template <class Space>
class BatchedBlasOn : public testing::Test {};
TYPED_TEST_SUITE(BatchedBlasOn, Spaces, SpaceNames);

template <class Space>
struct Operands {
  static constexpr std::int64_t n = 5, count = 3;
  using Memory = typename Space::memory_space;
  Kokkos::View<double*, Memory> numbers{"strata::test::numbers", 1024};
  typename BatchedBlas<Space>::InfoView info{"strata::test::info", count};
  MatrixRef<Memory> A{numbers.data(), n, n, n, Precision::fp64},
      B{numbers.data() + 512, n, 2, n, Precision::fp64};
  Batch batch{.count = count, .stride_a = n * n, .stride_b = 2 * n};
};

TYPED_TEST(BatchedBlasOn, RefusesWhatDoesNotFit) {
  Operands<TypeParam> const given;
  BatchedBlas<TypeParam> blas{TypeParam()};
  auto const refuses = [&]<class E>(std::type_identity<E>, char const* text, auto change) {
    Operands<TypeParam> o = given;
    change(o);
    EXPECT_TRUE(throws_with<E>(text, [&] { blas.posv(Uplo::Lower, o.A, o.B, o.batch, o.info); }));
  };
  std::type_identity<ShapeError> const shape;
  std::type_identity<ValueError> const value;
  refuses(shape, "posv: extents don't fit: A 5 x 4 (ld 5, stride 25)",
          [](auto& o) { o.A.cols = 4; });
  refuses(shape, "posv: extents don't fit: B 4 x 2 (ld 5, stride 10)",
          [](auto& o) { o.B.rows = 4; });
  refuses(shape, "posv: extents don't fit: A 5 x 5 (ld 4", [](auto& o) { o.A.ld = 4; });
  refuses(shape, "posv: a batch of -1 systems", [](auto& o) { o.batch.count = -1; });
  refuses(shape, "posv: systems overlap: A 5 x 5 (ld 5, stride 24), must be 25 apart",
          [](auto& o) { o.batch.stride_a = 24; });
  refuses(shape, "posv: systems overlap: B 5 x 2 (ld 5, stride 0), must be 10 apart",
          [](auto& o) { o.batch.stride_b = 0; });
  refuses(shape, "posv: info has 3 numbers for 2 systems", [](auto& o) { o.batch.count = 2; });
  refuses(value, "posv: takes fp64 or fp32 without scale, not fp16",
          [](auto& o) { o.A.precision = o.B.precision = Precision::fp16; });
  refuses(value, "posv: takes fp64 or fp32 without scale, not fp64 with one",
          [](auto& o) { o.A.scale = o.numbers.data(); });
  BatchedBlas<TypeParam> kernels(TypeParam(), BlasPath::KokkosKernels);
  EXPECT_TRUE(throws_with<ValueError>("potrf: the Kokkos Kernels path has no such operation", [&] {
    kernels.potrf(Uplo::Lower, given.A, given.batch, given.info);
  }));
}

// A = 4 I once, for three systems of two columns of ones.
template <class Space>
void solves_with_one_factor(BlasPath path) {
  Operands<Space> o;
  Kokkos::View<double*, typename Space::memory_space> const numbers = o.numbers;
  auto const host = Kokkos::create_mirror_view(numbers);
  Kokkos::deep_copy(host, 1);
  for (std::size_t i = 0; i < 25; ++i) host(i) = i % 6 == 0 ? 2 : 0;
  Kokkos::deep_copy(numbers, host);
  o.batch.stride_a = 0;
  BatchedBlas<Space> blas(Space(), path);
  blas.potrs(Uplo::Lower, o.A, o.B, o.batch);
  blas.exec().fence();
  Kokkos::deep_copy(host, numbers);
  for (std::size_t i = 0; i < 512; ++i) EXPECT_EQ(host(512 + i), i < 30 ? 0.25 : 1) << i;
}
TYPED_TEST(BatchedBlasOn, SolvesManySystemsWithOneFactor) {
  for (BlasPath const path : {BlasPath::Automatic, BlasPath::Portable})
    solves_with_one_factor<TypeParam>(path);
}

template <class Space>
void takes_large_orders(BlasPath path, Uplo uplo) {
  using Blas = BatchedBlas<Space>;
  std::int64_t const n = Blas::largest_order + 3, count = 2;
  Kokkos::View<double*, typename Space::memory_space> const a(
      "strata::test::A", static_cast<std::size_t>(count * n * n)),
      b("strata::test::B", static_cast<std::size_t>(count * n));
  auto const A = Kokkos::create_mirror_view(a), B = Kokkos::create_mirror_view(b);
  for (std::int64_t k = 0; k < count; ++k)  // A = 4 I with -1 beside it, A (1, ..., 1) = B
    for (std::int64_t i = 0; i < n; ++i) {
      A(static_cast<std::size_t>(k * n * n + i * (n + 1))) = 4;
      for (std::int64_t const j : {i - 1, i + 1})
        if (j >= 0 && j < n) A(static_cast<std::size_t>(k * n * n + i + j * n)) = -1;
      B(static_cast<std::size_t>(k * n + i)) = i == 0 || i == n - 1 ? 3 : 2;
    }
  A(static_cast<std::size_t>(n * n + 513 * (n + 1))) = -1;
  Kokkos::deep_copy(a, A);
  Kokkos::deep_copy(b, B);
  typename Blas::InfoView const info("strata::test::info", count);
  Blas blas(Space(), path);
  using Matrix = typename Blas::Matrix;
  Batch const batch{.count = count, .stride_a = n * n, .stride_b = n};
  blas.posv(uplo, Matrix{a.data(), n, n, n, Precision::fp64},
            Matrix{b.data(), n, 1, n, Precision::fp64}, batch, info);
  blas.exec().fence();
  Kokkos::deep_copy(B, b);
  auto const orders = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), info);
  EXPECT_EQ(orders(0), 0);
  EXPECT_EQ(orders(1), 514);
  for (std::int64_t i = 0; i < n; ++i) EXPECT_NEAR(B(static_cast<std::size_t>(i)), 1, 1e-14) << i;
}
TYPED_TEST(BatchedBlasOn, TakesOrdersAboveTheLargestOneAfterTheOther) {
  takes_large_orders<TypeParam>(BlasPath::Automatic, Uplo::Lower);
  takes_large_orders<TypeParam>(BlasPath::Automatic, Uplo::Upper);
  if constexpr (std::is_same_v<typename TypeParam::memory_space, Kokkos::HostSpace>)
    takes_large_orders<TypeParam>(BlasPath::Portable, Uplo::Lower);
}

// Three systems, 4 I, -4 I and 16 I, with right-hand sides of ones: the second has no factor.
template <class Space>
void leaves_failed_systems_alone(Uplo uplo) {
  Operands<Space> o;
  auto const host = Kokkos::create_mirror_view(o.numbers);
  Kokkos::deep_copy(host, 1);
  double const diagonals[] = {4, -4, 16}, solutions[] = {0.25, 1, 0.0625};
  for (std::size_t b = 0; b < 3; ++b)
    for (std::size_t i = 0; i < 25; ++i) host(25 * b + i) = i % 6 == 0 ? diagonals[b] : 0;
  Kokkos::deep_copy(o.numbers, host);
  Space const exec;
  LeafBlas<Space> leaf(exec);
  strata::detail::BatchedOneByOne<Space> const systems{leaf};
  systems.factor(exec, uplo, o.A, o.batch, o.info);
  systems.solve(exec, uplo, o.A, o.B, o.batch, o.info);
  exec.fence();
  auto const info = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), o.info);
  Kokkos::deep_copy(host, o.numbers);
  for (std::size_t b = 0; b < 3; ++b) {
    EXPECT_EQ(info(b), b == 1 ? 1 : 0);
    for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(host(512 + 10 * b + i), solutions[b]) << b;
  }
}
TYPED_TEST(BatchedBlasOn, OneByOneLeavesFailedSystemsAsTheyWere) {
  leaves_failed_systems_alone<TypeParam>(Uplo::Lower);
  leaves_failed_systems_alone<TypeParam>(Uplo::Upper);
}

}  // namespace
