// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Strata's sparse solver beside solvers of Kokkos Kernels' parts on the same matrices. The table
// has iterations, seconds by the clock, and processor time, which a busy machine changes less.
#include <core/info/Strata_Version.hpp>
#include <core/io/Strata_MatrixMarket.hpp>
#include <core/problems/Strata_Random.hpp>
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/matrix/Strata_ModelProblems.hpp>

#include <CLI/CLI.hpp>
#include <StrataPerf_KernelsSystem.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
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
  return {std::filesystem::path(path).stem().string(),
          host_rows(std::get<CoordinateMatrix>(read_matrix_market(path)))};
}

Case from_model(ModelProblem problem, std::int64_t n) {
  ModelSize size{n, n, n};
  if (problem == ModelProblem::Graph) size = {n * n * n, 1, 1};
  if (problem == ModelProblem::Elasticity) size = {n / 2, n / 2, n / 2};
  return {std::string(name_of(problem)), make_model(problem, size, 0, model_rows(problem, size)),
          unknowns_per_point(problem)};
}

// Seconds of all the process' threads; a device's work is not in them.
double processor_seconds() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

template <class Report>
struct Timed {
  Report report;
  double processor = 0;  // of set-up and solve
};

template <class Report>
void print(std::string const& solver, Timed<Report> const& run) {
  std::printf("  %-40s %6lld  %8.1e  %9.4f  %9.4f  %9.4f\n", solver.c_str(),
              static_cast<long long>(run.report.iterations), run.report.relative_residual,
              run.report.set_up_seconds, run.report.solve_seconds, run.processor);
  std::fflush(stdout);
}

// The run of least processor time of several.
template <class Run>
auto best_of(int repeat, Run const& run) {
  std::vector<Timed<decltype(run())>> runs;
  for (int r = 0; r < repeat; ++r) {
    double const start = processor_seconds();
    auto const report = run();
    runs.push_back({report, processor_seconds() - start});
  }
  return *std::min_element(runs.begin(), runs.end(),
                           [](auto const& a, auto const& b) { return a.processor < b.processor; });
}

void compare(Case const& problem, Request const& request) {
  Exec const exec;
  Communicator const comm;
  double const start = processor_seconds();
  auto const A = make_matrix(exec, comm, problem.rows);
  double const assembly = processor_seconds() - start;
  System system(exec, problem.rows);
  auto const n = static_cast<std::size_t>(A.rows());
  std::printf("%s: %zu rows, %lld entries; Strata's copy of them, coloured and ordered, %.4f s\n",
              problem.name.c_str(), n, static_cast<long long>(A.global_entries()), assembly);
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
    auto const run = best_of(request.repeat, [&] {
      Kokkos::deep_copy(exec, own_x, 0.0);
      SparseSolver<Exec> solver(exec, A, options);
      return solver.solve_in_order(exec, own_b, own_x);
    });
    auto const& report = run.report;
    symmetric = report.symmetric;
    std::string const name = "Strata " + std::string(name_of(report.solver)) + ", " +
                             std::string(name_of(report.preconditioner)) + " in " +
                             std::string(traits(report.precision).name) +
                             (report.status == KrylovStatus::Converged ? "" : " FAILED");
    print(name, run);
  }
  auto const theirs = best_of(request.repeat, [&] {
    Kokkos::deep_copy(exec, x, 0.0);
    return symmetric
               ? system.conjugate_gradients(b, x, request.tolerance, request.most_iterations)
               : system.gmres(b, x, request.tolerance, request.restart, request.most_iterations);
  });
  bool const solved = theirs.report.relative_residual <= 10 * request.tolerance;
  std::string const name = std::string("Kokkos Kernels ") + (symmetric ? "CG" : "GMRES") +
                           ", its Gauss-Seidel" + (solved ? "" : " FAILED");
  print(name, theirs);
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
    std::printf("%s, %s, tolerance %g, of %d runs the one of least processor time\n",
                devices().host.model.c_str(), Exec::name(), request.tolerance, request.repeat);
    std::printf("  %-40s %6s  %8s  %9s  %9s  %9s\n", "", "iter.", "residual", "set-up s", "solve s",
                "cpu s");
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
