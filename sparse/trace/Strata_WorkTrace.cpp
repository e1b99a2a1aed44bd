// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/trace/Strata_WorkTrace.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>

#include <algorithm>
#include <sstream>

namespace strata::sparse {

namespace {

using Clock = Trace::Clock;
using std::chrono::nanoseconds;

// Rank 0's now by this rank's clock. No rank leaves a barrier before rank 0 has entered it: the least of
// the differences is the clocks' and a message's way.
Clock::time_point common_now(Communicator const& comm) {
  constexpr int barriers = 16;
  auto const zero = Clock::now();
  nanoseconds offset = nanoseconds::max();
  for (int k = 0; k < barriers; ++k) {
    auto const before = Clock::now().time_since_epoch();
    comm.barrier();
    auto const after = Clock::now().time_since_epoch();
    nanoseconds const root(comm.gather(nanoseconds(before).count())[0]);
    offset = std::min(offset, nanoseconds(after) - root);
  }
  nanoseconds const root(comm.gather(nanoseconds(zero.time_since_epoch()).count())[0]);
  return Clock::time_point(root + offset);
}

// A span on a line; names have no line ends.
void write(std::ostream& out, TraceRow row, nanoseconds start, nanoseconds end,
           std::string const& name) {
  out << static_cast<int>(row) << ' ' << start.count() << ' ' << end.count() << ' ' << name << '\n';
}

void read(std::string const& text, int rank, std::vector<TraceSpan>& spans) {
  std::istringstream in(text);
  int row = 0;
  std::int64_t start = 0, end = 0;
  for (std::string name; in >> row >> start >> end && in.get() && std::getline(in, name);)
    spans.push_back({rank, static_cast<TraceRow>(row), nanoseconds(start), nanoseconds(end), name});
}

}  // namespace

template <class Exec>
WorkTrace<Exec>::WorkTrace(Exec const& exec, Communicator const& comm) {
  comm.agree([&] { recorder_ = std::make_shared<Recorder>(exec, comm); });
  recorder_->zero = common_now(comm);
}

template <class Exec>
std::vector<TraceSpan> WorkTrace<Exec>::gathered() const {
  STRATA_REQUIRE(ValueError, recorder_, "gathered: nothing was traced");
  auto const& own = *recorder_;
  std::ostringstream lines;
  own.comm.agree([&] {
    for (auto const& span : own.enqueued)
      write(lines, span.row, own.clock.time_of(span.start) - own.zero,
            own.clock.time_of(span.end) - own.zero, span.name);
    for (auto const& span : own.done)
      write(lines, span.row, span.start - own.zero, span.end - own.zero, span.name);
  });
  std::vector<TraceSpan> spans;
  auto const texts = own.comm.gather_text(lines.str());
  for (std::size_t rank = 0; rank < texts.size(); ++rank)
    read(texts[rank], static_cast<int>(rank), spans);
  return spans;
}

#define STRATA_INSTANTIATE_WORK_TRACE(Space) template class WorkTrace<Space>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_WORK_TRACE)

}  // namespace strata::sparse
