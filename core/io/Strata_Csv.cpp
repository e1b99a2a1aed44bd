// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/Strata_Csv.hpp>

#include <core/Strata_Errors.hpp>
#include <core/io/Strata_ParseNumber.hpp>
#include <core/io/detail/Strata_CsvStream.hpp>
#include <core/io/detail/Strata_LineReader.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace strata {

namespace detail {

namespace {

struct Field {
  std::string_view text;  // without its quotes
  bool quoted;
};

constexpr double lon_min = -180, lon_max = 360, lat_max = 90;

std::string_view trimmed(std::string_view text) {
  auto const begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// The end of the quoted text that begins at `begin`: the quote that is not one of a pair.
std::size_t closing_quote(LineReader const& lines, std::string_view line, std::size_t begin) {
  for (auto end = line.find('"', begin); end != std::string_view::npos;
       end = line.find('"', end + 2))
    if (end + 1 == line.size() || line[end + 1] != '"') return end;
  lines.fail("a quote is not closed: ", excerpt(line.substr(begin - 1)));
}

void split(LineReader const& lines, std::string_view line, char delimiter,
           std::vector<Field>& fields) {
  fields.clear();
  for (std::size_t begin = 0;; ++begin) {
    auto const start = line.find_first_not_of(" \t", begin);
    bool const quote = start != std::string_view::npos && line[start] == '"';
    auto const close = quote ? closing_quote(lines, line, start + 1) : begin;
    auto const comma = std::min(line.find(delimiter, close), line.size());
    if (quote && !trimmed(line.substr(close + 1, comma - close - 1)).empty())
      lines.fail("expected '", delimiter, "' after a quoted field, found ",
                 excerpt(line.substr(close + 1)));
    fields.push_back(quote ? Field{line.substr(start + 1, close - start - 1), true}
                           : Field{trimmed(line.substr(begin, comma - begin)), false});
    begin = comma;
    if (begin == line.size()) return;
  }
}

// The text that quotes hold: of two quotes inside one.
std::string unquoted(Field const& field) {
  std::string text(field.text);
  if (field.quoted)
    for (auto at = text.find('"'); at != std::string::npos; at = text.find('"', at + 1))
      text.erase(at, 1);
  return text;
}

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

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

// The names that a column is known by; in files that have the first one the others are nothing special.
using Names = std::initializer_list<std::string_view>;

std::optional<std::size_t> find_column(LineReader const& lines, std::vector<Field> const& fields,
                                       Names const& names) {
  std::optional<std::size_t> found;
  auto const look = [&](auto const& matches) {
    for (std::size_t k = 0; k < fields.size(); ++k) {
      if (!matches(fields[k].text)) continue;
      if (found) lines.fail("column '", *names.begin(), "' twice, as ", *found + 1, " and ", k + 1);
      found = k;
    }
  };
  look([&](std::string_view text) { return text == *names.begin(); });
  if (!found)
    look([&](std::string_view text) {
      return std::find(names.begin(), names.end(), in_lower_case(text)) != names.end();
    });
  return found;
}

struct Columns {
  bool geographic;
  std::vector<std::pair<char const*, std::size_t>>
      used;  // name and column: coordinates, then the value
  std::size_t count;
  char delimiter;
  std::vector<std::string> names;
};

enum class Wanted { Stations, Locations };

// The one column beside the coordinates, whatever its name.
std::optional<std::size_t> only_other(std::size_t count, std::size_t first, std::size_t second) {
  for (std::size_t k = 0; k < 3; ++k)
    if (count == 3 && k != first && k != second) return k;
  return {};
}

Columns read_columns(LineReader& lines, std::vector<Field>& fields, Wanted wanted) {
  std::string_view line;
  if (!next_line(lines, line)) lines.fail_at_end("expected a line of column names");
  bool const by_commas =
      line.find(';') == std::string_view::npos || line.find(',') != std::string_view::npos;
  char const delimiter = by_commas ? ',' : ';';
  split(lines, line, delimiter, fields);
  bool const values = wanted == Wanted::Stations;
  auto const find = [&](Names const& names) { return find_column(lines, fields, names); };
  auto x = find({"x"}), y = find({"y"}), lon = find({"lon"}), lat = find({"lat"});
  if (!(x && y) && !(lon && lat)) {
    x = find({"x", "easting"}), y = find({"y", "northing"});
    lon = find({"lon", "longitude"}), lat = find({"lat", "latitude"});
  }
  bool const planar = x && y, geographic = lon && lat;
  if (planar && geographic) lines.fail("both x,y and lon,lat: which are the coordinates?");
  auto const first = geographic ? lon : x, second = geographic ? lat : y;
  auto value = values ? find({"value"}) : std::nullopt;
  if (values && !value && (planar || geographic))
    value = only_other(fields.size(), *first, *second);
  if ((values && !value) || (!planar && !geographic))
    lines.fail("expected the columns ", values ? "x,y,value or lon,lat,value" : "x,y or lon,lat",
               ", found ", excerpt(line));
  Columns columns{geographic,
                  {{geographic ? "lon" : "x", *first}, {geographic ? "lat" : "y", *second}},
                  fields.size(),
                  delimiter,
                  {}};
  for (auto const& field : fields) columns.names.emplace_back(unquoted(field));
  if (values) columns.used.emplace_back("value", *value);
  return columns;
}

double number(LineReader const& lines, Field const& field, char const* name) {
  double value = 0;
  if (field.quoted)
    lines.fail("column '", name, "': ", excerpt(field.text), " is in quotes, expected a number");
  if (field.text.empty()) lines.fail("column '", name, "' is empty, expected a number");
  if (char const* reason = parse_number(field.text, value))
    lines.fail("column '", name, "': ", excerpt(field.text), ' ', reason);
  return value;
}

bool is_missing(Field const& field) {
  auto const text = in_lower_case(field.text);
  return text.empty() || text == "na" || text == "n/a" || text == "nan" || text == "null";
}

bool lacks_a_number(Columns const& columns, std::vector<Field> const& fields) {
  return std::ranges::any_of(columns.used,
                             [&](auto const& used) { return is_missing(fields[used.second]); });
}

// The columns that are passed on as text.
class Others {
 public:
  Others(Columns const& columns, Wanted wanted) {
    auto const is_used = [&](std::size_t k) {
      return std::ranges::any_of(columns.used, [&](auto const& used) { return used.second == k; });
    };
    for (std::size_t k = 0; k < columns.count && wanted == Wanted::Locations; ++k) {
      if (is_used(k)) continue;
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

Stations read(ByteSource& source, ReadOptions const& options, Wanted wanted,
              MissingNumbers missing) {
  LineReader lines(source);
  std::vector<Field> fields;
  auto const columns = read_columns(lines, fields, wanted);
  Stations stations;
  stations.geographic = columns.geographic;
  Others others(columns, wanted);
  std::string_view line;
  while (next_line(lines, line)) {
    split(lines, line, columns.delimiter, fields);
    if (fields.size() != columns.count)
      lines.fail("expected ", columns.count, " fields, found ", fields.size());
    if (missing == MissingNumbers::Skipped && lacks_a_number(columns, fields)) {
      ++stations.skipped;
      continue;
    }
    others.add(fields);
    std::array<double, 3> v{};
    for (std::size_t k = 0; k < columns.used.size(); ++k)
      v[k] = number(lines, fields[columns.used[k].second], columns.used[k].first);
    if (stations.geographic && !(v[0] >= lon_min && v[0] <= lon_max))
      lines.fail("lon ", v[0], " is outside -180 to 360");
    if (stations.geographic && !(std::abs(v[1]) <= lat_max))
      lines.fail("lat ", v[1], " is outside -90 to 90");
    auto const count = stations.x.size() + 1;
    auto const needed = count * columns.used.size() * sizeof(double) + others.bytes();
    STRATA_REQUIRE(MemoryError, needed <= options.max_bytes, source.name(), ": the first ", count,
                   " stations take ", needed, " bytes; the limit is ", options.max_bytes, " bytes");
    stations.x.push_back(v[0]);
    stations.y.push_back(v[1]);
    if (wanted == Wanted::Stations) stations.value.push_back(v[2]);
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

Stations read_stations(ByteSource& source, ReadOptions const& options, MissingNumbers missing) {
  return read(source, options, Wanted::Stations, missing);
}

Stations read_locations(ByteSource& source, ReadOptions const& options) {
  return read(source, options, Wanted::Locations, MissingNumbers::Refused);
}

void write_stations(ByteSink& sink, Stations const& stations) {
  require_writable(stations);
  write_lines(sink, stations);
}

}  // namespace detail

Stations read_stations(std::string const& path, ReadOptions const& options,
                       MissingNumbers missing) {
  auto const source = open_source(path, options);
  return detail::read_stations(*source, options, missing);
}

Stations read_locations(std::string const& path, ReadOptions const& options) {
  auto const source = open_source(path, options);
  return detail::read_locations(*source, options);
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
