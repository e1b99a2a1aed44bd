// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_REFERENCE_HPP
#define STRATATEST_REFERENCE_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/io/Strata_HostMatrix.hpp>

#include <cmath>
#include <cstdint>
#include <random>

// The slow sequential oracle of the dense operations, in double.
namespace strata::test::reference {

inline std::int64_t rows(HostMatrix const& A) { return static_cast<std::int64_t>(A.extent(0)); }
inline std::int64_t cols(HostMatrix const& A) { return static_cast<std::int64_t>(A.extent(1)); }

/// A matrix of f(i, j).
template <class Function>
HostMatrix generate(std::int64_t m, std::int64_t n, Function const& f) {
  HostMatrix const A("strata::test::reference", m, n);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) A(i, j) = f(i, j);
  return A;
}

/// Uniform numbers in (-1, 1).
inline HostMatrix random(std::int64_t m, std::int64_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> number(-1, 1);
  return generate(m, n, [&](auto, auto) { return number(engine); });
}

inline HostMatrix apply(Op op, HostMatrix const& A) {
  if (op == Op::NoTrans) return A;
  return generate(cols(A), rows(A), [&](auto i, auto j) { return A(j, i); });
}

inline HostMatrix abs(HostMatrix const& A) {
  return generate(rows(A), cols(A), [&](auto i, auto j) { return std::abs(A(i, j)); });
}

inline bool in_triangle(Uplo uplo, std::int64_t i, std::int64_t j) {
  return uplo == Uplo::Lower ? i >= j : i <= j;
}

/// One triangle, the rest zero; Diag::Unit puts ones on the diagonal.
inline HostMatrix triangle(Uplo uplo, Diag diag, HostMatrix const& A) {
  return generate(rows(A), cols(A), [&](auto i, auto j) {
    if (i == j && diag == Diag::Unit) return 1.0;
    return in_triangle(uplo, i, j) ? A(i, j) : 0.0;
  });
}

/// The symmetric matrix of which `uplo` of A is one triangle.
inline HostMatrix symmetric(Uplo uplo, HostMatrix const& A) {
  return generate(rows(A), cols(A),
                  [&](auto i, auto j) { return in_triangle(uplo, i, j) ? A(i, j) : A(j, i); });
}

/// alpha A B + beta C; a C that is multiplied by 0 is not looked at.
inline HostMatrix gemm(double alpha, HostMatrix const& A, HostMatrix const& B, double beta,
                       HostMatrix const& C) {
  return generate(rows(A), cols(B), [&](auto i, auto j) {
    double sum = 0;
    for (std::int64_t p = 0; p < cols(A); ++p) sum += A(i, p) * B(p, j);
    return alpha * sum + (beta == 0 ? 0 : beta * C(i, j));
  });
}

}  // namespace strata::test::reference

#endif
