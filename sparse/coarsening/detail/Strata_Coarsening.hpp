// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_COARSENING_HPP
#define STRATA_SPARSE_DETAIL_COARSENING_HPP

#include <sparse/coarsening/detail/Strata_Modes.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>

#include <memory>
#include <optional>

namespace strata::sparse::detail {

/// A level of smoothed aggregation on one rank, in natural order.
template <class Exec>
struct WholeLevel {
  BlockCsr<Exec> A;   ///< matrix in blocks of its nodes' unknowns
  Modes<Exec> modes;  ///< modes of the level; width 0: constants, for a matrix without blocks
};

/// What a level leads to.
template <class Exec>
struct Coarsening {
  BlockCsr<Exec> P;
  TransposedIndex<Exec> R;  ///< P', by nodes
  WholeLevel<Exec> coarse;  ///< R A P
};

/// What is known of the finest level's unknowns.
template <class Exec>
struct LevelFacts {
  int block_size = 0;  ///< unknowns of a node; 0: found from the pattern
  std::shared_ptr<NearNullSpace const> near_null_space;  ///< none: constants
  /// number that divides the near-null vectors in each row; none: 1
  Vector<double, typename Exec::memory_space> scale;
};

/// The finest level: A of one rank. Fences. Throws ShapeError for modes of another number of rows, MemoryError.
template <class Exec>
WholeLevel<Exec> finest_level(Exec const& exec, DistributedMatrix<Exec> const& A,
                              LevelFacts<Exec> const& facts);

/// Everything on the execution space: nothing but counts comes back. Nodes are aggregated whole; each aggregate has an unknown for each mode.
/// None where there would be more than `most_rows` rows or no row.
/// Where R A P has more entries than A, as in graphs without geometry, P is not smoothed. `largest`: an eigenvalue of D^-1 A; 0:
/// nothing is known. Fences. Throws MemoryError.
template <class Exec>
std::optional<Coarsening<Exec>> coarsened(Exec const& exec, WholeLevel<Exec> const& level,
                                          double strength, double most_rows, double largest = 0);

}  // namespace strata::sparse::detail

#endif
