// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include "sparse/StrataTest_Sparse.hpp"
#include <sparse/matrix/Strata_KernelsMatrix.hpp>

#include <KokkosSparse_CrsMatrix.hpp>

#include <gtest/gtest.h>

#include <map>

// Matrices of Kokkos Kernels in and out, in every type of ordinal and offset that programs use.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

constexpr std::int64_t rows_per_rank = 60;

/// This rank's rows as a CrsMatrix over host vectors, which it keeps.
template <class Exec, class Value, class Ordinal, class Offset, class Traits = void>
struct Owned {
  using Crs = KokkosSparse::CrsMatrix<Value, Ordinal, Exec, Traits, Offset>;
  typename Crs::values_type::non_const_type values;
  typename Crs::index_type::non_const_type entries;
  typename Crs::row_map_type::non_const_type row_map;

  Owned(Communicator const& comm, int widest) {
    std::int64_t const n = rows_per_rank * comm.size(), first = rows_per_rank * comm.rank();
    auto const rows = listed(rows_per_rank, RandomRows{n, widest, 1, first});
    std::size_t count = 0;
    for (auto const& row : rows) count += row.size();
    values = decltype(values)("strata::test::values", count);
    entries = decltype(entries)("strata::test::entries", count);
    row_map = decltype(row_map)("strata::test::row_map", rows.size() + 1);
    auto const a = Kokkos::create_mirror_view(values);
    auto const j = Kokkos::create_mirror_view(entries);
    auto const begin = Kokkos::create_mirror_view(row_map);
    std::size_t at = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (auto const& [column, value] : rows[i]) {
        j(at) = static_cast<Ordinal>(column);
        a(at++) = static_cast<Value>(value);
      }
      begin(i + 1) = static_cast<Offset>(at);
    }
    Kokkos::deep_copy(values, a);
    Kokkos::deep_copy(entries, j);
    Kokkos::deep_copy(row_map, begin);
  }

  template <class Matrix = Crs>
  Matrix matrix(Communicator const& comm) const {
    return Matrix("strata::test::crs", static_cast<Ordinal>(rows_per_rank),
                  static_cast<Ordinal>(rows_per_rank * comm.size()),
                  static_cast<Offset>(values.extent(0)),
                  typename Matrix::values_type(values.data(), values.extent(0)),
                  typename Matrix::row_map_type(row_map.data(), row_map.extent(0)),
                  typename Matrix::index_type(entries.data(), entries.extent(0)));
  }
};

/// The same matrix with each position once, in ascending columns, and no zeros.
RowList merged(RowList const& rows) {
  RowList result(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::map<std::int64_t, double> row;
    for (auto const& [column, value] : rows[i]) row[column] += value;
    for (auto const& [column, value] : row)
      if (value != 0) result[i].emplace_back(column, value);
  }
  return result;
}

template <class Crs>
RowList listed_crs(Crs const& A) {
  using Kokkos::create_mirror_view_and_copy;
  auto const begin = create_mirror_view_and_copy(Kokkos::HostSpace(), A.graph.row_map);
  auto const column = create_mirror_view_and_copy(Kokkos::HostSpace(), A.graph.entries);
  auto const value = create_mirror_view_and_copy(Kokkos::HostSpace(), A.values);
  RowList rows(static_cast<std::size_t>(A.numRows()));
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (auto k = begin(i); k < begin(i + 1); ++k)
      rows[i].emplace_back(static_cast<std::int64_t>(column(k)), static_cast<double>(value(k)));
  return rows;
}

