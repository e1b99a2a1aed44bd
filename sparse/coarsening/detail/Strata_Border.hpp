// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_BORDER_HPP
#define STRATA_SPARSE_DETAIL_BORDER_HPP

#include <sparse/comm/Strata_Communicator.hpp>
#include <sparse/formats/Strata_EllMatrix.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace strata::sparse::detail {

/// The rows of other ranks that a rank's rows refer to. Their numbers follow the rank's own, in the
/// order of the whole matrix. None of one rank.
template <class Exec>
class Border {
 public:
  using Space = typename Exec::memory_space;

  Border() = default;
  /// `first_row` of each rank, and the end; `outside` ascends, and no rank has its own there.
  /// Collective; fences. Throws MemoryError on all ranks.
  Border(Exec const& exec, Communicator const& comm, std::vector<std::int64_t> const& first_row,
         std::vector<std::int64_t> const& outside);

  Communicator const& comm() const { return comm_; }
  bool is_whole() const { return comm_.size() == 1; }
  /// Rows of this rank, and of others behind them.
  std::int64_t all(std::int64_t own) const {
    return own + static_cast<std::int64_t>(outside_.size());
  }
  /// The rank's rows of that many.
  std::int64_t own(std::int64_t all) const {
    return all - static_cast<std::int64_t>(outside_.size());
  }
  /// Rows of all ranks.
  std::int64_t everyones(std::int64_t own) const { return is_whole() ? own : first_row_.back(); }
  /// The whole matrix' number of the rank's first row.
  std::int64_t first() const {
    return is_whole() ? 0 : first_row_[static_cast<std::size_t>(comm_.rank())];
  }
  std::vector<std::int64_t> const& first_row() const { return first_row_; }
  std::vector<std::int64_t> const& outside() const { return outside_; }

  /// Whether it holds on one rank at least. Collective.
  bool any(bool mine) const { return is_whole() ? mine : comm_.max(mine ? 1 : 0) > 0; }
  /// The sum over all ranks. Collective.
  std::int64_t sum(std::int64_t mine) const;
  double sum(double mine) const;
  /// `Communicator::agree`.
  template <class Local>
  auto agree(Local&& local) const {
    return comm_.agree(std::forward<Local>(local));
  }

  /// x of the rows outside, `width` numbers each, from the ranks that have them. Numbers are
  /// double, std::int32_t or std::uint64_t. Collective; fences. Throws MemoryError on all ranks.
  template <class T>
  void fill(Exec const& exec, Vector<T, Space> const& x, int width = 1) const;

 private:
  Communicator comm_;
  std::vector<std::int64_t> first_row_, outside_;
  std::vector<std::int64_t> begin_;   // of what each rank is sent in `sent_`, and the end
  Vector<std::int32_t, Space> sent_;  // own rows
};

}  // namespace strata::sparse::detail

#endif
