// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Files.hpp"
#include <core/io/Strata_Csv.hpp>
#include <core/io/detail/Strata_CsvStream.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::test;

using Values = std::vector<double>;

Stations parse(std::string const& text, ReadOptions const& options = {}) {
  strata::MemorySource source("s.csv", text.data(), text.size());
  return strata::detail::read_stations(source, options);
}

TEST(Csv, ReadsStationsInThePlane) {
  auto const s = parse("x,y,value\n1,2,3\n-4.5,+5e1,.25");
  EXPECT_FALSE(s.geographic);
  EXPECT_EQ(s.x, (Values{1, -4.5}));
  EXPECT_EQ(s.y, (Values{2, 50}));
  EXPECT_EQ(s.value, (Values{3, 0.25}));
}

TEST(Csv, ReadsStationsOnTheGlobeUpToItsEdges) {
  auto const s = parse("value,lat,lon\n1,-90,-180\n2,90,360\n");
  EXPECT_TRUE(s.geographic);
  EXPECT_EQ(s.x, (Values{-180, 360}));
  EXPECT_EQ(s.y, (Values{-90, 90}));
  EXPECT_EQ(s.value, (Values{1, 2}));
}

TEST(Csv, FindsItsColumnsAmongOthersAndTextInQuotes) {
  auto const s = parse(
      "\"name\", \"x\" ,note,\"y\",value,x2\n\"Saint-\"\"Denis\"\", Nord\", 1 ,,2,\t3 ,nan\nplain, "
      "4,\"\", 5,6,\"a,b\" \n,7,\"\"\"\",8,9,\n");
  EXPECT_EQ(s.x, (Values{1, 4, 7}));
  EXPECT_EQ(s.y, (Values{2, 5, 8}));
  EXPECT_EQ(s.value, (Values{3, 6, 9}));
}

TEST(Csv, KnowsOtherNamesAndSemicolons) {
  for (char const* text : {"X,Y,VALUE\n1,2,3\n", "northing,rain,easting\n2,3,1\n",
                           "Easting;Northing;\"rain;mm\"\n1;2;3\n", "x,y,rain\n1,2,3\n",
                           "x,y,value,Easting,X,longitude,latitude\n1,2,3,8,9,9,9\n"}) {
    auto const s = parse(text);
    EXPECT_FALSE(s.geographic) << text;
    EXPECT_EQ(s.x, Values{1}) << text;
    EXPECT_EQ(s.y, Values{2}) << text;
    EXPECT_EQ(s.value, Values{3}) << text;
  }
  auto const s = parse("Latitude,Longitude,rain\n2,1,3\n");
  EXPECT_TRUE(s.geographic);
  EXPECT_EQ(s.x, Values{1});
  EXPECT_EQ(s.value, Values{3});
  TemporaryFolder const folder;
  EXPECT_EQ(read_locations(put(folder / "s.csv", "name,LAT,LON\na,1,2\n")).x, Values{2});
}

TEST(Csv, KnowsPairsThatOtherProgramsWrite) {
  for (char const* text :
       {"Xloc,Yloc,z\n1,2,3\n", "X_UTM\tY_UTM\tz\n1\t2\t3\n", "coords.x1;coords.x2;z\n1;2;3\n",
        "E,N,z\n1,2,3\n", "utm_x,utm_y,rain\n1,2,3\n", "POINT_X,POINT_Y,value,id\n1,2,3,a\n",
        "\"lng\",\"lat\",\"z\"\n\"1\",\"2\",\"3\"\n", "Long,Lat,z\n1,2,3\n",
        "rlon,rlat,z\n1,2,3\n"}) {
    auto const s = parse(text);
    EXPECT_EQ(s.x, Values{1}) << text;
    EXPECT_EQ(s.y, Values{2}) << text;
    EXPECT_EQ(s.value, Values{3}) << text;
    EXPECT_EQ(s.geographic, std::string(text).find("at") != std::string::npos) << text;
  }
}

TEST(Csv, ReadsDecimalCommasBetweenSemicolonsAndTabs) {
  EXPECT_EQ(parse("x;y;value\n1;-2,5;3,25e1\n").value, Values{32.5});
  EXPECT_EQ(parse("x\ty\tvalue\n\"1,5\"\t2\t3\n").x, Values{1.5});
  EXPECT_EQ(parse("x\ty\tvalue\n1.5\t2\t3\n").x, Values{1.5});
}

Stations parse(std::string const& text, StationColumns const& columns) {
  strata::MemorySource source("s.csv", text.data(), text.size());
  return strata::detail::read_stations(source, {}, MissingNumbers::Refused, columns);
}

