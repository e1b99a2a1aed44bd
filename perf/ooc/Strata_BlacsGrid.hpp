// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BLACS_GRID_HPP
#define STRATA_BLACS_GRID_HPP

#include <comm/Strata_BlockCyclic.hpp>
#include <comm/Strata_Communicator.hpp>
#include <core/Strata_Errors.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

// What C programs call of BLACS and of ScaLAPACK's tools.
extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, char const* order, int rows, int cols);
void Cblacs_gridinfo(int context, int* rows, int* cols, int* row, int* col);
void Cblacs_gridexit(int context);
int numroc_(int const* n, int const* block, int const* at, int const* first, int const* ranks);
void descinit_(int* description, int const* rows, int const* cols, int const* row_block,
               int const* col_block, int const* first_row, int const* first_col, int const* context,
               int const* ld, int* info);
}

namespace strata::perf {

/// Ranks in rows and columns, as square as can be.
class Grid {
 public:
  explicit Grid(int ranks) {
    for (int rows = 1; rows * rows <= ranks; ++rows)
      if (ranks % rows == 0) rows_ = rows;
    cols_ = ranks / rows_;
    Cblacs_get(-1, 0, &context_);
    Cblacs_gridinit(&context_, "Row", rows_, cols_);
    Cblacs_gridinfo(context_, &rows_, &cols_, &row_, &col_);
  }
  ~Grid() { Cblacs_gridexit(context_); }
  Grid(Grid const&) = delete;
  Grid& operator=(Grid const&) = delete;
  int context() const { return context_; }
  int rows() const { return rows_; }
  int cols() const { return cols_; }
  int row() const { return row_; }
  int col() const { return col_; }

 private:
  int context_ = 0, rows_ = 1, cols_ = 1, row_ = 0, col_ = 0;
};

/// One rank's blocks of an n x m matrix.
class Distributed {
 public:
  Distributed(Grid const& grid, std::int64_t n, std::int64_t m, std::int64_t block)
      : grid_(grid),
        n_(static_cast<int>(n)),
        m_(static_cast<int>(m)),
        block_(static_cast<int>(block)) {
    int const first = 0, row = grid.row(), col = grid.col(), P = grid.rows(), Q = grid.cols();
    int const rows = numroc_(&n_, &block_, &row, &first, &P),
              cols = numroc_(&m_, &block_, &col, &first, &Q);
    ld_ = std::max(1, rows);
    values_.resize(static_cast<std::size_t>(ld_) * static_cast<std::size_t>(std::max(1, cols)));
    int const context = grid.context();
    int info = 0;
    descinit_(description_.data(), &n_, &m_, &block_, &block_, &first, &first, &context, &ld_,
              &info);
    STRATA_REQUIRE(ValueError, info == 0, "descinit: ", info);
  }

  /// f(first row, first column, rows, columns, address) for each block that is here.
  template <class F>
  void for_each_block(F const& f) {
    for (int j = grid_.col(); j * block_ < m_; j += grid_.cols())
      for (int i = grid_.row(); i * block_ < n_; i += grid_.rows()) {
        double* const at = values_.data() + std::ptrdiff_t(i / grid_.rows()) * block_ +
                           std::ptrdiff_t(j / grid_.cols()) * block_ * ld_;
        f(i * block_, j * block_, std::min(block_, n_ - i * block_),
          std::min(block_, m_ - j * block_), at);
      }
  }
  double* data() { return values_.data(); }
  BlockCyclic view(std::shared_ptr<Communicator const> const& comm) {
    return {comm, {grid_.rows(), grid_.cols(), grid_.row(), grid_.col()}, description_, data()};
  }
  int const* description() const { return description_.data(); }
  int ld() const { return ld_; }

 private:
  Grid const& grid_;
  int n_, m_, block_, ld_ = 1;
  std::vector<double> values_;
  std::array<int, 9> description_{};
};

}  // namespace strata::perf

#endif
