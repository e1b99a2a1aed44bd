// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_BICGSTAB_HPP
#define STRATA_SPARSE_BICGSTAB_HPP

#include <sparse/krylov/Strata_KrylovMethod.hpp>

namespace strata::sparse {

/// BiCGStab for any matrix, preconditioned from the right: vectors and sums are fp64, the
/// preconditioner works in Scalar on vectors scaled to length 1 and may round differently each
/// time.
///
/// An iteration has two products and two preconditionings, and eight vectors whatever their number.
/// Where a sum that it divides by is rounding alone it starts anew from the true residual. Of the
/// iterates of a run one is kept whose residual was within 10 of the least.
///
/// Source   H. van der Vorst, Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG for the
///          solution of nonsymmetric linear systems, SISSC 13(2), 1992, doi:10.1137/0913035.
template <class Exec, class Scalar>
class BiCgStab : public KrylovMethod<Exec> {
 public:
  /// Throws ValueError for options outside their ranges, MemoryError; on all ranks.
  BiCgStab(Exec const& exec, DistributedMatrix<Exec> const& A,
           Preconditioner<Exec, Scalar> const& preconditioner, KrylovOptions const& options = {});

 private:
  struct Impl;
};

}  // namespace strata::sparse

#endif
