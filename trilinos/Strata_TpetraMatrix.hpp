// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TRILINOS_TPETRA_MATRIX_HPP
#define STRATA_TRILINOS_TPETRA_MATRIX_HPP

#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <trilinos/Strata_TeuchosCommunicator.hpp>

#include <Tpetra_CrsMatrix.hpp>

#include <cstdint>
#include <type_traits>
#include <vector>

namespace strata::trilinos {

/// The matrix that is copied.
template <class LO, class GO, class Node>
using TpetraMatrix = Tpetra::CrsMatrix<double, LO, GO, Node>;
/// Right-hand sides and solutions.
template <class LO, class GO, class Node>
using TpetraVectors = Tpetra::MultiVector<double, LO, GO, Node>;

namespace detail {

/// The rows of a Tpetra matrix with Strata's global columns (row source); nothing is copied.
template <class LocalMatrix, class Space>
struct TpetraRows {
  LocalMatrix matrix;
  sparse::Vector<std::int64_t, Space> column;  ///< global column of each column of the column map

  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Emit const& emit) const {
    for (auto k = matrix.graph.row_map(row); k < matrix.graph.row_map(row + 1); ++k)
      emit(column(matrix.graph.entries(k)), static_cast<double>(matrix.values(k)));
  }
};

/// Throws ValueError or ShapeError on all ranks unless `A` is a matrix that Strata can take.
/// Collective.
template <class LO, class GO, class Node>
void require_usable(sparse::Communicator const& comm, TpetraMatrix<LO, GO, Node> const& A) {
  comm.agree([&] {
    STRATA_REQUIRE(ValueError, A.isFillComplete(),
                   "the Tpetra matrix is not fill-complete: call fillComplete() first");
    STRATA_REQUIRE(
        ShapeError,
        A.getRangeMap()->getGlobalNumElements() == A.getDomainMap()->getGlobalNumElements(),
        "the Tpetra matrix is ", A.getRangeMap()->getGlobalNumElements(), " x ",
        A.getDomainMap()->getGlobalNumElements(), ", must be square");
  });
  auto const rows = A.getRowMap();
  bool const same = rows->isSameAs(*A.getDomainMap()) && rows->isSameAs(*A.getRangeMap());
  STRATA_REQUIRE(
      ValueError, same,
      "the Tpetra matrix' domain and range maps must be its row map (the same global "
      "indices in the same order on each rank); redistribute it with an Import or Export");
  STRATA_REQUIRE(ValueError, rows->isOneToOne(),
                 "the Tpetra matrix' row map has a row on several ranks; make it one-to-one");
}

/// Strata's number of each column of `A` on this rank: the row's number there, rank by rank.
/// Collective.
template <class LO, class GO, class Node>
std::vector<std::int64_t> strata_columns(sparse::Communicator const& comm,
                                         TpetraMatrix<LO, GO, Node> const& A) {
  auto const rows = A.getRowMap(), columns = A.getColMap();
  std::vector<std::int64_t> first{0};
  for (auto const count : comm.gather(static_cast<std::int64_t>(rows->getLocalNumElements())))
    first.push_back(first.back() + count);
  auto const count = columns->getLocalNumElements();
  std::vector<std::int64_t> number(count);
  std::vector<std::size_t> elsewhere;
  std::vector<GO> halo;
  for (std::size_t j = 0; j < count; ++j) {
    auto const global = columns->getGlobalElement(static_cast<LO>(j));
    auto const local = rows->getLocalElement(global);
    if (local != Teuchos::OrdinalTraits<LO>::invalid()) {
      number[j] = first[static_cast<std::size_t>(comm.rank())] + static_cast<std::int64_t>(local);
    } else {
      elsewhere.push_back(j);
      halo.push_back(global);
    }
  }
  std::vector<int> owner(halo.size());
  std::vector<LO> position(halo.size());
  auto const status = rows->getRemoteIndexList(
      Teuchos::ArrayView<GO const>(halo.data(), static_cast<Teuchos::Ordinal>(halo.size())),
      Teuchos::ArrayView<int>(owner.data(), static_cast<Teuchos::Ordinal>(owner.size())),
      Teuchos::ArrayView<LO>(position.data(), static_cast<Teuchos::Ordinal>(position.size())));
  comm.agree([&] {
    STRATA_REQUIRE(ValueError, status == Tpetra::AllIDsPresent,
                   "the Tpetra matrix has columns that its row map lacks");
  });
  for (std::size_t k = 0; k < halo.size(); ++k)
    number[elsewhere[k]] =
        first[static_cast<std::size_t>(owner[k])] + static_cast<std::int64_t>(position[k]);
  return number;
}

}  // namespace detail

