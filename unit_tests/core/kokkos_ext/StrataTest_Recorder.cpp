// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include <core/instances/Strata_Replay.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace strata;
using namespace strata::test;

/// A name that counts how often it is written.
struct CountedName {
  int* written;
};
std::ostream& operator<<(std::ostream& out, CountedName const& name) {
  ++*name.written;
  return out << "counted";
}

RecordedSpan const* find(std::vector<RecordedSpan> const& spans, std::string const& name) {
  auto const at =
      std::find_if(spans.begin(), spans.end(), [&](auto const& span) { return span.name == name; });
  return at == spans.end() ? nullptr : &*at;
}

// As the elements of a vector do.
TEST(Recorder, MayEndBeforeOneThatWasMadeLater) {
  auto first = std::make_unique<Recorder>(), second = std::make_unique<Recorder>();
  auto const third = std::make_unique<Recorder>();
  second.reset();
  EXPECT_EQ(Recorder::current(), third.get());
  first.reset();
  {
    Span const span("third's");
  }
  EXPECT_EQ(third->spans().size(), 1u);
}

template <class Exec>
void enqueue_something(Exec const& exec,
                       Kokkos::View<double*, typename Exec::memory_space> const& x) {
  Kokkos::parallel_for(
      "strata::test::something", Kokkos::RangePolicy<Exec>(exec, 0, x.extent(0)),
      KOKKOS_LAMBDA(int i) { x(i) += 1; });
}

template <class Exec>
void expect_nested_spans_of_work() {
  Exec const exec;
  Kokkos::View<double*, typename Exec::memory_space> const x(
      Kokkos::view_alloc(exec, "strata::test::x"), 100000);
  auto const before = Recorder::Clock::now();
  Recorder recorder;
  {
    Region const outer(exec, "strata::test::outer ", 7);
    for (int k = 0; k < 2; ++k) {
      Span const inner(exec, "inner ", k);
      enqueue_something(exec, x);
    }
    Span const beside(Track{"copies"}, exec, "beside");
    Span const host("host's");
    EXPECT_TRUE(recorder.spans().size() == 2u) << "those that have ended";
  }
  auto const spans = recorder.spans();
  auto const after = Recorder::Clock::now();
  ASSERT_EQ(spans.size(), 5u);
  auto const *const outer = find(spans, "strata::test::outer 7"),
                    *const first = find(spans, "inner 0"), *const second = find(spans, "inner 1");
  ASSERT_TRUE(outer && first && second);
  EXPECT_LE(outer->start, first->start);
  EXPECT_LE(first->start, first->end);
  EXPECT_LE(first->end, second->start);
  EXPECT_LE(second->end, outer->end);
  auto const off = std::chrono::milliseconds(5);  // an event's time by the host's clock
  EXPECT_LE(before, outer->start + off);
  EXPECT_LE(outer->end, after + off);
  EXPECT_EQ(outer->track, "work");
  EXPECT_EQ(first->track, "work");
  EXPECT_EQ(find(spans, "beside")->track, "copies");
  EXPECT_EQ(find(spans, "host's")->track, "host");
}

template <class Exec>
void expect_nothing_without_a_recorder() {
  Exec const exec;
  int written = 0;
  {
    Region const region(exec, "strata::test::", CountedName{&written});
    Span const span(Track{"row"}, exec, CountedName{&written});
  }
  EXPECT_EQ(Recorder::current(), nullptr);
  EXPECT_EQ(written, Kokkos::Profiling::profileLibraryLoaded() ? 1 : 0);  // a tool's name
  Recorder recorder;
  {
    Span const span(exec, CountedName{&written});
  }
  EXPECT_EQ(recorder.spans().at(0).name, "counted");
}

template <class Space>
struct RecorderOn : testing::Test {};
TYPED_TEST_SUITE(RecorderOn, Spaces, SpaceNames);
TYPED_TEST(RecorderOn, RecordsWorkThatNests) { expect_nested_spans_of_work<TypeParam>(); }
TYPED_TEST(RecorderOn, WithoutOneNoNameIsMade) { expect_nothing_without_a_recorder<TypeParam>(); }
TYPED_TEST(RecorderOn, KeepsWorkFromReplay) {
  Recorder const recorder;
  EXPECT_FALSE(Replay<TypeParam>::is_possible());
}

std::vector<std::string> seen;  // by a tool

TEST(Region, IsSeenByKokkosTools) {
  namespace tools = Kokkos::Tools::Experimental;
  auto const before = tools::get_callbacks();
  tools::set_push_region_callback([](char const* name) { seen.emplace_back(name); });
  tools::set_pop_region_callback([] { seen.emplace_back("end"); });
  {
    Region const host("strata::test::host");
    Kokkos::DefaultExecutionSpace const exec;
    Region const work(exec, "strata::test::", 3);
    Span const span("not seen");
  }
  tools::set_callbacks(before);
  EXPECT_EQ(seen,
            (std::vector<std::string>{"strata::test::host", "strata::test::3", "end", "end"}));
}

TEST(Recorder, TheLastOneMadeRecords) {
  Recorder outer;
  EXPECT_EQ(Recorder::current(), &outer);
  {
    Recorder inner;
    {
      Span const span("inside");
    }
    EXPECT_EQ(Recorder::current(), &inner);
    EXPECT_EQ(inner.spans().size(), 1u);
  }
  EXPECT_EQ(Recorder::current(), &outer);
  {
    Region const region("strata::test::after");
  }
  auto const spans = outer.spans();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].name, "strata::test::after");
}

// A span that a recorder did not see begin is not its own.
TEST(Recorder, SpansBelongToTheRecorderThatSawThemBegin) {
  std::optional<Span> early(std::in_place, "early");
  Recorder recorder;
  early.reset();
  EXPECT_TRUE(recorder.spans().empty());
}

TEST(Recorder, OtherThreadsAreLetInByName) {
  Recorder recorder;
  constexpr int threads = 4, rounds = 50;
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&recorder, t] {
      EXPECT_EQ(Recorder::current(), nullptr);
      {
        Recorder::OnThread const attached(&recorder, "worker " + std::to_string(t) + " ");
        for (int k = 0; k < rounds; ++k) {
          Span const outer("outer");
          Span const inner("inner");
        }
        Recorder::OnThread const detached(nullptr, "");
        Span const nobodys("nobody's");
      }
      EXPECT_EQ(Recorder::current(), nullptr);
    });
  std::thread([] {
    Recorder own;  // of two solvers on two threads neither hears the other
    {
      Span const span("own");
    }
    EXPECT_EQ(own.spans().size(), 1u);
  }).join();
  for (auto& worker : workers) worker.join();
  std::map<std::string, int> count;
  for (auto const& span : recorder.spans()) ++count[span.track];
  EXPECT_EQ(count.size(), std::size_t{threads});
  EXPECT_EQ(count["worker 3 host"], 2 * rounds);
}

TEST(Recorder, TakesSpansThatAreNoScopes) {
  Recorder recorder;
  auto const now = Recorder::Clock::now();
  recorder.add("messages", "under way", {now, {}}, {now + std::chrono::microseconds(3), {}});
  auto const spans = recorder.spans();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].track, "messages");
  EXPECT_EQ(spans[0].end - spans[0].start, std::chrono::microseconds(3));
}

}  // namespace
