// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The drop-in, linked directly: LAPACK's symbols, XERBLA, settings and counts.
#include <c/StrataTest_Systems.hpp>

#include <gtest/gtest.h>
#include <strata.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

extern "C" {
void dpotrf_(char const*, int const*, double*, int const*, int*);
void spotrf_(char const*, int const*, float*, int const*, int*);
void dpotrs_(char const*, int const*, int const*, double const*, int const*, double*, int const*,
             int*);
void spotrs_(char const*, int const*, int const*, float const*, int const*, float*, int const*,
             int*);
void dposv_(char const*, int const*, int const*, double*, int const*, double*, int const*, int*);
void sposv_(char const*, int const*, int const*, float*, int const*, float*, int const*, int*);
void dsposv_(char const*, int const*, int const*, double*, int const*, double const*, int const*,
             double*, int const*, double*, float*, int*, int*);
void dpotrf_64_(char const*, std::int64_t const*, double*, std::int64_t const*, std::int64_t*);
void dposv_64_(char const*, std::int64_t const*, std::int64_t const*, double*, std::int64_t const*,
               double*, std::int64_t const*, std::int64_t*);
void dsposv_64_(char const*, std::int64_t const*, std::int64_t const*, double*, std::int64_t const*,
                double const*, std::int64_t const*, double*, std::int64_t const*, double*, float*,
                std::int64_t*, std::int64_t*);

// This program's own, as LAPACK's testers have.
std::string xerbla_said;
__attribute__((visibility("default"))) void xerbla_(char const* name, int const* position,
                                                    std::size_t length) {
  xerbla_said += std::string(name, length) + " " + std::to_string(*position) + ";";
}
}

namespace strata::test {
namespace {

struct Counts {
  std::int64_t strata = -1, system = -1;
  friend bool operator==(Counts const&, Counts const&) = default;
};
Counts counts(char const* routine) {
  Counts found;
  EXPECT_EQ(strata_lapack_calls(routine, &found.strata, &found.system), STRATA_SUCCESS);
  return found;
}

class LapackDropIn : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(strata_lapack_configure("threshold=0,layers=auto,leaf=0"), STRATA_SUCCESS);
    xerbla_said.clear();
  }
};

int as_int(std::int64_t value) { return static_cast<int>(value); }

TEST_F(LapackDropIn, SolvesInBothPrecisionsAndCounts) {
  for (char const uplo : {'L', 'U'}) {
    System<double> const d(uplo, 100, 2);
    System<float> const s(uplo, 100, 2);
    int const n = 100, nrhs = 2, ld = as_int(d.ld);
    int info = -9;
    auto const before = counts("dpotrf");
    auto A = d.A, B = d.B;
    dpotrf_(&uplo, &n, A.data(), &ld, &info);
    EXPECT_EQ(info, 0);
    dpotrs_(&uplo, &n, &nrhs, A.data(), &ld, B.data(), &ld, &info);
    EXPECT_LE(d.backward_error(B), 0x1p-48);
    EXPECT_EQ(counts("dpotrf"), (Counts{before.strata + 1, before.system}));
    auto F = s.A, C = s.B;
    spotrf_(&uplo, &n, F.data(), &ld, &info);
    spotrs_(&uplo, &n, &nrhs, F.data(), &ld, C.data(), &ld, &info);
    EXPECT_LE(s.backward_error(C), 0x1p-19);
    A = d.A, B = d.B, F = s.A, C = s.B;
    dposv_(&uplo, &n, &nrhs, A.data(), &ld, B.data(), &ld, &info);
    EXPECT_LE(d.backward_error(B), 0x1p-48);
    sposv_(&uplo, &n, &nrhs, F.data(), &ld, C.data(), &ld, &info);
    EXPECT_LE(s.backward_error(C), 0x1p-19);
  }
  for (char const* const name : {"dpotrf", "dpotrs", "dposv", "spotrf", "spotrs", "sposv"})
    EXPECT_GE(counts(name).strata, 2) << name;
}

