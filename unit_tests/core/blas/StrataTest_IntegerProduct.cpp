// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Products of fp64 matrices by integers against long double.
#include "StrataTest_LeafBlas.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace strata::test {
namespace {

using reference::apply;
using reference::generate;

constexpr Op N = Op::NoTrans, T = Op::Trans;
constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<long double> norms_of_rows(HostMatrix const& A) {
  std::vector<long double> norms;
  for (std::int64_t i = 0; i < reference::rows(A); ++i) {
    long double sum = 0;
    for (std::int64_t k = 0; k < reference::cols(A); ++k)
      sum += static_cast<long double>(A(i, k)) * static_cast<long double>(A(i, k));
    norms.push_back(std::sqrt(sum));
  }
  return norms;
}

// theta: 2^-b of the table; a roundoff that is fp64's is that of S = 14 at least.
double theta_of(Precision format) {
  constexpr double beyond[] = {4.0e-17, 2.8e-18, 2.0e-19};
  int const moduli = moduli_of(format);
  return moduli < 14 ? traits(format).unit_roundoff : beyond[moduli - 14];
}

/// The contract: sqrt(k) theta ||a_i|| ||b_j|| (1 + ...) + u |C_ij|, and where alpha is not 1 or -1
/// a rounding of either term.
void expect_close(HostMatrix const& found, double alpha, HostMatrix const& A, HostMatrix const& B,
                  double beta, HostMatrix const& old, Precision format) {
  auto const a = norms_of_rows(A), b = norms_of_rows(apply(T, B));
  std::int64_t const k = reference::cols(A);
  long double const theta = theta_of(format), root = std::sqrt(static_cast<long double>(k));
  for (std::int64_t j = 0; j < reference::cols(B); ++j)
    for (std::int64_t i = 0; i < reference::rows(A); ++i) {
      long double sum = 0;
      for (std::int64_t p = 0; p < k; ++p)
        sum += static_cast<long double>(A(i, p)) * static_cast<long double>(B(p, j));
      long double const before = beta == 0 ? 0 : static_cast<long double>(beta) * old(i, j);
      long double const right = static_cast<long double>(alpha) * sum + before;
      long double const scale =
          std::abs(alpha) * a[static_cast<std::size_t>(i)] * b[static_cast<std::size_t>(j)];
      bool const is_one = std::abs(alpha) == 1;
      long double const rounded =
          std::abs(right) + (is_one ? 0 : std::abs(before) + std::abs(alpha * sum));
      long double const bound = root * theta * scale * (1 + root * theta / 4) +
                                0x1p-53L * (1 + 1e-6L) * rounded + 0x1p-1073L;
      ASSERT_LE(std::abs(static_cast<long double>(found(i, j)) - right), bound)
          << format << ", " << i << ", " << j << " of " << reference::rows(A) << " x "
          << reference::cols(B) << " x " << k;
    }
}

template <class Space>
void check_gemm(LeafBlas<Space>& blas, Precision format, Op op_a, Op op_b, HostMatrix const& left,
                HostMatrix const& right, double alpha, double beta) {
  StoredMatrix<Space> const A(apply(op_a, left), format, 3), B(apply(op_b, right), format, 1);
  auto const m = reference::rows(left), n = reference::cols(right);
  auto const old =
      beta == 0 ? generate(m, n, [](auto, auto) { return nan_value; }) : reference::random(m, n, 3);
  StoredMatrix<Space> const C(old, fp64, 2);
  blas.gemm(op_a, op_b, alpha, A.ref(), B.ref(), beta, C.ref());
  expect_close(C.read(), alpha, left, right, beta, old, format);
  EXPECT_TRUE(C.padding_is_untouched());
}

template <class Space>
void gemm_holds_the_bound() {
  struct Shape {
    std::int64_t m, n, k;
  };
  constexpr Shape shapes[] = {{0, 3, 2},   {3, 3, 0},     {1, 3, 1},
                              {7, 16, 33}, {65, 33, 129}, {40, 50, 300}};
  struct Factors {
    double alpha, beta;
  };
  constexpr Factors factors[] = {{1, 0}, {-1, 1}, {0.3, -2}};
  std::size_t next = 0;
  for (BlasPath const path : {BlasPath::Automatic, BlasPath::Portable}) {
    LeafBlas<Space> blas(Space(), path);
    for (int moduli = least_moduli; moduli <= most_moduli; ++moduli)
      for (auto const& [op_a, op_b] : {std::pair(N, N), std::pair(N, T), std::pair(T, N)})
        for (Shape const& shape : shapes) {
          auto const [alpha, beta] = factors[next++ % std::size(factors)];
          check_gemm(blas, integer_precision(moduli), op_a, op_b,
                     reference::random(shape.m, shape.k, 1), reference::random(shape.k, shape.n, 2),
                     alpha, beta);
        }
  }
}

// The contract is by rows: rows of any size, graded rows, rows of zeros, and D A with B D^-1.
template <class Space>
void gemm_holds_it_on_hard_operands() {
  std::int64_t const m = 41, n = 30, k = 90;
  auto const a = reference::random(m, k, 5), b = reference::random(k, n, 6);
  auto const far = generate(m, k, [&](auto i, auto p) {
    return i == 3 ? 0.0 : std::ldexp(a(i, p), static_cast<int>(15 * (i - 20)));
  });
  auto const cols = generate(
      k, n, [&](auto p, auto j) { return std::ldexp(b(p, j), static_cast<int>(20 * (15 - j))); });
  auto const graded = generate(
      m, k, [&](auto i, auto p) { return a(i, p) * std::pow(10.0, static_cast<double>(p) / -4); });
  auto const against = generate(
      k, n, [&](auto p, auto j) { return b(p, j) * std::pow(10.0, static_cast<double>(p) / 4); });
  auto const tiny = generate(m, k, [&](auto i, auto p) { return std::ldexp(a(i, p), -1040); });
  auto const large = generate(k, n, [&](auto p, auto j) { return std::ldexp(b(p, j), 990); });
  LeafBlas<Space> blas{Space()};
  for (int const moduli : {6, 9, 14, 16}) {
    Precision const format = integer_precision(moduli);
    check_gemm(blas, format, N, N, far, cols, 1, 0);
    check_gemm(blas, format, T, N, graded, against, -1, 1);
    check_gemm(blas, format, N, T, graded, b, 1, 0);
    check_gemm(blas, format, N, N, a, large, 1, 0);
    check_gemm(blas, format, N, N,
               generate(m, k, [&](auto i, auto p) { return std::ldexp(a(i, p), -520); }),
               generate(k, n, [&](auto p, auto j) { return std::ldexp(b(p, j), -515); }), 1, 0);
  }
  StoredMatrix<Space> const A(tiny, int8x14), B(b, int8x14), C(reference::random(m, n, 1), fp64);
  blas.gemm(N, N, 1, A.ref(), B.ref(), 0, C.ref());  // below 2^-1022 units end
  auto const found = C.read();
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) EXPECT_LE(std::abs(found(i, j)), 0x1p-1010);
}

