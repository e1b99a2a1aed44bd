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

/// A level on one rank, in natural order.
template <class Exec>
struct WholeLevel {
  BlockCsr<Exec> A;            ///< matrix; with modes in blocks of its nodes' unknowns
  Modes<Exec> modes;           ///< modes; width 0: constants
  Components<Exec> component;  ///< components of its rows, without modes
  int block_size = 1;          ///< unknowns of a node
  /// What columns of the given matrix were multiplied by, and of a symmetric one its rows; none:
  /// 1.
  PooledVector<double, Exec> unit;
};

/// What a level leads to, and what new values of its matrix leave as it is.
template <class Exec>
struct Coarsening {
  BlockCsr<Exec> P;
  TransposedIndex<Exec> R;  ///< P', by nodes
  WholeLevel<Exec> coarse;  ///< R A P
  StrongGraph<Exec> F;
  RowAggregates<Exec> aggregates;  ///< aggregates, or coarse rows where these are chosen
  bool is_classical = false;       ///< P interpolates from coarse rows
  bool is_smoothed = true;         ///< P is, else P0
  BlockCsr<Exec> AP;
  /// P and R as levels in natural order store them; no rows: nothing is known.
  EllMatrix<double, std::int32_t, typename Exec::memory_space> stored_P, stored_R;
};

/// A hierarchy's levels, for new values of its finest matrix.
template <class Exec>
struct KeptLevels {
  std::uint64_t pattern = 0;  ///< `pattern_of` the finest matrix
  int block_size = 0;         ///< unknowns of its nodes
  bool is_positive = false;   ///< its eigenvalues were known
  bool is_classical = false;  ///< it was begun with coarse rows that are chosen
  std::vector<Coarsening<Exec>> levels;
  LocalCsr<Exec> rows;  ///< places of its entries, without values, unless they are in blocks
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
  bool is_symmetric = true;
};

/// Factors of A's columns, and of a symmetric A's rows, with which A maps constants nearer to 0. A
/// has its values so then, in the unknowns that `facts.scale` divides. Empty where there are none.
/// Collective; fences. Throws MemoryError on all ranks.
template <class Exec>
PooledVector<double, Exec> take_best_unit(Exec const& exec, LocalCsr<Exec> const& A,
                                          LevelFacts<Exec> const& facts,
                                          Border<Exec> const& border = {});

/// The finest level: A of one rank. Without modes its levels keep constants, in the unknowns that
/// `scale` divides if A maps these nearer to 0. Where A's entries are in the places of `known`, the
/// level shares its columns. Fences. Throws ShapeError for modes of another number of rows,
/// MemoryError.
template <class Exec>
WholeLevel<Exec> finest_level(Exec const& exec, DistributedMatrix<Exec> const& A,
                              LevelFacts<Exec> const& facts, LocalCsr<Exec> const& known = {});

/// P with its rows multiplied by powers of two. Fences. Throws MemoryError.
template <class Exec>
BlockCsr<Exec> with_rows_in(Exec const& exec, BlockCsr<Exec> const& P,
                            PooledVector<double, Exec> const& unit);

/// Everything on the execution space: nothing but counts comes back. With modes nodes are
/// aggregated whole, and each aggregate has an unknown for each; else each of a node's unknowns by
/// itself. None where there would be more than `most_rows` rows or no row. Where R A P has more
/// entries than A, as in graphs without geometry, P is not smoothed. `largest`: an eigenvalue of
/// D^-1 A; 0: nothing is known. Fences. Throws MemoryError.
template <class Exec>
std::optional<Coarsening<Exec>> coarsened(Exec const& exec, WholeLevel<Exec> const& level,
                                          double strength, double most_rows, double largest = 0);

/// By coarse rows that are chosen among A's, from which the others interpolate, of a level without
/// modes whose nodes have one unknown. None where there would be more than `most_rows` rows or no
/// row, or more than twice A's entries. Fences. Throws MemoryError.
template <class Exec>
std::optional<Coarsening<Exec>> classically_coarsened(Exec const& exec,
                                                      WholeLevel<Exec> const& level,
                                                      double strength, double most_rows);

/// The part of the sizes of all entries off the diagonal that those with the diagonal's sign make.
/// Of all ranks. Collective; fences.
template <class Exec>
double share_with_sign(Exec const& exec, LocalCsr<Exec> const& A, Border<Exec> const& border = {});

/// The values of `of` anew, which one of them has made of a level with the same pattern: aggregates
/// and patterns stay. The same bits as it would make of a level with these aggregates. Fences.
/// Throws MemoryError, with values of no use in `of`.
template <class Exec>
void recoarsen(Exec const& exec, WholeLevel<Exec> const& level, double largest,
               Coarsening<Exec>& of);

}  // namespace strata::sparse::detail

#endif
