// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Tpetra and Belos with several preconditioners, side by side: how an application that has them
// takes Strata's.

#include "Strata_TrilinosMatrices.hpp"
#include <trilinos/Strata_BelosGmresIr.hpp>
#include <trilinos/Strata_TpetraPreconditioner.hpp>

#include <CLI/CLI.hpp>
#include <Ifpack2_Relaxation.hpp>
#ifdef STRATA_WITH_MUELU
#include <MueLu_CreateTpetraPreconditioner.hpp>
#endif
#include <Tpetra_Core.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace strata;
using Matrix = Tpetra::CrsMatrix<double>;
using MV = Tpetra::MultiVector<double>;
using OP = Tpetra::Operator<double>;
using Exec = Matrix::node_type::execution_space;

struct Options {
  std::vector<std::int64_t> points{16};
  std::string model = "poisson27", matrices, json, sweep = "symmetric", precision = "fp32",
              colouring = "auto", solver = "GMRES";
  std::vector<std::string> only;
  double tolerance = 1e-8;
  int sweeps = 1, max_iterations = 3000, blocks = 300, repeat = 1;
  bool processor_time = false, check = false, check_sweeps = false;
};

struct Method {
  std::string name;
  std::function<Teuchos::RCP<OP const>(perf::TrilinosCase const&)> preconditioner;
  bool is_strata_solver = false;
};

struct Outcome {
  std::string matrix, method;
  std::int64_t rows, entries;
  int iterations;
  double residual, set_up_seconds, solve_seconds;
};

