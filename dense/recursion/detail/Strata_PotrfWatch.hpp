// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_POTRF_WATCH_HPP
#define STRATA_DETAIL_POTRF_WATCH_HPP

#include <core/blas/Strata_LeafBlas.hpp>
#include <core/instances/Strata_Milestones.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace strata::dense::detail {

/// Called once in a factorisation, after the first `columns` columns: enqueued on a device,
/// finished on a host. Says whether the factorisation goes on.
///
/// `goes_on` gets the instance on which the columns are, and their number. If it returns false, the
/// factorisation ends with *info, if that was 0, at the column after them.
template <class ExecutionSpace>
struct FirstColumns {
  std::int64_t columns = 0;
  std::function<bool(ExecutionSpace const&, std::int64_t)> goes_on;
};

/// Who is told how far a factorisation is, and asked whether it goes on.
template <class ExecutionSpace>
class PotrfWatch {
 public:
  using InfoView = typename LeafBlas<ExecutionSpace>::InfoView;

  /// `order` columns in all; `exec`: what all work is on in the end.
  PotrfWatch(ExecutionSpace const& exec, std::int64_t order, InfoView const& info,
             std::function<void(double)> on_progress, FirstColumns<ExecutionSpace> first_columns)
      : exec_(exec),
        order_(order),
        info_(info),
        on_progress_(std::move(on_progress)),
        first_columns_(std::move(first_columns)) {}

  /// Whether anybody listens.
  bool is_wanted() const { return on_progress_ || first_columns_.goes_on; }
  /// Whether it was said that the factorisation does not go on.
  bool ends() const { return ends_; }

  /// All columns before `end` are on `exec`; what is left follows on the instance of this object.
  void look(ExecutionSpace const& exec, std::int64_t end) {
    if (has_looked_ || !first_columns_.goes_on || end < first_columns_.columns || end == order_)
      return;
    has_looked_ = true;
    std::int64_t first = 0;
    Kokkos::deep_copy(exec, first, info_);
    exec.fence("strata::dense::tree_potrf: look at the pivot status");
    if (first != 0) return;  // it ends, or tells so at its end
    try {
      ends_ = !first_columns_.goes_on(exec, end);
    } catch (...) {  // nothing of an ended call goes on running
      exec.fence("strata::dense::tree_potrf: ended after the first columns");
      exec_.fence("strata::dense::tree_potrf: ended after the first columns");
      throw;
    }
    if (ends_) Kokkos::deep_copy(exec_, info_, end + 1);
  }

  /// What makes up this part of the flops is in the queue of the instance, or is waited for there.
  void reach(double part) {
    if (!on_progress_) return;
    parts_.push_back(part);
    milestones_.set(exec_);
    tell(milestones_.reached());
  }

  /// The host has nothing else to do: it waits for one milestone after the other.
  void tell_the_rest() {
    for (std::size_t k = told_ + 1; k <= parts_.size(); ++k) {
      milestones_.await(k);
      tell(k);
    }
  }

 private:
  void tell(std::size_t milestones) {
    if (milestones == told_) return;
    told_ = milestones;
    try {
      on_progress_(parts_[milestones - 1]);
    } catch (...) {  // nothing of an ended call goes on running
      exec_.fence("strata::dense::tree_potrf: ended by on_progress");
      throw;
    }
  }

  ExecutionSpace exec_;
  std::int64_t order_;
  InfoView info_;
  std::function<void(double)> on_progress_;
  FirstColumns<ExecutionSpace> first_columns_;
  bool has_looked_ = false, ends_ = false;
  Milestones<ExecutionSpace> milestones_;
  std::vector<double> parts_;  // that are done at the milestones
  std::size_t told_ = 0;       // of them
};

}  // namespace strata::dense::detail

#endif
