// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BATCHED_SUM_HPP
#define STRATA_BATCHED_SUM_HPP

#include <Kokkos_Core.hpp>

namespace strata {

/// f(0) + f(1) + ... + f(count - 1), in this order, `batch` loads of which are under way at a time.
template <class S, int batch = 8, class Function>
KOKKOS_FORCEINLINE_FUNCTION S batched_sum(int count, Function const& f) {
  S sum = 0;
  int k = 0;
  for (; k + batch <= count; k += batch) {
    S value[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) value[i] = f(k + i);
#pragma unroll
    for (int i = 0; i < batch; ++i) sum += value[i];
  }
  for (; k < count; ++k) sum += f(k);
  return sum;
}

}  // namespace strata

#endif
