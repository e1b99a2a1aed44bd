// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Allocations.hpp"
#include "StrataTest_BackwardError.hpp"
#include "StrataTest_BatchedSystems.hpp"
#include "StrataTest_Dense.hpp"
#include "StrataTest_InstanceRecorder.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/Strata_Backends.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/Strata_BatchedCholesky.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;

template <class Space>
class BatchedCholeskyOn : public testing::Test {};
TYPED_TEST_SUITE(BatchedCholeskyOn, Spaces, SpaceNames);

// The factor is the slow reference's but for roundings of rows of length sqrt(a_ii), what lies
// around it is NaN as before, and the solution is backward stable.
template <class Space, class T>
void factors_and_solves(Index n, Index columns, Index count, Uplo uplo, BlasPath path) {
  SCOPED_TRACE(testing::Message() << "n " << n << ", " << columns << " columns, " << count
                                  << " systems, " << (uplo == Uplo::Lower ? "lower" : "upper")
                                  << ", path " << name_of(path));
  auto const batch = dominant_batch<Space, T>(n, columns, count, uplo);
  BatchedCholesky<Space> cholesky(Space(), path);
  cholesky.factor_and_solve(uplo, batch.matrices(batch.a), batch.right_hand_sides(batch.b),
                            batch.info);
  cholesky.exec().fence();
  EXPECT_EQ(batch.orders(), std::vector<Index>(static_cast<std::size_t>(count), 0));
  auto const L = batch.copy(batch.a), X = batch.copy(batch.b);
  double const unit = std::numeric_limits<T>::epsilon(),
               bar = 4 * unit * std::sqrt(static_cast<double>(n));  // of sums of n roundings
  for (Index k = 0; k < count; k += count > 40 ? 111 : 1) {
    HostMatrix const A = batch.matrix(k), reference = batch.matrix(k);
    ASSERT_EQ(reference_cholesky(reference), 0);
    double worst = 0;
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j <= i; ++j)
        worst =
            std::max(worst, std::abs(L[batch.at(k, i, j)] - reference(i, j)) / std::sqrt(A(i, i)));
    EXPECT_LE(worst, bar) << k;
    EXPECT_LE(backward_error(A, batch.rights(X, k), batch.rights(batch.B, k)), bar) << k;
  }
  bool const may_write_all = path == BlasPath::Vendor && !strata::runs_on_host<Space>;
  auto untouched = batch.A;  // a GPU vendor's routines write to the other triangle, too
  for (Index k = 0; may_write_all && k < count; ++k)
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < i; ++j) untouched[batch.at(k, j, i)] = L[batch.at(k, j, i)];
  for (std::size_t i = 0; i < L.size(); ++i) ASSERT_EQ(std::isnan(L[i]), std::isnan(untouched[i]));
  for (std::size_t i = 0; i < X.size(); ++i) ASSERT_EQ(std::isnan(X[i]), std::isnan(batch.B[i]));

  // In two calls: the same factor, and the same solution but for the order of its sums
  auto const again = dominant_batch<Space, T>(n, columns, count, uplo);
  cholesky.factor(uplo, again.matrices(again.a), again.info);
  auto L_again = batch.copy(again.a);
  for (Index k = 0; may_write_all && k < count; ++k)
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < i; ++j) L_again[batch.at(k, j, i)] = L[batch.at(k, j, i)];
  EXPECT_EQ(std::memcmp(L_again.data(), L.data(), L.size() * sizeof(T)), 0);
  cholesky.solve(uplo, again.matrices(again.a), again.right_hand_sides(again.b));
  auto const X_again = batch.copy(again.b);
  for (Index k = 0; k < count; k += count > 40 ? 111 : 1)
    EXPECT_LE(backward_error(batch.matrix(k), batch.rights(X_again, k), batch.rights(batch.B, k)),
              bar)
        << k;
}

