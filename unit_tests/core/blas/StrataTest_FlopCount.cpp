// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/Strata_FlopCount.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>
#include <vector>

namespace {

using namespace strata;

// A number that counts the operations done with it.
struct Counted {
  double value = 0;
  static inline std::int64_t operations = 0;
};
Counted count(double value) {
  ++Counted::operations;
  return {value};
}
Counted operator+(Counted a, Counted b) { return count(a.value + b.value); }
Counted operator-(Counted a, Counted b) { return count(a.value - b.value); }
Counted operator*(Counted a, Counted b) { return count(a.value * b.value); }
Counted operator/(Counted a, Counted b) { return count(a.value / b.value); }
Counted sqrt(Counted a) { return count(std::sqrt(a.value)); }

struct Matrix {
  std::int64_t rows, cols;
  std::vector<Counted> numbers = std::vector<Counted>(rows * cols, Counted{1});
  Counted& operator()(std::int64_t i, std::int64_t j) { return numbers[i + j * rows]; }
};

template <class Operation>
std::int64_t operations(Operation const& operation) {
  Counted::operations = 0;
  operation();
  return Counted::operations;
}

void gemm(Matrix A, Matrix B, Matrix C) {
  for (std::int64_t j = 0; j < C.cols; ++j)
    for (std::int64_t i = 0; i < C.rows; ++i)
      for (std::int64_t l = 0; l < A.cols; ++l) C(i, j) = C(i, j) + A(i, l) * B(l, j);
}

void syrk(Matrix A, Matrix C) {
  for (std::int64_t j = 0; j < C.cols; ++j)
    for (std::int64_t i = j; i < C.rows; ++i)
      for (std::int64_t l = 0; l < A.cols; ++l) C(i, j) = C(i, j) + A(i, l) * A(j, l);
}

void solve_lower(Matrix& L, Matrix& B, bool transposed) {
  for (std::int64_t j = 0; j < B.cols; ++j)
    for (std::int64_t s = 0; s < L.rows; ++s) {
      std::int64_t const k = transposed ? L.rows - 1 - s : s;
      B(k, j) = B(k, j) / L(k, k);
      for (std::int64_t i = transposed ? 0 : k + 1; i < (transposed ? k : L.rows); ++i)
        B(i, j) = B(i, j) - (transposed ? L(k, i) : L(i, k)) * B(k, j);
    }
}

void potrf(Matrix A) {
  for (std::int64_t k = 0; k < A.rows; ++k) {
    A(k, k) = sqrt(A(k, k));
    for (std::int64_t i = k + 1; i < A.rows; ++i) A(i, k) = A(i, k) / A(k, k);
    for (std::int64_t j = k + 1; j < A.rows; ++j)
      for (std::int64_t i = j; i < A.rows; ++i) A(i, j) = A(i, j) - A(i, k) * A(j, k);
  }
}

std::vector<std::int64_t> const sizes = {0, 1, 2, 3, 7, 20};

TEST(FlopCount, MatchesTheOperationsOfTheLoops) {
  for (std::int64_t const n : sizes)
    for (std::int64_t const m : sizes) {
      Matrix L{n, n}, B{n, m};
      for (std::int64_t const k : sizes)
        EXPECT_EQ(gemm_flops(n, m, k), operations([&] { gemm({n, k}, {k, m}, {n, m}); }));
      EXPECT_EQ(symm_flops(n, m), operations([&] { gemm({n, n}, {n, m}, {n, m}); }));
      EXPECT_EQ(trsm_flops(n, m), operations([&] { solve_lower(L, B, false); }));
      EXPECT_EQ(trsm_flops(n, m), operations([&] { solve_lower(L, B, true); }));
      EXPECT_EQ(potrs_flops(n, m), operations([&] {
                  solve_lower(L, B, false);
                  solve_lower(L, B, true);
                }));
      EXPECT_EQ(syrk_flops(n, m), operations([&] { syrk({n, m}, {n, n}); }));
    }
  for (std::int64_t const n : sizes)
    EXPECT_EQ(potrf_flops(n), operations([&] { potrf({n, n}); })) << n;
}

TEST(FlopCount, OfARefinementMatchesItsStep) {
  for (std::int64_t const n : {1, 5, 12}) {
    Matrix L{n, n}, X{n, 2}, R{n, 2};
    EXPECT_EQ(refinement_flops(n, 2), operations([&] {
                gemm({n, n}, X, R);
                solve_lower(L, R, false);
                solve_lower(L, R, true);
                for (std::size_t k = 0; k < X.numbers.size(); ++k)
                  X.numbers[k] = X.numbers[k] + R.numbers[k];
              }));
  }
}

// Numbers of a matrix that are touched, each once.
std::int64_t triangle(std::int64_t n) {
  std::set<std::pair<std::int64_t, std::int64_t>> touched;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = j; i < n; ++i) touched.emplace(i, j);
  return static_cast<std::int64_t>(touched.size());
}

TEST(FlopCount, BytesAreThoseOfEachOperandOnce) {
  for (std::int64_t const n : sizes) {
    std::int64_t const t = triangle(n);
    EXPECT_EQ(gemm_bytes(n, 3, 5, 1, 2, 4), n * 5 * 1 + 5 * 3 * 2 + 2 * n * 3 * 4);
    EXPECT_EQ(syrk_bytes(n, 3, 2, 4), n * 3 * 2 + 2 * t * 4);
    EXPECT_EQ(trsm_bytes(n, 3, 2, 4), t * 2 + 2 * n * 3 * 4);
    EXPECT_EQ(potrf_bytes(n, 8), 2 * t * 8);
  }
}

TEST(FlopCount, DoesNotOverflowAtAMillion) {
  constexpr std::int64_t n = 1'000'000;
  static_assert(gemm_flops(n, n, n) == 2'000'000'000'000'000'000);
  static_assert(syrk_flops(n, n) == 1'000'001'000'000'000'000);
  static_assert(trsm_flops(n, n) == 1'000'000'000'000'000'000);
  static_assert(potrf_flops(n) == 333'333'833'333'500'000);
  static_assert(potrs_flops(n, n) == gemm_flops(n, n, n));
  static_assert(gemm_bytes(n, n, n, 8, 8, 8) == 32 * n * n);
}

}  // namespace
