// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Strata's sparse solver beside solvers of Kokkos Kernels' parts on the same matrices: a table of
// iterations and seconds.
#include <CLI/CLI.hpp>
#include <StrataPerf_KernelsSystem.hpp>
#include <core/Strata_MatrixMarket.hpp>
#include <core/Strata_Random.hpp>
#include <core/Strata_Version.hpp>
#include <cstdio>
#include <filesystem>
#include <sparse/Strata_ModelProblems.hpp>
#include <sparse/Strata_SparseSolver.hpp>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::sparse;
using Exec = Kokkos::DefaultExecutionSpace;
using System = strata::perf::KernelsSystem;

struct Case {
  std::string name;
  HostRows rows;
  int block_size = 1;
};

struct Request {
  std::vector<std::string> files;
  std::int64_t points = 32;
  double tolerance = 1e-10;
  int restart = 50, repeat = 3;
  std::int64_t most_iterations = 10000;
};

Case from_file(std::string const& path) {
  auto const A = std::get<CoordinateMatrix>(read_matrix_market(path));
  std::vector<std::vector<std::pair<std::int64_t, double>>> lists(static_cast<std::size_t>(A.rows));
  for (std::size_t k = 0; k < A.value.size(); ++k) {
    lists[static_cast<std::size_t>(A.row[k])].emplace_back(A.col[k], A.value[k]);
    if (A.symmetric && A.row[k] != A.col[k])
      lists[static_cast<std::size_t>(A.col[k])].emplace_back(A.row[k], A.value[k]);
  }
  Case result{std::filesystem::path(path).stem().string(), {}};
  for (auto const& list : lists) {
    for (auto const& [j, a] : list) result.rows.add(j, a);
    result.rows.end_row();
  }
  return result;
}

Case from_model(ModelProblem problem, std::int64_t n) {
  ModelSize size{n, n, n};
  if (problem == ModelProblem::Graph) size = {n * n * n, 1, 1};
  if (problem == ModelProblem::Elasticity) size = {n / 2, n / 2, n / 2};
  return {std::string(name_of(problem)), make_model(problem, size, 0, model_rows(problem, size)),
          unknowns_per_point(problem)};
}

void print(char const* solver, std::int64_t iterations, double residual, double set_up,
           double solve) {
  std::printf("  %-34s %6lld  %8.1e  %9.4f  %9.4f\n", solver, static_cast<long long>(iterations),
              residual, set_up, solve);
  std::fflush(stdout);
}

// The run of least time of several.
template <class Run>
auto best_of(int repeat, Run const& run) {
  auto best = run();
  for (int r = 1; r < repeat; ++r) {
    auto const next = run();
    if (next.set_up_seconds + next.solve_seconds < best.set_up_seconds + best.solve_seconds)
      best = next;
  }
  return best;
}

void compare(Case const& problem, Request const& request) {
  Exec const exec;
  Communicator const comm;
  auto const A = make_matrix(exec, comm, problem.rows);
  System system(exec, problem.rows);
  auto const n = static_cast<std::size_t>(A.rows());
  std::printf("%s: %zu rows, %lld entries\n", problem.name.c_str(), n,
              static_cast<long long>(A.global_entries()));
  System::Vec const known(Kokkos::view_alloc(exec, "strata::perf::known"), n),
      b(Kokkos::view_alloc(exec, "strata::perf::b"), n),
      x(Kokkos::view_alloc(exec, "strata::perf::x"), n);
  auto const host = Kokkos::create_mirror_view(known);
  for (std::size_t i = 0; i < n; ++i) host(i) = 2 * uniform(1, i) - 1;
  Kokkos::deep_copy(exec, known, host);
  system.multiply(known, b);
  auto const own_b = A.allocate<double>(exec, "strata::perf::b"),
             own_x = A.allocate<double>(exec, "strata::perf::x");
  Vector<double, Exec::memory_space> const natural = b;
  A.gather(exec, natural, own_b);
  bool symmetric = true;
  for (auto const preconditioner : {PreconditionerKind::Amg, PreconditionerKind::GaussSeidel}) {
    SparseOptions options;
    options.tolerance = request.tolerance;
    options.restart = request.restart;
    options.max_iterations = request.most_iterations;
    options.preconditioner = preconditioner;
    options.amg.block_size = problem.block_size;
    auto const report = best_of(request.repeat, [&] {
      Kokkos::deep_copy(exec, own_x, 0.0);
      SparseSolver<Exec> solver(exec, A, options);
      return solver.solve(exec, own_b, own_x);
    });
    symmetric = report.symmetric;
    std::string const name = "Strata " + std::string(name_of(report.solver)) + ", " +
                             std::string(name_of(report.preconditioner)) + " in " +
                             std::string(traits(report.precision).name) +
                             (report.status == KrylovStatus::Converged ? "" : " FAILED");
    print(name.c_str(), report.iterations, report.relative_residual, report.set_up_seconds,
          report.solve_seconds);
  }
  auto const theirs = best_of(request.repeat, [&] {
    Kokkos::deep_copy(exec, x, 0.0);
    return symmetric
               ? system.conjugate_gradients(b, x, request.tolerance, request.most_iterations)
               : system.gmres(b, x, request.tolerance, request.restart, request.most_iterations);
  });
  bool const solved = theirs.relative_residual <= 10 * request.tolerance;
  std::string const name = std::string("Kokkos Kernels ") + (symmetric ? "CG" : "GMRES") +
                           ", its Gauss-Seidel" + (solved ? "" : " FAILED");
  print(name.c_str(), theirs.iterations, theirs.relative_residual, theirs.set_up_seconds,
        theirs.solve_seconds);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Strata's sparse solver beside solvers of Kokkos Kernels' parts");
  Request request;
  app.add_option("--matrix", request.files, "coordinate files (.mtx, .mtx.gz)");
  app.add_option("--points", request.points, "a side, of the generated matrices; 0: none")
      ->capture_default_str();
  app.add_option("--tolerance", request.tolerance, "relative residual")->capture_default_str();
  app.add_option("--restart", request.restart, "of GMRES")->capture_default_str();
  app.add_option("--repeat", request.repeat, "the fastest run counts")->capture_default_str();
  app.add_option("--max-iterations", request.most_iterations)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Kokkos::ScopeGuard const kokkos(argc, argv);
  try {
    std::printf("%s, %s, tolerance %g, fastest of %d runs\n", devices().host.model.c_str(),
                Exec::name(), request.tolerance, request.repeat);
    std::printf("  %-34s %6s  %8s  %9s  %9s\n", "", "iter.", "residual", "set-up s", "solve s");
    for (auto const& path : request.files) compare(from_file(path), request);
    if (request.points > 1)
      for (auto const problem :
           {ModelProblem::Poisson7, ModelProblem::Poisson27, ModelProblem::Anisotropic,
            ModelProblem::Convection, ModelProblem::Elasticity, ModelProblem::Graph})
        compare(from_model(problem, request.points), request);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
