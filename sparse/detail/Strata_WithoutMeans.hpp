// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_WITHOUT_MEANS_HPP
#define STRATA_SPARSE_DETAIL_WITHOUT_MEANS_HPP

#include <sparse/krylov/Strata_Preconditioner.hpp>
#include <sparse/scaling/detail/Strata_FloatingParts.hpp>

namespace strata::sparse::detail {

/// A preconditioner whose result loses its mean over each floating part: of a nearly singular
/// coarsest level it is a multiple of rounding errors, of any size.
template <class Exec, class Scalar>
struct WithoutMeans {
  Preconditioner<Exec, Scalar> M;
  FloatingParts<Exec> parts;

  void apply(Exec const& exec, Vector<Scalar, typename Exec::memory_space> const& r,
             Vector<Scalar, typename Exec::memory_space> const& z) const {
    M.apply(exec, r, z);
    parts.remove_means(exec, z);
  }
};

/// M itself where no part floats.
template <class Exec, class Scalar>
Preconditioner<Exec, Scalar> without_means(Preconditioner<Exec, Scalar> const& M,
                                           FloatingParts<Exec> const& parts) {
  if (!parts.any()) return M;
  return WithoutMeans<Exec, Scalar>{M, parts};
}

}  // namespace strata::sparse::detail

#endif
