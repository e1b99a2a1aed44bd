// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_FACTOR_CASES_HPP
#define STRATATEST_FACTOR_CASES_HPP

#include "dense/StrataTest_Dense.hpp"
#include "dense/StrataTest_HardMatrices.hpp"
#include <core/Strata_MatrixRef.hpp>
#include <dense/Strata_Cholesky.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Matrices for what a factor does beyond solves, and what is true of them, in long double.
namespace strata::test {

inline constexpr double roundoff = 0x1p-53;

/// A matrix that is easy, with eigenvalues from 1 to 100.
inline HostMatrix easy_matrix(std::int64_t n, std::uint64_t seed = 1) {
  GeneratorOptions options;
  options.seed = seed;
  return generate(MatrixKind::Geometric, n, options);
}

/// Rows and columns times powers of two between 2^-most and 2^most.
inline HostMatrix rescaled(HostMatrix const& A, int most, unsigned seed) {
  HostMatrix const D = random_matrix(static_cast<std::int64_t>(A.extent(0)), 1, seed),
                   B("strata::test::B", A.extent(0), A.extent(0));
  auto const power = [&](std::size_t i) { return std::ldexp(1, static_cast<int>(most * D(i, 0))); };
  for (std::size_t j = 0; j < A.extent(0); ++j)
    for (std::size_t i = 0; i < A.extent(0); ++i) B(i, j) = power(i) * A(i, j) * power(j);
  return B;
}

/// A draw of a hard matrix: near pairs of stations, one of `HardMatrices::other`, or such a one
/// with wild scales.
inline HostMatrix hard_matrix(HardMatrices& draw, std::int64_t most) {
  std::int64_t const kind = draw.integer(0, 3);
  HostMatrix const A = kind < 2 ? draw.near_pairs(8, most) : draw.other(draw.integer(2, most));
  return kind == 3 ? rescaled(A, 120, static_cast<unsigned>(draw.integer(1, 1000))) : A;
}

/// A^-1 in long double, of a matrix that has a factor there.
inline std::vector<std::vector<long double>> exact_inverse(ExactFactor const& exact,
                                                           std::size_t n) {
  std::vector<std::vector<long double>> X;
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<long double> x(n, 0);
    x[j] = 1;
    exact.solve(x, j);
    X.push_back(std::move(x));
  }
  return X;
}

/// ||W A W^T - I||_2 in long double, by steps of the power method.
inline double whitening_truth(HostMatrix const& A, HostMatrix const& W) {
  std::size_t const n = A.extent(0);
  std::vector<std::vector<long double>> T(n, std::vector<long double>(n, 0)), F = T;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t l = 0; l <= i; ++l)
      for (std::size_t j = 0; j < n; ++j)
        T[i][j] += static_cast<long double>(W(i, l)) * A(std::max(l, j), std::min(l, j));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t l = 0; l <= j; ++l) F[i][j] += T[i][l] * W(j, l);
      if (i == j) F[i][j] -= 1;
    }
  std::vector<long double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = 1 + 0.37L * static_cast<long double>(i % 7);
  long double norm = 0;
  for (int step = 0; step < 60; ++step) {
    std::vector<long double> y(n, 0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) y[i] += F[i][j] * x[j];
    long double yy = 0, xx = 0;
    for (std::size_t i = 0; i < n; ++i) yy += y[i] * y[i], xx += x[i] * x[i];
    norm = std::sqrt(yy / xx);
    if (yy == 0) break;
    for (std::size_t i = 0; i < n; ++i) x[i] = y[i] / std::sqrt(yy);
  }
  return static_cast<double>(norm);
}

/// max |A - L L^T|_ij / sqrt(a_ii a_jj) in long double.
inline double factor_residual(HostMatrix const& A, HostMatrix const& L) {
  std::size_t const n = A.extent(0);
  long double worst = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      long double t = A(i, j);
      for (std::size_t l = 0; l <= j; ++l) t -= static_cast<long double>(L(i, l)) * L(j, l);
      long double const size = std::sqrt(static_cast<long double>(A(i, i)) * A(j, j));
      worst = std::max(worst, std::abs(t) / size);
    }
  return static_cast<double>(worst);
}

/// The factor's L on the host, zero above its diagonal.
template <class Space>
HostMatrix factor_on_host(Space const& exec, dense::CholeskyFactor<Space> const& factor) {
  auto const n = static_cast<std::size_t>(factor.report().n);
  Kokkos::View<double**, Kokkos::LayoutLeft, typename Space::memory_space> const L(
      "strata::test::L", n, n);
  factor.copy_factor(exec, matrix_ref(L));
  exec.fence("strata::test: L is ready");
  return on_host(L);
}

}  // namespace strata::test

#endif