// Seconds by the clock on the wall, or of this process on all processors.
double seconds(Options const& options) {
  if (options.processor_time) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Teuchos::RCP<OP const> ifpack2(Options const& options, perf::TrilinosCase const& problem) {
  auto const M = Teuchos::rcp(
      new Ifpack2::Relaxation<Tpetra::RowMatrix<double>>(Teuchos::RCP<Matrix const>(problem.A)));
  Teuchos::ParameterList parameters;
  parameters.set(
      "relaxation: type",
      std::string(options.sweep == "forward" ? "MT Gauss-Seidel" : "MT Symmetric Gauss-Seidel"));
  parameters.set("relaxation: sweeps", options.sweeps);
  M->setParameters(parameters);
  M->initialize();
  M->compute();
  return M;
}

#ifdef STRATA_WITH_MUELU
// Smoothed aggregation in fp64 with what MueLu sets for a problem of this kind, and for others its
// defaults.
Teuchos::RCP<OP const> muelu(perf::TrilinosCase const& problem) {
  Teuchos::ParameterList parameters;
  parameters.set("verbosity", "none");
  if (!problem.muelu_type.empty()) parameters.set("problem: type", problem.muelu_type);
  return MueLu::CreateTpetraPreconditioner(Teuchos::rcp_implicit_cast<OP>(problem.A), parameters);
}
#endif

Teuchos::RCP<OP const> strata_of(Options const& options, std::string const& type,
                                 perf::TrilinosCase const& problem) {
  Teuchos::ParameterList parameters;
  parameters.set("Type", type).set("Precision", options.precision);
  if (type == "gs")
    parameters.set("Sweeps", options.sweeps)
        .set("Sweep Direction", options.sweep)
        .set("Colouring", options.colouring);
  else
    parameters.set("Block Size", problem.unknowns);
  return Teuchos::rcp(new trilinos::TpetraPreconditioner<>(Exec(), *problem.A, parameters));
}

std::vector<Method> methods_of(Options const& options) {
  using Case = perf::TrilinosCase const&;
  std::vector<Method> methods{
      {"none", [](Case) { return Teuchos::null; }},
      {"Ifpack2 MT Gauss-Seidel", [&](Case a) { return ifpack2(options, a); }},
#ifdef STRATA_WITH_MUELU
      {"MueLu", [](Case a) { return muelu(a); }},
#endif
      {"Strata Gauss-Seidel", [&](Case a) { return strata_of(options, "gs", a); }},
      {"Strata AMG", [&](Case a) { return strata_of(options, "amg", a); }},
      {"Strata GMRES-IR, AMG", [&](Case a) { return strata_of(options, "amg", a); }, true}};
  if (options.only.empty()) return methods;
  std::string names;
  for (auto const& method : methods) names += (names.empty() ? "" : ", ") + method.name;
  auto const is_wanted = [&](Method const& method) {
    return std::ranges::any_of(options.only, [&](auto const& word) {
      return method.name.find(word) != std::string::npos;
    });
  };
  std::erase_if(methods, [&](Method const& method) { return !is_wanted(method); });
  STRATA_REQUIRE(ValueError, !methods.empty(), "--only: no preconditioner has this in its name; ",
                 "there are ", names);
  return methods;
}

Outcome solve(Options const& options, Method const& method, perf::TrilinosCase const& problem) {
  auto const& A = problem.A;
  MV x_known(A->getDomainMap(), 1), r(A->getRangeMap(), 1);
  for (std::size_t i = 0; i < A->getLocalNumRows(); ++i) {
    auto const local = static_cast<Matrix::local_ordinal_type>(i);
    x_known.replaceLocalValue(local, 0, std::sin(1.0 + A->getRowMap()->getGlobalElement(local)));
  }
  auto const x = Teuchos::rcp(new MV(A->getDomainMap(), 1)),
             b = Teuchos::rcp(new MV(A->getRangeMap(), 1));
  A->apply(x_known, *b);

  A->getComm()->barrier();
  double start = seconds(options);
  auto const M = method.preconditioner(problem);
  double const set_up_seconds = seconds(options) - start;
  auto const linear = Teuchos::rcp(new Belos::LinearProblem<double, MV, OP>(A, x, b));
  if (!M.is_null()) linear->setRightPrec(M);
  linear->setProblem();
  auto const parameters = Teuchos::parameterList();
  parameters->set("Convergence Tolerance", options.tolerance);
  parameters->set("Maximum Iterations", options.max_iterations);
  std::string name = method.is_strata_solver ? trilinos::BelosGmresIr<>::name() : "Block CG";
  if (method.is_strata_solver || options.solver == "GMRES") {
    parameters->set("Num Blocks", options.blocks);
    parameters->set("Maximum Restarts", options.max_iterations / options.blocks);
  }
  if (!method.is_strata_solver && options.solver == "GMRES") {
    name = "Block GMRES";
    parameters->set("Flexible Gmres", !M.is_null());
  }
  auto const solver = Belos::SolverFactory<double, MV, OP>().create(name, parameters);
  solver->setProblem(linear);
  start = seconds(options);
  (void)solver->solve();
  double const solve_seconds = seconds(options) - start;

  A->apply(*x, r);
  r.update(1, *b, -1);
  Teuchos::Array<double> norm(1), norm_b(1);
  r.norm2(norm());
  b->norm2(norm_b());
  return {problem.name,
          method.name,
          static_cast<std::int64_t>(A->getGlobalNumRows()),
          static_cast<std::int64_t>(A->getGlobalNumEntries()),
          solver->getNumIters(),
          norm[0] / norm_b[0],
          set_up_seconds,
          solve_seconds};
}

// The first run, with the least seconds of all repetitions.
Outcome repeated(Options const& options, Method const& method, perf::TrilinosCase const& problem) {
  Outcome least = solve(options, method, problem);
  for (int k = 1; k < options.repeat; ++k) {
    auto const next = solve(options, method, problem);
    least.set_up_seconds = std::min(least.set_up_seconds, next.set_up_seconds);
    least.solve_seconds = std::min(least.solve_seconds, next.solve_seconds);
  }
  return least;
}

void print(Options const& options, Outcome const& o) {
  std::printf("%-20s %-26s %10d %s %14.2e %10.4f %10.4f\n", o.matrix.c_str(), o.method.c_str(),
              o.iterations, o.residual <= options.tolerance ? "  yes" : "   no", o.residual,
              o.set_up_seconds, o.solve_seconds);
}

void write_json(Options const& options, int ranks, std::vector<Outcome> const& outcomes) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (auto const& o : outcomes)
    runs.push_back({{"matrix", o.matrix},
                    {"rows", o.rows},
                    {"entries", o.entries},
                    {"method", o.method},
                    {"iterations", o.iterations},
                    {"solved", o.residual <= options.tolerance},
                    {"relative_residual", o.residual},
                    {"set_up_seconds", o.set_up_seconds},
                    {"solve_seconds", o.solve_seconds}});
  nlohmann::ordered_json const all{{"ranks", ranks},
                                   {"tolerance", options.tolerance},
                                   {"sweeps", options.sweeps},
                                   {"sweep", options.sweep},
                                   {"solver", options.solver},
                                   {"precision", options.precision},
                                   {"repetitions", options.repeat},
                                   {"seconds", options.processor_time ? "processor" : "wall"},
                                   {"runs", runs}};
  std::ofstream file(options.json);
  file << all.dump(2) << "\n";
  STRATA_REQUIRE(IoError, file.flush(), options.json, ": can't be written");
}

