// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/kokkos_ext/Strata_Recorder.hpp>

#include <core/kokkos_ext/Strata_EventClock.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <algorithm>
#include <exception>
#include <mutex>
#include <type_traits>
#include <utility>

namespace strata {

namespace {

using Device = Kokkos::DefaultExecutionSpace;
struct NoDevice {};
using DeviceClock = std::conditional_t<runs_on_host<Device>, NoDevice, vendor::EventClock<Device>>;

// The recorder of this thread.
thread_local Recorder* attached = nullptr;
thread_local std::string names_begin;

template <class Exec, class Events>
Recorder::Stamp stamp_of(Exec const& exec, std::mutex& mutex, Events& events) {
  if constexpr (runs_on_host<Exec>) {
    return {Recorder::Clock::now(), {}};
  } else {
    std::lock_guard const lock(mutex);
    return {{}, events.stamp(exec)};
  }
}

template <class Events>
Recorder::Clock::time_point time_of(Recorder::Stamp const& stamp, Events const& events) {
  if constexpr (!std::is_same_v<Events, NoDevice>)
    if (stamp.event) return events.time_of(*stamp.event);
  return stamp.time;
}

}  // namespace

struct Recorder::Impl {
  struct Ended {
    std::string track, name;
    Stamp start, end;
  };
  mutable std::mutex mutex;
  std::vector<Ended> ended;
  DeviceClock clock;
};

Recorder::Recorder() : impl_(std::make_unique<Impl>()), outer_(std::exchange(attached, this)) {}

Recorder::~Recorder() {
  Recorder** link = &attached;
  while (*link != nullptr && *link != this) link = &(*link)->outer_;
  if (*link == this) *link = outer_;
}

Recorder* Recorder::current() { return attached; }

std::vector<RecordedSpan> Recorder::spans() const {
  std::lock_guard const lock(impl_->mutex);
  std::vector<RecordedSpan> spans;
  spans.reserve(impl_->ended.size());
  for (auto const& span : impl_->ended) {
    auto const start = time_of(span.start, impl_->clock), end = time_of(span.end, impl_->clock);
    spans.push_back({span.track, span.name, start, std::max(start, end)});
  }
  return spans;
}

template <class Exec>
Recorder::Stamp Recorder::stamp(Exec const& exec) {
  return stamp_of(exec, impl_->mutex, impl_->clock);
}

void Recorder::add(std::string_view track, std::string name, Stamp const& start, Stamp const& end) {
  std::string full = names_begin;
  full += track;
  std::lock_guard const lock(impl_->mutex);
  impl_->ended.push_back({std::move(full), std::move(name), start, end});
}

Recorder::OnThread::OnThread(Recorder* recorder, std::string tracks)
    : outer_(std::exchange(attached, recorder)),
      tracks_(std::exchange(names_begin, std::move(tracks))) {}

Recorder::OnThread::~OnThread() {
  attached = outer_;
  names_begin = std::move(tracks_);
}

Span::Span(std::string_view name) : recorder_(Recorder::current()) {
  if (!recorder_) return;
  name_ = name;
  start_.time = Recorder::Clock::now();
}

void Span::record() noexcept {
  try {
    auto const end = end_ ? end_(*recorder_, exec_) : Recorder::Stamp{Recorder::Clock::now(), {}};
    recorder_->add(track_, std::move(name_), start_, end);
  } catch (std::exception const&) {
    recorder_ = nullptr;  // a destructor can't report it, and a record is not worth a program's end
  }
}

#define STRATA_INSTANTIATE_RECORDER(Space) template Recorder::Stamp Recorder::stamp(Space const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_RECORDER)

}  // namespace strata
