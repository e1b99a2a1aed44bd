// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include "sparse/StrataTest_Sparse.hpp"
#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/hpgmxp/Strata_Hpgmxp.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

using Spans = std::vector<TraceSpan>;

Spans those(Spans const& spans, int rank, TraceRow row, std::string const& text) {
  Spans found;
  for (auto const& span : spans)
    if (span.rank == rank && span.row == row && span.name.find(text) != std::string::npos)
      found.push_back(span);
  return found;
}

bool contains(TraceSpan const& outer, TraceSpan const& inner) {
  return outer.start <= inner.start && inner.end <= outer.end;
}

// Of two spans one lies in the other or after it.
void expect_nested(Spans spans) {
  std::sort(spans.begin(), spans.end(), [](auto const& a, auto const& b) {
    return std::pair(a.start, b.end) < std::pair(b.start, a.end);
  });
  std::vector<TraceSpan> open;
  for (auto const& span : spans) {
    EXPECT_LE(span.start, span.end) << span.name;
    while (!open.empty() && open.back().end <= span.start) open.pop_back();
    if (!open.empty()) {
      EXPECT_TRUE(contains(open.back(), span)) << open.back().name << ", " << span.name;
    }
    open.push_back(span);
  }
}

HpgmxpOptions traced(RunType run) {
  HpgmxpOptions options;
  options.nx = options.ny = options.nz = 16;
  options.seconds = 0;
  options.run = run;
  options.matrix.colouring = ColouringMethod::Greedy;
  options.traced_iterations = 2;
  return options;
}

// What each rank did, without what depends on its place.
std::multiset<std::string> operations(Spans const& spans, int rank) {
  std::multiset<std::string> names;
  for (auto const& span : those(spans, rank, TraceRow::Work, ""))
    if (span.name.find("block") == std::string::npos &&
        span.name.find("interior") == std::string::npos &&
        span.name.find("restriction") == std::string::npos)  // a side of even points has a boundary
      names.insert(span.name);
  return names;
}

void expect_halos(Spans const& spans, int rank, bool on_host) {
  for (int l = 0; l < 4; ++l) {
    std::string const level = "level " + std::to_string(l);
    auto const messages = those(spans, rank, TraceRow::Messages, "messages, " + level);
    auto const packed = those(spans, rank, TraceRow::Halo, level);
    EXPECT_EQ(messages.empty(), l == 3) << level;  // the coarsest is swept from zero alone
    EXPECT_EQ(packed.empty(), l == 3) << level;
    if (l > 0 || !on_host) continue;  // a device's messages start when the host has come so far
    auto const inside = those(spans, rank, TraceRow::Work, "interior");
    for (auto const& message : messages)
      EXPECT_TRUE(std::any_of(inside.begin(), inside.end(),
                              [&](auto const& work) { return contains(message, work); }));
  }
}

template <class Exec>
void expect_a_trace() {
  auto const comm = test_ranks();
  if (comm.size() > 3) GTEST_SKIP() << "more ranks than a test machine has cores: minutes";
  auto const spans = run_hpgmxp(Exec(), comm, traced(RunType::StandaloneMixed)).trace;
  if (comm.rank() > 0) {
    EXPECT_TRUE(spans.empty());
    return;
  }
  for (int rank = 0; rank < comm.size(); ++rank) {
    for (int row = 0; row < trace_rows; ++row)
      expect_nested(those(spans, rank, static_cast<TraceRow>(row), ""));
    EXPECT_EQ(operations(spans, rank), operations(spans, 0));
    // Two iterations, and the cycle that turns the basis into a correction.
    for (int l = 0; l < 4; ++l) {
      std::string const level = ", level " + std::to_string(l);
      EXPECT_EQ(those(spans, rank, TraceRow::Work, "Gauss-Seidel from zero" + level).size(), 3u);
      EXPECT_EQ(those(spans, rank, TraceRow::Work, "Gauss-Seidel" + level).size(), l < 3 ? 3u : 0u);
      auto const inside =
                     those(spans, rank, TraceRow::Work, "restriction, interior" + level).size(),
                 outside =
                     those(spans, rank, TraceRow::Work, "restriction, boundary" + level).size();
      EXPECT_EQ(std::max(inside, outside), l < 3 ? 3u : 0u);
      EXPECT_EQ(std::min(inside, outside) % 3, 0u);
    }
    EXPECT_EQ(those(spans, rank, TraceRow::Work, "orthogonalisation").size(), 2u);
    if (comm.size() > 1) expect_halos(spans, rank, strata::runs_on_host<Exec>);
    EXPECT_EQ(those(spans, rank, TraceRow::Messages, "").empty(), comm.size() == 1);
  }
}

