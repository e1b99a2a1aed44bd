// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_SlowTrend.hpp"
#include "StrataTest_Spaces.hpp"
#include <geostat/kriging/Strata_MapFiles.hpp>
#include <geostat/kriging/Strata_Prediction.hpp>
#include <geostat/kriging/Strata_PredictionGrid.hpp>
#include <geostat/kriging/Strata_Simulation.hpp>
#include <geostat/kriging/Strata_Variogram.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

using namespace strata;
using namespace strata::geostat;
using strata::test::message_of;
using strata::test::Numbers;
using strata::test::SlowField;
using strata::test::SlowTrend;
using strata::test::some_columns;
using strata::test::some_values;

template <class Space>
class SimulationTest : public testing::Test {};
TYPED_TEST_SUITE(SimulationTest, strata::test::Spaces, strata::test::SpaceNames);

// Means and covariances of many draws, to four standard errors, against those of universal kriging
// in long double.
TYPED_TEST(SimulationTest, HasTheMeanAndCovarianceOfUniversalKriging) {
  TypeParam const exec;
  std::int64_t const count = 4000;
  Locations const at = synthetic_locations(40);
  Locations const fresh{{0.5, 0.52, 0.9, 1.3}, {0.5, 0.51, 0.1, 1.2}};
  MaternCovariance const c{.sigma2 = 2, .range = 0.2, .nu = 0.5, .nugget = 0.3};
  auto const F = some_columns(at), F_new = some_columns(fresh);
  auto const y = some_values(40);
  CovarianceFactor<TypeParam> factor(exec, c, at);
  auto const kriged = predict(exec, factor, y, fresh, Trend(F), {.trend_columns = F_new});
  auto const drawn =
      simulate(exec, factor, y, fresh, Trend(F), {.count = count, .trend_columns = F_new});
  EXPECT_EQ(drawn.ridge, 0);
  SlowField const S(c, at);
  SlowTrend const slow(S, F, Numbers(y.begin(), y.end()));
  std::vector<Numbers> k0(4), d(4);
  for (std::size_t p = 0; p < 4; ++p) {
    for (std::int64_t i = 0; i < at.size(); ++i)
      k0[p].push_back(c(std::hypot(at.x[i] - fresh.x[p], at.y[i] - fresh.y[p])));
    for (std::size_t a = 0; a < 4; ++a) d[p].push_back(F_new[a][p] - S.form(slow.F[a], k0[p]));
  }
  auto const covariance = [&](std::size_t p, std::size_t q) {
    long double sum =
        c(std::hypot(fresh.x[p] - fresh.x[q], fresh.y[p] - fresh.y[q])) - S.form(k0[p], k0[q]);
    for (std::size_t a = 0; a < 4; ++a)
      for (std::size_t b = 0; b < 4; ++b) sum += d[p][a] * slow.covariance[a + 4 * b] * d[q][b];
    return static_cast<double>(sum);
  };
  for (std::size_t p = 0; p < 4; ++p) {
    double mean = 0;
    for (std::size_t j = 0; j < count; ++j) mean += drawn.fields(p, j) / count;
    EXPECT_NEAR(mean, kriged.mean[p], 4 * std::sqrt(covariance(p, p) / count));
    for (std::size_t q = 0; q <= p; ++q) {
      double product = 0;
      for (std::size_t j = 0; j < count; ++j)
        product += (drawn.fields(p, j) - kriged.mean[p]) * (drawn.fields(q, j) - kriged.mean[q]) /
                   static_cast<double>(count);
      double const expected = covariance(p, q),
                   error = std::sqrt((covariance(p, p) * covariance(q, q) + expected * expected) /
                                     count);
      EXPECT_NEAR(product, expected, 4 * error) << p << " " << q;
    }
  }
}

TYPED_TEST(SimulationTest, GoesThroughObservationsWithoutANugget) {
  TypeParam const exec;
  Locations const at = synthetic_locations(60);
  auto const y = some_values(60);
  CovarianceFactor<TypeParam> factor(exec, {.sigma2 = 2, .range = 0.2, .nu = 1.5}, at);
  Locations there{synthetic_locations(20, 5).x, synthetic_locations(20, 5).y};
  there.x.push_back(at.x[7]), there.y.push_back(at.y[7]);
  auto const drawn = simulate(exec, factor, y, there, Mean::Constant, {.count = 3, .seed = 4});
  for (std::size_t j = 0; j < 3; ++j)
    EXPECT_NEAR(drawn.fields(20, j), y[7], 5 * std::sqrt(2 * drawn.ridge) + 1e-6);
  EXPECT_LE(drawn.ridge, 1e-10);
  EXPECT_NE(drawn.fields(0, 0), drawn.fields(0, 1));
  auto const again = simulate(exec, factor, y, there, Mean::Constant, {.count = 3, .seed = 4});
  EXPECT_EQ(again.fields(0, 2), drawn.fields(0, 2));
}

