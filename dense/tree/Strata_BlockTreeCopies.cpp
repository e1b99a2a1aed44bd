// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What goes into a block tree and out of it.
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <core/memory/Strata_Buffer.hpp>
#include <dense/refine/detail/Strata_LeafBlocks.hpp>
#include <dense/tree/Strata_BlockTree.hpp>
#include <dense/tree/Strata_Quantise.hpp>
#include <dense/tree/detail/Strata_LeafInverses.hpp>

#include <algorithm>
#include <type_traits>
#include <vector>

namespace strata::dense {

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

// The same on a host, column by column, without a branch for each element, so that compilers
// vectorise it.
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
void find_bounds(ExecutionSpace const& exec, Bounds const& bounds, From const* a, std::int64_t ld,
                 Scaling const& d, double shift) {
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
          double const scale = block_scale(bound.precision, row, bound.scaling);
          if (bound.scale != nullptr) *bound.scale = scale;
          *bound.solution_scale = scale;
          *bound.operand_scale = block_scale(bound.precision, row * col, bound.scaling);
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

// The same on a host, where the compiler makes vectors of a column.
template <class To, class From, class ExecutionSpace>
void store_block_on_host(ExecutionSpace const& exec,
                         ConstMatrixRef<typename ExecutionSpace::memory_space> const& S, To* a,
                         std::int64_t row_stride, std::int64_t col_stride, std::int64_t row,
                         std::int64_t col) {
  From const* const s = S.template as<From>();
  double const factor = S.scale ? *S.scale : 1.0;
  std::int64_t const ld = S.ld, rows = S.rows;
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "strata::dense::BlockTree::store", Policy(exec, 0, S.cols), [=](std::int64_t j) {
        From const* const s_j = s + j * ld;
        To* const a_j = a + row * row_stride + (col + j) * col_stride;
        auto const store = [&](auto stride) {
          std::int64_t const first = std::clamp<std::int64_t>(col + j - row, 0, rows);
          for (std::int64_t i = first; i < rows; ++i)
            a_j[i * stride] = static_cast<To>(factor * static_cast<double>(s_j[i]));
        };
        if (row_stride == 1)
          store(std::integral_constant<std::int64_t, 1>());
        else
          store(row_stride);
      });
}

// The leaves, which lie side by side, are 0.
template <class ExecutionSpace, class Node>
void clear_leaves(ExecutionSpace const& exec, std::vector<Node> const& nodes) {
  std::byte *begin = nullptr, *end = nullptr;
  for (Node const& node : nodes) {
    if (!node.is_leaf()) continue;
    auto const& W = node.working;
    auto* const first = static_cast<std::byte*>(W.data);
    auto* const last = first + static_cast<std::size_t>(W.ld * W.cols) * traits(W.precision).bytes;
    begin = begin == nullptr ? first : std::min(begin, first);
    end = std::max(end, last);
  }
  Kokkos::View<std::byte*, typename ExecutionSpace::memory_space, Kokkos::MemoryUnmanaged> const
      memory(begin, static_cast<std::size_t>(end - begin));
  Kokkos::deep_copy(exec, memory, std::byte{0});
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
  });
  if (diag == Diag::NonUnit) bound_scales(exec, A, d, shift);
}

template <class ExecutionSpace>
void BlockTree<LayerList, ExecutionSpace>::bound_scales(
    ExecutionSpace const& exec, ConstMatrix const& A,
    Kokkos::View<double const*, memory_space> const& d, double shift) {
  with_arithmetic_type(A.precision, [&]<class From>(std::type_identity<From>) {
    find_bounds(exec, block_bounds_, A.template as<From>(), A.ld, d, shift);
  });
}

