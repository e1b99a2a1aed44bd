// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// LAPACK's operations in strata.h.
#include <c/StrataTest_Calls.hpp>
#include <c/StrataTest_Systems.hpp>

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>
#include <strata.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace strata::test {
namespace {

template <class T>
class CLapack : public testing::Test {};
TYPED_TEST_SUITE(CLapack, CallTypes, CallNames);

strata_options with_leaf(std::int64_t leaf) {
  strata_options options{};
  options.struct_size = sizeof options;
  options.leaf_size = leaf;
  return options;
}

// Both triangles, leaves below, at and above the order, ragged halves; the rest of the array is not
// touched.
TYPED_TEST(CLapack, FactorsAndSolvesInPlace) {
  using T = typename TypeParam::Scalar;
  double const eps = std::numeric_limits<T>::epsilon();
  for (char const uplo : {'L', 'u'})
    for (std::int64_t const n : {1, 2, 7, 64, 129})
      for (std::int64_t const leaf : {0, 1, 5, 64, 200}) {
        System<T> const s(uplo, n, 2);
        auto A = s.A, B = s.B, C = s.B, D = s.A;
        auto const options = with_leaf(leaf);
        std::int64_t info = -99;
        ASSERT_EQ(TypeParam::potrf(uplo, n, A.data(), s.ld, &options, &info), STRATA_SUCCESS)
            << strata_message();
        EXPECT_EQ(info, 0);
        EXPECT_LE(s.factor_error(A), 10 * eps) << uplo << n << ' ' << leaf;
        ASSERT_EQ(TypeParam::potrs(uplo, n, 2, A.data(), s.ld, B.data(), s.ld, &info),
                  STRATA_SUCCESS);
        EXPECT_LE(s.backward_error(B), 10 * eps);
        ASSERT_EQ(TypeParam::posv(uplo, n, 2, D.data(), s.ld, C.data(), s.ld, &options, &info),
                  STRATA_SUCCESS);
        EXPECT_LE(s.backward_error(C), 10 * eps);
        EXPECT_TRUE(s.rest_is_untouched(A, true) && s.rest_is_untouched(B, false));
        EXPECT_TRUE(s.rest_is_untouched(D, true) && s.rest_is_untouched(C, false));
      }
}

// On a device, where matrices cross: 18 pieces and more, by several threads, for two callers at
// once, and again.
TYPED_TEST(CLapack, FactorsAndSolvesWhatCrossesInManyPieces) {
  using T = typename TypeParam::Scalar;
  constexpr bool crosses =
      !Kokkos::SpaceAccessibility<Kokkos::DefaultExecutionSpace, Kokkos::HostSpace>::accessible;
  double const eps = std::numeric_limits<T>::epsilon();
  auto const solve = [&](char uplo) {
    System<T> const s(uplo, crosses ? 4100 : 300, 1);
    for (int time = 0; time < (crosses ? 3 : 1); ++time) {
      auto A = s.A, B = s.B, C = s.B;
      std::int64_t info = -99;
      EXPECT_EQ(TypeParam::posv(uplo, s.n, 1, A.data(), s.ld, B.data(), s.ld, nullptr, &info),
                STRATA_SUCCESS);
      EXPECT_LE(s.backward_error(B), 10 * eps);
      EXPECT_EQ(TypeParam::potrs(uplo, s.n, 1, A.data(), s.ld, C.data(), s.ld, &info),
                STRATA_SUCCESS);  // the factor has come back, too
      EXPECT_LE(s.backward_error(C), 10 * eps);
      EXPECT_TRUE(s.rest_is_untouched(A, true) && s.rest_is_untouched(B, false));
    }
  };
  EXPECT_EQ(strata_initialize(), STRATA_SUCCESS);  // by the thread that may end it
  std::thread other(solve, 'U');
  solve('L');
  other.join();
}

TYPED_TEST(CLapack, NamesTheFirstMinorThatIsNotPositive) {
  using T = typename TypeParam::Scalar;
  for (T const bad : {T(0), T(-1), std::numeric_limits<T>::quiet_NaN()})
    for (char const uplo : {'L', 'U'})
      for (std::int64_t const position : {0, 9, 10, 34}) {
        System<T> s(uplo, 35, 1);
        for (std::int64_t k = 0; k < 35;
             ++k)  // A zero there is a zero pivot only in a diagonal matrix.
          for (std::int64_t j = 0; j < 35; ++j)
            if (j != k && s.in_triangle(j, k)) s.A[s.at(j, k)] = 0;
        s.A[s.at(position, position)] = bad;
        auto const before = s.B;
        auto A = s.A;
        auto const options = with_leaf(10);
        std::int64_t info = 0;
        EXPECT_EQ(TypeParam::potrf(uplo, 35, A.data(), s.ld, &options, &info),
                  STRATA_NOT_POSITIVE_DEFINITE);
        EXPECT_EQ(info, position + 1);
        EXPECT_TRUE(holds(strata_message(), "order " + std::to_string(position + 1)));
        EXPECT_EQ(TypeParam::posv(uplo, 35, 1, s.A.data(), s.ld, s.B.data(), s.ld, &options, &info),
                  STRATA_NOT_POSITIVE_DEFINITE);
        EXPECT_EQ(info, position + 1);
        for (std::int64_t i = 0; i < 35; ++i) EXPECT_EQ(s.B[s.at(i, 0)], before[s.at(i, 0)]);
      }
}

TYPED_TEST(CLapack, GivesLapacksInfoForWrongArguments) {
  using T = typename TypeParam::Scalar;
  T a[4] = {1, 0, 0, 1}, b[2] = {1, 1};
  std::int64_t info = 0;
  auto const potrf = [&](char uplo, std::int64_t n, T* A, std::int64_t lda) {
    EXPECT_EQ(TypeParam::potrf(uplo, n, A, lda, nullptr, &info), STRATA_INVALID_ARGUMENT);
    return info;
  };
  EXPECT_EQ(potrf('/', 2, a, 2), -1);
  EXPECT_EQ(potrf('L', -1, a, 1), -2);
  EXPECT_EQ(potrf('L', 2, nullptr, 2), -3);
  EXPECT_EQ(potrf('L', 2, a, 1), -4);
  EXPECT_EQ(potrf('L', std::int64_t(1) << 62, a, std::int64_t(1) << 62), -4);
  auto const systems = [&](char uplo, std::int64_t n, std::int64_t nrhs, std::int64_t lda,
                           std::int64_t ldb, std::int64_t expected) {
    EXPECT_EQ(TypeParam::potrs(uplo, n, nrhs, a, lda, b, ldb, &info), STRATA_INVALID_ARGUMENT);
    EXPECT_EQ(info, expected);
    EXPECT_EQ(TypeParam::posv(uplo, n, nrhs, a, lda, b, ldb, nullptr, &info),
              STRATA_INVALID_ARGUMENT);
    EXPECT_EQ(info, expected);
  };
  systems('/', 2, 1, 2, 2, -1);
  systems('L', -1, 1, 2, 2, -2);
  systems('L', 2, -1, 2, 2, -3);
  systems('L', 2, 1, 1, 2, -5);
  systems('L', 2, 1, 2, 1, -7);
  EXPECT_EQ(TypeParam::potrf('L', 2, a, 2, nullptr, nullptr), STRATA_INVALID_ARGUMENT);
  EXPECT_TRUE(holds(strata_message(), "info is a null pointer"));
  EXPECT_EQ(TypeParam::potrf('L', 0, nullptr, 1, nullptr, &info), STRATA_SUCCESS);
  EXPECT_EQ(TypeParam::potrs('U', 0, 5, nullptr, 1, nullptr, 1, &info), STRATA_SUCCESS);
  EXPECT_EQ(TypeParam::posv('U', 2, 0, a, 2, nullptr, 2, nullptr, &info), STRATA_SUCCESS);
}

struct Mixed {
  System<double> s;
  std::vector<double> A, X;
  std::int64_t iter = 99, info = 99;

