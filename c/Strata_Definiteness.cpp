// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Whether a matrix is positive definite, where its factor is not wanted.
#include <dense/Strata_Definiteness.hpp>

#include <c/detail/Strata_Call.hpp>
#include <c/detail/Strata_LapackCall.hpp>
#include <c/detail/Strata_Options.hpp>
#include <c/detail/Strata_Workbench.hpp>
#include <c/runtime/Strata_Operand.hpp>
#include <c/strata.h>

#include <cstdint>

using namespace strata::c;
using namespace strata::c::detail;

strata_status strata_is_positive_definite(char uplo, int64_t n, double const* A, int64_t lda,
                                          int64_t* info) {
  if (info != nullptr) *info = -1;
  return call("strata_is_positive_definite", [&]() -> Outcome {
    STRATA_REQUIRE(ValueError, info != nullptr, "info is a null pointer");
    auto const triangle = require_triangle(uplo);
    require_order("n", n, 2);
    require_matrix("A", A, n, n, lda, sizeof(double), 3, 4);
    Caller const caller;
    Workbench const bench;
    Exec const& exec = bench.exec();
    Operand<double const> const a(exec, A, n, n, lda, part_of(triangle));
    auto const order = strata::dense::is_positive_definite(exec, as_lower(a, triangle)).order();
    Outcome answer{STRATA_SUCCESS, order == 0 ? "" : not_positive_definite_text(order)};
    *info = order;
    return answer;
  });
}
