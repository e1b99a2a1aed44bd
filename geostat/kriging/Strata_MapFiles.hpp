// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MAP_FILES_HPP
#define STRATA_MAP_FILES_HPP

#include <geostat/Strata_Locations.hpp>
#include <geostat/kriging/Strata_PredictionGrid.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace strata::geostat {

/// A value for each cell of a grid, in the order of `PredictionGrid::locations`.
struct MapLayer {
  std::string name;            ///< a band's description, or a variable's name
  std::vector<double> values;  ///< NaN: there is none
};

/// What a map's coordinates are.
struct MapReference {
  /// number of the coordinate system in EPSG's register; 0: not given, on the sphere 4326
  std::int32_t epsg = 0;
  Metric metric = Metric::Euclidean;  ///< on the sphere they are longitude and latitude

  /// The number, 0 where it is not known.
  std::int32_t code() const { return epsg == 0 && is_on_sphere(metric) ? 4326 : epsg; }
  /// Whether the coordinates are longitude and latitude.
  ///
  /// EPSG's numbers 4001 to 4999 are geographic systems, 2000 to 3999 and those from 20000 on are
  /// projected ones. Of the others, which the register gives to both, the metric tells.
  bool is_geographic() const;
  /// Throws   ValueError if the coordinates are longitude and latitude and the number is of a
  ///          projected system.
  void check() const;
  /// The number of "EPSG:32631".
  ///
  /// Throws   ValueError that quotes the text.
  static std::int32_t parse(std::string const& text);
};

/// Write a GeoTIFF, which geographic information systems open: a band of fp64 for each layer, with
/// the layer's name as description. Whole or not at all.
///
/// Throws   ShapeError if a layer has not as many values as the grid has cells; ValueError if the
///          file would have 4 GiB or more, or as `MapReference::check`; IoError with errno's text.
/// Source   OGC 19-008r4, GeoTIFF Standard 1.1; TIFF 6.0. Names of bands and the value that stands
///          for none are written as GDAL reads them.
void write_geotiff(std::string const& path, PredictionGrid const& grid, MapReference const& where,
                   std::vector<MapLayer> const& layers);

/// Write a NetCDF file, which xarray and others open: a variable of two dimensions for each layer,
/// and the coordinates of the cells' centres by the CF conventions. Whole or not at all. Longitude
/// and latitude have a grid mapping, by EPSG:4326 with its ellipsoid.
///
/// Throws   as `write_geotiff`, but ValueError if a variable would have 4 GiB, and for a projected
///          system, whose grid mapping is not written.
/// Source   the classic format with 64-bit offsets: OGC 10-092r3; CF Conventions 1.8.
void write_netcdf(std::string const& path, PredictionGrid const& grid, MapReference const& where,
                  std::vector<MapLayer> const& layers);

}  // namespace strata::geostat

#endif