/// The distributed matrix with a Tpetra matrix' rows, on the same ranks.
///
/// Shape    square; domain and range map are the row map, which may be any one-to-one map,
///          contiguous or not, with ranks without rows. Row i of this rank is the row map's local
///          index i.
/// Result   a copy in Strata's format: later changes of A are not seen. The rows are read in place.
/// Sync     collective; fences `exec`, which must be the instance that Tpetra works on (its default
///          one).
/// Throws   ValueError if A is not fill-complete or its maps are others; ShapeError if it is not
///          square; ValueError from `communicator_of`; also what DistributedMatrix throws; on all
///          ranks.
template <class Exec, class LO, class GO, class Node>
sparse::DistributedMatrix<Exec> make_matrix(Exec const& exec, TpetraMatrix<LO, GO, Node> const& A,
                                            sparse::MatrixOptions const& options = {}) {
  using Space = typename Exec::memory_space;
  static_assert(std::is_same_v<typename Node::memory_space, Space>,
                "the Tpetra node's memory space must be the execution space's");
  Region const region(exec, "strata::trilinos::make_matrix");
  auto const comm = communicator_of(*A.getComm());
  detail::require_usable(comm, A);
  auto const columns = detail::strata_columns(comm, A);
  using Local = typename TpetraMatrix<LO, GO, Node>::local_matrix_device_type;
  detail::TpetraRows<Local, Space> source;
  comm.agree([&] {
    using Host = Kokkos::View<std::int64_t const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
    source.matrix = A.getLocalMatrixDevice();
    source.column = sparse::Vector<std::int64_t, Space>(
        Kokkos::view_alloc(exec, Kokkos::WithoutInitializing,
                           "strata::trilinos::make_matrix::column"),
        columns.size());
    Kokkos::deep_copy(exec, source.column, Host(columns.data(), columns.size()));
    exec.fence("strata::trilinos::make_matrix::columns");
  });
  return sparse::DistributedMatrix<Exec>(exec, comm, static_cast<std::int64_t>(A.getLocalNumRows()),
                                         source, options);
}

/// x = column j of X in the matrix' order, in Scalar. Sync: enqueued on `exec`, Tpetra's instance.
template <class Exec, class Scalar, class LO, class GO, class Node>
void gather(Exec const& exec, sparse::DistributedMatrix<Exec> const& A,
            TpetraVectors<LO, GO, Node> const& X, std::size_t j,
            sparse::Vector<Scalar, typename Exec::memory_space> const& x) {
  auto const column = X.getVector(j)->getLocalViewDevice(Tpetra::Access::ReadOnly);
  auto const old_row = A.order().old_row;
  Kokkos::parallel_for(
      "strata::trilinos::gather",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int64_t i) { x(i) = static_cast<Scalar>(column(old_row(i), 0)); });
}

/// Column j of Y = alpha x + beta Y from the matrix' order; beta = 0 overwrites. Sync as `gather`.
template <class Exec, class Scalar, class LO, class GO, class Node>
void scatter(Exec const& exec, sparse::DistributedMatrix<Exec> const& A, double alpha,
             sparse::Vector<Scalar, typename Exec::memory_space> const& x, double beta,
             TpetraVectors<LO, GO, Node>& Y, std::size_t j) {
  auto const vector = Y.getVectorNonConst(j);
  auto const column = beta == 0 ? vector->getLocalViewDevice(Tpetra::Access::OverwriteAll)
                                : vector->getLocalViewDevice(Tpetra::Access::ReadWrite);
  auto const new_row = A.order().new_row;
  Kokkos::parallel_for(
      "strata::trilinos::scatter",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int64_t i) {
        double const value = alpha * static_cast<double>(x(new_row(i)));
        column(i, 0) = beta == 0 ? value : value + beta * column(i, 0);
      });
}

/// Throws ShapeError on all ranks unless the vectors are on the matrix' row map, X and Y alike in
/// number. Collective.
template <class LO, class GO, class Node>
void require_vectors(sparse::Communicator const& comm, Tpetra::Map<LO, GO, Node> const& rows,
                     TpetraVectors<LO, GO, Node> const& X, TpetraVectors<LO, GO, Node> const& Y) {
  comm.agree([&] {
    STRATA_REQUIRE(ShapeError, X.getNumVectors() == Y.getNumVectors(), "X has ", X.getNumVectors(),
                   " vectors, Y has ", Y.getNumVectors());
  });
  bool const same = rows.isSameAs(*X.getMap()) && rows.isSameAs(*Y.getMap());
  STRATA_REQUIRE(
      ShapeError, same, "the vectors have ", X.getGlobalLength(), " and ", Y.getGlobalLength(),
      " entries and must be on the row map of the matrix, which has ", rows.getGlobalNumElements());
}

}  // namespace strata::trilinos

#endif
