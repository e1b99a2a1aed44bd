// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <sparse/formats/detail/Strata_HostCopy.hpp>
#include <sparse/products/detail/Strata_SummedRows.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

// Sums of terms by a thread a row against sums in order, to the last bit.

namespace {

using namespace strata::sparse;
using namespace strata::test;
namespace inner = strata::sparse::detail;

/// Row i has calls(i) calls of five terms each, whose columns the calls share in part.
struct Steps {
  std::int64_t cols, stride;

  KOKKOS_FUNCTION static std::int64_t calls(std::int64_t row) { return row % 9; }
  KOKKOS_FUNCTION std::int64_t most(std::int64_t row) const { return 5 * calls(row); }
  KOKKOS_FUNCTION std::int32_t column(std::int64_t row, std::int64_t call, std::int64_t k) const {
    return static_cast<std::int32_t>((row + stride * call + 3 * k) % cols);
  }
  KOKKOS_FUNCTION static double value(std::int64_t call, std::int64_t k) {
    return 1.0 / static_cast<double>(1 + 7 * call + k);
  }
  template <class Lanes, class Take>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Lanes const& lanes, Take const& take) const {
    for (std::int64_t call = 0; call < calls(row); ++call)
      lanes.each(5, [&](std::int64_t k) { take(column(row, call, k), value(call, k)); });
  }
};

/// Every column is another.
struct Apart {
  KOKKOS_FUNCTION std::int64_t most(std::int64_t row) const { return row; }
  template <class Lanes, class Take>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Lanes const& lanes, Take const& take) const {
    lanes.each(row, [&](std::int64_t k) { take(static_cast<std::int32_t>(5 * k), 1.0); });
  }
};

template <class Exec>
inner::LocalCsr<Exec> empty_rows(Exec const& exec, std::int64_t rows, std::int64_t cols) {
  inner::LocalCsr<Exec> C;
  C.rows = rows, C.cols = cols;
  C.begin = {exec, "strata::test::begin", rows + 1};
  return C;
}

template <class Space>
struct RowsByThreadTest : testing::Test {};
TYPED_TEST_SUITE(RowsByThreadTest, Spaces, SpaceNames);

TYPED_TEST(RowsByThreadTest, SumsAreTheSumsInOrder) {
  TypeParam const exec;
  std::int64_t const rows = 700, cols = 1000;
  for (std::int64_t const stride : {0, 1, 2, 3}) {
    Steps const terms{cols, stride};
    auto C = empty_rows(exec, rows, cols);
    inner::count_short_rows(exec, terms, C);
    std::int64_t const entries = inner::scan_lengths(exec, C.begin.view());
    C.column = {exec, "strata::test::column", entries};
    C.value = {exec, "strata::test::value", entries};
    inner::sum_by_sizes<false>(
        exec, terms, rows, inner::LengthsOfRows<typename TypeParam::memory_space>{C.begin}, 4, C);
    auto const begin = inner::to_host(exec, C.begin.view());
    auto const column = inner::to_host(exec, C.column.view());
    auto const value = inner::to_host(exec, C.value.view());
    for (std::int64_t i = 0; i < rows; ++i) {
      std::map<std::int32_t, double> expected;
      for (std::int64_t call = 0; call < Steps::calls(i); ++call)
        for (std::int64_t k = 0; k < 5; ++k)
          expected[terms.column(i, call, k)] += Steps::value(call, k);
      auto at = static_cast<std::size_t>(begin[static_cast<std::size_t>(i)]);
      ASSERT_EQ(begin[static_cast<std::size_t>(i) + 1] - begin[static_cast<std::size_t>(i)],
                static_cast<std::int64_t>(expected.size()))
          << "row " << i << ", stride " << stride;
      for (auto const& [j, sum] : expected) {
        EXPECT_EQ(column[at], j) << "row " << i;
        EXPECT_EQ(value[at], sum) << "row " << i << ", column " << j;
        ++at;
      }
    }
  }
}

TYPED_TEST(RowsByThreadTest, ARowThatItsTableHasNoRoomForIsTooLong) {
  TypeParam const exec;
  std::int64_t const rows = 600, room = (1 << inner::most_by_thread<true>)-1;
  auto const C = empty_rows(exec, rows, 5 * rows);
  inner::count_short_rows(exec, Apart{}, C);
  auto const length = inner::to_host(exec, C.begin.view());
  for (std::int64_t i = 0; i < rows; ++i) {
    auto const found = length[static_cast<std::size_t>(i)];
    if (i <= 21)
      EXPECT_EQ(found, i);
    else if (i > room)
      EXPECT_EQ(found, inner::too_long) << i;
    else
      EXPECT_TRUE(found == i || found == inner::too_long) << i << ": " << found;
  }
}

TEST(TableSizesTest, TheLargestHasRoomForHalfAsManyAgainUpTo31Bits) {
  using inner::TableSizes;
  EXPECT_EQ(TableSizes::log_of_largest(1), 12);
  EXPECT_EQ(TableSizes::log_of_largest(2730), 12);
  EXPECT_EQ(TableSizes::log_of_largest(2731), 13);
  EXPECT_EQ(TableSizes::log_of_largest(1431655765), 31);
  EXPECT_TRUE(throws_with<strata::ShapeError>(
      "a row of up to 1431655766 columns needs a table of 2^32 slots, more than 2^31",
      [] { (void)TableSizes::log_of_largest(1431655766); }));
}

}  // namespace
