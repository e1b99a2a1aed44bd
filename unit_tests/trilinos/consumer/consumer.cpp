// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <trilinos/Strata_BelosGmresIr.hpp>

#include <Tpetra_Core.hpp>

int main(int argc, char** argv) {
  Tpetra::ScopeGuard const scope(&argc, &argv);
  strata::trilinos::register_gmres_ir();
  using Solver = strata::trilinos::BelosGmresIr<>;
  Belos::SolverFactory<double, Solver::MV, Solver::OP> factory;
  return factory.create("Strata GMRES-IR", Teuchos::parameterList())->getNumIters();
}
