// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "../StrataTest_HardMatrices.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Sparse.hpp"
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/coarsening/Strata_NearNullSpace.hpp>
#include <sparse/coarsening/detail/Strata_Coarsening.hpp>
#include <sparse/matrix/Strata_ModelProblems.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

// New values in an old pattern, and matrices that map modes to 0.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

HostRows rows_of_model(ModelProblem problem) {
  ModelSize const size{9, 8, 7};
  return make_model(problem, size, 0, model_rows(problem, size));
}

// Each coupling by another factor of up to 1.2, the diagonal by 1.3.
HostRows moved(HostRows rows, std::uint64_t seed) {
  for (std::int64_t i = 0; i < rows.rows(); ++i)
    for (auto k = static_cast<std::size_t>(rows.begin[static_cast<std::size_t>(i)]);
         k < static_cast<std::size_t>(rows.begin[static_cast<std::size_t>(i) + 1]); ++k) {
      auto const j = rows.column[k];
      rows.value[k] *= i == j ? 1.3 : 1 + 0.2 * uniform(seed, std::min(i, j), std::max(i, j));
    }
  return rows;
}

template <class Exec>
struct Solve {
  SparseReport report;
  std::vector<double> x;
};

template <class Exec>
Solve<Exec> solve(Exec const& exec, SparseSolver<Exec>& solver, std::int64_t rows) {
  auto const b = to_device<double>(exec, random_vector(rows, 5)),
             x = to_device<double>(exec, std::vector<double>(static_cast<std::size_t>(rows), 0.0));
  auto const report = solver.solve(exec, b, x);
  return {report, to_host(exec, x)};
}

template <class Exec>
DistributedMatrix<Exec> matrix(Exec const& exec, HostRows const& rows) {
  return make_matrix(exec, Communicator(), rows);
}

SparseOptions options() {
  SparseOptions chosen;
  chosen.preconditioner = PreconditionerKind::Amg;
  chosen.amg.coarse_rows = 20;
  chosen.amg.keeps_patterns = true;
  return chosen;
}

template <class Exec>
void expect_updates(ModelProblem problem) {
  SCOPED_TRACE(name_of(problem));
  Exec const exec;
  auto const first = rows_of_model(problem), second = moved(first, 1), third = moved(first, 2);
  SparseSolver<Exec> solver(exec, matrix(exec, first), options());
  EXPECT_FALSE(solver.set_up_report().has_old_pattern);
  auto const before = solve(exec, solver, first.rows());
  auto const same = [&](HostRows const& rows) {
    solver.update(exec, matrix(exec, rows));
    EXPECT_TRUE(solver.set_up_report().has_old_pattern);
    return solve(exec, solver, rows.rows());
  };
  EXPECT_EQ(same(first).x, before.x) << "the same values";
  for (auto const& rows : {second, third}) {
    SparseSolver<Exec> fresh(exec, matrix(exec, rows), options());
    auto const anew = solve(exec, fresh, rows.rows()), kept = same(rows);
    EXPECT_TRUE(kept.report.solved());
    EXPECT_LE(kept.report.iterations, anew.report.iterations + 3);
    for (std::size_t i = 0; i < kept.x.size(); ++i)
      EXPECT_NEAR(kept.x[i], anew.x[i], 1e-6 * (1 + std::abs(anew.x[i]))) << i;
  }
  EXPECT_EQ(same(first).x, before.x) << "the first values again";
}

// A row more than the old pattern has: all is made anew, and right.
template <class Exec>
void expect_other_pattern() {
  Exec const exec;
  auto const rows = rows_of_model(ModelProblem::Poisson7),
             other = rows_of_model(ModelProblem::Poisson27);
  SparseSolver<Exec> solver(exec, matrix(exec, rows), options());
  SparseSolver<Exec> const copy = solver;
  solver.update(exec, matrix(exec, other));
  EXPECT_FALSE(solver.set_up_report().has_old_pattern);
  SparseSolver<Exec> fresh(exec, matrix(exec, other), options());
  EXPECT_EQ(solve(exec, solver, other.rows()).x, solve(exec, fresh, other.rows()).x);
  EXPECT_EQ(copy.set_up_report().levels.front().entries, rows.entries()) << "a copy stays";
}

