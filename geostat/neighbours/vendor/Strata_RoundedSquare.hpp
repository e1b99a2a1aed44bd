// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_ROUNDED_SQUARE_HPP
#define STRATA_ROUNDED_SQUARE_HPP

#include <Kokkos_Macros.hpp>

namespace strata::geostat::vendor {

/// sum + d^2, the product rounded before the sum: the same bits on hosts and devices, whose
/// compilers make one fma of both.
KOKKOS_FORCEINLINE_FUNCTION double add_square(double sum, double d) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(sum, __dmul_rn(d, d));
#else
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
  double square = d * d;
#if defined(__GNUC__) && !defined(__clang__) && defined(__FP_FAST_FMA)
  // GCC, whose fma may come from two statements, sees no product here.
#if defined(__x86_64__)
  asm("" : "+x"(square));
#elif defined(__aarch64__)
  asm("" : "+w"(square));
#else
  asm("" : "+m"(square));
#endif
#endif
  return sum + square;
#endif
}

}  // namespace strata::geostat::vendor

#endif
