// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <comm/Strata_GatherSpans.hpp>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>

namespace strata {

namespace {

using Clock = Recorder::Clock;
using std::chrono::nanoseconds;

// How far this rank's clock is before rank 0's. No rank leaves a barrier before rank 0 has entered
// it: the least of the differences is the clocks' and a message's way.
nanoseconds before_root(Communicator const& comm) {
  constexpr int barriers = 16;
  nanoseconds least = nanoseconds::max();
  for (int k = 0; k < barriers; ++k) {
    nanoseconds const entered = Clock::now().time_since_epoch();
    comm.barrier();
    nanoseconds const left = Clock::now().time_since_epoch();
    least = std::min(least, left - nanoseconds(comm.gather(entered.count())[0]));
  }
  return least;
}

// A span on a line: neither tracks nor names have line ends, tracks no tabs.
std::string text_of(std::vector<RecordedSpan> const& spans, nanoseconds before) {
  std::ostringstream out;
  for (auto const& span : spans)
    out << (span.start.time_since_epoch() - before).count() << ' '
        << (span.end.time_since_epoch() - before).count() << ' ' << span.track << '\t' << span.name
        << '\n';
  return out.str();
}

std::vector<RecordedSpan> spans_of(std::string const& text) {
  std::vector<RecordedSpan> spans;
  std::istringstream in(text);
  std::int64_t start = 0, end = 0;
  for (std::string track, name;
       in >> start >> end && in.get() && std::getline(in, track, '\t') && std::getline(in, name);)
    spans.push_back(
        {track, name, Clock::time_point(nanoseconds(start)), Clock::time_point(nanoseconds(end))});
  return spans;
}

}  // namespace

std::vector<TracedProcess> gather_spans(Communicator const& comm, Recorder const& recorder) {
  auto const before = before_root(comm);
  auto const text = comm.agree([&] { return text_of(recorder.spans(), before); });
  std::vector<TracedProcess> ranks;
  for (auto const& of_rank : comm.gather_text(text))
    ranks.push_back({"rank " + std::to_string(ranks.size()), spans_of(of_rank)});
  return ranks;
}

}  // namespace strata
