// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include "sparse/StrataTest_Sparse.hpp"
#include <core/io/Strata_MatrixMarket.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>
#include <sparse/matrix/detail/Strata_RowExchange.hpp>
#include <sparse/products/detail/Strata_SpGemm.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <map>

// Rows on the host, over any ranks, against the same on whole matrices on each rank.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

using Table = std::map<std::pair<std::int64_t, std::int64_t>, double>;

Table table_of(HostRows const& rows, std::int64_t first) {
  Table table;
  for (std::int64_t i = 0; i < rows.rows(); ++i)
    for (auto k = rows.begin[static_cast<std::size_t>(i)];
         k < rows.begin[static_cast<std::size_t>(i) + 1]; ++k)
      table[{first + i, rows.column[static_cast<std::size_t>(k)]}] +=
          rows.value[static_cast<std::size_t>(k)];
  return table;
}

/// Rows [first, end) of a random matrix with `cols` columns; small integers, so that sums are
/// exact.
HostRows random_rows(std::int64_t first, std::int64_t end, std::int64_t cols, std::uint64_t seed) {
  HostRows rows;
  for (std::int64_t i = first; i < end; ++i) {
    auto const length = random_bits(seed, i) % 6;
    for (std::uint64_t k = 0; k < length; ++k)
      rows.add(static_cast<std::int64_t>(random_bits(seed, i, 2 * k + 1) %
                                         static_cast<std::uint64_t>(cols)),
               static_cast<double>(random_bits(seed, i, 2 * k + 2) % 9) - 4);
    rows.end_row();
  }
  return rows;
}

struct Spread {
  Communicator comm = test_ranks();
  std::vector<std::int64_t> of_rows = even_partition(37, comm.size()),
                            of_inner = even_partition(23, comm.size()),
                            of_cols = even_partition(5, comm.size());
  std::size_t rank = static_cast<std::size_t>(comm.rank());
};

TEST(RowExchange, SpreadsRowsEvenly) {
  EXPECT_EQ(even_partition(7, 3), (std::vector<std::int64_t>{0, 3, 5, 7}));
  EXPECT_EQ(even_partition(2, 4), (std::vector<std::int64_t>{0, 1, 2, 2, 2}));
  EXPECT_EQ(even_partition(0, 2), (std::vector<std::int64_t>{0, 0, 0}));
}

TEST(HostRows, AreBothTrianglesInTheFilesOrder) {
  // 1 . 4     listed as (2,0) 4, (0,0) 1, (2,2) 3
  // . . .
  // 4 . 3
  CoordinateMatrix A{3, 3, true, {2, 0, 2}, {0, 0, 2}, {4, 1, 3}};
  auto const rows = host_rows(A);
  EXPECT_EQ(rows.begin, (std::vector<std::int64_t>{0, 2, 2, 4}));
  EXPECT_EQ(rows.column, (std::vector<std::int64_t>{2, 0, 0, 2}));
  EXPECT_EQ(rows.value, (std::vector<double>{4, 1, 4, 3}));
  A.symmetric = false;
  EXPECT_EQ(host_rows(A).begin, (std::vector<std::int64_t>{0, 1, 1, 3}));
  EXPECT_EQ(host_rows({}).rows(), 0);
}

TEST(HostRows, TellHowManyUnknownsANodeHas) {
  Communicator const comm;
  HostRows blocks;  // two full blocks of order 2 on the diagonal
  for (std::int64_t i = 0; i < 4; ++i) {
    blocks.add(i / 2 * 2, 1);
    blocks.add(i / 2 * 2 + 1, 1);
    blocks.end_row();
  }
  EXPECT_EQ(likely_block_size(comm, 4, blocks), 2);
  EXPECT_EQ(likely_block_size(comm, 5, blocks), 1);  // a node would have no second unknown
  blocks.column.pop_back(), blocks.value.pop_back();
  --blocks.begin.back();
  EXPECT_EQ(likely_block_size(comm, 4, blocks), 2);  // an eighth is empty
  blocks.column.pop_back(), blocks.value.pop_back();
  --blocks.begin.back();
  EXPECT_EQ(likely_block_size(comm, 4, blocks), 1);  // a quarter
}

