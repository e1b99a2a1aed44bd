// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Sparse.hpp"
#include <sparse/hpgmxp/Strata_ProcessGrid.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>
#include <sparse/matrix/Strata_ModelProblems.hpp>
#include <sparse/matrix/Strata_StencilProblem.hpp>
#include <sparse/multigrid/Strata_GeometricMultigrid.hpp>
#include <sparse/multigrid/Strata_GridHierarchy.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

// Matrices over any number of ranks against sequential loops over the whole matrix on each rank.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

constexpr ColouringMethod methods[] = {ColouringMethod::JonesPlassmannLuby, ColouringMethod::Greedy,
                                       ColouringMethod::Levels};

/// Unequal parts, one of them empty.
std::vector<std::int64_t> first_rows(int ranks) {
  std::vector<std::int64_t> first{0};
  for (int rank = 0; rank < ranks; ++rank)
    first.push_back(first.back() + (rank == 1 ? 0 : (rank * 23 + 40) % 61));
  return first;
}

template <class Exec>
struct Problem {
  Exec exec;
  Communicator comm;
  std::vector<std::int64_t> first_row = first_rows(comm.size());
  std::int64_t n = first_row.back(), first = first_row[static_cast<std::size_t>(comm.rank())],
               rows = first_row[static_cast<std::size_t>(comm.rank()) + 1] - first;
  RowList whole;
  DistributedMatrix<Exec> A;

  Problem(MPI_Comm caller, int widest, ColouringMethod method,
          std::optional<int> free_colours = std::nullopt)
      : comm(caller) {
    whole = listed(n, RandomRows{n, widest});
    MatrixOptions options;
    options.order = RowOrder::Sweep;
    options.colouring = method;
    options.free_colours = free_colours;
    A = DistributedMatrix<Exec>(exec, comm, rows, RandomRows{n, widest, 1, first}, options);
  }

  /// This rank's part of a vector, in the matrix' order; the halo is poisoned.
  auto local(std::vector<double> const& global) const {
    auto const x = A.template allocate<double>(exec, "strata::test::x");
    Kokkos::deep_copy(exec, x, std::numeric_limits<double>::quiet_NaN());
    auto const begin = global.begin() + first;
    A.gather(exec, to_device<double>(exec, {begin, begin + rows}), x);
    return x;
  }
  void expect(Kokkos::View<double*, typename Exec::memory_space> const& x,
              std::vector<double> const& global) const {
    auto const natural =
        to_device<double>(exec, std::vector<double>(static_cast<std::size_t>(rows)));
    A.scatter(exec, x, natural);
    auto const actual = to_host(exec, natural);
    for (std::int64_t i = 0; i < rows; ++i)
      ASSERT_NEAR(actual[static_cast<std::size_t>(i)], global[static_cast<std::size_t>(first + i)],
                  1e-11)
          << i;
  }
  double entry_sum(std::int64_t i, std::vector<double> const& x) const {
    double sum = 0;
    for (auto const& [j, value] : whole[static_cast<std::size_t>(i)])
      sum += value * x[static_cast<std::size_t>(j)];
    return sum;
  }
};

template <class Exec>
void expect_products(MPI_Comm caller, int widest, ColouringMethod method) {
  Problem<Exec> const problem(caller, widest, method);
  auto const x = random_vector(problem.n, 2), b = random_vector(problem.n, 3);
  std::vector<double> product(x.size()), rest(x.size());
  for (std::int64_t i = 0; i < problem.n; ++i) {
    auto const at = static_cast<std::size_t>(i);
    product[at] = problem.entry_sum(i, x);
    rest[at] = b[at] - product[at];
  }
  auto const y = problem.local(b);
  problem.A.multiply(problem.exec, problem.local(x), y);
  problem.expect(y, product);
  auto const r = problem.local(b);
  problem.A.residual(problem.exec, r, problem.local(x), r);
  problem.expect(r, rest);
  std::int64_t entries = 0;
  for (auto const& row : problem.whole) entries += static_cast<std::int64_t>(row.size());
  EXPECT_EQ(problem.A.global_entries(), entries);
  EXPECT_EQ(problem.A.global_rows(), problem.n);
  EXPECT_LE(problem.A.order().free_rows, problem.rows);
  EXPECT_TRUE(problem.comm.size() > 1 || problem.A.order().free_rows == problem.rows);
}

