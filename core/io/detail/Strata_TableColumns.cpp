// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/detail/Strata_TableColumns.hpp>

#include <core/io/files/Strata_ParseNumber.hpp>

#include <algorithm>
#include <initializer_list>
#include <optional>

namespace strata::detail {

namespace {

// The end of the quoted text that begins at `begin`: the quote that is not one of a pair.
std::size_t closing_quote(LineReader const& lines, std::string_view line, std::size_t begin) {
  for (auto end = line.find('"', begin); end != std::string_view::npos;
       end = line.find('"', end + 2))
    if (end + 1 == line.size() || line[end + 1] != '"') return end;
  lines.fail("a quote is not closed: ", excerpt(line.substr(begin - 1)));
}

// The names that a column is known by; in files that have the first one the others are nothing
// special.
using Names = std::initializer_list<std::string_view>;
using Found = std::optional<std::size_t>;

// The number of the one column that matches.
template <class Matches>
Found find_one(LineReader const& lines, std::vector<Field> const& fields, std::string_view name,
               Matches const& matches) {
  Found found;
  for (std::size_t k = 0; k < fields.size(); ++k) {
    if (!matches(fields[k].text)) continue;
    if (found) lines.fail("column '", name, "' twice, as ", *found + 1, " and ", k + 1);
    found = k;
  }
  return found;
}

Found find_column(LineReader const& lines, std::vector<Field> const& fields, Names const& names) {
  std::string_view const first = *names.begin();
  auto const exact =
      find_one(lines, fields, first, [&](std::string_view text) { return text == first; });
  if (exact) return exact;
  return find_one(lines, fields, first, [&](std::string_view text) {
    return std::find(names.begin(), names.end(), in_lower_case(text)) != names.end();
  });
}

// A column by its name, in capitals or not, or by its number as in "#3".
Found find_named(LineReader const& lines, std::vector<Field> const& fields,
                 std::string const& name) {
  auto const exact = find_one(
      lines, fields, name, [&](std::string_view text) { return text == std::string_view(name); });
  if (exact) return exact;
  auto const lower = in_lower_case(name);
  auto const found = find_one(lines, fields, name,
                              [&](std::string_view text) { return in_lower_case(text) == lower; });
  if (found || !name.starts_with('#')) return found;
  std::size_t number = 0;
  if (parse_number(std::string_view(name).substr(1), number) != nullptr) return {};
  return number >= 1 && number <= fields.size() ? Found(number - 1) : Found();
}

std::size_t require_named(LineReader const& lines, std::string_view header,
                          std::vector<Field> const& fields, std::string const& name) {
  auto const found = find_named(lines, fields, name);
  if (!found) lines.fail("there is no column '", name, "', found ", excerpt(header));
  return *found;
}

bool is_longitude(std::string_view name) {
  auto const lower = in_lower_case(name);
  return lower.starts_with("lon") || lower == "lng" || lower == "rlon";
}
bool is_latitude(std::string_view name) {
  auto const lower = in_lower_case(name);
  return lower.starts_with("lat") || lower == "rlat";
}

struct Coordinates {
  Found first, second;
  bool geographic = false;
};

// Pairs that other programs write, tried one after the other.
Coordinates by_other_names(LineReader const& lines, std::vector<Field> const& fields) {
  static constexpr std::pair<std::string_view, std::string_view> pairs[] = {
      {"utm_x", "utm_y"},
      {"x_utm", "y_utm"},
      {"point_x", "point_y"},
      {"xloc", "yloc"},
      {"coords.x1", "coords.x2"},
      {"x_coord", "y_coord"},
      {"xcoord", "ycoord"},
      {"e", "n"},
      {"lng", "lat"},
      {"long", "lat"},
      {"rlon", "rlat"}};
  for (auto const& [x, y] : pairs) {
    auto const first = find_column(lines, fields, {x}), second = find_column(lines, fields, {y});
    if (first && second) return {first, second, is_longitude(x)};
  }
  return {};
}

Coordinates by_the_rule(LineReader const& lines, std::vector<Field> const& fields) {
  auto const find = [&](Names const& names) { return find_column(lines, fields, names); };
  auto x = find({"x"}), y = find({"y"}), lon = find({"lon"}), lat = find({"lat"});
  if (!(x && y) && !(lon && lat)) {
    x = find({"x", "easting"}), y = find({"y", "northing"});
    lon = find({"lon", "longitude"}), lat = find({"lat", "latitude"});
  }
  bool const planar = x && y, geographic = lon && lat;
  if (planar && geographic) lines.fail("both x,y and lon,lat: which are the coordinates?");
  if (planar) return {x, y, false};
  if (geographic) return {lon, lat, true};
  return by_other_names(lines, fields);
}

// The one column beside the coordinates, whatever its name.
Found only_other(std::size_t count, Coordinates const& coordinates) {
  for (std::size_t k = 0; k < 3; ++k)
    if (count == 3 && k != *coordinates.first && k != *coordinates.second) return k;
  return {};
}

// Tabs or semicolons where there is no comma.
char delimiter_of(std::string_view header) {
  if (header.find(',') != std::string_view::npos && header.find('\t') == std::string_view::npos)
    return ',';
  if (header.find(';') != std::string_view::npos) return ';';
  return header.find('\t') != std::string_view::npos ? '\t' : ',';
}

void use_the_rule(LineReader const& lines, std::string_view header,
                  std::vector<Field> const& fields, bool with_values, TableColumns& columns) {
  auto const at = by_the_rule(lines, fields);
  auto value = with_values ? find_column(lines, fields, {"value"}) : Found();
  if (with_values && !value && at.first) value = only_other(fields.size(), at);
  if (!at.first || (with_values && !value))
    lines.fail("expected the columns ",
               with_values ? "x,y,value or lon,lat,value" : "x,y or lon,lat", ", found ",
               excerpt(header), with_values ? "; --columns X,Y,VALUE" : "; --columns X,Y",
               " says which they are");
  columns.geographic = at.geographic;
  columns.used = {{at.geographic ? "lon" : "x", *at.first},
                  {at.geographic ? "lat" : "y", *at.second}};
  if (with_values) columns.used.emplace_back("value", *value);
}

}  // namespace

bool TableColumns::is_used(std::size_t column) const {
  return std::ranges::any_of(used, [&](auto const& one) { return one.second == column; });
}

std::string_view trimmed(std::string_view text) {
  auto const begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::string unquoted(Field const& field) {
  std::string text(field.text);
  if (field.quoted)
    for (auto at = text.find('"'); at != std::string::npos; at = text.find('"', at + 1))
      text.erase(at, 1);
  return text;
}

void split(LineReader const& lines, std::string_view line, char delimiter,
           std::vector<Field>& fields) {
  fields.clear();
  auto const blanks = delimiter == '\t' ? " " : " \t";
  for (std::size_t begin = 0;; ++begin) {
    auto const start = line.find_first_not_of(blanks, begin);
    bool const quote = start != std::string_view::npos && line[start] == '"';
    auto const close = quote ? closing_quote(lines, line, start + 1) : begin;
    auto const comma = std::min(line.find(delimiter, close), line.size());
    if (quote && !trimmed(line.substr(close + 1, comma - close - 1)).empty())
      lines.fail("expected '", delimiter == '\t' ? std::string("a tab") : std::string(1, delimiter),
                 "' after a quoted field, found ", excerpt(line.substr(close + 1)));
    fields.push_back(quote ? Field{line.substr(start + 1, close - start - 1), true}
                           : Field{trimmed(line.substr(begin, comma - begin)), false});
    begin = comma;
    if (begin == line.size()) return;
  }
}

TableColumns find_columns(LineReader const& lines, std::string_view header,
                          std::vector<std::string> const& names,
                          std::vector<std::string> const& also, bool with_values) {
  if (header.find('\r') != std::string_view::npos)
    lines.fail("lines end with CR alone; write them with LF, or CR LF");
  TableColumns columns;
  columns.delimiter = delimiter_of(header);
  std::vector<Field> fields;
  split(lines, header, columns.delimiter, fields);
  columns.count = fields.size();
  for (auto const& field : fields) columns.names.push_back(unquoted(field));
  bool const has_all = std::ranges::all_of(
      names, [&](auto const& name) { return find_named(lines, fields, name).has_value(); });
  if (names.empty() || (!with_values && !has_all)) {
    use_the_rule(lines, header, fields, with_values, columns);
  } else {
    std::size_t const wanted = with_values ? 3 : 2;
    if (names.size() < wanted)
      lines.fail("of the columns X,Y", with_values ? ",VALUE " : " ", names.size(),
                 " are named, must be ", wanted);
    for (std::size_t k = 0; k < wanted; ++k)
      columns.used.emplace_back(names[k], require_named(lines, header, fields, names[k]));
    columns.geographic = is_longitude(columns.names[columns.used[0].second]) &&
                         is_latitude(columns.names[columns.used[1].second]);
  }
  for (auto const& name : also) {
    auto const column = require_named(lines, header, fields, name);
    if (with_values && column == columns.used[2].second)
      lines.fail("column '", name, "' is the value itself");
    columns.used.emplace_back(name, column);
  }
  return columns;
}

}  // namespace strata::detail