// CG for a matrix that is not symmetric is refused.
template <class Exec>
void expect_old_after_failure() {
  Exec const exec;
  auto const rows = rows_of_model(ModelProblem::Poisson7);
  auto chosen = options();
  chosen.solver = SolverKind::ConjugateGradients;
  SparseSolver<Exec> solver(exec, matrix(exec, rows), chosen);
  auto const before = solve(exec, solver, rows.rows());
  auto unsymmetric = rows;
  unsymmetric.value[1] *= 3;
  EXPECT_TRUE(throws_with<ValueError>("CG needs a symmetric matrix",
                                      [&] { solver.update(exec, matrix(exec, unsymmetric)); }));
  EXPECT_EQ(solve(exec, solver, rows.rows()).x, before.x);
  solver.update(exec, matrix(exec, moved(rows, 3)));
  EXPECT_TRUE(solver.set_up_report().has_old_pattern);
  EXPECT_TRUE(solve(exec, solver, rows.rows()).report.solved());
}

/// Points of a grid in the plane that springs hold together, along axes and diagonals; nothing
/// holds the whole.
struct Springs {
  static constexpr std::int64_t nx = 14, ny = 11;
  std::vector<std::vector<double>> K;
  std::vector<double> places;

  Springs() : K(2 * nx * ny, std::vector<double>(2 * nx * ny, 0.0)) {
    for (std::int64_t y = 0; y < ny; ++y)
      for (std::int64_t x = 0; x < nx; ++x) {
        places.insert(places.end(), {static_cast<double>(x), static_cast<double>(y)});
        for (auto const& [dx, dy] :
             {std::pair(1, 0), std::pair(0, 1), std::pair(1, 1), std::pair(1, -1)})
          if (x + dx < nx && y + dy >= 0 && y + dy < ny)
            add(y * nx + x, (y + dy) * nx + x + dx, dx, dy);
      }
  }
  HostRows rows(std::size_t held) const {
    HostRows result;
    for (std::size_t i = held; i < K.size(); ++i) {
      for (std::size_t j = held; j < K.size(); ++j)
        if (K[i][j] != 0) result.add(static_cast<std::int64_t>(j - held), K[i][j]);
      result.end_row();
    }
    return result;
  }

 private:
  void add(std::int64_t p, std::int64_t q, double dx, double dy) {
    double const d[2] = {dx, dy}, stiffness = 1 / (dx * dx + dy * dy);
    for (int a = 0; a < 2; ++a)
      for (int b = 0; b < 2; ++b) {
        double const k = stiffness * d[a] * d[b];
        auto const P = static_cast<std::size_t>(2 * p), Q = static_cast<std::size_t>(2 * q);
        K[P + static_cast<std::size_t>(a)][P + static_cast<std::size_t>(b)] += k;
        K[Q + static_cast<std::size_t>(a)][Q + static_cast<std::size_t>(b)] += k;
        K[P + static_cast<std::size_t>(a)][Q + static_cast<std::size_t>(b)] -= k;
        K[Q + static_cast<std::size_t>(a)][P + static_cast<std::size_t>(b)] -= k;
      }
  }
};

// Of a body that floats three motions are mapped to 0; of one that a point holds one, its rotation
// round it.
template <class Exec>
void expect_projected(std::size_t held, int beside_constants, bool floats) {
  SCOPED_TRACE(held);
  Exec const exec;
  Springs const springs;
  auto const rows = springs.rows(held);
  auto const all = rigid_body_modes(springs.places, 2);
  auto chosen = options();
  chosen.amg.near_null_space =
      near_null_space(std::span(all->values).subspan(held * 3), all->width);
  SparseSolver<Exec> solver(exec, matrix(exec, rows), chosen);
  EXPECT_EQ(solver.set_up_report().rows.null_vectors, beside_constants);
  EXPECT_EQ(solver.set_up_report().rows.floating_parts, floats ? 1 : 0);
  auto const n = static_cast<std::size_t>(rows.rows());
  auto const u = random_vector(rows.rows(), 9), noise = random_vector(rows.rows(), 10);
  std::vector<double> b(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (auto k = static_cast<std::size_t>(rows.begin[i]);
         k < static_cast<std::size_t>(rows.begin[i + 1]); ++k)
      b[i] += rows.value[k] * u[static_cast<std::size_t>(rows.column[k])];
    b[i] += 1e-6 * noise[i];
  }
  auto const x = to_device<double>(exec, std::vector<double>(n, 0.0));
  auto const report = solver.solve(exec, to_device<double>(exec, b), x);
  EXPECT_TRUE(report.solved()) << name_of(report.status);
  EXPECT_GT(report.incompatible, 1e-8);
  EXPECT_LT(report.incompatible, 1e-5);
  EXPECT_LE(report.iterations, 60);
  auto const found = to_host(exec, x);
  if (!floats) return;  // the rest is in no column of its own
  for (std::size_t c = 0; c < 3; ++c) {
    double part = 0, size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      part += all->values[i * 3 + c] * found[i];
      size += std::abs(all->values[i * 3 + c] * found[i]);
    }
    EXPECT_LE(std::abs(part), 1e-12 * size) << c;
  }
}

