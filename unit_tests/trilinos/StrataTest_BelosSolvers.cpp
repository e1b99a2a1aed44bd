// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Tpetra.hpp"
#include <trilinos/Strata_BelosGmresIr.hpp>
#include <trilinos/Strata_TpetraPreconditioner.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

// setRightPrec(M) for every solver of Belos' with its own default tolerance: what it calls
// converged is.

namespace {

using namespace strata;
using namespace strata::test;
using Factory = Belos::SolverFactory<double, MultiVector, Operator>;
using Linear = Belos::LinearProblem<double, MultiVector, Operator>;
using Preconditioner = trilinos::TpetraPreconditioner<>;

constexpr double tolerance = 1e-8;  // the default of Belos' solvers
constexpr std::int64_t points = 24;

/// The Laplacian of a square of points^2, with diagonal entries from 4 to 8.
RowList square() {
  RowList rows(points * points);
  for (std::int64_t y = 0; y < points; ++y)
    for (std::int64_t x = 0; x < points; ++x) {
      auto const at = y * points + x;
      auto& row = rows[static_cast<std::size_t>(at)];
      if (y > 0) row.emplace_back(at - points, -1.0);
      if (x > 0) row.emplace_back(at - 1, -1.0);
      row.emplace_back(at, 4.0 + (x == 0 && y % 5 == 0 ? 4.0 : 0.0));
      if (x + 1 < points) row.emplace_back(at + 1, -1.0);
      if (y + 1 < points) row.emplace_back(at + points, -1.0);
    }
  return rows;
}

struct Problem {
  RCP<Map const> map = make_map(world(), Layout::Contiguous, points* points);
  RCP<Matrix> A = make_tpetra(map, Layout::Contiguous, square());
  RCP<MultiVector> X = rcp(new MultiVector(map, 1)), B = rcp(new MultiVector(map, 1));
  RCP<Linear> linear = rcp(new Linear(A, X, B));

  explicit Problem(RCP<Operator const> const& M) {
    A->apply(*vectors_on(map, 1), *B);
    linear->setRightPrec(M);
    linear->setProblem();
  }
};

/// The solver of this name, or null where the factory names one that this Trilinos was built
/// without.
RCP<Belos::SolverManager<double, MultiVector, Operator>> make(Factory& factory,
                                                              std::string const& name) {
  try {
    return factory.create(name, Teuchos::parameterList());
  } catch (std::invalid_argument const& error) {
    if (std::string(error.what()).find("has not been registered") == std::string::npos) throw;
    return Teuchos::null;
  }
}

bool is_one_of(std::string const& name, std::vector<std::string> const& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

RCP<Preconditioner> preconditioner(std::string const& type, std::string const& precision) {
  Teuchos::ParameterList list;
  list.set("Type", type);
  if (!precision.empty()) list.set("Precision", precision);
  return rcp(new Preconditioner(Exec(), *Problem(Teuchos::null).A, list));
}

/// What MINRES calls converged, which measures in a norm of the preconditioner's: its residual with
/// one in fp64, and a hundredth for what bf16 changes of the norm.
double minres_limit(std::string const& type) {
  Problem const problem(preconditioner(type, "fp64"));
  Factory factory;
  auto const solver = make(factory, "MINRES");
  solver->setProblem(problem.linear);
  EXPECT_EQ(solver->solve(), Belos::Converged);
  double const residual = relative_residual(*problem.A, *problem.X, *problem.B);
  EXPECT_LE(residual, 2 * tolerance);
  return std::max(tolerance, 1.01 * residual);
}

/// Solve by each solver of the factory's with a preconditioner of this type and precision.
void solve_by_all(std::string const& type, std::string const& precision) {
  auto const M = preconditioner(type, precision);
  trilinos::register_gmres_ir();
  Factory factory;
  int solved = 0;
  for (auto const& name : factory.supportedSolverNames()) {
    SCOPED_TRACE(name + " with " + type + " in " + (precision.empty() ? "the default" : precision));
    auto const solver = make(factory, name);
    if (solver.is_null()) continue;
    Problem const problem(M);
    if (is_one_of(name, {"GMRESPOLY", "HYBRID BLOCK GMRES", "SEED GMRES"})) {
      // Without a solver of its own it applies its polynomial once and looks at no residual.
      auto const outer = Teuchos::parameterList();
      outer->set("Outer Solver", std::string("PSEUDOBLOCK GMRES"));
      solver->setParameters(outer);
    }
    solver->setProblem(problem.linear);
    if (name == "LSQR") {
      EXPECT_TRUE(throws_with<ValueError>("no transpose", [&] { (void)solver->solve(); }));
      continue;
    }
    auto const result = solver->solve();
    double const residual = relative_residual(*problem.A, *problem.X, *problem.B),
                 limit = name == "MINRES" ? minres_limit(type) : tolerance;
    if (world()->getRank() == 0)
      std::cout << name << ": " << solver->getNumIters() << " iterations, " << residual << "\n";
    EXPECT_EQ(result, Belos::Converged) << residual;
    EXPECT_FALSE(solver->isLOADetected());
    EXPECT_LE(residual, 1.001 * limit) << solver->getNumIters() << " iterations";
    ++solved;
  }
  EXPECT_GE(solved, 10);
}

TEST(BelosSolvers, ReachTheirDefaultToleranceWithTheDefaultPrecision) { solve_by_all("amg", ""); }
TEST(BelosSolvers, ReachTheirDefaultToleranceWithAnyPrecision) {
  for (char const* precision : {"fp64", "bf16"}) solve_by_all("amg", precision);
}
TEST(BelosSolvers, ReachTheirDefaultToleranceWithGaussSeidel) { solve_by_all("gs", "fp32"); }

}  // namespace
