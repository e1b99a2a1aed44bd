// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_BATCHED_SYSTEMS_HPP
#define STRATATEST_BATCHED_SYSTEMS_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/io/Strata_HostMatrix.hpp>
#include <core/problems/Strata_Random.hpp>
#include <dense/Strata_BatchedCholesky.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>
#include <vector>

namespace strata::test {

using Index = std::int64_t;

/// Systems in a space's memory, NaN around them and in the triangle that is not theirs.
template <class Space, class T>
struct Batched {
  using Numbers = Kokkos::View<T*, typename Space::memory_space>;
  using Matrices = Kokkos::View<T***, Kokkos::LayoutStride, typename Space::memory_space>;
  static constexpr T nan = std::numeric_limits<T>::quiet_NaN();

  Index n, columns, count, ld_a, ld_b, stride_a, stride_b;
  Uplo uplo;
  std::vector<T> A, B;  // as they were given
  Numbers a, b;
  typename dense::BatchedCholesky<Space>::InfoView info;

  Batched(Index order, Index right_hand_sides, Index systems, Uplo triangle, Index padding = 2)
      : n(order),
        columns(right_hand_sides),
        count(systems),
        ld_a(order + padding),
        ld_b(order + padding),
        stride_a(ld_a * n + padding),
        stride_b(ld_b * columns + padding),
        uplo(triangle),
        A(static_cast<std::size_t>(count * stride_a), nan),
        B(static_cast<std::size_t>(count * stride_b), nan),
        a("strata::test::A", A.size()),
        b("strata::test::B", B.size()),
        info("strata::test::info", static_cast<std::size_t>(count)) {}

  std::size_t at(Index k, Index i, Index j) const {  // of the lower triangle
    return static_cast<std::size_t>(k * stride_a +
                                    (uplo == Uplo::Lower ? i + j * ld_a : j + i * ld_a));
  }
  std::size_t right(Index k, Index i, Index c) const {
    return static_cast<std::size_t>(k * stride_b + i + c * ld_b);
  }
  template <class Entry>
  void set(Index k, Entry const& entry) {
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j <= i; ++j) A[at(k, i, j)] = static_cast<T>(entry(i, j));
  }
  template <class Entry>
  void set_right(Index k, Entry const& entry) {
    for (Index c = 0; c < columns; ++c)
      for (Index i = 0; i < n; ++i) B[right(k, i, c)] = static_cast<T>(entry(i, c));
  }

  static void copy(Numbers const& device, std::vector<T> const& host) {
    Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const from(
        host.data(), host.size());
    Kokkos::deep_copy(device, from);
  }
  static std::vector<T> copy(Numbers const& device) {
    std::vector<T> host(device.extent(0));
    Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const to(
        host.data(), host.size());
    Kokkos::deep_copy(to, device);
    return host;
  }
  void load() const {
    copy(a, A);
    copy(b, B);
    Kokkos::deep_copy(info, -7);
  }
  static Matrices view(Numbers const& numbers, Index n0, Index n1, Index n2, Index s1, Index s2) {
    auto const size = [](Index number) { return static_cast<std::size_t>(number); };
    return Matrices(numbers.data(),
                    Kokkos::LayoutStride(size(n0), 1, size(n1), size(s1), size(n2), size(s2)));
  }
  Matrices matrices(Numbers const& numbers) const {
    return view(numbers, n, n, count, ld_a, stride_a);
  }
  Matrices right_hand_sides(Numbers const& numbers) const {
    return view(numbers, n, columns, count, ld_b, stride_b);
  }
  std::vector<Index> orders() const {
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), info);
    return {host.data(), host.data() + host.extent(0)};
  }
  HostMatrix matrix(Index k) const {
    HostMatrix const result("strata::test::matrix", n, n);
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j <= i; ++j) result(i, j) = result(j, i) = A[at(k, i, j)];
    return result;
  }
  HostMatrix rights(std::vector<T> const& numbers, Index k) const {
    HostMatrix const result("strata::test::right", n, columns);
    for (Index i = 0; i < n; ++i)
      for (Index c = 0; c < columns; ++c) result(i, c) = numbers[right(k, i, c)];
    return result;
  }
};

/// Well-conditioned systems of random numbers.
template <class Space, class T>
Batched<Space, T> dominant_batch(Index n, Index columns, Index count, Uplo uplo) {
  Batched<Space, T> batch(n, columns, count, uplo);
  for (Index k = 0; k < count; ++k) {
    auto const seed = static_cast<std::uint64_t>(k + 1);
    batch.set(k, [&](Index i, Index j) {
      return uniform(seed, i, j) + (i == j ? static_cast<double>(n) : 0.0);
    });
    batch.set_right(k, [&](Index i, Index c) { return uniform(seed + 99, i, c) - 0.5; });
  }
  batch.load();
  return batch;
}

}  // namespace strata::test

#endif
