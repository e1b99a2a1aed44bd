// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_DIRECT_SOLVER_HPP
#define STRATA_SPARSE_DETAIL_DIRECT_SOLVER_HPP

#include <sparse/matrix/Strata_DistributedMatrix.hpp>

#include <vector>

namespace strata::sparse::detail {

/// X with A X A = A up to rounding, row by row: the inverse where there is one; symmetric if A is.
///
/// Gauss-Jordan elimination with complete pivoting. It ends at a pivot of less than 1e-11 of the
/// largest, and unknowns without a pivot are 0. So the singular coarsest matrix of a graph
/// Laplacian is still solved for every right-hand side in its range. Cost 2 n^3 flops. Vendor LU
/// has no such end.
std::vector<double> generalised_inverse(std::vector<double> A, std::size_t n);

/// Solves with a small matrix by its inverse, of which each rank has its own rows.
template <class Exec, class Scalar>
class DirectSolver {
 public:
  using MemorySpace = typename Exec::memory_space;

  DirectSolver() = default;
  /// For d_i a_ij d_j, `d` in the order of A. Collective; each rank makes the whole inverse;
  /// fences.
  DirectSolver(Exec const& exec, DistributedMatrix<Exec> const& A,
               Vector<double, MemorySpace> const& d);
  /// The same one for vectors in Scalar. Enqueued on `exec`.
  DirectSolver(Exec const& exec, DirectSolver<Exec, fp64> const& other);

  /// x = A^-1 r in A's order. One rank: enqueued on `exec`; several: r goes through the hosts.
  void apply(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
             Vector<Scalar, MemorySpace> const& x) const;
  /// The product of the last step, `r` of all ranks.
  void multiply(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
                Vector<Scalar, MemorySpace> const& x) const;

 private:
  template <class, class>
  friend class DirectSolver;
  void apply_on_ranks(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
                      Vector<Scalar, MemorySpace> const& x) const;
  // Sets `inverse_` where the matrix of one rank lets it be made there.
  bool inverted_on_device(Exec const& exec, DistributedMatrix<Exec> const& A,
                          Vector<double, MemorySpace> const& d);

  Communicator comm_;
  std::int64_t rows_ = 0, n_ = 0;
  Vector<LaneOf<Scalar>, MemorySpace> inverse_;  // row by row
  Vector<Scalar, MemorySpace> all_;              // r of all ranks
};

}  // namespace strata::sparse::detail

#endif
