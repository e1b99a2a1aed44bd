// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_RESIDUE_CELLS_HPP
#define STRATA_DETAIL_RESIDUE_CELLS_HPP

#include <core/integers/Strata_IntegerBlas.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::dense::detail {

/// Where the integers of a factor lie, by their remainders: the lower triangle in cells of some
/// panels' rows by some panels' columns, rows contiguous.
///
/// A row is needed until its own panel has been factored, a column from its panel on. So a cell's
/// memory serves again: with 8 groups of panels at most 20 of 36 cells are needed at once.
template <class MemorySpace>
class ResidueCells {
 public:
  using Planes = ResiduePlanes<MemorySpace>;

  /// The cells of a matrix of order n in panels of `width` columns, but for the last, cut into so
  /// many groups of panels.
  ResidueCells(std::int64_t n, std::int64_t width, std::int64_t groups, int moduli)
      : n_(n), width_(width), moduli_(moduli) {
    std::int64_t const panels = (n + width - 1) / width;
    panels_ = (panels + groups - 1) / groups;
    padded_width_ = (width + 15) / 16 * 16;
    ld_ = (panels_ * padded_width_ + 127) / 128 * 128;
    plane_ = ld_ * ((panels_ * width + 15) / 16 * 16 + 16);  // a library reads up to 15 rows more
    groups_ = (panels + panels_ - 1) / panels_;
    hand_out();
  }

  /// Bytes of the memory that `place` is given.
  std::size_t bytes() const {
    return static_cast<std::size_t>(count_) * static_cast<std::size_t>(plane_ * moduli_);
  }
  /// The cells lie here.
  void place(std::byte* memory) { memory_ = reinterpret_cast<std::int8_t*>(memory); }

  /// The group that a panel, or the row of one, is in.
  std::int64_t group_of(std::int64_t row) const { return row / (panels_ * width_); }
  /// The first row behind a group.
  std::int64_t end_of(std::int64_t group) const {
    return std::min(n_, (group + 1) * panels_ * width_);
  }

  /// Rows [row, row + count) of one group, in the columns of panel `panel`.
  Planes panel(std::int64_t row, std::int64_t count, std::int64_t panel) const {
    std::int64_t const group = panel / panels_;
    auto planes = rows(row, count, group);
    planes.data += (panel - group * panels_) * padded_width_;
    planes.depth = std::min(width_, n_ - panel * width_);
    return planes;
  }
  /// The same in the columns of a group's panels before panel `end`.
  Planes before(std::int64_t row, std::int64_t count, std::int64_t group, std::int64_t end) const {
    auto planes = rows(row, count, group);
    planes.depth = std::min(panels_, end - group * panels_) * padded_width_;
    return planes;
  }

 private:
  std::int64_t& slot(std::int64_t i, std::int64_t j) {
    return slots_[static_cast<std::size_t>(i * groups_ + j)];
  }

  Planes rows(std::int64_t row, std::int64_t count, std::int64_t group) const {
    std::int64_t const i = group_of(row);
    std::int64_t const at = slots_[static_cast<std::size_t>(i * groups_ + group)];
    std::int8_t* const cell = memory_ + at * plane_ * moduli_;
    return {cell + (row - i * panels_ * width_) * ld_, count, 0, ld_, plane_, moduli_};
  }

  // The walk from left to right is known: a group's columns begin in all rows from its own on, and
  // its rows end with it.
  void hand_out() {
    slots_.assign(static_cast<std::size_t>(groups_ * groups_), -1);
    std::vector<std::int64_t> free;
    for (std::int64_t j = 0; j < groups_; ++j) {
      for (std::int64_t i = j; i < groups_; ++i) {
        if (free.empty()) free.push_back(count_++);
        slot(i, j) = free.back();
        free.pop_back();
      }
      for (std::int64_t k = 0; k <= j; ++k) free.push_back(slot(j, k));
    }
  }

  std::int64_t n_, width_, panels_ = 0, padded_width_ = 0, ld_ = 0, plane_ = 0, groups_ = 0;
  std::int64_t count_ = 0;
  int moduli_;
  std::vector<std::int64_t> slots_;
  std::int8_t* memory_ = nullptr;
};

}  // namespace strata::dense::detail

#endif