// A free body under its weight falls: what is left of b is 0, not rounding errors.
template <class Exec>
void expect_falls() {
  Exec const exec;
  Springs const springs;
  auto chosen = options();
  chosen.amg.near_null_space = rigid_body_modes(springs.places, 2);
  SparseSolver<Exec> solver(exec, matrix(exec, springs.rows(0)), chosen);
  std::vector<double> weight(springs.places.size(), 0.0);
  for (std::size_t i = 1; i < weight.size(); i += 2) weight[i] = -1e-6;
  auto const x = to_device<double>(exec, std::vector<double>(weight.size(), 0.0));
  auto const report = solver.solve(exec, to_device<double>(exec, weight), x);
  EXPECT_EQ(report.status, KrylovStatus::LeastSquares) << name_of(report.status);
  EXPECT_EQ(report.iterations, 0);
  EXPECT_NEAR(report.incompatible, 1, 1e-12);
  for (double const number : to_host(exec, x)) EXPECT_EQ(number, 0);
}

// On a ring each row lists both its near neighbours twice, and once those at a distance of 7.
HostRows ring(std::int64_t n, double near, double near_again, double far) {
  HostRows rows;
  for (std::int64_t i = 0; i < n; ++i) {
    rows.add((i + n - 7) % n, far);
    rows.add((i + n - 1) % n, near);
    rows.add((i + n - 1) % n, near_again);
    rows.add(i, 3.2);
    rows.add((i + 1) % n, near);
    rows.add((i + 1) % n, near_again);
    rows.add((i + 7) % n, far);
    rows.end_row();
  }
  return rows;
}

// As many entries are no zeros as before, of which two have one column.
template <class Exec>
void expect_repeated_columns_anew() {
  Exec const exec;
  auto const rows = ring(400, -1, 0, -0.5), other = ring(400, -0.6, -0.4, 0);
  MatrixOptions narrow;
  narrow.columns = Columns::Narrow;  // which keep both entries
  auto const A = make_matrix(exec, Communicator(), rows, narrow),
             B = make_matrix(exec, Communicator(), other, narrow);
  auto const known = strata::sparse::detail::finest_level(exec, A, {1, {}, {}}).A.nodes;
  SparseSolver<Exec> fresh(exec, B, options());
  auto const expected = solve(exec, fresh, other.rows());
  EXPECT_TRUE(expected.report.solved());
  for (auto const& again : {B, make_matrix(exec, A, other)}) {
    auto const nodes =
        strata::sparse::detail::finest_level(exec, again, {1, {}, {}}, known).A.nodes;
    EXPECT_NE(nodes.column.data(), known.column.data());
    for (double const value : to_host(exec, nodes.value.view()))
      EXPECT_TRUE(value == 3.2 || value == -0.6 || value == -0.4 || value == -1) << value;
    SparseSolver<Exec> updated(exec, A, options());
    updated.update(exec, again);
    EXPECT_FALSE(updated.set_up_report().has_old_pattern);
    auto const found = solve(exec, updated, other.rows()).x;
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected.x[i], 1e-6 * (1 + std::abs(expected.x[i]))) << i;
  }
}

// Nothing is kept on a device for who never updates.
template <class Exec>
void expect_lazy() {
  Exec const exec;
  auto const rows = rows_of_model(ModelProblem::Poisson7);
  auto chosen = options();
  chosen.amg.keeps_patterns = false;
  SparseSolver<Exec> solver(exec, matrix(exec, rows), chosen);
  auto const before = solve(exec, solver, rows.rows());
  for (bool const is_kept : {runs_on_host<Exec>, true, true}) {
    solver.update(exec, matrix(exec, rows));
    EXPECT_EQ(solver.set_up_report().has_old_pattern, is_kept);
    EXPECT_EQ(solve(exec, solver, rows.rows()).x, before.x);
  }
}