template <class Exec>
void expect_sweeps(MPI_Comm caller, int widest, ColouringMethod method) {
  Problem<Exec> const problem(caller, widest, method);
  auto const sequence = to_host(problem.exec, problem.A.order().old_row);
  auto const start = random_vector(problem.n, 4), r = random_vector(problem.n, 5);
  auto const sweep_once = [&](std::vector<double> x, bool backward) {
    for (std::size_t k = 0; k < sequence.size(); ++k) {
      auto const local =
          static_cast<std::int64_t>(sequence[backward ? sequence.size() - 1 - k : k]);
      auto const i = static_cast<std::size_t>(problem.first + local);
      double sum = r[i], diagonal = 0;
      for (auto const& [j, value] : problem.whole[i])
        if (j == problem.first + local)
          diagonal += value;
        else
          sum -= value * x[static_cast<std::size_t>(j)];
      x[i] = sum / diagonal;
    }
    return x;
  };
  // A second sweep sees what the other ranks have after the first.
  auto const exchanged = [&](std::vector<double> x) {
    std::vector<double> sums(x.size());
    std::copy(x.begin() + problem.first, x.begin() + problem.first + problem.rows,
              sums.begin() + problem.first);
    problem.comm.sum(sums);
    return sums;
  };
  for (auto const guess : {Guess::Given, Guess::Zero}) {
    auto const before = guess == Guess::Given ? start : std::vector<double>(start.size());
    auto const forward = sweep_once(before, false), backward = sweep_once(before, true);
    auto const symmetric = sweep_once(exchanged(forward), true);
    for (auto const& [sweep, expected] :
         {std::pair(Sweep::Forward, forward), std::pair(Sweep::Backward, backward),
          std::pair(Sweep::Symmetric, symmetric)}) {
      auto const x = problem.local(start);
      if (guess == Guess::Zero)
        Kokkos::deep_copy(problem.exec, x, std::numeric_limits<double>::quiet_NaN());
      problem.A.gauss_seidel(problem.exec, problem.local(r), x, sweep, guess);
      problem.expect(x, expected);
    }
  }
}

/// Which colours are swept while the halo is under way says nothing of the result.
template <class Exec>
void expect_any_overlap(int widest, ColouringMethod method) {
  std::vector<double> expected;
  for (std::optional<int> const free_colours : {std::optional<int>(), {0}, {1}, {2}}) {
    Problem<Exec> const problem(MPI_COMM_WORLD, widest, method, free_colours);
    auto const& [exec, A] = std::tie(problem.exec, problem.A);
    auto const r = problem.local(random_vector(problem.n, 5)),
               x = problem.local(random_vector(problem.n, 4)),
               again = problem.local(random_vector(problem.n, 4));
    A.gauss_seidel(exec, r, x);
    A.fill_halo(exec, again);
    A.sweep(exec, r, again, Sweep::Forward, Guess::Given);
    auto const read = std::pair(std::int64_t(0), A.rows() + A.halo());  // the last entry is poison
    EXPECT_EQ(to_host(exec, Kokkos::subview(again, read)), to_host(exec, Kokkos::subview(x, read)));
    auto const natural =
        to_device<double>(exec, std::vector<double>(static_cast<std::size_t>(problem.rows)));
    A.scatter(exec, x, natural);
    auto const result = to_host(exec, natural);
    if (!free_colours) expected = result;
    for (std::size_t i = 0; i < result.size(); ++i) EXPECT_NEAR(result[i], expected[i], 1e-12);
    auto const free_blocks =
        std::count_if(A.order().blocks.begin(), A.order().blocks.end(),
                      [&](RowRange block) { return block.end <= A.order().free_rows; });
    if (free_colours && A.halo() > 0) {
      EXPECT_LE(free_blocks, *free_colours);
      if (widest == 1) {  // few rows read others
        EXPECT_EQ(free_blocks > 0, *free_colours > 0 && problem.rows > 0);
      }
    }
  }
}

