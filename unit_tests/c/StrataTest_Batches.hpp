// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TEST_BATCHES_HPP
#define STRATA_TEST_BATCHES_HPP

#include <c/StrataTest_Calls.hpp>
#include <c/StrataTest_Systems.hpp>

#include <gtest/gtest.h>
#include <strata.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace strata::test {

/// Systems in one array of matrices and one of right-hand sides, each other than the one before,
/// with NaN between them.
template <class Call>
struct Batch {
  using T = typename Call::Scalar;

  Batch(char triangle, std::int64_t order, std::int64_t columns, std::int64_t systems_in_it)
      : uplo(triangle), n(order), nrhs(columns), count(systems_in_it), ld(order + 3) {
    stride_a = ld * std::max<std::int64_t>(n, 1) + 5;
    stride_b = ld * std::max<std::int64_t>(nrhs, 1) + 7;
    A.assign(static_cast<std::size_t>(stride_a * count), System<T>::nan);
    B.assign(static_cast<std::size_t>(stride_b * count), System<T>::nan);
    info.assign(static_cast<std::size_t>(count), -7);
    for (std::int64_t b = 0; b < count; ++b) {
      System<T> one(uplo, n, nrhs, 0.1 + 0.05 * static_cast<double>(b));
      for (T& number : one.B) number *= static_cast<T>(b + 1);
      systems.push_back(one);
    }
    load();
  }
  void load() {
    for (std::int64_t b = 0; b < count; ++b) {
      std::copy(system(b).A.begin(), system(b).A.end(), A.begin() + b * stride_a);
      std::copy(system(b).B.begin(), system(b).B.end(), B.begin() + b * stride_b);
    }
  }
  System<T>& system(std::int64_t b) { return systems[static_cast<std::size_t>(b)]; }
  System<T> const& system(std::int64_t b) const { return systems[static_cast<std::size_t>(b)]; }

  std::vector<T> A_of(std::int64_t b) const { return part(A, b * stride_a, system(b).A.size()); }
  std::vector<T> B_of(std::int64_t b) const { return part(B, b * stride_b, system(b).B.size()); }

  strata_status factor() {
    return Call::potrf_batched(uplo, n, A.data(), ld, stride_a, count, info.data());
  }
  strata_status solve() {
    return Call::potrs_batched(uplo, n, nrhs, A.data(), ld, stride_a, B.data(), ld, stride_b,
                               count);
  }
  strata_status factor_and_solve() {
    return Call::posv_batched(uplo, n, nrhs, A.data(), ld, stride_a, B.data(), ld, stride_b, count,
                              info.data());
  }
  bool has_no_failure() const {
    return std::all_of(info.begin(), info.end(), [](std::int64_t k) { return k == 0; });
  }
  /// What lies in the other triangles, in the padding and between the matrices.
  bool rest_is_untouched() const {
    for (std::int64_t b = 0; b < count; ++b) {
      if (!system(b).rest_is_untouched(A_of(b), true) ||
          !system(b).rest_is_untouched(B_of(b), false))
        return false;
      auto const a = static_cast<std::int64_t>(system(b).A.size()),
                 r = static_cast<std::int64_t>(system(b).B.size());
      for (T const x : part(A, b * stride_a + a, static_cast<std::size_t>(stride_a - a)))
        if (!std::isnan(x)) return false;
      for (T const x : part(B, b * stride_b + r, static_cast<std::size_t>(stride_b - r)))
        if (!std::isnan(x)) return false;
    }
    return true;
  }
  static std::vector<T> part(std::vector<T> const& all, std::int64_t first, std::size_t size) {
    return {all.begin() + first, all.begin() + first + static_cast<std::ptrdiff_t>(size)};
  }

  char uplo;
  std::int64_t n, nrhs, count, ld, stride_a = 0, stride_b = 0;
  std::vector<System<T>> systems;
  std::vector<T> A, B;
  std::vector<std::int64_t> info;
};

/// The largest difference of two arrays where both have numbers, and infinity where but one has.
template <class T>
double largest_difference(std::vector<T> const& a, std::vector<T> const& b) {
  double most = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (std::isnan(a[k]) && std::isnan(b[k])) continue;
    double const off = std::abs(static_cast<double>(a[k]) - static_cast<double>(b[k]));
    most = off <= most ? most : std::isnan(off) ? INFINITY : off;
  }
  return most;
}

/// As LAPACK's way: one system after the other.
template <class Call>
void expect_as_in_a_loop(Batch<Call> const& batch) {
  double const eps = std::numeric_limits<typename Call::Scalar>::epsilon();
  double const n = static_cast<double>(batch.n);
  for (std::int64_t b = 0; b < batch.count; ++b) {
    auto const& s = batch.system(b);
    auto L = s.A, X = s.B;
    std::int64_t info = -9;
    ASSERT_EQ(Call::potrf(s.uplo, s.n, L.data(), s.ld, nullptr, &info), STRATA_SUCCESS);
    ASSERT_EQ(Call::potrs(s.uplo, s.n, s.nrhs, L.data(), s.ld, X.data(), s.ld, &info),
              STRATA_SUCCESS);
    // of elements that are 1 or less, and of X that the condition, at most 20 / 0.1, makes less
    // sure
    double const largest = 20 * static_cast<double>(b + 1);
    EXPECT_LE(largest_difference(batch.A_of(b), L), 10 * n * eps) << b;
    EXPECT_LE(largest_difference(batch.B_of(b), X), 200 * n * eps * largest) << b;
    EXPECT_LE(s.factor_error(batch.A_of(b)), 10 * eps) << b;
    EXPECT_LE(s.backward_error(batch.B_of(b)), 10 * eps) << b;
  }
}

}  // namespace strata::test

#endif