TEST_F(LapackDropIn, SolvesMixedWithTheLayersOfItsSettings) {
  ASSERT_EQ(strata_lapack_configure("layers=bf16:fp32,leaf=16"), STRATA_SUCCESS);
  System<double> const s('L', 90, 2);
  int const n = 90, nrhs = 2, ld = as_int(s.ld);
  int iter = -1, info = -1;
  auto A = s.A, X = s.B;
  auto const before = counts("dsposv");
  dsposv_("L", &n, &nrhs, A.data(), &ld, s.B.data(), &ld, X.data(), &ld, nullptr, nullptr, &iter,
          &info);
  EXPECT_EQ(info, 0);
  EXPECT_GT(iter, 0);  // bf16 needs refinement
  EXPECT_LE(s.backward_error(X), std::sqrt(90.0) * 0x1p-53);
  EXPECT_EQ(counts("dsposv"), (Counts{before.strata + 1, before.system}));
}

TEST_F(LapackDropIn, TakesIntegersOf64Bits) {
  System<double> const s('U', 70, 1);
  std::int64_t const n = 70, nrhs = 1, ld = s.ld;
  std::int64_t info = -9, iter = -9;
  auto A = s.A, B = s.B, X = s.B;
  for (char const* const threshold :
       {"threshold=0", "threshold=1000"}) {  // the second: by the system's
    ASSERT_EQ(strata_lapack_configure(threshold), STRATA_SUCCESS);
    A = s.A, B = s.B;
    dposv_64_("U", &n, &nrhs, A.data(), &ld, B.data(), &ld, &info);
    EXPECT_EQ(info, 0);
    EXPECT_LE(s.backward_error(B), 0x1p-48);
  }
  ASSERT_EQ(strata_lapack_configure("threshold=0"), STRATA_SUCCESS);
  A = s.A;
  dsposv_64_("U", &n, &nrhs, A.data(), &ld, s.B.data(), &ld, X.data(), &ld, nullptr, nullptr, &iter,
             &info);
  EXPECT_EQ(info, 0);
  EXPECT_GE(iter, 0);
  EXPECT_LE(s.backward_error(X), std::sqrt(70.0) * 0x1p-53);
  std::int64_t const huge = std::int64_t(1) << 40;
  dpotrf_64_("U", &huge, A.data(), &ld, &info);
  EXPECT_EQ(info, -4);
}

TEST_F(LapackDropIn, SendsSmallOnesToTheSystem) {
  ASSERT_EQ(strata_lapack_configure("threshold=71"), STRATA_SUCCESS);
  for (int const n : {70, 71}) {
    System<double> const s('L', n, 1);
    int const ld = as_int(s.ld), nrhs = 1;
    int info = -9, iter = -9;
    auto A = s.A, B = s.B, X = s.B;
    std::vector<double> work(static_cast<std::size_t>(n));
    std::vector<float> swork(static_cast<std::size_t>(n * (n + 1)));
    auto const potrf = counts("dpotrf"), mixed = counts("dsposv");
    dpotrf_("L", &n, A.data(), &ld, &info);
    EXPECT_EQ(info, 0);
    EXPECT_LE(s.factor_error(A), 0x1p-48);
    A = s.A;
    dsposv_("L", &n, &nrhs, A.data(), &ld, s.B.data(), &ld, X.data(), &ld, work.data(),
            swork.data(), &iter, &info);
    EXPECT_GE(iter, 0);
    EXPECT_LE(s.backward_error(X), 0x1p-48);
    int const own = n == 71;
    EXPECT_EQ(counts("dpotrf"), (Counts{potrf.strata + own, potrf.system + 1 - own}));
    EXPECT_EQ(counts("dsposv"), (Counts{mixed.strata + own, mixed.system + 1 - own}));
  }
}

TEST_F(LapackDropIn, GivesLapacksInfo) {
  for (char const* const threshold : {"threshold=0", "threshold=1000"}) {
    ASSERT_EQ(strata_lapack_configure(threshold), STRATA_SUCCESS);
    System<double> s('L', 70, 1);
    s.A[s.at(41, 41)] = -1;
    int const n = 70, nrhs = 1, ld = as_int(s.ld);
    int info = 0, iter = 0;
    auto A = s.A, B = s.B;
    std::vector<double> work(70);
    std::vector<float> swork(70 * 71);
    dpotrf_("L", &n, A.data(), &ld, &info);
    EXPECT_EQ(info, 42);
    A = s.A;
    dposv_("L", &n, &nrhs, A.data(), &ld, B.data(), &ld, &info);
    EXPECT_EQ(info, 42);
    A = s.A;
    dsposv_("L", &n, &nrhs, A.data(), &ld, s.B.data(), &ld, B.data(), &ld, work.data(),
            swork.data(), &iter, &info);
    EXPECT_EQ(info, 42);
    EXPECT_EQ(iter, -3);
  }
}

