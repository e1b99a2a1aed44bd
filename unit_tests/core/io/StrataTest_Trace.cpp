// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Errors.hpp>
#include <core/io/Strata_Trace.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace strata;
using nlohmann::json;
using std::chrono::nanoseconds;

json written(Trace const& trace) {
  std::stringstream text;
  trace.write(text);
  return json::parse(text.str());
}

std::vector<json> events(json const& document, std::string const& phase) {
  std::vector<json> found;
  for (json const& event : document.at("traceEvents"))
    if (event.at("ph") == phase) found.push_back(event);
  return found;
}

std::int64_t in_nanoseconds(json const& microseconds) {
  EXPECT_TRUE(microseconds.is_number());
  return std::llround(microseconds.get<double>() * 1000);
}

// In the order of the file, each span lies inside the open one of its track or after it.
bool nests(json const& document) {
  std::map<std::int64_t, std::vector<std::int64_t>> open_ends;
  for (json const& event : events(document, "X")) {
    std::int64_t const start = in_nanoseconds(event.at("ts"));
    std::int64_t const end = start + in_nanoseconds(event.at("dur"));
    auto& ends = open_ends[event.at("tid").get<std::int64_t>()];
    while (!ends.empty() && ends.back() <= start && ends.back() < end) ends.pop_back();
    if (!ends.empty() && end > ends.back()) return false;
    ends.push_back(end);
  }
  return true;
}

TEST(Trace, RecordsNestedSpansOfManyThreads) {
  Trace trace("factor", 3);
  constexpr int threads = 4, rounds = 50;
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&trace, t] {
      trace.name_track(t, "stream " + std::to_string(t));
      for (int k = 0; k < rounds; ++k) {
        Span const outer(&trace, "outer", "test", t);
        for (int j = 0; j < 2; ++j) {
          Span const inner(&trace, "inner", "test", t);
          Span const innermost(&trace, "innermost", "test", t);
        }
      }
    });
  for (auto& worker : workers) worker.join();
  EXPECT_EQ(trace.size(), std::size_t{threads * rounds * 5});
  json const document = written(trace);
  EXPECT_EQ(events(document, "X").size(), std::size_t{threads * rounds * 5});
  EXPECT_TRUE(nests(document));
  EXPECT_EQ(events(document, "M").size(), std::size_t{1 + 2 * threads});
  for (json const& event : document.at("traceEvents")) EXPECT_EQ(event.at("pid"), 3);
}

TEST(Trace, TimesAreMicrosecondsSinceItsBirth) {
  Trace trace;
  auto const begin = Trace::Clock::now();
  trace.span("a", "c", 7, begin + nanoseconds(1500), begin + nanoseconds(4001500));
  trace.span("b", "c", 7, begin + nanoseconds(2500), begin + nanoseconds(3000));
  auto const spans = events(written(trace), "X");
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(in_nanoseconds(spans[0].at("dur")), 4000000);
  EXPECT_EQ(in_nanoseconds(spans[1].at("ts")) - in_nanoseconds(spans[0].at("ts")), 1000);
  EXPECT_EQ(in_nanoseconds(spans[1].at("dur")), 500);
  EXPECT_EQ(spans[0].at("tid"), 7);
  EXPECT_EQ(spans[0].at("cat"), "c");
  double const born = spans[0].at("ts").get<double>();
  EXPECT_TRUE(born >= 1.5 && born < 1e6) << born;
}

TEST(Trace, OfEqualSpansTheOuterComesFirst) {
  Trace trace;
  auto const now = Trace::Clock::now();
  trace.span("inner", "", 0, now, now);
  trace.span("outer", "", 0, now, now);
  auto const spans = events(written(trace), "X");
  EXPECT_EQ(spans[0].at("name"), "outer");
  EXPECT_EQ(spans[1].at("name"), "inner");
}

TEST(Trace, SpansThatOverlapFailTheNestingCheck) {
  Trace trace;
  auto const now = Trace::Clock::now();
  trace.span("a", "", 0, now, now + nanoseconds(20));
  trace.span("b", "", 0, now + nanoseconds(10), now + nanoseconds(30));
  EXPECT_FALSE(nests(written(trace)));
  trace.span("c", "", 1, now + nanoseconds(10), now + nanoseconds(30));
}

TEST(Trace, NamesAndCountersSurviveTheFile) {
  std::string const odd = "quote \" slash \\ line\n tab\t bell\a Ma\u0301tern \u00e9";
  Trace trace(odd);
  trace.name_track(-2, "copies in");
  {
    Span const span(&trace, odd, "\"", 1);
  }
  trace.counter("bytes", 1.5e9);
  trace.counter("bytes", -2);
  json const document = written(trace);
  EXPECT_EQ(events(document, "X").at(0).at("name"), odd);
  auto const named = events(document, "M");
  EXPECT_EQ(named.at(0).at("name"), "process_name");
  EXPECT_EQ(named.at(0).at("args").at("name"), odd);
  EXPECT_EQ(named.at(1).at("name"), "thread_name");
  EXPECT_EQ(named.at(1).at("tid"), -2);
  EXPECT_EQ(named.at(1).at("args").at("name"), "copies in");
  auto const counters = events(document, "C");
  ASSERT_EQ(counters.size(), 2u);
  EXPECT_EQ(counters[0].at("args").at("value"), 1.5e9);
  EXPECT_EQ(counters[1].at("args").at("value"), -2);
  EXPECT_TRUE(counters[0].at("ts").is_number());
}

TEST(Trace, BytesThatAreNotUtf8StillGiveJson) {
  Trace trace;
  {
    Span const span(&trace, "\xff\xfe", "c");
  }
  EXPECT_EQ(events(written(trace), "X").at(0).at("name"), "\ufffd\ufffd");
}

TEST(Trace, NullRecordsNothing) {
  Span const span(nullptr, "a", "b");
  Trace const trace;
  EXPECT_EQ(trace.size(), 0u);
  EXPECT_TRUE(events(written(trace), "X").empty());
}

TEST(Trace, RefusesWhatHasNoPlaceInIt) {
  Trace trace;
  auto const now = Trace::Clock::now();
  EXPECT_THROW(trace.span("a", "b", 0, now, now - nanoseconds(1)), ValueError);
  EXPECT_THROW(trace.counter("a", NAN), ValueError);
  EXPECT_THROW(trace.counter("a", INFINITY), ValueError);
  EXPECT_EQ(trace.size(), 0u);
  EXPECT_THROW(trace.write(std::string("no_such_folder/trace.json")), IoError);
}

TEST(Trace, WritesAFile) {
  auto const path = std::filesystem::path(testing::TempDir()) / "strata_test_trace.json";
  Trace trace;
  {
    Span const span(&trace, "a", "b");
  }
  trace.write(path.string());
  std::ifstream file(path);
  EXPECT_EQ(events(json::parse(file), "X").size(), 1u);
  std::filesystem::remove(path);
}

}  // namespace
