// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Errors.hpp>
#include <core/io/files/Strata_Trace.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace strata;
using nlohmann::json;
using std::chrono::nanoseconds;

json written(std::vector<TracedProcess> const& processes) {
  std::stringstream text;
  write_trace(text, processes);
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

RecordedSpan span(std::string const& track, std::string const& name, std::int64_t start,
                  std::int64_t end) {
  Recorder::Clock::time_point const zero(std::chrono::hours(1));
  return {track, name, zero + nanoseconds(start), zero + nanoseconds(end)};
}

// In the order of the file, each span lies inside the open one of its track or after it.
bool nests(json const& document) {
  std::map<std::pair<int, int>, std::vector<std::int64_t>> open_ends;
  for (json const& event : events(document, "X")) {
    std::int64_t const start = in_nanoseconds(event.at("ts"));
    std::int64_t const end = start + in_nanoseconds(event.at("dur"));
    auto& ends = open_ends[{event.at("pid").get<int>(), event.at("tid").get<int>()}];
    while (!ends.empty() && ends.back() <= start && ends.back() < end) ends.pop_back();
    if (!ends.empty() && end > ends.back()) return false;
    ends.push_back(end);
  }
  return true;
}

TEST(Trace, OfOneProcessNestsAndHasNamedTracks) {
  Recorder recorder;
  for (int k = 0; k < 50; ++k) {
    Span const outer("outer");
    for (int j = 0; j < 2; ++j) {
      Span const inner("inner");
      Span const innermost("innermost");
    }
  }
  json const document = written({{"factor", recorder.spans()}});
  EXPECT_EQ(events(document, "X").size(), 250u);
  EXPECT_TRUE(nests(document));
  auto const named = events(document, "M");
  ASSERT_EQ(named.size(), 2u);
  EXPECT_EQ(named[0].at("name"), "process_name");
  EXPECT_EQ(named[0].at("args").at("name"), "factor");
  EXPECT_EQ(named[1].at("name"), "thread_name");
  EXPECT_EQ(named[1].at("args").at("name"), "host");
}

TEST(Trace, TimesAreMicrosecondsSinceTheFirstSpanOfAllRanks) {
  json const document =
      written({{"rank 0", {span("work", "b", 2500, 3000), span("halo", "a", 1500, 4001500)}},
               {"rank 1", {span("work", "c", 500, 600)}}});
  auto const spans = events(document, "X");
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].at("name"), "a");  // of the track that comes first by its name
  EXPECT_EQ(in_nanoseconds(spans[0].at("ts")), 1000);
  EXPECT_EQ(in_nanoseconds(spans[0].at("dur")), 4000000);
  EXPECT_EQ(in_nanoseconds(spans[1].at("ts")), 2000);
  EXPECT_EQ(in_nanoseconds(spans[2].at("ts")), 0);
  EXPECT_EQ(spans[0].at("tid"), 0);
  EXPECT_EQ(spans[1].at("tid"), 1);
  EXPECT_EQ(spans[1].at("pid"), 0);
  EXPECT_EQ(spans[2].at("pid"), 1);
}

TEST(Trace, OfEqualSpansTheOuterComesFirst) {
  auto const spans =
      events(written({{"", {span("", "inner", 0, 0), span("", "outer", 0, 0)}}}), "X");
  EXPECT_EQ(spans[0].at("name"), "outer");
  EXPECT_EQ(spans[1].at("name"), "inner");
}

TEST(Trace, SpansThatOverlapFailTheNestingCheck) {
  EXPECT_FALSE(nests(written({{"", {span("", "a", 0, 20), span("", "b", 10, 30)}}})));
  EXPECT_TRUE(nests(written({{"", {span("x", "a", 0, 20), span("y", "b", 10, 30)}}})));
}

TEST(Trace, NamesSurviveTheFile) {
  std::string const odd = "quote \" slash \\ line\n tab\t bell\a Ma\u0301tern \u00e9";
  json const document = written({{odd, {span(odd, odd, 0, 1)}}});
  EXPECT_EQ(events(document, "X").at(0).at("name"), odd);
  for (auto const& named : events(document, "M")) EXPECT_EQ(named.at("args").at("name"), odd);
}

TEST(Trace, BytesThatAreNotUtf8StillGiveJson) {
  EXPECT_EQ(events(written({{"", {span("", "\xff\xfe", 0, 1)}}}), "X").at(0).at("name"),
            "\ufffd\ufffd");
}

TEST(Trace, OfNothingIsEmpty) {
  EXPECT_TRUE(written({}).at("traceEvents").empty());
  EXPECT_TRUE(events(written({{"a", {}}}), "X").empty());
}

TEST(Trace, WritesAFile) {
  auto const path = std::filesystem::path(testing::TempDir()) / "strata_test_trace.json";
  write_trace(path.string(), {{"a", {span("", "b", 0, 1)}}});
  std::ifstream file(path);
  EXPECT_EQ(events(json::parse(file), "X").size(), 1u);
  std::filesystem::remove(path);
  EXPECT_THROW(write_trace(std::string("no_such_folder/trace.json"), {}), IoError);
}

}  // namespace