// What is promised. Strata solves every case. Multigrid, which makes one symmetric sweep a level,
// takes no more iterations than Ifpack2's sweeps. Where that is asked for, Strata's sweeps alone
// take no more either.
int broken_promises(Options const& options, std::vector<Outcome> const& outcomes) {
  int broken = 0, allowed = std::numeric_limits<int>::max();
  auto const complain = [&](Outcome const& o, char const* what) {
    std::printf("%s, %s: %s\n", o.matrix.c_str(), o.method.c_str(), what);
    ++broken;
  };
  for (auto const& o : outcomes) {
    bool const solved = o.residual <= options.tolerance;
    if (o.method.starts_with("Ifpack2"))
      allowed = solved ? o.iterations : std::numeric_limits<int>::max();
    if (!o.method.starts_with("Strata")) continue;
    if (!solved) complain(o, "not solved to the tolerance");
    bool const compared =
        o.method == "Strata AMG" || (o.method == "Strata Gauss-Seidel" && options.check_sweeps);
    if (compared && o.iterations > allowed) complain(o, "more iterations than Ifpack2's sweeps");
  }
  std::printf("%zu runs, %d promises broken\n", outcomes.size(), broken);
  return broken;
}

int run(Options const& options) {
  auto const comm = Tpetra::getDefaultComm();
  bool const speaks = comm->getRank() == 0;
  trilinos::register_gmres_ir();
  std::vector<perf::TrilinosCase> cases;
  auto const model = from_name<sparse::ModelProblem>(options.model);
  for (auto const points : options.points) cases.push_back(perf::model_case(comm, model, points));
  if (!options.matrices.empty())
    for (auto const& one : perf::cases_in(comm, options.matrices)) cases.push_back(one);
  if (speaks) {
    std::printf("%d ranks; %s to %.1e; %d %s sweeps; Strata's preconditioners in %s\n",
                comm->getSize(), options.solver.c_str(), options.tolerance, options.sweeps,
                options.sweep.c_str(), options.precision.c_str());
    std::printf("%-20s %-26s %10s %s %14s %10s %10s\n", "matrix", "preconditioner", "iterations",
                "solved", "rel. residual", "set-up s", "solve s");
  }
  std::vector<Outcome> outcomes;
  for (auto const& one : cases)
    for (auto const& method : methods_of(options)) {
      outcomes.push_back(repeated(options, method, one));
      if (speaks) print(options, outcomes.back());
    }
  if (speaks && !options.json.empty()) write_json(options, comm->getSize(), outcomes);
  int broken = 0;
  if (speaks && options.check) broken = broken_promises(options, outcomes);
  return broken > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{
      "Belos without a preconditioner, with Ifpack2's multithreaded Gauss-Seidel, with MueLu "
      "and with Strata's"};
  app.add_option("--model", options.model,
                 "poisson7, poisson27, anisotropic, convection, elasticity or graph")
      ->capture_default_str();
  app.add_option("--points", options.points, "the model on N^3 points, for each N")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  app.add_option("--matrices", options.matrices, "a folder with Matrix Market files")
      ->check(CLI::ExistingDirectory);
  app.add_option("--tolerance", options.tolerance, "of the relative residual")
      ->capture_default_str();
  app.add_option("--sweeps", options.sweeps, "of Gauss-Seidel")->check(CLI::Range(1, 100));
  app.add_option("--sweep", options.sweep, "their direction")
      ->check(CLI::IsMember({"forward", "symmetric"}))
      ->capture_default_str();
  app.add_option("--precision", options.precision, "of Strata's preconditioners")
      ->check(CLI::IsMember({"fp64", "fp32", "bf16", "fp16"}))
      ->capture_default_str();
  app.add_option("--colouring", options.colouring, "the order of Strata's sweeps")
      ->check(CLI::IsMember({"auto", "jones-plassmann-luby", "greedy", "levels"}))
      ->capture_default_str();
  app.add_option("--solver", options.solver, "Belos' beside Strata's; CG: for symmetric sweeps")
      ->check(CLI::IsMember({"GMRES", "CG"}))
      ->capture_default_str();
  app.add_option("--only", options.only, "the preconditioners with one of these in their names");
  app.add_option("--repeat", options.repeat, "solve so often; the least seconds count")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--processor-time", options.processor_time,
               "seconds of the processor instead of the wall's");
  app.add_option("--max-iterations", options.max_iterations)->capture_default_str();
  app.add_option("--blocks", options.blocks, "vectors of a basis")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--json", options.json, "write the results to this file");
  app.add_flag("--check", options.check,
               "fail where Strata's solves less than asked, or multigrid takes more iterations "
               "than Ifpack2's sweeps");
  app.add_flag("--check-sweeps", options.check_sweeps,
               "with --check: nor may Strata's Gauss-Seidel take more");
  CLI11_PARSE(app, argc, argv);
  Tpetra::ScopeGuard const scope(&argc, &argv);
  try {
    return run(options);
  } catch (std::exception const& failure) {
    std::cerr << "strata_trilinos_example: " << failure.what() << "\n";
    return 2;
  }
}
