// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Tpetra.hpp"
#include <trilinos/Strata_TpetraMatrix.hpp>

#include <Teuchos_DefaultSerialComm.hpp>

// The distributed matrix of the sparse module against Tpetra's own product, on maps of every kind.

namespace {

using namespace strata;
using namespace strata::test;

void expect_same_product(RCP<Teuchos::Comm<int> const> const& comm, Layout layout, std::int64_t n,
                         int widest) {
  auto const map = make_map(comm, layout, n);
  auto const A = make_tpetra(map, layout, listed(n, RandomRows{n, widest}));
  Exec const exec;
  auto const S = trilinos::make_matrix(exec, *A);
  EXPECT_EQ(S.global_rows(), n);
  EXPECT_EQ(S.rows(), static_cast<std::int64_t>(map->getLocalNumElements()));
  EXPECT_EQ(S.global_entries(), static_cast<std::int64_t>(A->getGlobalNumEntries()));
  EXPECT_EQ(S.comm().size(), comm->getSize());
  EXPECT_EQ(S.comm().rank(), comm->getRank());
  auto const X = vectors_on(map, 2), Y = rcp(new MultiVector(map, 2)), Z = vectors_on(map, 2);
  MultiVector expected(*Z, Teuchos::Copy);
  A->apply(*X, expected, Teuchos::NO_TRANS, 0.5, 2);
  auto const x = S.allocate<double>(exec, "strata::test::x");
  auto const y = S.allocate<double>(exec, "strata::test::y");
  for (std::size_t j = 0; j < 2; ++j) {
    trilinos::gather(exec, S, *X, j, x);
    S.multiply(exec, x, y);
    trilinos::scatter(exec, S, 0.5, y, 2, *Z, j);
  }
  EXPECT_LT(distance(*Z, expected), 1e-10);
}

TEST(TpetraMatrix, MultipliesAsTpetraDoesOnAnyMap) {
  for (auto const layout : {Layout::Contiguous, Layout::Cyclic, Layout::OneRankEmpty})
    for (std::int64_t const n : {std::int64_t(1), std::int64_t(3), std::int64_t(211)})
      expect_same_product(world(), layout, n, 9);
}

TEST(TpetraMatrix, WorksOnACommunicatorThatIsNotTheWorld) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);  // in the opposite order
  expect_same_product(rcp(new Teuchos::MpiComm<int>(part)), Layout::Cyclic, 60, 7);
  expect_same_product(rcp(new Teuchos::SerialComm<int>), Layout::Cyclic, 40, 5);
  MPI_Comm_free(&part);
}

TEST(TpetraMatrix, OverwritesWithoutReadingWhereBetaIsZero) {
  auto const map = make_map(world(), Layout::Contiguous, 20);
  auto const A = make_tpetra(map, Layout::Contiguous, tridiagonal(20));
  Exec const exec;
  auto const S = trilinos::make_matrix(exec, *A);
  auto const x = S.allocate<float>(exec, "strata::test::x");
  Kokkos::deep_copy(exec, x, 3.0f);
  MultiVector Y(map, 1), expected(map, 1);
  Y.putScalar(std::nan(""));
  expected.putScalar(6);
  trilinos::scatter(exec, S, 2, x, 0, Y, 0);
  EXPECT_EQ(distance(Y, expected), 0);
}

TEST(TpetraMatrix, RefusesWhatItCannotTake) {
  auto const comm = world();
  auto const map = make_map(comm, Layout::Contiguous, 12);
  Exec const exec;
  Matrix const open(map, 3);
  EXPECT_TRUE(throws_with<ValueError>("not fill-complete: call fillComplete() first",
                                      [&] { (void)trilinos::make_matrix(exec, open); }));
  Matrix wide(map, 3);
  wide.fillComplete(make_map(comm, Layout::Contiguous, 15), map);
  EXPECT_TRUE(throws_with<ShapeError>("is 12 x 15, must be square",
                                      [&] { (void)trilinos::make_matrix(exec, wide); }));
  Matrix other(map, 3);
  other.fillComplete(make_map(comm, Layout::Cyclic, 12), map);
  EXPECT_TRUE(throws_with<ValueError>("domain and range maps must be its row map",
                                      [&] { (void)trilinos::make_matrix(exec, other); }));
}

TEST(TpetraMatrix, RefusesVectorsOnOtherMaps) {
  auto const comm = world();
  auto const map = make_map(comm, Layout::Contiguous, 12);
  sparse::Communicator const ranks(MPI_COMM_WORLD);
  MultiVector const X(map, 2), one(map, 1), longer(make_map(comm, Layout::Contiguous, 13), 2);
  EXPECT_NO_THROW(trilinos::require_vectors(ranks, *map, X, X));
  EXPECT_TRUE(throws_with<ShapeError>("X has 2 vectors, Y has 1",
                                      [&] { trilinos::require_vectors(ranks, *map, X, one); }));
  EXPECT_TRUE(throws_with<ShapeError>("have 12 and 13 entries",
                                      [&] { trilinos::require_vectors(ranks, *map, X, longer); }));
}

}  // namespace