  explicit Mixed(System<double> system) : s(std::move(system)), A(s.A), X(s.B.size(), s.nan) {}
  strata_status solve(char const* layers, std::int64_t max_iterations = 0) {
    strata_options options{};
    options.struct_size = sizeof options;
    options.layers = layers;
    options.max_iterations = max_iterations;
    return strata_dsposv(s.uplo, s.n, s.nrhs, A.data(), s.ld, s.B.data(), s.ld, X.data(), s.ld,
                         &options, &iter, &info);
  }
  bool A_is_unchanged() const {
    for (std::size_t k = 0; k < A.size(); ++k)
      if (A[k] != s.A[k] && !(std::isnan(A[k]) && std::isnan(s.A[k]))) return false;
    return true;
  }
  double bound() const { return std::sqrt(static_cast<double>(s.n)) * 0x1p-53; }
};

// The device fails when it has overwritten A, if that is where it works: that is another answer
// than a failure that left A as it was.
TYPED_TEST(CLapack, SaysThatAMatrixIsOverwrittenInPart) {
  using T = typename TypeParam::Scalar;
  System<T> const s('L', 40, 1);
  auto A = s.A, B = s.B;
  std::int64_t info = -99;
  auto const saved = Kokkos::Tools::Experimental::get_callbacks();
  Kokkos::Tools::Experimental::set_begin_fence_callback(
      [](char const* name, std::uint32_t, std::uint64_t*) {
        if (std::string_view(name) == "strata::dense::potrf_in_place: read the pivot status")
          throw std::runtime_error("the device is lost");
      });
  auto const status = TypeParam::posv('L', s.n, 1, A.data(), s.ld, B.data(), s.ld, nullptr, &info);
  std::string const message = strata_message();
  Kokkos::Tools::Experimental::set_callbacks(saved);
  constexpr bool in_place =
      Kokkos::SpaceAccessibility<Kokkos::DefaultExecutionSpace, Kokkos::HostSpace>::accessible;
  EXPECT_EQ(status, in_place ? STRATA_INCOMPLETE : STRATA_INTERNAL_ERROR);
  EXPECT_NE(message.find("the device is lost"), std::string::npos) << message;
  EXPECT_EQ(A[0] != s.A[0], in_place);
  A = s.A, B = s.B;
  EXPECT_EQ(TypeParam::posv('L', s.n, 1, A.data(), s.ld, B.data(), s.ld, nullptr, &info),
            STRATA_SUCCESS);
}

TEST(CDsposv, RefinesToLapacksBoundAndLeavesAAsItWas) {
  for (char const uplo : {'L', 'U'})
    for (char const* const layers : {"fp32", "fp16,fp32", "bf16,fp32", ""})
      for (std::int64_t const n : {1, 2, 65, 200}) {
        if (*layers == '\0' && n < 64 * 3) continue;  // too many columns
        Mixed m(System<double>(uplo, n, 3));
        ASSERT_EQ(m.solve(*layers == '\0' ? nullptr : layers), STRATA_SUCCESS) << strata_message();
        EXPECT_EQ(m.info, 0);
        EXPECT_GE(m.iter, 0) << layers << ' ' << n;
        EXPECT_LE(m.iter, 30);
        EXPECT_LE(m.s.backward_error(m.X), m.bound()) << layers << ' ' << n;
        EXPECT_TRUE(m.A_is_unchanged());
        EXPECT_TRUE(m.s.rest_is_untouched(m.X, false));
      }
}

// Falls back to fp64 for the reason that iter gives; A then holds its factor.
void expect_fallback(Mixed& m, std::int64_t iter) {
  EXPECT_EQ(m.iter, iter);
  EXPECT_EQ(m.info, 0);
  EXPECT_LE(m.s.factor_error(m.A), 0x1p-48);
  EXPECT_LE(m.s.backward_error(m.X), 0x1p-46);
}

// Where refining all columns takes longer than factoring in fp64 that is done at once.
TEST(CDsposv, SolvesManyColumnsInFp64) {
  for (std::int64_t const columns : {2, 3, 200}) {
    Mixed m(System<double>('L', 128, columns));
    ASSERT_EQ(m.solve(nullptr), STRATA_SUCCESS) << strata_message();
    if (columns == 2) {
      EXPECT_GE(m.iter, 0);
      EXPECT_TRUE(m.A_is_unchanged());
    } else {
      expect_fallback(m, -1);
    }
    EXPECT_TRUE(m.s.rest_is_untouched(m.X, false));
    Mixed asked(System<double>('L', 128, columns));
    ASSERT_EQ(asked.solve("fp32"), STRATA_SUCCESS);  // layers that are asked for are tried
    EXPECT_GE(asked.iter, 0);
  }
}

TEST(CDsposv, SaysThatTheLowFactorBrokeDown) {
  // [1, c; c, 1] with 1 - c^2 below bf16's roundoff, along the diagonal
  System<double> s('L', 64, 1);
  for (std::int64_t j = 0; j < 64; ++j)
    for (std::int64_t i = j; i < 64; ++i)
      s.A[s.at(i, j)] = i == j ? 1 : (j % 2 == 0 && i == j + 1 ? 1 - 1e-9 : 0);
  Mixed m(s);
  ASSERT_EQ(m.solve("fp32"), STRATA_SUCCESS) << strata_message();
  expect_fallback(m, -3);
}

TEST(CDsposv, SaysThatTheRefinementDidNotConverge) {
  Mixed m(System<double>('U', 200, 1));
  ASSERT_EQ(m.solve("fp8_e5m2", 1), STRATA_SUCCESS) << strata_message();
  expect_fallback(m, -31);
}

TEST(CDsposv, SaysThatANumberDoesNotFit) {
  double const inf = std::numeric_limits<double>::infinity();
  Mixed off(System<double>('L', 8, 1));
  off.A[off.s.at(5, 2)] = 1e60;  // beside a diagonal of 1: not positive definite either
  EXPECT_EQ(off.solve("fp32"), STRATA_NOT_POSITIVE_DEFINITE);
  EXPECT_EQ(off.iter, -2);
  EXPECT_EQ(off.info, 6);
  Mixed diagonal(System<double>('L', 8, 1));
  diagonal.A[diagonal.s.at(3, 3)] = inf;
  EXPECT_EQ(diagonal.solve("fp32"), STRATA_NOT_POSITIVE_DEFINITE);
  EXPECT_EQ(diagonal.iter, -2);
  Mixed right(System<double>('L', 8, 1));
  right.s.B[2] = inf;
  EXPECT_EQ(right.solve("fp32"), STRATA_SUCCESS);
  EXPECT_EQ(right.iter, -2);
  EXPECT_LE(right.s.factor_error(right.A), 0x1p-48);
  // What fits after equilibration is solved: LAPACK's own would overflow.
  System<double> scaled('L', 50, 1);
  for (double& a : scaled.A) a *= 1e200;
  Mixed m(scaled);
  ASSERT_EQ(m.solve("fp32"), STRATA_SUCCESS);
  EXPECT_GE(m.iter, 0);
  EXPECT_LE(m.s.backward_error(m.X), m.bound());
}

TEST(CDsposv, FindsTheMinorInFp64) {
  for (double const bad : {-1.0, System<double>::nan}) {
    Mixed m(System<double>('U', 90, 2));
    m.A[m.s.at(70, 70)] = bad;
    EXPECT_EQ(m.solve("fp16,fp32"), STRATA_NOT_POSITIVE_DEFINITE);
    EXPECT_EQ(m.iter, -3);
    EXPECT_EQ(m.info, 71);
  }
}

TEST(CDsposv, RefusesWrongArguments) {
  double a[4] = {1, 0, 0, 1}, b[2] = {1, 1}, x[2] = {};
  std::int64_t iter = 0, info = 0;
  auto const refused = [&](char uplo, std::int64_t n, std::int64_t nrhs, std::int64_t lda,
                           std::int64_t ldb, std::int64_t ldx) {
    EXPECT_EQ(strata_dsposv(uplo, n, nrhs, a, lda, b, ldb, x, ldx, nullptr, &iter, &info),
              STRATA_INVALID_ARGUMENT);
    return info;
  };
  EXPECT_EQ(refused('/', 2, 1, 2, 2, 2), -1);
  EXPECT_EQ(refused('L', -1, 1, 2, 2, 2), -2);
  EXPECT_EQ(refused('L', 2, -1, 2, 2, 2), -3);
  EXPECT_EQ(refused('L', 2, 1, 1, 2, 2), -5);
  EXPECT_EQ(refused('L', 2, 1, 2, 1, 2), -7);
  EXPECT_EQ(refused('L', 2, 1, 2, 2, 1), -9);
  EXPECT_EQ(strata_dsposv('L', 2, 1, a, 2, b, 2, x, 2, nullptr, nullptr, &info),
            STRATA_INVALID_ARGUMENT);
  EXPECT_EQ(strata_dsposv('L', 0, 1, nullptr, 1, nullptr, 1, nullptr, 1, nullptr, &iter, &info),
            STRATA_SUCCESS);
  EXPECT_EQ(strata_dsposv('L', 2, 0, a, 2, nullptr, 2, nullptr, 2, nullptr, &iter, &info),
            STRATA_SUCCESS);
}

}  // namespace
}  // namespace strata::test
