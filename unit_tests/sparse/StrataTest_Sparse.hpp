// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_SPARSE_HPP
#define STRATATEST_SPARSE_HPP

#include <core/problems/Strata_Random.hpp>
#include <sparse/formats/Strata_EllAssembly.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace strata::test {

/// Rows of 1 to `widest` entries at random positions, the diagonal among them, not symmetric;
/// values are multiples of 1/8, exact in fp16; the diagonal differs from row to row and dominates.
struct RandomRows {
  std::int64_t cols;
  int widest;
  std::uint64_t seed = 1;
  std::int64_t first = 0;  ///< global number of row 0

  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t local, Emit const& emit) const {
    std::int64_t const row = first + local;
    auto const length = static_cast<int>(random_bits(seed, row) % widest) + 1;
    int const diagonal_at = static_cast<int>(random_bits(seed, row, 1) % length);
    for (int k = 0; k < length; ++k) {
      auto const bits = random_bits(seed, row, k + 2);
      auto const column = static_cast<std::int64_t>((bits >> 8) % static_cast<std::uint64_t>(cols));
      double const value = static_cast<double>(bits % 65) / 8 - 4;
      if (k == diagonal_at)
        emit(row, 4.0 * length + static_cast<double>(row % 7) / 2);
      else if (column != row)
        emit(column, value);
    }
  }
};

/// The slow reference: rows as lists on the host.
using RowList = std::vector<std::vector<std::pair<std::int64_t, double>>>;

/// Takes up the entries of a row; a function of both sides, as the sources that call it are.
struct ListEntries {
  RowList::value_type* row;

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t column,
                                  [[maybe_unused]] double value) const {
    KOKKOS_IF_ON_HOST((row->emplace_back(column, value);))
  }
};

template <class Source>
RowList listed(std::int64_t rows, Source const& source) {
  RowList list(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows; ++i)
    source(i, ListEntries{&list[static_cast<std::size_t>(i)]});
  return list;
}

inline std::vector<double> random_vector(std::int64_t n, std::uint64_t seed) {
  std::vector<double> x(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    x[static_cast<std::size_t>(i)] =
        static_cast<double>(static_cast<float>(2 * uniform(seed, i) - 1));
  return x;
}

template <class Scalar, class Exec>
Kokkos::View<Scalar*, typename Exec::memory_space> to_device(Exec const& exec,
                                                             std::vector<double> const& x) {
  using Kokkos::view_alloc;
  Kokkos::View<Scalar*, typename Exec::memory_space> device(
      view_alloc(exec, Kokkos::WithoutInitializing, "strata::test::vector"), x.size());
  auto const host = Kokkos::create_mirror_view(device);
  exec.fence("strata::test::to_device");
  for (std::size_t i = 0; i < x.size(); ++i) host(i) = static_cast<Scalar>(x[i]);
  Kokkos::deep_copy(exec, device, host);
  exec.fence("strata::test::to_device");
  return device;
}

template <class Exec, class View>
std::vector<double> to_host(Exec const& exec, View const& x) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  exec.fence("strata::test::to_host");
  std::vector<double> result(x.extent(0));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<double>(host(i));
  return result;
}

}  // namespace strata::test

#endif
