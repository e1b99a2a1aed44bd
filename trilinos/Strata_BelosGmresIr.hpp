// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TRILINOS_BELOS_GMRES_IR_HPP
#define STRATA_TRILINOS_BELOS_GMRES_IR_HPP

#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <trilinos/Strata_RefinedGmres.hpp>
#include <trilinos/Strata_TpetraMatrix.hpp>

#include <BelosCustomSolverFactory.hpp>
#include <BelosLinearProblem.hpp>
#include <BelosSolverFactory_Tpetra.hpp>
#include <BelosSolverManager.hpp>
#include <BelosTpetraAdapter.hpp>
#include <Tpetra_Operator.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace strata::trilinos {

namespace detail {

/// A Tpetra operator as a preconditioner of Strata's.
template <class Exec, class Scalar, class LO, class GO, class Node>
struct OperatorPreconditioner {
  Teuchos::RCP<Tpetra::Operator<double, LO, GO, Node> const> M;
  sparse::DistributedMatrix<Exec> A;
  Teuchos::RCP<TpetraVectors<LO, GO, Node>> R, Z;

  template <class Vec>
  void apply(Exec const& exec, Vec const& r, Vec const& z) const {
    scatter(exec, A, 1, r, 0, *R, 0);
    M->apply(*R, *Z);
    gather(exec, A, *Z, 0, z);
  }
};

}  // namespace detail

/// Strata's GMRES-IR as a solver of Belos', for a problem whose operator is a Tpetra::CrsMatrix.
///
/// `gmres_ir_parameters` lists the parameters. A right preconditioner of the problem, any
/// Tpetra::Operator, is applied inside; without one Strata makes its own. Several right-hand sides
/// are solved one after the other. The matrix is copied at the first `solve` after `setProblem` or
/// `reset(Belos::Problem)`, so that changed values need one of them. The instance is Tpetra's, the
/// node's default one.
template <class LO = Tpetra::Operator<>::local_ordinal_type,
          class GO = Tpetra::Operator<>::global_ordinal_type,
          class Node = Tpetra::Operator<>::node_type>
