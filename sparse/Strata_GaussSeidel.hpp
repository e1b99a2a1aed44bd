// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_GAUSS_SEIDEL_HPP
#define STRATA_SPARSE_GAUSS_SEIDEL_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <sparse/Strata_EllKernels.hpp>
#include <vector>

namespace strata::sparse {

enum class Sweep { Forward, Backward, Symmetric };

/// One Gauss-Seidel sweep (Symmetric: two) for A x = r over the blocks of a SweepOrder, A and vectors in
/// its numbering: one pass over the matrix for each sweep, a kernel for each block.
///
/// Sync     enqueued on `exec`. The halo of x, if any, must hold its values.
template <class Exec, class Matrix, class Scalar>
void gauss_seidel(Exec const& exec, Matrix const& A, std::vector<RowRange> const& blocks,
                  ConstVector<std::type_identity_t<Scalar>, typename Exec::memory_space> const& r,
                  Vector<Scalar, typename Exec::memory_space> const& x,
                  Sweep sweep = Sweep::Forward, Guess guess = Guess::Given) {
  Kokkos::Profiling::ScopedRegion const region("strata::sparse::gauss_seidel");
  if (sweep == Sweep::Backward && guess == Guess::Zero) Kokkos::deep_copy(exec, x, Scalar(0));
  if (sweep != Sweep::Backward)
    for (auto const block : blocks) relax(exec, A, r, x, block, guess);
  if (sweep != Sweep::Forward)
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block)
      relax(exec, A, r, x, *block, Guess::Given);
}

}  // namespace strata::sparse

#endif
