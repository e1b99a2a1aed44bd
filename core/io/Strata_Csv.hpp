// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_CSV_HPP
#define STRATA_CSV_HPP

#include <core/io/Strata_HostMatrix.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace strata {

/// One column of a table that is passed on as it was read.
struct TextColumn {
  std::string name;                ///< name in the file's first line
  std::vector<std::string> texts;  ///< row by row, without quotes
};

/// Measured values at locations in the plane or on the globe.
struct Stations {
  bool geographic = false;  ///< x, y are longitude and latitude in degrees
  /// coordinates and value of each station, in the file's order
  std::vector<double> x, y, value;
  std::vector<TextColumn> others = {};  ///< columns beside the coordinates, for locations alone
  std::int64_t skipped = 0;             ///< lines that were left out for a missing number
};

/// What becomes of a line in which a coordinate or the value is missing: empty, NA, N/A, NaN or
/// null, in capitals or not.
enum class MissingNumbers {
  Refused,  ///< an error with its number
  Skipped,  ///< it is left out, and counted
};

/// Read a station file: separated by commas, or by semicolons, with a line of column names.
///
/// Result   the columns `x,y,value` or `lon,lat,value`, in any order among others, which are
///          ignored. Where these names are not there, they are looked for in capitals, and
///          `easting`, `northing`, `longitude` and `latitude` will do; a third and last column is
///          the value, whatever its name. Text may be in double quotes ("" inside stands for one),
///          numbers not. Blank lines, lines that begin with '#', CR LF, a byte order mark and gzip
///          are accepted.
/// Throws   IoError "path:line: ..." for a missing, doubled or ambiguous column; a line with too
///          few or too many fields; an open quote; a value that is no finite number; lon outside
///          [-180, 360] or lat outside [-90, 90]; a file without a station. MemoryError beyond
///          `options.max_bytes`.
Stations read_stations(std::string const& path, ReadOptions const& options = {},
                       MissingNumbers missing = MissingNumbers::Refused);

/// Read locations without values: as `read_stations`, but of the columns `x,y` or `lon,lat`; the
/// others are kept as text.
Stations read_locations(std::string const& path, ReadOptions const& options = {});

/// One column of a table.
struct Column {
  std::string name;            ///< name in the file's first line
  std::vector<double> values;  ///< row by row
};

/// Writes columns of numbers, then columns of text, under a line of their names. Numbers read back
/// to the same bits; texts are quoted where they need it. The file appears whole or not at all.
/// `on_progress` hears now and then what part of the numbers was written, 0 to 1.
///
/// Throws   ShapeError if there is no column of numbers or they differ in length; IoError with
///          errno's text.
void write_columns(std::string const& path, std::vector<Column> const& columns,
                   std::function<void(double)> const& on_progress = {},
                   std::vector<TextColumn> const& others = {});

/// Write a station file; numbers read back to the same bits. Whole or not at all (temporary file,
/// fsync, rename).
///
/// Throws   ShapeError, ValueError for what `read_stations` would not take, before anything is
///          written; IoError with errno's text.
void write_stations(std::string const& path, Stations const& stations);

}  // namespace strata

#endif