// What is not finite is in its row and column alone.
template <class Space>
void what_is_not_finite_stays_in_its_row() {
  std::int64_t const n = 40;
  for (double const bad : {nan_value, infinity, -infinity}) {
    auto const a =
        generate(n, n, [&](auto i, auto k) { return i == 7 && k == 11 ? bad : 1.0 + i; });
    auto const b = generate(n, n, [&](auto k, auto j) { return j == 5 && k == 2 ? bad : 1.0 + j; });
    StoredMatrix<Space> const A(a, int8x9), B(b, int8x9), C(reference::random(n, n, 1), fp64);
    LeafBlas<Space> blas{Space()};
    blas.gemm(N, N, 1, A.ref(), B.ref(), 1, C.ref());
    auto const found = C.read();
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i)
        EXPECT_EQ(std::isfinite(found(i, j)), i != 7 && j != 5) << i << ", " << j;
  }
}

bool are_same_bits(HostMatrix const& a, HostMatrix const& b) {
  for (std::int64_t j = 0; j < reference::cols(a); ++j)
    for (std::int64_t i = 0; i < reference::rows(a); ++i)
      if (a(i, j) != b(i, j)) return false;
  return true;
}

// By the library and by this library's kernel, whole and in blocks of rows and columns, plain and
// transposed, as a batch and as a SYRK.
template <class Space>
void bits_are_the_same_for_every_cut() {
  std::int64_t const n = 530, k = 70;
  for (int const moduli : {7, 14}) {
    Precision const format = integer_precision(moduli);
    auto const a = reference::random(n, k, 8), old = reference::random(n, n, 9);
    StoredMatrix<Space> const A(a, format), At(apply(T, a), format), C(old, fp64);
    LeafBlas<Space> blas{Space()}, portable(Space(), BlasPath::Portable);
    blas.gemm(N, T, -1, A.ref(), A.ref(), 1, C.ref());
    auto const whole = C.read();
    StoredMatrix<Space> const P(old, fp64), D(old, fp64), S(old, fp64), U(old, fp64);
    portable.gemm(T, N, -1, At.ref(), At.ref(), 1, P.ref());
    EXPECT_TRUE(are_same_bits(P.read(), whole));
    for (auto const& [i, m] : {std::pair<std::int64_t, std::int64_t>(0, 17), {17, 500}, {517, 13}})
      for (auto const& [j, w] : {std::pair<std::int64_t, std::int64_t>(0, 300), {300, 230}})
        blas.gemm(N, T, -1, A.ref().block(i, 0, m, k), A.ref().block(j, 0, w, k), 1,
                  D.ref().block(i, j, m, w));
    EXPECT_TRUE(are_same_bits(D.read(), whole));
    for (Uplo const uplo : both_uplos) {
      auto const& of = uplo == Uplo::Lower ? S : U;
      uplo == Uplo::Lower ? blas.syrk(uplo, N, -1, A.ref(), 1, of.ref())
                          : blas.syrk(uplo, T, -1, At.ref(), 1, of.ref());
      EXPECT_TRUE(are_same_bits(of.read(), generate(n, n, [&](auto i, auto j) {
                                  return reference::in_triangle(uplo, i, j) ? whole(i, j)
                                                                            : old(i, j);
                                })));
    }
  }
}

