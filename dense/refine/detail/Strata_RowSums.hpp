// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_ROW_SUMS_HPP
#define STRATA_DETAIL_ROW_SUMS_HPP

#include <core/blas/basics/Strata_SymmetricTiles.hpp>
#include <dense/refine/detail/Strata_LeafBlocks.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::dense::detail {

/// sums(i, 0) += sum_j |a_ij|, sums(i, 1) += sum_j |d_i a_ij d_j| of a symmetric matrix. They are
/// made for `SymmetricTiles` on a device, which load the working blocks of D A D in the same pass,
/// if there are any.
template <class ScalingView, class SumsView>
struct RowSumTerms {
  static constexpr int count = 2, strip = Tiling::strip;
  using Blocks = LeafBlocks<typename SumsView::memory_space>;

  ScalingView d;  ///< empty: sums(i, 1) stay
  SumsView sums;
  Blocks into;

  KOKKOS_FORCEINLINE_FUNCTION double weight(std::int64_t i) const {
    return d.extent(0) > 0 ? d(i) : 1;
  }
  KOKKOS_FORCEINLINE_FUNCTION static double term(int k, double a, double x) {
    double const size = Kokkos::abs(a);
    return k == 0 ? size : size * x;
  }
  template <bool is_inside>
  KOKKOS_FORCEINLINE_FUNCTION void take(Tiling const& tiling, double const (&values)[strip],
                                        std::int64_t p, std::int64_t q, double d_p,
                                        double const* d_q) const {
    static_assert(Blocks::run == strip);
    if (p >= into.n || q >= into.n) return;
    std::int64_t const leaf_p = into.leaf_of(p), leaf_q = into.leaf_of(q),
                       in_p = p - leaf_p * into.leaf_size, in_q = q - leaf_q * into.leaf_size;
    bool const lower = tiling.is_lower;  // in memory: p is the row
    if (lower ? leaf_p < leaf_q : leaf_p > leaf_q) return;
    auto const block = lower ? into.block(leaf_p, leaf_q) : into.block(leaf_q, leaf_p);
    double scaled[strip];
#pragma unroll
    for (int k = 0; k < strip; ++k) scaled[k] = values[k] * d_p * d_q[k];
    if (is_inside && !lower) return into.write_run(block, in_q + in_p * block.ld, scaled);
#pragma unroll
    for (int k = 0; k < strip; ++k) {
      if (!is_inside && !tiling.contains(p, q + k)) continue;
      if (!is_inside && p == q + k) scaled[k] += into.shift * scaled[k];
      into.write(block, lower ? in_p + (in_q + k) * block.ld : in_q + k + in_p * block.ld,
                 scaled[k]);
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION void add_row(std::int64_t i, std::int64_t,
                                           double const (&sum)[count]) const {
    Kokkos::atomic_add(&sums(i, 0), sum[0]);
    if (d.extent(0) > 0) Kokkos::atomic_add(&sums(i, 1), sum[1] * d(i));
  }
  KOKKOS_FORCEINLINE_FUNCTION void add_col(std::int64_t j, std::int64_t r,
                                           double const (&sum)[count]) const {
    add_row(j, r, sum);
  }
};

}  // namespace strata::dense::detail

#endif
