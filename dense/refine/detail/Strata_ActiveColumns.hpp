// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_ACTIVE_COLUMNS_HPP
#define STRATA_DETAIL_ACTIVE_COLUMNS_HPP

#include <dense/refine/detail/Strata_Convergence.hpp>
#include <dense/vectors/detail/Strata_BlockVectors.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace strata::dense::detail {

/// The columns of a refinement, and the list of the columns that are being refined. What belongs to
/// the latter stands in the first columns of the blocks W and R, without gaps.
template <class Exec>
class ActiveColumns {
 public:
  using Kernels = BlockVectors<Exec>;
  using Block = typename Kernels::Block;
  using Scalars = typename Kernels::Scalars;
  using Indices = typename Kernels::Indices;

  ActiveColumns(Kernels& kernels, Block const& W, Block const& R)
      : kernels_(kernels), W_(W), R_(R) {}

  /// Every column, active or not; none is added once one is active.
  std::vector<Column>& all() { return columns_; }
  std::vector<Column> const& all() const { return columns_; }

  auto begin() const { return active_.begin(); }
  auto end() const { return active_.end(); }
  std::size_t size() const { return active_.size(); }
  bool empty() const { return active_.empty(); }
  Column& operator[](std::size_t c) const { return *active_[c]; }
  /// Their numbers among all.
  Indices const& index() const { return index_; }

  /// The columns of A that stand for the active ones.
  Block of(Block const& A) const {
    return Kokkos::subview(A, Kokkos::ALL, std::pair<std::size_t, std::size_t>(0, active_.size()));
  }
  /// 2^(sign * exponent) of each.
  Scalars scales(int sign) const {
    Scalars result;
    for (Column const* column : active_) result.push_back(std::ldexp(1.0, sign * column->exponent));
    return result;
  }

  /// Those of which `wanted` is true become active, and no others; W and R stay as they are.
  template <class Predicate>
  void take_up(Predicate const& wanted) {
    active_.clear();
    for (Column& column : columns_)
      if (wanted(column)) active_.push_back(&column);
    if (!active_.empty()) list();
  }

  /// W, R and `moments` of the active columns alone, which they were of all.
  void drop_others(std::vector<MomentsOfBoth>& moments) {
    if (active_.size() == columns_.size()) return;
    std::vector<std::int64_t> from;
    for (Column const* column : active_) {
      moments[from.size()] = moments[static_cast<std::size_t>(column->index)];
      from.push_back(column->index);
    }
    compact(from);
  }

  /// Drop those of which `done` is true and close the gaps in W and R.
  template <class Predicate>
  void retire(Predicate const& done) {
    std::vector<std::int64_t> from;
    std::vector<Column*> rest;
    for (std::size_t c = 0; c < active_.size(); ++c) {
      if (done(*active_[c])) continue;
      from.push_back(static_cast<std::int64_t>(c));
      rest.push_back(active_[c]);
    }
    if (rest.size() == active_.size()) return;
    active_ = rest;
    if (active_.empty()) return;
    compact(from);
  }

 private:
  void compact(std::vector<std::int64_t> const& from) {
    auto const positions = kernels_.indices(from);
    kernels_.compact(positions, W_);
    kernels_.compact(positions, R_);
    list();
  }

  void list() {
    std::vector<std::int64_t> numbers;
    numbers.reserve(active_.size());
    bool in_front = true;
    for (Column const* column : active_) {
      in_front = in_front && column->index == static_cast<std::int64_t>(numbers.size());
      numbers.push_back(column->index);
    }
    index_ = in_front ? Indices{} : kernels_.indices(numbers);
  }

  Kernels& kernels_;
  Block W_, R_;
  Indices index_;
  std::vector<Column> columns_;
  std::vector<Column*> active_;
};

}  // namespace strata::dense::detail

#endif
