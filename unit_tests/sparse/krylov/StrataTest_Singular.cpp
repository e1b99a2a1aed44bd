// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_SparseSystem.hpp"
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <string>
#include <tuple>
#include <vector>

// Matrices with parts that nothing holds: rows that add up to 0, right-hand sides that do not fit.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

template <class Space>
struct SingularTest : testing::Test {};
TYPED_TEST_SUITE(SingularTest, Spaces, SpaceNames);

/// Chains one after the other, unknown k of `lengths.size()` chains in turn; those in `held` are
/// held at their first end.
struct Chains {
  std::vector<std::int64_t> lengths;
  std::vector<bool> held;
  double slope = 0;  ///< slope of an unsymmetric part whose rows add up to 0

  std::int64_t rows() const {
    std::int64_t sum = 0;
    for (auto const length : lengths) sum += length;
    return sum;
  }
  HostRows whole() const {
    HostRows made;
    std::int64_t first = 0;
    for (std::size_t chain = 0; chain < lengths.size(); ++chain) {
      std::int64_t const n = lengths[chain];
      for (std::int64_t i = 0; i < n; ++i) {
        double const left = i > 0 ? 1 + slope : 0, right = i + 1 < n ? 1.0 : 0;
        if (left > 0) made.add(first + i - 1, -left);
        made.add(first + i, left + right + (held[chain] && i == 0 ? 1 : 0));
        if (right > 0) made.add(first + i + 1, -right);
        made.end_row();
      }
      first += n;
    }
    return made;
  }
  /// The chain of a row.
  std::size_t chain_of(std::int64_t row) const {
    std::size_t chain = 0;
    for (; row >= lengths[chain]; ++chain) row -= lengths[chain];
    return chain;
  }
};

std::vector<double> means(Chains const& chains, std::vector<double> const& x) {
  std::vector<double> sums(chains.lengths.size(), 0);
  for (std::size_t i = 0; i < x.size(); ++i)
    sums[chains.chain_of(static_cast<std::int64_t>(i))] += x[i];
  for (std::size_t chain = 0; chain < sums.size(); ++chain)
    sums[chain] /= static_cast<double>(chains.lengths[chain]);
  return sums;
}

/// A system whose b misses the range by `incompatible` of it, on the first floating chain.
template <class Exec>
struct Floating {
  Exec exec;
  HostRows rows;
  DistributedMatrix<Exec> A;
  std::vector<double> known;  // whole, with mean 0 on floating chains
  typename System<Exec>::Wide b, x;

  Floating(Chains const& chains, double incompatible) {
    auto const comm = test_ranks();
    auto const all = chains.whole();
    rows = part_of(comm, all);
    A = make_matrix(exec, comm, rows);
    known = random_vector(chains.rows(), 3);
    auto const of_chains = means(chains, known);
    for (std::size_t i = 0; i < known.size(); ++i) {
      auto const chain = chains.chain_of(static_cast<std::int64_t>(i));
      if (!chains.held[chain]) known[i] -= of_chains[chain];
    }
    std::vector<double> right(known.size(), 0);
    double square = 0;
    for (std::size_t i = 0; i < known.size(); ++i) {
      for (auto k = static_cast<std::size_t>(all.begin[i]);
           k < static_cast<std::size_t>(all.begin[i + 1]); ++k)
        right[i] += all.value[k] * known[static_cast<std::size_t>(all.column[k])];
      square += right[i] * right[i];
    }
    std::size_t first = 0;
    while (chains.held[first]) ++first;
    double const share =
        incompatible * std::sqrt(square / static_cast<double>(chains.lengths[first]));
    b = natural(exec, A, [&](std::int64_t i) {
      return right[static_cast<std::size_t>(i)] + (chains.chain_of(i) == first ? share : 0);
    });
    x = natural(exec, A, [](std::int64_t) { return 0.5; });
  }
  SparseReport solve(SparseOptions const& options = {}) {
    return SparseSolver<Exec>(exec, A, options).solve(exec, b, x);
  }
  std::vector<double> found() const {
    return A.comm().gather(std::span<double const>(to_host(exec, x)));
  }
  double error() const {
    auto const all = found();
    double error = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
      error = std::max(error, std::abs(all[i] - known[i]));
    return error;
  }
};

// b is compatible to quadrature only: x once grew to 1e12 along the null space, and was called
// solved.
TYPED_TEST(SingularTest, RightHandSidesThatNearlyFitAreProjected) {
  Chains const chains{{60, 90, 40}, {false, true, false}};
  for (double const incompatible : {0.0, 1e-8, 1e-5, 5e-4, 0.1}) {
    SCOPED_TRACE(incompatible);
    Floating<TypeParam> system(chains, incompatible);
    auto const report = system.solve();
    EXPECT_EQ(report.rows.floating_parts, 2);
    EXPECT_EQ(report.rows.floating_rows, 100);
    EXPECT_FALSE(report.rows.maps_constants_to_zero);
    EXPECT_EQ(report.solved(), incompatible <= 1e-3);
    EXPECT_EQ(report.status,
              incompatible > 0 ? KrylovStatus::LeastSquares : KrylovStatus::Converged);
    double const of_b = incompatible / std::sqrt(1 + incompatible * incompatible);
    EXPECT_NEAR(report.incompatible, of_b, 1e-9 * of_b + 1e-14);
    EXPECT_LE(report.relative_residual, std::max(1e-10, 2 * of_b));
    EXPECT_LE(system.error(), 1e-7);
    auto const of_x = means(chains, system.found());
    EXPECT_NEAR(of_x[0], 0, 1e-13);
    EXPECT_NEAR(of_x[2], 0, 1e-13);
    EXPECT_EQ(report.remarks_on_matrix().size(), 1u);
    EXPECT_EQ(report.remarks_on_solution().empty(), incompatible == 0);
  }
}

