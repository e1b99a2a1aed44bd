// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// LAPACK's dsposv: the factorisation in layers, and in fp64 where that fails.
#include <c/detail/Strata_LapackCall.hpp>
#include <c/detail/Strata_Options.hpp>
#include <c/detail/Strata_Workbench.hpp>
#include <c/runtime/Strata_Operand.hpp>
#include <c/strata.h>
#include <dense/Strata_PosvMixed.hpp>

using namespace strata::c;
using namespace strata::c::detail;
using strata::Uplo;

namespace {

// LAPACK's iter: the refinements, or why fp64 had to do it.
std::int64_t iter_of(strata::dense::MixedReport const& report) {
  if (!report.overwritten) return report.iterations;
  auto const tried = report.attempts.size() - 1;
  if (tried == 0) return -1;  // it was not worth it
  auto const outcome = report.attempts[tried - 1].outcome;
  return outcome == strata::Outcome::Overflowed  ? -2
         : outcome == strata::Outcome::BrokeDown ? -3
                                                 : -31;
}

}  // namespace

strata_status strata_dsposv(char uplo, int64_t n, int64_t nrhs, double* A, int64_t lda,
                            double const* B, int64_t ldb, double* X, int64_t ldx,
                            strata_options const* options, int64_t* iter, int64_t* info) {
  return lapack_call("strata_dsposv", info, [&](std::int64_t& order) {
    if (iter == nullptr) throw strata::ValueError("iter is a null pointer");
    *iter = 0;
    Uplo const triangle = require_triangle(uplo);
    require_system(n, nrhs, A, lda, B, ldb);
    require_matrix("X", X, n, nrhs, ldx, sizeof(double), 8, 9);
    Choices const asked = choices(options);
    if (n == 0) return;
    Caller const caller;
    Workbench const bench;
    Exec const& exec = bench.exec();
    Operand<double> const a(exec, A, n, n, lda, part_of(triangle));
    Operand<double const> const b(exec, B, n, nrhs, ldb, Part::All);
    Operand<double> const x(exec, X, n, nrhs, ldx, Part::None);
    strata::dense::MixedOptions mixed{asked.layers, asked.cholesky.leaf_size,
                                      asked.refinement.max_iterations};
    bool writes = false;  // to the caller's A
    mixed.before_overwrite = [&] { writes = a.in_place(); };
    overwrite(writes, [&] {
      auto const report = strata::dense::posv_mixed(bench.blas(), triangle, a.matrix(), b.matrix(),
                                                    x.matrix(), mixed);
      *iter = iter_of(report);
      order = report.info.order();
    });
    overwrite(*iter < 0, [&] {
      if (*iter < 0) a.write_back(exec, part_of(triangle));
      if (order == 0) x.write_back(exec, Part::All);
      exec.fence("strata::c::dsposv: X is written");
    });
  });
}
