// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BLOCK_TREE_HPP
#define STRATA_BLOCK_TREE_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/tree/Strata_Layers.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace strata::dense {

/// How diagonal leaves are solved with.
enum class LeafSolve {
  /// Inverse on devices and where a host's matrix units take the low layers, else Substitution
  Automatic,
  Substitution,  ///< TRSM
  Inverse,       ///< a product with the leaf's inverse, which is kept in the tree
};

/// What the operands of a product are rounded to: see `tree_trsm`.
enum class Products {
  AsStored,  ///< B enters as it is
  Layered,   ///< rounded to the layer of the block of L
};

/// What the sizes do not say.
struct BlockTreeOptions {
  /// The other choices at their defaults.
  BlockTreeOptions(BlockScaling how = BlockScaling::TwoWay) : scaling(how) {}
  BlockScaling scaling;         ///< scaling of blocks that are quantised
  std::int64_t panel_size = 0;  ///< see `BlockTree::panels`; 0: chosen for the device
  LeafSolve leaf_solve = LeafSolve::Automatic;  ///< how diagonal leaves are solved with
};

/// Where a diagonal block of n > leaf_size columns is cut: after the first half of its leaves.
std::int64_t half_of_leaves(std::int64_t n, std::int64_t leaf_size);

/// The lower triangle of an n x n matrix, cut as the recursion of paper A cuts it, each block in
/// its layer's type.
///
/// A node is a diagonal block: a leaf of at most `leaf_size` columns, stored whole, or (left half,
/// off-diagonal block, right half). The left half is a multiple of the leaf size, so that all
/// leaves but the last are full. A block has up to two copies: `stored`, in its layer's type with a
/// power-of-two scale, and `working`, in the accumulator's type, where it is updated until it is
/// final. Where both types agree, the copies are one.
///
/// Scales   an entry of L in row i is at most sqrt(a_ii) in magnitude. fp16, whose range is wide
///          enough to lose nothing by it, takes the scale of a block from that bound, when it is
///          loaded. So blocks are stored without a pass that looks for their largest entry. fp8
///          takes it from the largest entry, for the columns of each panel apart.
/// Memory   one allocation per storage type, and one per accumulator type from `load` to
///          `release_working`; where leaves are solved by their inverses, those too.
/// Source   Paper A, sections III-B and III-C.
template <class LayersT, class ExecutionSpace>
class BlockTree;

namespace detail {

template <class MemorySpace>
struct LeafBlocks;

/// The rows and columns of a block whose scales follow from bounds, and where they go.
struct BlockBound {
  std::int64_t row, rows, col, cols;
  Precision precision;  // of the block's solution, or of its parts
  BlockScaling scaling;
  double *scale, *operand_scale, *solution_scale;  // the first may be null
};

}  // namespace detail

/// The precision that a block stored as `precision` is solved in, by products with inverses.
constexpr Precision solve_precision(Precision precision) {
  return traits(precision).bytes == 1 ? Precision::fp16 : precision;
}

/// The tree whose layers are chosen at run time.
template <class ExecutionSpace>
class BlockTree<LayerList, ExecutionSpace> {
 public:
  using memory_space = typename ExecutionSpace::memory_space;  ///< memory of the blocks
  /// A block that is written.
  using Matrix = MatrixRef<memory_space>;
  /// A block that is read.
  using ConstMatrix = ConstMatrixRef<memory_space>;

  /// A diagonal block, and the off-diagonal one between its halves.
  struct Node {
    std::int64_t begin = 0, size = 0;  ///< rows and columns [begin, begin + size)
    std::int64_t first_size = 0;       ///< columns of the left half; 0 for a leaf
    int depth = 0;                     ///< depth in the tree; the root has 0
    int left = -1, right = -1;         ///< indices into nodes()
    Matrix stored, working;  ///< the leaf, or the off-diagonal block (second half x first half)
    /// The scale of `stored`, in device memory; nullptr where `stored` is `working`. Blocks in fp8
    /// have one scale for each panel of their columns, in order.
    double* scale = nullptr;
    int scales = 0;  ///< number of scales
    /// Bounds of what goes into and comes out of solving this block, as scales in
    /// `solve_precision`, or in fp16 for one that is split.
    double *operand_scale = nullptr, *solution_scale = nullptr;
    /// L^-T of a leaf, and the same in the precision in which the low layers are solved. They have
    /// no data where leaves are solved by substitution, or no layer is low.
    Matrix inverse, low_inverse;
    /// The largest magnitude in a leaf's inverse that is rounded or split, in device memory.
    double* inverse_largest = nullptr;

    /// Whether it is a diagonal leaf, without halves.
    bool is_leaf() const { return left < 0; }
  };

  /// An unset tree of order n.
  ///
  /// Throws   ValueError if n < 0 or leaf_size < 1; MemoryError with the bytes needed.
  BlockTree(ExecutionSpace const& exec, std::int64_t n, LayerList layers, std::int64_t leaf_size,
            BlockTreeOptions const& options = {});