TEST(Csv, ReadsTheColumnsThatAreAskedFor) {
  std::string const text = "x,y,cadmium,Zinc,dist\n1,2,3,4,5\n6,7,8,9,10\n";
  auto const s = parse(text, {.names = {"x", "#2", "zinc"}, .also = {"dist", "x"}});
  EXPECT_EQ(s.value, (Values{4, 9}));
  ASSERT_EQ(s.also.size(), 2U);
  EXPECT_EQ(s.also[0].values, (Values{5, 10}));
  EXPECT_EQ(s.also[1].values, (Values{1, 6}));
  EXPECT_EQ(s.ignored, std::vector<std::string>{"cadmium"});
  EXPECT_TRUE(
      parse("A,Longitude_deg,lat_deg\n1,2,3\n", {.names = {"Longitude_deg", "lat_deg", "A"}})
          .geographic);
  auto const refusal = [&](StationColumns const& columns) {
    return message_of<IoError>([&] { parse(text, columns); });
  };
  std::string const found = ", found 'x,y,cadmium,Zinc,dist'";
  EXPECT_EQ(refusal({.names = {"x", "y", "lead"}}), "s.csv:1: there is no column 'lead'" + found);
  EXPECT_EQ(refusal({.names = {"x", "y", "#6"}}), "s.csv:1: there is no column '#6'" + found);
  EXPECT_EQ(refusal({.names = {"x", "y"}}),
            "s.csv:1: of the columns X,Y,VALUE 2 are named, must be 3");
  EXPECT_EQ(refusal({.names = {"x", "y", "zinc"}, .also = {"Zinc"}}),
            "s.csv:1: column 'Zinc' is the value itself");
  EXPECT_EQ(refusal({}), "s.csv:1: expected the columns x,y,value or lon,lat,value" + found +
                             "; --columns X,Y,VALUE says which they are");
}

TEST(Csv, AcceptsAByteOrderMarkCommentsBlankLinesAndCarriageReturns) {
  auto const s = parse(
      "\xEF\xBB\xBF# origin, \"licence\r\n\r\nx,y,value\r\n\r\n1,2,3\r\n# note\r\n4,5,6\r\n  \r\n");
  EXPECT_EQ(s.value, (Values{3, 6}));
}

TEST(Csv, ReadsGzip) {
  TemporaryFolder const folder;
  EXPECT_EQ(read_stations(put(folder / "s.csv", gzip("x,y,value\n1,2,3\n"))).value, (Values{3}));
}

TEST(Csv, RefusesEachBreachWithItsLine) {
  std::pair<std::string, std::string> const cases[] = {
      {"", "s.csv: expected a line of column names; the file ends at line 0"},
      {"# only\n", "s.csv: expected a line of column names; the file ends at line 1"},
      {"x,y,value\n", "s.csv: expected at least one station; the file ends at line 1"},
      {"1,2,3\n4,5,6\n", "s.csv:1: expected the columns x,y,value or lon,lat,value, found '1,2,3'"},
      {"x,y\n1,2\n", "s.csv:1: expected the columns x,y,value or lon,lat,value, found 'x,y'"},
      {"x,lat,value\n1,2,3\n", "s.csv:1: expected the columns"},
      {"x;y;value\n1,5;2;3\n1.5;2;3\n",
       "s.csv:3: column 'x': '1.5' has a decimal '.', numbers before it have ','"},
      {"x;y;value\n1.234,5;2;3\n", "s.csv:2: column 'x': '1.234,5' is not a number"},
      {"x;y;value\n1,234,5;2;3\n", "s.csv:2: column 'x': '1,234,5' is not a number"},
      {"x,y,value\n\"1,5\",2,3\n", "s.csv:2: column 'x': '1,5' is not a number"},
      {"x,y,value\r1,2,3\r", "s.csv:1: lines end with CR alone; write them with LF, or CR LF"},
      {"x;y,value\n1;2;3\n", "s.csv:1: expected the columns"},
      {"X,easting,northing,value\n1,2,3,4\n", "s.csv:1: column 'x' twice, as 1 and 2"},
      {"easting,northing,rain,wind\n1,2,3,4\n", "s.csv:1: expected the columns"},
      {"lon,lat\n1,2\n", "s.csv:1: expected the columns"},
      {"x,y,value,x\n1,2,3,4\n", "s.csv:1: column 'x' twice, as 1 and 4"},
      {"x,y,lon,lat,value\n1,2,3,4,5\n",
       "s.csv:1: both x,y and lon,lat: which are the coordinates?"},
      {"x,y,value\n1,2\n", "s.csv:2: expected 3 fields, found 2"},
      {"x,y,value\n1,2,3,\n", "s.csv:2: expected 3 fields, found 4"},
      {"x,y,value\n1,2,\n", "s.csv:2: column 'value' is empty, expected a number"},
      {"x,y,value\n\n1,2,NA\n", "s.csv:3: column 'value': 'NA' is not a number"},
      {"x,y,value\n1,2 3,4\n", "s.csv:2: column 'y': '2 3' is not a number"},
      {"x,y,value\n1,nan,3\n", "s.csv:2: column 'y': 'nan' is not finite"},
      {"x,y,value\n1,2,-inf\n", "s.csv:2: column 'value': '-inf' is not finite"},
      {"x,y,value\n1e400,2,3\n", "s.csv:2: column 'x': '1e400' is outside the range of fp64"},
      {"x,y,value,t\n1,2,3,\"open\n\"\n", "s.csv:2: a quote is not closed: '\"open'"},
      {"x,y,value,t\n1,2,3,\"a\"b\n", "s.csv:2: expected ',' after a quoted field, found 'b'"},
      {"lon,lat,value\n361,2,3\n", "s.csv:2: lon 361 is outside -180 to 360"},
      {"lon,lat,value\n-180.5,2,3\n", "s.csv:2: lon -180.5 is outside -180 to 360"},
      {"lon,lat,value\n1,2,3\n1,90.5,3\n", "s.csv:3: lat 90.5 is outside -90 to 90"},
      {"lon,lat,value\n1,-91,3\n", "s.csv:2: lat -91 is outside -90 to 90"},
      {"x,y,value\n" + std::string(65537, '1') + ",2,3\n",
       "s.csv:2: a line of more than 65536 bytes"},
  };
  for (auto const& [text, expected] : cases) {
    auto const found = message_of<IoError>([&] { parse(text); });
    EXPECT_EQ(found.find(expected), 0u) << found << "\ninstead of\n" << expected;
    EXPECT_EQ(found.find('\n'), std::string::npos);
  }
}

