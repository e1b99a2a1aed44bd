// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_AUTOMATIC_HPP
#define STRATA_AUTOMATIC_HPP

#include <dense/Strata_Cholesky.hpp>
#include <dense/Strata_Layers.hpp>

#include <cstdint>

namespace strata::dense {

/// Whether a solve of order n with so many right-hand sides is done sooner with a factor in fp64 from the start.
///
/// Each step of a refinement is a product in fp64 and a solve with all columns, 4 n^2 flops a column; there are three or
/// more steps for n^3 / 3 flops that are saved. LAPACK's dsposv says ITER = -1 to this.
constexpr bool fp64_is_faster(std::int64_t n, std::int64_t columns) { return columns > n / 64; }

/// `automatic_layers` for a matrix that is factored to solve for so many right-hand sides.
template <class ExecutionSpace>
LayerList automatic_layers(std::int64_t n, std::int64_t columns) {
  return fp64_is_faster(n, columns) ? LayerList{Precision::fp64}
                                    : automatic_layers<ExecutionSpace>(n);
}

}  // namespace strata::dense

#endif