TEST_F(LapackDropIn, TellsTheProgramsXerblaOfAWrongArgument) {
  double a[4] = {1, 0, 0, 1};
  int const two = 2, one = 1, negative = -1;
  int info = 0, iter = 0;
  auto const said = [&](char const* expected, int expected_info) {
    EXPECT_EQ(xerbla_said, expected);
    EXPECT_EQ(info, expected_info);
    xerbla_said.clear();
  };
  auto const before = counts("dpotrf");
  dpotrf_("/", &two, a, &two, &info);
  said("DPOTRF 1;", -1);
  dpotrf_("L", &negative, a, &one, &info);
  said("DPOTRF 2;", -2);
  dpotrf_("L", &two, a, &one, &info);
  said("DPOTRF 4;", -4);
  dpotrs_("L", &two, &negative, a, &two, a, &two, &info);
  said("DPOTRS 3;", -3);
  dpotrs_("L", &two, &one, a, &one, a, &two, &info);
  said("DPOTRS 5;", -5);
  dposv_("L", &two, &one, a, &two, a, &one, &info);
  said("DPOSV 7;", -7);
  dsposv_("L", &two, &one, a, &two, a, &two, a, &one, nullptr, nullptr, &iter, &info);
  said("DSPOSV 9;", -9);
  float f[4] = {1, 0, 0, 1};
  spotrf_("L", &two, f, &one, &info);
  said("SPOTRF 4;", -4);
  EXPECT_EQ(counts("dpotrf"), before);
  EXPECT_EQ(a[0], 1);
}

TEST_F(LapackDropIn, DoesNothingForNoRows) {
  int const zero = 0, one = 1;
  int info = -9, iter = -9;
  auto const before = counts("dpotrf");
  dpotrf_("U", &zero, nullptr, &one, &info);
  EXPECT_EQ(info, 0);
  dposv_("U", &zero, &one, nullptr, &one, nullptr, &one, &info);
  EXPECT_EQ(info, 0);
  dsposv_("U", &zero, &one, nullptr, &one, nullptr, &one, nullptr, &one, nullptr, nullptr, &iter,
          &info);
  EXPECT_EQ(info, 0);
  EXPECT_EQ(iter, 0);
  dpotrs_("U", &one, &zero, nullptr, &one, nullptr, &one, &info);
  EXPECT_EQ(info, 0);
  EXPECT_EQ(counts("dpotrf"), before);
  EXPECT_EQ(xerbla_said, "");
}

// One may be named after others were used, and left again.
TEST_F(LapackDropIn, TakesAnotherLapackFromTheNextCallOn) {
  auto const info_of_dpotrf = [](std::string const& library) {
    EXPECT_EQ(strata_lapack_configure(("threshold=1000,lapack=" + library).c_str()),
              STRATA_SUCCESS);
    double a = 4;
    int const one = 1;
    int info = -9;
    dpotrf_("L", &one, &a, &one, &info);
    return info;
  };
  for (int repeat = 0; repeat < 2; ++repeat) {
    EXPECT_EQ(info_of_dpotrf(""), 0);
    EXPECT_EQ(info_of_dpotrf(STRATATEST_OTHER_LAPACK), 4242);
  }
  EXPECT_EQ(info_of_dpotrf(""), 0);
}

// The reference's dposv calls dpotrf by its name, which is the drop-in's.
TEST_F(LapackDropIn, CountsNoCallsByTheSystemsLapack) {
  ASSERT_EQ(strata_lapack_configure("threshold=1000,lapack=" STRATATEST_OTHER_LAPACK),
            STRATA_SUCCESS);
  auto const posv = counts("dposv"), potrf = counts("dpotrf");
  double a = 4, b = 1;
  int const one = 1;
  int info = -9;
  dposv_("L", &one, &one, &a, &one, &b, &one, &info);
  EXPECT_EQ(info, 4243);
  EXPECT_EQ(counts("dposv"), (Counts{posv.strata, posv.system + 1}));
  EXPECT_EQ(counts("dpotrf"), potrf);
  EXPECT_EQ(strata_lapack_configure("lapack="), STRATA_SUCCESS);
}

