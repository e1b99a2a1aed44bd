// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <apps/solve/Strata_SolveResult.hpp>
#include <apps/system/Strata_Median.hpp>
#include <core/Strata_Backends.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <dense/refine/Strata_Refinement.hpp>

#include <limits>
#include <string>
#include <string_view>

namespace strata::apps {

namespace {

using Exec = Kokkos::DefaultExecutionSpace;

DeviceMatrix shaped_like(Exec const& exec, DeviceMatrix const& A, std::string const& label) {
  return allocate<DeviceMatrix>(exec, label, A.extent(0), A.extent(1));
}

// X = L^-T L^-1 X
void potrs(LeafBlas<Exec>& blas, DeviceMatrix const& L, DeviceMatrix const& X) {
  blas.trsm(Side::Left, Uplo::Lower, Op::NoTrans, Diag::NonUnit, 1, matrix_ref(L), matrix_ref(X));
  blas.trsm(Side::Left, Uplo::Lower, Op::Trans, Diag::NonUnit, 1, matrix_ref(L), matrix_ref(X));
}

// The error of the unrefined solution, computed as Strata's own is.
double backward_error(Exec const& exec, LeafBlas<Exec>& blas, DeviceMatrix const& A,
                      DeviceMatrix const& L, DeviceMatrix const& B, DeviceMatrix const& X,
                      double norm_inf) {
  dense::RefinementOperators<Exec> operators;
  operators.apply = [&](DeviceMatrix const& V, DeviceMatrix const& AV) {
    blas.symm(Uplo::Lower, 1, matrix_ref(A), matrix_ref(V), 0, matrix_ref(AV));
  };
  operators.precondition = [&](DeviceMatrix const& R) { potrs(blas, L, R); };
  operators.norm_inf = norm_inf;
  return dense::refine(exec, operators, B, X, {.refine = dense::Refine::None}).backward_error;
}

}  // namespace

std::string_view vendor_cholesky() { return vendor_libraries<Exec>.cholesky; }

Comparison compare(Exec const& exec, DeviceMatrix const& A, DeviceMatrix const& B, double norm_inf,
                   int repeat, Progress& progress) {
  progress.phase(words("comparing with ", vendor_cholesky()));
  LeafBlas<Exec> blas(exec, BlasPath::Vendor);
  DeviceMatrix const L = shaped_like(exec, A, "strata::compare::L"),
                     X = shaped_like(exec, B, "strata::compare::X");
  LeafBlas<Exec>::InfoView const info("strata::compare::info");
  auto const once = [&](int r) {
    Kokkos::deep_copy(exec, X, B);
    Kokkos::deep_copy(exec, info, 0);
    exec.fence("strata::compare::prepared");
    Comparison sample{.library = std::string(vendor_cholesky())};
    Stopwatch watch;
    Kokkos::deep_copy(exec, L, A);
    exec.fence("strata::compare::copied");
    sample.copy_seconds = watch.lap();
    blas.potrf(Uplo::Lower, matrix_ref(L), 0, info);
    Kokkos::deep_copy(exec, sample.info, info);
    exec.fence("strata::compare::factored");
    sample.factor_seconds = watch.lap();
    potrs(blas, L, X);
    exec.fence("strata::compare::solved");
    sample.solve_seconds = watch.lap();
    progress.done(static_cast<double>(r + 1) / repeat);
    return sample;
  };
  Comparison median = median_run(repeat, once, &Comparison::seconds);
  median.backward_error = median.info == 0 ? backward_error(exec, blas, A, L, B, X, norm_inf)
                                           : std::numeric_limits<double>::quiet_NaN();
  return median;
}

}  // namespace strata::apps
