// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_LEAF_BLOCKS_HPP
#define STRATA_DETAIL_LEAF_BLOCKS_HPP

#include <core/blas/basics/Strata_Pack.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::dense::detail {

/// Where a tree's working blocks lie, for a kernel that loads them in its own order. They are the
/// blocks of leaf_size rows and columns of the lower triangle; each belongs to one node.
template <class MemorySpace>
struct LeafBlocks {
  /// Element (0, 0) of one.
  struct Block {
    void* data = nullptr;
    int ld = 0;
    bool is_fp64 = false;
  };
  static constexpr int run = 8;  ///< a leaf's size is a multiple of `run`

  Kokkos::View<Block*, MemorySpace>
      blocks;          ///< (a, b), a >= b, at a + b leaves; empty: there is one
  Block only;          ///< the block, if there is one alone
  std::int64_t n = 0;  ///< order; 0: there are no blocks to be loaded
  std::int64_t leaf_size = 1, leaves = 0;
  double shift = 0;

  KOKKOS_FORCEINLINE_FUNCTION Block block(std::int64_t a, std::int64_t b) const {
    return blocks.extent(0) > 0 ? blocks(a + b * leaves) : only;
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t leaf_of(std::int64_t i) const {
    return static_cast<std::uint32_t>(i) / static_cast<std::uint32_t>(leaf_size);
  }
  /// W(i, j) = value, i >= j.
  KOKKOS_FORCEINLINE_FUNCTION static void write(Block const& block, std::int64_t at, double value) {
    if (block.is_fp64)
      static_cast<double*>(block.data)[at] = value;
    else
      static_cast<float*>(block.data)[at] = static_cast<float>(value);
  }
  /// The same for `run` rows one below the other; the first row is a multiple of `run`.
  KOKKOS_FORCEINLINE_FUNCTION static void write_run(Block const& block, std::int64_t at,
                                                    double const (&values)[run]) {
    if (block.is_fp64) return write_packs(static_cast<double*>(block.data) + at, values);
    write_packs(static_cast<float*>(block.data) + at, values);
  }

 private:
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static void write_packs(T* to, double const (&values)[run]) {
#pragma unroll
    for (int first = 0; first < run; first += Pack<T>::size) {
      Pack<T> pack;
#pragma unroll
      for (int k = 0; k < Pack<T>::size; ++k) pack.x[k] = static_cast<T>(values[first + k]);
      *reinterpret_cast<Pack<T>*>(to + first) = pack;
    }
  }
};

}  // namespace strata::dense::detail

#endif