TEST_F(LapackDropIn, MayBeCalledBySixteenThreadsWithSmallMatrices) {
  std::vector<int> wrong(16);
  std::vector<std::thread> pool;
  auto const before = counts("dposv");
  for (int t = 0; t < 16; ++t)
    pool.emplace_back([t, &wrong] {
      for (int r = 0; r < 200; ++r) {
        System<double> const s('U', 1 + (7 * t + r) % 24, 1);
        int const n = as_int(s.n), ld = as_int(s.ld), one = 1;
        int info = -1;
        auto A = s.A, B = s.B;
        dposv_("U", &n, &one, A.data(), &ld, B.data(), &ld, &info);
        wrong[static_cast<std::size_t>(t)] += info != 0 || !(s.backward_error(B) <= 0x1p-46);
        if (r % 20 == 0)
          (void)strata_lapack_configure(r % 40 == 0 ? "threshold=12" : "threshold=0");
      }
    });
  for (auto& thread : pool) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(16));
  auto const after = counts("dposv");
  EXPECT_EQ(after.strata + after.system - before.strata - before.system, 16 * 200);
}

TEST_F(LapackDropIn, RefusesSettingsThatItDoesNotKnow) {
  auto const refused = [](char const* text, char const* reason) {
    EXPECT_EQ(strata_lapack_configure(text), STRATA_INVALID_ARGUMENT);
    EXPECT_TRUE(holds(strata_message(), reason));
  };
  refused("treshold=3",
          "no setting 'treshold'; there are threshold, layers, leaf, trace and lapack");
  refused("threshold", "'threshold' is not name=value");
  refused("threshold=-3", "threshold is '-3', must be a whole number >= 0");
  refused("leaf=3x", "leaf is '3x'");
  refused("layers=fp12", "fp12");
  refused(nullptr, "null pointer");
  refused("threshold=1000000,leaf=q", "leaf is 'q'");  // nothing of it is taken
  System<double> const s('L', 20, 1);
  int const n = 20, ld = as_int(s.ld);
  int info = 0;
  auto A = s.A;
  auto const before = counts("dpotrf");
  dpotrf_("L", &n, A.data(), &ld, &info);
  EXPECT_EQ(counts("dpotrf"), (Counts{before.strata + 1, before.system}));
  EXPECT_EQ(strata_lapack_calls("dgetrf", nullptr, nullptr), STRATA_INVALID_ARGUMENT);
  EXPECT_TRUE(holds(strata_message(), "there are spotrf, dpotrf"));
  EXPECT_EQ(strata_lapack_calls(nullptr, nullptr, nullptr), STRATA_INVALID_ARGUMENT);
}

TEST_F(LapackDropIn, MayBeCalledByThreadsAtOnce) {
  std::vector<double> errors(4);
  std::vector<std::thread> pool;
  for (int t = 0; t < 4; ++t)
    pool.emplace_back([t, &errors] {
      for (int r = 0; r < 10; ++r) {
        System<double> const s('L', 60 + 30 * t, 1);
        int const n = as_int(s.n), ld = as_int(s.ld), one = 1;
        int info = -1;
        auto A = s.A, B = s.B;
        dposv_("L", &n, &one, A.data(), &ld, B.data(), &ld, &info);
        errors[static_cast<std::size_t>(t)] += info == 0 ? s.backward_error(B) : 1;
        (void)strata_lapack_configure(r % 2 == 0 ? "leaf=17" : "leaf=0");
      }
    });
  for (auto& thread : pool) thread.join();
  for (double const error : errors) EXPECT_LE(error, 0x1p-44);
}

// In a process of its own, as the system's LAPACK is looked up once.
void solve_with_a_library_that_is_missing() {
  (void)strata_lapack_configure("threshold=1000,lapack=/nowhere/liblapack.so");
  System<double> const s('L', 20, 1);
  int const n = 20, ld = as_int(s.ld);
  int info = -1;
  auto A = s.A;
  dpotrf_("L", &n, A.data(), &ld, &info);
  bool const solved = info == 0 && s.factor_error(A) < 0x1p-48;
  _exit(solved && counts("dpotrf").system == 1 ? 7 : 1);
}

TEST(LapackDropInDeathTest, SaysWhichLibraryIsMissing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      solve_with_a_library_that_is_missing(), testing::ExitedWithCode(7),
      "strata_lapack: .*\\[[0-9]+\\]: no dpotrf_ in /nowhere/liblapack.so: looking elsewhere");
}

}  // namespace
}  // namespace strata::test
