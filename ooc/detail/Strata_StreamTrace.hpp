// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_STREAM_TRACE_HPP
#define STRATA_STREAM_TRACE_HPP

#include <core/io/Strata_Trace.hpp>
#include <ooc/detail/Strata_Lane.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace strata::ooc::detail {

/// The spans of one stream's three lanes, by the lanes' own clocks, told to a `Trace` at the end.
template <class ExecutionSpace>
class StreamTrace {
 public:
  enum Row { CopyIn, Work, CopyOut };

  StreamTrace(Trace* trace, int device, int stream)
      : trace_(trace), track_((static_cast<std::int64_t>(device) * 64 + stream) * 3) {
    if (!trace_) return;
    std::string const name =
        "device " + std::to_string(device) + " stream " + std::to_string(stream);
    trace_->name_track(track_ + CopyIn, name + " copy in");
    trace_->name_track(track_ + Work, name + " work");
    trace_->name_track(track_ + CopyOut, name + " copy out");
  }

  /// Run f, which enqueues on the lane, and remember when that ran.
  template <class Function>
  void span(Row row, char const* name, std::int64_t i, std::int64_t j, Lane<ExecutionSpace>& lane,
            Function const& f) {
    if (!trace_) return f();
    auto const start = lane.stamp();
    f();
    spans_.push_back({row, name, i, j, start, lane.stamp()});
  }

  void write(Lane<ExecutionSpace> const& in, Lane<ExecutionSpace> const& work,
             Lane<ExecutionSpace> const& out) {
    if (!trace_) return;
    for (auto const& s : spans_) {
      auto const& lane = s.row == CopyIn ? in : s.row == Work ? work : out;
      auto const start = lane.time_of(s.start);
      trace_->span(std::string(s.name) + " " + std::to_string(s.i) + "," + std::to_string(s.j),
                   s.name, track_ + s.row, start, std::max(start, lane.time_of(s.end)));
    }
    spans_.clear();
  }

 private:
  using Stamp = typename Lane<ExecutionSpace>::Stamp;
  struct Interval {
    Row row;
    char const* name;
    std::int64_t i, j;
    Stamp start, end;
  };

  Trace* trace_;
  std::int64_t track_;
  std::vector<Interval> spans_;
};

}  // namespace strata::ooc::detail

#endif
