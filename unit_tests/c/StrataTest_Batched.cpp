// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Many small systems of one order in one call of strata.h.
#include <c/StrataTest_Systems.hpp>

#include <Kokkos_Core.hpp>

#include <StrataTest_Allocations.hpp>
#include <gtest/gtest.h>
#include <strata.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace strata::test {
namespace {

struct Single {
  using Scalar = float;
  static constexpr auto potrf = strata_spotrf;
  static constexpr auto potrs = strata_spotrs;
  static constexpr auto potrf_batched = strata_spotrf_batched;
  static constexpr auto potrs_batched = strata_spotrs_batched;
  static constexpr auto posv_batched = strata_sposv_batched;
  static constexpr auto log_determinants = strata_slog_determinants_batched;
  static constexpr auto backward_errors = strata_sbackward_errors_batched;
};
struct Double {
  using Scalar = double;
  static constexpr auto potrf = strata_dpotrf;
  static constexpr auto potrs = strata_dpotrs;
  static constexpr auto potrf_batched = strata_dpotrf_batched;
  static constexpr auto potrs_batched = strata_dpotrs_batched;
  static constexpr auto posv_batched = strata_dposv_batched;
  static constexpr auto log_determinants = strata_dlog_determinants_batched;
  static constexpr auto backward_errors = strata_dbackward_errors_batched;
};

struct Names {
  template <class T>
  static std::string GetName(int) {
    return sizeof(typename T::Scalar) == 8 ? "double" : "float";
  }
};

template <class T>
class CBatched : public testing::Test {};
using Types = testing::Types<Single, Double>;
TYPED_TEST_SUITE(CBatched, Types, Names);

template <class T>
bool same(std::vector<T> const& a, std::vector<T> const& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](T x, T y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

// Systems in one array of matrices and one of right-hand sides, each other than the one before, with NaN between them.
template <class Call>
struct Batch {
  using T = typename Call::Scalar;

  Batch(char triangle, std::int64_t order, std::int64_t columns, std::int64_t systems_in_it)
      : uplo(triangle), n(order), nrhs(columns), count(systems_in_it), ld(order + 3) {
    stride_a = ld * std::max<std::int64_t>(n, 1) + 5;
    stride_b = ld * std::max<std::int64_t>(nrhs, 1) + 7;
    A.assign(static_cast<std::size_t>(stride_a * count), System<T>::nan);
    B.assign(static_cast<std::size_t>(stride_b * count), System<T>::nan);
    info.assign(static_cast<std::size_t>(count), -7);
    for (std::int64_t b = 0; b < count; ++b) {
      System<T> one(uplo, n, nrhs, 0.1 + 0.05 * static_cast<double>(b));
      for (T& number : one.B) number *= static_cast<T>(b + 1);
      systems.push_back(one);
    }
    load();
  }
  void load() {
    for (std::int64_t b = 0; b < count; ++b) {
      std::copy(system(b).A.begin(), system(b).A.end(), A.begin() + b * stride_a);
      std::copy(system(b).B.begin(), system(b).B.end(), B.begin() + b * stride_b);
    }
  }
  System<T>& system(std::int64_t b) { return systems[static_cast<std::size_t>(b)]; }
  System<T> const& system(std::int64_t b) const { return systems[static_cast<std::size_t>(b)]; }

  std::vector<T> A_of(std::int64_t b) const { return part(A, b * stride_a, system(b).A.size()); }
  std::vector<T> B_of(std::int64_t b) const { return part(B, b * stride_b, system(b).B.size()); }

  strata_status factor() {
    return Call::potrf_batched(uplo, n, A.data(), ld, stride_a, count, info.data());
  }
  strata_status solve() {
    return Call::potrs_batched(uplo, n, nrhs, A.data(), ld, stride_a, B.data(), ld, stride_b,
                               count);
  }
  strata_status factor_and_solve() {
    return Call::posv_batched(uplo, n, nrhs, A.data(), ld, stride_a, B.data(), ld, stride_b, count,
                              info.data());
  }
  bool has_no_failure() const {
    return std::all_of(info.begin(), info.end(), [](std::int64_t k) { return k == 0; });
  }
  // What lies in the other triangles, in the padding and between the matrices.
  bool rest_is_untouched() const {
    for (std::int64_t b = 0; b < count; ++b) {
      if (!system(b).rest_is_untouched(A_of(b), true) ||
          !system(b).rest_is_untouched(B_of(b), false))
        return false;
      auto const a = static_cast<std::int64_t>(system(b).A.size()),
                 r = static_cast<std::int64_t>(system(b).B.size());
      for (T const x : part(A, b * stride_a + a, static_cast<std::size_t>(stride_a - a)))
        if (!std::isnan(x)) return false;
      for (T const x : part(B, b * stride_b + r, static_cast<std::size_t>(stride_b - r)))
        if (!std::isnan(x)) return false;
    }
    return true;
  }
  static std::vector<T> part(std::vector<T> const& all, std::int64_t first, std::size_t size) {
    return {all.begin() + first, all.begin() + first + static_cast<std::ptrdiff_t>(size)};
  }

  char uplo;
  std::int64_t n, nrhs, count, ld, stride_a = 0, stride_b = 0;
  std::vector<System<T>> systems;
  std::vector<T> A, B;
  std::vector<std::int64_t> info;
};

// The largest difference of two arrays where both have numbers, and infinity where but one has.
template <class T>
double largest_difference(std::vector<T> const& a, std::vector<T> const& b) {
  double most = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (std::isnan(a[k]) && std::isnan(b[k])) continue;
    double const off = std::abs(static_cast<double>(a[k]) - static_cast<double>(b[k]));
    most = off <= most ? most : std::isnan(off) ? INFINITY : off;
  }
  return most;
}

// LAPACK's way: one system after the other.
template <class Call>
void expect_as_in_a_loop(Batch<Call> const& batch) {
  double const eps = std::numeric_limits<typename Call::Scalar>::epsilon();
  double const n = static_cast<double>(batch.n);
  for (std::int64_t b = 0; b < batch.count; ++b) {
    auto const& s = batch.system(b);
    auto L = s.A, X = s.B;
    std::int64_t info = -9;
    ASSERT_EQ(Call::potrf(s.uplo, s.n, L.data(), s.ld, nullptr, &info), STRATA_SUCCESS);
    ASSERT_EQ(Call::potrs(s.uplo, s.n, s.nrhs, L.data(), s.ld, X.data(), s.ld, &info),
              STRATA_SUCCESS);
    // of elements that are 1 or less, and of X that the condition, at most 20 / 0.1, makes less sure
    double const largest = 20 * static_cast<double>(b + 1);
    EXPECT_LE(largest_difference(batch.A_of(b), L), 10 * n * eps) << b;
    EXPECT_LE(largest_difference(batch.B_of(b), X), 200 * n * eps * largest) << b;
    EXPECT_LE(s.factor_error(batch.A_of(b)), 10 * eps) << b;
    EXPECT_LE(s.backward_error(batch.B_of(b)), 10 * eps) << b;
  }
}

// Orders and counts beside those of the kernels' blocks and lanes, and beyond Strata's own kernels (257).
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

TYPED_TEST(CBatched, HasNothingToDo) {
  using T = typename TypeParam::Scalar;
  EXPECT_EQ(TypeParam::potrf_batched('L', 5, nullptr, 5, 0, 0, nullptr), STRATA_SUCCESS);
  EXPECT_EQ(TypeParam::potrs_batched('L', 5, 1, nullptr, 5, 0, nullptr, 5, 0, 0), STRATA_SUCCESS);
  EXPECT_EQ(TypeParam::posv_batched('L', 5, 1, nullptr, 5, 0, nullptr, 5, 0, 0, nullptr),
            STRATA_SUCCESS);
  EXPECT_EQ(TypeParam::log_determinants('L', 5, nullptr, 5, 0, 0, nullptr, nullptr),
            STRATA_SUCCESS);
  EXPECT_EQ(TypeParam::backward_errors('L', 5, 1, nullptr, 5, 0, nullptr, 5, 0, nullptr, 5, 0, 0,
                                       nullptr),
            STRATA_SUCCESS);
  // Order 0: each number of the result is there.
  std::vector<std::int64_t> info(3, -7), more(3, -7);
  std::vector<double> sums(3, -7), errors(3, -7);
  EXPECT_EQ(TypeParam::potrf_batched('L', 0, nullptr, 1, 0, 3, info.data()), STRATA_SUCCESS);
  EXPECT_EQ(TypeParam::potrs_batched('L', 0, 2, nullptr, 1, 0, nullptr, 1, 0, 3), STRATA_SUCCESS);
  EXPECT_EQ(TypeParam::posv_batched('U', 0, 2, nullptr, 1, 0, nullptr, 1, 0, 3, more.data()),
            STRATA_SUCCESS);
  EXPECT_EQ(TypeParam::log_determinants('L', 0, nullptr, 1, 0, 3, info.data(), sums.data()),
            STRATA_SUCCESS);
  EXPECT_EQ(TypeParam::backward_errors('L', 0, 2, nullptr, 1, 0, nullptr, 1, 0, nullptr, 1, 0, 3,
                                       errors.data()),
            STRATA_SUCCESS);
  EXPECT_EQ(info, std::vector<std::int64_t>(3, 0));
  EXPECT_EQ(more, std::vector<std::int64_t>(3, 0));
  EXPECT_EQ(sums, std::vector<double>(3, 0));
  EXPECT_EQ(errors, std::vector<double>(3, 0));
  // No right-hand side: factors alone. One system: any stride.
  Batch<TypeParam> none('L', 6, 0, 2), one('L', 6, 1, 1);
  EXPECT_EQ(TypeParam::posv_batched('L', 6, 0, none.A.data(), none.ld, none.stride_a, nullptr, 6, 0,
                                    2, none.info.data()),
            STRATA_SUCCESS);
  EXPECT_LE(none.system(1).factor_error(none.A_of(1)), 10 * std::numeric_limits<T>::epsilon());
  EXPECT_EQ(TypeParam::posv_batched('L', 6, 1, one.A.data(), one.ld, -1, one.B.data(), one.ld, 0, 1,
                                    one.info.data()),
            STRATA_SUCCESS);
  expect_as_in_a_loop(one);
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
    EXPECT_LE(errors[4], 1.0001 * before.system(4).backward_error(batch.B_of(4)));
  }
}