class BelosGmresIr final : public Belos::SolverManager<double, TpetraVectors<LO, GO, Node>,
                                                       Tpetra::Operator<double, LO, GO, Node>> {
 public:
  /// Belos' word for its vectors.
  using MV = TpetraVectors<LO, GO, Node>;
  /// Belos' word for its operators.
  using OP = Tpetra::Operator<double, LO, GO, Node>;
  /// What it solves.
  using Problem = Belos::LinearProblem<double, MV, OP>;
  /// The execution space in which it works.
  using Exec = typename Node::execution_space;
  /// A list of parameters.
  using List = Teuchos::ParameterList;

  /// The name by which Belos::SolverFactory makes it.
  static std::string name() { return "Strata GMRES-IR"; }

  BelosGmresIr() : parameters_(Teuchos::rcp(new List(gmres_ir_parameters()))) {}

  /// Another solver with the same parameters and no problem.
  Teuchos::RCP<Belos::SolverManager<double, MV, OP>> clone() const override {
    auto const copy = Teuchos::rcp(new BelosGmresIr);
    copy->options_ = options_;
    *copy->parameters_ = *parameters_;
    return copy;
  }

  /// Throws   ValueError if none is set.
  Problem const& getProblem() const override {
    STRATA_REQUIRE(ValueError, !problem_.is_null(), name(), ": no problem is set");
    return *problem_;
  }
  /// Another problem; the matrix is copied at the next `solve`.
  void setProblem(Teuchos::RCP<Problem> const& problem) override {
    problem_ = problem;
    solver_.reset();
  }

  /// Every parameter with its default and what it means.
  Teuchos::RCP<List const> getValidParameters() const override {
    return Teuchos::rcp(new List(gmres_ir_parameters()));
  }
  /// Those that hold.
  Teuchos::RCP<List const> getCurrentParameters() const override { return parameters_; }
  /// What the list lacks stays as it is, and is added to the list; a null list changes nothing.
  ///
  /// Throws   ValueError for a name that is not valid, with the list; a value of another type or
  ///          outside its range. Nothing has changed then.
  void setParameters(Teuchos::RCP<List> const& parameters) override {
    if (parameters.is_null()) return;
    (void)gmres_ir_options(*parameters);  // names, types and ranges, before anything changes
    parameters->setParametersNotAlreadySet(*parameters_);
    options_ = gmres_ir_options(*parameters);
    bool const same_preconditioner = Teuchos::haveSameValues(
        parameters->sublist("Preconditioner"), parameters_->sublist("Preconditioner"));
    parameters_ = Teuchos::rcp(new List(*parameters));
    if (solver_ && same_preconditioner)
      solver_->set_options(options_);
    else
      solver_.reset();
  }

  /// Iterations of the last solve, over all right-hand sides.
  int getNumIters() const override { return static_cast<int>(iterations_); }
  /// The largest residual over its scaling, computed in fp64.
  double achievedTol() const override { return achieved_; }
  /// Whether a right-hand side ended with an estimate within the tolerance and a residual that is
  /// not.
  bool isLOADetected() const override { return loss_of_accuracy_; }

  /// Copies the matrix anew, if `type` has Belos::Problem; other types do nothing.
  void reset(Belos::ResetType const type) override {
    if ((type & Belos::Problem) == 0) return;
    if (!problem_.is_null()) problem_->setProblem();
    solver_.reset();
  }

  /// Solve from the vectors that the problem has. Collective.
  ///
  /// Throws   ValueError if no problem is set, its operator is no Tpetra::CrsMatrix, or it has a
  ///          left preconditioner; also what `make_matrix`, `require_vectors` and `RefinedGmres`
  ///          throw.
  Belos::ReturnType solve() override {
    Exec const exec;
    Region const region(exec, "strata::trilinos::BelosGmresIr::solve");
    auto const A = require_problem();
    if (!solver_) set_up(exec, *A);
    require_vectors(matrix_.comm(), *A->getRowMap(), *problem_->getRHS(), *problem_->getLHS());
    iterations_ = 0;
    achieved_ = 0;
    loss_of_accuracy_ = false;
    bool converged = true;
    for (std::size_t j = 0; j < problem_->getRHS()->getNumVectors(); ++j) {
      gather(exec, matrix_, *problem_->getRHS(), j, b_);
      gather(exec, matrix_, *problem_->getLHS(), j, x_);
      auto const report = solver_->solve(exec, b_, x_);
      scatter(exec, matrix_, 1, x_, 0, *problem_->getLHS(), j);
      converged = converged && report.converged;
      iterations_ += report.iterations;
      achieved_ =
          report.residual > achieved_ || std::isnan(report.residual) ? report.residual : achieved_;
      loss_of_accuracy_ = loss_of_accuracy_ || report.loss_of_accuracy;
    }
    return converged ? Belos::Converged : Belos::Unconverged;
  }

  /// The name of the solver.
  std::string description() const override { return name(); }

 private:
  Teuchos::RCP<TpetraMatrix<LO, GO, Node> const> require_problem() const {
    STRATA_REQUIRE(ValueError, !problem_.is_null(), name(), ": no problem is set");
    STRATA_REQUIRE(ValueError, problem_->isProblemSet(), name(),
                   ": call the problem's setProblem() first");
    STRATA_REQUIRE(ValueError, !problem_->isLeftPrec(), name(),
                   ": a left preconditioner is not supported; give it to setRightPrec()");
    auto const A =
        Teuchos::rcp_dynamic_cast<TpetraMatrix<LO, GO, Node> const>(problem_->getOperator());
    STRATA_REQUIRE(ValueError, !A.is_null(), name(),
                   ": the operator must be a Tpetra::CrsMatrix, it is ",
                   problem_->getOperator()->description());
    return A;
  }

  void set_up(Exec const& exec, TpetraMatrix<LO, GO, Node> const& A) {
    matrix_ = make_matrix(exec, A, matrix_options(exec, options_.preconditioner));
    matrix_.comm().agree([&] {
      b_ = matrix_.template allocate<double>(exec, "strata::trilinos::BelosGmresIr::b");
      x_ = matrix_.template allocate<double>(exec, "strata::trilinos::BelosGmresIr::x");
    });
    std::optional<PreconditionerPair<Exec>> given;
    if (auto const M = problem_->getRightPrec(); !M.is_null()) {
      auto const R = Teuchos::rcp(new MV(A.getRowMap(), 1)),
                 Z = Teuchos::rcp(new MV(A.getRowMap(), 1));
      given.emplace();
      given->wide = detail::OperatorPreconditioner<Exec, double, LO, GO, Node>{M, matrix_, R, Z};
      given->narrow = detail::OperatorPreconditioner<Exec, float, LO, GO, Node>{M, matrix_, R, Z};
    }
    solver_.emplace(exec, matrix_, options_, given);
  }

  Teuchos::RCP<List> parameters_;
  GmresIrOptions options_ = gmres_ir_options(gmres_ir_parameters());
  Teuchos::RCP<Problem> problem_;
  sparse::DistributedMatrix<Exec> matrix_;
  std::optional<RefinedGmres<Exec>> solver_;
  sparse::Vector<double, typename Exec::memory_space> b_, x_;
  std::int64_t iterations_ = 0;
  double achieved_ = 0;
  bool loss_of_accuracy_ = false;
};

