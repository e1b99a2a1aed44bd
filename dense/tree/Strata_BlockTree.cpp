// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/tree/Strata_BlockTree.hpp>

#include <core/info/Strata_Version.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <core/memory/Strata_Pieces.hpp>
#include <dense/tree/detail/Strata_Automatic.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace strata::dense {

std::int64_t half_of_leaves(std::int64_t n, std::int64_t leaf_size) {
  std::int64_t const leaves = (n + leaf_size - 1) / leaf_size;
  return (leaves + 1) / 2 * leaf_size;
}

namespace {

constexpr std::size_t precision_count = std::size(all_precisions);
using PerPrecision = std::array<std::size_t, precision_count>;  // bytes

std::size_t index(Precision precision) { return static_cast<std::size_t>(storage(precision)); }

// Leading dimension and bytes of an m x n block: columns start at multiples of 16 numbers, blocks
// of 256 bytes.
std::int64_t leading_dimension(std::int64_t rows) { return (rows + 15) / 16 * 16; }
std::size_t block_bytes(std::int64_t rows, std::int64_t cols, Precision precision) {
  auto const numbers =
      static_cast<std::size_t>(leading_dimension(rows)) * static_cast<std::size_t>(cols);
  return (numbers * traits(precision).bytes + 255) / 256 * 256;
}

// Visit the nodes in the order of the recursion: visit(begin, size, depth, first size or 0).
template <class Visit>
int cut(std::int64_t begin, std::int64_t size, int depth, std::int64_t leaf_size,
        Visit const& visit) {
  std::int64_t const first = size > leaf_size ? half_of_leaves(size, leaf_size) : 0;
  int const node = visit(begin, size, depth, first);
  if (first > 0) {
    int const left = cut(begin, first, depth + 1, leaf_size, visit);
    int const right = cut(begin + first, size - first, depth + 1, leaf_size, visit);
    visit.children(node, left, right);
  }
  return node;
}

struct BlockShape {
  std::int64_t rows, cols;
  Precision precision;
};
BlockShape shape_of(std::int64_t size, std::int64_t first, int depth, LayerList const& layers) {
  if (first == 0) return {size, size, layers.leaf()};
  return {size - first, first, layers.at_depth(static_cast<std::size_t>(depth))};
}

template <class Node>
struct CollectNodes {
  std::vector<Node>& nodes;
  int operator()(std::int64_t begin, std::int64_t size, int depth, std::int64_t first) const {
    Node node;
    node.begin = begin;
    node.size = size;
    node.depth = depth;
    node.first_size = first;
    nodes.push_back(node);
    return static_cast<int>(nodes.size()) - 1;
  }
  void children(int node, int left, int right) const {
    nodes[static_cast<std::size_t>(node)].left = left;
    nodes[static_cast<std::size_t>(node)].right = right;
  }
};

struct CountBytes {
  LayerList const& layers;
  PerPrecision& stored;
  PerPrecision& working;
  int operator()(std::int64_t, std::int64_t size, int depth, std::int64_t first) const {
    BlockShape const shape = shape_of(size, first, depth, layers);
    stored[index(shape.precision)] += block_bytes(shape.rows, shape.cols, shape.precision);
    Precision const wide = accumulator(shape.precision);
    if (wide != storage(shape.precision))
      working[index(wide)] += block_bytes(shape.rows, shape.cols, wide);
    return 0;
  }
  void children(int, int, int) const {}
};

std::pair<PerPrecision, PerPrecision> count_bytes(std::int64_t n, LayerList const& layers,
                                                  std::int64_t leaf_size) {
  PerPrecision stored{}, working{};
  if (n > 0) cut(0, n, 0, leaf_size, CountBytes{layers, stored, working});
  return {stored, working};
}

std::size_t sum(PerPrecision const& bytes) {
  std::size_t total = 0;
  for (std::size_t const part : bytes) total += part;
  return total;
}

template <class ExecutionSpace>
std::vector<std::shared_ptr<std::byte>> allocate_each(ExecutionSpace const& exec,
                                                      PerPrecision const& bytes,
                                                      std::string const& label) {
  std::vector<std::shared_ptr<std::byte>> buffers(precision_count);
  for (std::size_t i = 0; i < precision_count; ++i) {
    if (bytes[i] == 0) continue;
    try {
      buffers[i] = Buffer<ExecutionSpace>(exec, label, bytes[i]).owner();
    } catch (std::exception const& error) {
      throw MemoryError(strata::detail::message(
          label, ": ", sum(bytes), " bytes are needed in all, ", bytes[i], " for the blocks in ",
          traits(all_precisions[i]).name, ", which could not be allocated (", error.what(), ")"));
    }
  }
  return buffers;
}

void check_sizes(std::int64_t n, std::int64_t leaf_size) {
  STRATA_REQUIRE(ValueError, n >= 0, "BlockTree: n is ", n, ", must be >= 0");
  STRATA_REQUIRE(ValueError, leaf_size >= 1, "BlockTree: the leaf size is ", leaf_size,
                 ", must be >= 1");
}

// The precision that low layers are solved in, if there is one: the first's.
std::optional<Precision> low_solve_precision(LayerList const& layers) {
  for (Precision const layer : layers)
    if (!is_arithmetic(layer)) return solve_precision(layer);
  return {};
}

// A matrix stored in fp64 that is one leaf has no other blocks, whose solves would pay for its
// inverse.
template <class ExecutionSpace>
bool uses_inverses(LeafSolve leaf_solve, LayerList const& layers, bool one_leaf) {
  if (leaf_solve != LeafSolve::Automatic) return leaf_solve == LeafSolve::Inverse;
  if (one_leaf && storage(layers.leaf()) == Precision::fp64) return false;
  auto const low = low_solve_precision(layers);
  return !strata::runs_on_host<ExecutionSpace> || (low && host_has_matrix_units(*low));
}

// Whether fp32 leaves stand between blocks in fp16_split alone.
template <class Node>
bool is_split(LayerList const& layers, std::vector<Node> const& nodes) {
  bool const is_leaf = nodes.front().first_size == 0;
  return !is_leaf && storage(layers.leaf()) == Precision::fp32 &&
         std::ranges::all_of(nodes, [&](Node const& node) {
           return node.first_size == 0 ||
                  layers.at_depth(static_cast<std::size_t>(node.depth)) == Precision::fp16_split;
         });
}

// Bytes of all leaves' inverses.
PerPrecision inverse_bytes(std::int64_t n, LayerList const& layers, std::int64_t leaf_size) {
  PerPrecision bytes{};
  auto const low = low_solve_precision(layers);
  for (std::int64_t begin = 0; begin < n; begin += leaf_size) {
    std::int64_t const size = std::min(leaf_size, n - begin);
    Precision const wide = accumulator(layers.leaf());
    bytes[index(wide)] += block_bytes(size, size, wide);
    if (low) bytes[index(*low)] += block_bytes(size, size, *low);
  }
  return bytes;
}

// Hands out the blocks of one buffer per precision, in order.
template <class Matrix>
class Blocks {
 public:
  explicit Blocks(std::vector<std::shared_ptr<std::byte>> const& buffers) : buffers_(buffers) {}
  Matrix next(std::int64_t rows, std::int64_t cols, Precision precision) {
    std::size_t& begin = offset_[index(precision)];
    auto* const data = buffers_[index(precision)].get() + begin;
    begin += block_bytes(rows, cols, precision);
    return {data, rows, cols, leading_dimension(rows), precision, nullptr};
  }