// What is left out of b is part of the residual: beside a tolerance that it nearly fills, a method
// that went for the whole tolerance ended as stalled.
TYPED_TEST(SingularTest, WhatIsLeftOutCountsAsResidual) {
  constexpr double tolerance = 1e-4;
  for (double const share : {0.1, 0.5, 0.8, 0.86, 0.87, 0.95, 0.99, 0.9999, 1.0, 1.01}) {
    SCOPED_TRACE(share);
    Floating<TypeParam> system({{60, 90, 40}, {false, true, false}}, share * tolerance);
    SparseOptions options;
    options.tolerance = tolerance;
    auto const report = system.solve(options);
    bool const is_least = report.status == KrylovStatus::LeastSquares;
    EXPECT_TRUE(report.status == KrylovStatus::Converged || is_least) << name_of(report.status);
    EXPECT_TRUE(is_least || share < 1);
    EXPECT_FALSE(is_least && share < 0.866);
    EXPECT_LE(report.relative_residual, is_least ? 2 * report.incompatible : tolerance);
  }
}

TYPED_TEST(SingularTest, EveryMethodSolvesThem) {
  Chains const chains{{150}, {false}};
  for (auto const solver : {SolverKind::ConjugateGradients, SolverKind::Gmres, SolverKind::Fgmres})
    for (auto const kind : {PreconditionerKind::Amg, PreconditionerKind::Jacobi}) {
      SCOPED_TRACE(testing::Message() << name_of(solver) << ' ' << name_of(kind));
      if (test_ranks().size() > 1 && kind == PreconditionerKind::Jacobi) continue;
      Floating<TypeParam> system(chains, 1e-6);
      SparseOptions options;
      options.solver = solver;
      options.preconditioner = kind;
      options.restart = 150;
      options.amg.coarse_rows = 20;
      auto const report = system.solve(options);
      EXPECT_TRUE(report.rows.maps_constants_to_zero);
      EXPECT_TRUE(report.solved());
      EXPECT_EQ(report.status, KrylovStatus::LeastSquares);
      EXPECT_LE(system.error(), 1e-6);
    }
}

// Parts that cross ranks, next to parts within one.
TYPED_TEST(SingularTest, PartsAreFoundOnAnyNumberOfRanks) {
  Chains const chains{{1, 37, 2, 80, 5, 3}, {true, false, false, true, false, false}};
  Floating<TypeParam> system(chains, 0);
  auto const report = system.solve();
  EXPECT_EQ(report.rows.floating_parts, 4);
  EXPECT_EQ(report.rows.floating_rows, 47);
  EXPECT_EQ(report.status, KrylovStatus::Converged);
  EXPECT_LE(system.error(), 1e-8);
}

// w'b must be 0 for the w with w'A = 0, which is no constant here.
TYPED_TEST(SingularTest, UnsymmetricOnesAreSolvedWhereBFitsAndRefusedElsewhere) {
  Chains const chains{{80}, {false}, 0.5};
  Floating<TypeParam> fits(chains, 0);
  auto const right = fits.solve();
  EXPECT_TRUE(right.solved());
  EXPECT_LE(fits.error(), 1e-6);
  EXPECT_NEAR(means(chains, fits.found())[0], 0, 1e-13);
  Floating<TypeParam> does_not(chains, 1e-2);
  auto const wrong = does_not.solve();
  EXPECT_FALSE(wrong.solved());
  EXPECT_EQ(wrong.incompatible, 0);
  ASSERT_EQ(wrong.remarks_on_solution().size(), 1u);
  EXPECT_NE(wrong.remarks_on_solution()[0].find("not symmetric"), std::string::npos);
}

// Sums up to 1e-13 of what is added are rounding, on both sides of it: of 4 in the inner rows, 2 in
// the first.
TYPED_TEST(SingularTest, SumsOfRowsAreZeroUpToRounding) {
  Communicator const comm = test_ranks();
  TypeParam const exec;
  for (auto const& [row, off, is_zero] :
       {std::tuple{17, 2e-13, true}, std::tuple{17, -2e-13, true}, std::tuple{17, 8e-13, false},
        std::tuple{17, -8e-13, false}, std::tuple{0, 1e-13, true}, std::tuple{0, 4e-13, false}}) {
    auto const A = make_matrix(exec, comm, tridiagonal(comm, 40, [=](std::int64_t i) {
                                 return (i == 0 || i == 39 ? 1.0 : 2.0) + (i == row ? off : 0.0);
                               }));
    auto const found = kind_of_rows(exec, A);
    EXPECT_EQ(found.zero_sums, is_zero ? 40 : 39) << row << ' ' << off;
    EXPECT_EQ(found.maps_constants_to_zero, is_zero) << row << ' ' << off;
    EXPECT_EQ(found.empty, 0);
  }
}

}  // namespace