template <class ExecutionSpace>
auto BlockTree<LayerList, ExecutionSpace>::begin_load(ExecutionSpace const& exec, double shift)
    -> detail::LeafBlocks<memory_space> {
  using Blocks = detail::LeafBlocks<memory_space>;
  using Block = typename Blocks::Block;
  Blocks into;
  bool const is_one = !nodes_.empty() && root().is_leaf();
  constexpr std::int64_t most_leaves = 1024;  // whose list takes 16 MB
  bool const has_leaves = leaf_size_ % Blocks::run == 0 && n_ <= most_leaves * leaf_size_;
  if (runs_on_host<ExecutionSpace> || n_ == 0 || !(is_one || has_leaves)) return into;
  allocate_working(exec);
  into.n = n_, into.shift = shift;
  into.leaf_size = is_one ? (n_ + Blocks::run - 1) / Blocks::run * Blocks::run : leaf_size_;
  into.leaves = (n_ + into.leaf_size - 1) / into.leaf_size;
  auto const at = [](Matrix const& W, std::int64_t row, std::int64_t col) {
    return Block{W.block(row, col, 0, 0).data, static_cast<int>(W.ld),
                 W.precision == Precision::fp64};
  };
  std::vector<Block> blocks(static_cast<std::size_t>(into.leaves * into.leaves));
  if (!is_one || root().scale != nullptr) clear_leaves(exec, nodes_);
  for (Node const& node : nodes_) {
    Matrix const& W = node.working;
    for (std::int64_t j = 0; j < W.cols; j += into.leaf_size)
      for (std::int64_t i = 0; i < W.rows; i += into.leaf_size) {
        std::int64_t const a = (first_row(node) + i) / into.leaf_size,
                           b = (node.begin + j) / into.leaf_size;
        blocks[static_cast<std::size_t>(a + b * into.leaves)] = at(W, i, j);
      }
  }
  into.only = blocks.front();
  if (is_one) return into;
  std::size_t const bytes = blocks.size() * sizeof(Block);
  if (!leaf_blocks_)
    leaf_blocks_ =
        Buffer<ExecutionSpace>(exec, "strata::dense::BlockTree::leaf_blocks", bytes).owner();
  into.blocks = decltype(into.blocks)(reinterpret_cast<Block*>(leaf_blocks_.get()), blocks.size());
  Kokkos::View<Block const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(blocks.data(),
                                                                                    blocks.size());
  Kokkos::deep_copy(exec, into.blocks, host);
  exec.fence("strata::dense::BlockTree: the list of blocks copied");
  return into;
}

template <class ExecutionSpace>
void BlockTree<LayerList, ExecutionSpace>::quantise_all(LeafBlas<ExecutionSpace>& blas) {
  std::vector<detail::LeafInverse<memory_space>> leaves;
  for (Node const& node : nodes_)
    if (node.is_leaf() && node.inverse.data != nullptr)
      leaves.push_back({node.working, node.inverse});
  detail::invert_leaves(blas, leaves);
  for (Node const& node : nodes_) {
    if (node.is_leaf() && node.inverse.data != nullptr) {
      if (node.inverse_largest != nullptr)
        measure_largest(blas.exec(), ConstMatrix(node.inverse), node.inverse_largest);
      quantise_inverse(blas.exec(), node);
    }
    if (node.scale == nullptr) continue;
    for (auto const& [begin, strip] : strips(node))
      quantise(blas, node.working.block(0, begin, strip.rows, strip.cols), strip,
               const_cast<double*>(strip.scale), scaling_);
  }
}

template <class ExecutionSpace>
void BlockTree<LayerList, ExecutionSpace>::quantise_inverse(ExecutionSpace const& exec,
                                                            Node const& leaf) const {
  if (leaf.low_inverse.data != nullptr)
    quantise_below(exec, ConstMatrix(leaf.inverse), leaf.inverse_largest, leaf.low_inverse,
                   const_cast<double*>(leaf.low_inverse.scale));
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
          if constexpr (runs_on_host<ExecutionSpace>)
            store_block_on_host<To, From>(exec, strip, A.template as<To>(), row_stride, col_stride,
                                          first_row(node), node.begin + begin);
          else
            store_block<To, From>(exec, strip, A.template as<To>(), row_stride, col_stride,
                                  first_row(node), node.begin + begin);
      });
    }
  });
}

#define STRATA_INSTANTIATE(Exec)                                                                   \
  template void BlockTree<LayerList, Exec>::load(Exec const&, Uplo, ConstMatrix const&,            \
                                                 Kokkos::View<double const*, memory_space> const&, \
                                                 double, Diag);                                    \
  template void BlockTree<LayerList, Exec>::bound_scales(                                          \
      Exec const&, ConstMatrix const&, Kokkos::View<double const*, memory_space> const&, double);  \
  template auto BlockTree<LayerList, Exec>::begin_load(Exec const&, double)                        \
      -> detail::LeafBlocks<memory_space>;                                                         \
  template void BlockTree<LayerList, Exec>::quantise_all(LeafBlas<Exec>&);                         \
  template void BlockTree<LayerList, Exec>::quantise_inverse(Exec const&, Node const&) const;      \
  template void BlockTree<LayerList, Exec>::store(Exec const&, Uplo, Matrix const&) const;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
