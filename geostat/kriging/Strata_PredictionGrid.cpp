// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/kriging/Strata_PredictionGrid.hpp>

#include <core/Strata_Errors.hpp>
#include <core/io/files/Strata_ByteSink.hpp>
#include <core/io/files/Strata_ParseNumber.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace strata::geostat {

namespace {

struct Axis {
  double first, step;
  std::int64_t count;
};

constexpr double most_cells = 1e9;

// "X0:X1:DX"
Axis axis_of(std::string_view text, std::string const& whole) {
  std::array<double, 3> number{};
  std::string_view rest = text;
  bool is_good = true;
  for (std::size_t k = 0; k < 3; ++k) {
    auto const colon = k < 2 ? rest.find(':') : rest.size();
    is_good = is_good && colon != std::string_view::npos &&
              parse_number(rest.substr(0, colon), number[k]) == nullptr;
    if (!is_good) break;
    rest = k < 2 ? rest.substr(colon + 1) : std::string_view();
  }
  auto const [first, last, step] = number;
  double const steps = is_good && step > 0 ? std::floor((last - first) / step + 1e-9) : -1;
  STRATA_REQUIRE(ValueError, steps >= 0 && steps < most_cells, "grid '", whole,
                 "': must be X0:X1:DX,Y0:Y1:DY with X1 at least X0 and DX > 0");
  return {first, step, static_cast<std::int64_t>(steps) + 1};
}

// 1, 2 or 5 times a power of ten, no less than `least`.
double round_step(double least) {
  double const power = std::pow(10, std::floor(std::log10(least)));
  for (double const digit : {1.0, 2.0, 5.0})
    if (digit * power >= least * (1 - 1e-12)) return digit * power;
  return 10 * power;
}

Axis axis_around(double low, double high, double step) {
  double const first = std::floor(low / step) * step;
  return {first, step, static_cast<std::int64_t>(std::ceil((high - first) / step - 1e-9)) + 1};
}

}  // namespace

PredictionGrid PredictionGrid::parse(std::string const& text) {
  auto const comma = std::min(text.find(','), text.size());
  auto const x = axis_of(std::string_view(text).substr(0, comma), text);
  auto const y = axis_of(comma < text.size() ? std::string_view(text).substr(comma + 1) : "", text);
  STRATA_REQUIRE(ValueError,
                 static_cast<double>(x.count) * static_cast<double>(y.count) <= most_cells,
                 "grid '", text, "': has ", x.count, " x ", y.count, " cells, at most 10^9");
  return {x.first, x.step, x.count, y.first, y.step, y.count};
}

PredictionGrid PredictionGrid::around(Locations const& locations) {
  constexpr double cells = 40000;
  check_locations(locations);
  auto const [left, right] = std::ranges::minmax(locations.x);
  auto const [bottom, top] = std::ranges::minmax(locations.y);
  double const width = right - left, height = top - bottom;
  STRATA_REQUIRE(ValueError, std::max(width, height) > 0,
                 "grid: all locations coincide, so that there is nothing to map");
  double step =
      round_step(std::max(std::sqrt(width * height / cells), std::max(width, height) / cells));
  for (;; step = round_step(step * 1.01)) {
    auto const x = axis_around(left, right, step), y = axis_around(bottom, top, step);
    if (static_cast<double>(x.count) * static_cast<double>(y.count) <= cells)
      return {x.first, step, x.count, y.first, step, y.count};
  }
}

Locations PredictionGrid::locations(Metric metric) const {
  Locations result;
  result.metric = metric;
  for (std::int64_t row = ny - 1; row >= 0; --row)
    for (std::int64_t column = 0; column < nx; ++column) {
      result.x.push_back(x + static_cast<double>(column) * dx);
      result.y.push_back(y + static_cast<double>(row) * dy);
    }
  return result;
}

std::string PredictionGrid::to_text() const {
  auto const axis = [](double first, double step, std::int64_t count) {
    return strata::detail::message(first, ':', first + static_cast<double>(count - 1) * step, ':',
                                   step);
  };
  return axis(x, dx, nx) + "," + axis(y, dy, ny);
}

void write_ascii_grid(std::string const& path, PredictionGrid const& grid,
                      std::span<double const> values) {
  STRATA_REQUIRE(ShapeError, static_cast<std::int64_t>(values.size()) == grid.size(),
                 "write_ascii_grid: ", values.size(), " values of ", grid.nx, " x ", grid.ny,
                 " cells");
  constexpr double no_data = -9999;
  AtomicFile file(path);
  TextWriter text(file);
  text << "ncols " << grid.nx << "\nnrows " << grid.ny << "\nxllcorner " << grid.x - grid.dx / 2
       << "\nyllcorner " << grid.y - grid.dy / 2 << '\n';
  if (grid.dx == grid.dy)
    text << "cellsize " << grid.dx << '\n';
  else
    text << "dx " << grid.dx << "\ndy " << grid.dy << '\n';
  text << "NODATA_value " << no_data << '\n';
  auto const columns = static_cast<std::size_t>(grid.nx);
  for (std::size_t k = 0; k < values.size(); ++k)
    text << (std::isfinite(values[k]) ? values[k] : no_data)
         << ((k + 1) % columns == 0 ? '\n' : ' ');
  text.finish();
}

}  // namespace strata::geostat
