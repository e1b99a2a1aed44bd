// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Blocks that go from a block-cyclic matrix to ranks and back, beside a matrix that is spread entry
// by entry.
#include "StrataTest_BlockCyclic.hpp"

#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Matchers.hpp"
#include <core/Strata_Errors.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <utility>

namespace {

using namespace strata;
using namespace strata::test;

double entry(std::int64_t i, std::int64_t j) { return static_cast<double>(1 + i + 1000 * j); }

// Blocks of each corner and shape, each of them on one rank, by chance; of some two ranks have the
// same.
std::vector<WholeBlock> some_blocks(std::int64_t m, std::int64_t n, int ranks) {
  std::mt19937 random(7);
  auto const below = [&](std::int64_t end) {
    return end == 0 ? 0 : static_cast<std::int64_t>(random() % static_cast<unsigned>(end));
  };
  std::vector<WholeBlock> blocks{{0, 0, m, n, false, 0}, {0, 0, m, n, true, ranks - 1}};
  for (int k = 0; k < 12; ++k) {
    std::int64_t const row = below(m), col = below(n);
    blocks.push_back({row, col, below(m - row + 1), below(n - col + 1), k % 3 == 0,
                      static_cast<int>(below(ranks))});
  }
  return blocks;
}

bool is_in(WholeBlock const& block, std::int64_t i, std::int64_t j) {
  return i >= block.row && i < block.row + block.rows && j >= block.col &&
         j < block.col + block.cols && (!block.is_lower || i >= j);
}

// Each block where it is whole.
struct Wholes {
  std::vector<std::vector<double>> numbers;
  std::vector<double*> where;
  std::vector<double const*> read_where;
};
Wholes wholes(std::vector<WholeBlock> const& blocks, double value, int rank) {
  Wholes all;
  for (auto const& block : blocks) {
    bool const here = block.rank == rank;
    all.numbers.emplace_back(here ? static_cast<std::size_t>(block.rows * block.cols) : 0, value);
  }
  for (auto& numbers : all.numbers) {
    all.where.push_back(numbers.data());
    all.read_where.push_back(numbers.data());
  }
  return all;
}
// f(i, j, number) for the entries of a block that is whole here.
template <class F>
void for_each_entry(WholeBlock const& block, std::vector<double>& numbers, F const& f) {
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    auto const at = static_cast<std::int64_t>(k);
    f(block.row + at % block.rows, block.col + at / block.rows, numbers[k]);
  }
}

constexpr std::pair<std::int64_t, std::int64_t> shapes[] = {{13, 17}, {29, 29}, {40, 3},
                                                            {1, 1},   {0, 5},   {5, 0}};

TEST(BlockCyclic, BringsBlocksToTheirRanks) {
  int const ranks = test_ranks().size();
  for (Spread const& spread : spreads(ranks))
    for (auto const& [m, n] : shapes) {
      SpreadMatrix A(spread, m, n);
      A.for_each([](std::int64_t i, std::int64_t j, double& x) { x = entry(i, j); });
      auto const blocks = some_blocks(m, n, ranks);
      auto const view = A.view();
      auto all = wholes(blocks, -1, view.comm()->rank());
      view.fetch(blocks, all.where);
      for (std::size_t b = 0; b < blocks.size(); ++b)
        for_each_entry(blocks[b], all.numbers[b], [&](std::int64_t i, std::int64_t j, double x) {
          ASSERT_EQ(x, is_in(blocks[b], i, j) ? entry(i, j) : -1) << i << ", " << j;
        });
    }
}

