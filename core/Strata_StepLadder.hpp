// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_STEP_LADDER_HPP
#define STRATA_STEP_LADDER_HPP

#include <core/Strata_Errors.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace strata {

/// Steps that are tried from the first on until one holds: the precisions of a factor, or the
/// methods of a solver, each in its precisions. An attempt may leave out or reorder the steps above
/// its own.
template <class Step>
class StepLadder {
 public:
  StepLadder() = default;
  /// A ladder of these steps, from the lowest on.
  explicit StepLadder(std::vector<Step> steps) : steps_(std::move(steps)) {}

  /// All steps; those above may be changed, and their number may not.
  std::vector<Step>& steps() { return steps_; }
  std::vector<Step> const& steps() const { return steps_; }  ///< all steps
  /// Whether no step is left.
  bool at_the_top() const { return next_ >= steps_.size(); }
  /// Number of the step that is tried next.
  std::size_t next() const { return next_; }
  /// The step that is tried now, or was last.
  Step const& now() const { return steps_[now_]; }
  std::size_t number() const { return now_; }  ///< its number
  /// The step that held last.
  Step const& held() const { return steps_[held_]; }
  std::size_t number_held() const { return held_; }  ///< its number

  /// No step is tried any more.
  void end() { next_ = steps_.size(); }
  /// The step of this number comes next.
  void go_to(std::size_t number) { next_ = number; }
  /// The step before the one that is tried now takes its place, which comes next.
  void step_back() { next_ = now_--; }
  /// The steps above of which this holds are not tried.
  template <class Which>
  void leave_out(Which const& which) {
    steps_.erase(std::remove_if(above(), steps_.end(), which), steps_.end());
  }
  /// The steps above of which this holds come before the others.
  template <class Which>
  void bring_forward(Which const& which) {
    std::stable_partition(above(), steps_.end(), which);
  }

  /// Tries one step after the other until one holds; false: none did.
  ///
  /// `attempt(step)`      what it returns is judged
  /// `no_memory(error)`   the same in its place, after a MemoryError of it; may rethrow
  /// `holds(result)`      bool, whether the step holds
  template <class Attempt, class NoMemory, class Holds>
  bool climb(Attempt const& attempt, NoMemory const& no_memory, Holds const& holds) {
    while (!at_the_top()) {
      now_ = next_++;
      auto const result = [&] {
        try {
          return attempt(now());
        } catch (MemoryError const& error) {
          return no_memory(error);
        }
      }();
      if (!holds(result)) continue;
      held_ = now_;
      return true;
    }
    return false;
  }

 private:
  auto above() {
    return steps_.begin() + static_cast<std::ptrdiff_t>(std::min(next_, steps_.size()));
  }

  std::vector<Step> steps_;
  std::size_t next_ = 0, now_ = 0, held_ = 0;
};

}  // namespace strata

#endif
