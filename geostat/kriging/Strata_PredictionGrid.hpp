// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PREDICTION_GRID_HPP
#define STRATA_PREDICTION_GRID_HPP

#include <geostat/Strata_Locations.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace strata::geostat {

/// Cells of a map, by their centres.
struct PredictionGrid {
  double x = 0;         ///< centre of the first column, from the west
  double dx = 1;        ///< distance of the next column
  std::int64_t nx = 0;  ///< columns
  double y = 0;         ///< centre of the southernmost row
  double dy = 1;        ///< distance of the next row
  std::int64_t ny = 0;  ///< rows

  /// "X0:X1:DX,Y0:Y1:DY": centres from X0 on in steps of DX, as far as X1.
  ///
  /// Throws   ValueError that quotes the text, also for more than 10^9 cells.
  static PredictionGrid parse(std::string const& text);
  /// About the locations: square cells whose side is 1, 2 or 5 times a power of ten, on multiples
  /// of the side, 40,000 at most.
  ///
  /// Throws   ValueError if all coincide; what `check_locations` throws.
  static PredictionGrid around(Locations const& locations);

  /// How many cells there are.
  std::int64_t size() const { return nx * ny; }
  /// Their centres, row by row from the north, each from the west.
  Locations locations(Metric metric) const;
  /// As `parse` takes it.
  std::string to_text() const;
};

/// Write an ESRI ASCII grid, which geographic information systems read: a value for each cell, in
/// the order of `locations`; what is not finite is NODATA, -9999. Whole or not at all.
///
/// Throws   ShapeError if there are not as many values; IoError with errno's text.
/// Source   the format of ArcGIS; `dx` and `dy` in place of `cellsize` where they differ, as GDAL
///          has it.
void write_ascii_grid(std::string const& path, PredictionGrid const& grid,
                      std::span<double const> values);

}  // namespace strata::geostat

#endif
