// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/Strata_BlockTree.hpp>

#include <core/blas/Strata_SetIdentity.hpp>
#include <core/info/Strata_Version.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/Strata_Quantise.hpp>
#include <dense/detail/Strata_Automatic.hpp>

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

template <class ExecutionSpace, class Buffer>
std::vector<Buffer> allocate(ExecutionSpace const& exec, PerPrecision const& bytes,
                             std::string const& label) {
  std::vector<Buffer> buffers(precision_count);
  for (std::size_t i = 0; i < precision_count; ++i) {
    if (bytes[i] == 0) continue;
    try {
      buffers[i] = Buffer(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label), bytes[i]);
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

// A matrix in fp64 that is one leaf has no other blocks, whose solves would pay for its inverse.
template <class ExecutionSpace>
bool uses_inverses(LeafSolve leaf_solve, LayerList const& layers, bool one_leaf) {
  if (leaf_solve != LeafSolve::Automatic) return leaf_solve == LeafSolve::Inverse;
  if (one_leaf && layers.is_fp64()) return false;
  auto const low = low_solve_precision(layers);
  return !strata::runs_on_host<ExecutionSpace> || (low && host_has_matrix_units(*low));
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
template <class Matrix, class Buffer>
class Blocks {
 public:
  explicit Blocks(std::vector<Buffer> const& buffers) : buffers_(buffers) {}
  Matrix next(std::int64_t rows, std::int64_t cols, Precision precision) {
    std::size_t& begin = offset_[index(precision)];
    auto* const data = buffers_[index(precision)].data() + begin;
    begin += block_bytes(rows, cols, precision);
    return {data, rows, cols, leading_dimension(rows), precision, nullptr};
  }

 private:
  std::vector<Buffer> const& buffers_;
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
  for (std::int64_t end = 0; Node const& node : nodes_) {  // a node comes before what is in it
    std::int64_t const most = options.panel_size > 0 ? options.panel_size
                                                     : detail::automatic_panel_size<ExecutionSpace>(
                                                           n, leaf_size, node.begin);
    if (node.begin != end || (node.size > most && !node.is_leaf())) continue;
    panels_.push_back(static_cast<int>(&node - nodes_.data()));
    end += node.size;
  }
  allocate_stored(exec);
  allocate_scales(exec);
  if (uses_inverses<ExecutionSpace>(options.leaf_solve, layers_, n <= leaf_size))
    allocate_inverses(exec);
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
  storage_ = allocate<ExecutionSpace, Buffer>(exec, bytes, "strata::dense::BlockTree::stored");
  stored_bytes_ = sum(bytes);
  Blocks<Matrix, Buffer> blocks(storage_);
  for (Node* const node : by_size(nodes_)) {
    BlockShape const shape = shape_of(node->size, node->first_size, node->depth, layers_);
    node->stored = blocks.next(shape.rows, shape.cols, shape.precision);
    if (accumulator(shape.precision) == storage(shape.precision))
      node->working = node->stored.as_stored();
  }
}

// Each low block's scales, and the list of those that follow from bounds.
template <class ExecutionSpace>
void BlockTree<LayerList, ExecutionSpace>::allocate_scales(ExecutionSpace const& exec) {
  std::size_t count = 0;
  for (Node& node : nodes_) {
    if (is_arithmetic(node.stored.precision)) continue;
    node.scales = 1;
    if (traits(node.stored.precision).bytes == 1 && !node.is_leaf())
      node.scales = static_cast<int>(std::count_if(panels_.begin(), panels_.end(), [&](int p) {
        std::int64_t const begin = nodes_[static_cast<std::size_t>(p)].begin - node.begin;
        return begin >= 0 && begin < node.first_size;
      }));
    node.scales = std::max(node.scales, 1);  // a block within a panel has one
    count += static_cast<std::size_t>(node.scales);
  }
  if (count == 0) return;
  using strata::allocate_zeros;
  scales_ = allocate_zeros<Scales>(exec, "strata::dense::BlockTree::scales", count);
  bounds_ = allocate_zeros<Scales>(exec, "strata::dense::BlockTree::bounds", 2 * count);
  std::vector<detail::BlockBound> bounds;
  double *scale = scales_.data(), *bound = bounds_.data();
  for (Node& node : nodes_) {
    if (node.scales == 0) continue;
    node.stored.scale = node.scale = scale;
    node.operand_scale = bound;
    node.solution_scale = bound + 1;
    scale += node.scales, bound += 2;
    bool const known = traits(node.stored.precision).bytes > 1;
    bounds.push_back({node.begin + node.first_size, node.stored.rows, node.begin, node.stored.cols,
                      solve_precision(node.stored.precision), known ? node.scale : nullptr,
                      node.operand_scale, node.solution_scale});
  }
  block_bounds_ = strata::allocate<decltype(block_bounds_)>(
      exec, "strata::dense::BlockTree::block_bounds", bounds.size());
  Kokkos::View<detail::BlockBound*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(
      bounds.data(), bounds.size());
  Kokkos::deep_copy(exec, block_bounds_, host);
  exec.fence("strata::dense::BlockTree: bounds copied");
}

template <class ExecutionSpace>
void BlockTree<LayerList, ExecutionSpace>::allocate_inverses(ExecutionSpace const& exec) {
  auto const bytes = inverse_bytes(n_, layers_, leaf_size_);
  inverses_ = allocate<ExecutionSpace, Buffer>(exec, bytes, "strata::dense::BlockTree::inverses");
  stored_bytes_ += sum(bytes);
  inverse_scales_ = strata::allocate_zeros<Scales>(exec, "strata::dense::BlockTree::inverse_scales",
                                                   nodes_.size());
  Blocks<Matrix, Buffer> blocks(inverses_);
  auto const low = low_solve_precision(layers_);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    if (!node.is_leaf()) continue;
    node.inverse = blocks.next(node.size, node.size, accumulator(layers_.leaf()));
    if (!low) continue;
    node.low_inverse = blocks.next(node.size, node.size, *low);
    node.low_inverse.scale = inverse_scales_.data() + i;
  }
}

template <class ExecutionSpace>
void BlockTree<LayerList, ExecutionSpace>::allocate_working(ExecutionSpace const& exec) {
  if (!workspace_.empty()) return;
  auto const bytes = count_bytes(n_, layers_, leaf_size_).second;
  workspace_ = allocate<ExecutionSpace, Buffer>(exec, bytes, "strata::dense::BlockTree::working");
  working_bytes_ = sum(bytes);
  Blocks<Matrix, Buffer> blocks(workspace_);
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
  working_bytes_ = 0;
}

namespace {

constexpr int load_batch = 4;  // numbers that a thread has under way, which a device's memory needs

// W(i, j) = d_i A(row + i, col + j) d_j, the diagonal times 1 + shift; above the diagonal of a
// leaf, 0, and on it, if it is not `with_diagonal`.
template <class To, class From, class ExecutionSpace, class Scaling>
void load_block(ExecutionSpace const& exec,
                MatrixRef<typename ExecutionSpace::memory_space> const& W, From const* a,
                std::int64_t row_stride, std::int64_t col_stride, std::int64_t row,
                std::int64_t col, Scaling const& d, double shift, bool with_diagonal) {
  To* const w = W.template as<To>();
  std::int64_t const ld = W.ld;
  bool const scaled = d.extent(0) > 0;
  constexpr std::int64_t threads = 256, chunk = threads * load_batch;
  std::int64_t const rows = W.rows, chunks = (rows + chunk - 1) / chunk;
  if (rows == 0 || W.cols == 0) return;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "strata::dense::BlockTree::load", Policy(exec, static_cast<int>(chunks * W.cols), threads),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        std::int64_t const j = team.league_rank() / chunks, c = col + j,
                           begin = team.league_rank() % chunks * chunk;
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, threads), [&](std::int64_t t) {
          double values[load_batch];
#pragma unroll
          for (int k = 0; k < load_batch; ++k) {
            std::int64_t const i = begin + t + k * threads, r = row + i;
            bool const is_read = i < rows && (with_diagonal ? r >= c : r > c);
            values[k] = is_read ? static_cast<double>(a[r * row_stride + c * col_stride]) : 0;
          }
#pragma unroll
          for (int k = 0; k < load_batch; ++k) {
            std::int64_t const i = begin + t + k * threads, r = row + i;
            if (i >= rows) continue;
            double value = values[k];
            if (scaled) value = value * d(r) * d(c);  // d(r) d(c) alone may overflow
            if (r == c) value += shift * value;
            w[i + j * ld] = static_cast<To>(value);
          }
        });
      });
}

