// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_DENSE_HPP
#define STRATATEST_DENSE_HPP

#include <core/problems/Strata_Generators.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace strata::test {

inline constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// Uniform numbers in (-1, 1).
inline HostMatrix random_matrix(std::int64_t rows, std::int64_t cols, unsigned seed) {
  HostMatrix const A("strata::test::random", rows, cols);
  std::mt19937_64 random(seed);
  for (std::int64_t j = 0; j < cols; ++j)
    for (std::int64_t i = 0; i < rows; ++i)
      A(i, j) = 2 * (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53 - 1;
  return A;
}

/// A's numbers as T, in a space's memory.
template <class Space, class T>
auto converted(HostMatrix const& A) {
  Kokkos::View<T**, Kokkos::LayoutLeft, Kokkos::HostSpace> const host("strata::test::host",
                                                                      A.extent(0), A.extent(1));
  for (std::size_t j = 0; j < A.extent(1); ++j)
    for (std::size_t i = 0; i < A.extent(0); ++i) host(i, j) = static_cast<T>(A(i, j));
  return Kokkos::create_mirror_view_and_copy(typename Space::memory_space(), host);
}

/// A well-conditioned lower triangular matrix, unit-sized off the diagonal; NaN above it.
inline HostMatrix random_triangle(std::int64_t n, unsigned seed) {
  HostMatrix const L = random_matrix(n, n, seed);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < j; ++i) L(i, j) = nan_value;
    for (std::int64_t i = j + 1; i < n; ++i) L(i, j) /= static_cast<double>(n);
    L(j, j) = 1.5 + L(j, j) / 4;
  }
  return L;
}

/// The slow reference: A's lower triangle becomes L, or the 1-based order of the minor that is not
/// positive is returned. Sums in long double.
inline std::int64_t reference_cholesky(HostMatrix const& A) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = j; i < n; ++i) {
      long double sum = A(i, j);
      for (std::int64_t k = 0; k < j; ++k) sum -= static_cast<long double>(A(i, k)) * A(j, k);
      if (i == j && !(sum > 0)) return j + 1;
      A(i, j) = static_cast<double>(i == j ? std::sqrt(sum) : sum / A(j, j));
    }
  }
  return 0;
}

/// ||tril(A) - tril(B)||_F / ||tril(B)||_F.
template <class A, class B>
double triangle_difference(A const& a, B const& b) {
  double difference = 0, norm = 0;
  for (std::size_t j = 0; j < b.extent(1); ++j) {
    for (std::size_t i = j; i < b.extent(0); ++i) {
      difference += (a(i, j) - b(i, j)) * (a(i, j) - b(i, j));
      norm += b(i, j) * b(i, j);
    }
  }
  return norm == 0 ? std::sqrt(difference) : std::sqrt(difference / norm);
}

/// ||A - L L^T||_F / ||A||_F over the lower triangle.
inline double factor_error(HostMatrix const& A, HostMatrix const& L) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  double difference = 0, norm = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = j; i < n; ++i) {
      double sum = 0;
      for (std::int64_t k = 0; k <= j; ++k) sum += L(i, k) * L(j, k);
      difference += (A(i, j) - sum) * (A(i, j) - sum);
      norm += A(i, j) * A(i, j);
    }
  }
  return norm == 0 ? 0 : std::sqrt(difference / norm);
}

/// Largest |A_ij - B_ij|; NaN if there is one.
template <class A, class B>
double largest_difference(A const& a, B const& b) {
  double largest = 0;
  for (std::size_t j = 0; j < b.extent(1); ++j)
    for (std::size_t i = 0; i < b.extent(0); ++i) {
      double const difference = std::abs(a(i, j) - b(i, j));
      if (!(difference <= largest)) largest = difference;
      if (std::isnan(largest)) return largest;
    }
  return largest;
}

/// A copy in `Space`, in the layout asked for, with `padding` numbers between its columns or rows.
template <class Space, class Layout = Kokkos::LayoutLeft>
auto on_device(HostMatrix const& A, std::size_t padding = 0) {
  using Padded = Kokkos::View<double**, Layout, typename Space::memory_space>;
  constexpr bool left = std::is_same_v<Layout, Kokkos::LayoutLeft>;
  Padded const padded("strata::test::padded", A.extent(0) + (left ? padding : 0),
                      A.extent(1) + (left ? 0 : padding));
  Kokkos::deep_copy(padded, nan_value);
  auto const view = Kokkos::subview(padded, Kokkos::pair<std::size_t, std::size_t>(0, A.extent(0)),
                                    Kokkos::pair<std::size_t, std::size_t>(0, A.extent(1)));
  auto const mirror = Kokkos::create_mirror(Kokkos::HostSpace(), padded);
  for (std::size_t j = 0; j < padded.extent(1); ++j)
    for (std::size_t i = 0; i < padded.extent(0); ++i)
      mirror(i, j) = i < A.extent(0) && j < A.extent(1) ? A(i, j) : nan_value;
  Kokkos::deep_copy(padded, mirror);
  return view;
}

/// A host copy of a device View of any layout.
template <class ViewType>
HostMatrix on_host(ViewType const& A) {
  using Contiguous = Kokkos::View<double**, Kokkos::LayoutLeft, typename ViewType::memory_space>;
  Contiguous const copy("strata::test::copy", A.extent(0), A.extent(1));
  Kokkos::parallel_for(
      "strata::test::copy",
      Kokkos::RangePolicy<typename ViewType::execution_space>(0, A.extent(0) * A.extent(1)),
      KOKKOS_LAMBDA(std::size_t k) {
        copy(k % A.extent(0), k / A.extent(0)) = A(k % A.extent(0), k / A.extent(0));
      });
  Kokkos::fence("strata::test::on_host");
  HostMatrix const host("strata::test::host", A.extent(0), A.extent(1));
  Kokkos::deep_copy(host, copy);
  return host;
}

}  // namespace strata::test

#endif