TYPED_TEST(SimulationTest, RefusesWhatItCannotDo) {
  TypeParam const exec;
  Locations const at = synthetic_locations(100);
  auto const y = some_values(100);
  CovarianceFactor<TypeParam> factor(exec, {.nugget = 0.1}, at);
  EXPECT_EQ(message_of<ValueError>(
                [&] { (void)simulate(exec, factor, y, at, Mean::Constant, {.count = 0}); }),
            "simulate: 0 fields, must be at least 1");
  EXPECT_THROW((void)simulate(exec, factor, y, at, Mean::Constant, {.max_bytes = 1000}),
               MemoryError);
  EXPECT_EQ(simulate(exec, factor, y, Locations{}).fields.extent(0), 0U);
}

TEST(Variogram, CountsPairsByDistance) {
  Locations const at{{0, 1, 3, 0}, {0, 0, 0, 4}};
  std::vector<double> const y{1, 2, 4, 8};
  auto const found = empirical_variogram(at, y, {.classes = 2, .cutoff = 4});
  ASSERT_EQ(found.size(), 2U);
  // (0, 1) at 1 and (1, 2) at 2; (0, 2) at 3 and (0, 3) at 4.
  EXPECT_EQ(found[0].pairs, 2);
  EXPECT_DOUBLE_EQ(found[0].distance, 1.5);
  EXPECT_DOUBLE_EQ(found[0].semivariance, (1. + 4.) / 4);
  EXPECT_EQ(found[1].pairs, 2);
  EXPECT_DOUBLE_EQ(found[1].semivariance, (9. + 49.) / 4);
  MaternCovariance const c{.sigma2 = 2, .range = 3, .nu = 0.5, .nugget = 0.5};
  EXPECT_DOUBLE_EQ(semivariance(c, 3), 0.5 + 2 * (1 - std::exp(-1)));
  EXPECT_THROW((void)empirical_variogram(at, std::vector<double>{1, 2}), ShapeError);
  EXPECT_THROW((void)empirical_variogram(at, y, {.classes = 0}), ValueError);
}

TEST(PredictionGrid, IsReadAndWritten) {
  auto const grid = PredictionGrid::parse("10:12:0.5,100:103:1");
  EXPECT_EQ(grid.nx, 5);
  EXPECT_EQ(grid.ny, 4);
  EXPECT_EQ(grid.to_text(), "10:12:0.5,100:103:1");
  auto const at = grid.locations(Metric::Euclidean);
  EXPECT_EQ(at.x[6], 10.5);
  EXPECT_EQ(at.y[6], 102);  // the second row from the north
  for (char const* text : {"", "1:2:1", "1:2,1:2:1", "2:1:1,1:2:1", "1:2:0,1:2:1", "1:2:1,1:2:1:3",
                           "1:2:x,1:2:1", "1:2:1,1:2:1,"})
    EXPECT_THROW((void)PredictionGrid::parse(text), ValueError) << text;
  auto const path = (std::filesystem::temp_directory_path() / "strata_test_grid.asc").string();
  std::vector<double> values(20);
  for (std::size_t k = 0; k < 20; ++k) values[k] = static_cast<double>(k) / 4;
  values[19] = NAN;
  write_ascii_grid(path, grid, values);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(
      text.str(),
      "ncols 5\nnrows 4\nxllcorner 9.75\nyllcorner 99.5\ndx 0.5\ndy 1\nNODATA_value -9999\n"
      "0 0.25 0.5 0.75 1\n1.25 1.5 1.75 2 2.25\n2.5 2.75 3 3.25 3.5\n3.75 4 4.25 4.5 -9999\n");
  std::filesystem::remove(path);
  EXPECT_THROW(write_ascii_grid(path, grid, std::vector<double>(19)), ShapeError);
}