/// Belos::SolverFactory makes a BelosGmresIr by its name, in any case of letters, once this was
/// given to addFactory.
template <class LO = Tpetra::Operator<>::local_ordinal_type,
          class GO = Tpetra::Operator<>::global_ordinal_type,
          class Node = Tpetra::Operator<>::node_type>
class BelosGmresIrFactory final
    : public Belos::CustomSolverFactory<double, TpetraVectors<LO, GO, Node>,
                                        Tpetra::Operator<double, LO, GO, Node>> {
 public:
  /// What it makes.
  using Solver = BelosGmresIr<LO, GO, Node>;

  /// A solver with these parameters; null for another name.
  Teuchos::RCP<Belos::SolverManager<double, typename Solver::MV, typename Solver::OP>> getSolver(
      std::string const& name, Teuchos::RCP<Teuchos::ParameterList> const& parameters) override {
    if (!isSupported(name)) return Teuchos::null;
    auto const solver = Teuchos::rcp(new Solver);
    solver->setParameters(parameters);
    return solver;
  }
  /// One.
  int numSupportedSolvers() const override { return 1; }
  /// The name of the solver.
  std::vector<std::string> supportedSolverNames() const override { return {Solver::name()}; }
  /// Whether it is that name, in any case of letters.
  bool isSupported(std::string const& name) const override {
    auto const upper = [](std::string text) {
      for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      return text;
    };
    return upper(name) == upper(Solver::name());
  }
};

/// Make "Strata GMRES-IR" known to every Belos::SolverFactory of these types; the first call
/// counts.
template <class LO = Tpetra::Operator<>::local_ordinal_type,
          class GO = Tpetra::Operator<>::global_ordinal_type,
          class Node = Tpetra::Operator<>::node_type>
void register_gmres_ir() {
  using Solver = BelosGmresIr<LO, GO, Node>;
  Belos::SolverFactory<double, typename Solver::MV, typename Solver::OP> factory;
  auto const names = factory.supportedSolverNames();
  if (std::find(names.begin(), names.end(), Solver::name()) == names.end())
    factory.addFactory(Teuchos::rcp(new BelosGmresIrFactory<LO, GO, Node>));
}

}  // namespace strata::trilinos

#endif
