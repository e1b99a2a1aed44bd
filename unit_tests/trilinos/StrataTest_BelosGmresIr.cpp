// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Tpetra.hpp"
#include <trilinos/Strata_BelosGmresIr.hpp>
#include <trilinos/Strata_TpetraPreconditioner.hpp>

#include <sstream>

// "Strata GMRES-IR" as Belos' users meet it: by name, with a list, on a LinearProblem.

namespace {

using namespace strata;
using namespace strata::test;
using Factory = Belos::SolverFactory<double, MultiVector, Operator>;
using Linear = Belos::LinearProblem<double, MultiVector, Operator>;
using Solver = trilinos::BelosGmresIr<>;
using Teuchos::ParameterList;

struct Problem {
  static constexpr std::int64_t n = 400;
  RCP<Map const> map = make_map(world(), Layout::Cyclic, n);
  RCP<Matrix> A;
  RCP<MultiVector> X, B;
  RCP<Linear> linear;

  explicit Problem(std::size_t count = 1, double shift = 0.1)
      : A(make_tpetra(map, Layout::Cyclic, tridiagonal(n, shift))),
        X(rcp(new MultiVector(map, count))),
        B(rcp(new MultiVector(map, count))),
        linear(rcp(new Linear(A, X, B))) {
    A->apply(*vectors_on(map, count), *B);
    linear->setProblem();
  }
};

RCP<ParameterList> list_of(double tolerance, std::string const& type = "auto") {
  auto const list = Teuchos::parameterList();
  list->set("Convergence Tolerance", tolerance);
  list->sublist("Preconditioner").set("Type", type);
  return list;
}

RCP<Belos::SolverManager<double, MultiVector, Operator>> make(RCP<ParameterList> const& list) {
  trilinos::register_gmres_ir();
  return Factory().create("Strata GMRES-IR", list);
}

TEST(BelosGmresIr, IsMadeByNameAndSolvesSeveralRightHandSides) {
  Problem const problem(3);
  auto const list = list_of(1e-12);
  auto const solver = make(list);
  EXPECT_TRUE(Factory().isSupported("Strata GMRES-IR"));
  EXPECT_EQ(Factory().create("strata gmres-ir", Teuchos::null)->description(), "Strata GMRES-IR");
  EXPECT_EQ(list->get<int>("Num Blocks"), 300);  // defaults are filled in, as Belos' solvers do
  solver->setProblem(problem.linear);
  EXPECT_EQ(solver->solve(), Belos::Converged);
  EXPECT_LE(relative_residual(*problem.A, *problem.X, *problem.B), 1.0001e-12);
  EXPECT_LE(solver->achievedTol(), 1e-12);
  EXPECT_GT(solver->achievedTol(), 0);
  EXPECT_GE(solver->getNumIters(), 3);
  EXPECT_FALSE(solver->isLOADetected());
  EXPECT_EQ(&solver->getProblem(), problem.linear.get());
}

TEST(BelosGmresIr, RegistersOnce) {
  trilinos::register_gmres_ir();
  trilinos::register_gmres_ir();
  auto const names = Factory().supportedSolverNames();
  EXPECT_EQ(std::count(names.begin(), names.end(), "Strata GMRES-IR"), 1);
}

TEST(BelosGmresIr, HasBelosDefaults) {
  auto const valid = Solver().getValidParameters();
  EXPECT_EQ(valid->get<double>("Convergence Tolerance"), 1e-8);
  EXPECT_EQ(valid->get<int>("Maximum Iterations"), 1000);
  EXPECT_EQ(valid->get<int>("Num Blocks"), 300);
  EXPECT_EQ(valid->get<int>("Maximum Restarts"), 20);
  EXPECT_EQ(valid->get<int>("Verbosity"), 0);
  EXPECT_EQ(valid->get<int>("Output Frequency"), -1);
  EXPECT_EQ(valid->get<std::string>("Explicit Residual Scaling"), "Norm of Initial Residual");
  for (auto const& entry : *valid)
    EXPECT_TRUE(entry.second.isList() || !entry.second.docString().empty()) << entry.first;
}

TEST(BelosGmresIr, RefusesUnknownNamesWithTheValidOnes) {
  auto const solver = make(list_of(1e-6));
  auto const wrong = list_of(1e-3);
  wrong->set("Num Blokcs", 30);
  EXPECT_TRUE(throws_with<ValueError>(
      "Strata GMRES-IR: no parameter is called 'Num Blokcs', only Convergence Tolerance, Maximum "
      "Iterations, Num Blocks, Maximum Restarts, Explicit Residual Scaling, Verbosity, Output "
      "Frequency, Output Stream, Preconditioner",
      [&] { solver->setParameters(wrong); }));
  EXPECT_EQ(solver->getCurrentParameters()->get<double>("Convergence Tolerance"), 1e-6);
  auto const refuses = [&](std::string const& words, std::string const& name, auto value) {
    auto const list = Teuchos::parameterList();
    list->set(name, value);
    EXPECT_TRUE(throws_with<ValueError>(words, [&] { solver->setParameters(list); }));
  };
  refuses("'Num Blocks' is 0, must be at least 1", "Num Blocks", 0);
  refuses("'Num Blocks' is of type double, must be int", "Num Blocks", 3.0);
  refuses("'Convergence Tolerance' is -1", "Convergence Tolerance", -1.0);
  refuses("'Maximum Restarts' is -2", "Maximum Restarts", -2);
  refuses("must be one of Norm of Initial Residual, Norm of RHS, None", "Explicit Residual Scaling",
          std::string("Norm"));
  refuses("'Preconditioner' must be a list", "Preconditioner", std::string("amg"));
  auto const inner = list_of(1e-3, "amg");
  inner->sublist("Preconditioner").set("Sweep", 1);
  EXPECT_TRUE(throws_with<ValueError>("Strata preconditioner: no parameter is called 'Sweep'",
                                      [&] { solver->setParameters(inner); }));
}

TEST(BelosGmresIr, SaysWhichProblemsItCannotSolve) {
  Problem const problem;
  auto const solver = make(list_of(1e-8));
  EXPECT_TRUE(throws_with<ValueError>("no problem is set", [&] { (void)solver->solve(); }));
  auto const unset = rcp(new Linear(problem.A, problem.X, problem.B));
  solver->setProblem(unset);
  EXPECT_TRUE(throws_with<ValueError>("call the problem's setProblem() first",
                                      [&] { (void)solver->solve(); }));
  auto const M = rcp(new trilinos::TpetraPreconditioner<>(Exec(), *problem.A));
  problem.linear->setLeftPrec(M);
  solver->setProblem(problem.linear);
  EXPECT_TRUE(throws_with<ValueError>("give it to setRightPrec()", [&] { (void)solver->solve(); }));
  auto const other = rcp(new Linear(M, problem.X, problem.B));
  other->setProblem();
  solver->setProblem(other);
  EXPECT_TRUE(throws_with<ValueError>("the operator must be a Tpetra::CrsMatrix",
                                      [&] { (void)solver->solve(); }));
}

TEST(BelosGmresIr, TellsTheLimitFromLossOfAccuracy) {
  Problem const problem(1, 1e-4);
  auto const limited = list_of(1e-10, "none");
  limited->set("Maximum Iterations", 7);
  auto const solver = make(limited);
  solver->setProblem(problem.linear);
  EXPECT_EQ(solver->solve(), Belos::Unconverged);
  EXPECT_EQ(solver->getNumIters(), 7);
  EXPECT_FALSE(solver->isLOADetected());
  EXPECT_NEAR(solver->achievedTol(), relative_residual(*problem.A, *problem.X, *problem.B), 1e-10);

  auto const blocks = list_of(1e-10, "none");
  blocks->set("Num Blocks", 3).set("Maximum Restarts", 1);
  problem.X->putScalar(0);
  auto const restarted = make(blocks);
  restarted->setProblem(problem.linear);
  EXPECT_EQ(restarted->solve(), Belos::Unconverged);
  EXPECT_EQ(restarted->getNumIters(), 6);

  problem.X->putScalar(0);
  auto const hopeless = make(list_of(1e-25));  // no fp64 residual is so small
  hopeless->setProblem(problem.linear);
  EXPECT_EQ(hopeless->solve(), Belos::Unconverged);
  EXPECT_TRUE(hopeless->isLOADetected());
  EXPECT_LT(hopeless->achievedTol(), 1e-10);
}

TEST(BelosGmresIr, ScalesResidualsAsAsked) {
  for (std::string const scaling : {"Norm of Initial Residual", "Norm of RHS", "None"}) {
    Problem const problem;
    problem.X->putScalar(1e6);  // a bad start: its residual is far larger than b
    MultiVector R(*problem.B, Teuchos::Copy);
    problem.A->apply(*problem.X, R, Teuchos::NO_TRANS, -1, 1);
    double const norm_r0 = R.getVector(0)->norm2(), norm_b = problem.B->getVector(0)->norm2();
    auto const list = list_of(1e-6);
    list->set("Explicit Residual Scaling", scaling);
    auto const solver = make(list);
    solver->setProblem(problem.linear);
    EXPECT_EQ(solver->solve(), Belos::Converged) << scaling;
    double const residual = relative_residual(*problem.A, *problem.X, *problem.B) * norm_b;
    double const scale = scaling == "None" ? 1 : scaling == "Norm of RHS" ? norm_b : norm_r0;
    EXPECT_LE(residual, 1.01e-6 * scale) << scaling;
    EXPECT_NEAR(solver->achievedTol(), residual / scale, 1e-8) << scaling;
  }
}

TEST(BelosGmresIr, ZeroAndSolvedSystemsTakeNoIterations) {
  Problem const problem;
  problem.B->putScalar(0);
  auto const solver = make(list_of(1e-8));
  solver->setProblem(problem.linear);
  EXPECT_EQ(solver->solve(), Belos::Converged);
  EXPECT_EQ(solver->getNumIters(), 0);
  EXPECT_EQ(solver->achievedTol(), 0);
  problem.X->putScalar(1);  // b = 0 from elsewhere
  EXPECT_EQ(solver->solve(), Belos::Converged);
  EXPECT_EQ(solver->getNumIters(), 0);
  EXPECT_EQ(problem.X->getVector(0)->normInf(), 0);
  problem.B->putScalar(std::nan(""));
  EXPECT_TRUE(throws_with<ValueError>("must be finite", [&] { (void)solver->solve(); }));
}

/// The diagonal's inverse, counting its applications.
struct CountingJacobi final : Operator {
  RCP<Matrix const> A;
  mutable int count = 0;