 private:
  std::vector<std::shared_ptr<std::byte>> const& buffers_;
  PerPrecision offset_{};
};

}  // namespace

template <class ExecutionSpace>
auto BlockTree<LayerList, ExecutionSpace>::bytes_needed(std::int64_t n, LayerList const& layers,
                                                        std::int64_t leaf_size) -> Bytes {
  check_sizes(n, leaf_size);
  auto const [stored, working] = count_bytes(n, layers, leaf_size);
  bool const inverses = uses_inverses<ExecutionSpace>(LeafSolve::Automatic, layers, n <= leaf_size);
  return {sum(stored) + (inverses ? sum(inverse_bytes(n, layers, leaf_size)) : 0), sum(working)};
}

template <class ExecutionSpace>
BlockTree<LayerList, ExecutionSpace>::BlockTree(ExecutionSpace const& exec, std::int64_t n,
                                                LayerList layers, std::int64_t leaf_size,
                                                BlockTreeOptions const& options)
    : n_(n), leaf_size_(leaf_size), layers_(std::move(layers)), scaling_(options.scaling) {
  check_sizes(n, leaf_size);
  STRATA_REQUIRE(ValueError, options.panel_size >= 0, "BlockTree: the panel size is ",
                 options.panel_size, ", must be >= 0");
  if (n == 0) return;
  cut(0, n, 0, leaf_size, CollectNodes<Node>{nodes_});
  bool const has_inverses =
      uses_inverses<ExecutionSpace>(options.leaf_solve, layers_, n <= leaf_size);
  splits_panels_ = has_inverses && is_split(layers_, nodes_);
  for (std::int64_t end = 0; Node const& node : nodes_) {  // a node comes before what is in it
    std::int64_t const most = options.panel_size > 0 ? options.panel_size
                              : splits_panels_
                                  ? leaf_size
                                  : detail::automatic_panel_size<ExecutionSpace>(n, leaf_size);
    if (node.begin != end || (node.size > most && !node.is_leaf())) continue;
    panels_.push_back(static_cast<int>(&node - nodes_.data()));
    end += node.size;
  }
  allocate_stored(exec);
  allocate_scales(exec);
  if (has_inverses) allocate_inverses(exec);
}