TEST(BlockCyclic, TakesBlocksBackAndTouchesNothingElse) {
  int const ranks = test_ranks().size();
  for (Spread const& spread : spreads(ranks))
    for (auto const& [m, n] : shapes) {
      SpreadMatrix A(spread, m, n);
      auto const view = A.view();
      for (auto const& block : some_blocks(m, n, ranks)) {
        std::vector<WholeBlock> const blocks{block};
        auto all = wholes(blocks, 0, view.comm()->rank());
        for_each_entry(block, all.numbers[0],
                       [](std::int64_t i, std::int64_t j, double& x) { x = entry(i, j); });
        A.clear();
        view.give(blocks, all.read_where);
        std::int64_t count = 0;
        A.for_each([&](std::int64_t i, std::int64_t j, double x) {
          if (!is_in(block, i, j)) return;
          ++count;
          ASSERT_EQ(x, entry(i, j)) << i << ", " << j;
        });
        ASSERT_EQ(A.count(), count);
      }
    }
}

TEST(BlockCyclic, ReadsAndWritesWhatIsHere) {
  int const ranks = test_ranks().size();
  for (Spread const& spread : spreads(ranks)) {
    SpreadMatrix A(spread, 13, 17), B(spread, 13, 17);
    A.for_each([](std::int64_t i, std::int64_t j, double& x) { x = entry(i, j); });
    auto const of_A = A.view(), of_B = B.view();
    for (auto const& block : some_blocks(13, 17, ranks)) {
      std::vector<double> numbers(static_cast<std::size_t>(block.rows * block.cols), -1);
      of_A.read_own(block, numbers.data());
      for_each_entry(block, numbers, [&](std::int64_t i, std::int64_t j, double& x) {
        bool const here = is_in(block, i, j) && A.has_row(i) && A.has_col(j);
        ASSERT_EQ(x, here ? entry(i, j) : -1);
        x = entry(i, j);
      });
      of_B.write_own(block, numbers.data());
    }
    B.for_each([](std::int64_t i, std::int64_t j, double x) { ASSERT_EQ(x, entry(i, j)); });
  }
}

TEST(BlockCyclic, HasParts) {
  int const ranks = test_ranks().size();
  for (Spread const& spread : spreads(ranks)) {
    SpreadMatrix A(spread, 31, 23);
    A.for_each([](std::int64_t i, std::int64_t j, double& x) { x = entry(i, j); });
    auto const part = A.view().part(3, 2, 20, 18).part(2, 3, 17, 15);
    EXPECT_EQ(part.rows(), 17);
    EXPECT_EQ(part.cols(), 15);
    auto const blocks = some_blocks(17, 15, ranks);
    auto all = wholes(blocks, -1, part.comm()->rank());
    part.fetch(blocks, all.where);
    for (std::size_t b = 0; b < blocks.size(); ++b)
      for_each_entry(blocks[b], all.numbers[b], [&](std::int64_t i, std::int64_t j, double x) {
        ASSERT_EQ(x, is_in(blocks[b], i, j) ? entry(i + 5, j + 5) : -1);
      });
  }
}

TEST(BlockCyclic, TakesWideDescriptors) {
  SpreadMatrix A({test_ranks().size(), 1, 3, 4, 0, 0, 1}, 10, 10);
  A.for_each([](std::int64_t i, std::int64_t j, double& x) { x = entry(i, j); });
  std::array<std::int64_t, 9> wide{};
  std::ranges::copy(A.descriptor(), wide.begin());
  wide[5] = std::int64_t{1} << 40;  // one block of all columns
  BlockCyclic const view(A.view().comm(), A.grid(), wide, A.data());
  std::vector<double> numbers(100);
  std::vector<WholeBlock> const blocks{{0, 0, 10, 10, false, 0}};
  view.fetch(blocks, std::vector<double*>{numbers.data()});
  if (view.comm()->rank() > 0) return;
  for (std::size_t k = 0; k < 100; ++k)
    EXPECT_EQ(numbers[k],
              entry(static_cast<std::int64_t>(k % 10), static_cast<std::int64_t>(k / 10)));
}