template <class Call>
struct Refusals {
  using T = typename Call::Scalar;
  Batch<Call> batch{'L', 3, 2, 4};
  Batch<Call> const before = batch;
  std::vector<double> numbers = std::vector<double>(4, -7);

  void expect(strata_status status, char const* text) {
    EXPECT_EQ(status, STRATA_INVALID_ARGUMENT) << text;
    EXPECT_TRUE(holds(strata_message(), text));
    EXPECT_TRUE(same(batch.A, before.A) && same(batch.B, before.B)) << text;
    EXPECT_TRUE(batch.info == before.info && numbers == std::vector<double>(4, -7)) << text;
  }
  T* A() { return batch.A.data(); }
  T* B() { return batch.B.data(); }
  std::int64_t* info() { return batch.info.data(); }

  void factor(char const* text, char uplo, std::int64_t n, T* A, std::int64_t lda,
              std::int64_t stride, std::int64_t count, std::int64_t* info) {
    expect(Call::potrf_batched(uplo, n, A, lda, stride, count, info), text);
    if (count > 0) {
      expect(Call::log_determinants(uplo, n, A, lda, stride, count, info, numbers.data()),
             std::string(text).find("of A") == std::string::npos ? text : "of L");
    }
  }
  void solve(char const* text, std::int64_t n, std::int64_t nrhs, T* A, std::int64_t lda,
             std::int64_t stride_a, T* B, std::int64_t ldb, std::int64_t stride_b,
             std::int64_t count) {
    expect(Call::potrs_batched('L', n, nrhs, A, lda, stride_a, B, ldb, stride_b, count), text);
    expect(Call::posv_batched('L', n, nrhs, A, lda, stride_a, B, ldb, stride_b, count, info()),
           text);
    expect(Call::backward_errors('L', n, nrhs, A, lda, stride_a, B, ldb, stride_b, B, ldb, stride_b,
                                 count, numbers.data()),
           std::string(text).find(" B ") == std::string::npos ? text : " X ");
  }
};

