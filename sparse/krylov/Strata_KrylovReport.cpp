// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/krylov/Strata_KrylovReport.hpp>

#include <core/Strata_Errors.hpp>

namespace strata::sparse::detail {

KrylovOptions checked(KrylovOptions const& options, char const* method) {
  STRATA_REQUIRE(ValueError, options.restart >= 1, method, ": restart ", options.restart,
                 " must be at least 1");
  constexpr int most = 1'000'000;  // basis vectors
  STRATA_REQUIRE(ValueError, options.restart <= most, method, ": restart ", options.restart,
                 " must be at most ", most);
  STRATA_REQUIRE(ValueError, options.max_iterations >= 0, method, ": ", options.max_iterations,
                 " iterations");
  STRATA_REQUIRE(ValueError, options.tolerance >= 0, method, ": tolerance ", options.tolerance);
  STRATA_REQUIRE(ValueError, options.stall_factor >= 0 && options.stall_factor < 1, method,
                 ": stall factor ", options.stall_factor, " must be in [0, 1)");
  STRATA_REQUIRE(ValueError, options.cycle_floor >= 0 && options.cycle_floor < 1, method,
                 ": cycle floor ", options.cycle_floor, " must be in [0, 1)");
  STRATA_REQUIRE(ValueError, options.norm_A >= 0, method, ": the norm of A is ", options.norm_A);
  return options;
}

}  // namespace strata::sparse::detail
