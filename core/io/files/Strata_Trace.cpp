// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/files/Strata_Trace.hpp>

#include <core/io/files/Strata_TextFile.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <ostream>
#include <sstream>
#include <tuple>

namespace strata {

namespace {

using Json = nlohmann::ordered_json;
using Moment = Recorder::Clock::time_point;

double microseconds(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1000;
}

Moment first_start(std::vector<TracedProcess> const& processes) {
  Moment first = Moment::max();
  for (auto const& process : processes)
    for (auto const& span : process.spans) first = std::min(first, span.start);
  return first;
}

// The elements of a JSON array, one on a line.
class EventList {
 public:
  explicit EventList(std::ostream& out) : out_(out) {}
  void add(Json const& event) {
    out_ << (first_ ? "\n" : ",\n") << event.dump(-1, ' ', false, Json::error_handler_t::replace);
    first_ = false;
  }
  void name(char const* what, std::size_t process, int track, std::string const& name) {
    add({{"name", what},
         {"ph", "M"},
         {"pid", process},
         {"tid", track},
         {"args", {{"name", name}}}});
  }

 private:
  std::ostream& out_;
  bool first_ = true;
};

void write(EventList& events, std::size_t number, TracedProcess const& process, Moment zero) {
  events.name("process_name", number, 0, process.name);
  std::map<std::string, int> tracks;
  for (auto const& span : process.spans) tracks[span.track] = 0;
  for (int next = 0; auto& [name, track] : tracks)
    events.name("thread_name", number, track = next++, name);
  // Outer before inner: the earlier start, then the later end; of equals the one recorded last, as
  // inner spans end first.
  auto const& spans = process.spans;
  std::vector<std::size_t> order(spans.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(spans[a].track, spans[a].start, spans[b].end) <
           std::tie(spans[b].track, spans[b].start, spans[a].end);
  });
  for (std::size_t const k : order)
    events.add({{"name", spans[k].name},
                {"ph", "X"},
                {"pid", number},
                {"tid", tracks[spans[k].track]},
                {"ts", microseconds(spans[k].start - zero)},
                {"dur", microseconds(spans[k].end - spans[k].start)}});
}

}  // namespace

void write_trace(std::ostream& out, std::vector<TracedProcess> const& processes) {
  out << R"({"displayTimeUnit":"ms","traceEvents":[)";
  EventList events(out);
  auto const zero = first_start(processes);
  for (std::size_t k = 0; k < processes.size(); ++k) write(events, k, processes[k], zero);
  out << "\n]}\n";
}

void write_trace(std::string const& path, std::vector<TracedProcess> const& processes) {
  std::ostringstream text;
  write_trace(text, processes);
  write_text_file(path, text.str());
}

}  // namespace strata
