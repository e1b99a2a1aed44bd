// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_SparseSystem.hpp"
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/scaling/detail/Strata_Scales.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

// Systems whose rows and unknowns are in units far apart, and callbacks of users.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

using Entry = std::function<double(std::int64_t, std::int64_t)>;

/// Five points on a square of that many; `times` multiplies entry (i, j), `convection` makes it
/// unsymmetric.
HostRows square(Communicator const& comm, std::int64_t points, double convection,
                Entry const& times) {
  HostRows whole;
  for (std::int64_t i = 0; i < points * points; ++i) {
    std::int64_t const x = i % points, y = i / points;
    auto const add = [&](bool is_there, std::int64_t j, double value) {
      if (is_there) whole.add(j, value * times(i, j));
    };
    add(y > 0, i - points, -1);
    add(x > 0, i - 1, -1 - convection);
    add(true, i, 4 + convection);
    add(x + 1 < points, i + 1, -1);
    add(y + 1 < points, i + points, -1);
    whole.end_row();
  }
  return part_of(comm, whole);
}

/// max |x - known| / max |known| of a system made by `System`, whose known vector this is.
template <class Exec>
double error_of(System<Exec> const& system) {
  auto const& A = system.A;
  auto const x =
      to_device<double>(system.exec, std::vector<double>(static_cast<std::size_t>(A.rows())));
  A.scatter(system.exec, system.x, x);
  auto const found = to_host(system.exec, x), known = random_vector(A.global_rows(), 1);
  double error = 0, size = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    double const wanted = known[static_cast<std::size_t>(A.first_row() + i)];
    error = std::max(error, std::abs(found[static_cast<std::size_t>(i)] - wanted));
    size = std::max(size, std::abs(wanted));
  }
  return A.comm().max(error) / A.comm().max(size);
}

template <class Exec>
void expect_right(HostRows const& rows, SparseOptions const& options) {
  System<Exec> system(rows, test_ranks());
  SparseSolver<Exec> solver(system.exec, system.A, options);
  auto const report = solver.solve_in_order(system.exec, system.b, system.x);
  EXPECT_EQ(report.status, KrylovStatus::Converged)
      << report.relative_residual << " after " << report.iterations;
  EXPECT_LE(error_of(system), 1e-8);
}

template <class Space>
struct ScaledTest : testing::Test {};
TYPED_TEST_SUITE(ScaledTest, Spaces, SpaceNames);

// A penalty fixes an unknown; ||b|| is then that of the penalties, beside which all other rows once
// counted for nothing: "converged" after one iteration, 9 % wrong.
TYPED_TEST(ScaledTest, PenaltiesHideNoOtherRow) {
  Communicator const comm = test_ranks();
  std::int64_t const points = 20;
  for (double const penalty : {1e7, 1e12, 1e20, 1e30})
    for (double const convection : {0.0, 0.4})
      for (auto const kind : {PreconditionerKind::Automatic, PreconditionerKind::GaussSeidel,
                              PreconditionerKind::Jacobi}) {
        SCOPED_TRACE(testing::Message() << penalty << ' ' << convection << ' ' << name_of(kind));
        if (comm.size() > 1 && kind != PreconditionerKind::Automatic) continue;
        auto const rows = square(comm, points, convection, [&](std::int64_t i, std::int64_t j) {
          return i == j && i < points ? penalty / 4 : 1.0;
        });
        SparseOptions options;
        options.preconditioner = kind;
        expect_right<TypeParam>(rows, options);
        options.solver = SolverKind::Fgmres;
        if (kind == PreconditionerKind::Automatic) expect_right<TypeParam>(rows, options);
      }
}

// The first third of the unknowns is a field of its own, in units 1e18 away.
TYPED_TEST(ScaledTest, FieldsInOtherUnitsAreSolvedFor) {
  Communicator const comm = test_ranks();
  std::int64_t const points = 21, third = points * points / 3;
  for (auto const& [one, other] : {std::pair{1e12, 1e-6}, {1e-6, 1e12}})
    for (double const convection : {0.0, 0.4})
      for (auto const kind : {PreconditionerKind::Automatic, PreconditionerKind::Jacobi}) {
        SCOPED_TRACE(testing::Message() << one << ' ' << convection << ' ' << name_of(kind));
        auto const rows =
            square(comm, points, convection,
                   [&, one = one, other = other](std::int64_t i, std::int64_t j) {
                     return (i < third) != (j < third) ? 0.0 : i < third ? one : other;
                   });
        SparseOptions options;
        options.preconditioner = kind;
        expect_right<TypeParam>(rows, options);
      }
}

TYPED_TEST(ScaledTest, RowsOrColumnsMayBeInAnyUnits) {
  Communicator const comm = test_ranks();
  auto const numbers = random_vector(400, 9);
  auto const unit = [&](std::int64_t i) {
    return std::exp2(std::round(30 * numbers[static_cast<std::size_t>(i)]));
  };
  expect_right<TypeParam>(
      square(comm, 20, 0.4, [&](std::int64_t i, std::int64_t) { return unit(i); }), {});
  if (comm.size() > 1) return;  // columns are scaled by their own rank's rows
  auto const rows = square(comm, 20, 0.4, [&](std::int64_t, std::int64_t j) { return unit(j); });
  System<TypeParam> system(rows, comm);
  auto const report = SparseSolver<TypeParam>(system.exec, system.A)
                          .solve_in_order(system.exec, system.b, system.x);
  EXPECT_TRUE(report.solved()) << name_of(report.status);
  EXPECT_LE(report.iterations, 40);
}

