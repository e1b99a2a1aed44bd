// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/refine/Strata_Refinement.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <dense/refine/detail/Strata_RefinementMemory.hpp>
#include <dense/refine/detail/Strata_Refiner.hpp>

#include <cmath>

namespace strata::dense {

namespace {

void require(RefinementOptions const& options) {
  STRATA_REQUIRE(ValueError, options.tolerance >= 0 && std::isfinite(options.tolerance),
                 "refine: tolerance is ", options.tolerance, ", must be finite and >= 0");
  STRATA_REQUIRE(ValueError, options.max_iterations >= 0, "refine: max_iterations is ",
                 options.max_iterations, ", must be >= 0");
  STRATA_REQUIRE(ValueError, options.restart >= 1, "refine: restart is ", options.restart,
                 ", must be >= 1");
  STRATA_REQUIRE(ValueError, options.inner_tolerance > 0 && options.inner_tolerance < 1,
                 "refine: inner_tolerance is ", options.inner_tolerance, ", must be in (0, 1)");
  STRATA_REQUIRE(ValueError, options.stagnation_steps >= 1, "refine: stagnation_steps is ",
                 options.stagnation_steps, ", must be >= 1");
}

}  // namespace

template <class ExecutionSpace>
RefinementReport detail::refine(ExecutionSpace const& exec,
                                RefinementMemory<ExecutionSpace>& memory,
                                RefinementOperators<ExecutionSpace> const& operators,
                                typename RefinementOperators<ExecutionSpace>::Block const& B,
                                typename RefinementOperators<ExecutionSpace>::Block const& X,
                                RefinementOptions const& options, bool is_cut_short,
                                GivenSystem* given) {
  Region const region(exec, "strata::dense::refine");
  STRATA_REQUIRE(ShapeError, B.extent(0) == X.extent(0) && B.extent(1) == X.extent(1),
                 "refine: B is ", B.extent(0), " x ", B.extent(1), " and X is ", X.extent(0), " x ",
                 X.extent(1), ", must be the same");
  require(options);
  STRATA_REQUIRE(ValueError, !(operators.norm_inf < 0), "refine: norm_inf is ", operators.norm_inf,
                 ", must be >= 0");
  STRATA_REQUIRE(ShapeError,
                 operators.scaling.extent(0) == 0 || operators.scaling.extent(0) == B.extent(0),
                 "refine: the scaling has ", operators.scaling.extent(0), " entries, B has ",
                 B.extent(0), " rows");
  STRATA_REQUIRE(ValueError, !(operators.given_norm_inf < 0), "refine: given_norm_inf is ",
                 operators.given_norm_inf, ", must be >= 0");
  if (B.extent(0) == 0 || B.extent(1) == 0) return {};
  STRATA_REQUIRE(ValueError, operators.apply && operators.precondition,
                 "refine: the operators apply and precondition must both be given");
  return detail::Refiner<ExecutionSpace>(memory, operators, B, X, options, is_cut_short, given)
      .run();
}

template <class ExecutionSpace>
RefinementReport refine(ExecutionSpace const& exec,
                        RefinementOperators<ExecutionSpace> const& operators,
                        typename RefinementOperators<ExecutionSpace>::Block const& B,
                        typename RefinementOperators<ExecutionSpace>::Block const& X,
                        RefinementOptions const& options) {
  using Memory = detail::RefinementMemory<ExecutionSpace>;
  Memory memory(exec, B.extent(0), B.extent(1), Memory::of_refinement);
  return detail::refine(exec, memory, operators, B, X, options);
}

#define STRATA_INSTANTIATE(Exec)                                                              \
  template RefinementReport detail::refine<Exec>(                                             \
      Exec const&, detail::RefinementMemory<Exec>&, RefinementOperators<Exec> const&,         \
      RefinementOperators<Exec>::Block const&, RefinementOperators<Exec>::Block const&,       \
      RefinementOptions const&, bool, GivenSystem*);                                          \
  template RefinementReport refine<Exec>(                                                     \
      Exec const&, RefinementOperators<Exec> const&, RefinementOperators<Exec>::Block const&, \
      RefinementOperators<Exec>::Block const&, RefinementOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
