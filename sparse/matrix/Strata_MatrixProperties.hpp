// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_MATRIX_PROPERTIES_HPP
#define STRATA_SPARSE_MATRIX_PROPERTIES_HPP

#include <sparse/formats/Strata_EllMatrix.hpp>

#include <cstdint>

namespace strata::sparse {

template <class Exec>
class DistributedMatrix;

/// The diagonal in the matrix' order, with room for the halo; 0 where a row has no entry there.
///
/// Sync     enqueued on `exec`. Throws MemoryError on all ranks.
template <class Exec>
Vector<double, typename Exec::memory_space> diagonal(Exec const& exec,
                                                     DistributedMatrix<Exec> const& A);

/// What the diagonals of all ranks are; collective, fences.
struct DiagonalKind {
  std::int64_t zero = 0, negative = 0;  ///< rows; NaN counts as zero
  std::int64_t first = -1;       ///< the first of them, by its global number; -1: there is none
  std::int64_t first_zero = -1;  ///< the first that is zero
};
/// What its diagonal is. Collective, fences.
template <class Exec>
DiagonalKind kind_of_diagonal(Exec const& exec, DistributedMatrix<Exec> const& A);
/// The same where the diagonal d is known.
template <class Exec>
DiagonalKind kind_of_diagonal(Exec const& exec, DistributedMatrix<Exec> const& A,
                              Vector<double, typename Exec::memory_space> const& d);

/// How the slices of all ranks store their columns; collective, fences.
struct ColumnForms {
  double shared = 0, narrow = 0, wide = 0;  ///< shares of the slices, see Columns
  /// bytes of the columns for each entry, over all slices
  double bytes_per_entry = 0;
};
/// How its columns are stored. Collective, fences.
template <class Exec>
ColumnForms column_forms(Exec const& exec, DistributedMatrix<Exec> const& A);

/// What the rows of all ranks tell about a matrix that may be singular.
struct RowKind {
  std::int64_t empty = 0;         ///< rows without an entry that is not 0: it is singular
  std::int64_t first_empty = -1;  ///< the first of them, by its global number; -1: there is none
  /// The entries of every row add up to 0 within rounding: constants are mapped to 0, as by a
  /// Laplacian or the stiffness of a body that nothing holds.
  bool maps_constants_to_zero = false;
  /// Rows whose entries do so, of those that are not empty. The matrix is singular where a
  /// connected part of its graph has no other: `floating_parts`, with `floating_rows` rows
  /// together. `SparseSolver` finds them.
  std::int64_t zero_sums = 0;
  std::int64_t floating_parts = 0;  ///< connected parts
  std::int64_t floating_rows = 0;   ///< rows in them
  int null_vectors =
      0;  ///< vectors of a given near-null space that A maps to 0, beside constants on those parts
};
/// Collective, fences.
template <class Exec>
RowKind kind_of_rows(Exec const& exec, DistributedMatrix<Exec> const& A);

/// max_i sum_j |a_ij|, over all ranks; infinity if an entry is not a number. Collective, fences.
template <class Exec>
double norm_inf(Exec const& exec, DistributedMatrix<Exec> const& A);

/// Whether the matrix is symmetric up to rounding. Collective, fences.
///
/// Result   compares x' A y and y' A x for two random pairs of vectors scaled like D^(-1/2). A
///          difference a_ij - a_ji above some 1e-11 n sqrt(a_ii a_jj) is found with near certainty.
template <class Exec>
bool is_symmetric(Exec const& exec, DistributedMatrix<Exec> const& A);
/// The same where the diagonal d is known.
template <class Exec>
bool is_symmetric(Exec const& exec, DistributedMatrix<Exec> const& A,
                  Vector<double, typename Exec::memory_space> const& d);

}  // namespace strata::sparse

#endif
