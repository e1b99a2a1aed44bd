// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_THIN_SOLVE_HPP
#define STRATA_DETAIL_THIN_SOLVE_HPP

#include <core/memory/Strata_Buffer.hpp>
#include <dense/recursion/detail/Strata_ThinTasks.hpp>
#include <dense/tree/Strata_BlockTree.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace strata::dense::detail {

/// x = L^-T L^-1 b for one vector, in one kernel, leaf by leaf. One product takes the leaf's block
/// row of L, or block column of L^T, over all that is solved already. Then the leaf is solved by
/// its inverse.
///
/// Teams take tasks in an order in which each waits for the numbers of earlier ones alone. So any
/// number of teams that run at a time will do. A task loads its part of L before it waits, and
/// products of later leaves go on while a leaf is solved. Products accumulate in the precision of
/// the vector, in an order that depends on the shape alone.
template <class ExecutionSpace>
class ThinSolve {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using Matrix = MatrixRef<memory_space>;
  using Tree = BlockTree<LayerList, ExecutionSpace>;
  using Node = typename Tree::Node;

  /// A device's tree of several leaves with inverses in the precision of its vectors, whose blocks
  /// are not wider and start where a whole load can.
  static bool takes(Tree const& tree);

  /// Lists the tasks. Fences. The tree must outlive this object and keep its factor.
  /// Memory   ten numbers a row, and 16 bytes for each of the tasks, 160 a leaf of 1024 in fp32.
  ThinSolve(ExecutionSpace const& exec, Tree const& tree);

  /// b = L^-T L^-1 b. Enqueued.
  ///
  /// b: n x 1 in the precision of the leaves' inverses.
  void operator()(Matrix const& b);

 private:
  template <class T>
  using Table = Kokkos::View<T*, memory_space>;
  template <class S, class Stored>
  void solve(S* b) const;

  ExecutionSpace exec_;
  Precision precision_;
  std::optional<Precision> stored_;  // of all strips, if they are alike
  std::int64_t n_;
  Buffer<ExecutionSpace> memory_;  // of the tables
  Table<FactorStrip> strips_;
  Table<ThinLeaf> leaves_;
  Table<ThinTask> tasks_;
  Table<std::byte> numbers_;  // that tasks hand on, and the count of teams
};

}  // namespace strata::dense::detail

#endif
