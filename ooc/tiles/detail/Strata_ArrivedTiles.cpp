// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/tiles/detail/Strata_ArrivedTiles.hpp>

#include <comm/Strata_Together.hpp>
#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>

#include <algorithm>
#include <cstddef>

namespace strata::ooc::detail {

ArrivedTiles::ArrivedTiles(BlockCyclic A) : A_(std::move(A)) {}

void ArrivedTiles::bring(std::vector<WholeBlock> const& tiles) {
  std::vector<double*> where;
  int const rank = A_.comm()->rank();
  together(A_.comm().get(), [&] {
    here_.clear();
    std::size_t size = 0;
    for (auto const& tile : tiles)
      if (tile.rank == rank) size += static_cast<std::size_t>(tile.rows * tile.cols);
    if (numbers_.size() < size) {
      numbers_ = {};
      numbers_ = allocate_on_host<Numbers>("strata::ooc::arrived_tiles::column", size);
    }
    double* next = numbers_.data();
    for (auto const& tile : tiles) {
      where.push_back(tile.rank == rank ? next : nullptr);
      if (tile.rank != rank) continue;
      here_[{tile.row, tile.col}] = next;
      if (tile.is_lower) std::fill_n(next, tile.rows * tile.cols, 0.0);
      next += tile.rows * tile.cols;
    }
  });
  A_.fetch(tiles, where);
}

void ArrivedTiles::read(std::int64_t row, std::int64_t col, HostBlock const& block) const {
  auto const size = static_cast<std::int64_t>(block.size());
  if (A_.comm()->size() == 1) {
    if (row == col) std::fill_n(block.data(), size, 0.0);
    A_.read_own({row, col, static_cast<std::int64_t>(block.extent(0)),
                 static_cast<std::int64_t>(block.extent(1)), row == col},
                block.data());
    return;
  }
  auto const found = here_.find({row, col});
  STRATA_REQUIRE(ValueError, found != here_.end(), "block-cyclic matrix: the tile at (", row, ", ",
                 col, ") has not arrived on rank ", A_.comm()->rank());
  std::copy_n(found->second, size, block.data());
}

}  // namespace strata::ooc::detail