template <class Exec>
void expect_stencil() {
  Communicator const comm(MPI_COMM_WORLD);
  Exec const exec;
  auto const grid = process_grid(comm.size());
  StencilProblem box{6, 5, 4, grid[0], grid[1], grid[2]};
  box.px = comm.rank() % grid[0], box.py = comm.rank() / grid[0] % grid[1],
  box.pz = comm.rank() / (grid[0] * grid[1]);
  DistributedMatrix<Exec> const A(exec, comm, box.rows(), box);
  EXPECT_EQ(A.first_row(), box.first_row());
  EXPECT_EQ(A.global_rows(), box.global_rows());
  EXPECT_EQ(A.global_entries(), box.global_entries());
  auto const ones = A.template allocate<float>(exec, "strata::test::ones");
  auto const sums = A.template allocate<float>(exec, "strata::test::sums");
  Kokkos::deep_copy(exec, ones, 1.0f);
  for (auto const precision : {Precision::bf16, Precision::fp8_e4m3}) {
    EXPECT_TRUE(A.is_exact_in(exec, precision));
    A.stored_in(exec, precision).multiply(exec, ones, sums);
    std::vector<double> total(1, 0.0);
    auto const host = to_host(exec, sums);
    for (std::int64_t i = 0; i < A.rows(); ++i) total[0] += host[static_cast<std::size_t>(i)];
    comm.sum(total);  // 26 on the diagonal, -1 beside it
    EXPECT_EQ(total[0], 27.0 * static_cast<double>(box.global_rows()) -
                            static_cast<double>(box.global_entries()));
  }
}

/// A ring of `n` rows with all kinds of numbers that fp8_e4m3 has: normal, subnormal and the
/// largest, of both signs.
struct Fp8Rows {
  std::int64_t first, n;  ///< first row of this rank, rows in all
  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t local, Emit const& emit) const {
    std::int64_t const row = first + local;
    constexpr double values[] = {-1, 0x1p-9, 26, -0x1.8p-7, 3.5, -0x1p-6};
    emit(row, row % 2 == 0 ? 448 : -448);
    for (std::int64_t k = 1; k < 7; ++k) {
      emit((row + k * k) % n, values[(row + k) % 6]);
      emit((row - k * k + n) % n, values[k - 1]);
    }
  }
};

// Products and sweeps have the bits that they have with the same values in bf16.
template <class Exec, class Scalar>
void expect_fp8_equals_bf16() {
  Communicator const comm(MPI_COMM_WORLD);
  Exec const exec;
  MatrixOptions how;
  how.order = RowOrder::Sweep;
  DistributedMatrix<Exec> const A(exec, comm, 100, Fp8Rows{100 * comm.rank(), 100 * comm.size()},
                                  how);
  std::vector<std::vector<double>> results;
  for (auto const precision : {Precision::bf16, Precision::fp8_e4m3}) {
    auto const stored = A.stored_in(exec, precision);
    auto const r = stored.template allocate<Scalar>(exec, "strata::test::r"),
               x = stored.template allocate<Scalar>(exec, "strata::test::x"),
               y = stored.template allocate<Scalar>(exec, "strata::test::y");
    Kokkos::deep_copy(exec, r, Scalar(1.25));
    stored.gauss_seidel(exec, r, x, Sweep::Forward, Guess::Zero);
    stored.gauss_seidel(exec, r, x, Sweep::Backward);
    stored.multiply(exec, x, y);
    results.push_back(to_host(exec, y));
    results.back().resize(static_cast<std::size_t>(A.rows()));
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_GT(*std::max_element(results[0].begin(), results[0].end()), 0);
}

struct BadRows {
  std::int64_t column;
  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t, Emit const& emit) const {
    emit(column, 1.0);
  }
};

struct ScaledRows {
  double value;
  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t, Emit const& emit) const {
    emit(0, value);
  }
};

