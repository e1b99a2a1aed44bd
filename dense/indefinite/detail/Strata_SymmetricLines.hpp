// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_SYMMETRIC_LINES_HPP
#define STRATA_DETAIL_SYMMETRIC_LINES_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::dense::detail {

/// 2^k for |k| <= 1000.
KOKKOS_INLINE_FUNCTION double two_to(int k) {
  return Kokkos::bit_cast<double>(static_cast<std::uint64_t>(1023 + k) << 52);
}

/// a 2^k for |k| <= 2000. No step overflows unless the result does.
KOKKOS_INLINE_FUNCTION double times_power(double a, int k) {
  int const half = k / 2;
  return a * two_to(half) * two_to(k - half);
}

/// The triangle of a symmetric matrix that is read, as it lies in memory. Line l holds the elements
/// (l, k) from its `begin` to its `end`, which are the elements (k, l), too.
struct SymmetricLines {
  double const* a = nullptr;
  std::int64_t n = 0, ld = 1;
  bool from_diagonal = true;  ///< a line begins at the diagonal, or else ends there

  KOKKOS_FUNCTION std::int64_t begin(std::int64_t l) const { return from_diagonal ? l : 0; }
  KOKKOS_FUNCTION std::int64_t end(std::int64_t l) const { return from_diagonal ? n : l + 1; }
  KOKKOS_FUNCTION double const* line(std::int64_t l) const { return a + l * ld; }
  /// Element (i, j) of the symmetric matrix, whichever of the two is stored.
  KOKKOS_FUNCTION double operator()(std::int64_t i, std::int64_t j) const {
    bool const as_is = (i >= j) == from_diagonal;
    return as_is ? a[i + j * ld] : a[j + i * ld];
  }
};

/// A small View's numbers on the host; the View itself where that can read it. Fences `exec`.
template <class ExecutionSpace, class View>
auto on_host(ExecutionSpace const& exec, View const& view) {
  auto const host = Kokkos::create_mirror_view(view);
  Kokkos::deep_copy(exec, host, view);
  exec.fence("strata::dense::symmetric_factor: the numbers are on the host");
  return host;
}

}  // namespace strata::dense::detail

#endif
