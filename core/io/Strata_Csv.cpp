// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/Strata_Csv.hpp>

#include <core/Strata_Errors.hpp>
#include <core/io/detail/Strata_CsvStream.hpp>
#include <core/io/detail/Strata_TableColumns.hpp>
#include <core/io/files/Strata_ParseNumber.hpp>
#include <core/io/files/detail/Strata_LineReader.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

namespace strata {

namespace detail {

namespace {

constexpr double lon_min = -180, lon_max = 360, lat_max = 90;

// A field that reads back as this text.
std::string quoted(std::string const& text) {
  bool const is_plain = text.find_first_of(",;\"\r\n") == std::string::npos &&
                        trimmed(text).size() == text.size() && !text.starts_with('#');
  if (is_plain) return text;
  std::string field = "\"";
  for (char const c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + '"';
}

// The next line that is neither blank nor a comment.
bool next_line(LineReader& lines, std::string_view& line) {
  while (lines.next(line)) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (lines.number() == 1 && line.substr(0, 3) == byte_order_mark) line.remove_prefix(3);
    auto const text = trimmed(line);
    if (!text.empty() && text[0] != '#') return true;
  }
  return false;
}

enum class Wanted { Stations, Locations };

// The numbers of a table, in which either commas or points are decimal marks.
class Numbers {
 public:
  Numbers(LineReader const& lines, char delimiter) : lines_(lines), delimiter_(delimiter) {}

  double operator()(Field const& field, std::string const& name) {
    if (field.text.empty()) lines_.fail("column '", name, "' is empty, expected a number");
    auto const comma = field.text.find(',');
    bool const has_point = field.text.find('.') != std::string_view::npos;
    if (comma == std::string_view::npos || delimiter_ == ',') {
      if (has_point) see('.', field, name);
      return parsed(field.text, field, name);
    }
    see(',', field, name);
    std::string text(field.text);
    text[comma] = has_point ? ',' : '.';
    return parsed(text, field, name);
  }

 private:
  void see(char mark, Field const& field, std::string const& name) {
    if (mark_ == 0) mark_ = mark;
    if (mark_ != mark)
      lines_.fail("column '", name, "': ", excerpt(field.text), " has a decimal '", mark,
                  "', numbers before it have '", mark_, "'");
  }
  double parsed(std::string_view text, Field const& field, std::string const& name) const {
    double value = 0;
    if (char const* reason = parse_number(trimmed(text), value))
      lines_.fail("column '", name, "': ", excerpt(field.text), ' ', reason);
    return value;
  }

  LineReader const& lines_;
  char delimiter_, mark_ = 0;
};

bool is_missing(Field const& field) {
  auto const text = in_lower_case(field.text);
  return text.empty() || text == "na" || text == "n/a" || text == "nan" || text == "null";
}

bool lacks_a_number(TableColumns const& columns, std::vector<Field> const& fields) {
  return std::ranges::any_of(columns.used,
                             [&](auto const& used) { return is_missing(fields[used.second]); });
}

// The columns that are passed on as text.
class Others {
 public:
  Others(TableColumns const& columns, Wanted wanted) {
    for (std::size_t k = 0; k < columns.count && wanted == Wanted::Locations; ++k) {
      if (k == columns.used[0].second || k == columns.used[1].second) continue;
      columns_.push_back(k);
      texts_.push_back({columns.names[k], {}});
    }
  }
  void add(std::vector<Field> const& fields) {
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      texts_[k].texts.push_back(unquoted(fields[columns_[k]]));
      bytes_ += sizeof(std::string) + texts_[k].texts.back().size();
    }
  }
  std::size_t bytes() const { return bytes_; }
  std::vector<TextColumn> take() { return std::move(texts_); }

