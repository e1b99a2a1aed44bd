// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Sparse.hpp"
#include <core/Strata_Errors.hpp>
#include <sparse/formats/detail/Strata_HostCopy.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>
#include <sparse/products/detail/Strata_HashProduct.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

// Products by hashing against sums of long doubles, row by row.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;
namespace inner = strata::sparse::detail;

/// Rows as lists, of any number of columns.
struct Listed {
  RowList rows;
  std::int64_t cols = 0;
};

template <class Exec>
inner::LocalCsr<Exec> on_device(Exec const& exec, Listed const& A) {
  HostRows host;
  for (auto const& row : A.rows) {
    for (auto const& [column, value] : row) host.add(column, value);
    host.end_row();
  }
  inner::LocalCsr<Exec> result;
  DeviceRows<Exec> const device(exec, host);
  EXPECT_EQ(inner::make_local_csr(exec, host.rows(), A.cols, device, result), 0);
  return result;
}

template <class Exec>
RowList on_host(Exec const& exec, inner::LocalCsr<Exec> const& A) {
  auto const begin = inner::to_host(exec, A.begin.view());
  auto const column = inner::to_host(exec, A.column.view());
  auto const value = inner::to_host(exec, A.value.view());
  RowList rows(static_cast<std::size_t>(A.rows));
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (auto k = static_cast<std::size_t>(begin[i]); k < static_cast<std::size_t>(begin[i + 1]);
         ++k)
      rows[i].emplace_back(column[k], value[k]);
  return rows;
}

Listed transposed(Listed const& A) {
  Listed result{RowList(static_cast<std::size_t>(A.cols)),
                static_cast<std::int64_t>(A.rows.size())};
  for (std::size_t i = 0; i < A.rows.size(); ++i)
    for (auto const& [column, value] : A.rows[i])
      result.rows[static_cast<std::size_t>(column)].emplace_back(static_cast<std::int64_t>(i),
                                                                 value);
  return result;
}

/// One entry: the sum, the sum of sizes, and how many products there are.
struct Entry {
  long double sum = 0, size = 0;
  int products = 0;
};

void expect_product(Listed const& A, Listed const& B, RowList const& C) {
  constexpr long double u = std::numeric_limits<double>::epsilon() / 2;
  ASSERT_EQ(C.size(), A.rows.size());
  for (std::size_t i = 0; i < C.size(); ++i) {
    std::map<std::int64_t, Entry> expected;
    for (auto const& [k, a] : A.rows[i])
      for (auto const& [j, b] : B.rows[static_cast<std::size_t>(k)]) {
        Entry& entry = expected[j];
        entry.sum += static_cast<long double>(a) * b;
        entry.size += std::abs(static_cast<long double>(a) * b);
        ++entry.products;
      }
    ASSERT_EQ(C[i].size(), expected.size()) << "row " << i;
    std::size_t at = 0;
    for (auto const& [column, entry] : expected) {
      EXPECT_EQ(C[i][at].first, column) << "row " << i;
      EXPECT_LE(std::abs(C[i][at].second - entry.sum), (entry.products + 1) * u * entry.size)
          << i << ", " << column;
      ++at;
    }
  }
}

/// Random entries, each row with the length that `length` gives.
template <class Length>
Listed random_matrix(std::int64_t rows, std::int64_t cols, std::uint64_t seed,
                     Length const& length) {
  Listed A{RowList(static_cast<std::size_t>(rows)), cols};
  for (std::int64_t i = 0; i < rows; ++i) {
    auto const step = static_cast<std::int64_t>(random_bits(seed, i) % 7) + 1;
    std::int64_t const count = std::min(length(i), cols);
    for (std::int64_t k = 0; k < count; ++k) {
      std::int64_t const column = count * step <= cols ? (i + k * step) % cols : (i + k) % cols;
      A.rows[static_cast<std::size_t>(i)].emplace_back(column, 2 * uniform(seed, i, k + 1) - 1);
    }
  }
  return A;
}

template <class Exec>
void expect_products(Listed const& A, Listed const& B) {
  Exec const exec;
  auto const a = on_device(exec, A), b = on_device(exec, B);
  expect_product(A, B, on_host(exec, inner::product(exec, a, b)));
  auto const of_columns = transposed(A);
  auto const index = inner::transposed_index(exec, on_device(exec, of_columns));
  auto const again = inner::product(exec, index, on_device(exec, of_columns), b);
  expect_product(transposed(of_columns), B, on_host(exec, again));
}

