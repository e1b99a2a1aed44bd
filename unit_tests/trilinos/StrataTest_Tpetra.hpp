// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_TPETRA_HPP
#define STRATATEST_TPETRA_HPP

#include "StrataTest_Matchers.hpp"
#include "sparse/StrataTest_Sparse.hpp"

#include <Teuchos_DefaultMpiComm.hpp>
#include <Tpetra_CrsMatrix.hpp>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace strata::test {

using Matrix = Tpetra::CrsMatrix<double>;
using MultiVector = Tpetra::MultiVector<double>;
using Operator = Tpetra::Operator<double>;
using Map = Tpetra::Map<>;
using Global = Matrix::global_ordinal_type;
using Local = Matrix::local_ordinal_type;
using Exec = Matrix::node_type::execution_space;
using Teuchos::RCP;
using Teuchos::rcp;

inline RCP<Teuchos::Comm<int> const> world() {
  return rcp(new Teuchos::MpiComm<int>(MPI_COMM_WORLD));
}

enum class Layout { Contiguous, Cyclic, OneRankEmpty };

/// Row `row` of n has this global index; its owner is the rank that `layout` says.
inline Global index_of(Layout layout, std::int64_t row) {
  return static_cast<Global>(layout == Layout::Cyclic ? 5 * row + 3 : row);
}

inline RCP<Map const> make_map(RCP<Teuchos::Comm<int> const> const& comm, Layout layout,
                               std::int64_t n) {
  int const rank = comm->getRank(), size = comm->getSize();
  std::vector<Global> mine;
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t const row = layout == Layout::Cyclic ? n - 1 - i : i;  // descending, with gaps
    std::int64_t owner = layout == Layout::Cyclic ? row % size : row * size / n;
    if (layout == Layout::OneRankEmpty) owner = size == 1 ? 0 : 1 + row * (size - 1) / n;
    if (owner == rank) mine.push_back(index_of(layout, row));
  }
  return rcp(new Map(Teuchos::OrdinalTraits<Tpetra::global_size_t>::invalid(),
                     Teuchos::arrayViewFromVector(mine), 0, comm));
}

/// The matrix whose rows `rows` lists, on this map.
inline RCP<Matrix> make_tpetra(RCP<Map const> const& map, Layout layout, RowList const& rows) {
  auto const A = rcp(new Matrix(map, 64));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const row = index_of(layout, static_cast<std::int64_t>(i));
    if (!map->isNodeGlobalElement(row)) continue;
    for (auto const& [column, value] : rows[i])
      A->insertGlobalValues(row, Teuchos::tuple(index_of(layout, column)), Teuchos::tuple(value));
  }
  A->fillComplete();
  return A;
}

/// -1, 2 + shift, -1.
inline RowList tridiagonal(std::int64_t n, double shift = 0.1) {
  RowList rows(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    auto& row = rows[static_cast<std::size_t>(i)];
    if (i > 0) row.emplace_back(i - 1, -1.0);
    row.emplace_back(i, 2.0 + shift);
    if (i + 1 < n) row.emplace_back(i + 1, -1.0);
  }
  return rows;
}

inline RCP<MultiVector> vectors_on(RCP<Map const> const& map, std::size_t count) {
  auto const X = rcp(new MultiVector(map, count));
  for (std::size_t j = 0; j < count; ++j)
    for (std::size_t i = 0; i < map->getLocalNumElements(); ++i)
      X->replaceLocalValue(
          static_cast<Local>(i), j,
          std::sin(1.0 + static_cast<double>(j) + map->getGlobalElement(static_cast<Local>(i))));
  return X;
}

/// The largest |x - y| over all entries of all ranks.
inline double distance(MultiVector const& X, MultiVector const& Y) {
  MultiVector D(X, Teuchos::Copy);
  D.update(-1, Y, 1);
  std::vector<double> norm(D.getNumVectors());
  D.normInf(Teuchos::arrayViewFromVector(norm));
  double most = 0;
  for (double const value : norm) most = std::isnan(value) || value > most ? value : most;
  return most;
}

/// max_j ||b_j - A x_j|| / ||b_j||
inline double relative_residual(Operator const& A, MultiVector const& X, MultiVector const& B) {
  MultiVector R(B, Teuchos::Copy);
  A.apply(X, R, Teuchos::NO_TRANS, -1, 1);
  std::vector<double> r(R.getNumVectors()), b(R.getNumVectors());
  R.norm2(Teuchos::arrayViewFromVector(r));
  B.norm2(Teuchos::arrayViewFromVector(b));
  double most = 0;
  for (std::size_t j = 0; j < r.size(); ++j) most = std::max(most, r[j] / b[j]);
  return most;
}

}  // namespace strata::test

#endif
