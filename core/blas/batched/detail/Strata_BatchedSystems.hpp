// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BATCHED_SYSTEMS_HPP
#define STRATA_BATCHED_SYSTEMS_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::detail {

/// A batch of systems of one order, as kernels take it. A = L L^T, where the triangle that holds A
/// becomes L. Then A X = B, where X overwrites B. The strides tell whether L is the lower triangle,
/// or L^T the upper one.
///
/// Result   info: 0, or the order of the first pivot that is not a positive finite number, in which
///          case B is not written.
template <class T>
struct BatchedSystems {
  T* A = nullptr;
  T* B = nullptr;                ///< null where nothing is solved
  std::int64_t* info = nullptr;  ///< null where A already holds L
  std::int64_t count = 0, n = 0, columns = 0;
  /// strides of L, as a lower triangle
  std::int64_t row_stride = 1, column_stride = 1, stride_a = 0;
  std::int64_t ld_b = 1, stride_b = 0;

  KOKKOS_FUNCTION T* triangle(std::int64_t element) const { return A + element * stride_a; }
  KOKKOS_FUNCTION T* right_hand_sides(std::int64_t element) const { return B + element * stride_b; }
};

}  // namespace strata::detail

#endif