template <class Exec>
void expect_that_tracing_changes_nothing() {
  auto const comm = test_ranks();
  Exec const exec;
  StencilProblem problem{16, 16, 16, 1, 1, comm.size()};
  problem.pz = comm.rank();
  auto const plain = make_hierarchy(exec, comm, problem, 3);
  auto const with = plain.traced(WorkTrace<Exec>(exec, comm));
  auto const& A = plain.levels.front().A;
  auto const r = A.template allocate<double>(exec, "strata::test::r"),
             x = A.template allocate<double>(exec, "strata::test::x"),
             y = A.template allocate<double>(exec, "strata::test::y");
  Kokkos::deep_copy(exec, r, 1.0);
  Multigrid<Exec, double>(exec, plain).apply(exec, r, x);
  Multigrid<Exec, double>(exec, with).apply(exec, r, y);
  EXPECT_EQ(to_host(exec, x), to_host(exec, y));
  EXPECT_FALSE(plain.levels.front().A.trace());
}

template <class Exec>
void expect_labels() {
  auto const comm = test_ranks();
  Exec const exec;
  WorkTrace<Exec> const trace(exec, comm), part = trace.labelled(", a").labelled(", b");
  int calls = 0;
  part.enqueue(exec, TraceRow::Work, [&] { ++calls; }, "outer ", 7);
  WorkTrace<Exec>().enqueue(exec, TraceRow::Work, [&] { ++calls; }, "nothing");
  EXPECT_EQ(calls, 2);
  auto const start = trace.now();
  trace.add(TraceRow::Messages, start, trace.now(), "rank of many words");
  auto const spans = trace.gathered();
  ASSERT_EQ(spans.size(), comm.rank() > 0 ? 0u : 2u * static_cast<std::size_t>(comm.size()));
  for (int rank = 0; comm.rank() == 0 && rank < comm.size(); ++rank) {
    EXPECT_EQ(those(spans, rank, TraceRow::Work, "outer 7, a, b").size(), 1u);
    auto const done = those(spans, rank, TraceRow::Messages, "rank of many words");
    ASSERT_EQ(done.size(), 1u);
    EXPECT_GE(done[0].start.count(), 0);  // after the moment that is all ranks' zero
    EXPECT_LT(done[0].end, std::chrono::minutes(5));
  }
}

template <class Space>
struct WorkTraces : testing::Test {};
TYPED_TEST_SUITE(WorkTraces, Spaces, SpaceNames);
TYPED_TEST(WorkTraces, OfTheBenchmarkNestAndShowEveryLevel) { expect_a_trace<TypeParam>(); }
TYPED_TEST(WorkTraces, ChangeNoBit) { expect_that_tracing_changes_nothing<TypeParam>(); }
TYPED_TEST(WorkTraces, HaveTheirLabelsAndRanks) { expect_labels<TypeParam>(); }
TYPED_TEST(WorkTraces, AnEmptyOneHasNothingToGather) {
  EXPECT_TRUE(throws_with<ValueError>("nothing was traced",
                                      [] { (void)WorkTrace<TypeParam>().gathered(); }));
  EXPECT_FALSE(WorkTrace<TypeParam>());
  EXPECT_EQ(WorkTrace<TypeParam>().now(), Trace::Clock::time_point{});
}

}  // namespace
