// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Breaks the label rule or the instance rule, as its argument says: the test of strata.meta.labels.
#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <string>

namespace {

struct Scale {
  Kokkos::View<double*> x;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) *= 2; }
};

void offend(std::string const& how) {
  Kokkos::DefaultExecutionSpace const exec;
  Kokkos::Profiling::ScopedRegion const region(how == "region" ? "offender" : "strata::offender");
  std::string const label = how == "view" ? "x" : "strata::test::x";
  Kokkos::View<double*> const x(Kokkos::view_alloc(exec, label), 8);
  Kokkos::RangePolicy<> const policy(exec, 0, 8);
  if (how == "kernel") Kokkos::parallel_for(policy, Scale{x});
  if (how == "none") Kokkos::parallel_for("strata::test::scale", policy, Scale{x});
  if (how == "copy") Kokkos::deep_copy(x, 1.0);
  if (how == "fill") Kokkos::View<double*>("strata::test::y", 8);
  if (how == "fence") Kokkos::fence("strata::offender");
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  offend(argc > 1 ? argv[1] : "none");
}
