// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include "sparse/StrataTest_Sparse.hpp"
#include <comm/Strata_GatherSpans.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/hpgmxp/Strata_Hpgmxp.hpp>
#include <sparse/multigrid/Strata_GeometricMultigrid.hpp>
#include <sparse/multigrid/Strata_GridHierarchy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

using Spans = std::vector<RecordedSpan>;

std::string const matrix = "strata::sparse::DistributedMatrix::";

Spans those(Spans const& spans, std::string const& track, std::string const& name) {
  Spans found;
  for (auto const& span : spans)
    if (span.track == track && (name.empty() || span.name == name)) found.push_back(span);
  return found;
}

bool contains(RecordedSpan const& outer, RecordedSpan const& inner) {
  return outer.start <= inner.start && inner.end <= outer.end;
}

// Of two spans one lies in the other or after it.
void expect_nested(Spans spans) {
  std::sort(spans.begin(), spans.end(), [](auto const& a, auto const& b) {
    return std::pair(a.start, b.end) < std::pair(b.start, a.end);
  });
  Spans open;
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

// What each rank did, without what depends on its position.
std::multiset<std::string> operations(Spans const& spans) {
  std::multiset<std::string> names;
  for (auto const& span : those(spans, "work", ""))
    if (span.name.starts_with("strata::")) names.insert(span.name);
  return names;
}

// Those of a track within the spans of a level, but for the levels below.
Spans on_level(Spans const& spans, std::string const& track, std::string const& name, int level) {
  auto const within = [&](RecordedSpan const& span, int l) {
    auto const levels =
        those(spans, "work", "strata::sparse::GeometricMultigrid::level " + std::to_string(l));
    return std::any_of(levels.begin(), levels.end(),
                       [&](auto const& outer) { return contains(outer, span); });
  };
  Spans found;
  for (auto const& span : those(spans, track, name))
    if (within(span, level) && !within(span, level + 1)) found.push_back(span);
  return found;
}

// On a host what is under way beside work lies within it.
void expect_halos(Spans const& spans) {
  for (int l = 0; l < 4; ++l) {
    auto const messages = on_level(spans, "messages", "messages", l);
    auto const packed = on_level(spans, "halo", "", l);
    EXPECT_EQ(messages.empty(), l == 3) << l;  // the coarsest is swept from zero alone
    EXPECT_EQ(packed.empty(), l == 3) << l;
    for (auto const& message : messages) {
      auto const inside = those(spans, "work", "");
      EXPECT_TRUE(std::any_of(inside.begin(), inside.end(), [&](auto const& work) {
        return work.name.starts_with(matrix) && contains(work, message);
      }));
    }
  }
}

void expect_two_iterations(Spans const& spans) {
  // And the cycle that turns the basis into a correction.
  for (int l = 0; l < 4; ++l) {
    auto const count = [&](std::string const& name) {
      return on_level(spans, "work", name, l).size();
    };
    EXPECT_EQ(count(matrix + "gauss_seidel, from zero"), 3u);
    EXPECT_EQ(count(matrix + "gauss_seidel"), l < 3 ? 3u : 0u);
    EXPECT_EQ(count(matrix + "restrict_residual"), l < 3 ? 3u : 0u);
    EXPECT_EQ(count("strata::sparse::prolong"), l < 3 ? 3u : 0u);
  }
  EXPECT_EQ(those(spans, "work", "strata::sparse::KrylovBasis::orthogonalise").size(), 2u);
  EXPECT_EQ(those(spans, "work", matrix + "multiply").size(), 2u);
  EXPECT_EQ(those(spans, "work", "strata::sparse::GmresIr::solve").size(), 1u);
}

template <class Exec>
void expect_a_trace() {
  auto const comm = test_ranks();
  if (comm.size() > 3) GTEST_SKIP() << "more ranks than a test machine has cores: minutes";
  auto const ranks = run_hpgmxp(Exec(), comm, traced(RunType::StandaloneMixed)).trace;
  ASSERT_EQ(ranks.size(), comm.rank() > 0 ? 0u : static_cast<std::size_t>(comm.size()));
  for (auto const& [name, spans] : ranks) {
    SCOPED_TRACE(name);
    std::set<std::string> tracks;
    for (auto const& span : spans) tracks.insert(span.track);
    for (auto const& track : tracks) expect_nested(those(spans, track, ""));
    if (comm.size() == 1) {
      EXPECT_EQ(tracks, std::set<std::string>{"work"});
    }
    EXPECT_EQ(operations(spans), operations(ranks[0].spans));
    expect_two_iterations(spans);
    if (comm.size() > 1 && strata::runs_on_host<Exec>) expect_halos(spans);
    EXPECT_EQ(those(spans, "messages", "").empty(), comm.size() == 1);
  }
}

template <class Exec>
void expect_that_recording_changes_nothing() {
  auto const comm = test_ranks();
  Exec const exec;
  StencilProblem problem{16, 16, 16, 1, 1, comm.size()};
  problem.pz = comm.rank();
  auto const hierarchy = make_grid_hierarchy(exec, comm, problem, 3);
  auto const& A = hierarchy.levels.front().A;
  auto const r = A.template allocate<double>(exec, "strata::test::r"),
             x = A.template allocate<double>(exec, "strata::test::x"),
             y = A.template allocate<double>(exec, "strata::test::y");
  Kokkos::deep_copy(exec, r, 1.0);
  GeometricMultigrid<Exec, double> const M(exec, hierarchy);
  for (int k = 0; k < 3; ++k) M.apply(exec, r, x);  // replayed from the third time on
  Recorder recorder;
  M.apply(exec, r, y);
  EXPECT_FALSE(recorder.spans().empty());
  EXPECT_EQ(to_host(exec, x), to_host(exec, y));
}

template <class Space>
struct SpansOfRanks : testing::Test {};
TYPED_TEST_SUITE(SpansOfRanks, Spaces, SpaceNames);
TYPED_TEST(SpansOfRanks, OfTheBenchmarkNestAndShowEveryLevel) { expect_a_trace<TypeParam>(); }
TYPED_TEST(SpansOfRanks, ChangeNoBit) { expect_that_recording_changes_nothing<TypeParam>(); }

TEST(GatherSpans, HaveTheirNamesAndOneClock) {
  auto const comm = test_ranks();
  Recorder recorder;
  comm.barrier();
  {
    Span const span("of many words, with a comma");
    comm.barrier();  // all ranks are within the span now
  }
  auto const ranks = gather_spans(comm, recorder);
  ASSERT_EQ(ranks.size(), comm.rank() > 0 ? 0u : static_cast<std::size_t>(comm.size()));
  for (std::size_t k = 0; k < ranks.size(); ++k) {
    EXPECT_EQ(ranks[k].name, "rank " + std::to_string(k));
    auto const& spans = ranks[k].spans;
    ASSERT_EQ(spans.size(), 1u);
    EXPECT_EQ(spans[0].track, "host");
    EXPECT_EQ(spans[0].name, "of many words, with a comma");
    auto const off = std::chrono::seconds(5);  // of a machine with more to do
    EXPECT_LE(spans[0].start, ranks[0].spans[0].end + off);
    EXPECT_LE(ranks[0].spans[0].start, spans[0].end + off);
  }
}

}  // namespace