template <class Exec>
void expect_errors_agreed() {
  Communicator const comm(MPI_COMM_WORLD);
  int const bad = comm.size() - 1;
  std::string const position = comm.size() > 1 ? "rank " + std::to_string(bad) + ": " : "";
  auto const make = [&](std::int64_t rows, std::int64_t column) {
    DistributedMatrix<Exec> const A(Exec(), comm, rows, BadRows{comm.rank() == bad ? column : 0});
  };
  EXPECT_TRUE(throws_with<ValueError>(
      position + "distributed matrix of " + std::to_string(5 * comm.size()) +
          " rows: column 1000 is out of range, must be 0 to " + std::to_string(5 * comm.size() - 1),
      [&] { make(5, 1000); }));
  EXPECT_TRUE(throws_with<ShapeError>(position + "distributed matrix: -1 rows",
                                      [&] { make(comm.rank() == bad ? -1 : 3, 0); }));
  DistributedMatrix<Exec> const A(Exec(), comm, 3, BadRows{0});
  EXPECT_TRUE(throws_with<ValueError>("stored in fp8_e5m2",
                                      [&] { (void)A.stored_in(Exec(), Precision::fp8_e5m2); }));
  DistributedMatrix<Exec> const inexact(Exec(), comm, 3,
                                        ScaledRows{comm.rank() == bad ? 0.3 : 0.5});
  EXPECT_TRUE(
      throws_with<ValueError>(position + "the matrix has values that are not exact in fp8_e4m3",
                              [&] { (void)inexact.stored_in(Exec(), Precision::fp8_e4m3); }));
  MatrixOptions options;
  options.order = RowOrder::Sweep;
  options.colour_order = {3, 1};
  EXPECT_TRUE(throws_with<ValueError>("permutation", [&] {
    DistributedMatrix<Exec> const B(Exec(), comm, 3, BadRows{0}, options);
  }));
}

// Rows in ordinary memory, which anything may have filled.
template <class Exec>
void expect_whole_rows() {
  Exec const exec;
  Communicator const self(MPI_COMM_SELF);
  auto const rows = make_model(ModelProblem::Poisson7, {3, 3, 3}, 0, 27);
  auto const refused = [&](char const* text, auto const& spoil) {
    HostRows spoilt = rows;
    spoil(spoilt);
    EXPECT_TRUE(throws_with<ShapeError>(text, [&] { (void)make_matrix(exec, self, spoilt); }));
    EXPECT_TRUE(throws_with<ShapeError>(text, [&] { (void)scattered(self, {0, 27}, spoilt); }));
  };
  refused("`begin` must start with 0", [](HostRows& r) { r.begin.clear(); });
  refused("`begin` must start with 0", [](HostRows& r) { r.begin[0] = -3; });
  refused("not decrease", [](HostRows& r) { r.begin[5] = 2; });
  refused("`begin` ends with 1135, there are 135 columns and 135 values",
          [](HostRows& r) { r.begin.back() += 1000; });
  refused("135 columns and 10 values", [](HostRows& r) { r.value.resize(10); });
  EXPECT_TRUE(throws_with<ShapeError>("scatter: `first_row` has 1 entries, must have 2",
                                      [&] { (void)scattered(self, {27}, rows); }));
  EXPECT_TRUE(throws_with<ShapeError>("10 rows on 0 ranks", [] { (void)even_partition(10, 0); }));
  EXPECT_TRUE(throws_with<ShapeError>("-3 rows", [] { (void)even_partition(-3, 2); }));
  for (auto const& [first, end] : {std::pair{20, 28}, {-1, 3}, {9, 3}})
    EXPECT_TRUE(throws_with<ShapeError>("of 27", [first = first, end = end] {
      (void)make_model(ModelProblem::Poisson7, {3, 3, 3}, first, end);
    }));
  auto const A = make_matrix(exec, self, rows);
  Vector<double, typename Exec::memory_space> const full("strata::test::d", 27),
      little("strata::test::e", 26);
  EXPECT_TRUE(throws_with<ShapeError>("d has 26 entries and e 27, must have 27 and 27",
                                      [&] { (void)A.modified(exec, little, full); }));
  EXPECT_TRUE(throws_with<ShapeError>("d has 27 entries and e 26",
                                      [&] { (void)A.modified(exec, full, little); }));
}

// Whether row fine_row(c) of A has a column of the halo, for each c.
template <class Exec, class Matrix, class Rows>
Vector<double, typename Exec::memory_space> halo_read(Exec const& exec, Matrix const& A,
                                                      Rows const& fine_row) {
  auto const flags =
      to_device<double>(exec, std::vector<double>(static_cast<std::size_t>(fine_row.extent(0))));
  Kokkos::parallel_for(
      "strata::test::halo_read", Kokkos::RangePolicy<Exec>(exec, 0, fine_row.extent(0)),
      KOKKOS_LAMBDA(std::int64_t c) {
        auto const row = A.row(fine_row(c));
        for (int k = 0; k < row.width; ++k)
          if (A.column(fine_row(c), k) >= A.rows()) flags(c) = 1;
      });
  return flags;
}

