// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_RECORDER_HPP
#define STRATA_RECORDER_HPP

#include <core/Strata_Errors.hpp>

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// What ran from when to when. Spans of one track nest; spans of two tracks may overlap.
struct RecordedSpan {
  /// track that shows the span, and name of what ran
  std::string track, name;
  std::chrono::steady_clock::time_point start, end;  ///< times by the host's clock
};

/// Records the spans and regions of the thread that made it, from there to its end: attached from
/// outside, no call takes it.
///
/// Of several the one made last records; each ends on the thread that made it. Threads that work
/// for this one are let in by `OnThread`; others are not recorded, and two threads may each have a
/// recorder. What runs on an instance is recorded by the device's events: nothing waits for it but
/// `spans`, and a device's first span. While a thread has a recorder, its `Replay`s are launched
/// kernel by kernel. Without one a span takes a few nanoseconds. As any View it must be gone before
/// Kokkos is finalized. Passes over tiles on several devices are not recorded.
class Recorder {
 public:
  /// The host's clock.
  using Clock = std::chrono::steady_clock;
  /// A moment of the host, or of a device's queue.
  struct Stamp {
    Clock::time_point time;            ///< time by the host's clock
    std::optional<std::size_t> event;  ///< event in the device's queue, for a moment of a device
  };

  Recorder();
  ~Recorder();
  Recorder(Recorder const&) = delete;
  Recorder& operator=(Recorder const&) = delete;

  /// The recorder of this thread; nullptr: none.
  static Recorder* current();

  /// The spans that have ended. Waits for what they enqueued. Throws VendorError.
  std::vector<RecordedSpan> spans() const;

  /// The moment when what is enqueued on `exec` so far is done. Throws VendorError.
  template <class Exec>
  Stamp stamp(Exec const& exec);
  /// A span that is no scope. Any thread may call it; the track is the thread's.
  void add(std::string_view track, std::string name, Stamp const& start, Stamp const& end);

  class OnThread;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  Recorder* outer_;
};

/// Lets a recorder, or nullptr, record this thread too until its end; the names of the thread's
/// tracks begin with `tracks`.
class Recorder::OnThread {
 public:
  /// `recorder` must outlive this.
  OnThread(Recorder* recorder, std::string tracks);
  ~OnThread();
  OnThread(OnThread const&) = delete;
  OnThread& operator=(OnThread const&) = delete;

 private:
  Recorder* outer_;
  std::string tracks_;
};

/// The name of a row of spans.
struct Track {
  char const* name;  ///< a literal
};

/// Tells the thread's recorder, if it has one, how long the scope takes. It counts what the scope
/// enqueues on an instance, which must outlive it, or what the host does in it.
class Span {
 public:
  /// Records by the host's clock, on the track "host".
  explicit Span(std::string_view name);
  /// Records on the track "work". The parts of the name are put together if there is a recorder.
  template <class Exec, class... Part>
    requires(Kokkos::is_execution_space_v<Exec>)
  explicit Span(Exec const& exec, Part const&... name) : Span(Track{"work"}, exec, name...) {}
  /// Records on a track of that name.
  template <class Exec, class... Part>
    requires(Kokkos::is_execution_space_v<Exec>)
  Span(Track track, Exec const& exec, Part const&... name) : recorder_(Recorder::current()) {
    if (!recorder_) return;
    track_ = track.name;
    name_ = detail::message(name...);
    start_ = recorder_->stamp(exec);
    exec_ = &exec;
    end_ = [](Recorder& recorder, void const* instance) {
      return recorder.stamp(*static_cast<Exec const*>(instance));
    };
  }
  ~Span() {
    if (recorder_) record();
  }
  Span(Span const&) = delete;
  Span& operator=(Span const&) = delete;

 private:
  void record() noexcept;  // drops the span if that fails

  Recorder* recorder_;
  char const* track_ = "host";
  std::string name_;
  Recorder::Stamp start_;
  void const* exec_ = nullptr;
  Recorder::Stamp (*end_)(Recorder&, void const*) = nullptr;
};

/// A span that Kokkos' tools see too, as a region; its name begins with `strata::`.
class Region {
 public:
  /// Records by the host's clock, on the track "host".
  explicit Region(std::string_view name) : span_(name) {
    if (is_seen()) seen_.emplace(std::string(name));
  }
  /// Records on the track "work".
  template <class Exec, class... Part>
    requires(Kokkos::is_execution_space_v<Exec>)
  explicit Region(Exec const& exec, Part const&... name) : span_(exec, name...) {
    if (is_seen()) seen_.emplace(detail::message(name...));
  }

 private:
  static bool is_seen() { return Kokkos::Profiling::profileLibraryLoaded(); }

  std::optional<Kokkos::Profiling::ScopedRegion> seen_;
  Span span_;
};

}  // namespace strata

#endif