template <class Exec, class Value, class Ordinal, class Offset>
void expect_round_trip() {
  Exec const exec;
  auto const comm = test_ranks();
  Owned<Exec, Value, Ordinal, Offset> const owned(comm, 9);
  using Crs = typename Owned<Exec, Value, Ordinal, Offset>::Crs;
  using Unmanaged = KokkosSparse::CrsMatrix<Value, Ordinal, Exec,
                                            Kokkos::MemoryTraits<Kokkos::Unmanaged>, Offset>;
  auto const unmanaged = owned.template matrix<Unmanaged>(comm);
  CrsRows<Unmanaged> const source{unmanaged};
  EXPECT_EQ(source.matrix.values.data(), owned.values.data());  // read in place
  EXPECT_EQ(source.matrix.graph.entries.data(), owned.entries.data());
  auto const A = make_matrix(exec, comm, unmanaged);
  EXPECT_EQ(A.rows(), rows_per_rank);
  EXPECT_EQ(A.global_rows(), rows_per_rank * comm.size());
  auto const expected = merged(listed_crs(owned.matrix(comm)));
  auto const back = to_kernels<Crs>(exec, A);
  EXPECT_EQ(back.numCols(), static_cast<Ordinal>(A.global_rows()));
  EXPECT_EQ(merged(listed_crs(back)), expected);
  // Out in one set of types, in again in another.
  using Other = KokkosSparse::CrsMatrix<double, std::int64_t, Exec, void, std::size_t>;
  auto const again = make_matrix(exec, comm, to_kernels<Other>(exec, A));
  EXPECT_EQ(merged(listed_crs(to_kernels<Crs>(exec, again))), expected);
  // Other values beside it.
  auto const values = Kokkos::create_mirror_view(owned.values);
  Kokkos::deep_copy(values, owned.values);
  for (std::size_t k = 0; k < values.extent(0); ++k) values(k) *= static_cast<Value>(1 + k % 3);
  Kokkos::deep_copy(owned.values, values);
  auto const beside = make_matrix(exec, A, unmanaged);
  EXPECT_EQ(beside.global_entries(), A.global_entries());
  EXPECT_EQ(merged(listed_crs(to_kernels<Crs>(exec, beside))),
            merged(listed_crs(to_kernels<Crs>(exec, make_matrix(exec, comm, unmanaged)))));
}

template <class Exec>
void expect_limits() {
  Exec const exec;
  auto const comm = test_ranks();
  using Crs = KokkosSparse::CrsMatrix<double, int, Exec, void, std::size_t>;
  Owned<Exec, double, int, std::size_t> const owned(comm, 9);
  auto const A = make_matrix(exec, comm, owned.matrix(comm));
  using Small = KokkosSparse::CrsMatrix<double, int, Exec, void, std::int8_t>;
  ASSERT_GT(A.global_entries(), 127 * comm.size());  // on some rank more than that
  EXPECT_TRUE(throws_with<ShapeError>("entries, the offset type counts to 127",
                                      [&] { (void)to_kernels<Small>(exec, A); }));
  using Narrow = KokkosSparse::CrsMatrix<double, std::int8_t, Exec, void, std::size_t>;
  std::int64_t const many = 200;
  HostRows rows;
  for (std::int64_t i = 0; i < (comm.rank() == 0 ? many : 0); ++i) {
    rows.add(i, 1);
    rows.end_row();
  }
  auto const wide = make_matrix(exec, comm, rows);
  EXPECT_TRUE(throws_with<ShapeError>("200 columns, the ordinal type counts to 127",
                                      [&] { (void)to_kernels<Narrow>(exec, wide); }));
  auto const square = owned.matrix(comm);
  Crs const bad("strata::test::bad", static_cast<int>(rows_per_rank), 7, square.nnz(),
                square.values, square.graph.row_map, square.graph.entries);
  EXPECT_TRUE(throws_with<ShapeError>("CrsMatrix of 60 x 7: the ranks have",
                                      [&] { (void)make_matrix(exec, comm, bad); }));
  auto const empty = make_matrix(exec, Communicator(), Crs());
  EXPECT_EQ(empty.global_rows(), 0);
  EXPECT_EQ(to_kernels<Crs>(exec, empty).nnz(), 0u);
}

template <class Space>
struct KernelsMatrixOn : testing::Test {};
TYPED_TEST_SUITE(KernelsMatrixOn, Spaces, SpaceNames);

TYPED_TEST(KernelsMatrixOn, ComesAndGoesInAnyOrdinalAndOffset) {
  expect_round_trip<TypeParam, double, int, int>();
  expect_round_trip<TypeParam, double, int, std::size_t>();
  expect_round_trip<TypeParam, double, std::int64_t, int>();
  expect_round_trip<TypeParam, double, std::int64_t, std::size_t>();
  expect_round_trip<TypeParam, float, int, std::size_t>();
}
TYPED_TEST(KernelsMatrixOn, SaysWhatDoesNotFit) { expect_limits<TypeParam>(); }

}  // namespace
