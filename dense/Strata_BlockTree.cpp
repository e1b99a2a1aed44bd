// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <array>
#include <core/detail/Strata_ForEachElement.hpp>
#include <core/detail/Strata_Instantiate.hpp>
#include <dense/Strata_BlockTree.hpp>
#include <new>
#include <string>
#include <utility>

namespace strata::dense {

std::int64_t half_of_leaves(std::int64_t n, std::int64_t leaf_size) {
  std::int64_t const leaves = (n + leaf_size - 1) / leaf_size;
  return (leaves + 1) / 2 * leaf_size;
}

namespace {

constexpr std::size_t precision_count = std::size(all_precisions);
using PerPrecision = std::array<std::size_t, precision_count>;  // bytes

std::size_t index(Precision precision) { return static_cast<std::size_t>(precision); }

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
    if (wide != shape.precision) working[index(wide)] += block_bytes(shape.rows, shape.cols, wide);
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

template <class ExecutionSpace, class Buffer>
std::vector<Buffer> allocate(ExecutionSpace const& exec, PerPrecision const& bytes,
                             std::string const& label) {
  std::vector<Buffer> buffers(precision_count);
  for (std::size_t i = 0; i < precision_count; ++i) {
    if (bytes[i] == 0) continue;
    try {
      buffers[i] = Buffer(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label), bytes[i]);
    } catch (std::exception const& error) {
      throw MemoryError(detail::message(
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

}  // namespace

template <class ExecutionSpace>
auto BlockTree<LayerList, ExecutionSpace>::bytes_needed(std::int64_t n, LayerList const& layers,
                                                        std::int64_t leaf_size) -> Bytes {
  check_sizes(n, leaf_size);
  auto const [stored, working] = count_bytes(n, layers, leaf_size);
  return {sum(stored), sum(working)};
}

template <class ExecutionSpace>
BlockTree<LayerList, ExecutionSpace>::BlockTree(ExecutionSpace const& exec, std::int64_t n,
                                                LayerList layers, std::int64_t leaf_size,
                                                BlockScaling scaling)
    : n_(n), leaf_size_(leaf_size), layers_(std::move(layers)), scaling_(scaling) {
  check_sizes(n, leaf_size);
  if (n == 0) return;
  cut(0, n, 0, leaf_size, CollectNodes<Node>{nodes_});
  auto const stored = count_bytes(n, layers_, leaf_size).first;
  storage_ = allocate<ExecutionSpace, Buffer>(exec, stored, "strata::dense::BlockTree::stored");
  stored_bytes_ = sum(stored);
  scales_ = Scales(Kokkos::view_alloc(exec, "strata::dense::BlockTree::scales"), nodes_.size());
  PerPrecision offset{};
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    BlockShape const shape = shape_of(node.size, node.first_size, node.depth, layers_);
    std::size_t& begin = offset[index(shape.precision)];
    node.stored = {storage_[index(shape.precision)].data() + begin,
                   shape.rows,
                   shape.cols,
                   leading_dimension(shape.rows),
                   shape.precision,
                   nullptr};
    begin += block_bytes(shape.rows, shape.cols, shape.precision);
    if (accumulator(shape.precision) == shape.precision) {
      node.working = node.stored;
    } else {
      node.scale = scales_.data() + i;
      node.stored.scale = node.scale;
    }
  }
}

template <class ExecutionSpace>
void BlockTree<LayerList, ExecutionSpace>::allocate_working(ExecutionSpace const& exec) {
  if (!workspace_.empty()) return;
  auto const working = count_bytes(n_, layers_, leaf_size_).second;
  workspace_ = allocate<ExecutionSpace, Buffer>(exec, working, "strata::dense::BlockTree::working");
  working_bytes_ = sum(working);
  PerPrecision offset{};
  for (Node& node : nodes_) {
    Precision const wide = accumulator(node.stored.precision);
    if (wide == node.stored.precision) continue;
    std::size_t& begin = offset[index(wide)];
    node.working = {workspace_[index(wide)].data() + begin,
                    node.stored.rows,
                    node.stored.cols,
                    node.stored.ld,
                    wide,
                    nullptr};
    begin += block_bytes(node.stored.rows, node.stored.cols, wide);
  }
}

template <class ExecutionSpace>
void BlockTree<LayerList, ExecutionSpace>::release_working() {
  for (Node& node : nodes_)
    if (node.scale != nullptr) node.working = {};
  workspace_.clear();
  working_bytes_ = 0;
}

namespace {

// W(i, j) = d_i A(row + i, col + j) d_j, the diagonal times 1 + shift; above the diagonal of a
// leaf, 0.
template <class To, class From, class ExecutionSpace, class Scaling>
void load_block(ExecutionSpace const& exec,
                MatrixRef<typename ExecutionSpace::memory_space> const& W, From const* a,
                std::int64_t row_stride, std::int64_t col_stride, std::int64_t row,
                std::int64_t col, Scaling const& d, double shift) {
  To* const w = W.template as<To>();
  std::int64_t const ld = W.ld;
  bool const scaled = d.extent(0) > 0;
  strata::detail::for_each_element(
      "strata::dense::BlockTree::load", exec, W.rows, W.cols,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        std::int64_t const r = row + i, c = col + j;
        double value = 0;
        if (r >= c) {
          value = static_cast<double>(a[r * row_stride + c * col_stride]);
          if (scaled) value *= d(r) * d(c);
          if (r == c) value += shift * value;
        }
        w[i + j * ld] = static_cast<To>(value);
      });
}

template <class To, class From, class ExecutionSpace>
void store_block(ExecutionSpace const& exec,
                 MatrixRef<typename ExecutionSpace::memory_space> const& S, To* a,
                 std::int64_t row_stride, std::int64_t col_stride, std::int64_t row,
                 std::int64_t col) {
  From const* const s = S.template as<From>();
  double const* const scale = S.scale;
  std::int64_t const ld = S.ld;
  strata::detail::for_each_element(
      "strata::dense::BlockTree::store", exec, S.rows, S.cols,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        if (row + i < col + j) return;
        double const factor = scale ? *scale : 1.0;
        a[(row + i) * row_stride + (col + j) * col_stride] =
            static_cast<To>(factor * static_cast<double>(s[i + j * ld]));
      });
}

template <class Node>
std::int64_t first_row(Node const& node) {
  return node.begin + node.first_size;  // a leaf's first size is 0
}

}  // namespace

template <class ExecutionSpace>
void BlockTree<LayerList, ExecutionSpace>::load(ExecutionSpace const& exec, Uplo uplo,
                                                Matrix const& A,
                                                Kokkos::View<double const*, memory_space> const& d,
                                                double shift) {
  STRATA_REQUIRE(ShapeError, A.rows == n_ && A.cols == n_, "BlockTree::load: A is ", A.rows, " x ",
                 A.cols, ", the tree of order ", n_);
  auto const length = static_cast<std::int64_t>(d.extent(0));
  STRATA_REQUIRE(ShapeError, length == n_ || length == 0, "BlockTree::load: d has length ", length,
                 ", the tree order ", n_);
  Kokkos::Profiling::ScopedRegion const region("strata::dense::BlockTree::load");
  allocate_working(exec);
  std::int64_t const row_stride = uplo == Uplo::Lower ? 1 : A.ld,
                     col_stride = uplo == Uplo::Lower ? A.ld : 1;
  with_arithmetic_type(A.precision, [&]<class From>(std::type_identity<From>) {
    for (Node const& node : nodes_) {
      with_arithmetic_type(node.working.precision, [&]<class To>(std::type_identity<To>) {
        load_block<To>(exec, node.working, A.template as<From>(), row_stride, col_stride,
                       first_row(node), node.begin, d, shift);
      });
    }
  });
}

template <class ExecutionSpace>
void BlockTree<LayerList, ExecutionSpace>::quantise_all(LeafBlas<ExecutionSpace>& blas) {
  for (Node const& node : nodes_)
    if (node.scale != nullptr) quantise(blas, node.working, node.stored, node.scale, scaling_);
}

template <class ExecutionSpace>
void BlockTree<LayerList, ExecutionSpace>::store(ExecutionSpace const& exec, Uplo uplo,
                                                 Matrix const& A) const {
  STRATA_REQUIRE(ShapeError, A.rows == n_ && A.cols == n_, "BlockTree::store: A is ", A.rows, " x ",
                 A.cols, ", the tree of order ", n_);
  std::int64_t const row_stride = uplo == Uplo::Lower ? 1 : A.ld,
                     col_stride = uplo == Uplo::Lower ? A.ld : 1;
  with_arithmetic_type(A.precision, [&]<class To>(std::type_identity<To>) {
    for (Node const& node : nodes_) {
      with_type(node.stored.precision, [&]<class From>(std::type_identity<From>) {
        store_block<To, From>(exec, node.stored, A.template as<To>(), row_stride, col_stride,
                              first_row(node), node.begin);
      });
    }
  });
}

#define STRATA_INSTANTIATE(Exec) template class BlockTree<LayerList, Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
