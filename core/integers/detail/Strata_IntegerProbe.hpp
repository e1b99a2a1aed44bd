// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_INTEGER_PROBE_HPP
#define STRATA_DETAIL_INTEGER_PROBE_HPP

#include <core/integers/Strata_Residues.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>

#include <cstdint>
#include <vector>

// Whether products of bytes are summed exactly: some units saturate, pack wrongly, or keep fewer
// bits.
namespace strata::detail {

/// One product: extents, and which bytes its operands have.
struct ProbedProduct {
  std::int64_t rows, depth;
  enum Bytes { Least, Largest, Alternating, Random } bytes;
};

inline constexpr ProbedProduct probed_products[] = {{16, 130816, ProbedProduct::Least},
                                                    {16, 130816, ProbedProduct::Largest},
                                                    {16, 130816, ProbedProduct::Random},
                                                    {64, 4096, ProbedProduct::Alternating},
                                                    {64, 4096, ProbedProduct::Random}};

/// Byte t of an operand.
inline std::int8_t probed_byte(ProbedProduct::Bytes bytes, std::uint32_t t) {
  switch (bytes) {
    case ProbedProduct::Least:
      return -128;
    case ProbedProduct::Largest:
      return 127;
    case ProbedProduct::Alternating:
      return t % 2 == 0 ? -128 : 127;
    default:
      t = (t ^ 61u ^ (t >> 16)) * 9u;  // Wang's hash
      t = (t ^ (t >> 4)) * 0x27d4eb2du;
      return static_cast<std::int8_t>(t >> 15);
  }
}

/// Whether multiply(A, B, C, accumulate) gives what the host does, modulo two numbers, with and
/// without `accumulate`. Fences.
template <class Exec, class Multiply>
bool is_exact_product(Exec const& exec, ProbedProduct const& probed, Multiply const& multiply) {
  using Space = typename Exec::memory_space;
  constexpr int planes = 2;
  std::int64_t const n = probed.rows, k = probed.depth;
  auto const allocate_on_device = [&]<class T>(T, std::int64_t count) {
    return strata::allocate<Kokkos::View<T*, Space>>(exec, "strata::core::integers::probe",
                                                     static_cast<std::size_t>(count));
  };
  auto const A = allocate_on_device(std::int8_t(), planes * n * k);
  auto const C = allocate_on_device(std::int32_t(), planes * n * n);
  auto const a = Kokkos::create_mirror_view(Kokkos::WithoutInitializing, A);
  auto const c = Kokkos::create_mirror_view(Kokkos::WithoutInitializing, C);
  for (std::int64_t t = 0; t < planes * n * k; ++t)
    a(t) = probed_byte(probed.bytes, static_cast<std::uint32_t>(t));
  Kokkos::deep_copy(exec, A, a);
  ResiduePlanes<Space> const operand{A.data(), n, k, k, n * k, planes};
  ModularSums<Space> const sums{C.data(), n, n, n, n * n, planes, k};
  multiply(operand, operand, sums, false);
  multiply(operand.depth_block(0, 16), operand.depth_block(k - 16, 16), sums, true);
  Kokkos::deep_copy(exec, c, C);
  exec.fence("strata::core::integers::probe: compare");
  for (std::int64_t s = 0; s < planes; ++s)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) {
        std::int8_t const* const x = a.data() + (s * n + i) * k;
        std::int8_t const* const y = a.data() + (s * n + j) * k;
        std::int64_t sum = 0;
        for (std::int64_t p = 0; p < k; ++p) sum += x[p] * y[p];
        for (std::int64_t p = 0; p < 16; ++p) sum += x[p] * y[k - 16 + p];
        if (c(s * n * n + i + j * n) != sum) return false;
      }
  return true;
}

/// The same of all of `probed_products`.
template <class Exec, class Multiply>
bool is_exact_on_device(Exec const& exec, Multiply const& multiply) {
  for (ProbedProduct const& probed : probed_products)
    if (!is_exact_product(exec, probed, multiply)) return false;
  return true;
}

}  // namespace strata::detail

#endif
