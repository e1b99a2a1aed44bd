// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TRACE_HPP
#define STRATA_TRACE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// What ran when: spans of time on named tracks, and counters; for Perfetto or chrome://tracing.
///
/// The caller owns it and hands a pointer down; nullptr records nothing. Any thread may record, on
/// any track; spans of one track must nest, as those of a thread or of a stream do. It measures the
/// host: a span around an asynchronous call ends when the call returns, unless the instance was
/// fenced.
class Trace {
 public:
  using Clock = std::chrono::steady_clock;

  /// Time zero is now. `process` names and `pid` numbers the group of tracks (an MPI rank).
  explicit Trace(std::string process = "strata", std::int64_t pid = 0);

  /// The name that `track` is shown under.
  void name_track(std::int64_t track, std::string name);

  /// Record that `name` ran on `track` from start to end.
  ///
  /// Throws   ValueError if end is before start.
  void span(std::string name, std::string category, std::int64_t track, Clock::time_point start,
            Clock::time_point end);

  /// Record that the quantity `name` is `value` from `when` on.
  ///
  /// Throws   ValueError if the value is not finite.
  void counter(std::string name, double value, Clock::time_point when = Clock::now());

  /// Spans and counter values recorded so far.
  std::size_t size() const;

  /// Write the events as Chrome's trace-event JSON; times in microseconds since time zero.
  ///
  /// Result   spans are complete events ("X"), by track and then outer before inner; bytes that
  ///          are not UTF-8 are replaced.
  /// Source   Trace Event Format, the Chromium project, 2016.
  void write(std::ostream& out) const;
  /// The same to a file.
  ///
  /// Throws   IoError with the path and the reason; an existing file is then as it was.
  void write(std::string const& path) const;

 private:
  struct SpanEvent {
    std::string name, category;
    std::int64_t track;
    std::chrono::nanoseconds start, duration;
  };
  struct CounterEvent {
    std::string name;
    double value;
    std::chrono::nanoseconds when;
  };

  std::string process_;
  std::int64_t pid_;
  Clock::time_point zero_ = Clock::now();
  mutable std::mutex mutex_;
  std::map<std::int64_t, std::string> tracks_;
  std::vector<SpanEvent> spans_;
  std::vector<CounterEvent> counters_;
};

/// Records the time from its construction to its destruction on a track.
class Span {
 public:
  Span(Trace* trace, std::string_view name, std::string_view category, std::int64_t track = 0)
      : trace_(trace), track_(track) {
    if (!trace_) return;
    name_ = name;
    category_ = category;
    start_ = Trace::Clock::now();
  }
  ~Span() {
    if (trace_) record();
  }
  Span(Span const&) = delete;
  Span& operator=(Span const&) = delete;

 private:
  void record() noexcept;  // drops the span if memory is short

  Trace* trace_;
  std::int64_t track_;
  std::string name_, category_;
  Trace::Clock::time_point start_;
};

}  // namespace strata

#endif