TEST(BlockCyclic, KnowsWhatOverlaps) {
  SpreadMatrix A({1, test_ranks().size(), 4, 1}, 8, 12), B({1, test_ranks().size(), 4, 1}, 8, 12);
  EXPECT_TRUE(A.view().overlaps(A.view()));
  EXPECT_FALSE(A.view().overlaps(B.view()));
  EXPECT_FALSE(A.view().part(0, 0, 8, 6).overlaps(A.view().part(0, 6, 8, 6)));
  EXPECT_TRUE(A.view().part(0, 0, 8, 12).overlaps(A.view().part(0, 0, 8, 12)));
  EXPECT_FALSE(A.view().part(0, 0, 0, 0).overlaps(A.view()));
}

// --- what is refused ---

std::string from(int rank) {
  return test_ranks().size() == 1 ? "" : "rank " + std::to_string(rank) + ": ";
}

// Rank `bad` changes its numbers, and all are told.
void expect_refused(int bad, std::string const& text,
                    std::function<void(SpreadMatrix& A)> const& change) {
  int const ranks = test_ranks().size();
  SpreadMatrix A({1, ranks, 3, 2}, 10, 11);
  if (test_ranks().rank() == bad) change(A);
  EXPECT_TRUE(throws_with<ValueError>("block-cyclic matrix: " + text, [&] { (void)A.view(); }));
  if (ranks == 1) return;
  try {
    (void)A.view();
  } catch (std::exception const& error) {
    EXPECT_TRUE(is_agreed(error));
  }
}

TEST(BlockCyclic, RefusesDescriptorsOutOfRangeOnAllRanks) {
  int const ranks = test_ranks().size(), last = ranks - 1;
  auto const expect = [&](std::size_t field, int value, std::string const& text) {
    expect_refused(last, text, [&](SpreadMatrix& A) { A.descriptor()[field] = value; });
  };
  expect(0, 501, "DTYPE is 501, must be 1, for a dense matrix");
  expect(2, -1, "M is -1, must be at least 0");
  expect(3, -2, "N is -2, must be at least 0");
  expect(4, 0, "MB is 0, must be at least 1");
  expect(5, -3, "NB is -3, must be at least 1");
  expect(6, 1, "RSRC is 1, must be from 0 to 0");
  expect(7, ranks,
         "CSRC is " + std::to_string(ranks) + ", must be from 0 to " + std::to_string(last));
  std::string const process = "process (0, " + std::to_string(last) + ")";
  expect(8, 9, "LLD is 9, must be at least 10 on " + process + ", which has 10 rows");
  SpreadMatrix A({1, ranks, 3, 2}, 10, 11);
  auto const make = [&](double* data) {
    (void)BlockCyclic(A.view().comm(), A.grid(), A.descriptor(), data);
  };
  std::string const null = from(last) + "block-cyclic matrix: a null pointer on " + process;
  EXPECT_TRUE(throws_with<ValueError>(
      null, [&] { make(test_ranks().rank() == last ? nullptr : A.data()); }));
  EXPECT_TRUE(throws_with<ValueError>("block-cyclic matrix: there is no communicator", [&] {
    (void)BlockCyclic(nullptr, A.grid(), A.descriptor(), A.data());
  }));
}

TEST(BlockCyclic, RefusesDescriptorsThatDiffer) {
  int const last = test_ranks().size() - 1;
  if (last == 0) return;
  char const* const names[] = {"M", "N", "MB", "NB"};
  int const values[] = {10, 11, 3, 2};
  for (std::size_t k = 0; k < 4; ++k)
    expect_refused(last,
                   std::string(names[k]) + " is " + std::to_string(values[k]) + " on rank 0 and " +
                       std::to_string(values[k] + 1) + " on rank " + std::to_string(last),
                   [&](SpreadMatrix& A) { ++A.descriptor()[2 + k]; });
  expect_refused(last, "CSRC is 0 on rank 0 and 1 on rank " + std::to_string(last),
                 [&](SpreadMatrix& A) { A.descriptor()[7] = 1; });
}