// The same on a host, column by column, without a branch for each element, so that compilers vectorise it.
template <class To, class From, class ExecutionSpace>
void load_block_on_host(ExecutionSpace const& exec, MatrixRef<Kokkos::HostSpace> const& W,
                        From const* a, std::int64_t row_stride, std::int64_t col_stride,
                        std::int64_t row, std::int64_t col, double const* d, double shift,
                        bool with_diagonal) {
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  To* const w = W.template as<To>();
  std::int64_t const rows = W.rows, ld = W.ld;
  Kokkos::parallel_for(
      "strata::dense::BlockTree::load", Policy(exec, 0, W.cols), [=](std::int64_t j) {
        std::int64_t const c = col + j;
        std::int64_t const above = std::clamp<std::int64_t>(c - row, 0, rows);
        std::int64_t const below = std::clamp<std::int64_t>(c + 1 - row, 0, rows);
        To* const w_j = w + j * ld;
        From const* const a_j = a + row * row_stride + c * col_stride;
        double const d_c = d != nullptr ? d[c] : 1;
        auto const load = [&](auto stride) {
          if (d != nullptr) {  // d_r d_c alone may overflow
            double const* const d_row = d + row;
            for (std::int64_t i = below; i < rows; ++i)
              w_j[i] = static_cast<To>(static_cast<double>(a_j[i * stride]) * d_row[i] * d_c);
          } else {
            for (std::int64_t i = below; i < rows; ++i) w_j[i] = static_cast<To>(a_j[i * stride]);
          }
        };
        std::fill_n(w_j, below, To(0));
        if (above < below && with_diagonal) {
          double const entry = static_cast<double>(a_j[above * row_stride]) * d_c * d_c;
          w_j[above] = static_cast<To>(entry + shift * entry);
        }
        if (row_stride == 1)
          load(std::integral_constant<std::int64_t, 1>());
        else
          load(row_stride);
      });
}

