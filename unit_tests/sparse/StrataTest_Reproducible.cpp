// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Ranks.hpp"
#include "StrataTest_Spaces.hpp"
#include "StrataTest_Sparse.hpp"
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/krylov/Strata_GmresIr.hpp>
#include <sparse/matrix/Strata_ModelProblems.hpp>
#include <sparse/multigrid/Strata_GeometricMultigrid.hpp>
#include <sparse/multigrid/Strata_GridHierarchy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

// The same bits from run to run, and the same numbers to rounding as on the first of the backends.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

template <class>
struct FirstOf;
template <class Space, class... Others>
struct FirstOf<testing::Types<Space, Others...>> {
  using type = Space;
};
using First = FirstOf<Spaces>::type;

struct Outcome {
  std::vector<double> x;
  std::int64_t iterations = 0;
  double residual = 0;

  bool operator==(Outcome const&) const = default;
};

double distance(std::vector<double> const& a, std::vector<double> const& b) {
  double most = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(b[i]));
  }
  return most / largest;
}

MatrixOptions colours(ColouringMethod method) {
  MatrixOptions options;
  options.colouring = method;
  options.seed = 3;
  return options;
}

template <class Exec>
std::vector<double> in_rows(Exec const& exec, DistributedMatrix<Exec> const& A,
                            Vector<double, typename Exec::memory_space> const& x) {
  Vector<double, typename Exec::memory_space> const natural(
      Kokkos::view_alloc(exec, "strata::test::natural"), A.rows());
  A.scatter(exec, x, natural);
  return to_host(exec, natural);
}

template <class Exec>
Vector<double, typename Exec::memory_space> numbers(Exec const& exec,
                                                    DistributedMatrix<Exec> const& A) {
  auto const x = A.template allocate<double>(exec, "strata::test::b");
  auto const all = random_vector(A.global_rows(), 5);
  auto const begin = all.begin() + A.first_row();
  A.gather(exec, to_device<double>(exec, {begin, begin + A.rows()}), x);
  return x;
}

StencilProblem problem_on(Communicator const& comm) {
  StencilProblem box{16, 16, 16, 1, 1, comm.size()};
  box.pz = comm.rank();
  return box;
}

/// A product and a V-cycle of one multigrid, of random numbers.
template <class Exec>
Outcome applied() {
  Exec const exec;
  auto const comm = test_ranks();
  auto const hierarchy = make_grid_hierarchy(exec, comm, problem_on(comm), 3,
                                             colours(ColouringMethod::JonesPlassmannLuby));
  auto const& A = hierarchy.levels.front().A;
  auto const r = numbers(exec, A), x = A.template allocate<double>(exec, "strata::test::x"),
             y = A.template allocate<double>(exec, "strata::test::y");
  GeometricMultigrid<Exec, double>(exec, hierarchy).apply(exec, r, x);
  A.multiply(exec, x, y);
  return {in_rows(exec, A, y), 0, 0};
}

/// GMRES-IR with a multigrid in fp32.
template <class Exec>
Outcome refined() {
  Exec const exec;
  auto const comm = test_ranks();
  auto const hierarchy = make_grid_hierarchy(exec, comm, problem_on(comm), 3,
                                             colours(ColouringMethod::JonesPlassmannLuby));
  auto const& A = hierarchy.levels.front().A;
  GeometricMultigrid<Exec, float> const preconditioner(exec,
                                                       hierarchy.stored_in(exec, Precision::fp32));
  GmresIr<Exec, float> solver(exec, A, preconditioner, {30, 1e-12, 1000});
  auto const b = numbers(exec, A), x = A.template allocate<double>(exec, "strata::test::x");
  auto const report = solver.solve(exec, b, x);
  return {in_rows(exec, A, x), report.iterations, report.relative_residual};
}

/// What `strata solve` does: CG with AMG, GMRES-IR with AMG, FGMRES with sweeps in 16 bits.
template <class Exec>
Outcome solved(ModelProblem problem, PreconditionerKind kind, Precision precision) {
  Exec const exec;
  auto const comm = test_ranks();
  ModelSize const size{12, 12, 12};
  std::int64_t const n = model_rows(problem, size), rank = comm.rank(), ranks = comm.size();
  auto const A =
      make_matrix(exec, comm, make_model(problem, size, n * rank / ranks, n * (rank + 1) / ranks),
                  colours(ColouringMethod::Greedy));
  SparseOptions options;
  options.tolerance = 1e-12;
  options.preconditioner = kind;
  options.precision = precision;
  SparseSolver<Exec> solver(exec, A, options);
  auto const b = numbers(exec, A), x = A.template allocate<double>(exec, "strata::test::x");
  auto const report = solver.solve_in_order(exec, b, x);
  EXPECT_EQ(report.status, KrylovStatus::Converged);
  return {in_rows(exec, A, x), report.iterations, report.relative_residual};
}

template <class Exec>
void expect_the_same_bits_and_numbers() {
  auto const compare = [](auto const& run, auto const& on_first, double bound, int iterations) {
    auto const once = run(), again = run(), first = on_first();
    EXPECT_TRUE(once == again);
    EXPECT_LE(distance(once.x, first.x), bound);
    EXPECT_LE(std::abs(once.iterations - first.iterations), iterations);
  };
  // Rounding of a few products of values near 1; of solves, their condition times the tolerance.
  compare(applied<Exec>, applied<First>, 1e-13, 0);
  compare(refined<Exec>, refined<First>, 1e-9, 1);
  auto const solves = [&](auto... what) {
    compare([=] { return solved<Exec>(what...); }, [=] { return solved<First>(what...); }, 1e-9, 2);
  };
  solves(ModelProblem::Poisson7, PreconditionerKind::Amg, Precision::fp32);
  solves(ModelProblem::Convection, PreconditionerKind::Amg, Precision::fp32);
  solves(ModelProblem::Convection, PreconditionerKind::GaussSeidel, Precision::bf16);
}

template <class Space>
struct Reproducible : testing::Test {};
TYPED_TEST_SUITE(Reproducible, Spaces, SpaceNames);
TYPED_TEST(Reproducible, TheSameBitsFromRunToRunAndNumbersOnEveryBackend) {
  expect_the_same_bits_and_numbers<TypeParam>();
}

}  // namespace
