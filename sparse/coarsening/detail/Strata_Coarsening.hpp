// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_COARSENING_HPP
#define STRATA_SPARSE_DETAIL_COARSENING_HPP

#include <sparse/coarsening/detail/Strata_Modes.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace strata::sparse::detail {

/// A level of smoothed aggregation on one rank, in natural order.
template <class Exec>
struct WholeLevel {
  BlockCsr<Exec> A;            ///< matrix; with modes in blocks of its nodes' unknowns
  Modes<Exec> modes;           ///< modes; width 0: constants
  Components<Exec> component;  ///< components of its rows, without modes
  int block_size = 1;          ///< unknowns of a node
};

/// What a level leads to, and what new values of its matrix leave as it is.
template <class Exec>
struct Coarsening {
  BlockCsr<Exec> P;
  TransposedIndex<Exec> R;  ///< P', by nodes
  WholeLevel<Exec> coarse;  ///< R A P
  StrongGraph<Exec> F;
  RowAggregates<Exec> aggregates;
  bool is_smoothed = true;  ///< P is, else P0
  BlockCsr<Exec> AP;
};

/// A hierarchy's levels, for new values of its finest matrix.
template <class Exec>
struct KeptLevels {
  std::uint64_t pattern = 0;  ///< `pattern_of` the finest matrix
  int block_size = 0;         ///< unknowns of its nodes
  bool is_positive = false;   ///< its eigenvalues were known
  std::vector<Coarsening<Exec>> levels;
};

/// A number that patterns hardly share which are not the same. Fences.
template <class Exec>
std::uint64_t pattern_of(Exec const& exec, LocalCsr<Exec> const& A);

/// What is known of the finest level's unknowns.
template <class Exec>
struct LevelFacts {
  int block_size = 0;  ///< unknowns of a node; 0: found from the pattern
  std::shared_ptr<NearNullSpace const> near_null_space;  ///< none: constants
  /// number that divides the near-null vectors in each row; none: 1
  Vector<double, typename Exec::memory_space> scale;
};

/// The finest level: A of one rank. Fences. Throws ShapeError for modes of another number of rows,
/// MemoryError.
template <class Exec>
WholeLevel<Exec> finest_level(Exec const& exec, DistributedMatrix<Exec> const& A,
                              LevelFacts<Exec> const& facts);

/// Everything on the execution space: nothing but counts comes back. With modes nodes are
/// aggregated whole, and each aggregate has an unknown for each; else each of a node's unknowns by
/// itself. None where there would be more than `most_rows` rows or no row. Where R A P has more
/// entries than A, as in graphs without geometry, P is not smoothed. `largest`: an eigenvalue of
/// D^-1 A; 0: nothing is known. Fences. Throws MemoryError.
template <class Exec>
std::optional<Coarsening<Exec>> coarsened(Exec const& exec, WholeLevel<Exec> const& level,
                                          double strength, double most_rows, double largest = 0);

/// The values of `of` anew, which `coarsened` has made of a level with the same pattern: aggregates
/// and patterns stay. The same bits as it would make of a level with these aggregates. Fences.
/// Throws MemoryError, with values of no use in `of`.
template <class Exec>
void recoarsen(Exec const& exec, WholeLevel<Exec> const& level, double largest,
               Coarsening<Exec>& of);

}  // namespace strata::sparse::detail

#endif
