// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/coarsening/detail/Strata_BlockCsr.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/formats/detail/Strata_RowLanes.hpp>

#include <algorithm>
#include <limits>

namespace strata::sparse::detail {
namespace {

/// The blocks of rows [offset + node size, ... + size) of a matrix, whose columns ascend, one after
/// the other.
template <class Space>
struct MergedRows {
  CsrRef<Space> A;
  int size, offset = 0;

  // step(J, first entry of each row, end of each row) for each block.
  template <class Step>
  KOKKOS_FUNCTION void operator()(std::int64_t node, Step const& step) const {
    constexpr std::int64_t none = INT64_MAX;  // std::numeric_limits is of hosts
    std::int64_t from[most_block_size], to[most_block_size];
    std::int64_t const first = offset + node * size;
    for (int r = 0; r < size; ++r) to[r] = A.begin(first + r);
    for (;;) {
      std::int64_t J = none;
      for (int r = 0; r < size; ++r) {
        from[r] = to[r];
        if (from[r] == A.begin(first + r + 1)) continue;
        std::int64_t const mine = block_of(A.column(from[r]));
        J = mine < J ? mine : J;
      }
      if (J == none) return;
      for (int r = 0; r < size; ++r)
        while (to[r] < A.begin(first + r + 1) && block_of(A.column(to[r])) == J) ++to[r];
      step(J, from, to);
    }
  }

 private:
  KOKKOS_FUNCTION std::int64_t block_of(std::int32_t j) const {
    auto const wide = static_cast<std::uint32_t>(size);
    return offset == 0 ? static_cast<std::uint32_t>(j) / wide
                       : (static_cast<std::uint32_t>(j) + wide - 1) / wide;  // an offset of 1
  }
};

/// An entry for each block (row source).
template <class Space>
struct NodeRows {
  MergedRows<Space> rows;
  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t node, Emit const& emit) const {
    rows(node, [&](std::int64_t J, std::int64_t const*, std::int64_t const*) { emit(J, 0.0); });
  }
};

struct BlockCounts {
  std::int64_t blocks = 0, entries = 0;
};

// Of `samples` nodes, evenly spread.
template <class Exec, class Space>
BlockCounts count_blocks(Exec const& exec, MergedRows<Space> const& rows, std::int64_t nodes,
                         std::int64_t samples) {
  BlockCounts found;
  Kokkos::parallel_reduce(
      "strata::sparse::found_block_size::count", RowPolicy<Exec>(exec, 0, samples),
      KOKKOS_LAMBDA(std::int64_t k, std::int64_t& blocks, std::int64_t& entries) {
        std::int64_t const node = k * nodes / samples, first = rows.offset + node * rows.size;
        rows(node, [&](std::int64_t, std::int64_t const*, std::int64_t const*) { ++blocks; });
        entries += rows.A.begin(first + rows.size) - rows.A.begin(first);
      },
      found.blocks, found.entries);
  exec.fence("strata::sparse::found_block_size::counted");
  return found;
}

template <class Exec>
bool is_in_blocks(Exec const& exec, LocalCsr<Exec> const& A, int size, std::int64_t samples) {
  constexpr double most = 1.25, gain = 1.15;  // of what is stored
  using Space = typename Exec::memory_space;
  double const square = static_cast<double>(size) * size;
  std::int64_t const nodes = A.rows / size;
  auto const here =
      count_blocks(exec, MergedRows<Space>{A.ref(), size}, nodes, std::min(nodes, samples));
  double const share =
      square * static_cast<double>(here.blocks) / static_cast<double>(here.entries);
  if (here.entries == 0 || share > most) return false;
  auto const beside = count_blocks(exec, MergedRows<Space>{A.ref(), size, 1}, nodes - 1,
                                   std::min(nodes - 1, samples));
  return square * static_cast<double>(beside.blocks) >=
         gain * share * static_cast<double>(beside.entries);
}

template <class Exec, class Space>
void copy_blocks(Exec const& exec, std::int64_t nodes, MergedRows<Space> const& rows,
                 Vector<std::int64_t, Space> const& begin, Vector<double, Space> const& value) {
  int const size = rows.size;
  Kokkos::parallel_for(
      "strata::sparse::to_blocks::fill", RowPolicy<Exec>(exec, 0, nodes),
      KOKKOS_LAMBDA(std::int64_t node) {
        std::int64_t at = begin(node) * size * size;
        rows(node, [&](std::int64_t J, std::int64_t const* from, std::int64_t const* to) {
          for (int k = 0; k < size * size; ++k) value(at + k) = 0;
          for (int r = 0; r < size; ++r)
            for (std::int64_t k = from[r]; k < to[r]; ++k)
              value(at + r * size + (rows.A.column(k) - J * size)) += rows.A.value(k);
          at += size * size;
        });
      });
}

template <class Exec, class Space>
void measure(Exec const& exec, Vector<double, Space> const& value, int size,
             Vector<double, Space> const& norm) {
  Kokkos::parallel_for(
      "strata::sparse::measure_blocks",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(norm.extent(0))),
      KOKKOS_LAMBDA(std::int64_t k) {
        double sum = 0;
        for (int e = 0; e < size; ++e) sum += value(k * size + e) * value(k * size + e);
        norm(k) = Kokkos::sqrt(sum);
      });
}

