// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_SWEEP_ORDER_HPP
#define STRATA_SPARSE_SWEEP_ORDER_HPP

#include <sparse/formats/Strata_EllKernels.hpp>
#include <sparse/matrix/Strata_Colouring.hpp>

#include <cstdint>
#include <limits>
#include <vector>

namespace strata::sparse {

/// A symmetric permutation in which blocks of rows that may be swept at once follow each other.
///
/// Rows whose new value depends on other ranks' values, directly or through rows swept before them,
/// come after all the others. The free blocks of the colours are swept, and multiplied, while the
/// halo exchange is under way. The result is the same as of sweeping colour by colour. Only the
/// first few colours may have free blocks, since each is a launch more.
template <class MemorySpace>
struct SweepOrder {
  Vector<std::int32_t, MemorySpace> old_row;  ///< old row of each new row
  Vector<std::int32_t, MemorySpace> new_row;  ///< new row of each old row
  std::vector<RowRange> blocks;               ///< blocks in the order of sweeping, none empty
  std::vector<RowRange> united;               ///< the same, neighbours of one colour as one
  std::int64_t free_rows = 0;                 ///< rows [0, free_rows) need no halo; ends a block
  int colours = 0;                            ///< colours of the colouring; 0: there is none
  bool is_natural = false;                    ///< the identity, in which nothing is swept

  /// Rows of this rank.
  std::int64_t rows() const { return static_cast<std::int64_t>(old_row.extent(0)); }
};

/// The permutation for sweeping the colours in the order colour_order[0], colour_order[1], ...
///
/// Within a block rows are in the order of `positions`, a permutation of them, or keep theirs if it
/// is empty. `graph` is the symmetric pattern that was coloured; its columns from graph.rows() on
/// are the halo. The first `free_colours` of the order may have free blocks.
/// Sync     fences `exec`.
/// Throws   ValueError if `colour_order` is no permutation of the colours.
template <class Exec, class Value>
SweepOrder<typename Exec::memory_space> make_sweep_order(
    Exec const& exec, EllMatrix<Value, std::int32_t, typename Exec::memory_space> const& graph,
    Colouring<typename Exec::memory_space> const& colouring, std::vector<int> const& colour_order,
    Vector<std::int32_t, typename Exec::memory_space> const& positions = {},
    int free_colours = std::numeric_limits<int>::max());

/// The order that a rank's rows have: no blocks, and none of a halo.
///
/// Sync     enqueued on `exec`. Throws MemoryError.
template <class Exec>
SweepOrder<typename Exec::memory_space> natural_order(Exec const& exec, std::int64_t rows);

/// The rows of P A P' (row source); columns from A.rows() on, the halo's, keep their numbers.
template <class Matrix>
struct PermutedRows {
  Matrix A;  ///< matrix whose rows they are
  /// The old row of each new one, and the new row of each old one.
  Vector<std::int32_t, typename Matrix::MemorySpace> old_row, new_row;

  /// Calls emit(column, value) for each entry but the padding.
  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t i, Emit const& emit) const {
    std::int64_t const old = old_row(i);
    auto const row = A.row(old);
    for (int k = 0; k < row.width; ++k) {
      std::int64_t const at = row.first + k * row.stride, column = A.columns()[at];
      double const value = static_cast<double>(A.values()[at]);
      if (column == A.padding(old) && value == 0) continue;
      emit(column < A.rows() ? std::int64_t(new_row(column)) : column, value);
    }
  }
};

}  // namespace strata::sparse

#endif