// The scales that follow from |l_ij| <= sqrt(a_ii) and, for what L's blocks are solved from,
// |s_ij| <= sqrt(a_ii a_jj), with room for rounding; a_ii is d_i^2 A(i, i) (1 + shift).
template <class From, class ExecutionSpace, class Bounds, class Scaling>
void bound_scales(ExecutionSpace const& exec, Bounds const& bounds, From const* a, std::int64_t ld,
                  Scaling const& d, double shift, BlockScaling scaling) {
  if (bounds.extent(0) == 0) return;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  bool const scaled = d.extent(0) > 0;
  Kokkos::parallel_for(
      "strata::dense::BlockTree::bounds",
      Policy(exec, static_cast<int>(bounds.extent(0)), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        auto const bound = bounds(team.league_rank());
        auto const largest = [&](std::int64_t begin, std::int64_t count) {
          double most = 0;
          Kokkos::parallel_reduce(
              Kokkos::TeamVectorRange(team, count),
              [&](std::int64_t i, double& value) {
                std::int64_t const r = begin + i;
                double const entry = static_cast<double>(a[r * (ld + 1)]);
                double const factor = scaled ? d(r) : 1.0;
                double const diagonal = entry * factor * factor * (1 + shift);
                value = diagonal > value ? diagonal : value;
              },
              Kokkos::Max<double>(most));
          return 1.125 * Kokkos::sqrt(most);
        };
        double const row = largest(bound.row, bound.rows), col = largest(bound.col, bound.cols);
        Kokkos::single(Kokkos::PerTeam(team), [&] {
          double const scale = block_scale(bound.precision, row, scaling);
          if (bound.scale != nullptr) *bound.scale = scale;
          *bound.solution_scale = scale;
          *bound.operand_scale = block_scale(bound.precision, row * col, scaling);
        });
      });
}

