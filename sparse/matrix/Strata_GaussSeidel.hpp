// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_GAUSS_SEIDEL_HPP
#define STRATA_SPARSE_GAUSS_SEIDEL_HPP

#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/formats/Strata_EllKernels.hpp>
#include <sparse/formats/Strata_MatrixOptions.hpp>

#include <Kokkos_Core.hpp>

#include <vector>

namespace strata::sparse {

/// One Gauss-Seidel sweep (Symmetric: two) for A x = r over the blocks of a SweepOrder, which are
/// all rows in order. A and vectors have its numbering. Each sweep is one pass over the matrix,
/// with a kernel for each block, or one for all blocks where they are small.
///
/// Sync     enqueued on `exec`. The halo of x, if any, must hold its values.
template <class Exec, class Matrix, class Scalar>
void gauss_seidel(Exec const& exec, Matrix const& A, std::vector<RowRange> const& blocks,
                  ConstVector<std::type_identity_t<Scalar>, typename Exec::memory_space> const& r,
                  Vector<Scalar, typename Exec::memory_space> const& x,
                  Sweep sweep = Sweep::Forward, Guess guess = Guess::Given) {
  bool const is_device = !strata::runs_on_host<Exec>;
  constexpr std::int64_t few_rows = 8192;  // whose blocks take one team less than launches do
  bool const is_small = A.rows() < few_rows && A.stored() < 32 * few_rows;
  if (is_device && is_small && blocks.size() <= FewBlocks::most) {
    FewBlocks few;
    for (auto const block : blocks) few.begin[++few.count] = static_cast<std::int32_t>(block.end);
    return relax_in_order(exec, A, r, x, few, sweep != Sweep::Backward, sweep != Sweep::Forward,
                          guess);
  }
  // On a host to clear x takes less time than to choose.
  if (guess == Guess::Zero && (sweep == Sweep::Backward || !is_device)) {
    Kokkos::deep_copy(exec, x, Scalar(0));
    guess = Guess::Cleared;
  }
  if (sweep != Sweep::Backward)
    for (auto const block : blocks) relax(exec, A, r, x, block, guess);
  if (sweep != Sweep::Forward)
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block)
      relax(exec, A, r, x, *block, Guess::Given);
}

}  // namespace strata::sparse

#endif
