// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_SPD_SYSTEM_HPP
#define STRATATEST_SPD_SYSTEM_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace strata::test {

/// A dense column-major matrix on the host, for slow references.
struct PlainMatrix {
  std::size_t rows = 0, cols = 0;
  std::vector<double> data;

  PlainMatrix() = default;
  PlainMatrix(std::size_t m, std::size_t n) : rows(m), cols(n), data(m * n, 0.0) {}
  double& operator()(std::size_t i, std::size_t j) { return data[i + j * rows]; }
  double operator()(std::size_t i, std::size_t j) const { return data[i + j * rows]; }
};

/// Eigenvalues from 1 down to 1/kappa in geometric progression.
inline std::vector<double> geometric_spectrum(std::size_t n, double kappa) {
  std::vector<double> values(n, 1.0);
  for (std::size_t i = 1; i < n; ++i)
    values[i] = std::pow(kappa, -static_cast<double>(i) / static_cast<double>(n - 1));
  return values;
}

/// All eigenvalues 1 but the last, 1/kappa.
inline std::vector<double> clustered_spectrum(std::size_t n, double kappa) {
  std::vector<double> values(n, 1.0);
  if (n > 0) values.back() = 1 / kappa;
  return values;
}

/// Q diag(spectrum) Q^T with Q a product of three random Householder reflectors.
inline PlainMatrix with_spectrum(std::vector<double> const& spectrum, unsigned seed = 1) {
  std::size_t const n = spectrum.size();
  PlainMatrix A(n, n);
  for (std::size_t i = 0; i < n; ++i) A(i, i) = spectrum[i];
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  for (int reflector = 0; reflector < 3; ++reflector) {
    std::vector<double> v(n), w(n, 0.0);
    double vv = 0, vw = 0;
    for (double& value : v) {
      value = normal(random);
      vv += value * value;
    }
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < n; ++i) w[i] += A(i, j) * v[j] * (2 / vv);
    for (std::size_t i = 0; i < n; ++i) vw += v[i] * w[i] / vv;
    // H A H with H = I - 2 v v' / v'v
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < n; ++i)
        A(i, j) -= v[i] * w[j] + w[i] * v[j] - 2 * vw * v[i] * v[j];
  }
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < j; ++i) A(i, j) = A(j, i);
  return A;
}

/// A with rows and columns scaled by powers of two between 10^-decades and 10^decades.
inline PlainMatrix badly_scaled(PlainMatrix A, double decades, unsigned seed = 2) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-decades, decades);
  std::vector<double> s(A.rows);
  for (double& value : s) value = std::exp2(std::round(uniform(random) * std::log2(10.0)));
  for (std::size_t j = 0; j < A.cols; ++j)
    for (std::size_t i = 0; i < A.rows; ++i) A(i, j) *= s[i] * s[j];
  return A;
}

inline PlainMatrix random_numbers(std::size_t m, std::size_t n, unsigned seed = 3) {
  PlainMatrix B(m, n);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  for (double& value : B.data) value = normal(random);
  return B;
}

inline double norm_inf(PlainMatrix const& A) {
  std::vector<double> sums(A.rows, 0.0);
  for (std::size_t j = 0; j < A.cols; ++j)
    for (std::size_t i = 0; i < A.rows; ++i) sums[i] += std::abs(A(i, j));
  return sums.empty() ? 0 : *std::ranges::max_element(sums);
}

/// The textbook Cholesky factor in the arithmetic of T; entries of the upper triangle are 0.
template <class T>
PlainMatrix reference_cholesky(PlainMatrix const& A) {
  PlainMatrix L(A.rows, A.cols);
  for (std::size_t j = 0; j < A.cols; ++j)
    for (std::size_t i = j; i < A.rows; ++i) {
      T sum = static_cast<T>(A(i, j));
      for (std::size_t k = 0; k < j; ++k) sum -= static_cast<T>(L(i, k)) * static_cast<T>(L(j, k));
      L(i, j) = static_cast<double>(i == j ? std::sqrt(sum) : sum / static_cast<T>(L(j, j)));
    }
  return L;
}

/// x = L^-1 x in the arithmetic of T.
template <class T>
void reference_forward(PlainMatrix const& L, double* x) {
  for (std::size_t i = 0; i < L.rows; ++i) {
    T sum = static_cast<T>(x[i]);
    for (std::size_t k = 0; k < i; ++k) sum -= static_cast<T>(L(i, k)) * static_cast<T>(x[k]);
    x[i] = static_cast<double>(sum / static_cast<T>(L(i, i)));
  }
}

/// x = L^-T x in the arithmetic of T.
template <class T>
void reference_backward(PlainMatrix const& L, double* x) {
  for (std::size_t i = L.rows; i-- > 0;) {
    T sum = static_cast<T>(x[i]);
    for (std::size_t k = i + 1; k < L.rows; ++k)
      sum -= static_cast<T>(L(k, i)) * static_cast<T>(x[k]);
    x[i] = static_cast<double>(sum / static_cast<T>(L(i, i)));
  }
}

/// Blocks of columns in the memory of an execution space, and ways in and out: by fences of all
/// instances, in regions that say that they are the test's.
template <class Exec>
struct OnDevice {
  using Block = Kokkos::View<double**, Kokkos::LayoutLeft, typename Exec::memory_space>;

  static Block copy(PlainMatrix const& A, std::size_t padding = 0) {
    Block const whole("strata::test::matrix", A.rows + padding, A.cols);
    Block const result =
        Kokkos::subview(whole, std::pair<std::size_t, std::size_t>(0, A.rows), Kokkos::ALL);
    write(result, A);
    return result;
  }
  // Through a contiguous copy: a padded one cannot be copied between host and device.
  static void write(Block const& target, PlainMatrix const& A) {
    Kokkos::Profiling::ScopedRegion const region("strata::test::write");
    Block const whole("strata::test::contiguous", A.rows, A.cols);
    auto const host = Kokkos::create_mirror_view(whole);
    for (std::size_t j = 0; j < A.cols; ++j)
      for (std::size_t i = 0; i < A.rows; ++i) host(i, j) = A(i, j);
    Kokkos::deep_copy(whole, host);
    Kokkos::deep_copy(target, whole);
  }
  static PlainMatrix read(Block const& source) {
    Kokkos::Profiling::ScopedRegion const region("strata::test::read");
    Block const whole("strata::test::contiguous", source.extent(0), source.extent(1));
    Kokkos::deep_copy(whole, source);
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), whole);
    PlainMatrix A(source.extent(0), source.extent(1));
    for (std::size_t j = 0; j < A.cols; ++j)
      for (std::size_t i = 0; i < A.rows; ++i) A(i, j) = host(i, j);
    return A;
  }
};

/// Y = A X, one thread per entry.
template <class Exec>
void reference_product(Exec const& exec, typename OnDevice<Exec>::Block const& A,
                       typename OnDevice<Exec>::Block const& X,
                       typename OnDevice<Exec>::Block const& Y) {
  auto const n = A.extent(0);
  Kokkos::parallel_for(
      "strata::test::product", Kokkos::RangePolicy<Exec>(exec, 0, n * X.extent(1)),
      KOKKOS_LAMBDA(std::size_t entry) {
        std::size_t const i = entry % n, c = entry / n;
        double sum = 0;
        for (std::size_t k = 0; k < n; ++k) sum += A(k, i) * X(k, c);
        Y(i, c) = sum;
      });
}

}  // namespace strata::test

#endif
