// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_LEAF_BLAS_HPP
#define STRATATEST_LEAF_BLAS_HPP

#include "StrataTest_Reference.hpp"
#include "StrataTest_StoredMatrix.hpp"
#include <core/Strata_Backends.hpp>
#include <core/blas/Strata_LeafBlas.hpp>

#include <limits>
#include <optional>
#include <ostream>

// What the tests of the leaf operations share.
namespace strata {

inline std::ostream& operator<<(std::ostream& text, BlasPath path) {
  constexpr char const* names[] = {"Automatic", "Vendor", "KokkosKernels", "Portable"};
  return text << names[static_cast<int>(path)];
}
inline std::ostream& operator<<(std::ostream& text, Precision precision) {
  return text << traits(precision).name;
}
inline std::ostream& operator<<(std::ostream& text, Op op) {
  return text << (op == Op::Trans ? 'T' : 'N');
}
inline std::ostream& operator<<(std::ostream& text, Uplo uplo) {
  return text << (uplo == Uplo::Lower ? 'L' : 'U');
}
inline std::ostream& operator<<(std::ostream& text, Side side) {
  return text << (side == Side::Left ? 'L' : 'R');
}
inline std::ostream& operator<<(std::ostream& text, Diag diag) {
  return text << (diag == Diag::Unit ? 'U' : 'N');
}

namespace test {

inline constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
inline constexpr BlasPath all_paths[] = {BlasPath::Automatic, BlasPath::Vendor,
                                         BlasPath::KokkosKernels, BlasPath::Portable};
inline constexpr Op both_ops[] = {Op::NoTrans, Op::Trans};
inline constexpr Uplo both_uplos[] = {Uplo::Lower, Uplo::Upper};

/// The types of a two-operand operation, with scales 2^x on the operands that are only read.
struct Types {
  Precision a, b, c;
  std::optional<int> scale_a = {}, scale_b = {};

  bool uniform() const { return is_arithmetic(a) && a == b && b == c && !scale_a && !scale_b; }
  Precision accumulator() const {
    return a == Precision::fp64 || b == Precision::fp64 ? Precision::fp64 : Precision::fp32;
  }
  friend std::ostream& operator<<(std::ostream& text, Types const& types) {
    return text << types.a << " x " << types.b << " -> " << types.c
                << (types.scale_a ? " scaled" : "") << (types.scale_b ? " scaled b" : "");
  }
};

using enum Precision;
inline constexpr Types all_types[] = {{fp64, fp64, fp64},
                                      {fp32, fp32, fp32},
                                      {fp16, fp16, fp32},
                                      {bf16, bf16, fp32},
                                      {fp16, fp16, fp16, 3, -5},
                                      {bf16, bf16, bf16},
                                      {fp8_e4m3, fp8_e4m3, fp32, -4, 2},
                                      {fp8_e4m3, fp8_e5m2, fp16},
                                      {fp8_e4m3fnuz, fp8_e5m2fnuz, bf16, {}, 7},
                                      {fp32, fp32, fp64, 2, {}},
                                      {fp16, fp64, fp64, {}, 40},
                                      {fp32, fp16, bf16}};

template <class Space>
inline constexpr bool is_device = !std::is_same_v<typename Space::memory_space, Kokkos::HostSpace>;

/// Whether the library has `path` for an operation; the portable path has them all.
template <class Space>
bool has_path(BlasPath path, bool in_kokkos_kernels) {
  if (path == BlasPath::KokkosKernels) return in_kokkos_kernels;
  if (path != BlasPath::Vendor) return true;
  return vendor_libraries<Space>.products;
}

}  // namespace test
}  // namespace strata

#endif
