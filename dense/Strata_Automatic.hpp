// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_AUTOMATIC_HPP
#define STRATA_AUTOMATIC_HPP

#include <dense/tree/Strata_Layers.hpp>

#include <cstdint>
#include <string>

namespace strata::dense {

/// Whether a solve of order n with so many right-hand sides is done sooner with a factor in fp64
/// from the start.
///
/// Each step of a refinement is a product in fp64 and a solve with all columns, 4 n^2 flops a
/// column. Three or more steps stand against n^3 / 3 flops that are saved. LAPACK's dsposv says
/// ITER = -1 to this.
constexpr bool fp64_is_faster(std::int64_t n, std::int64_t columns) { return columns > n / 64; }

/// What is taken for a matrix of which nothing but its order is known, and why.
struct AutomaticChoice {
  LayerList layers;    ///< outermost first
  std::string reason;  ///< "fp64: below n = 513 refinement costs more than layers save"
};

/// The layers of a matrix that is factored to solve for so many right-hand sides. A table has the
/// orders and numbers of columns from which on layers pay on an architecture.
///
/// An ill-conditioned matrix decides (geometric, condition 1e4): a well-conditioned one would gain
/// earlier, but a solve that is slower than fp64's is worse than one that could be faster.
template <class ExecutionSpace>
AutomaticChoice automatic_choice(std::int64_t n, std::int64_t columns = 1);

/// The layers of `automatic_choice`.
template <class ExecutionSpace>
LayerList automatic_layers(std::int64_t n, std::int64_t columns) {
  return automatic_choice<ExecutionSpace>(n, columns).layers;
}

}  // namespace strata::dense

#endif