TYPED_TEST(CBatched, RefusesWrongArgumentsAndWritesNothing) {
  Refusals<TypeParam> r;
  auto const huge = std::int64_t(1) << 61;
  auto* const A = r.A();
  auto* const B = r.B();
  r.factor("uplo is '/', must be 'L' or 'U'", '/', 3, A, 6, 23, 4, r.info());
  r.factor("n is -1, must be >= 0", 'L', -1, A, 6, 23, 4, r.info());
  r.factor("count is -1, must be >= 0", 'L', 3, A, 6, 23, -1, r.info());
  r.factor(" is a null pointer", 'L', 3, nullptr, 6, 23, 4, r.info());
  r.factor("info is a null pointer", 'L', 3, A, 6, 23, 4, nullptr);
  r.factor("the leading dimension of A is 2, must be at least max(1, 3)", 'L', 3, A, 2, 23, 4,
           r.info());
  r.factor("the stride of A is 14, must be at least 15: its matrices overlap", 'L', 3, A, 6, 14, 4,
           r.info());
  r.factor("the stride of A is 0, must be at least 15", 'L', 3, A, 6, 0, 4, r.info());
  r.factor("the stride of A is -23, must be at least 15", 'L', 3, A, 6, -23, 4, r.info());
  r.factor("is larger than memory can be addressed", 'L', 3, A, 6, huge, 4, r.info());
  r.factor("is larger than memory can be addressed", 'L', 3, A, huge, huge, 1, r.info());
  r.solve("n is -2, must be >= 0", -2, 2, A, 6, 23, B, 6, 19, 4);
  r.solve("nrhs is -1, must be >= 0", 3, -1, A, 6, 23, B, 6, 19, 4);
  r.solve("count is -5, must be >= 0", 3, 2, A, 6, 23, B, 6, 19, -5);
  r.solve("A is a null pointer", 3, 2, nullptr, 6, 23, B, 6, 19, 4);
  r.solve(" is a null pointer", 3, 2, A, 6, 23, nullptr, 6, 19, 4);
  r.solve("the leading dimension of A is 2", 3, 2, A, 2, 23, B, 6, 19, 4);
  r.solve("the leading dimension of B is 2, must", 3, 2, A, 6, 23, B, 2, 19, 4);
  r.solve("the stride of A is 14, must be at least 15", 3, 2, A, 6, 14, B, 6, 19, 4);
  r.solve("the stride of B is 8, must be at least 9", 3, 2, A, 6, 23, B, 6, 8, 4);
  r.solve(" of 4 matrices ", 3, 2, A, 6, 23, B, 6, huge, 4);
  r.expect(TypeParam::posv_batched('L', 3, 2, A, 6, 23, B, 6, 19, 4, nullptr),
           "info is a null pointer");
  r.expect(TypeParam::log_determinants('L', 3, A, 6, 23, 4, r.info(), nullptr),
           "log_determinants is a null pointer");
  r.expect(TypeParam::backward_errors('L', 3, 2, A, 6, 23, B, 6, 19, nullptr, 6, 19, 4,
                                      r.numbers.data()),
           "B is a null pointer");
  r.expect(TypeParam::backward_errors('L', 3, 2, A, 6, 23, B, 6, 19, B, 6, 19, 4, nullptr),
           "errors is a null pointer");
  ASSERT_EQ(r.batch.factor_and_solve(), STRATA_SUCCESS) << strata_message();
  expect_as_in_a_loop(r.batch);
}