  explicit CountingJacobi(RCP<Matrix const> const& matrix) : A(matrix) {}
  RCP<Map const> getDomainMap() const override { return A->getRowMap(); }
  RCP<Map const> getRangeMap() const override { return A->getRowMap(); }
  void apply(MultiVector const& X, MultiVector& Y, Teuchos::ETransp, double alpha,
             double beta) const override {
    ++count;
    Y.update(alpha / 2.1, X, beta);
  }
};

TEST(BelosGmresIr, AppliesTheProblemsRightPreconditioner) {
  Problem const problem;
  auto const M = rcp(new CountingJacobi(problem.A));
  problem.linear->setRightPrec(M);
  for (char const* precision : {"fp32", "fp64"}) {
    M->count = 0;
    problem.X->putScalar(0);
    auto const list = list_of(1e-10);
    list->sublist("Preconditioner").set("Precision", precision);
    auto const solver = make(list);
    solver->setProblem(problem.linear);
    EXPECT_EQ(solver->solve(), Belos::Converged);
    EXPECT_GT(M->count, solver->getNumIters());  // once an iteration, once a cycle
    EXPECT_LE(relative_residual(*problem.A, *problem.X, *problem.B), 1.0001e-10);
  }
}

TEST(BelosGmresIr, GoesOnInHigherPrecisionWhereALowerOneStalls) {
  Problem const problem(1, 1e-7);
  for (char const* precision : {"fp64", "fp32", "bf16", "fp16"}) {
    problem.X->putScalar(0);
    auto const list = list_of(1e-12, "amg");
    list->sublist("Preconditioner").set("Precision", precision);
    auto const solver = make(list);
    solver->setProblem(problem.linear);
    EXPECT_EQ(solver->solve(), Belos::Converged) << precision;
    EXPECT_LE(relative_residual(*problem.A, *problem.X, *problem.B), 1.0001e-12) << precision;
  }
}

// What a cycle in fp32 estimates beyond 128 unit roundoffs of fp32 is not so: it would only add
// iterations.
TEST(BelosGmresIr, EndsACycleInFp32WhereItsVectorsHaveNoMoreDigits) {
  Problem const problem(1, 0.01);
  int iterations[2] = {};
  for (int const wide : {0, 1}) {
    problem.X->putScalar(0);
    auto const list = list_of(1e-10, "jacobi");
    list->sublist("Preconditioner").set("Precision", wide == 1 ? "fp64" : "fp32");
    auto const solver = make(list);
    solver->setProblem(problem.linear);
    EXPECT_EQ(solver->solve(), Belos::Converged);
    iterations[wide] = solver->getNumIters();
  }
  EXPECT_GE(iterations[1], 50);
  EXPECT_LE(10 * iterations[0], 11 * iterations[1]) << iterations[0] << " and " << iterations[1];
}

TEST(BelosGmresIr, SeesNewValuesAfterAReset) {
  Problem const problem;
  auto const solver = make(list_of(1e-10));
  solver->setProblem(problem.linear);
  EXPECT_EQ(solver->solve(), Belos::Converged);
  problem.A->resumeFill();
  problem.A->scale(4);
  problem.A->fillComplete();
  problem.X->putScalar(0);
  solver->reset(Belos::Problem);
  EXPECT_EQ(solver->solve(), Belos::Converged);
  EXPECT_LE(relative_residual(*problem.A, *problem.X, *problem.B), 1.0001e-10);
  auto const tighter = Teuchos::parameterList();
  tighter->set("Convergence Tolerance", 1e-13);
  solver->setParameters(tighter);  // with the same preconditioner
  problem.X->putScalar(0);
  EXPECT_EQ(solver->solve(), Belos::Converged);
  EXPECT_LE(relative_residual(*problem.A, *problem.X, *problem.B), 1.0001e-13);
}

TEST(BelosGmresIr, CloneHasTheParametersAndNoProblem) {
  Problem const problem;
  auto const solver = make(list_of(1e-3));
  solver->setProblem(problem.linear);
  auto const copy = solver->clone();
  EXPECT_EQ(copy->getCurrentParameters()->get<double>("Convergence Tolerance"), 1e-3);
  EXPECT_TRUE(throws_with<ValueError>("no problem is set", [&] { (void)copy->getProblem(); }));
  EXPECT_EQ(solver->solve(), Belos::Converged);
}

TEST(BelosGmresIr, PrintsWhatItIsAskedOnRankZeroAlone) {
  Problem const problem;
  auto const text = rcp(new std::ostringstream);
  auto const list = list_of(1e-8, "jacobi");
  list->set("Output Stream", RCP<std::ostream>(text));
  auto solver = make(list);
  solver->setProblem(problem.linear);
  (void)solver->solve();
  EXPECT_EQ(text->str(), "");
  list->set("Verbosity", Belos::FinalSummary + Belos::StatusTestDetails);
  list->set("Output Frequency", 5);
  solver->setParameters(list);
  problem.X->putScalar(0);
  (void)solver->solve();
  bool const speaks = problem.map->getComm()->getRank() == 0;
  EXPECT_EQ(text->str().find("iteration 5: estimated residual / scaling = ") != std::string::npos,
            speaks);
  EXPECT_EQ(text->str().find("Strata GMRES-IR: converged after") != std::string::npos, speaks);
  EXPECT_EQ(text->str().find("iteration 6"), std::string::npos);
  auto const message = Teuchos::parameterList();
  message->set("Verbosity", Belos::Warnings);  // Belos' own type
  EXPECT_NO_THROW(solver->setParameters(message));
}

}  // namespace