TYPED_TEST(BatchedCholeskyOn, FactorsAndSolvesEachOrder) {
  for (Index const n : {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200})
    for (Uplo const uplo : {Uplo::Lower, Uplo::Upper}) {
      factors_and_solves<TypeParam, double>(n, 1, 11, uplo, BlasPath::Automatic);
      factors_and_solves<TypeParam, float>(n, 6, 11, uplo, BlasPath::Automatic);
    }
}
TYPED_TEST(BatchedCholeskyOn, TakesBatchesOfEachSize) {
  for (Index const count : {0, 1, 2, 15, 16, 17, 33, 1000}) {
    for (BlasPath const path : {BlasPath::Automatic, BlasPath::Portable}) {
      factors_and_solves<TypeParam, double>(16, 1, count, Uplo::Lower, path);
      factors_and_solves<TypeParam, float>(7, 5, count, Uplo::Upper, path);
    }
  }
}
TYPED_TEST(BatchedCholeskyOn, TheVendorsRoutinesDoTheSame) {
  if (!vendor_libraries<TypeParam>.factorisation) GTEST_SKIP() << "no such library";
  for (Index const n : {1, 16, 33, 130})
    for (Uplo const uplo : {Uplo::Lower, Uplo::Upper}) {
      factors_and_solves<TypeParam, double>(n, 2, 7, uplo, BlasPath::Vendor);
      factors_and_solves<TypeParam, float>(n, 1, 7, uplo, BlasPath::Vendor);
    }
}

TYPED_TEST(BatchedCholeskyOn, OrderZeroAndNoColumnsAreSystemsToo) {
  using Matrices = Kokkos::View<double***, Kokkos::LayoutLeft, typename TypeParam::memory_space>;
  BatchedCholesky<TypeParam> cholesky;
  typename BatchedCholesky<TypeParam>::InfoView const info("strata::test::info", 3);
  typename BatchedCholesky<TypeParam>::ResultView const results("strata::test::results", 3);
  auto const finds = [&](double expected) {
    auto const orders = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), info);
    auto const numbers = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), results);
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(orders(k), 0);
      EXPECT_NEAR(numbers(k), expected, 1e-15);
    }
  };
  Kokkos::deep_copy(info, -7);
  Matrices const none("strata::test::none", 0, 0, 3), right("strata::test::right", 0, 2, 3);
  cholesky.factor_and_solve(Uplo::Lower, none, right, info);
  cholesky.solve(Uplo::Lower, none, right);
  cholesky.log_determinants(none, info, results);
  finds(0);
  cholesky.backward_errors(Uplo::Lower, none, right, right, results);
  finds(0);
  Matrices const A("strata::test::A", 1, 1, 3), no_columns("strata::test::none", 1, 0, 3);
  Kokkos::deep_copy(A, 9.0);
  Kokkos::deep_copy(info, -7);
  cholesky.factor_and_solve(Uplo::Upper, A, no_columns, info);
  cholesky.log_determinants(A, info, results);
  finds(std::log(9.0));
}

// What breaks down in the middle of a batch leaves all others as they are without it, to the last
// bit.
template <class Space, class T>
void breaks_down_alone(Index n, Uplo uplo, BlasPath path = BlasPath::Automatic) {
  Index const count = 37;
  auto const good = dominant_batch<Space, T>(n, 2, count, uplo);
  auto bad = dominant_batch<Space, T>(n, 2, count, uplo);
  std::vector<Index> expected(static_cast<std::size_t>(count), 0);
  T const nan = Batched<Space, T>::nan, infinity = std::numeric_limits<T>::infinity();
  auto const spoil = [&](Index k, Index i, Index j, T value, Index order) {
    bad.A[bad.at(k, i, j)] = value;
    expected[static_cast<std::size_t>(k)] = order;
  };
  spoil(3, n / 2, n / 2, T(-1), n / 2 + 1);
  spoil(4, 0, 0, T(0), 1);
  spoil(17, n - 1, 0, nan, n);
  spoil(18, n - 1, n - 1, infinity, n);
  spoil(36, n - 1, n - 1, nan, n);
  bad.load();
  BatchedCholesky<Space> cholesky(Space(), path);
  for (auto const& batch : {good, bad})
    cholesky.factor_and_solve(uplo, batch.matrices(batch.a), batch.right_hand_sides(batch.b),
                              batch.info);
  cholesky.exec().fence();
  EXPECT_EQ(bad.orders(), expected) << n;
  auto const L = good.copy(good.a), X = good.copy(good.b), L_bad = bad.copy(bad.a),
             X_bad = bad.copy(bad.b);
  typename BatchedCholesky<Space>::ResultView const logarithms("strata::test::logarithms", count);
  cholesky.log_determinants(bad.matrices(bad.a), bad.info, logarithms);
  auto const log_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), logarithms);
  auto const same = [](std::vector<T> const& x, std::vector<T> const& y, Index k, Index stride) {
    return std::memcmp(&x[static_cast<std::size_t>(k * stride)],
                       &y[static_cast<std::size_t>(k * stride)],
                       static_cast<std::size_t>(stride) * sizeof(T)) == 0;
  };
  for (Index k = 0; k < count; ++k) {
    bool const broken = expected[static_cast<std::size_t>(k)] != 0;
    EXPECT_TRUE(broken || same(L, L_bad, k, good.stride_a)) << n << ' ' << k;
    EXPECT_TRUE(same(broken ? bad.B : X, X_bad, k, good.stride_b)) << n << ' ' << k;
    EXPECT_EQ(std::isnan(log_host(static_cast<std::size_t>(k))), broken) << n << ' ' << k;
  }
}
TYPED_TEST(BatchedCholeskyOn, BreakdownIsOneSystemsAlone) {
  for (Index const n : {2, 16, 33, 100})
    for (Uplo const uplo : {Uplo::Lower, Uplo::Upper}) {
      breaks_down_alone<TypeParam, double>(n, uplo);
      breaks_down_alone<TypeParam, float>(n, uplo);
      if (runs_on_host<TypeParam> && vendor_libraries<TypeParam>.factorisation)
        breaks_down_alone<TypeParam, double>(n, uplo, BlasPath::Vendor);
    }
}