// What ended the last solve begins the one after an update.
template <class Exec>
void expect_method_kept() {
  Exec const exec;
  auto const rows = upwind(60, 1e-4);
  SparseOptions chosen;
  chosen.solver = SolverKind::Gmres;
  chosen.precision = Precision::bf16;
  chosen.amg.coarsening = CoarseningKind::Aggregation;  // with which multigrid stalls
  SparseSolver<Exec> solver(exec, matrix(exec, rows), chosen);
  EXPECT_EQ(solver.set_up_report().preconditioner, PreconditionerKind::Amg);
  auto const first = solve(exec, solver, rows.rows());
  ASSERT_TRUE(first.report.solved());
  EXPECT_GT(first.report.attempts.size(), 1u);
  solver.update(exec, matrix(exec, rows));
  EXPECT_EQ(solver.set_up_report().preconditioner, first.report.preconditioner);
  EXPECT_EQ(solve(exec, solver, rows.rows()).report.attempts.size(), 1u);
}

// On a grid of `side` squared: couplings along x and y, and a diagonal that dominates by 1 %, but
// for a column of rows whose diagonal the weak couplings reach.
HostRows grid_with_weak_column(std::int64_t side, double along_x, double along_y, bool is_reached) {
  HostRows rows;
  for (std::int64_t i = 0; i < side * side; ++i) {
    std::int64_t const x = i % side, y = i / side;
    double const weak = (y > 0 ? along_y : 0) + (y < side - 1 ? along_y : 0),
                 strong = (x > 0 ? along_x : 0) + (x < side - 1 ? along_x : 0);
    bool const is_low = is_reached && x == side / 2;
    if (y > 0) rows.add(i - side, -along_y);
    if (x > 0) rows.add(i - 1, -along_x);
    rows.add(i, is_low ? weak : 1.01 * (weak + strong));
    if (x < side - 1) rows.add(i + 1, -along_x);
    if (y < side - 1) rows.add(i + side, -along_y);
    rows.end_row();
  }
  return rows;
}

// Rows whose smoothing is of no use with some values have the same columns of P as with others.
template <class Exec>
void expect_same_as_from_scratch() {
  Exec const exec;
  auto const usual = grid_with_weak_column(20, 1, 0.1, false),
             reached = grid_with_weak_column(20, 1, 0.1, true);
  for (auto const& [one, other] : {std::pair{usual, reached}, std::pair{reached, usual}}) {
    auto chosen = options();
    chosen.solver = SolverKind::Gmres;
    chosen.amg.smoother = Smoother::L1Jacobi;
    chosen.amg.coarsening = CoarseningKind::Aggregation;
    chosen.amg.max_levels = 2;  // couplings, and so aggregates, are the same
    SparseSolver<Exec> updated(exec, matrix(exec, one), chosen);
    updated.update(exec, matrix(exec, other));
    SparseSolver<Exec> fresh(exec, matrix(exec, other), chosen);
    auto const found = solve(exec, updated, one.rows()), expected = solve(exec, fresh, one.rows());
    EXPECT_TRUE(found.report.has_old_pattern);
    EXPECT_EQ(found.report.iterations, expected.report.iterations);
    EXPECT_EQ(found.x, expected.x);
  }
}

template <class Space>
struct UpdateTest : testing::Test {};
TYPED_TEST_SUITE(UpdateTest, Spaces, SpaceNames);

TYPED_TEST(UpdateTest, ValuesAreThoseOfASetUpFromScratch) {
  for (auto const problem : {ModelProblem::Poisson7, ModelProblem::Elasticity,
                             ModelProblem::Convection, ModelProblem::Anisotropic})
    expect_updates<TypeParam>(problem);
}

TYPED_TEST(UpdateTest, PatternsAreKeptFromTheFirstOn) {
  expect_lazy<TypeParam>();
  expect_method_kept<TypeParam>();
}

TYPED_TEST(UpdateTest, ValuesThatMakeSmoothingOfNoUseLeaveThePattern) {
  expect_same_as_from_scratch<TypeParam>();
}

TYPED_TEST(UpdateTest, AnotherPatternIsSetUpAnew) {
  expect_other_pattern<TypeParam>();
  expect_repeated_columns_anew<TypeParam>();
}

TYPED_TEST(UpdateTest, WhatIsRefusedLeavesTheOldMatrix) { expect_old_after_failure<TypeParam>(); }

TYPED_TEST(UpdateTest, MotionsOfABodyThatNothingHoldsAreProjected) {
  expect_projected<TypeParam>(0, 2, true);
  expect_projected<TypeParam>(2, 1, false);
  expect_falls<TypeParam>();
}

}  // namespace
