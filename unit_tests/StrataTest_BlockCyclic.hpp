// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_BLOCK_CYCLIC_HPP
#define STRATATEST_BLOCK_CYCLIC_HPP

#include "sparse/StrataTest_Ranks.hpp"
#include <comm/Strata_BlockCyclic.hpp>
#include <comm/Strata_Communicator.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

// The oracle: a matrix spread over ranks entry by entry, by the formulas of ScaLAPACK's indxg2p and
// indxg2l.
namespace strata::test {

/// How a matrix is spread.
struct Spread {
  int rows = 1, cols = 1;  ///< rows and columns of the grid
  int row_block = 2, col_block = 2;
  int first_row = 0, first_col = 0;
  int padding = 0;       ///< rows by which LLD exceeds the least
  bool by_cols = false;  ///< ranks go down the columns of the grid
  int first_rank = 0;    ///< first rank in the grid; ranks before it are outside
};

/// This rank's part of a matrix of numbers, all NaN at first, the padding too.
class SpreadMatrix {
 public:
  SpreadMatrix(Spread const& spread, std::int64_t m, std::int64_t n)
      : spread_(spread), m_(m), n_(n), comm_(std::make_shared<Communicator const>(test_ranks())) {
    int const place = comm_->rank() - spread.first_rank;
    if (place >= 0 && place < spread.rows * spread.cols) {
      grid_.row = spread.by_cols ? place % spread.rows : place / spread.cols;
      grid_.col = spread.by_cols ? place / spread.rows : place % spread.cols;
      grid_.rows = spread.rows;
      grid_.cols = spread.cols;
    } else {
      grid_ = {-1, -1, -1, -1};
    }
    std::int64_t rows = 0, cols = 0;
    for (std::int64_t i = 0; i < m; ++i) rows += has_row(i);
    for (std::int64_t j = 0; j < n; ++j) cols += has_col(j);
    ld_ = std::max<std::int64_t>(1, rows + spread.padding);
    numbers_.assign(static_cast<std::size_t>(ld_ * cols), NAN);
    if (grid_.row < 0)
      descriptor_.fill(-1);
    else
      descriptor_ = {1,
                     0,
                     static_cast<int>(m),
                     static_cast<int>(n),
                     spread.row_block,
                     spread.col_block,
                     spread.first_row,
                     spread.first_col,
                     static_cast<int>(ld_)};
  }

  bool has_row(std::int64_t i) const {
    return grid_.row == (spread_.first_row + i / spread_.row_block) % spread_.rows;
  }
  bool has_col(std::int64_t j) const {
    return grid_.col == (spread_.first_col + j / spread_.col_block) % spread_.cols;
  }
  double& at(std::int64_t i, std::int64_t j) {
    auto const local = [](std::int64_t k, std::int64_t block, std::int64_t count) {
      return block * (k / (block * count)) + k % block;
    };
    return numbers_[static_cast<std::size_t>(local(i, spread_.row_block, spread_.rows) +
                                             ld_ * local(j, spread_.col_block, spread_.cols))];
  }

  /// f(i, j, number) for each entry that is here.
  template <class F>
  void for_each(F const& f) {
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t i = 0; i < m_; ++i)
        if (has_row(i) && has_col(j)) f(i, j, at(i, j));
  }
  /// All NaN again.
  void clear() { std::ranges::fill(numbers_, NAN); }
  /// Numbers that are not NaN, padding included.
  std::int64_t count() const {
    return std::ranges::count_if(numbers_, [](double x) { return !std::isnan(x); });
  }

  std::array<int, 9>& descriptor() { return descriptor_; }
  ProcessGrid& grid() { return grid_; }
  double* data() { return numbers_.empty() ? nullptr : numbers_.data(); }
  BlockCyclic view() { return {comm_, grid_, descriptor_, data()}; }

 private:
  Spread spread_;
  std::int64_t m_, n_, ld_ = 1;
  std::shared_ptr<Communicator const> comm_;
  ProcessGrid grid_;
  std::array<int, 9> descriptor_{};
  std::vector<double> numbers_;
};

/// Spreads that so many ranks can have: grids of all shapes, square blocks and others, any first
/// process, ranks that are outside, blocks that are larger than the matrix.
inline std::vector<Spread> spreads(int ranks) {
  std::vector<Spread> all;
  for (int rows = 1; rows <= ranks; ++rows)
    for (int cols = 1; rows * cols <= ranks; ++cols) {
      int const outside = ranks - rows * cols, k = static_cast<int>(all.size());
      all.push_back({rows, cols, 1 + k % 5, 1 + 3 * k % 7, (k + 1) % rows, (k + 2) % cols, k % 3,
                     k % 2 == 1, k % 2 == 0 ? outside : 0});
    }
  all.push_back({1, 1, 1000, 1000, 0, 0, 1, false, ranks - 1});  // all on the last rank
  all.push_back({ranks, 1, 16, 16, ranks - 1, 0, 5, false, 0});
  return all;
}

}  // namespace strata::test

#endif
