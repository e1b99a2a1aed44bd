// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_WORK_TRACE_HPP
#define STRATA_SPARSE_WORK_TRACE_HPP

#include <core/Strata_EnumNames.hpp>
#include <core/Strata_Errors.hpp>
#include <core/io/Strata_Trace.hpp>
#include <core/kokkos_ext/Strata_StampClock.hpp>
#include <sparse/comm/Strata_Communicator.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace strata::sparse {

/// A rank's queues of work: spans of one nest, spans of two may overlap.
enum class TraceRow {
  Work,  ///< kernels of the solver
  Halo,  ///< kernels that pack and unpack halos, on an instance of their own where others run beside
  Messages,  ///< messages under way, and the host waiting for them
};
inline constexpr int trace_rows = 3;
constexpr auto names_of(TraceRow) {
  return enum_names<TraceRow>(
      "row",
      {{TraceRow::Work, "work"}, {TraceRow::Halo, "halo"}, {TraceRow::Messages, "messages"}});
}
using strata::name_of;

struct TraceSpan {
  int rank;
  TraceRow row;
  std::chrono::nanoseconds start, end;  ///< since a moment that is the same for all ranks
  std::string name;
};

/// Remembers when what is enqueued ran: on a device by its events, on a host by the clock.
///
/// An empty one records nothing. A copy refers to the same spans; used by one host thread.
template <class Exec>
class WorkTrace {
 public:
  using Clock = Trace::Clock;

  WorkTrace() = default;
  /// Time zero is now, on the ranks of one machine and of several to the time of a message.
  /// Collective; fences `exec`.
  WorkTrace(Exec const& exec, Communicator const& comm);

  explicit operator bool() const { return recorder_ != nullptr; }
  /// The same spans; those recorded through the result have `label` at the end of their names.
  WorkTrace labelled(std::string const& label) const {
    WorkTrace result(*this);
    result.label_ = label_ + label;
    return result;
  }

  /// Call `work`, which enqueues on `exec`: a span named by the parts and the label.
  template <class Work, class... Part>
  void enqueue(Exec const& exec, TraceRow row, Work const& work, Part const&... name) const {
    if (!recorder_) return work();
    auto const start = recorder_->clock.stamp(exec);
    work();
    auto const end = recorder_->clock.stamp(exec);
    recorder_->enqueued.push_back({row, start, end, strata::detail::message(name..., label_)});
  }

  /// The host's time, if there is a use for it.
  Clock::time_point now() const { return recorder_ ? Clock::now() : Clock::time_point{}; }
  /// What the host did itself, from `start` to `end` of `now`.
  void add(TraceRow row, Clock::time_point start, Clock::time_point end,
           std::string_view name) const {
    if (recorder_)
      recorder_->done.push_back({row, start, end, strata::detail::message(name, label_)});
  }

  /// The spans of all ranks on rank 0, by rank; none on the others.
  ///
  /// Collective. Sync: waits for what was recorded. Throws ValueError if this object is empty.
  std::vector<TraceSpan> gathered() const;

 private:
  template <class Point>
  struct Interval {
    TraceRow row;
    Point start, end;
    std::string name;
  };
  using StampClock = strata::StampClock<Exec>;
  struct Recorder {
    Recorder(Exec const& exec, Communicator const& ranks) : comm(ranks), clock(exec) {}

    Communicator comm;
    Clock::time_point zero;
    StampClock clock;
    std::vector<Interval<typename StampClock::Stamp>> enqueued;
    std::vector<Interval<Clock::time_point>> done;
  };

  std::shared_ptr<Recorder> recorder_;
  std::string label_;
};

}  // namespace strata::sparse

#endif
