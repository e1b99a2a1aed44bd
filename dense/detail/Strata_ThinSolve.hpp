// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_THIN_SOLVE_HPP
#define STRATA_DETAIL_THIN_SOLVE_HPP

#include <dense/Strata_BlockTree.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <vector>

namespace strata::dense::detail {

/// Part of a leaf's block row or block column in one stored block: what it is multiplied with are
/// elements [begin, begin + count) of the vector.
struct FactorStrip {
  void const* data;
  double const* scale;
  std::int64_t ld, begin, count, first_item;
  Precision precision;
};

/// x = L^-T L^-1 b for one vector, leaf by leaf: the leaf's block row of L, or block column of L^T,
/// over all that is solved already in one product, and then the leaf by its inverse.
///
/// A leaf takes three kernels down and two up, whatever the depth of the tree. Products accumulate in the precision of the vector, in an
/// order that depends on the shape alone.
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

  /// Lists the strips. Fences. The tree must outlive this object and keep its factor.
  ThinSolve(ExecutionSpace const& exec, Tree const& tree);

  /// b = L^-T L^-1 b. Enqueued.
  ///
  /// b: n x 1 in the precision of the leaves' inverses, aligned to 16 bytes.
  void operator()(Matrix const& b);

 private:
  using Strips = Kokkos::View<FactorStrip*, memory_space>;

  /// A leaf's strips in the table, and the items that they are cut into.
  struct Side {
    std::int64_t first = 0, count = 0, items = 0, width = 0;
  };
  struct Leaf {
    Node const* node;
    Side before, after;
  };

  Side list(std::vector<FactorStrip>& all, std::vector<FactorStrip> strips, std::int64_t least,
            std::int64_t most_items);
  std::int64_t padded() const { return (n_ + 15) / 16 * 16; }
  template <class T>
  void forward(T const* b, T* x) const;
  template <class T>
  void backward(T const* b, T* x) const;

  ExecutionSpace exec_;
  Precision precision_;
  std::vector<Leaf> leaves_;
  Strips strips_;
  Kokkos::View<std::byte*, memory_space>
      memory_;  // the vector between, a leaf's part, partial sums
  std::int64_t n_, leaf_size_, items_ = 1;
};

}  // namespace strata::dense::detail

#endif
