// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Many small systems of one order in one call of strata.h: results.
#include <c/StrataTest_Batches.hpp>

#include <gtest/gtest.h>
#include <strata.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace strata::test {
namespace {

template <class T>
class CBatched : public testing::Test {};
TYPED_TEST_SUITE(CBatched, CallTypes, CallNames);

// Orders and counts beside those of the kernels' blocks and lanes, and beyond Strata's own kernels
// (257).
TYPED_TEST(CBatched, FactorsAndSolvesAsALoopOfLapacksDoes) {
  for (char const uplo : {'L', 'u'})
    for (std::int64_t const n : {1, 2, 7, 16, 33, 64, 257})
      for (std::int64_t const count : {1, 2, 9}) {
        Batch<TypeParam> one(uplo, n, 3, count), two(uplo, n, 3, count);
        ASSERT_EQ(one.factor_and_solve(), STRATA_SUCCESS) << strata_message();
        ASSERT_EQ(two.factor(), STRATA_SUCCESS) << strata_message();
        ASSERT_EQ(two.solve(), STRATA_SUCCESS) << strata_message();
        EXPECT_TRUE(one.has_no_failure() && two.has_no_failure()) << uplo << n;
        EXPECT_TRUE(one.rest_is_untouched() && two.rest_is_untouched())
            << uplo << n << ' ' << count;
        expect_as_in_a_loop(one);
        expect_as_in_a_loop(two);
      }
}

// To a device and back in many pieces, of which most end within a matrix.
TYPED_TEST(CBatched, SolvesWhatCrossesInManyPieces) {
  double const eps = std::numeric_limits<typename TypeParam::Scalar>::epsilon();
  for (char const uplo : {'L', 'U'}) {
    Batch<TypeParam> batch(uplo, 90, 2, 400);
    ASSERT_EQ(batch.factor_and_solve(), STRATA_SUCCESS) << strata_message();
    for (std::int64_t b = 0; b < batch.count; ++b) {
      EXPECT_EQ(batch.info[static_cast<std::size_t>(b)], 0);
      EXPECT_LE(batch.system(b).backward_error(batch.B_of(b)), 10 * eps) << b;
      EXPECT_TRUE(batch.system(b).rest_is_untouched(batch.A_of(b), true)) << b;
    }
  }
}

// A pivot of system `which` that fails, and what the message has to say.
template <class Call>
void expect_one_failure(std::int64_t n, std::int64_t position, double bad) {
  using T = typename Call::Scalar;
  std::int64_t const count = 9, which = 4;
  Batch<Call> good('L', n, 2, count), batch('L', n, 2, count), factors('L', n, 2, count);
  for (auto* const changed : {&batch, &factors}) {
    auto& s = changed->system(which);
    s.A[s.at(position, position)] = static_cast<T>(bad);
    changed->load();
  }
  ASSERT_EQ(good.factor_and_solve(), STRATA_SUCCESS);
  std::string const text =
      "1 of 9 systems are not positive definite, or hold a NaN: in system 4, "
      "counted from 0, the leading minor of order " +
      std::to_string(position + 1) + " is not positive";
  EXPECT_EQ(factors.factor(), STRATA_NOT_POSITIVE_DEFINITE);
  EXPECT_STREQ(strata_message(), text.c_str());
  EXPECT_EQ(batch.factor_and_solve(), STRATA_NOT_POSITIVE_DEFINITE);
  EXPECT_STREQ(strata_message(), text.c_str());
  EXPECT_EQ(batch.info, factors.info);
  for (std::int64_t b = 0; b < count; ++b) {
    auto const order = batch.info[static_cast<std::size_t>(b)];
    EXPECT_EQ(order, b == which ? position + 1 : 0) << b;
    if (b != which) {
      EXPECT_TRUE(same(batch.A_of(b), good.A_of(b)) && same(batch.B_of(b), good.B_of(b))) << b;
    }
  }
  EXPECT_TRUE(same(batch.B_of(which), batch.system(which).B));
}

TYPED_TEST(CBatched, SaysWhichSystemFailsAndSolvesTheOthers) {
  for (std::int64_t const n : {1, 8, 35})
    for (std::int64_t const position : {std::int64_t(0), n / 2, n - 1})
      for (double const bad : {-1.0, std::nan("")}) expect_one_failure<TypeParam>(n, position, bad);
}

TYPED_TEST(CBatched, CountsTheSystemsThatFail) {
  Batch<TypeParam> batch('U', 12, 1, 6);
  for (std::int64_t const b : {2, 3, 5}) {
    batch.system(b).A[batch.system(b).at(b, b)] = -1;
  }
  batch.load();
  EXPECT_EQ(batch.factor(), STRATA_NOT_POSITIVE_DEFINITE);
  EXPECT_EQ(batch.info, (std::vector<std::int64_t>{0, 0, 3, 4, 0, 6}));
  EXPECT_TRUE(holds(strata_message(), "3 of 6 systems"));
  EXPECT_TRUE(holds(strata_message(), "in system 2, counted from 0, the leading minor of order 3"));
}

// Multiples by powers of 4: the factors are those of 2, and nothing overflows on the way.
TYPED_TEST(CBatched, TakesTinyAndHugeNumbers) {
  using T = typename TypeParam::Scalar;
  for (int const power : {-1, 1}) {
    T const two = static_cast<T>(std::ldexp(1.0, power * (sizeof(T) == 8 ? 400 : 40)));
    Batch<TypeParam> plain('L', 20, 2, 5), scaled('L', 20, 2, 5);
    for (T& a : scaled.A) a *= two * two;
    for (T& b : scaled.B) b *= two;
    ASSERT_EQ(plain.factor_and_solve(), STRATA_SUCCESS);
    ASSERT_EQ(scaled.factor_and_solve(), STRATA_SUCCESS);
    for (T& a : scaled.A) a /= two;
    for (T& b : scaled.B) b *= two;
    EXPECT_TRUE(same(scaled.A, plain.A) && same(scaled.B, plain.B)) << power;
  }
}

// Records of a matrix and its right-hand side.
TYPED_TEST(CBatched, TakesMatricesAndRightHandSidesInTurns) {
  using T = typename TypeParam::Scalar;
  std::int64_t const n = 10, count = 7, ld = n + 3, record = ld * (n + 1);
  Batch<TypeParam> batch('L', n, 1, count);
  std::vector<T> records(static_cast<std::size_t>(record * count));
  for (std::int64_t b = 0; b < count; ++b) {
    auto const& s = batch.system(b);
    std::copy(s.A.begin(), s.A.end(), records.begin() + b * record);
    std::copy(s.B.begin(), s.B.end(), records.begin() + b * record + ld * n);
  }
  ASSERT_EQ(TypeParam::posv_batched('L', n, 1, records.data(), ld, record, records.data() + ld * n,
                                    ld, record, count, batch.info.data()),
            STRATA_SUCCESS);
  ASSERT_EQ(batch.factor_and_solve(), STRATA_SUCCESS);
  for (std::int64_t b = 0; b < count; ++b) {
    auto const size = static_cast<std::size_t>(ld * n), rest = static_cast<std::size_t>(ld);
    EXPECT_TRUE(same(batch.part(records, b * record, size), batch.A_of(b))) << b;
    EXPECT_TRUE(same(batch.part(records, b * record + ld * n, rest), batch.B_of(b))) << b;
  }
}

TYPED_TEST(CBatched, MeasuresErrorsAndSumsLogarithms) {
  using T = typename TypeParam::Scalar;
  double const eps = std::numeric_limits<T>::epsilon();
  for (char const uplo : {'L', 'U'}) {
    Batch<TypeParam> batch(uplo, 24, 2, 5), before = batch;
    auto& bad = batch.system(1);
    bad.A[bad.at(6, 6)] = -1;
    batch.load();
    ASSERT_EQ(batch.factor_and_solve(), STRATA_NOT_POSITIVE_DEFINITE);
    std::vector<double> sums(5, -7), errors(5, -7);
    ASSERT_EQ(TypeParam::log_determinants(uplo, 24, batch.A.data(), batch.ld, batch.stride_a, 5,
                                          batch.info.data(), sums.data()),
              STRATA_SUCCESS);
    batch.B[static_cast<std::size_t>(batch.stride_b * 2)] = System<T>::nan;
    batch.B[static_cast<std::size_t>(batch.stride_b * 3)] *= T(1.01);
    ASSERT_EQ(TypeParam::backward_errors(uplo, 24, 2, before.A.data(), batch.ld, batch.stride_a,
                                         batch.B.data(), batch.ld, batch.stride_b, before.B.data(),
                                         batch.ld, batch.stride_b, 5, errors.data()),
              STRATA_SUCCESS);
    for (std::int64_t const b : {0, 2, 3, 4}) {
      auto const L = batch.A_of(b);
      double sum = 0;
      for (std::int64_t i = 0; i < 24; ++i)
        sum += 2 * std::log(static_cast<double>(L[batch.system(b).at(i, i)]));
      EXPECT_NEAR(sums[static_cast<std::size_t>(b)], sum, 1e-12 * std::abs(sum)) << b;
    }
    EXPECT_TRUE(std::isnan(sums[1]));
    EXPECT_LE(errors[0], 10 * eps);
    EXPECT_GT(errors[1], 1e-2);  // X is B
    EXPECT_EQ(errors[2], INFINITY);
    EXPECT_GT(errors[3], 1e-5);
    EXPECT_LT(errors[3], 1e-2);
    EXPECT_LE(errors[4], 10 * eps);
    // The residual of 24 terms is made in fp64: (n + 2) u beside |A| |x| + |b|, of which the
    // quotient is.
    double const rounding = (24 + 2) * 0x1p-53;
    for (std::size_t const k : {0u, 1u, 3u, 4u}) {
      auto const b = static_cast<std::int64_t>(k);
      double const exact =
          before.system(b).backward_error(batch.B_of(b), &ResidualNorms::backward_error);
      EXPECT_NEAR(errors[k], exact, 1e-12 * exact + rounding) << k;
    }
  }
}

}  // namespace
}  // namespace strata::test