TEST(Csv, RefusesMoreThanTheMemoryLimit) {
  std::string const text = "x,y,value\n1,2,3\n4,5,6\n";
  EXPECT_NO_THROW(parse(text, {.max_bytes = 48}));
  EXPECT_EQ(message_of<MemoryError>([&] { parse(text, {.max_bytes = 47}); }),
            "s.csv: the first 2 stations take 48 bytes; the limit is 47 bytes");
}

TEST(Csv, RefusesHostileFilesCheaply) {
  TemporaryFolder const folder;
  std::string const block = gzip(std::string(1 << 24, '\n'));
  std::string bomb = gzip("x,y,value\n1,2,3\n");
  for (int k = 0; k < 64; ++k) bomb += block;
  auto const path = put(folder / "s.csv", bomb);
  expect_refused_cheaply(in_child([&] { read_stations(path); }),
                         "the largest ratio allowed is 200");
  put(path, std::string(60000, ',') + '\n');
  expect_refused_cheaply(in_child([&] { read_stations(path); }), "expected the columns");
}

TEST(Csv, ReadsLocationsWithoutValues) {
  TemporaryFolder const folder;
  auto const path = put(folder / "s.csv", "name,lat,value,lon\na,10,,20\nb,-5,x,30\n");
  auto const locations = read_locations(path);
  EXPECT_TRUE(locations.geographic);
  EXPECT_EQ(locations.x, (Values{20, 30}));
  EXPECT_EQ(locations.y, (Values{10, -5}));
  EXPECT_TRUE(locations.value.empty());
  put(path, "lon,y\n1,2\n");
  EXPECT_EQ(message_of<IoError>([&] { read_locations(path); }),
            std::string(path) +
                ":1: expected the columns x,y or lon,lat, found 'lon,y'; --columns X,Y says which "
                "they are");
  put(path, "x,y\n1,nan\n");
  EXPECT_NE(message_of<IoError>([&] { read_locations(path); }).find(":2: column 'y'"),
            std::string::npos);
}

TEST(Csv, SkipsLinesWithoutANumberIfAsked) {
  TemporaryFolder const folder;
  auto const path =
      put(folder / "s.csv",
          "x,y,value,note\n1,2,3,NA\n1,2,NA,\n,2,3,a\n1,nan,3,b\n1,2,n/a,c\n4,5,\"\",d\n"
          "7,8,null,e\n4,5,6,\n");
  EXPECT_EQ(message_of<IoError>([&] { read_stations(path); }),
            std::string(path) + ":3: column 'value': 'NA' is not a number");
  auto const s = read_stations(path, {}, MissingNumbers::Skipped);
  EXPECT_EQ(s.x, (Values{1, 4}));
  EXPECT_EQ(s.value, (Values{3, 6}));
  EXPECT_EQ(s.skipped, 6);
  put(path, "x,y,value\n1,2,three\n");
  EXPECT_EQ(message_of<IoError>([&] { read_stations(path, {}, MissingNumbers::Skipped); }),
            std::string(path) + ":2: column 'value': 'three' is not a number");
  put(path, "x,y,value\n1,2,NA\n");
  EXPECT_NE(message_of<IoError>([&] {
              read_stations(path, {}, MissingNumbers::Skipped);
            }).find("expected at least one station"),
            std::string::npos);
}