// Spectra that fall by 1e8, the exponential covariance of points on a line, a bad one, and sizes
// near the ends of the type.
template <class Space, class T>
Batched<Space, T> hard_batch(Index n) {
  double const small = std::is_same_v<T, double> ? 1e-280 : 1e-30, large = 1 / small;
  Batched<Space, T> batch(n, 3, 6, Uplo::Lower);
  HostMatrix const geometric =
      generate(MatrixKind::Geometric, n, {.condition = std::is_same_v<T, double> ? 1e8 : 1e4});
  auto const exponential = [](Index i, Index j) {
    return std::exp(-0.01 * std::abs(double(i - j)));
  };
  auto const matern = [](Index i, Index j) {  // smoothness 3/2
    double const r = 0.2 * std::abs(double(i - j));
    return (1 + r) * std::exp(-r);
  };
  double const sizes[] = {1, 1, 1, small, large, 1};
  for (Index k = 0; k < batch.count; ++k) {
    double const size = sizes[k];
    batch.set(k, [&](Index i, Index j) {
      return size * (k == 1 ? exponential(i, j) : k == 2 ? matern(i, j) : geometric(i, j));
    });
    batch.set_right(k, [&](Index i, Index c) {
      return (k == 5 ? small : 1) * (uniform(static_cast<std::uint64_t>(k + 5), i, c) - 0.5);
    });
  }
  batch.load();
  return batch;
}
template <class Space, class T>
void is_right_on_hard_systems(Index n, BlasPath path) {
  auto const batch = hard_batch<Space, T>(n);
  BatchedCholesky<Space> cholesky(Space(), path);
  auto const A = Kokkos::create_mirror(typename Space::memory_space(), batch.a),
             B = Kokkos::create_mirror(typename Space::memory_space(), batch.b);
  Kokkos::deep_copy(A, batch.a);
  Kokkos::deep_copy(B, batch.b);
  cholesky.factor_and_solve(Uplo::Lower, batch.matrices(batch.a), batch.right_hand_sides(batch.b),
                            batch.info);
  typename BatchedCholesky<Space>::ResultView const errors("strata::test::errors", batch.count),
      logarithms("strata::test::logarithms", batch.count);
  cholesky.backward_errors(Uplo::Lower, batch.matrices(A), batch.right_hand_sides(batch.b),
                           batch.right_hand_sides(B), errors);
  cholesky.log_determinants(batch.matrices(batch.a), batch.info, logarithms);
  cholesky.exec().fence();
  EXPECT_EQ(batch.orders(), std::vector<Index>(static_cast<std::size_t>(batch.count), 0)) << n;
  auto const error = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), errors);
  auto const logarithm = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), logarithms);
  auto const X = batch.copy(batch.b);
  double const unit = std::numeric_limits<T>::epsilon();
  for (Index k = 0; k < batch.count; ++k) {
    auto const number = static_cast<std::size_t>(k);
    double const expected =
        backward_error(batch.matrix(k), batch.rights(X, k), batch.rights(batch.B, k));
    EXPECT_LE(expected, 4 * unit) << n << ' ' << k;
    // its own residuals are rounded, in fp64
    EXPECT_NEAR(error(number), expected, 0.01 * expected + 0x1p-52 * std::sqrt(double(n)))
        << n << ' ' << k;
    HostMatrix const reference = batch.matrix(k);
    ASSERT_EQ(reference_cholesky(reference), 0);
    double sum = 0;
    for (Index j = 0; j < n; ++j) sum += 2 * std::log(reference(j, j));
    EXPECT_NEAR(logarithm(number), sum, 1e8 * unit * double(n) * 0.1) << n << ' ' << k;
  }
}
TYPED_TEST(BatchedCholeskyOn, IsRightOnHardSystemsAndSaysHowRight) {
  for (Index const n : {8, 32, 100})
    for (BlasPath const path : {BlasPath::Automatic, BlasPath::Portable}) {
      is_right_on_hard_systems<TypeParam, double>(n, path);
      is_right_on_hard_systems<TypeParam, float>(n, path);
    }
}

