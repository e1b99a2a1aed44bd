// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_RESIDUAL_NORMS_HPP
#define STRATA_SPARSE_DETAIL_RESIDUAL_NORMS_HPP

#include <sparse/scaling/detail/Strata_FloatingParts.hpp>
#include <sparse/scaling/detail/Strata_Scales.hpp>

namespace strata::sparse::detail {

/// What a solve of the scaled system (left A right) y = left b, x = right y, is judged by besides
/// its own residual. They are the residuals of A x = b as it is given, and of (right left A) x =
/// right left b, whose rows are in the units of x. A penalty on the diagonal hides all other rows
/// in the first, an unknown in tiny units hides the others in the second.
///
/// With them a solve also estimates how far x is from the solution, by how far it moved while its
/// residual fell.
template <class Exec>
struct ResidualNorms {
  using Wide = Vector<double, typename Exec::memory_space>;
  Scales<Exec> scales;        ///< none: the systems are one
  double norm_given = 0;      ///< ||A||_oo
  double norm_of_rows = 0;    ///< ||right left A||_oo
  FloatingParts<Exec> parts;  ///< where x is known but for a constant
  Wide spare, step;           ///< work vectors in the order of the matrix
};

}  // namespace strata::sparse::detail

#endif