TEST(Csv, PassesOnTheOtherColumnsOfLocations) {
  using Texts = std::vector<std::string>;
  TemporaryFolder const folder;
  auto const path =
      put(folder / "s.csv", "\"the \"\"name\"\"\";y;x;n\na, b;1;2;3\n\"c;\"\"d\"\"\";4;5;\n");
  auto const read = read_locations(path);
  ASSERT_EQ(read.others.size(), 2U);
  EXPECT_EQ(read.others[0].name, "the \"name\"");
  EXPECT_EQ(read.others[0].texts, (Texts{"a, b", "c;\"d\""}));
  EXPECT_EQ(read.others[1].texts, (Texts{"3", ""}));
  write_columns(path, {{"x", read.x}, {"y", read.y}}, {}, read.others);
  auto const again = read_locations(path);
  EXPECT_EQ(again.x, read.x);
  ASSERT_EQ(again.others.size(), 2U);
  EXPECT_EQ(again.others[0].name, read.others[0].name);
  EXPECT_EQ(again.others[0].texts, read.others[0].texts);
  EXPECT_EQ(again.others[1].texts, read.others[1].texts);
  EXPECT_EQ(
      message_of<ShapeError>([&] { write_columns(path, {{"x", {1, 2}}}, {}, {{"name", {"a"}}}); }),
      "write_columns: column 'name' has 1 texts, 'x' 2 numbers");
  auto const refused = [&] { read_locations(path, {.max_bytes = 100}); };
  auto const said = message_of<MemoryError>(refused);
  std::string const begin = "the first 2 stations take ";
  auto const place = said.find(begin);
  ASSERT_NE(place, std::string::npos) << said;
  auto const bytes = std::stoull(said.substr(place + begin.size()));  // the texts', too
  EXPECT_GT(bytes, 100U);
  EXPECT_NO_THROW(read_locations(path, {.max_bytes = bytes}));
}

TEST(CsvWriter, WritesColumnsUnderTheirNames) {
  TemporaryFolder const folder;
  std::string const path = folder / "t.csv";
  write_columns(path, {{"x", {1, 2.5}}, {"y", {3, -4}}, {"value", {0.1, 1e300}}});
  auto const t = read_stations(path);
  EXPECT_EQ(t.x, (Values{1, 2.5}));
  EXPECT_EQ(t.value, (Values{0.1, 1e300}));
  EXPECT_EQ(message_of<ShapeError>([&] { write_columns(path, {{"x", {1, 2}}, {"y", {3}}}); }),
            "write_columns: column 'y' has 1 numbers, 'x' 2");
  EXPECT_EQ(message_of<ShapeError>([&] { write_columns(path, {}); }),
            "write_columns: there is no column");
}

TEST(CsvWriter, ReadsBackEveryBit) {
  using limits = std::numeric_limits<double>;
  TemporaryFolder const folder;
  for (bool const geographic : {false, true}) {
    Stations const s{geographic,
                     {0.1, -1.0 / 3, -0.0},
                     {limits::denorm_min(), 1e-300, 89.999999999999},
                     {limits::max(), -limits::min(), 1e22}};
    write_stations(folder / "s.csv", s);
    auto const t = read_stations(folder / "s.csv");
    EXPECT_EQ(t.geographic, geographic);
    EXPECT_EQ(t.x, s.x);
    EXPECT_TRUE(std::signbit(t.x[2]));
    EXPECT_EQ(t.y, s.y);
    EXPECT_EQ(t.value, s.value);
  }
  EXPECT_EQ(folder.files(), 1u);
}

TEST(CsvWriter, RefusesWhatCouldNotBeReadBackBeforeThereIsAFile) {
  TemporaryFolder const folder;
  auto const refusal = [&](Stations const& s) {
    return message_of<Error>([&] { write_stations(folder / "s.csv", s); });
  };
  EXPECT_EQ(refusal({}), "write_stations: 0 x, 0 y and 0 values");
  EXPECT_EQ(refusal({false, {1}, {1, 2}, {1}}), "write_stations: 1 x, 2 y and 1 values");
  EXPECT_EQ(refusal({false, {1}, {2}, {NAN}}),
            "write_stations: station 0 is not finite: 1, 2, nan");
  EXPECT_EQ(refusal({true, {1}, {91}, {1}}),
            "write_stations: station 0 at lon 1, lat 91 is not on the globe");
  EXPECT_EQ(folder.files(), 0u);
}

TEST(CsvWriter, SaysWhyAFileCannotBeWritten) {
  Stations const s{false, {1}, {2}, {3}};
  EXPECT_EQ(message_of<IoError>([&] { write_stations("/dev/full", s); }),
            "/dev/full: wrote 0 of 16 bytes: No space left on device (errno 28)");
}

}  // namespace