TYPED_TEST(BatchedCholeskyOn, SaysOfAWrongSolutionHowWrongItIs) {
  using Space = TypeParam;
  Index const n = 20, count = 4;
  auto const batch = dominant_batch<Space, double>(n, 2, count, Uplo::Upper);
  auto X = batch.B;  // no solutions
  X[batch.right(2, 7, 1)] = nan_value;
  typename Batched<Space, double>::Numbers const x("strata::test::X", X.size());
  Batched<Space, double>::copy(x, X);
  BatchedCholesky<Space> cholesky;
  typename BatchedCholesky<Space>::ResultView const errors("strata::test::errors", count);
  cholesky.backward_errors(Uplo::Upper, batch.matrices(batch.a), batch.right_hand_sides(x),
                           batch.right_hand_sides(batch.b), errors);
  cholesky.exec().fence();
  auto const error = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), errors);
  EXPECT_EQ(error(2), std::numeric_limits<double>::infinity());
  for (Index const k : {0, 1, 3}) {
    double const expected =
        backward_error(batch.matrix(k), batch.rights(X, k), batch.rights(batch.B, k));
    EXPECT_NEAR(error(static_cast<std::size_t>(k)), expected, 1e-12);
    EXPECT_GT(expected, 0.1);
  }
}

// n x n x count by columns, and right-hand sides as a View of rank 2; then the same numbers as
// matrices by rows.
TYPED_TEST(BatchedCholeskyOn, TakesViewsOfOtherShapes) {
  using Space = TypeParam;
  Index const n = 12, count = 5;
  auto const host =
      dominant_batch<Kokkos::HostSpace::execution_space, double>(n, 1, count, Uplo::Lower);
  using Matrices = Kokkos::View<double***, Kokkos::LayoutLeft, typename Space::memory_space>;
  using Vectors = Kokkos::View<double**, Kokkos::LayoutLeft, typename Space::memory_space>;
  using ByRows = Kokkos::View<double***, Kokkos::LayoutStride, typename Space::memory_space>;
  BatchedCholesky<Space> cholesky;
  typename BatchedCholesky<Space>::InfoView const info("strata::test::info", count);
  for (bool const by_rows : {false, true}) {
    Matrices const A("strata::test::A", n, n, count);
    Vectors const B("strata::test::B", n, count);
    auto const A_host = Kokkos::create_mirror_view(A);
    auto const B_host = Kokkos::create_mirror_view(B);
    for (Index k = 0; k < count; ++k)
      for (Index i = 0; i < n; ++i) {
        B_host(i, k) = host.B[host.right(k, i, 0)];
        for (Index j = 0; j < n; ++j)
          (by_rows ? A_host(j, i, k) : A_host(i, j, k)) =
              i >= j ? host.A[host.at(k, i, j)] : nan_value;
      }
    Kokkos::deep_copy(A, A_host);
    Kokkos::deep_copy(B, B_host);
    if (by_rows)
      cholesky.factor_and_solve(
          Uplo::Lower,
          ByRows(A.data(),
                 Kokkos::LayoutStride(n, n, n, 1, count, static_cast<std::size_t>(n * n))),
          B, info);
    else
      cholesky.factor_and_solve(Uplo::Lower, A, B, info);
    cholesky.exec().fence();
    Kokkos::deep_copy(B_host, B);
    for (Index k = 0; k < count; ++k) {
      HostMatrix const X("strata::test::X", n, 1);
      for (Index i = 0; i < n; ++i) X(i, 0) = B_host(i, k);
      EXPECT_LE(backward_error(host.matrix(k), X, host.rights(host.B, k)), 1e-15) << by_rows;
    }
  }
}

