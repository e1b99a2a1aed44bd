// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/hpgmxp/Strata_HpgmxpFree.hpp>

#include <core/Strata_Stopwatch.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/hpgmxp/Strata_ProcessGrid.hpp>
#include <sparse/krylov/Strata_ConjugateGradients.hpp>
#include <sparse/krylov/Strata_Fgmres.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/multigrid/Strata_AlgebraicMultigrid.hpp>
#include <sparse/multigrid/Strata_TrilinearHierarchy.hpp>

namespace strata::sparse {

template <class Exec>
HpgmxpFree solve_free(Exec const& exec, Communicator const& comm, HpgmxpOptions const& options) {
  Region const region(exec, "strata::sparse::hpgmxp::free");
  Stopwatch const watch;
  auto const ranks =
      options.grid == std::array<int, 3>{0, 0, 0} ? process_grid(comm.size()) : options.grid;
  StencilGrid const grid{{options.nx * ranks[0], options.ny * ranks[1], options.nz * ranks[2]},
                         options.beta};
  HpgmxpFree result;
  result.conjugate_gradients = options.beta == 0;
  Precision const narrowest = strata::runs_on_host<Exec> ? Precision::fp32 : Precision::fp16;
  result.values = options.values ? *options.values : narrowest;
  options.progress("free mode, set-up");
  auto const hierarchy = make_trilinear_hierarchy(exec, comm, grid, options.matrix);
  auto const& A = hierarchy.levels.front().A;
  for (auto const& level : hierarchy.levels)
    result.levels.push_back({level.A.global_rows(), level.A.global_entries()});
  AlgebraicMultigrid<Exec, float> const cycle(exec, hierarchy, result.values);
  auto const vector = [&] {
    return comm.agree(
        [&] { return A.template allocate<double>(exec, "strata::sparse::hpgmxp::free"); });
  };
  auto const b = vector(), x = vector();
  Kokkos::deep_copy(exec, x, 1.0);  // the solution: b = A 1
  A.multiply(exec, x, b);
  Kokkos::deep_copy(exec, x, 0.0);
  exec.fence("strata::sparse::hpgmxp::free");
  result.set_up_seconds = comm.max(watch.seconds());
  options.progress("free mode, solve");
  KrylovOptions krylov{options.restart, options.tolerance, options.max_iterations};
  if (options.on_validation_residual)
    krylov.monitor = [&](std::int64_t, double residual) {
      options.on_validation_residual(residual);
    };
  result.krylov = result.conjugate_gradients
                      ? ConjugateGradients<Exec, float>(exec, A, cycle, krylov).solve(exec, b, x)
                      : Fgmres<Exec, float>(exec, A, cycle, krylov).solve(exec, b, x);
  result.krylov.seconds = comm.max(result.krylov.seconds);
  return result;
}

#define STRATA_INSTANTIATE_FREE(Space) \
  template HpgmxpFree solve_free(Space const&, Communicator const&, HpgmxpOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_FREE)

}  // namespace strata::sparse