// Other types of the result, scales, and terms of more than one block.
template <class Space>
void other_results_and_several_blocks() {
  std::int64_t const m = 20, n = 13, k = 4200;
  auto const a = reference::random(m, k, 1), b = reference::random(k, n, 2);
  LeafBlas<Space> blas{Space()};
  check_gemm(blas, int8x13, N, N, a, b, -1, 1);
  StoredMatrix<Space> const A(a, int8x12, 1, 5), B(b, int8x12, 0, -3),
      C(reference::random(m, n, 4), fp64), F(reference::random(m, n, 4), fp32);
  blas.gemm(N, N, 1, A.ref(), B.ref(), 0, C.ref());
  blas.gemm(N, N, 1, A.ref(), B.ref(), 0, F.ref());
  auto const wide = C.read(), narrow = F.read();
  expect_close(wide, 1, a, b, 0, wide, int8x12);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i)
      EXPECT_EQ(narrow(i, j), static_cast<float>(wide(i, j))) << i << ", " << j;
  LeafBlas<Space> kernels(Space(), BlasPath::KokkosKernels);
  EXPECT_TRUE(throws_with<ValueError>("the Kokkos Kernels path has no such operation", [&] {
    kernels.gemm(N, N, 1, A.ref(), B.ref(), 0, C.ref());
  }));
}

template <class Space>
class IntegerProductOn : public testing::Test {};
TYPED_TEST_SUITE(IntegerProductOn, Spaces, SpaceNames);

TYPED_TEST(IntegerProductOn, GemmHoldsItsBound) { gemm_holds_the_bound<TypeParam>(); }
TYPED_TEST(IntegerProductOn, GemmHoldsItOnHardOperands) {
  gemm_holds_it_on_hard_operands<TypeParam>();
}
TYPED_TEST(IntegerProductOn, WhatIsNotFiniteStaysInItsRow) {
  what_is_not_finite_stays_in_its_row<TypeParam>();
}
TYPED_TEST(IntegerProductOn, BitsAreTheSameForEveryCut) {
  bits_are_the_same_for_every_cut<TypeParam>();
}
TYPED_TEST(IntegerProductOn, OtherResultsAndSeveralBlocks) {
  other_results_and_several_blocks<TypeParam>();
}

}  // namespace
}  // namespace strata::test
