// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include "sparse/StrataTest_Sparse.hpp"
#include <sparse/matrix/Strata_HostRows.hpp>
#include <sparse/multigrid/Strata_GaussSeidelSweeps.hpp>

#include <gtest/gtest.h>

#include <cmath>

// Sweeps as a preconditioner against the sweeps of the matrix itself, in every precision.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

constexpr std::int64_t rows_per_rank = 80;

/// `factor` times a random matrix, row by row.
HostRows random_rows(Communicator const& comm, double factor) {
  HostRows rows;
  RandomRows const source{rows_per_rank * comm.size(), 9, 1, rows_per_rank * comm.rank()};
  for (auto const& row : listed(rows_per_rank, source)) {
    for (auto const& [column, value] : row) rows.add(column, factor * value);
    rows.end_row();
  }
  return rows;
}

// Of a right-hand side in the caller's order, by the matrix' twin that has sweeps.
template <class Exec>
std::vector<double> expected_sweeps(Exec const& exec, DistributedMatrix<Exec> const& given,
                                    int sweeps, Sweep sweep, std::vector<double> const& r) {
  auto const A = given.coloured(exec);
  auto const x = A.template allocate<double>(exec, "strata::test::x"),
             b = A.template allocate<double>(exec, "strata::test::b");
  auto const natural = to_device<double>(exec, r);
  A.gather(exec, natural, b);
  for (int k = 0; k < sweeps; ++k)
    A.gauss_seidel(exec, b, x, sweep, k == 0 ? Guess::Zero : Guess::Given);
  A.scatter(exec, x, natural);
  return to_host(exec, natural);
}

template <class Exec, class Scalar>
void expect_sweeps(RowOrder order, Precision precision, double factor, double bound) {
  Exec const exec;
  auto const comm = test_ranks();
  MatrixOptions options;
  options.order = order;
  auto const A = make_matrix(exec, comm, random_rows(comm, factor), options);
  EXPECT_EQ(A.order().is_natural, order == RowOrder::Natural && comm.size() == 1);
  auto const r = random_vector(A.rows(), 3);
  for (auto const sweep : {Sweep::Forward, Sweep::Backward, Sweep::Symmetric})
    for (int const sweeps : {1, 3}) {
      GaussSeidelSweeps<Exec, Scalar> const M(exec, A, precision, sweeps, sweep);
      auto const z = A.template allocate<Scalar>(exec, "strata::test::z"),
                 b = A.template allocate<Scalar>(exec, "strata::test::b");
      auto const natural = to_device<Scalar>(exec, r);
      A.gather(exec, natural, b);
      Kokkos::deep_copy(exec, z, Scalar(std::nan("")));  // needs no values
      M.apply(exec, b, z);
      A.scatter(exec, z, natural);
      auto const actual = to_host(exec, natural),
                 expected = expected_sweeps(exec, A, sweeps, sweep, r);
      for (std::int64_t i = 0; i < A.rows(); ++i)
        ASSERT_NEAR(factor * actual[static_cast<std::size_t>(i)],
                    factor * expected[static_cast<std::size_t>(i)], bound);
      EXPECT_GT(M.bytes(), 0);
    }
}

template <class Exec, class Scalar>
void expect_sweeps(Precision precision, double factor, double bound) {
  for (auto const order : {RowOrder::Natural, RowOrder::Sweep})
    expect_sweeps<Exec, Scalar>(order, precision, factor, bound);
}

template <class Exec>
void expect_errors() {
  Exec const exec;
  auto const comm = test_ranks();
  auto const A = make_matrix(exec, comm, random_rows(comm, 1));
  using Sweeps = GaussSeidelSweeps<Exec, double>;
  EXPECT_TRUE(throws_with<ValueError>("Gauss-Seidel: 0 sweeps, must be at least 1",
                                      [&] { Sweeps const M(exec, A, Precision::fp64, 0); }));
  EXPECT_TRUE(throws_with<ValueError>("can't be stored in fp8_e5m2",
                                      [&] { Sweeps const M(exec, A, Precision::fp8_e5m2); }));
  EXPECT_TRUE(throws_with<ValueError>("can't be stored in tf32",
                                      [&] { Sweeps const M(exec, A, Precision::tf32); }));
  EXPECT_TRUE(throws_with<ValueError>("not exact in fp8_e4m3",  // scaled by its diagonal
                                      [&] { Sweeps const M(exec, A, Precision::fp8_e4m3); }));
  HostRows rows;
  for (std::int64_t i = 0; i < 4; ++i) {
    if (i != 2) rows.add(4 * comm.rank() + i, 1);
    rows.end_row();
  }
  auto const B = make_matrix(exec, comm, rows);
  EXPECT_TRUE(throws_with<ValueError>(
      "the first row that is not positive is 3 of " + std::to_string(4 * comm.size()),
      [&] { Sweeps const M(exec, B, Precision::fp64); }));
}

template <class Space>
struct GaussSeidelSweepsOn : testing::Test {};
TYPED_TEST_SUITE(GaussSeidelSweepsOn, Spaces, SpaceNames);

TYPED_TEST(GaussSeidelSweepsOn, SweepsAsTheMatrixDoes) {
  expect_sweeps<TypeParam, double>(Precision::fp64, 1, 1e-14);
  expect_sweeps<TypeParam, float>(Precision::fp32, 1, 1e-6);
  expect_sweeps<TypeParam, float>(Precision::fp16, 1, 1e-2);
}
TYPED_TEST(GaussSeidelSweepsOn, ScalesSoThatSixteenBitsHoldAnyMatrix) {
  expect_sweeps<TypeParam, float>(Precision::fp16, 0x1p40, 1e-2);
  expect_sweeps<TypeParam, float>(Precision::fp16, 0x1p-40, 1e-2);
}
TYPED_TEST(GaussSeidelSweepsOn, RefusesWhatItCannotSweep) { expect_errors<TypeParam>(); }

}  // namespace
