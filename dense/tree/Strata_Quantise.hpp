// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_QUANTISE_HPP
#define STRATA_QUANTISE_HPP

#include <core/blas/Strata_LeafBlas.hpp>
#include <core/blas/basics/Strata_LargestMagnitude.hpp>
#include <dense/tree/Strata_Layers.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::dense {

/// The power of two that a block with largest magnitude `amax` is divided by before it is rounded
/// to `precision`.
///
/// TwoWay: the smallest power of two that brings the block below the largest finite number R of the
/// format. The largest stored magnitude then lies in (R / 2, R], and rounding cannot overflow.
/// DownOnly: the same, but at least 1. fp64, fp32 and bf16 have the range of their accumulators: 1.
/// So has a block of zeros. What is not finite does not count, and stays visible.
KOKKOS_INLINE_FUNCTION double block_scale(Precision precision, double amax,
                                          BlockScaling scaling = BlockScaling::TwoWay) {
  int top = 0;         // exponent of R
  double largest = 0;  // R
  switch (precision) {
    case Precision::fp16:
      top = 15, largest = 65504;
      break;
    case Precision::fp8_e4m3:
      top = 8, largest = 448;
      break;
    case Precision::fp8_e4m3fnuz:
      top = 7, largest = 240;
      break;
    case Precision::fp8_e5m2:
    case Precision::fp8_e5m2fnuz:
      top = 15, largest = 57344;
      break;
    default:
      return 1;
  }
  if (scaling == BlockScaling::None) return 1;
  double const scale = strata::scale_below(amax, top, largest);
  return scaling == BlockScaling::DownOnly && scale < 1 ? 1 : scale;
}

/// *largest = the largest finite stored magnitude of the source, or 0. Enqueued; it stays on the
/// device.
template <class ExecutionSpace>
void measure_largest(ExecutionSpace const& exec,
                     ConstMatrixRef<typename ExecutionSpace::memory_space> const& source,
                     double* largest);

/// stored = round(source / s) with s = block_scale(...) of the source, and *scale = s.
///
/// Shape    source and stored: m x n, of any precisions; stored.scale must be `scale`, source.scale
///          another or none.
/// Sync     enqueued on the instance of `blas`; the scale stays on the device.
/// Error    |s stored_ij - source_ij| <= u |source_ij| + s eta / 2 (eta: smallest subnormal of the
///          stored type).
/// Throws   ShapeError if the shapes differ; ValueError if the scales are not as said.
/// Source   Paper A, section III-D; deviation: alpha is a power of two and may be below 1.
template <class ExecutionSpace>
void quantise(LeafBlas<ExecutionSpace>& blas,
              ConstMatrixRef<typename ExecutionSpace::memory_space> const& source,
              MatrixRef<typename ExecutionSpace::memory_space> const& stored, double* scale,
              BlockScaling scaling = BlockScaling::TwoWay);

/// The same of a source in fp64 or fp32, without scale, whose largest finite magnitude is in
/// *largest, in one kernel.
///
/// Throws   also ValueError if `largest` is `scale`.
template <class ExecutionSpace>
void quantise_below(ExecutionSpace const& exec,
                    ConstMatrixRef<typename ExecutionSpace::memory_space> const& source,
                    double const* largest,
                    MatrixRef<typename ExecutionSpace::memory_space> const& stored, double* scale,
                    BlockScaling scaling = BlockScaling::TwoWay);

}  // namespace strata::dense

#endif
