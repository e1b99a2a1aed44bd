// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_POLYNOMIAL_SMOOTHER_HPP
#define STRATA_SPARSE_DETAIL_POLYNOMIAL_SMOOTHER_HPP

#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/multigrid/Strata_AmgOptions.hpp>

#include <cstdint>
#include <vector>

namespace strata::sparse::detail {

/// Steps x += s_k, s_k = a_k s_(k-1) + b_k D^-1 (r - A x), which need products with A alone: no
/// order of the rows, no colours.
///
/// Chebyshev: D is the diagonal. The steps make the polynomial that is least over [c l, 1.05 l], l
/// the largest eigenvalue of D^-1 A and c `least_part`. A must be symmetric with a positive
/// diagonal. L1Jacobi: D has the rows' absolute sums with the diagonal's sign, and b_k = 1.
///
/// Source   M. Adams, M. Brezina, J. Hu, R. Tuminaro, Parallel multigrid smoothing: polynomial
///          versus Gauss-Seidel, J. Comput. Phys. 188(2), 2003, doi:10.1016/S0021-9991(03)00194-3.
template <class Exec, class Scalar>
class PolynomialSmoother {
 public:
  using Vec = Vector<Scalar, typename Exec::memory_space>;

  PolynomialSmoother() = default;
  /// `D`: what its `A`, which may be stored in less than fp64, was before. l is `largest`; where
  /// that is 0, 2 if no row's absolute sum is more than twice its diagonal, else
  /// `largest_eigenvalue`. Collective; fences. Throws MemoryError on all ranks.
  PolynomialSmoother(Exec const& exec, DistributedMatrix<Exec> const& D,
                     DistributedMatrix<Exec> const& A, Smoother kind, int steps, double largest = 0,
                     double least_part = 0.125);
  /// The same with vectors in Scalar. Throws MemoryError.
  PolynomialSmoother(Exec const& exec, PolynomialSmoother<Exec, fp64> const& other);

  std::int64_t bytes() const;
  /// Improves x, which needs no values for Guess::Zero; `residual` has room for one. Enqueued on
  /// `exec`.
  void apply(Exec const& exec, DistributedMatrix<Exec> const& A, Vec const& r, Vec const& x,
             Vec const& residual, Guess guess) const;

 private:
  template <class, class>
  friend class PolynomialSmoother;
  void set_steps(double largest, double least_part);  // Chebyshev's

  std::vector<double> keep_, take_;  // a_k, b_k
  Vector<LaneOf<Scalar>, typename Exec::memory_space> inverse_;
  Vec step_;
};

}  // namespace strata::sparse::detail

#endif
