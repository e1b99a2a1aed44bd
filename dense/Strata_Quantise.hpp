// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_QUANTISE_HPP
#define STRATA_QUANTISE_HPP

#include <Kokkos_Core.hpp>
#include <core/Strata_LeafBlas.hpp>
#include <cstdint>

namespace strata::dense {

/// How a block is brought into the range of its storage type.
enum class BlockScaling {
  TwoWay,    ///< by a power of two, up as well as down
  DownOnly,  ///< only blocks that would overflow, as paper A does
  None,      ///< not at all
};

/// The power of two that a block with largest magnitude `amax` is divided by before it is rounded to
/// `precision`.
///
/// TwoWay: such that the largest stored magnitude lies in (top / 2, top], where `top` is 2^14 for fp16, 2^8 for E4M3,
/// 2^15 for E5M2 (FNUZ: 2^7 and 2^15): below the largest finite number, so that rounding cannot overflow. DownOnly:
/// the same, but at least 1. fp64, fp32 and bf16 have the range of their accumulators: 1. So has a block of zeros, or
/// of non-finite numbers, which thereby stay visible.
KOKKOS_INLINE_FUNCTION double block_scale(Precision precision, double amax,
                                          BlockScaling scaling = BlockScaling::TwoWay) {
  int top = 0;
  switch (precision) {
    case Precision::fp16:
      top = 14;
      break;
    case Precision::fp8_e4m3:
      top = 8;
      break;
    case Precision::fp8_e4m3fnuz:
      top = 7;
      break;
    case Precision::fp8_e5m2:
    case Precision::fp8_e5m2fnuz:
      top = 15;
      break;
    default:
      return 1;
  }
  if (scaling == BlockScaling::None || !(amax >= 0x1p-900) || !(amax <= 0x1p900)) return 1;
  std::uint64_t const bits = Kokkos::bit_cast<std::uint64_t>(amax);
  std::uint64_t const ceiling =
      (bits >> 52) + ((bits & 0xfffffffffffffu) != 0);  // biased ceil(log2(amax))
  double const scale = Kokkos::bit_cast<double>((ceiling - static_cast<std::uint64_t>(top)) << 52);
  return scaling == BlockScaling::DownOnly && scale < 1 ? 1 : scale;
}

/// stored = round(source / s) with s = block_scale(...) of the source, and *scale = s.
///
/// Shape    source and stored: m x n, of any precisions; stored.scale must be `scale`, source.scale another or none.
/// Sync     enqueued on the instance of `blas`; the scale stays on the device.
/// Error    |s stored_ij - source_ij| <= u |source_ij| + s eta / 2 (eta: smallest subnormal of the stored type).
/// Throws   ShapeError if the shapes differ; ValueError if the scales are not as said.
/// Source   Paper A, section III-D; deviation: alpha is a power of two and may be below 1.
template <class ExecutionSpace>
void quantise(LeafBlas<ExecutionSpace>& blas,
              MatrixRef<typename ExecutionSpace::memory_space> const& source,
              MatrixRef<typename ExecutionSpace::memory_space> const& stored, double* scale,
              BlockScaling scaling = BlockScaling::TwoWay);

}  // namespace strata::dense

#endif
