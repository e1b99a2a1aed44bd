// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// strata_is_positive_definite.
#include <c/StrataTest_Systems.hpp>

#include <gtest/gtest.h>
#include <strata.h>

#include <cstdint>
#include <limits>
#include <string>

namespace strata::test {
namespace {

// The answer to a matrix, which may not be changed.
std::int64_t failing_minor(System<double> const& s) {
  auto const before = s.A;
  std::int64_t info = -99;
  EXPECT_EQ(strata_is_positive_definite(s.uplo, s.n, s.A.data(), s.ld, &info), STRATA_SUCCESS)
      << strata_message();
  EXPECT_TRUE(same(s.A, before));
  if (info == 0)
    EXPECT_STREQ(strata_message(), "success");
  else
    EXPECT_TRUE(holds(strata_message(),
                      "the leading minor of order " + std::to_string(info) + " is not positive"));
  return info;
}

TEST(CDefiniteness, HoldsForEitherTriangleOfAPaddedMatrix) {
  for (char const uplo : {'L', 'U', 'l', 'u'})
    for (std::int64_t const n : {0, 1, 2, 63, 64, 65, 256, 257, 300})
      EXPECT_EQ(failing_minor(System<double>(uplo, n, 0)), 0) << uplo << n;
}

TEST(CDefiniteness, NamesTheFirstMinorThatIsNotPositive) {
  for (char const uplo : {'L', 'U'})
    for (std::int64_t const order : {1, 2, 64, 65, 75, 299, 300})
      for (double const bad : {-1.0, 0.0}) {
        System<double> s(uplo, 300, 0);
        s.A[s.at(299, 299)] = -1;  // a later one
        s.A[s.at(order - 1, order - 1)] = bad;
        EXPECT_EQ(failing_minor(s), order) << uplo << bad;
      }
}

// The diagonal does not tell: the triangle that was named is the one that is read.
TEST(CDefiniteness, SeesAMinorByTheTriangleThatWasNamed) {
  for (char const uplo : {'L', 'U'}) {
    System<double> s(uplo, 100, 0);
    s.A[uplo == 'L' ? s.at(70, 3) : s.at(3, 70)] = 2;
    EXPECT_EQ(failing_minor(s), 71) << uplo;
    s.A[uplo == 'L' ? s.at(3, 70) : s.at(70, 3)] = 2;
    s.A[uplo == 'L' ? s.at(70, 3) : s.at(3, 70)] = System<double>::entry(70, 3);
    EXPECT_EQ(failing_minor(s), 0) << uplo;
  }
}

TEST(CDefiniteness, TakesWhatIsNotFiniteForNotPositive) {
  double const inf = std::numeric_limits<double>::infinity();
  for (char const uplo : {'L', 'U'})
    for (double const bad : {System<double>::nan, inf, -inf})
      for (std::int64_t const j : {0, 20, 30}) {
        System<double> s(uplo, 90, 0);
        s.A[uplo == 'L' ? s.at(30, j) : s.at(j, 30)] = bad;
        EXPECT_EQ(failing_minor(s), 31) << uplo << bad << j;
      }
}

TEST(CDefiniteness, IsTrueOfNoRows) {
  std::int64_t info = -99;
  EXPECT_EQ(strata_is_positive_definite('U', 0, nullptr, 1, &info), STRATA_SUCCESS);
  EXPECT_EQ(info, 0);
}

// Whoever looks at info alone does not take a call that failed for an answer.
TEST(CDefiniteness, RefusesWrongArguments) {
  double const a[4] = {1, 0, 0, 1};
  struct Case {
    char uplo;
    std::int64_t n, lda;
    double const* A;
    char const* text;
  };
  std::int64_t const huge = std::numeric_limits<std::int64_t>::max();
  for (Case const& c :
       {Case{'x', 2, 2, a, "uplo is 'x', must be 'L' or 'U'"},
        Case{'L', -1, 2, a, "n is -1, must be >= 0"},
        Case{'L', 2, 1, a, "leading dimension of A is 1, must be at least max(1, 2)"},
        Case{'L', 0, 0, a, "leading dimension of A is 0, must be at least max(1, 0)"},
        Case{'L', huge, huge, a, "larger than memory can be addressed"},
        Case{'L', 2, 2, nullptr, "A is a null pointer"}}) {
    std::int64_t info = 0;
    EXPECT_EQ(strata_is_positive_definite(c.uplo, c.n, c.A, c.lda, &info), STRATA_INVALID_ARGUMENT);
    EXPECT_TRUE(holds(strata_message(), c.text));
    EXPECT_TRUE(holds(strata_message(), "strata_is_positive_definite: "));
    EXPECT_EQ(info, -1);
  }
  EXPECT_EQ(strata_is_positive_definite('L', 2, a, 2, nullptr), STRATA_INVALID_ARGUMENT);
  EXPECT_TRUE(holds(strata_message(), "info is a null pointer"));
}

}  // namespace
}  // namespace strata::test