// By insertion: rows are sorted, or nearly.
template <class Exec, class Space>
void sort_each(Exec const& exec, std::int64_t rows, CsrRef<Space> const& A) {
  Kokkos::parallel_for(
      "strata::sparse::sort_rows", RowPolicy<Exec>(exec, 0, rows), KOKKOS_LAMBDA(std::int64_t i) {
        std::int64_t const first = A.begin(i);
        for (std::int64_t k = first + 1; k < A.begin(i + 1); ++k) {
          std::int32_t const j = A.column(k);
          double const a = A.value(k);
          std::int64_t at = k;
          for (; at > first && A.column(at - 1) > j; --at) {
            A.column(at) = A.column(at - 1);
            A.value(at) = A.value(at - 1);
          }
          A.column(at) = j;
          A.value(at) = a;
        }
      });
}

/// The blocks of a row, as a product takes them: step(k, the block's number) in order.
template <class Space>
struct OwnBlocks {
  Vector<std::int64_t, Space> begin;
  Vector<std::int32_t, Space> column;
  static constexpr bool transposes = false;
  template <class Step>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Step const& step) const {
    for (std::int64_t at = begin(row); at < begin(row + 1); ++at)
      step(std::int64_t(column(at)), at);
  }
};
template <class Space>
struct IndexedBlocks {
  Vector<std::int64_t, Space> begin;
  Vector<std::uint64_t, Space> place;
  Vector<std::int64_t, Space> begin_of_A;
  static constexpr bool transposes = true;
  template <class Step>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Step const& step) const {
    for (std::int64_t at = begin(row); at < begin(row + 1); ++at) {
      auto const of = static_cast<std::int64_t>(place(at) >> 32);
      step(of, begin_of_A(of) + static_cast<std::int64_t>(place(at) & 0xffffffffu));
    }
  }
};

