// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_TRANSFER_HIERARCHY_HPP
#define STRATA_SPARSE_TRANSFER_HIERARCHY_HPP

#include <sparse/multigrid/Strata_AmgOptions.hpp>
#include <sparse/multigrid/Strata_Transfer.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace strata::sparse {

namespace detail {
template <class Exec>
struct KeptLevels;
}  // namespace detail

/// How the coarsest level is solved.
enum class CoarseSolve {
  Sweep,   ///< smoothed as the others, before and after nothing
  Direct,  ///< a product with the inverse, or the generalised one where the matrix is singular
};

/// A matrix and ever smaller ones, with the transfers between neighbours; fp64.
template <class Exec>
struct TransferHierarchy {
  /// A matrix and the transfers to the next one.
  struct Level {
    DistributedMatrix<Exec> A;  ///< matrix of this level
    Transfer<Exec> P, R;        ///< transfers from the next level, and to it; none on the last
    double largest = 0;         ///< eigenvalue of D^-1 A, D its diagonal; 0: nothing is known
  };
  std::vector<Level> levels;                ///< the finest first
  CoarseSolve coarse = CoarseSolve::Sweep;  ///< solve on the last level
  /// Smoother of all levels but one that is solved directly.
  Smoother smoother = Smoother::GaussSeidel;
  int steps = 2;  ///< steps of Chebyshev and L1Jacobi
  /// Chebyshev's polynomials are least from this part of the largest eigenvalue on.
  double least_part = 0.125;
  int block_size = 1;         ///< unknowns of a node of the finest matrix
  int modes = 1;              ///< unknowns of an aggregate
  bool is_classical = false;  ///< coarse rows were chosen, not aggregated
  /// What new values in the finest matrix' pattern leave as it is; none: nothing was kept.
  std::shared_ptr<detail::KeptLevels<Exec>> kept;
  bool has_old_pattern = false;  ///< aggregates and patterns are `kept`'s, as it was given
  bool takes_natural =
      false;  ///< a cycle's vectors are in the caller's order, the finest matrix is not

  /// Entries of all matrices over the finest matrix' entries.
  double operator_complexity() const {
    double sum = 0;
    for (auto const& level : levels) sum += static_cast<double>(level.A.global_entries());
    double const finest = static_cast<double>(levels.front().A.global_entries());
    return finest > 0 ? sum / finest : 1;
  }
};

/// One level: what makes a AlgebraicMultigrid a symmetric Gauss-Seidel sweep.
template <class Exec>
TransferHierarchy<Exec> single_level(DistributedMatrix<Exec> const& A) {
  TransferHierarchy<Exec> hierarchy;
  hierarchy.levels.push_back({A, {}, {}, 0});
  return hierarchy;
}

/// Levels of any square matrix, by smoothed aggregation or by rows that are chosen.
///
/// Aggregation   P = (I - w D^-1 A_F) T, R = P', coarse matrix R A P. A_F is the matrix without
///          weak entries, which are added to its diagonal. D has its absolute row sums, w = 4/3.
///          Where R A P has more entries than A, as in graphs without geometry, P = T. Aggregates
///          have the rows of a maximal set of which no two lie within two strong couplings as
///          roots. They go over the borders of ranks.
/// Classical   PMIS chooses the coarse rows. P is extended interpolation from four of them, and R
///          = P'. A level where R A P has more than twice A's entries is one of aggregates. Where
///          the diagonal, which `scale` made 1, spans more than 2^24 and more than 5 % of the
///          couplings have its sign, Chebyshev has four steps from a twentieth on: slivers.
/// Ranks    a coarse level with fewer than 2,000 rows a rank goes to fewer ranks.
/// Units    constants are what P keeps, of the given unknowns. Where A maps constants nearer to 0
///          in the unknowns that `scale` divides, P keeps these.
/// Blocks   each of several unknowns a node is aggregated by itself. With a near-null space nodes
///          are aggregated whole, by the Frobenius norms of their blocks. Each aggregate has an
///          unknown for each vector, in which T's columns are orthonormal. D is A's diagonal and w
///          = 4/3 over the largest eigenvalue of D^-1 A.
/// Result   the same on every backend and any ranks: aggregates to the row, values up to rounding.
///          Rows without strong couplings take no part in coarse levels. Coarsening ends at
///          `coarse_rows` rows, solved directly, or where it no longer makes the matrix smaller.
/// Sync     set-up runs on `exec`, and of one rank counts alone come back; products of several are
///          made on the hosts. Collective; fences.
/// Throws   ValueError for options outside their ranges; ShapeError where a near-null space does
///          not fit, or its node is of two ranks; what DistributedMatrix throws; on all ranks.
/// Source   P. Vanek, J. Mandel, M. Brezina, Algebraic multigrid by smoothed aggregation for second
///          and fourth order elliptic problems, Computing 56, 1996, doi:10.1007/BF02238511;
///          deviation: D. The roots: N. Bell, S. Dalton, L. Olson, Exposing fine-grained
///          parallelism in algebraic multigrid methods, SISC 34(4), 2012, doi:10.1137/110838844.
///
/// `scale`: the near-null space of A is the given one divided by it, of each row in the caller's
/// order; none: 1. `kept`: of another hierarchy, which stays as it is; where A's pattern is the
/// same, aggregates and patterns are taken from there.
template <class Exec>
TransferHierarchy<Exec> make_algebraic_hierarchy(
    Exec const& exec, DistributedMatrix<Exec> const& A, AmgOptions const& options = {},
    Vector<double, typename Exec::memory_space> const& scale = {},
    std::shared_ptr<detail::KeptLevels<Exec>> const& kept = nullptr);

}  // namespace strata::sparse

#endif
