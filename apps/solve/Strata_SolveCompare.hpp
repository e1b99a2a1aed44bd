// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SOLVE_COMPARE_HPP
#define STRATA_APPS_SOLVE_COMPARE_HPP

#include <apps/solve/Strata_SolveResult.hpp>

#include <Kokkos_Core.hpp>

#include <string_view>

namespace strata::apps {

/// The fp64 Cholesky that --compare runs: "LAPACK dpotrf + dpotrs", "cuSOLVER ..."; empty if the build has none.
std::string_view vendor_cholesky();

/// Factor a copy of A and solve with it, `repeat` times; the run of median time counts.
///
/// Shape    A: n x n, lower triangle read; B: n x m. Neither is changed.
/// Result   the seconds, that of copying A apart; the backward error of A X = B, for which `norm_inf` is ||A||_inf.
/// Memory   one n x n and two n x m matrices.
/// Throws   VendorError.
Comparison compare(Kokkos::DefaultExecutionSpace const& exec,
                   Kokkos::View<double**, Kokkos::LayoutLeft,
                                Kokkos::DefaultExecutionSpace::memory_space> const& A,
                   Kokkos::View<double**, Kokkos::LayoutLeft,
                                Kokkos::DefaultExecutionSpace::memory_space> const& B,
                   double norm_inf, int repeat);

}  // namespace strata::apps

#endif
