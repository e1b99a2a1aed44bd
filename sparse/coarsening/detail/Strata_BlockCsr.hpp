// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_BLOCK_CSR_HPP
#define STRATA_SPARSE_DETAIL_BLOCK_CSR_HPP

#include <sparse/formats/detail/Strata_LocalCsr.hpp>
#include <sparse/products/detail/Strata_HashProduct.hpp>

#include <cstdint>

namespace strata::sparse::detail {

/// Unknowns of a node, at most.
inline constexpr int most_block_size = 16;

/// A matrix of one rank in compressed rows of blocks. A copy is a reference to the same matrix.
template <class Exec>
struct BlockCsr {
  int height = 1, width = 1;         ///< height and width of each block
  LocalCsr<Exec> nodes;              ///< an entry for each block, columns ascending
  PooledVector<double, Exec> value;  ///< block by block, each row by row

  std::int64_t rows() const { return nodes.rows * height; }
  std::int64_t cols() const { return nodes.cols * width; }
  std::int64_t entries() const { return value.size(); }
};

/// The rows of a BlockCsr, number by number (row source).
template <class Space>
struct BlockRows {
  Vector<std::int64_t, Space> begin;
  Vector<std::int32_t, Space> column;
  Vector<double, Space> value;
  int height, width;

  template <class Exec>
  static BlockRows of(BlockCsr<Exec> const& A) {
    return {A.nodes.begin, A.nodes.column, A.value, A.height, A.width};
  }
  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Emit const& emit) const {
    std::int64_t const node = row / height, within = row - node * height;
    for (std::int64_t k = begin(node); k < begin(node + 1); ++k)
      for (int c = 0; c < width; ++c)
        emit(std::int64_t(column(k)) * width + c, value((k * height + within) * width + c));
  }
};

/// The rows of the transpose of a BlockCsr, by the index of the transpose of its nodes (row
/// source).
template <class Space>
struct TransposedBlockRows {
  Vector<std::int64_t, Space> begin_of_index;
  Vector<std::uint64_t, Space> place;
  BlockRows<Space> A;

  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Emit const& emit) const {
    std::int64_t const node = row / A.width, within = row - node * A.width;
    for (std::int64_t k = begin_of_index(node); k < begin_of_index(node + 1); ++k) {
      auto const of = static_cast<std::int64_t>(place(k) >> 32);
      std::int64_t const block = A.begin(of) + static_cast<std::int64_t>(place(k) & 0xffffffffu);
      for (int r = 0; r < A.height; ++r)
        emit(of * A.height + r, A.value((block * A.height + r) * A.width + within));
    }
  }
};

/// Number of consecutive unknowns of a node, as the pattern of A tells. It is the largest of 2 to 6
/// with which A is stored in blocks of which a fifth or less is empty. Blocks that begin a row
/// later must be worse. Else it is 1. Rows of A ascend. Fences.
template <class Exec>
int found_block_size(Exec const& exec, LocalCsr<Exec> const& A);

/// A in blocks of `size` x `size`, which divides its rows; the nodes' values are the blocks'
/// Frobenius norms. Rows of A ascend. Fences.
///
/// Throws   MemoryError.
template <class Exec>
BlockCsr<Exec> to_blocks(Exec const& exec, LocalCsr<Exec> const& A, int size);
/// The same of other values in the same pattern, where A was.
template <class Exec>
void fill_blocks(Exec const& exec, LocalCsr<Exec> const& A, BlockCsr<Exec> const& blocks);

/// The nodes' values become the blocks' Frobenius norms. Enqueued.
template <class Exec>
void measure_blocks(Exec const& exec, BlockCsr<Exec> const& A);

/// The same rows number by number; a matrix of blocks of one number shares its memory. Fences.
/// Throws MemoryError.
template <class Exec>
LocalCsr<Exec> to_numbers(Exec const& exec, BlockCsr<Exec> const& A);

/// Columns ascend within each row afterwards. Fences.
template <class Exec>
void sort_rows(Exec const& exec, LocalCsr<Exec> const& A);

/// A B. Fences. Throws ShapeError where A's columns are not B's rows; MemoryError.
template <class Exec>
BlockCsr<Exec> product(Exec const& exec, BlockCsr<Exec> const& A, BlockCsr<Exec> const& B);
/// A' B, A' by the index of its nodes.
template <class Exec>
BlockCsr<Exec> product(Exec const& exec, TransposedIndex<Exec> const& index,
                       BlockCsr<Exec> const& A, BlockCsr<Exec> const& B);
/// The values of such a product in its pattern, each summed in the order of A's row. Fences where
/// they are single numbers.
template <class Exec>
void fill_product(Exec const& exec, BlockCsr<Exec> const& A, BlockCsr<Exec> const& B,
                  BlockCsr<Exec> const& C);
template <class Exec>
void fill_product(Exec const& exec, TransposedIndex<Exec> const& index, BlockCsr<Exec> const& A,
                  BlockCsr<Exec> const& B, BlockCsr<Exec> const& C);

}  // namespace strata::sparse::detail

#endif
