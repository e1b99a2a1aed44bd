// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_AMG_OPTIONS_HPP
#define STRATA_SPARSE_AMG_OPTIONS_HPP

#include <core/Strata_EnumNames.hpp>
#include <sparse/formats/Strata_MatrixOptions.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace strata::sparse {

struct NearNullSpace;

/// What a cycle smooths a level's error with, before and after the coarse correction.
enum class Smoother {
  /// Chebyshev for a symmetric matrix with a positive diagonal, else GaussSeidel
  Automatic,
  GaussSeidel,  ///< a sweep by colours, forward and then backward
  /// steps that make Chebyshev's polynomial, for symmetric matrices with a positive diagonal
  Chebyshev,
  L1Jacobi,  ///< steps with the rows' absolute sums in the place of the diagonal
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(Smoother) {
  return enum_names<Smoother>("smoother", {{Smoother::Automatic, "auto"},
                                           {Smoother::GaussSeidel, "gs"},
                                           {Smoother::Chebyshev, "chebyshev"},
                                           {Smoother::L1Jacobi, "l1-jacobi"}});
}
/// What the rows of a coarser level are.
enum class CoarseningKind {
  /// Classical without a near-null space, for nodes of one unknown, where the matrix is not
  /// symmetric, its coefficients jump, or much of its couplings has the diagonal's sign.
  /// Else Aggregation
  Automatic,
  Aggregation,  ///< sets of rows
  Classical,    ///< rows of the finer level, from which the others interpolate
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(CoarseningKind) {
  return enum_names<CoarseningKind>("coarsening", {{CoarseningKind::Automatic, "auto"},
                                                   {CoarseningKind::Aggregation, "aggregation"},
                                                   {CoarseningKind::Classical, "classical"}});
}
using strata::name_of;

/// Choices of `make_algebraic_hierarchy`.
struct AmgOptions {
  CoarseningKind coarsening = CoarseningKind::Automatic;  ///< what coarse rows are
  /// Aggregates couple i and j on the finest level if |a_ij| > strength sqrt(m_i m_j), m_i the
  /// largest of row i off the diagonal. Each coarser level has half of that. Classical levels let i
  /// depend on j if -a_ij >= strength max -a_ik, where a_ii is positive.
  double strength = 0.25;
  int max_levels = 20;             ///< the finest included
  std::int64_t coarse_rows = 300;  ///< solved directly from here on
  /// Unknowns of a node, one after the other, each aggregated by itself, or, with a near-null
  /// space, together; divides n, up to 16. 0: found from the pattern.
  int block_size = 0;
  /// What coarse levels represent, of each rank its rows; none: constants. Ranks that have rows
  /// give the same width.
  std::shared_ptr<NearNullSpace const> near_null_space;
  /// Keep one rank's patterns in memory, for new values of the same matrix. A solver does so in any
  /// case from its first update on, and on a host from the start where a tenth of the memory holds
  /// them.
  bool keeps_patterns = false;
  Smoother smoother = Smoother::Automatic;  ///< smoother of all levels
  /// Steps of Chebyshev and L1Jacobi, before and after. 0: two, and four where classical levels
  /// meet the slivers of a mesh.
  int steps = 0;
  /// Storage of the coarse levels; their order is the smoother's.
  MatrixOptions matrix;
  /// Called on each rank after each step with the part of the levels' making that is done, 0 to 1,
  /// as if the steps took what they take for a seven-point stencil.
  std::function<void(double)> on_progress = {};

  /// Steps where no sliver is met.
  int steps_or_two() const { return steps > 0 ? steps : 2; }
};

}  // namespace strata::sparse

#endif
