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

/// One column of a table.
struct Column {
  std::string name;            ///< name in the file's first line
  std::vector<double> values;  ///< row by row
};

/// Which columns of a table are meant.
struct StationColumns {
  /// Names of the coordinates, and for stations also of the value, in capitals or not, or by number
  /// as in "#3"; empty: by the rule of `read_stations`. They are longitude and latitude where they
  /// are called so: "lon..." or "lng", and "lat...".
  std::vector<std::string> names = {};
  std::vector<std::string> also = {};  ///< more columns of numbers, by name or number
};

/// Measured values at locations in the plane or on the globe.
struct Stations {
  bool geographic = false;  ///< x, y are longitude and latitude in degrees
  /// coordinates and value of each station, in the file's order
  std::vector<double> x, y, value;
  std::vector<TextColumn> others = {};    ///< columns beside the coordinates, for locations alone
  std::int64_t skipped = 0;               ///< lines that were left out for a missing number
  std::vector<Column> also = {};          ///< the columns that were asked for beside these
  std::vector<std::string> ignored = {};  ///< names of the columns of stations that were not read
};

/// What becomes of a line in which a coordinate or the value is missing: empty, NA, N/A, NaN or
/// null, in capitals or not.
enum class MissingNumbers {
  Refused,  ///< an error with its number
  Skipped,  ///< it is left out, and counted
};

/// Read a station file: separated by commas, or where its first line has none by semicolons or
/// tabs, with a line of column names.
///
/// Result   the columns `x,y,value` or `lon,lat,value`, in any order among others, which are
///          ignored. Where these names are not there, they are looked for in capitals, and
///          `easting`, `northing`, `longitude` and `latitude` will do. Then come pairs that other
///          programs write, as `utm_x,utm_y`, `coords.x1,coords.x2` or `lng,lat`. A third and last
///          column is the value, whatever its name. `columns` names others. Fields may be in double
///          quotes ("" inside stands for one). Between semicolons or tabs numbers may have decimal
///          commas, if all with a mark have. Blank lines, lines that begin with '#', CR LF, a byte
///          order mark and gzip are accepted.
/// Throws   IoError "path:line: ..." for a missing, doubled or ambiguous column; a line with too
///          few or too many fields; an open quote; a value that is no finite number; lon outside
///          [-180, 360] or lat outside [-90, 90]; a file without a station. MemoryError beyond
///          `options.max_bytes`.
Stations read_stations(std::string const& path, ReadOptions const& options = {},
                       MissingNumbers missing = MissingNumbers::Refused,
                       StationColumns const& columns = {});

/// Read locations without values: as `read_stations`, but of the columns `x,y` or `lon,lat`; the
/// others are kept as text. Coordinates that `columns` names are those where the file has both,
/// else the rule says which they are.
Stations read_locations(std::string const& path, ReadOptions const& options = {},
                        StationColumns const& columns = {});

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