// The nodes by size: blocks of one shape lie side by side, so that they can be updated in batches.
template <class Node>
std::vector<Node*> by_size(std::vector<Node>& nodes) {
  std::vector<Node*> order;
  for (Node& node : nodes) order.push_back(&node);
  std::stable_sort(order.begin(), order.end(),
                   [](Node const* a, Node const* b) { return a->size < b->size; });
  return order;
}

template <class ExecutionSpace>
void BlockTree<LayerList, ExecutionSpace>::allocate_stored(ExecutionSpace const& exec) {
  auto const bytes = count_bytes(n_, layers_, leaf_size_).first;
  storage_ = allocate_each(exec, bytes, "strata::dense::BlockTree::stored");
  stored_bytes_ = sum(bytes);
  Blocks<Matrix> blocks(storage_);
  for (Node* const node : by_size(nodes_)) {
    BlockShape const shape = shape_of(node->size, node->first_size, node->depth, layers_);
    node->stored = blocks.next(shape.rows, shape.cols, shape.precision);
    if (accumulator(shape.precision) == storage(shape.precision))
      node->working = node->stored.as_stored();
  }
}

// Each low block's scales, and the list of those that follow from bounds, which blocks that are
// split have, too.
template <class ExecutionSpace>
void BlockTree<LayerList, ExecutionSpace>::allocate_scales(ExecutionSpace const& exec) {
  std::size_t count = 0, bounded = 0;
  for (Node& node : nodes_) {
    if (is_arithmetic(node.stored.precision)) {
      if (splits_panels_ && !node.is_leaf()) ++bounded;
      continue;
    }
    node.scales = 1;
    if (traits(node.stored.precision).bytes == 1 && !node.is_leaf())
      node.scales = static_cast<int>(std::count_if(panels_.begin(), panels_.end(), [&](int p) {
        std::int64_t const begin = nodes_[static_cast<std::size_t>(p)].begin - node.begin;
        return begin >= 0 && begin < node.first_size;
      }));
    node.scales = std::max(node.scales, 1);  // a block within a panel has one
    count += static_cast<std::size_t>(node.scales);
    ++bounded;
  }
  if (bounded == 0) return;
  auto const memory =
      allocate_pieces(exec, "strata::dense::BlockTree::scales", [&](Pieces& pieces) {
        pieces.lay_out(scales_, count);
        pieces.lay_out(bounds_, 2 * bounded);
        pieces.lay_out(block_bounds_, bounded);
      });
  scaling_memory_ = memory.owner();
  Kokkos::deep_copy(exec, scales_, 0.0);
  Kokkos::deep_copy(exec, bounds_, 0.0);
  std::vector<detail::BlockBound> bounds;
  double *scale = scales_.data(), *bound = bounds_.data();
  for (Node& node : nodes_) {
    bool const is_split = splits_panels_ && !node.is_leaf();
    if (node.scales == 0 && !is_split) continue;
    if (!is_split) node.stored.scale = node.scale = scale;
    node.operand_scale = bound;
    node.solution_scale = bound + 1;
    scale += node.scales, bound += 2;
    bool const known = !is_split && traits(node.stored.precision).bytes > 1;
    bounds.push_back({node.begin + node.first_size, node.stored.rows, node.begin, node.stored.cols,
                      is_split ? Precision::fp16 : solve_precision(node.stored.precision),
                      is_split ? BlockScaling::TwoWay : scaling_, known ? node.scale : nullptr,
                      node.operand_scale, node.solution_scale});
  }
  Kokkos::View<detail::BlockBound*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(
      bounds.data(), bounds.size());
  Kokkos::deep_copy(exec, block_bounds_, host);
  exec.fence("strata::dense::BlockTree: bounds copied");
}