std::string bytes_of(std::string const& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// The last numbers are the last layer's, which begins at a multiple of 8 in a GeoTIFF.
TEST(MapFiles, EndInTheirNumbersInTheirOrder) {
  auto const grid = PredictionGrid::parse("10:12:0.5,100:103:1");
  std::vector<double> values(20, 1.5);
  values[18] = INFINITY, values[19] = -2;
  std::vector<MapLayer> const layers{{"mean", values}, {"sd", values}};
  auto const path = (std::filesystem::temp_directory_path() / "strata_test_map").string();
  write_geotiff(path, grid, {32631}, layers);
  std::string const tiff = bytes_of(path);
  EXPECT_EQ(tiff.substr(0, 4), std::string("II\x2a\0", 4));
  double last[2];
  std::memcpy(last, tiff.data() + tiff.size() - 16, 16);
  EXPECT_TRUE(std::isnan(last[0]));
  EXPECT_EQ(last[1], -2);
  EXPECT_EQ(tiff.size() % 8, 0U);
  write_netcdf(path, grid, {0, Metric::GreatCircle}, layers);
  std::string const netcdf = bytes_of(path);
  EXPECT_EQ(netcdf.substr(0, 4), "CDF\x02");
  EXPECT_EQ(netcdf.substr(netcdf.size() - 8), std::string("\xc0\0\0\0\0\0\0\0", 8));
  for (char const* text : {"degrees_north", "latitude_longitude", "inverse_flattening"})
    EXPECT_NE(netcdf.find(text), std::string::npos) << text;
  std::filesystem::remove(path);
  EXPECT_THROW(write_geotiff(path, grid, {}, {{"mean", std::vector<double>(19)}}), ShapeError);
  EXPECT_THROW(write_netcdf(path, grid, {}, {}), ValueError);
  EXPECT_THROW(write_geotiff("/no/such/place.tif", grid, {}, layers), IoError);
}

// A key of the GeoTIFF's directory: its number, place, count and value.
std::string key(std::uint16_t number, std::uint16_t value) {
  std::string bytes;
  for (std::uint16_t const one : {number, std::uint16_t{0}, std::uint16_t{1}, value})
    bytes += {static_cast<char>(one & 0xff), static_cast<char>(one >> 8)};
  return bytes;
}

TEST(MapFiles, NameWhatTheNumberIsOf) {
  auto const grid = PredictionGrid::parse("10:12:0.5,40:43:1");
  std::vector<MapLayer> const layers{{"mean", std::vector<double>(20, 1.5)}};
  auto const path = (std::filesystem::temp_directory_path() / "strata_test_named_map").string();
  auto const has = [&](std::string const& bytes) {
    return bytes_of(path).find(bytes) != std::string::npos;
  };
  write_geotiff(path, grid, {4258, Metric::Euclidean}, layers);  // degrees under x,y
  EXPECT_TRUE(has(key(1024, 2)) && has(key(2048, 4258)));
  write_geotiff(path, grid, {32631, Metric::Euclidean}, layers);
  EXPECT_TRUE(has(key(1024, 1)) && has(key(3072, 32631)));
  write_geotiff(path, grid, {7844, Metric::Chordal}, layers);  // a geographic one beyond 4999
  EXPECT_TRUE(has(key(1024, 2)) && has(key(2048, 7844)));
  for (auto const metric : {Metric::GreatCircle, Metric::Chordal})
    EXPECT_EQ(message_of<ValueError>([&] { write_geotiff(path, grid, {32631, metric}, layers); }),
              "EPSG:32631 is a projected coordinate system, and the map's coordinates are "
              "longitude and latitude, as those of EPSG:4326 are");
  // Of 6378137 and 298.257223563 as big-endian doubles the first four bytes.
  write_netcdf(path, grid, {4326, Metric::Euclidean}, layers);
  EXPECT_TRUE(has(std::string("\0\0\0\6\0\0\0\1\x41\x58\x54\xa6", 12)));
  EXPECT_TRUE(has(std::string("\0\0\0\6\0\0\0\1\x40\x72\xa4\x1d", 12)));
  EXPECT_FALSE(has("crs_wkt") || has("spatial_ref"));
  write_netcdf(path, grid, {}, layers);
  EXPECT_FALSE(has("standard_name") || has("grid_mapping"));
  EXPECT_THROW(write_netcdf(path, grid, {32631}, layers), ValueError);
  std::filesystem::remove(path);
}

TEST(MapFiles, ReadACoordinateSystemsNumber) {
  EXPECT_EQ(MapReference::parse("EPSG:32631"), 32631);
  EXPECT_EQ(MapReference::parse("epsg:4326"), 4326);
  EXPECT_EQ(MapReference{}.code(), 0);
  for (char const* text : {"", "EPSG:", "32631", "EPSG:x", "EPSG:0", "EPSG:99999", "EPSG:1 "})
    EXPECT_THROW((void)MapReference::parse(text), ValueError) << text;
}

TEST(PredictionGrid, AroundLocationsHasRoundSides) {
  auto const grid = PredictionGrid::around({{178605, 181390}, {329714, 333611}});
  EXPECT_EQ(grid.dx, 20);
  EXPECT_EQ(grid.dy, 20);
  EXPECT_EQ(grid.x, 178600);
  EXPECT_LE(grid.size(), 40000);
  EXPECT_GE(grid.x + static_cast<double>(grid.nx - 1) * grid.dx, 181390);
  auto const line = PredictionGrid::around({{0, 1}, {2, 2}});
  EXPECT_EQ(line.ny, 1);
  EXPECT_LE(line.nx, 40000);
  EXPECT_THROW((void)PredictionGrid::around({{1, 1}, {2, 2}}), ValueError);
}

}  // namespace
