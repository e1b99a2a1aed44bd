// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Tpetra.hpp"
#include <trilinos/Strata_TpetraPreconditioner.hpp>

// Strata's preconditioners as Tpetra operators: against loops on the host, and Tpetra's rules of
// apply.

namespace {

using namespace strata;
using namespace strata::test;
using trilinos::PreconditionerOptions;
using Preconditioner = trilinos::TpetraPreconditioner<>;
using sparse::PreconditionerKind;
using sparse::Sweep;

constexpr std::int64_t n = 37;

struct Problem {
  RCP<Map const> map = make_map(world(), Layout::Contiguous, n);
  RowList rows = listed(n, RandomRows{n, 9});
  RCP<Matrix> A = make_tpetra(map, Layout::Contiguous, rows);
  RCP<MultiVector> X = vectors_on(map, 2), Y = rcp(new MultiVector(map, 2));

  Preconditioner make(PreconditionerOptions const& options) const {
    return Preconditioner(Exec(), *A, options);
  }
};

PreconditionerOptions sweeps(Sweep sweep, Precision precision) {
  PreconditionerOptions options;
  options.kind = PreconditionerKind::GaussSeidel;
  options.sweep = sweep;
  options.precision = precision;
  options.colouring = sparse::ColouringMethod::Levels;  // the order of the rows
  return options;
}

/// One forward sweep from zero over this rank's rows in their order; other ranks count as zero.
RCP<MultiVector> swept(Problem const& problem) {
  auto const Z = rcp(new MultiVector(problem.map, 2));
  for (std::size_t v = 0; v < 2; ++v) {
    auto const r = problem.X->getData(v);
    std::vector<double> z(static_cast<std::size_t>(r.size()));
    for (std::size_t i = 0; i < z.size(); ++i) {
      auto const row = problem.map->getGlobalElement(static_cast<Local>(i));
      double sum = r[static_cast<Local>(i)], diagonal = 0;
      for (auto const& [column, value] : problem.rows[static_cast<std::size_t>(row)]) {
        auto const local = problem.map->getLocalElement(static_cast<Global>(column));
        if (column == row)
          diagonal += value;
        else if (local != Teuchos::OrdinalTraits<Local>::invalid())
          sum -= value * z[static_cast<std::size_t>(local)];
      }
      z[i] = sum / diagonal;
      Z->replaceLocalValue(static_cast<Local>(i), v, z[i]);
    }
  }
  return Z;
}

TEST(TpetraPreconditioner, SweepsAsALoopOverTheRowsDoes) {
  Problem const problem;
  auto const expected = swept(problem);
  problem.make(sweeps(Sweep::Forward, Precision::fp64)).apply(*problem.X, *problem.Y);
  EXPECT_LT(distance(*problem.Y, *expected), 1e-13);
  problem.make(sweeps(Sweep::Forward, Precision::fp32)).apply(*problem.X, *problem.Y);
  EXPECT_LT(distance(*problem.Y, *expected), 1e-5);
  EXPECT_GT(distance(*problem.Y, *expected), 0);  // it did round
}

TEST(TpetraPreconditioner, FollowsTpetrasRulesOfApply) {
  Problem const problem;
  auto const M = problem.make(sweeps(Sweep::Forward, Precision::fp64));
  auto const expected = swept(problem);
  auto const Y = vectors_on(problem.map, 2);
  Y->scale(-1);
  expected->update(0.25, *Y, 3);
  M.apply(*problem.X, *Y, Teuchos::NO_TRANS, 3, 0.25);
  EXPECT_LT(distance(*Y, *expected), 1e-12);
  Y->putScalar(std::nan(""));
  M.apply(*problem.X, *Y);
  EXPECT_LT(distance(*Y, *swept(problem)), 1e-13);
  auto const in_place = rcp(new MultiVector(*problem.X, Teuchos::Copy));
  M.apply(*in_place, *in_place);
  EXPECT_LT(distance(*in_place, *swept(problem)), 1e-13);
  EXPECT_TRUE(M.getDomainMap()->isSameAs(*problem.map));
  EXPECT_TRUE(M.getRangeMap()->isSameAs(*problem.map));
  EXPECT_FALSE(M.hasTransposeApply());
  EXPECT_TRUE(throws_with<ValueError>("no transpose",
                                      [&] { M.apply(*problem.X, *problem.Y, Teuchos::TRANS); }));
  MultiVector one(problem.map, 1);
  EXPECT_TRUE(
      throws_with<ShapeError>("X has 2 vectors, Y has 1", [&] { M.apply(*problem.X, one); }));
}

TEST(TpetraPreconditioner, JacobiDividesByTheDiagonalAndNoneDoesNothing) {
  Problem const problem;
  Tpetra::Vector<double> diagonal(problem.map);
  problem.A->getLocalDiagCopy(diagonal);
  MultiVector expected(problem.map, 2);
  diagonal.reciprocal(diagonal);
  expected.elementWiseMultiply(1, diagonal, *problem.X, 0);
  PreconditionerOptions options;
  options.kind = PreconditionerKind::Jacobi;
  options.precision = Precision::fp64;
  problem.make(options).apply(*problem.X, *problem.Y);
  EXPECT_LT(distance(*problem.Y, expected), 1e-14);
  options.kind = PreconditionerKind::None;
  problem.make(options).apply(*problem.X, *problem.Y);
  EXPECT_EQ(distance(*problem.Y, *problem.X), 0);
}

TEST(TpetraPreconditioner, AmgReducesTheErrorInEveryPrecision) {
  constexpr std::int64_t rows = 2000;
  auto const map = make_map(world(), Layout::Cyclic, rows);
  auto const A = make_tpetra(map, Layout::Cyclic, tridiagonal(rows, 1e-3));
  auto const known = vectors_on(map, 1);
  MultiVector b(map, 1), x(map, 1), r(map, 1);
  A->apply(*known, b);
  for (char const* precision : {"fp64", "fp32", "bf16", "fp16"}) {
    Teuchos::ParameterList parameters;
    parameters.set("Type", "amg").set("Precision", precision);
    Preconditioner const M(Exec(), *A, parameters);
    x.putScalar(0);
    for (int step = 0; step < 30; ++step) {  // x += M^-1 (b - A x)
      r.update(1, b, 0);
      A->apply(x, r, Teuchos::NO_TRANS, -1, 1);
      M.apply(r, x, Teuchos::NO_TRANS, 1, 1);
    }
    EXPECT_LT(relative_residual(*A, x, b), 1e-2) << precision;
  }
}

TEST(TpetraPreconditioner, RefusesParametersThatMeanNothing) {
  Problem const problem;
  auto const make = [&](Teuchos::ParameterList const& parameters) {
    Preconditioner const M(Exec(), *problem.A, parameters);
  };
  Teuchos::ParameterList wrong;
  wrong.set("Sweps", 2);
  EXPECT_TRUE(throws_with<ValueError>(
      "no parameter is called 'Sweps', only Type, Precision, Sweeps, Sweep Direction, Colouring, "
      "Strength, Coarse Rows, Block Size",
      [&] { make(wrong); }));
  auto const with = [&](std::string const& name, auto value) {
    Teuchos::ParameterList list;
    list.set(name, value);
    return list;
  };
  EXPECT_TRUE(
      throws_with<ValueError>("'Sweeps' is of type double", [&] { make(with("Sweeps", 2.0)); }));
  EXPECT_TRUE(throws_with<ValueError>("'Sweeps' is 0, must be at least 1",
                                      [&] { make(with("Sweeps", 0)); }));
  EXPECT_TRUE(throws_with<ValueError>("must be one of fp64, fp32, bf16, fp16",
                                      [&] { make(with("Precision", std::string("fp8"))); }));
  EXPECT_TRUE(throws_with<ValueError>("type 'ilu' is not there for Tpetra",
                                      [&] { make(with("Type", std::string("ilu"))); }));
  auto two_of_amg = with("Type", std::string("amg"));
  two_of_amg.set("Sweeps", 2);
  EXPECT_TRUE(
      throws_with<ValueError>("has no sweeps, but 2 were asked for", [&] { make(two_of_amg); }));
}

TEST(TpetraPreconditioner, NamesTheRowWithoutADiagonal) {
  auto const map = make_map(world(), Layout::Contiguous, 10);
  auto rows = tridiagonal(10);
  rows[4].erase(rows[4].begin() + 1);
  auto const A = make_tpetra(map, Layout::Contiguous, rows);
  auto options = sweeps(Sweep::Symmetric, Precision::fp32);
  EXPECT_TRUE(throws_with<ValueError>("first row that is not positive is 5 of 10",
                                      [&] { Preconditioner const M(Exec(), *A, options); }));
  options.kind = PreconditionerKind::Automatic;  // none
  auto const X = vectors_on(map, 1);
  MultiVector Y(map, 1);
  options.precision = Precision::fp64;
  Preconditioner(Exec(), *A, options).apply(*X, Y);
  EXPECT_EQ(distance(*X, Y), 0);
}

}  // namespace