// Copies of the host's memory for a device aside.
TYPED_TEST(CBatched, AllocatesNothingTheSecondTime) {
  Batch<TypeParam> batch('L', 40, 1, 64);
  ASSERT_EQ(batch.factor_and_solve(), STRATA_SUCCESS);
  auto const first = batch.B;
  batch.load();
  Allocations const allocations;
  ASSERT_EQ(batch.factor_and_solve(), STRATA_SUCCESS);
  for (std::string const& label : Allocations::labels())
    EXPECT_TRUE(label.starts_with("strata::c::batch")) << label;
  EXPECT_TRUE(same(batch.B, first));
}

TYPED_TEST(CBatched, SaysThatSystemsAreOverwrittenInPart) {
  Batch<TypeParam> batch('L', 9, 1, 3);
  auto const saved = Kokkos::Tools::Experimental::get_callbacks();
  Kokkos::Tools::Experimental::set_begin_fence_callback(
      [](char const* name, std::uint32_t, std::uint64_t*) {
        if (std::string_view(name) == "strata::c::batch: the numbers of info are here")
          throw std::runtime_error("the device is lost");
      });
  auto const status = batch.factor_and_solve();
  std::string const message = strata_message();
  Kokkos::Tools::Experimental::set_callbacks(saved);
  EXPECT_EQ(status, STRATA_INCOMPLETE);
  EXPECT_TRUE(holds(message, "the device is lost"));
  batch.load();
  EXPECT_EQ(batch.factor_and_solve(), STRATA_SUCCESS);
}