TYPED_TEST(BatchedCholeskyOn, AllocatesNothingTheSecondTime) {
  auto const batch = dominant_batch<TypeParam, double>(40, 2, 50, Uplo::Lower);
  BatchedCholesky<TypeParam> cholesky;
  typename BatchedCholesky<TypeParam>::ResultView const results("strata::test::results", 50);
  auto const matrices = batch.matrices(batch.a), right = batch.right_hand_sides(batch.b);
  auto const all = [&] {
    batch.load();
    Allocations const allocations;
    cholesky.factor_and_solve(Uplo::Lower, matrices, right, batch.info);
    cholesky.solve(Uplo::Lower, matrices, right);
    cholesky.log_determinants(matrices, batch.info, results);
    cholesky.backward_errors(Uplo::Lower, matrices, right, right, results);
    cholesky.exec().fence();
    return allocations.labels();
  };
  auto const first = all();
  EXPECT_EQ(first.empty(), !strata::runs_on_host<TypeParam>);  // a device needs none
  EXPECT_EQ(all(), std::multiset<std::string>());
}

TYPED_TEST(BatchedCholeskyOn, RunsOnTheInstancePassed) {
  STRATATEST_NEEDS_INSTANCES(TypeParam, 2);
  for (BlasPath const path : {BlasPath::Automatic, BlasPath::Vendor}) {
    if (path == BlasPath::Vendor && !vendor_libraries<TypeParam>.factorisation) continue;
    auto const batch = dominant_batch<TypeParam, double>(20, 2, 50, Uplo::Lower);
    TypeParam const exec = Kokkos::Experimental::partition_space(TypeParam(), 1, 1)[1];
    typename BatchedCholesky<TypeParam>::ResultView const results("strata::test::results", 50);
    auto const matrices = batch.matrices(batch.a), right = batch.right_hand_sides(batch.b);
    InstanceRecorder const recorder(exec);
    BatchedCholesky<TypeParam> cholesky(exec, path);
    cholesky.factor_and_solve(Uplo::Lower, matrices, right, batch.info);
    cholesky.log_determinants(matrices, batch.info, results);
    cholesky.backward_errors(Uplo::Lower, matrices, right, right, results);
    for (auto const& offence : recorder.offences()) ADD_FAILURE() << offence;
  }
}

TYPED_TEST(BatchedCholeskyOn, RefusesShapesThatDoNotFit) {
  using Matrices = Kokkos::View<double***, Kokkos::LayoutLeft, typename TypeParam::memory_space>;
  using Interleaved =
      Kokkos::View<double***, Kokkos::LayoutRight, typename TypeParam::memory_space>;
  using Results = typename BatchedCholesky<TypeParam>::ResultView;
  BatchedCholesky<TypeParam> cholesky;
  typename BatchedCholesky<TypeParam>::InfoView const info("strata::test::info", 3);
  Matrices const A("strata::test::A", 4, 4, 3), wide("strata::test::A", 4, 5, 3),
      B("strata::test::B", 4, 2, 3), few("strata::test::B", 4, 2, 2),
      tall("strata::test::B", 5, 2, 3);
  Interleaved const other("strata::test::A", 4, 4, 3), other_b("strata::test::B", 4, 2, 3);
  Results const results("strata::test::results", 3), short_results("strata::test::results", 2);
  auto const refuses = [&](char const* text, auto const& call) {
    EXPECT_TRUE(throws_with<ShapeError>(text, call));
  };
  Uplo const lower = Uplo::Lower;
  refuses("factor: the matrices are 4 x 5, must be square",
          [&] { cholesky.factor(lower, wide, info); });
  refuses("a 4 x 4 View with strides 12 and 3: one of them must be 1",
          [&] { cholesky.factor(lower, other, info); });
  refuses("the right-hand sides' rows are 6 numbers apart, must be 1",
          [&] { cholesky.solve(lower, A, other_b); });
  refuses("solve: right-hand sides of 2 systems for 3 matrices",
          [&] { cholesky.solve(lower, A, few); });
  refuses("potrs: extents don't fit: B 5 x 2", [&] { cholesky.solve(lower, A, tall); });
  typename BatchedCholesky<TypeParam>::InfoView const short_info("strata::test::info", 2);
  refuses("posv: info has 2 numbers for 3 systems",
          [&] { cholesky.factor_and_solve(lower, A, B, short_info); });
  refuses("log_determinants: info has 2 numbers for 3 systems",
          [&] { cholesky.log_determinants(A, short_info, results); });
  refuses("log_determinants: the result has 2 numbers for 3 systems",
          [&] { cholesky.log_determinants(A, info, short_results); });
  refuses("backward_errors: A is of order 4, X 4 x 2, B 5 x 2",
          [&] { cholesky.backward_errors(lower, A, B, tall, results); });
  refuses("backward_errors: the result has 2 numbers for 3 systems",
          [&] { cholesky.backward_errors(lower, A, B, B, short_results); });
}

}  // namespace