/// Row by row of C = A B: each lane adds to numbers of its own.
template <class Blocks, class Space>
struct FillProduct {
  Blocks rows;
  Vector<double, Space> a, b, c;
  Vector<std::int64_t, Space> begin_of_B, begin_of_C;
  Vector<std::int32_t, Space> column_of_B, column_of_C;
  int height, inner, width;  // of C's blocks, and between

  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Lanes const& lanes) const {
    std::int64_t const first = begin_of_C(row), end = begin_of_C(row + 1);
    int const size = height * width;
    lanes.each((end - first) * size, [&](std::int64_t t) { c(first * size + t) = 0; });
    rows(row, [&](std::int64_t k, std::int64_t block) {
      std::int64_t const from = begin_of_B(k), count = begin_of_B(k + 1) - from;
      lanes.each_block(
          count, height, width,
          [&](std::int64_t at) { return position(first, end, column_of_B(from + at)) * size; },
          [&](std::int64_t to, std::int64_t at, int r, int s) {
            c(to + r * width + s) += entry(block, from + at, r, s);
          });
    });
  }

 private:
  KOKKOS_FUNCTION std::int64_t position(std::int64_t low, std::int64_t high, std::int32_t j) const {
    while (low + 1 < high) {
      std::int64_t const middle = (low + high) / 2;
      (column_of_C(middle) <= j ? low : high) = middle;
    }
    return low;
  }
  KOKKOS_FUNCTION double entry(std::int64_t block, std::int64_t at, int r, int s) const {
    double sum = 0;
    for (int m = 0; m < inner; ++m)
      sum += a(block * height * inner + (Blocks::transposes ? m * height + r : r * inner + m)) *
             b((at * inner + m) * width + s);
    return sum;
  }
};

template <class Exec, class Blocks>
void fill(Exec const& exec, Blocks const& rows, int height, int inner, BlockCsr<Exec> const& A,
          BlockCsr<Exec> const& B, BlockCsr<Exec> const& C) {
  using Space = typename Exec::memory_space;
  FillProduct<Blocks, Space> const kernel{
      rows,           A.value,        B.value, C.value, B.nodes.begin, C.nodes.begin,
      B.nodes.column, C.nodes.column, height,  inner,   B.width};
  std::int64_t const mean = B.nodes.rows > 0 ? B.nodes.entries() / B.nodes.rows + 1 : 1;
  for_each_row(exec, "strata::sparse::fill_product", C.nodes.rows,
               lanes_for_items(mean * height * B.width), kernel);
}

template <class Exec>
BlockCsr<Exec> with_pattern(Exec const& exec, LocalCsr<Exec> const& nodes, int height, int width) {
  BlockCsr<Exec> C{height, width, nodes, nodes.value};
  if (height * width > 1)
    C.value = {exec, "strata::sparse::BlockCsr::value", nodes.entries() * height * width};
  return C;
}

}  // namespace

template <class Exec>
int found_block_size(Exec const& exec, LocalCsr<Exec> const& A) {
  Region const region(exec, "strata::sparse::found_block_size");
  constexpr std::int64_t few = 1000;
  for (int size = 6; size > 1; --size)
    if (A.rows % size == 0 && A.rows > size && is_in_blocks(exec, A, size, few) &&
        is_in_blocks(exec, A, size, A.rows))
      return size;
  return 1;
}

template <class Exec>
BlockCsr<Exec> to_blocks(Exec const& exec, LocalCsr<Exec> const& A, int size) {
  Region const region(exec, "strata::sparse::to_blocks");
  if (size == 1) return {1, 1, A, A.value};
  LocalCsr<Exec> nodes;
  NodeRows<typename Exec::memory_space> const rows{{A.ref(), size}};
  (void)make_local_csr(exec, A.rows / size, A.cols / size, rows, nodes);
  auto const blocks = with_pattern(exec, nodes, size, size);
  fill_blocks(exec, A, blocks);
  return blocks;
}

template <class Exec>
void fill_blocks(Exec const& exec, LocalCsr<Exec> const& A, BlockCsr<Exec> const& blocks) {
  using Space = typename Exec::memory_space;
  copy_blocks(exec, blocks.nodes.rows, MergedRows<Space>{A.ref(), blocks.height},
              blocks.nodes.begin.view(), blocks.value.view());
  measure_blocks(exec, blocks);
  exec.fence("strata::sparse::fill_blocks");
}

template <class Exec>
void measure_blocks(Exec const& exec, BlockCsr<Exec> const& A) {
  if (A.height * A.width > 1)
    measure(exec, A.value.view(), A.height * A.width, A.nodes.value.view());
}