  /// Rows, and columns, of the matrix.
  std::int64_t order() const { return n_; }
  /// Columns of a full leaf.
  std::int64_t leaf_size() const { return leaf_size_; }
  /// The precisions, outermost first.
  LayerList const& layers() const { return layers_; }
  /// How blocks are scaled when they are quantised.
  BlockScaling scaling() const { return scaling_; }
  /// Whether all blocks off the diagonal are in fp16_split and leaves in fp32 with inverses. Then
  /// each panel is split into fp16 once, for all products that use it. Panels are leaves then,
  /// unless a size was asked for.
  bool splits_panels() const { return splits_panels_; }
  /// All nodes; the root is the first. Empty if n = 0.
  std::vector<Node> const& nodes() const { return nodes_; }
  /// The whole matrix; n > 0.
  Node const& root() const { return nodes_.front(); }
  /// The diagonal blocks, in order, that are factored as a whole before the rest of the matrix is
  /// updated with their columns. They are the largest blocks of at most the panel size. They cover
  /// the diagonal.
  std::vector<int> const& panels() const { return panels_; }
  /// Columns of a node's stored block that have one scale.
  struct Strip {
    std::int64_t begin;  ///< first column within the block
    Matrix stored;       ///< the columns
  };
  /// They cover the block, from left to right.
  std::vector<Strip> strips(Node const& node) const;
  /// The node of a node's left half.
  Node const& left(Node const& node) const { return nodes_[static_cast<std::size_t>(node.left)]; }
  /// The node of a node's right half.
  Node const& right(Node const& node) const { return nodes_[static_cast<std::size_t>(node.right)]; }

  /// Working blocks = lower triangle of D A D, its diagonal times 1 + shift; stored blocks stay
  /// unset. Unit: a triangle with ones on its diagonal, for `tree_trsm` with Diag::Unit alone; the
  /// blocks hold zeros there, which no scale depends on.
  ///
  /// Shape    A: n x n, fp64 or fp32, unscaled; its triangle `uplo` is read (Unit: but its
  /// diagonal), the other never. d: n or empty (D = I). Sync     enqueued on `exec`. Memory:
  /// allocates the working blocks unless they are there. Throws   ShapeError if A is not n x n or d
  /// has another length.
  void load(ExecutionSpace const& exec, Uplo uplo, ConstMatrix const& A,
            Kokkos::View<double const*, memory_space> const& d = {}, double shift = 0,
            Diag diag = Diag::NonUnit);

  /// The same by a kernel of the caller's. It writes each element of the lower triangle of D A D to
  /// its place in what this returns, the diagonal times 1 + shift. Leaves hold zeros above the
  /// diagonal already, but for one that is the whole matrix and stays in its type. Empty on hosts,
  /// where the leaf size is no multiple of `LeafBlocks::run`, and where there are more than 1024
  /// leaves: then `load` is left. After the kernel comes `bound_scales`.
  ///
  /// Sync     enqueued on `exec`, which is fenced where there are several leaves. Memory: as
  ///          `load`, and 16 bytes for each pair of leaves.
  detail::LeafBlocks<memory_space> begin_load(ExecutionSpace const& exec, double shift = 0);

  /// The scales of blocks that follow from the diagonal of D A D, its diagonal times 1 + shift;
  /// `load` does it too. Enqueued.
  void bound_scales(ExecutionSpace const& exec, ConstMatrix const& A,
                    Kokkos::View<double const*, memory_space> const& d, double shift = 0);

  /// Quantise every working block into its stored block, and invert the leaves where they are
  /// solved by their inverses: for a triangle that was loaded rather than factored. Enqueued.
  /// (Leaves of a unit diagonal are solved by substitution: make such a tree with
  /// LeafSolve::Substitution.)
  void quantise_all(LeafBlas<ExecutionSpace>& blas);

  /// leaf.low_inverse = leaf.inverse, quantised, whose largest magnitude is known. Enqueued.
  void quantise_inverse(ExecutionSpace const& exec, Node const& leaf) const;

  /// Free what only the updates needed; the stored blocks stay.
  void release_working();

  /// A's triangle `uplo` = the stored blocks (Lower) or their transpose (Upper), scales applied;
  /// the other triangle is not touched.
  ///
  /// Shape    A: n x n, fp64 or fp32. Sync: enqueued.
  /// Throws   ShapeError if A is not n x n.
  void store(ExecutionSpace const& exec, Uplo uplo, Matrix const& A) const;

  /// Bytes of the stored blocks, and of the working blocks while they are there.
  std::size_t stored_bytes() const { return stored_bytes_; }
  /// Bytes of the working blocks alone.
  std::size_t working_bytes() const { return working_bytes_; }
  /// The scales of all nodes' stored blocks, in the order of nodes(): in memory of the tree, which
  /// must outlive it.
  Kokkos::View<double const*, memory_space> scales() const { return scales_; }
  /// All bounds that nodes have as scales, which `load` or `bound_scales` sets.
  Kokkos::View<double const*, memory_space> bounds() const { return bounds_; }

  /// What a tree of these sizes takes, before it is made, with the default options.
  struct Bytes {
    std::size_t stored = 0, working = 0;  ///< bytes of the two kinds of blocks
  };
  /// Throws   ValueError if n < 0 or leaf_size < 1.
  static Bytes bytes_needed(std::int64_t n, LayerList const& layers, std::int64_t leaf_size);

 private:
  using Owner = std::shared_ptr<std::byte>;  // of memory, as Buffer::owner
  using Scales = Kokkos::View<double*, memory_space>;

  void allocate_stored(ExecutionSpace const& exec);
  void allocate_scales(ExecutionSpace const& exec);
  void allocate_inverses(ExecutionSpace const& exec);
  void allocate_working(ExecutionSpace const& exec);

  std::int64_t n_, leaf_size_;
  LayerList layers_;
  BlockScaling scaling_;
  bool splits_panels_ = false;
  std::vector<Node> nodes_;
  std::vector<int> panels_;
  std::vector<Owner> storage_, workspace_, inverses_;  // one per precision
  Owner scaling_memory_;                               // of the next three
  Scales scales_, bounds_;
  Kokkos::View<detail::BlockBound*, memory_space> block_bounds_;
  Scales inverse_scales_;  // and the largest magnitudes
  Owner leaf_blocks_;      // for `begin_load`
  std::size_t stored_bytes_ = 0, working_bytes_ = 0;
};

}  // namespace strata::dense

#endif
