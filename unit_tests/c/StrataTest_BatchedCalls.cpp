// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Batches of strata.h: arguments, memory, failures on the way.
#include <c/StrataTest_Batches.hpp>

#include <Kokkos_Core.hpp>

#include <StrataTest_Allocations.hpp>
#include <gtest/gtest.h>
#include <strata.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace strata::test {
namespace {

template <class T>
class CBatchedCalls : public testing::Test {};
TYPED_TEST_SUITE(CBatchedCalls, CallTypes, CallNames);

TYPED_TEST(CBatchedCalls, HasNothingToDo) {
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

TYPED_TEST(CBatchedCalls, RefusesWrongArgumentsAndWritesNothing) {
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
TYPED_TEST(CBatchedCalls, AllocatesNothingTheSecondTime) {
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

TYPED_TEST(CBatchedCalls, SaysThatSystemsAreOverwrittenInPart) {
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
TYPED_TEST(CBatchedCalls, TakesTheDevicesMemoryAsItIs) {
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