template <class Exec>
LocalCsr<Exec> to_numbers(Exec const& exec, BlockCsr<Exec> const& A) {
  if (A.height * A.width == 1) return A.nodes;
  LocalCsr<Exec> result;
  (void)make_local_csr(exec, A.rows(), A.cols(), BlockRows<typename Exec::memory_space>::of(A),
                       result);
  return result;
}

template <class Exec>
void sort_rows(Exec const& exec, LocalCsr<Exec> const& A) {
  sort_each(exec, A.rows, A.ref());
  exec.fence("strata::sparse::sort_rows");
}

template <class Exec>
BlockCsr<Exec> product(Exec const& exec, BlockCsr<Exec> const& A, BlockCsr<Exec> const& B) {
  auto const C = with_pattern(exec, product(exec, A.nodes, B.nodes), A.height, B.width);
  if (A.height * A.width * B.width > 1) fill_product(exec, A, B, C);
  return C;
}

template <class Exec>
BlockCsr<Exec> product(Exec const& exec, TransposedIndex<Exec> const& index,
                       BlockCsr<Exec> const& A, BlockCsr<Exec> const& B) {
  auto const C = with_pattern(exec, product(exec, index, A.nodes, B.nodes), A.width, B.width);
  if (A.height * A.width * B.width > 1) fill_product(exec, index, A, B, C);
  return C;
}

template <class Exec>
void fill_product(Exec const& exec, BlockCsr<Exec> const& A, BlockCsr<Exec> const& B,
                  BlockCsr<Exec> const& C) {
  Region const region(exec, "strata::sparse::fill_product");
  if (A.height * A.width * B.width == 1) return refill_product(exec, A.nodes, B.nodes, C.nodes);
  fill(exec, OwnBlocks<typename Exec::memory_space>{A.nodes.begin, A.nodes.column}, A.height,
       A.width, A, B, C);
}

template <class Exec>
void fill_product(Exec const& exec, TransposedIndex<Exec> const& index, BlockCsr<Exec> const& A,
                  BlockCsr<Exec> const& B, BlockCsr<Exec> const& C) {
  Region const region(exec, "strata::sparse::fill_product, transposed");
  if (A.height * A.width * B.width == 1)
    return refill_product(exec, index, A.nodes, B.nodes, C.nodes);
  fill(exec, IndexedBlocks<typename Exec::memory_space>{index.begin, index.place, A.nodes.begin},
       A.width, A.height, A, B, C);
}

#define STRATA_INSTANTIATE_BLOCK_CSR(Space)                                                       \
  template int found_block_size(Space const&, LocalCsr<Space> const&);                            \
  template BlockCsr<Space> to_blocks(Space const&, LocalCsr<Space> const&, int);                  \
  template void fill_blocks(Space const&, LocalCsr<Space> const&, BlockCsr<Space> const&);        \
  template void measure_blocks(Space const&, BlockCsr<Space> const&);                             \
  template LocalCsr<Space> to_numbers(Space const&, BlockCsr<Space> const&);                      \
  template void sort_rows(Space const&, LocalCsr<Space> const&);                                  \
  template BlockCsr<Space> product(Space const&, BlockCsr<Space> const&, BlockCsr<Space> const&); \
  template BlockCsr<Space> product(Space const&, TransposedIndex<Space> const&,                   \
                                   BlockCsr<Space> const&, BlockCsr<Space> const&);               \
  template void fill_product(Space const&, BlockCsr<Space> const&, BlockCsr<Space> const&,        \
                             BlockCsr<Space> const&);                                             \
  template void fill_product(Space const&, TransposedIndex<Space> const&, BlockCsr<Space> const&, \
                             BlockCsr<Space> const&, BlockCsr<Space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_BLOCK_CSR)

}  // namespace strata::sparse::detail
