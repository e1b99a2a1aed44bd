// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VENDOR_TYPES_HPP
#define STRATA_VENDOR_TYPES_HPP

#include <core/Strata_Precision.hpp>
#include <core/blas/basics/detail/Strata_Elementwise.hpp>

// What cuBLAS and rocBLAS have in common.
namespace strata::vendor {

/// The type that a product of such operands is summed in.
constexpr Precision sum_type(Precision operand) {
  return operand == Precision::fp64 ? Precision::fp64 : Precision::fp32;
}

/// Whether the library's general GEMM has the types: one type, or 16-bit operands with an fp32
/// result.
constexpr bool has_gemm(Precision a, Precision b, Precision c) {
  return a == b && traits(a).bytes > 1 && !is_product_format(a) && (c == a || c == sum_type(a));
}

/// Whether the factors of a sum keep their value in the arithmetic type that it is formed in.
inline bool fit(Precision sums, double alpha, double beta) {
  return strata::detail::is_representable(sums, alpha) &&
         strata::detail::is_representable(sums, beta);
}

/// Whether both are of one arithmetic type that the factors fit into.
inline bool in_one_type(Precision a, Precision b, double alpha, double beta) {
  return a == b && is_arithmetic(a) && fit(a, alpha, beta);
}

}  // namespace strata::vendor

#endif