template <class Space>
struct HashProduct : testing::Test {};
TYPED_TEST_SUITE(HashProduct, Spaces, SpaceNames);

TYPED_TEST(HashProduct, RowsOfEveryWidthAreThoseOfTheReference) {
  // one entry of A selects a row of B: widths around each size of tables
  std::vector<std::int64_t> const widths{0,    1,    9,    10,   11,   20,   21,  22,  42,
                                         43,   85,   86,   170,  171,  341,  342, 682, 683,
                                         1365, 1366, 2730, 2731, 5461, 5462, 9000};
  auto const count = static_cast<std::int64_t>(widths.size());
  auto const B = random_matrix(count, 70000, 1,
                               [&](std::int64_t i) { return widths[static_cast<std::size_t>(i)]; });
  Listed A{RowList(widths.size()), count};
  for (std::int64_t i = 0; i < count; ++i)
    A.rows[static_cast<std::size_t>(i)] = {{count - 1 - i, 0.5}};
  expect_products<TypeParam>(A, B);
}

TYPED_TEST(HashProduct, RandomMatricesMultiply) {
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    auto const length = [&](std::int64_t i) {
      return static_cast<std::int64_t>(random_bits(seed + 10, i) % 13);
    };
    expect_products<TypeParam>(random_matrix(200, 150, seed, length),
                               random_matrix(150, 300, seed + 1, length));
  }
}

TYPED_TEST(HashProduct, DenseRowsAndColumnsAndEmptyOperands) {
  auto const one_dense = [](std::int64_t i) { return i == 3 ? std::int64_t{5000} : i % 3; };
  expect_products<TypeParam>(random_matrix(40, 5000, 5, one_dense),
                             random_matrix(5000, 6000, 6, [](std::int64_t i) { return i % 4; }));
  Listed column = random_matrix(300, 300, 7, [](std::int64_t) { return std::int64_t{2}; });
  for (auto& row : column.rows) {  // a column occurs once in a row
    std::erase_if(row, [](auto const& entry) { return entry.first >= 298; });
    row.emplace_back(row.size() % 2 == 0 ? 299 : 298, 1.5);
  }
  expect_products<TypeParam>(column, column);
  auto const none = [](std::int64_t) { return std::int64_t{0}; };
  expect_products<TypeParam>(random_matrix(5, 4, 8, none), random_matrix(4, 3, 9, none));
  expect_products<TypeParam>(random_matrix(0, 4, 8, none), random_matrix(4, 0, 9, none));
}

template <class Exec>
void expect_equal_bits() {
  Exec const exec;
  auto const length = [](std::int64_t i) { return 3 + i % 40; };
  auto const A = on_device(exec, random_matrix(500, 500, 3, length));
  auto const first = on_host(exec, inner::product(exec, A, A));
  for (int run = 0; run < 4; ++run) EXPECT_EQ(on_host(exec, inner::product(exec, A, A)), first);
}

TYPED_TEST(HashProduct, FiveRunsGiveEqualBits) { expect_equal_bits<TypeParam>(); }

template <class Exec>
void expect_special_values() {
  Exec const exec;
  double const infinity = std::numeric_limits<double>::infinity();
  Listed const A{{{{0, 1}, {1, 2}}, {{1, 0}}, {{0, 1}}}, 2};
  Listed const B{{{{0, 1}, {2, infinity}}, {{0, std::nan("")}, {2, -infinity}}}, 3};
  auto const C = on_host(exec, inner::product(exec, on_device(exec, A), on_device(exec, B)));
  ASSERT_EQ(C[0].size(), 2u);
  EXPECT_TRUE(std::isnan(C[0][0].second) && std::isnan(C[0][1].second));
  EXPECT_TRUE(std::isnan(C[1][0].second) && std::isnan(C[1][1].second));
  EXPECT_EQ(C[2], (RowList::value_type{{0, 1.0}, {2, infinity}}));
}

TYPED_TEST(HashProduct, NotANumberAndInfinityAreCarried) { expect_special_values<TypeParam>(); }

template <class Exec>
void expect_refused() {
  Exec const exec;
  auto const none = [](std::int64_t) { return std::int64_t{0}; };
  auto const A = on_device(exec, random_matrix(5, 4, 8, none));
  EXPECT_TRUE(throws_with<ShapeError>("product: 5 x 4 by 5 x 4",
                                      [&] { (void)inner::product(exec, A, A); }));
}

TYPED_TEST(HashProduct, ThrowsShapeErrorWhereColumnsAreNotRows) { expect_refused<TypeParam>(); }

}  // namespace