// D T D: no one number scales it, so that a third of the diagonal was 0 in fp32 and there was no
// preconditioner.
TYPED_TEST(ScaledTest, TakesADiagonalOfAllNumbersThatFp64Has) {
  Communicator const comm = test_ranks();
  auto const numbers = random_vector(900, 9);
  auto const unit = [&](std::int64_t i) {
    return std::pow(10, 149 * numbers[static_cast<std::size_t>(i)]);
  };
  System<TypeParam> system(
      square(comm, 30, 0, [&](std::int64_t i, std::int64_t j) { return unit(i) * unit(j); }), comm);
  auto const report = SparseSolver<TypeParam>(system.exec, system.A)
                          .solve_in_order(system.exec, system.b, system.x);
  EXPECT_TRUE(report.solved()) << name_of(report.status) << ' ' << report.relative_residual;
  EXPECT_NE(report.preconditioner, PreconditionerKind::None);
  EXPECT_LE(report.digits(), 4);  // of x: most unknowns are lost beside their neighbours
}

TYPED_TEST(ScaledTest, NumbersNearEachOtherAreLeftAlone) {
  Communicator const comm = test_ranks();
  TypeParam const exec;
  using sparse::detail::ScaleBy;
  auto const scaled = [&](double factor, ScaleBy by) {
    auto const rows = square(comm, 9, 0, [&](std::int64_t i, std::int64_t j) {
      return i == j && i == 40 ? factor : 1.0;
    });
    auto const A = make_matrix(exec, comm, rows);
    return sparse::detail::find_scales(exec, A, by, diagonal(exec, A)).any();
  };
  EXPECT_FALSE(scaled(1, ScaleBy::Diagonal));
  EXPECT_FALSE(scaled(256, ScaleBy::Diagonal));
  EXPECT_TRUE(scaled(1024, ScaleBy::Diagonal));
  EXPECT_FALSE(scaled(8, ScaleBy::Evenness));
  EXPECT_TRUE(scaled(1 << 20, ScaleBy::Evenness));
}

// What overflows or underflows on the way to a product that fp64 has.
TYPED_TEST(ScaledTest, ProductsWithPowersAreExact) {
  TypeParam const exec;
  using sparse::detail::multiply_by_powers;
  using sparse::detail::Power;
  auto const x = to_device<double>(exec, {0x1.8p900, 0x1.8p-900, 3.0, 0.0});
  auto const a = to_device<double>(exec, {0x1p600, 0x1p-600, 0x1p-900, 0x1p900});
  auto const y = to_device<double>(exec, {0.0, 0.0, 0.0, 0.0});
  multiply_by_powers(exec, a, Power::Itself, -700, x, y, 1);
  EXPECT_EQ(to_host(exec, y)[0], 0x1.8p800);
  multiply_by_powers(exec, a, Power::Itself, 700, x, y, 2);
  EXPECT_EQ(to_host(exec, y)[1], 0x1.8p-800);
  multiply_by_powers(exec, a, Power::Inverse, -1200, x, y, 4);
  EXPECT_EQ(to_host(exec, y)[2], std::ldexp(3.0, -300));
  EXPECT_EQ(to_host(exec, y)[3], 0);
}

// One rank alone has had enough: all must hear of it, else the others wait in the next sum for
// ever.
TYPED_TEST(ScaledTest, CallbacksThatThrowOnOneRankEndAll) {
  Communicator const comm = test_ranks();
  TypeParam const exec;
  auto const A = make_matrix(exec, comm, model(comm, ModelProblem::Poisson7, {8, 8, 8}));
  auto const b = natural(exec, A, [](std::int64_t) { return 1.0; });
  auto const x = natural(exec, A, [](std::int64_t) { return 0.0; });
  auto const alone = [&] {
    if (comm.rank() == 0) throw std::runtime_error("rank 0 had enough");
  };
  auto const ends = [&](SparseOptions const& options) {
    bool has_thrown = false;
    try {
      SparseSolver<TypeParam> solver(exec, A, options);
      (void)solver.solve(exec, b, x);
    } catch (std::exception const& error) {
      has_thrown = std::string(error.what()).find("rank 0 had enough") != std::string::npos;
    }
    EXPECT_TRUE(has_thrown);
    EXPECT_EQ(comm.max(1), 1);  // all are here
  };
  for (auto const solver :
       {SolverKind::ConjugateGradients, SolverKind::Gmres, SolverKind::Fgmres}) {
    SparseOptions options;
    options.solver = solver;
    options.monitor = [&](std::int64_t iteration, double) {
      if (iteration == 3) alone();
    };
    ends(options);
  }
  SparseOptions options;
  options.preconditioner = PreconditionerKind::Amg;
  options.amg.coarse_rows = 20;
  options.amg.on_progress = [&](double) { alone(); };
  ends(options);
  options.amg.on_progress = {};
  options.amg.matrix.on_progress = [&](double) { alone(); };
  ends(options);
  EXPECT_EQ(SparseSolver<TypeParam>(exec, A).solve(exec, b, x).status, KrylovStatus::Converged);
}

}  // namespace
