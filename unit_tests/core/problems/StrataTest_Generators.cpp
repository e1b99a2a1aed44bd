// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include <core/Strata_Config.hpp>
#include <core/kokkos_ext/detail/Strata_HostThreads.hpp>
#include <core/problems/Strata_Generators.hpp>

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#ifdef STRATA_ENABLE_TPL_LAPACK
extern "C" {
void dsyev_(char const*, char const*, int const*, double*, int const*, double*, double*, int const*,
            int*, std::size_t, std::size_t);
void dlatms_(int const*, int const*, char const*, int*, char const*, double*, int const*,
             double const*, double const*, int const*, int const*, char const*, double*, int const*,
             double*, int*, std::size_t, std::size_t, std::size_t);
}
#endif

namespace {

using namespace strata;
constexpr double eps = std::numeric_limits<double>::epsilon();

// The error of the eigenvalues that `generate` states, over eps.
double rounding(int n) { return 8 * (1 + std::log2(n)); }

bool same_bits(HostMatrix const& A, HostMatrix const& B) {
  bool same = A.extent(0) == B.extent(0) && A.extent(1) == B.extent(1);
  for (std::size_t j = 0; same && j < A.extent(1); ++j)
    same = A.extent(0) == 0 || std::memcmp(&A(0, j), &B(0, j), A.extent(0) * sizeof(double)) == 0;
  return same;
}

bool exactly_symmetric(HostMatrix const& A) {
  for (std::size_t j = 0; j < A.extent(1); ++j)
    for (std::size_t i = 0; i < j; ++i)
      if (!(A(i, j) == A(j, i))) return false;
  return true;
}

template <class Exception>
std::string text_of(std::function<void()> const& call) {
  try {
    call();
  } catch (Exception const& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// The slow reference: an unblocked Cholesky that says whether all pivots are positive.
bool positive_definite(HostMatrix const& matrix) {
  HostMatrix const A("strata::test::copy", matrix.extent(0), matrix.extent(1));
  Kokkos::deep_copy(A, matrix);
  for (std::size_t k = 0; k < A.extent(0); ++k) {
    for (std::size_t j = 0; j < k; ++j)
      for (std::size_t i = k; i < A.extent(0); ++i) A(i, k) -= A(i, j) * A(k, j);
    if (!(A(k, k) > 0)) return false;
    double const pivot = std::sqrt(A(k, k));
    for (std::size_t i = k; i < A.extent(0); ++i) A(i, k) /= pivot;
  }
  return true;
}

std::vector<MatrixKind> kinds_with_spectrum() {
  std::vector<MatrixKind> kinds;
  for (MatrixKind const kind : enum_values<MatrixKind>)
    if (has_spectrum(kind)) kinds.push_back(kind);
  return kinds;
}

TEST(Random, GivesTheBitsOfAnIndependentImplementation) {
  EXPECT_EQ(random_bits(0, 0, 0), 0x238275bc38fcbe91u);
  EXPECT_EQ(random_bits(1, 0, 0), 0xb18a02f46d8d86c3u);
  EXPECT_EQ(random_bits(1, 2, 1), 0xfeab9a052c034d9fu);
  EXPECT_EQ(random_bits(~std::uint64_t{0}, std::uint64_t{1} << 40, 7), 0xa2f8721eed954c33u);
  EXPECT_EQ(uniform(1, 2, 1), 0.9948059332491656);
}

TEST(Random, IsUniformInTheOpenUnitInterval) {
  constexpr int bins = 16, draws = 1 << 16;
  std::vector<int> count(bins);
  for (int k = 0; k < draws; ++k) {
    double const u = uniform(7, k % 256, k / 256);
    ASSERT_TRUE(u > 0 && u < 1);
    ++count[static_cast<int>(u * bins)];
  }
  double chi_squared = 0, expected = static_cast<double>(draws) / bins;
  for (int const c : count) chi_squared += (c - expected) * (c - expected) / expected;
  EXPECT_LT(chi_squared, 37.7);  // 99.9 % quantile, 15 degrees of freedom
}

TEST(Generators, NamesAreReadBack) {
  for (MatrixKind const kind : enum_values<MatrixKind>)
    EXPECT_EQ(from_name<MatrixKind>(name_of(kind)), kind);
  EXPECT_EQ(enum_values<MatrixKind>.size(), 10u);
  EXPECT_EQ(name_of(MatrixKind::Kms), "kms");
}

TEST(Generators, UnknownNameListsTheValidOnes) {
  EXPECT_EQ(text_of<ValueError>([] { (void)from_name<MatrixKind>("poev_geo"); }),
            "no matrix kind 'poev_geo'; there are geometric, arithmetic, cluster0, cluster1, "
            "logrand, dominant, "
            "minij, lehmer, moler, kms");
}

TEST(Generators, FormulasGiveTheHandWrittenMatrices) {
  auto const rows = [](MatrixKind kind) {
    HostMatrix const A = generate(kind, 3);
    return std::vector<double>{A(0, 0), A(0, 1), A(0, 2), A(1, 1), A(1, 2), A(2, 2)};
  };
  EXPECT_EQ(rows(MatrixKind::MinIJ), (std::vector<double>{1, 1, 1, 2, 2, 3}));
  EXPECT_EQ(rows(MatrixKind::Lehmer), (std::vector<double>{1, 1. / 2, 1. / 3, 1, 2. / 3, 1}));
  EXPECT_EQ(rows(MatrixKind::Moler), (std::vector<double>{1, -1, -1, 2, 0, 3}));
  EXPECT_EQ(rows(MatrixKind::Kms), (std::vector<double>{1, .5, .25, 1, .5, 1}));
}

TEST(Generators, TellHowFarTheMatrixIs) {
  for (MatrixKind const kind : enum_values<MatrixKind>) {
    SCOPED_TRACE(std::string(name_of(kind)));
    std::vector<double> parts;  // more threads than one, but one at a time
    HostMatrix const A =
        generate(kind, 300, {.on_progress = [&](double part) { parts.push_back(part); }});
    EXPECT_GT(parts.size(), 8u);
    EXPECT_EQ(std::ranges::adjacent_find(parts, std::ranges::greater_equal()), parts.end());
    EXPECT_GT(parts.front(), 0);
    EXPECT_EQ(parts.back(), 1);
    EXPECT_TRUE(same_bits(A, generate(kind, 300)));
  }
}

TEST(Generators, EveryKindIsSymmetricToTheLastBitAndPositiveDefinite) {
  for (MatrixKind const kind : enum_values<MatrixKind>)
    for (int const n : {0, 1, 2, 3, 64, 65, 130}) {
      SCOPED_TRACE(std::string(name_of(kind)) + " " + std::to_string(n));
      HostMatrix const A = generate(kind, n, {.condition = 1e3});
      ASSERT_EQ(A.extent_int(0), n);
      ASSERT_EQ(A.extent_int(1), n);
      EXPECT_TRUE(exactly_symmetric(A));
      EXPECT_TRUE(positive_definite(A) || (kind == MatrixKind::Moler && n > 20));
    }
}

TEST(Generators, TheSeedDecides) {
  for (MatrixKind const kind : enum_values<MatrixKind>) {
    GeneratorOptions const one{.seed = 1, .diagonal_spread = 1e6},
        two{.seed = 2, .diagonal_spread = 1e6};
    EXPECT_TRUE(same_bits(generate(kind, 20, one), generate(kind, 20, one))) << name_of(kind);
    EXPECT_FALSE(same_bits(generate(kind, 20, one), generate(kind, 20, two))) << name_of(kind);
  }
}

TEST(Generators, OneThreadGivesTheBitsOfMany) {
  for (MatrixKind const kind : {MatrixKind::Geometric, MatrixKind::Kms}) {
    GeneratorOptions const options{.diagonal_spread = 100};
    HostMatrix const many = generate(kind, 150, options);
    HostMatrix one;
    std::thread([&] {
      cpu_set_t only;
      CPU_ZERO(&only);
      CPU_SET(sched_getcpu(), &only);
      ASSERT_EQ(sched_setaffinity(0, sizeof only, &only), 0);
      ASSERT_EQ(strata::detail::host_threads(), 1);
      one = generate(kind, 150, options);
    }).join();
    EXPECT_TRUE(same_bits(one, many)) << name_of(kind);
  }
}

TEST(Generators, SpectraAreThoseOfTheDefinition) {
  GeneratorOptions const options{.condition = 1e4};
  auto const check = [&](MatrixKind kind, std::vector<double> const& expected) {
    std::vector<double> const values = spectrum(kind, 5, options);
    for (int i = 0; i < 5; ++i)
      EXPECT_NEAR(values[i], expected[i], 4 * eps * expected[i]) << name_of(kind);
  };
  check(MatrixKind::Geometric, {1, 1e-1, 1e-2, 1e-3, 1e-4});
  check(MatrixKind::Arithmetic, {1, 0.750025, 0.50005, 0.250075, 1e-4});
  check(MatrixKind::Cluster0, {1, 1e-4, 1e-4, 1e-4, 1e-4});
  check(MatrixKind::Cluster1, {1, 1, 1, 1, 1e-4});
  for (MatrixKind const kind : kinds_with_spectrum())
    for (int const n : {2, 3, 100}) {
      std::vector<double> const values = spectrum(kind, n, options);
      EXPECT_TRUE(std::is_sorted(values.rbegin(), values.rend()));
      EXPECT_EQ(values.front(), 1);
      EXPECT_EQ(values.back(), 1e-4);
    }
  EXPECT_EQ(spectrum(MatrixKind::Cluster0, 1, options), std::vector<double>{1});
}

TEST(Generators, ConditionOneGivesTheIdentity) {
  HostMatrix const A = generate(MatrixKind::Geometric, 37, {.condition = 1});
  for (int i = 0; i < 37; ++i)
    for (int j = 0; j < 37; ++j) EXPECT_NEAR(A(i, j), i == j ? 1 : 0, rounding(37) * eps);
}

TEST(Generators, ScalingSpreadsTheDiagonalAndKeepsTheCorrelations) {
  int const n = 200;
  HostMatrix const A = generate(MatrixKind::Kms, n);
  HostMatrix const B = generate(MatrixKind::Kms, n, {.diagonal_spread = 1e12});
  double least = INFINITY, most = 0;
  for (int i = 0; i < n; ++i) {
    least = std::min(least, B(i, i));
    most = std::max(most, B(i, i));
    for (int j = 0; j < n; ++j) {
      double const correlation = B(i, j) / std::sqrt(B(i, i)) / std::sqrt(B(j, j));
      ASSERT_NEAR(correlation, A(i, j), 8 * eps * A(i, j));
    }
  }
  EXPECT_TRUE(least > 1e-12 && least < 1e-11) << least;
  EXPECT_TRUE(most < 1e12 && most > 1e11) << most;
  EXPECT_TRUE(exactly_symmetric(B));
}

TEST(Generators, DominantIsUniformPlusTheOrder) {
  int const n = 50;
  HostMatrix const A = generate(MatrixKind::Dominant, n, {.seed = 9});
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) EXPECT_EQ(A(i, j), uniform(9, i, j) + (i == j ? n : 0));
}

TEST(Generators, KnownSolutionIsUniformAndSeeded) {
  HostMatrix const X = known_solution(500, 3, 4);
  ASSERT_EQ(X.extent(0), 500u);
  ASSERT_EQ(X.extent(1), 3u);
  double sum = 0, squares = 0;
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 500; ++i) {
      ASSERT_LT(std::abs(X(i, j)), 1);
      sum += X(i, j);
      squares += X(i, j) * X(i, j);
    }
  EXPECT_NEAR(sum / 1500, 0, 0.06);
  EXPECT_NEAR(squares / 1500, 1. / 3, 0.03);
  EXPECT_TRUE(same_bits(X, known_solution(500, 3, 4)));
  EXPECT_FALSE(same_bits(X, known_solution(500, 3, 5)));
  EXPECT_EQ(known_solution(0, 0).size(), 0u);
  EXPECT_NE(X(0, 0), X(0, 1));
}

TEST(Generators, WrongArgumentsAreRefusedWithTheirNumbers) {
  auto const refusal = [](GeneratorOptions const& options,
                          MatrixKind kind = MatrixKind::Geometric) {
    return text_of<ValueError>([&] { (void)generate(kind, 3, options); });
  };
  EXPECT_EQ(refusal({.condition = 0.5}),
            "spectrum: the condition number is 0.5, must be finite and at least 1");
  EXPECT_EQ(refusal({.condition = NAN}),
            "spectrum: the condition number is nan, must be finite and at least 1");
  EXPECT_EQ(refusal({.condition = INFINITY}),
            "spectrum: the condition number is inf, must be finite and at least 1");
  EXPECT_EQ(refusal({.diagonal_spread = 0}),
            "generate: diagonal_spread is 0, must be finite and at least 1");
  EXPECT_EQ(refusal({.diagonal_spread = NAN}),
            "generate: diagonal_spread is nan, must be finite and at least 1");
  EXPECT_EQ(refusal({.correlation = 1}, MatrixKind::Kms),
            "generate: correlation is 1, must lie between 0 and 1");
  EXPECT_EQ(text_of<ValueError>([] { spread_diagonal(generate(MatrixKind::Kms, 3), 0.5); }),
            "spread_diagonal: diagonal_spread is 0.5, must be finite and at least 1");
  EXPECT_EQ(text_of<ShapeError>([] { spread_diagonal(HostMatrix("strata::test::A", 3, 2), 10); }),
            "spread_diagonal: A is 3 x 2, must be square");
  EXPECT_EQ(text_of<ValueError>([] { (void)spectrum(MatrixKind::MinIJ, 3); }),
            "spectrum: the kind 'minij' has no prescribed spectrum");
  EXPECT_THROW((void)generate(MatrixKind::MinIJ, -1), ShapeError);
  EXPECT_THROW((void)known_solution(3, -1), ShapeError);
  for (std::int64_t const n : {std::int64_t{100'000'000}, std::int64_t{3'000'000'000'000}})
    EXPECT_THROW((void)generate(MatrixKind::Geometric, n), MemoryError) << n;
}

#ifdef STRATA_ENABLE_TPL_LAPACK
std::vector<double> eigenvalues(HostMatrix const& matrix) {
  HostMatrix const A("strata::test::copy", matrix.extent(0), matrix.extent(1));
  Kokkos::deep_copy(A, matrix);
  int const n = A.extent_int(0), lwork = 64 * (n + 2), lda = std::max(1, n);
  int info = -1;
  std::vector<double> values(n), work(lwork);
  dsyev_("N", "L", &n, A.data(), &lda, values.data(), work.data(), &lwork, &info, 1, 1);
  EXPECT_EQ(info, 0);
  std::reverse(values.begin(), values.end());
  return values;
}

TEST(Generators, DsyevFindsThePrescribedSpectrum) {
  for (MatrixKind const kind : kinds_with_spectrum())
    for (int const n : {1, 2, 3, 5, 17, 64, 101})
      for (double const condition : {1e1, 1e12}) {
        SCOPED_TRACE(std::string(name_of(kind)) + " " + std::to_string(n));
        GeneratorOptions const options{.condition = condition,
                                       .seed = static_cast<std::uint64_t>(n)};
        std::vector<double> const expected = spectrum(kind, n, options);
        std::vector<double> const found = eigenvalues(generate(kind, n, options));
        for (int i = 0; i < n; ++i)
          ASSERT_NEAR(found[i], expected[i], (n + rounding(n)) * eps);  // dsyev's error and ours
      }
}

// How far a matrix is from one that equilibration or sparsity makes easy.
struct Mixing {
  double diagonal_deviation;  // rms of a_ii - trace / n
  double diagonal_extreme;    // max of the same
  double off_diagonal;        // rms of a_ij
  double fourth_moment;  // mean of a_ij^4 over the square of that of a_ij^2: 3 for normal numbers
};

Mixing mixing(HostMatrix const& A) {
  double const n = static_cast<double>(A.extent(0));
  double trace = 0, deviation = 0, extreme = 0, square = 0, fourth = 0;
  for (std::size_t i = 0; i < A.extent(0); ++i) trace += A(i, i);
  for (std::size_t i = 0; i < A.extent(0); ++i) {
    double const d = std::abs(A(i, i) - trace / n);
    deviation += d * d / n;
    extreme = std::max(extreme, d);
    for (std::size_t j = 0; j < i; ++j) {
      double const squared = A(i, j) * A(i, j);
      square += squared / (n * (n - 1) / 2);
      fourth += squared * squared / (n * (n - 1) / 2);
    }
  }
  return {std::sqrt(deviation), extreme, std::sqrt(square), fourth / (square * square)};
}

#ifdef STRATA_TEST_WITH_TMGLIB
HostMatrix of_dlatms(int mode, int n, double condition) {
  HostMatrix const A("strata::test::dlatms", n, n);
  std::vector<double> d(n), work(3 * n);
  int seed[4] = {1, 2, 3, 5}, info = -1, band = n - 1;
  double const largest = 1;
  dlatms_(&n, &n, "U", seed, "P", d.data(), &mode, &condition, &largest, &band, &band, "N",
          A.data(), &n, work.data(), &info, 1, 1, 1);
  EXPECT_EQ(info, 0);
  return A;
}

TEST(Generators, SpectrumAndMixingAreThoseOfDlatms) {
  std::vector<std::pair<MatrixKind, int>> const modes = {{MatrixKind::Cluster0, 1},
                                                         {MatrixKind::Cluster1, 2},
                                                         {MatrixKind::Geometric, 3},
                                                         {MatrixKind::Arithmetic, 4}};
  for (auto const& [kind, mode] : modes)
    for (int const n : {128, 181}) {
      SCOPED_TRACE(std::string(name_of(kind)) + " " + std::to_string(n));
      HostMatrix const A = generate(kind, n, {.condition = 1e5}), B = of_dlatms(mode, n, 1e5);
      std::vector<double> const ours = eigenvalues(A), theirs = eigenvalues(B);
      for (int i = 0; i < n; ++i) ASSERT_NEAR(ours[i], theirs[i], 2 * n * eps);
      Mixing const a = mixing(A), b = mixing(B);
      EXPECT_NEAR(a.off_diagonal / b.off_diagonal, 1, 0.02);
      EXPECT_LT(a.diagonal_deviation, 1.5 * b.diagonal_deviation);
      EXPECT_LT(a.diagonal_extreme, 2 * b.diagonal_extreme);
      EXPECT_LT(a.fourth_moment, 2 * b.fourth_moment);
    }
}
#endif
#endif

template <class Space>
class GeneratorsOnDevice : public testing::Test {};
TYPED_TEST_SUITE(GeneratorsOnDevice, strata::test::Spaces, strata::test::SpaceNames);

template <class Space, class Scalar, class Layout>
void compare_dominant(int n) {
  Space const exec;
  Kokkos::View<Scalar**, Layout, Space> const padded("strata::test::padded", n + 3, n + 2);
  auto const A =
      Kokkos::subview(padded, Kokkos::pair<int, int>(1, n + 1), Kokkos::pair<int, int>(2, n + 2));
  generate_dominant(exec, A, 5);
  auto const result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), padded);
  HostMatrix const expected = generate(MatrixKind::Dominant, n, {.seed = 5});
  for (int i = 0; i < n + 3; ++i)
    for (int j = 0; j < n + 2; ++j) {
      bool const inside = i >= 1 && i < n + 1 && j >= 2;
      Scalar const wanted = inside ? static_cast<Scalar>(expected(i - 1, j - 2)) : Scalar(0);
      ASSERT_EQ(result(i, j), wanted) << i << " " << j;
    }
}

TYPED_TEST(GeneratorsOnDevice, DominantHasTheHostsBitsInAnyLayoutAndType) {
  for (int const n : {0, 1, 2, 63, 130}) {
    compare_dominant<TypeParam, double, Kokkos::LayoutLeft>(n);
    compare_dominant<TypeParam, double, Kokkos::LayoutRight>(n);
    compare_dominant<TypeParam, float, Kokkos::LayoutLeft>(n);
  }
}

TYPED_TEST(GeneratorsOnDevice, DominantRefusesARectangle) {
  Kokkos::View<double**, TypeParam> const A("strata::test::rectangle", 3, 4);
  EXPECT_EQ(text_of<ShapeError>([&] { generate_dominant(TypeParam(), A); }),
            "generate_dominant: A is 3 x 4, must be square");
}

}  // namespace