template <class T>
using OnDevice = Kokkos::View<T*, Kokkos::DefaultExecutionSpace::memory_space>;
template <class T>
using OnHost = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

// Where there is a GPU, matrices and info of its memory, beside right-hand sides of the host's.
TYPED_TEST(CBatched, TakesTheDevicesMemoryAsItIs) {
  using T = typename TypeParam::Scalar;
  Batch<TypeParam> batch('U', 30, 2, 11);
  batch.system(5).A[batch.system(5).at(3, 3)] = -1;
  batch.load();
  OnDevice<T> const A("strata::test::c::A", batch.A.size());
  OnDevice<std::int64_t> const info("strata::test::c::info", batch.info.size());
  OnHost<T> const a(batch.A.data(), batch.A.size());
  OnHost<std::int64_t> const orders(batch.info.data(), batch.info.size());
  Kokkos::deep_copy(A, a);
  EXPECT_EQ(TypeParam::posv_batched('U', 30, 2, A.data(), batch.ld, batch.stride_a, batch.B.data(),
                                    batch.ld, batch.stride_b, 11, info.data()),
            STRATA_NOT_POSITIVE_DEFINITE);
  EXPECT_TRUE(holds(strata_message(), "in system 5, counted from 0, the leading minor of order 4"));
  Kokkos::deep_copy(a, A);
  Kokkos::deep_copy(orders, info);
  Batch<TypeParam> host('U', 30, 2, 11);
  host.system(5) = batch.system(5);
  host.load();
  EXPECT_EQ(host.factor_and_solve(), STRATA_NOT_POSITIVE_DEFINITE);
  EXPECT_EQ(batch.info, host.info);
  for (std::int64_t const b : {0, 4, 6, 10})
    EXPECT_TRUE(same(batch.A_of(b), host.A_of(b)) && same(batch.B_of(b), host.B_of(b))) << b;
}

}  // namespace
}  // namespace strata::test
