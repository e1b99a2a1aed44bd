// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/Strata_Trace.hpp>

#include <core/Strata_Errors.hpp>
#include <core/io/Strata_TextFile.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <exception>
#include <numeric>
#include <sstream>
#include <utility>

namespace strata {

namespace {

using Json = nlohmann::ordered_json;

double microseconds(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1000;
}

// Writes the elements of a JSON array, one on a line.
class EventList {
 public:
  explicit EventList(std::ostream& out) : out_(out) {}
  void add(Json const& event) {
    out_ << (first_ ? "\n" : ",\n") << event.dump(-1, ' ', false, Json::error_handler_t::replace);
    first_ = false;
  }

 private:
  std::ostream& out_;
  bool first_ = true;
};

Json metadata(char const* what, std::int64_t pid, std::int64_t track, Json arguments) {
  return {
      {"name", what}, {"ph", "M"}, {"pid", pid}, {"tid", track}, {"args", std::move(arguments)}};
}

}  // namespace

Trace::Trace(std::string process, std::int64_t pid) : process_(std::move(process)), pid_(pid) {}

void Trace::name_track(std::int64_t track, std::string name) {
  std::lock_guard const lock(mutex_);
  tracks_[track] = std::move(name);
}

void Trace::span(std::string name, std::string category, std::int64_t track,
                 Clock::time_point start, Clock::time_point end) {
  STRATA_REQUIRE(ValueError, end >= start, "trace: the span '", name, "' ends before it starts");
  std::lock_guard const lock(mutex_);
  spans_.push_back({std::move(name), std::move(category), track, start - zero_, end - start});
}

void Trace::counter(std::string name, double value, Clock::time_point when) {
  STRATA_REQUIRE(ValueError, std::isfinite(value), "trace: the counter '", name, "' is ", value,
                 ", must be finite");
  std::lock_guard const lock(mutex_);
  counters_.push_back({std::move(name), value, when - zero_});
}

std::size_t Trace::size() const {
  std::lock_guard const lock(mutex_);
  return spans_.size() + counters_.size();
}

void Trace::write(std::ostream& out) const {
  std::lock_guard const lock(mutex_);
  out << R"({"displayTimeUnit":"ms","traceEvents":[)";
  EventList events(out);
  events.add(metadata("process_name", pid_, 0, {{"name", process_}}));
  for (auto const& [track, name] : tracks_) {
    events.add(metadata("thread_name", pid_, track, {{"name", name}}));
    events.add(metadata("thread_sort_index", pid_, track, {{"sort_index", track}}));
  }
  // Outer before inner: the earlier start, then the later end; of equals the one recorded last, as
  // inner spans end first.
  std::vector<std::size_t> order(spans_.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
    auto const key = [](SpanEvent const& s) { return std::tuple(s.track, s.start, -s.duration); };
    return key(spans_[a]) < key(spans_[b]);
  });
  for (std::size_t const k : order) {
    SpanEvent const& s = spans_[k];
    events.add({{"name", s.name},
                {"cat", s.category},
                {"ph", "X"},
                {"pid", pid_},
                {"tid", s.track},
                {"ts", microseconds(s.start)},
                {"dur", microseconds(s.duration)}});
  }
  for (CounterEvent const& c : counters_)
    events.add({{"name", c.name},
                {"ph", "C"},
                {"pid", pid_},
                {"tid", 0},
                {"ts", microseconds(c.when)},
                {"args", {{"value", c.value}}}});
  out << "\n]}\n";
}

void Trace::write(std::string const& path) const {
  std::ostringstream text;
  write(text);
  write_text_file(path, text.str());
}

void Span::record() noexcept {
  try {
    trace_->span(std::move(name_), std::move(category_), track_, start_, Trace::Clock::now());
  } catch (std::exception const&) {
    // A destructor can't report it, and a trace is not worth a program's end.
  }
}

}  // namespace strata