template <class ExecutionSpace>
void BlockTree<LayerList, ExecutionSpace>::allocate_inverses(ExecutionSpace const& exec) {
  auto const bytes = inverse_bytes(n_, layers_, leaf_size_);
  inverses_ = allocate_each(exec, bytes, "strata::dense::BlockTree::inverses");
  stored_bytes_ += sum(bytes);
  inverse_scales_ = strata::allocate_zeros<Scales>(exec, "strata::dense::BlockTree::inverse_scales",
                                                   2 * nodes_.size());
  Blocks<Matrix> blocks(inverses_);
  auto const low = low_solve_precision(layers_);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    if (!node.is_leaf()) continue;
    node.inverse = blocks.next(node.size, node.size, accumulator(layers_.leaf()));
    if (low || splits_panels_) node.inverse_largest = inverse_scales_.data() + nodes_.size() + i;
    if (!low) continue;
    node.low_inverse = blocks.next(node.size, node.size, *low);
    node.low_inverse.scale = inverse_scales_.data() + i;
  }
}

template <class ExecutionSpace>
void BlockTree<LayerList, ExecutionSpace>::allocate_working(ExecutionSpace const& exec) {
  if (!workspace_.empty()) return;
  auto const bytes = count_bytes(n_, layers_, leaf_size_).second;
  workspace_ = allocate_each(exec, bytes, "strata::dense::BlockTree::working");
  working_bytes_ = sum(bytes);
  Blocks<Matrix> blocks(workspace_);
  for (Node* const node : by_size(nodes_))
    if (node->scale != nullptr)
      node->working =
          blocks.next(node->stored.rows, node->stored.cols, accumulator(node->stored.precision));
}

template <class ExecutionSpace>
auto BlockTree<LayerList, ExecutionSpace>::strips(Node const& node) const -> std::vector<Strip> {
  if (node.scales <= 1) return {{0, node.stored}};
  std::vector<Strip> pieces;
  for (int const p : panels_) {
    Node const& panel = nodes_[static_cast<std::size_t>(p)];
    std::int64_t const begin = panel.begin - node.begin;
    if (begin < 0 || begin >= node.first_size) continue;
    pieces.push_back({begin, node.stored.block(0, begin, node.stored.rows, panel.size)});
    pieces.back().stored.scale = node.scale + pieces.size() - 1;
  }
  return pieces;
}

template <class ExecutionSpace>
void BlockTree<LayerList, ExecutionSpace>::release_working() {
  for (Node& node : nodes_)
    if (node.scale != nullptr) node.working = {};
  workspace_.clear();
  leaf_blocks_ = {};
  working_bytes_ = 0;
}

#define STRATA_INSTANTIATE(Exec) template class BlockTree<LayerList, Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
