// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// An application with Tpetra's matrices and Belos' solvers takes Strata's preconditioner, algebraic
// multigrid in fp32, as a Tpetra::Operator. The rest is as it would be with any other.
#include <trilinos/Strata_TpetraPreconditioner.hpp>

#include <BelosSolverFactory_Tpetra.hpp>
#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>

#include <algorithm>
#include <iostream>

using Matrix = Tpetra::CrsMatrix<double>;
using Vectors = Tpetra::MultiVector<double>;
using Operator = Tpetra::Operator<double>;
using Exec = Matrix::node_type::execution_space;
using Teuchos::rcp;

Teuchos::RCP<Matrix const> heated_rod(Teuchos::RCP<Teuchos::Comm<int> const> const& comm, int n) {
  using Index = Matrix::global_ordinal_type;
  auto const map = rcp(new Tpetra::Map<>(n, 0, comm));
  auto const A = rcp(new Matrix(map, 3));
  for (Index i = map->getMinGlobalIndex(); i <= map->getMaxGlobalIndex(); ++i) {
    for (Index j = std::max<Index>(i - 1, 0); j <= std::min<Index>(i + 1, n - 1); ++j)
      A->insertGlobalValues(i, Teuchos::tuple(j), Teuchos::tuple(i == j ? 2.0 : -1.0));
  }
  A->fillComplete();
  return A;
}

int main(int argc, char** argv) {
  Tpetra::ScopeGuard const scope(&argc, &argv);  // MPI and Kokkos
  auto const comm = Tpetra::getDefaultComm();
  auto const A = heated_rod(comm, 3000);

  // b = A ones, and from x = 0 back to the ones.
  auto const x = rcp(new Vectors(A->getDomainMap(), 1)), b = rcp(new Vectors(A->getRangeMap(), 1));
  Vectors error(A->getDomainMap(), 1);
  error.putScalar(1);
  A->apply(error, *b);
  Teuchos::ParameterList options;
  options.set("Type", "amg").set("Precision", "fp32");
  auto const M = rcp(new strata::trilinos::TpetraPreconditioner<>(Exec(), *A, options));
  auto const problem = rcp(new Belos::LinearProblem<double, Vectors, Operator>(A, x, b));
  problem->setRightPrec(M);
  problem->setProblem();

  auto const parameters = Teuchos::parameterList();
  parameters->set("Convergence Tolerance", 1e-10);
  auto const solver =
      Belos::SolverFactory<double, Vectors, Operator>().create("Block CG", parameters);
  solver->setProblem(problem);
  bool const converged = solver->solve() == Belos::Converged;
  error.update(1, *x, -1);
  double const largest = error.getVector(0)->normInf();
  if (comm->getRank() == 0)
    std::cout << solver->getNumIters() << " iterations, largest error " << largest << '\n';
  return converged && largest < 1e-6 ? 0 : 1;
}