 private:
  std::vector<std::size_t> columns_;
  std::vector<TextColumn> texts_;
  std::size_t bytes_ = 0;
};

void require_on_globe(LineReader const& lines, double lon, double lat) {
  if (!(lon >= lon_min && lon <= lon_max)) lines.fail("lon ", lon, " is outside -180 to 360");
  if (!(std::abs(lat) <= lat_max)) lines.fail("lat ", lat, " is outside -90 to 90");
}

// Room for the columns of numbers that are read beside x, y and value.
Stations begun(TableColumns const& columns, Wanted wanted) {
  Stations stations;
  stations.geographic = columns.geographic;
  std::size_t const own = wanted == Wanted::Stations ? 3 : 2;
  for (std::size_t k = own; k < columns.used.size(); ++k)
    stations.also.push_back({columns.used[k].first, {}});
  for (std::size_t k = 0; k < columns.count && wanted == Wanted::Stations; ++k)
    if (!columns.is_used(k)) stations.ignored.push_back(columns.names[k]);
  return stations;
}

Stations read(ByteSource& source, ReadOptions const& options, Wanted wanted, MissingNumbers missing,
              StationColumns const& asked) {
  LineReader lines(source);
  std::string_view line;
  if (!next_line(lines, line)) lines.fail_at_end("expected a line of column names");
  auto const columns =
      find_columns(lines, line, asked.names, asked.also, wanted == Wanted::Stations);
  Stations stations = begun(columns, wanted);
  Others others(columns, wanted);
  Numbers number(lines, columns.delimiter);
  std::vector<Field> fields;
  std::vector<double> v(columns.used.size());
  while (next_line(lines, line)) {
    split(lines, line, columns.delimiter, fields);
    if (fields.size() != columns.count)
      lines.fail("expected ", columns.count, " fields, found ", fields.size());
    if (missing == MissingNumbers::Skipped && lacks_a_number(columns, fields)) {
      ++stations.skipped;
      continue;
    }
    others.add(fields);
    for (std::size_t k = 0; k < columns.used.size(); ++k)
      v[k] = number(fields[columns.used[k].second], columns.used[k].first);
    if (stations.geographic) require_on_globe(lines, v[0], v[1]);
    auto const count = stations.x.size() + 1;
    auto const needed = count * columns.used.size() * sizeof(double) + others.bytes();
    STRATA_REQUIRE(MemoryError, needed <= options.max_bytes, source.name(), ": the first ", count,
                   " stations take ", needed, " bytes; the limit is ", options.max_bytes, " bytes");
    stations.x.push_back(v[0]);
    stations.y.push_back(v[1]);
    if (wanted == Wanted::Stations) stations.value.push_back(v[2]);
    std::size_t const own = wanted == Wanted::Stations ? 3 : 2;
    for (std::size_t k = own; k < v.size(); ++k) stations.also[k - own].values.push_back(v[k]);
  }
  if (stations.x.empty()) lines.fail_at_end("expected at least one station");
  stations.others = others.take();
  return stations;
}

void require_writable(Stations const& stations) {
  auto const count = stations.value.size();
  STRATA_REQUIRE(ShapeError, count > 0 && stations.x.size() == count && stations.y.size() == count,
                 "write_stations: ", stations.x.size(), " x, ", stations.y.size(), " y and ", count,
                 " values");
  for (std::size_t k = 0; k < count; ++k) {
    double const x = stations.x[k], y = stations.y[k], value = stations.value[k];
    STRATA_REQUIRE(ValueError, std::isfinite(x) && std::isfinite(y) && std::isfinite(value),
                   "write_stations: station ", k, " is not finite: ", x, ", ", y, ", ", value);
    bool const on_globe = x >= lon_min && x <= lon_max && std::abs(y) <= lat_max;
    STRATA_REQUIRE(ValueError, !stations.geographic || on_globe, "write_stations: station ", k,
                   " at lon ", x, ", lat ", y, " is not on the globe");
  }
}

void write_lines(ByteSink& sink, Stations const& stations) {
  TextWriter text(sink);
  text << (stations.geographic ? "lon,lat,value\n" : "x,y,value\n");
  for (std::size_t k = 0; k < stations.value.size(); ++k)
    text << stations.x[k] << ',' << stations.y[k] << ',' << stations.value[k] << '\n';
  text.finish();
}

}  // namespace

Stations read_stations(ByteSource& source, ReadOptions const& options, MissingNumbers missing,
                       StationColumns const& columns) {
  return read(source, options, Wanted::Stations, missing, columns);
}

Stations read_locations(ByteSource& source, ReadOptions const& options,
                        StationColumns const& columns) {
  return read(source, options, Wanted::Locations, MissingNumbers::Refused, columns);
}

void write_stations(ByteSink& sink, Stations const& stations) {
  require_writable(stations);
  write_lines(sink, stations);
}

}  // namespace detail

Stations read_stations(std::string const& path, ReadOptions const& options, MissingNumbers missing,
                       StationColumns const& columns) {
  auto const source = open_source(path, options);
  return detail::read_stations(*source, options, missing, columns);
}

Stations read_locations(std::string const& path, ReadOptions const& options,
                        StationColumns const& columns) {
  auto const source = open_source(path, options);
  return detail::read_locations(*source, options, columns);
}

void write_columns(std::string const& path, std::vector<Column> const& columns,
                   std::function<void(double)> const& on_progress,
                   std::vector<TextColumn> const& others) {
  STRATA_REQUIRE(ShapeError, !columns.empty(), "write_columns: there is no column");
  std::size_t const rows = columns.front().values.size();
  for (auto const& column : columns)
    STRATA_REQUIRE(ShapeError, column.values.size() == rows, "write_columns: column '", column.name,
                   "' has ", column.values.size(), " numbers, '", columns.front().name, "' ", rows);
  for (auto const& column : others)
    STRATA_REQUIRE(ShapeError, column.texts.size() == rows, "write_columns: column '", column.name,
                   "' has ", column.texts.size(), " texts, '", columns.front().name, "' ", rows,
                   " numbers");
  AtomicFile file(path);
  TextWriter text(file);
  for (std::size_t k = 0; k < columns.size(); ++k) text << (k > 0 ? "," : "") << columns[k].name;
  for (auto const& column : others) text << ',' << detail::quoted(column.name);
  text << '\n';
  WrittenPart part(rows * columns.size(), on_progress);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < columns.size(); ++k)
      text << (k > 0 ? "," : "") << columns[k].values[i];
    for (auto const& column : others) text << ',' << detail::quoted(column.texts[i]);
    text << '\n';
    part.add(columns.size());
  }
  text.finish();
}

void write_stations(std::string const& path, Stations const& stations) {
  detail::require_writable(stations);
  AtomicFile file(path);
  detail::write_lines(file, stations);
}

}  // namespace strata