TEST(BlockCyclic, RefusesGridsThatAreNone) {
  int const ranks = test_ranks().size(), last = ranks - 1;
  std::string const grid = " of a grid of 1 x " + std::to_string(ranks);
  expect_refused(last, "process (1, " + std::to_string(last) + ")" + grid,
                 [&](SpreadMatrix& A) { A.grid().row = 1; });
  expect_refused(last, "process (0, " + std::to_string(ranks) + ")" + grid,
                 [&](SpreadMatrix& A) { A.grid().col = ranks; });
  expect_refused(
      last, "a grid of 2 x " + std::to_string(ranks) + " processes on " + std::to_string(ranks),
      [&](SpreadMatrix& A) { A.grid().rows = 2; });
  expect_refused(last, "a grid of 0 x " + std::to_string(ranks),
                 [&](SpreadMatrix& A) { A.grid().rows = 0; });
  if (ranks == 1) {
    expect_refused(last, "no rank is in the grid", [](SpreadMatrix& A) { A.grid().row = -1; });
    return;
  }
  expect_refused(last,
                 "ranks 0 and " + std::to_string(last) + " are both process (0, 0) of the grid",
                 [](SpreadMatrix& A) { A.grid().col = 0; });
  expect_refused(
      last,
      std::to_string(last) + " ranks are in a grid of 1 x " + std::to_string(ranks) + " processes",
      [](SpreadMatrix& A) { A.grid().row = A.grid().col = -1; });
}

TEST(BlockCyclic, RefusesBlocksThatAreNotInside) {
  SpreadMatrix A({1, test_ranks().size(), 3, 2}, 10, 11);
  auto const view = A.view();
  auto const refuses = [&](WholeBlock const& block, std::string const& text) {
    std::vector<double> numbers(200);
    std::string const whole = "block-cyclic matrix: a block of " + text + " of a matrix of 10 x 11";
    EXPECT_TRUE(throws_with<ShapeError>(whole, [&] {
      view.fetch(std::vector<WholeBlock>{block}, std::vector<double*>{numbers.data()});
    }));
    EXPECT_TRUE(throws_with<ShapeError>(
        whole, [&] { (void)view.part(block.row, block.col, block.rows, block.cols); }));
    EXPECT_TRUE(throws_with<ShapeError>(whole, [&] { view.read_own(block, numbers.data()); }));
    EXPECT_TRUE(throws_with<ShapeError>(whole, [&] { view.write_own(block, numbers.data()); }));
  };
  refuses({5, 0, 6, 1}, "6 x 1 at (5, 0)");
  refuses({0, 11, 1, 1}, "1 x 1 at (0, 11)");
  refuses({-1, 0, 2, 2}, "2 x 2 at (-1, 0)");
  refuses({0, 0, -1, 2}, "-1 x 2 at (0, 0)");
}

TEST(BlockCyclic, TellsAllWhereOneHasNoMemoryForAMessage) {
  int const ranks = test_ranks().size(), last = ranks - 1;
  if (ranks == 1) return;
  SpreadMatrix A({1, ranks, 3, 2}, 10, 11);
  A.for_each([](std::int64_t i, std::int64_t j, double& x) { x = entry(i, j); });
  std::vector<double> numbers(110);
  std::vector<WholeBlock> const blocks{{0, 0, 10, 11, false, 0}};
  auto const view = A.view();
  auto const fetch = [&] { view.fetch(blocks, std::vector<double*>{numbers.data()}); };
  {
    FailingAllocations const failing("strata::comm::block_cyclic::message",
                                     [&] { return view.comm()->rank() == last; });
    EXPECT_TRUE(
        throws_with<MemoryError>(from(last) + "strata::comm::block_cyclic::message", fetch));
  }
  fetch();
  EXPECT_EQ(numbers[109], view.comm()->rank() == 0 ? entry(9, 10) : 0);
}

}  // namespace
