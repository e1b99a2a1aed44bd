// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_RANK_SWEEP_HPP
#define STRATA_DETAIL_RANK_SWEEP_HPP

#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/factor/detail/Strata_SweepKernels.hpp>
#include <dense/tree/Strata_BlockTree.hpp>
#include <dense/tree/Strata_Layers.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::dense::detail {

/// L L^T +- V V^T = L' L'^T in the blocks of a tree in fp64, on a device. Each row of [V L] has a
/// thread, and no number goes to the host. L is read and written once for 64 columns of V.
///
/// An update takes two kernels for each 128 columns of L: one finds the reflections, from the
/// diagonal block, the other applies them to the rows below. The rotations of a downdate depend on
/// P = L^-1 V alone. One kernel finds them all, and one applies them.
///
/// Memory   16 n bytes for each column of V, of which 1, 4, 16 or 64 are taken, and 32 for a piece.
template <class ExecutionSpace>
class RankSweep {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using Tree = BlockTree<LayerList, ExecutionSpace>;
  using Block = Kokkos::View<double**, Kokkos::LayoutLeft, memory_space>;

  static constexpr std::int64_t most_columns = 64;  ///< columns of V in one sweep

  /// For changes by k columns. Fences.
  ///
  /// Throws   MemoryError.
  RankSweep(LeafBlas<ExecutionSpace>& blas, Tree const& tree, std::int64_t k);

  /// L L^T + V V^T; V, whose rows before `first` are 0, is used up. Enqueued.
  void update(Block const& V, std::int64_t first = 0);
  /// L L^T - V V^T with L P = V and the upper triangular C, C^T C = I - P^T P. Enqueued.
  ///
  /// Throws   ShapeError for more than `most_columns`.
  void downdate(Block const& P, Block const& C);

 private:
  template <int K>
  void update_columns(Block const& V, std::int64_t begin, int k, std::int64_t first);
  template <int K>
  void downdate_columns(Block const& P, Block const& C);
  sweep::Rows rows() const { return {pieces_.data(), firsts_.data(), tree_.leaf_size()}; }

  LeafBlas<ExecutionSpace>& blas_;
  Tree const& tree_;
  Kokkos::View<sweep::Piece*, memory_space> pieces_;
  Kokkos::View<int*, memory_space> firsts_;
  Kokkos::View<double*, memory_space> reflections_;
};

}  // namespace strata::dense::detail

#endif