template <class Exec>
void expect_free_rows_first() {
  Exec const exec;
  Communicator const comm(MPI_COMM_WORLD);
  StencilProblem problem{8, 8, 8, 1, 1, comm.size()};
  problem.pz = comm.rank();
  for (int const free_colours : {0, 1}) {
    MatrixOptions options;
    options.free_colours = free_colours;
    auto const level = make_grid_hierarchy(exec, comm, problem, 2, options).levels.front();
    auto const& injection = level.injection;
    auto const flags = to_host(
        exec, std::visit([&](auto const& A) { return halo_read(exec, A, injection.fine_row); },
                         level.A.stored()));
    auto order = to_host(exec, injection.order);
    bool const ordered = free_colours > 0 && comm.size() > 1;
    ASSERT_EQ(order.size(), ordered ? 64u : 0u);
    EXPECT_EQ(injection.free_rows, comm.size() == 1   ? 64
                                   : !ordered         ? 0
                                   : comm.rank() == 0 ? 64
                                                      : 48)
        << "the first of four planes of even points lies at the rank below";
    for (std::size_t position = 0; position < order.size(); ++position)
      EXPECT_EQ(flags[static_cast<std::size_t>(order[position])],
                static_cast<std::int64_t>(position) >= injection.free_rows);
    std::sort(order.begin(), order.end());
    std::vector<double> all(order.size());
    std::iota(all.begin(), all.end(), 0.0);
    EXPECT_EQ(std::vector<double>(order.begin(), order.end()), all);
  }
}

template <class Space>
struct Distributed : testing::Test {};
TYPED_TEST_SUITE(Distributed, Spaces, SpaceNames);

TYPED_TEST(Distributed, MultipliesAnyMatrixInAnyPartition) {
  for (int const widest : {1, 5, 40})
    for (auto const method : methods) expect_products<TypeParam>(MPI_COMM_WORLD, widest, method);
}
TYPED_TEST(Distributed, SweepsWithTheOtherRanksOldValues) {
  for (int const widest : {1, 3, 12, 40})
    for (auto const method : methods) expect_sweeps<TypeParam>(MPI_COMM_WORLD, widest, method);
}
TYPED_TEST(Distributed, SweepsAnyColoursBesideTheExchange) {
  for (int const widest : {1, 12, 40})
    for (auto const method : methods) expect_any_overlap<TypeParam>(widest, method);
}
TYPED_TEST(Distributed, WorksOnACommunicatorThatIsNotTheWorld) {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);  // in the opposite order
  expect_products<TypeParam>(part, 9, ColouringMethod::Greedy);
  expect_sweeps<TypeParam>(part, 9, ColouringMethod::Greedy);
  MPI_Comm_free(&part);
}
TYPED_TEST(Distributed, HoldsTheBenchmarksProblem) { expect_stencil<TypeParam>(); }
TYPED_TEST(Distributed, RestrictsRowsThatReadNoHaloFirst) { expect_free_rows_first<TypeParam>(); }
TYPED_TEST(Distributed, Fp8HoldsItsValuesExactly) {
  expect_fp8_equals_bf16<TypeParam, float>();
  expect_fp8_equals_bf16<TypeParam, double>();
}
TYPED_TEST(Distributed, AllRanksThrowTheSame) { expect_errors_agreed<TypeParam>(); }
TYPED_TEST(Distributed, RefusesRowsThatAreNotWhole) { expect_whole_rows<TypeParam>(); }

TEST(StencilProblem, NeighbourlyPositionsAreAPermutationInBundlesOfLines) {
  for (auto const& [nx, ny, nz] : {std::array{4, 8, 8}, std::array{3, 5, 7}, std::array{1, 1, 9}}) {
    StencilProblem const problem{nx, ny, nz};
    std::vector<std::int64_t> row_of(static_cast<std::size_t>(problem.rows()), -1);
    for (std::int64_t row = 0; row < problem.rows(); ++row)
      row_of.at(static_cast<std::size_t>(problem.neighbourly_position(row))) = row;
    EXPECT_EQ(std::count(row_of.begin(), row_of.end(), -1), 0);
  }
  StencilProblem const problem{4, 8, 8};
  EXPECT_EQ(problem.neighbourly_position(4 * 3), 4 * 3);   // the fourth line of the first bundle
  EXPECT_EQ(problem.neighbourly_position(4 * 8), 4 * 4);   // one level up, in the same bundle
  EXPECT_EQ(problem.neighbourly_position(4 * 4 + 2), 66);  // the first line of the second bundle
}

}  // namespace