TEST(RowExchange, ScattersFetchesAndTransposes) {
  Spread const s;
  auto const whole = random_rows(0, 37, 23, 1);
  auto const mine = scattered(s.comm, s.of_rows, s.comm.rank() == 0 ? whole : HostRows());
  EXPECT_EQ(
      table_of(mine, s.of_rows[s.rank]),
      table_of(random_rows(s.of_rows[s.rank], s.of_rows[s.rank + 1], 23, 1), s.of_rows[s.rank]));
  std::vector<std::int64_t> wanted;
  for (std::int64_t row = 0; row < 37; row += 3)
    if (row < s.of_rows[s.rank] || row >= s.of_rows[s.rank + 1]) wanted.push_back(row);
  auto const others = sparse::detail::fetched(s.comm, s.of_rows, wanted, mine);
  ASSERT_EQ(s.comm.size() == 1 ? 0 : static_cast<std::int64_t>(wanted.size()), others.rows());
  for (std::int64_t k = 0; k < others.rows(); ++k) {
    auto const row = wanted[static_cast<std::size_t>(k)];
    HostRows one;
    std::vector<double> message;
    sparse::detail::pack_row(others, k, message);
    sparse::detail::unpack_rows(message, one);
    EXPECT_EQ(table_of(one, row), table_of(random_rows(row, row + 1, 23, 1), row));
  }
  auto const T = sparse::detail::transposed(s.comm, s.of_rows, s.of_inner, mine);
  Table expected;
  for (auto const& [position, value] : table_of(whole, 0))
    if (position.second >= s.of_inner[s.rank] && position.second < s.of_inner[s.rank + 1])
      expected[{position.second, position.first}] = value;
  EXPECT_EQ(table_of(T, s.of_inner[s.rank]), expected);
  EXPECT_EQ(T.rows(), s.of_inner[s.rank + 1] - s.of_inner[s.rank]);
}

TEST(RowExchange, RefusesToScatterAnotherNumberOfRows) {
  Spread const s;
  EXPECT_TRUE(throws_with<ValueError>("3 rows, the ranks expect 37", [&] {
    (void)scattered(s.comm, s.of_rows, random_rows(0, 3, 5, 1));
  }));
}

template <class Space>
struct SpGemmTest : testing::Test {};
TYPED_TEST_SUITE(SpGemmTest, Spaces, SpaceNames);

TYPED_TEST(SpGemmTest, IsTheProductOfTheWholeMatrices) {
  Spread const s;
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    auto const A = random_rows(0, 37, 23, seed), B = random_rows(0, 23, 5, seed + 10);
    Table expected;
    auto const b = table_of(B, 0);
    for (auto const& [at, value] : table_of(A, 0))
      if (at.first >= s.of_rows[s.rank] && at.first < s.of_rows[s.rank + 1])
        for (auto const& [bt, other] : b)
          if (bt.first == at.second) expected[{at.first, bt.second}] += value * other;
    auto const C = sparse::detail::spgemm(
        TypeParam(), s.comm, s.of_inner, s.of_cols,
        random_rows(s.of_rows[s.rank], s.of_rows[s.rank + 1], 23, seed),
        random_rows(s.of_inner[s.rank], s.of_inner[s.rank + 1], 5, seed + 10));
    EXPECT_EQ(C.rows(), s.of_rows[s.rank + 1] - s.of_rows[s.rank]);
    EXPECT_EQ(table_of(C, s.of_rows[s.rank]), expected) << seed;
  }
}

TYPED_TEST(SpGemmTest, GivesBackTheRowsOfAMatrix) {
  TypeParam const exec;
  Spread const s;
  std::int64_t const first = s.of_rows[s.rank], end = s.of_rows[s.rank + 1];
  auto const rows = random_rows(first, end, 37, 3);
  auto const A = make_matrix(exec, s.comm, rows);
  auto without_zeros = table_of(rows_of(exec, A), first), expected = table_of(rows, first);
  std::erase_if(without_zeros, [](auto const& entry) { return entry.second == 0; });
  std::erase_if(expected, [](auto const& entry) { return entry.second == 0; });
  EXPECT_EQ(without_zeros, expected);
}

}  // namespace
