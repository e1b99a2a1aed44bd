// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_HPGMXP_FREE_HPP
#define STRATA_SPARSE_HPGMXP_FREE_HPP

#include <sparse/hpgmxp/Strata_Hpgmxp.hpp>

#include <cstdint>
#include <vector>

namespace strata::sparse {

/// The benchmark's equations by the method that one would choose without its rules.
struct HpgmxpFree {
  KrylovReport krylov;                 ///< report of the solve
  Precision values = Precision::fp32;  ///< precision of the preconditioner
  bool conjugate_gradients = false;    ///< CG was used, else FGMRES
  std::vector<LevelSize> levels;       ///< rows and entries over all ranks
  double set_up_seconds = 0;           ///< time to make the hierarchy
};

/// Solves the same matrix for the same right-hand side from zero to the same tolerance, over the
/// same ranks. The method is CG (FGMRES if beta is not 0) with a V-cycle of trilinear transfers,
/// over as many levels as the grid allows. Sizes may be odd. Collective.
///
/// Throws   what `make_trilinear_hierarchy` and the solvers throw, on all ranks.
template <class Exec>
HpgmxpFree solve_free(Exec const& exec, Communicator const& comm, HpgmxpOptions const& options);

}  // namespace strata::sparse

#endif
