// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// One dense and one sparse system with what is installed; exit status 0 if both are solved.
#include <Kokkos_Core.hpp>
#include <core/Strata_Generators.hpp>
#include <core/Strata_Version.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <iostream>
#include <sparse/Strata_HostRows.hpp>
#include <sparse/Strata_ModelProblems.hpp>
#include <sparse/Strata_SparseSolver.hpp>

namespace {

using namespace strata;
using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;

bool solve_dense(Exec const& exec) {
  auto const host = generate(MatrixKind::Geometric, 500, {.condition = 1e4});
  auto const A = Kokkos::create_mirror_view_and_copy(Kokkos::view_alloc(exec, Memory()), host);
  Kokkos::View<double*, Memory> const b(Kokkos::view_alloc(exec, "strata::smoke::b"), 500);
  Kokkos::View<double*, Memory> const x(Kokkos::view_alloc(exec, "strata::smoke::x"), 500);
  Kokkos::deep_copy(exec, b, 1.0);
  auto factor = dense::cholesky<dense::Layers<fp16, fp32>>(exec, A);
  auto const report = factor.solve(exec, b, x, {.refine = dense::Refine::Gmres});
  std::cout << "dense: backward error " << report.backward_error << '\n';
  return factor.info().ok() && report.converged && report.backward_error < 1e-14;
}

bool solve_sparse(Exec const& exec) {
  sparse::ModelSize const size{20, 20, 20};
  auto const rows = sparse::make_model(sparse::ModelProblem::Poisson27, size, 0, 8000);
  auto const A = sparse::make_matrix(exec, sparse::Communicator(), rows);
  Kokkos::View<double*, Memory> const b(Kokkos::view_alloc(exec, "strata::smoke::b"), A.rows());
  Kokkos::View<double*, Memory> const x(Kokkos::view_alloc(exec, "strata::smoke::x"), A.rows());
  Kokkos::deep_copy(exec, b, 1.0);
  auto const report = sparse::SparseSolver<Exec>(exec, A).solve(exec, b, x);
  std::cout << "sparse: relative residual " << report.relative_residual << " after "
            << report.iterations << " iterations\n";
  return report.status == sparse::KrylovStatus::Converged && report.relative_residual <= 1e-10;
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Configuration const build = configuration();
  std::cout << "Strata " << build.version << ", Kokkos " << build.kokkos << ", "
            << build.backends.front() << '\n';
  Exec const exec;
  bool const dense = solve_dense(exec), sparse = solve_sparse(exec);
  return dense && sparse ? 0 : 1;
}