template <class To, class From, class ExecutionSpace>
void store_block(ExecutionSpace const& exec,
                 ConstMatrixRef<typename ExecutionSpace::memory_space> const& S, To* a,
                 std::int64_t row_stride, std::int64_t col_stride, std::int64_t row,
                 std::int64_t col) {
  From const* const s = S.template as<From>();
  double const* const scale = S.scale;
  std::int64_t const ld = S.ld;
  strata::for_each_element(
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
                                                ConstMatrix const& A,
                                                Kokkos::View<double const*, memory_space> const& d,
                                                double shift, Diag diag) {
  STRATA_REQUIRE(ShapeError, A.rows == n_ && A.cols == n_, "BlockTree::load: A is ", A.rows, " x ",
                 A.cols, ", the tree of order ", n_);
  auto const length = static_cast<std::int64_t>(d.extent(0));
  STRATA_REQUIRE(ShapeError, length == n_ || length == 0, "BlockTree::load: d has length ", length,
                 ", the tree order ", n_);
  Region const region(exec, "strata::dense::BlockTree::load");
  allocate_working(exec);
  std::int64_t const row_stride = uplo == Uplo::Lower ? 1 : A.ld,
                     col_stride = uplo == Uplo::Lower ? A.ld : 1;
  with_arithmetic_type(A.precision, [&]<class From>(std::type_identity<From>) {
    for (Node const& node : nodes_) {
      with_arithmetic_type(node.working.precision, [&]<class To>(std::type_identity<To>) {
        auto const* const a = A.template as<From>();
        std::int64_t const row = first_row(node), col = node.begin;
        if constexpr (runs_on_host<ExecutionSpace>)
          load_block_on_host<To>(exec, node.working, a, row_stride, col_stride, row, col,
                                 length > 0 ? d.data() : nullptr, shift, diag == Diag::NonUnit);
        else
          load_block<To>(exec, node.working, a, row_stride, col_stride, row, col, d, shift,
                         diag == Diag::NonUnit);
      });
    }
    if (diag == Diag::NonUnit)
      bound_scales(exec, block_bounds_, A.template as<From>(), A.ld, d, shift, scaling_);
  });
}

template <class ExecutionSpace>
void BlockTree<LayerList, ExecutionSpace>::quantise_all(LeafBlas<ExecutionSpace>& blas) {
  for (Node const& node : nodes_) {
    if (node.is_leaf() && node.inverse.data != nullptr) {
      set_identity(blas.exec(), node.inverse);
      blas.trsm(Side::Right, Uplo::Lower, Op::Trans, Diag::NonUnit, 1, node.working, node.inverse);
      quantise_inverse(blas, node);
    }
    if (node.scale == nullptr) continue;
    for (auto const& [begin, strip] : strips(node))
      quantise(blas, node.working.block(0, begin, strip.rows, strip.cols), strip,
               const_cast<double*>(strip.scale), scaling_);
  }
}

template <class ExecutionSpace>
void BlockTree<LayerList, ExecutionSpace>::quantise_inverse(LeafBlas<ExecutionSpace>& blas,
                                                            Node const& leaf) const {
  if (leaf.low_inverse.data != nullptr)
    quantise(blas, leaf.inverse, leaf.low_inverse, const_cast<double*>(leaf.low_inverse.scale));
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
        for (auto const& [begin, strip] : strips(node))
          store_block<To, From>(exec, strip, A.template as<To>(), row_stride, col_stride,
                                first_row(node), node.begin + begin);
      });
    }
  });
}

#define STRATA_INSTANTIATE(Exec) template class BlockTree<LayerList, Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
