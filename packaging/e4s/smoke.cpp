// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// One dense and one sparse system with what is installed, and a matrix of Kokkos Kernels'; exit
// status 0 if all is well.
#include <core/info/Strata_Version.hpp>
#include <core/problems/Strata_Generators.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>
#include <sparse/matrix/Strata_KernelsMatrix.hpp>
#include <sparse/matrix/Strata_ModelProblems.hpp>

#include <KokkosSparse_CrsMatrix.hpp>
#include <Kokkos_Core.hpp>

#include <iostream>

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

// A matrix of Kokkos Kernels', whose headers come with Strata's.
bool take_kernels_matrix(Exec const& exec) {
  using Crs = KokkosSparse::CrsMatrix<double, int, Exec>;
  typename Crs::row_map_type::non_const_type const row_map("strata::smoke::row_map", 3);
  typename Crs::index_type::non_const_type const entries("strata::smoke::entries", 2);
  typename Crs::values_type::non_const_type const values("strata::smoke::values", 2);
  for (int i = 0; i < 2; ++i) {  // diag(2, 2)
    Kokkos::deep_copy(exec, Kokkos::subview(row_map, i + 1), i + 1);
    Kokkos::deep_copy(exec, Kokkos::subview(entries, i), i);
    Kokkos::deep_copy(exec, Kokkos::subview(values, i), 2.0);
  }
  Crs const crs("strata::smoke::crs", 2, 2, 2, values, row_map, entries);
  auto const count = sparse::make_matrix(exec, sparse::Communicator(), crs).entries();
  std::cout << "Kokkos Kernels: " << count << " entries\n";
  return count == 2;
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Configuration const build = configuration();
  std::cout << "Strata " << build.version << ", Kokkos " << build.kokkos << ", "
            << build.backends.front() << '\n';
  Exec const exec;
  bool const dense = solve_dense(exec), sparse = solve_sparse(exec),
             kernels = take_kernels_matrix(exec);
  return dense && sparse && kernels ? 0 : 1;
}
