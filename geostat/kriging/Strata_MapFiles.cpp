// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/kriging/Strata_MapFiles.hpp>

#include <core/Strata_Errors.hpp>
#include <core/io/files/Strata_ByteSink.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <utility>
#include <variant>

namespace strata::geostat {

namespace {

constexpr std::uint64_t four_gib = std::uint64_t{1} << 32;
constexpr std::int32_t wgs84 = 4326;

enum class Coordinates : std::uint8_t { Geographic, Projected, Either };

// What a number of EPSG's register is of.
Coordinates coordinates_of(std::int32_t code) {
  if (code > 4000 && code < 5000) return Coordinates::Geographic;
  bool const is_projected = (code >= 2000 && code < 4000) || code >= 20000;
  return is_projected ? Coordinates::Projected : Coordinates::Either;
}

// The bytes of a number, the least significant first or last.
template <std::unsigned_integral Number>
void put(std::string& bytes, Number number, std::endian order) {
  for (std::size_t k = 0; k < sizeof(Number); ++k) {
    std::size_t const place = order == std::endian::little ? k : sizeof(Number) - 1 - k;
    bytes += static_cast<char>(number >> (8 * place) & 0xff);
  }
}
void put(std::string& bytes, double number, std::endian order) {
  put(bytes, std::bit_cast<std::uint64_t>(number), order);
}

void check_layers(PredictionGrid const& grid, std::vector<MapLayer> const& layers) {
  STRATA_REQUIRE(ValueError, !layers.empty(), "a map needs a layer");
  for (auto const& layer : layers)
    STRATA_REQUIRE(ShapeError, static_cast<std::int64_t>(layer.values.size()) == grid.size(),
                   "layer ", layer.name, " of a map has ", layer.values.size(), " values of ",
                   grid.nx, " x ", grid.ny, " cells");
}

// What is not finite is not a number.
void write_numbers(ByteSink& file, std::vector<double> const& values, std::endian order) {
  constexpr std::size_t at_a_time = 8192;
  std::string bytes;
  for (std::size_t first = 0; first < values.size(); first += at_a_time) {
    bytes.clear();
    for (std::size_t k = first; k < std::min(values.size(), first + at_a_time); ++k)
      put(bytes, std::isfinite(values[k]) ? values[k] : std::nan(""), order);
    file.write(bytes.data(), bytes.size());
  }
}

// The tags of a TIFF file's only image, and what they refer to.
class TiffTags {
 public:
  void add_shorts(std::uint16_t tag, std::vector<std::uint16_t> const& values) {
    add(tag, 3, values);
  }
  void add_longs(std::uint16_t tag, std::vector<std::uint32_t> const& values) {
    add(tag, 4, values);
  }
  void add_doubles(std::uint16_t tag, std::vector<double> const& values) { add(tag, 12, values); }
  void add_text(std::uint16_t tag, std::string const& text) {
    char const* const begin = text.c_str();
    add(tag, 2, std::vector<std::uint8_t>(begin, begin + text.size() + 1));  // its NUL too
  }
  // All in front of the pixels; with the same tags as many bytes whatever their values.
  std::string header() const {
    std::uint64_t const begin = 8 + 2 + 12 * entries_.size() + 4;
    std::string bytes = "II", further;
    put(bytes, std::uint16_t{42}, std::endian::little);
    put(bytes, std::uint32_t{8}, std::endian::little);
    put(bytes, static_cast<std::uint16_t>(entries_.size()), std::endian::little);
    for (auto const& [tag, type, count, data] : entries_) {
      put(bytes, tag, std::endian::little);
      put(bytes, type, std::endian::little);
      put(bytes, count, std::endian::little);
      if (data.size() <= 4) {
        bytes += data + std::string(4 - data.size(), '\0');
        continue;
      }
      put(bytes, static_cast<std::uint32_t>(begin + further.size()), std::endian::little);
      further += data + std::string(data.size() % 2, '\0');
    }
    put(bytes, std::uint32_t{0}, std::endian::little);
    return bytes + further + std::string((8 - (begin + further.size()) % 8) % 8, '\0');
  }

 private:
  struct Entry {
    std::uint16_t tag, type;
    std::uint32_t count;
    std::string data;
  };

  template <class Number>
  void add(std::uint16_t tag, std::uint16_t type, std::vector<Number> const& values) {
    Entry entry{tag, type, static_cast<std::uint32_t>(values.size()), ""};
    for (Number const value : values) put(entry.data, value, std::endian::little);
    entries_.push_back(std::move(entry));
  }

  std::vector<Entry> entries_;
};

// What GDAL calls the bands.
std::string descriptions(std::vector<MapLayer> const& layers) {
  std::string text = "<GDALMetadata>\n";
  for (std::size_t k = 0; k < layers.size(); ++k)
    text += "  <Item name=\"DESCRIPTION\" sample=\"" + std::to_string(k) +
            "\" role=\"description\">" + layers[k].name + "</Item>\n";
  return text + "</GDALMetadata>\n";
}

// Cells are areas; a coordinate system only where its number is known.
std::vector<std::uint16_t> geo_keys(MapReference const& where) {
  constexpr std::uint16_t model = 1024, raster = 1025, geographic = 2048, projected = 3072;
  std::vector<std::uint16_t> keys = {1, 1, 1, 0};  // of version 1.1
  auto const add = [&](std::uint16_t key, int value) {
    keys.insert(keys.end(), {key, 0, 1, static_cast<std::uint16_t>(value)});
  };
  bool const is_geographic = where.is_geographic(), known = where.code() > 0;
  if (known) add(model, is_geographic ? 2 : 1);
  add(raster, 1);
  if (known) add(is_geographic ? geographic : projected, where.code());
  keys[3] = static_cast<std::uint16_t>(keys.size() / 4 - 1);
  return keys;
}

// Strips of some 64 kB of each band, one band behind the other.
struct Strips {
  std::vector<std::uint32_t> offsets, bytes;
  std::uint32_t rows = 1;

  Strips(PredictionGrid const& grid, std::size_t bands, std::uint64_t begin) {
    auto const nx = static_cast<std::uint64_t>(grid.nx), ny = static_cast<std::uint64_t>(grid.ny);
    rows = static_cast<std::uint32_t>(std::min(ny, std::max<std::uint64_t>(1, 65536 / (8 * nx))));
    for (std::size_t band = 0; band < bands; ++band)
      for (std::uint64_t row = 0; row < ny; row += rows) {
        std::uint64_t const size = 8 * nx * std::min<std::uint64_t>(rows, ny - row);
        offsets.push_back(static_cast<std::uint32_t>(begin));
        bytes.push_back(static_cast<std::uint32_t>(size));
        begin += size;
      }
  }
};

TiffTags tags_of(PredictionGrid const& grid, MapReference const& where,
                 std::vector<MapLayer> const& layers, Strips const& strips) {
  auto const bands = layers.size();
  auto const north = grid.y + static_cast<double>(grid.ny - 1) * grid.dy + grid.dy / 2;
  TiffTags tags;
  tags.add_longs(256, {static_cast<std::uint32_t>(grid.nx)});
  tags.add_longs(257, {static_cast<std::uint32_t>(grid.ny)});
  tags.add_shorts(258, std::vector<std::uint16_t>(bands, 64));  // bits
  tags.add_shorts(259, {1});                                    // not compressed
  tags.add_shorts(262, {1});
  tags.add_longs(273, strips.offsets);
  tags.add_shorts(277, {static_cast<std::uint16_t>(bands)});
  tags.add_longs(278, {strips.rows});
  tags.add_longs(279, strips.bytes);
  tags.add_shorts(284, {2});  // bands apart
  if (bands > 1) tags.add_shorts(338, std::vector<std::uint16_t>(bands - 1, 0));
  tags.add_shorts(339, std::vector<std::uint16_t>(bands, 3));  // floating point
  tags.add_doubles(33550, {grid.dx, grid.dy, 0});
  tags.add_doubles(33922, {0, 0, 0, grid.x - grid.dx / 2, north, 0});
  tags.add_shorts(34735, geo_keys(where));
  tags.add_text(42112, descriptions(layers));
  tags.add_text(42113, "nan");
  return tags;
}

// The header of a NetCDF file in the classic format with 64-bit offsets.
class NetcdfHeader {
 public:
  enum Type : std::uint32_t { Char = 2, Int = 4, Double = 6 };
  using Value = std::variant<std::string, double>;
  using Attributes = std::vector<std::pair<std::string, Value>>;

  void add_dimension(std::string const& name, std::int64_t size) {
    text(dimensions_, name);
    put(dimensions_, static_cast<std::uint32_t>(size), std::endian::big);
    ++dimension_count_;
  }
  void add_attribute(std::string const& name, Value const& value) {
    global_.emplace_back(name, value);
  }
  void add_variable(std::string const& name, std::vector<std::uint32_t> const& dimensions,
                    Attributes const& attributes, Type type, std::uint64_t bytes) {
    variables_.push_back({name, dimensions, attributes, type, (bytes + 3) / 4 * 4});
  }
  std::string bytes() const {
    std::uint64_t const size = written(0).size();  // offsets are of one width
    return written(size);
  }

 private:
  struct Variable {
    std::string name;
    std::vector<std::uint32_t> dimensions;
    Attributes attributes;
    Type type;
    std::uint64_t bytes;
  };

  static void number(std::string& bytes, std::size_t value) {
    put(bytes, static_cast<std::uint32_t>(value), std::endian::big);
  }
  static void text(std::string& bytes, std::string const& value) {
    number(bytes, value.size());
    bytes += value + std::string((4 - value.size() % 4) % 4, '\0');
  }
  // What is empty has no tag.
  static void list(std::string& bytes, std::uint32_t tag, std::size_t count) {
    number(bytes, count > 0 ? tag : 0);
    number(bytes, count);
  }
  static void attributes(std::string& bytes, Attributes const& all) {
    list(bytes, 12, all.size());
    for (auto const& [name, value] : all) {
      text(bytes, name);
      if (auto const* const words = std::get_if<std::string>(&value)) {
        number(bytes, Char);
        text(bytes, *words);
      } else {
        number(bytes, Double);
        number(bytes, 1);
        put(bytes, std::get<double>(value), std::endian::big);
      }
    }
  }
  std::string written(std::uint64_t begin) const {
    std::string bytes = "CDF\x02";
    number(bytes, 0);  // records
    list(bytes, 10, dimension_count_);
    bytes += dimensions_;
    attributes(bytes, global_);
    list(bytes, 11, variables_.size());
    for (auto const& v : variables_) {
      text(bytes, v.name);
      number(bytes, v.dimensions.size());
      for (auto const dimension : v.dimensions) number(bytes, dimension);
      attributes(bytes, v.attributes);
      number(bytes, v.type);
      number(bytes, v.bytes);
      put(bytes, begin, std::endian::big);
      begin += v.bytes;
    }
    return bytes;
  }

  std::string dimensions_;
  std::size_t dimension_count_ = 0;
  Attributes global_;
  std::vector<Variable> variables_;
};

std::vector<double> axis(double first, double step, std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t k = 0; k < count; ++k) values.push_back(first + static_cast<double>(k) * step);
  return values;
}

NetcdfHeader header_of(PredictionGrid const& grid, MapReference const& where,
                       std::vector<MapLayer> const& layers) {
  using Attributes = NetcdfHeader::Attributes;
  bool const is_geographic = where.is_geographic();
  std::string const x = is_geographic ? "lon" : "x", y = is_geographic ? "lat" : "y";
  Attributes of_x, of_y, of_layer;  // nothing is known of other coordinates
  if (is_geographic) {
    of_x = {{"standard_name", "longitude"}, {"units", "degrees_east"}};
    of_y = {{"standard_name", "latitude"}, {"units", "degrees_north"}};
    of_layer = {{"grid_mapping", "crs"}};
  }
  NetcdfHeader header;
  header.add_dimension(y, grid.ny);
  header.add_dimension(x, grid.nx);
  header.add_attribute("Conventions", "CF-1.8");
  header.add_attribute("source", "Strata");
  auto const nx = static_cast<std::uint64_t>(grid.nx), ny = static_cast<std::uint64_t>(grid.ny);
  header.add_variable(y, {0}, of_y, NetcdfHeader::Double, 8 * ny);
  header.add_variable(x, {1}, of_x, NetcdfHeader::Double, 8 * nx);
  if (is_geographic) {
    Attributes of_crs{{"grid_mapping_name", "latitude_longitude"}};
    if (where.code() == wgs84) {
      of_crs.emplace_back("semi_major_axis", 6378137.0);
      of_crs.emplace_back("inverse_flattening", 298.257223563);
    }
    header.add_variable("crs", {}, of_crs, NetcdfHeader::Int, 4);
  }
  for (auto const& layer : layers)
    header.add_variable(layer.name, {0, 1}, of_layer, NetcdfHeader::Double, 8 * nx * ny);
  return header;
}

}  // namespace

bool MapReference::is_geographic() const {
  auto const of_code = coordinates_of(code());
  return of_code == Coordinates::Either ? is_on_sphere(metric) : of_code == Coordinates::Geographic;
}

void MapReference::check() const {
  STRATA_REQUIRE(ValueError, !is_on_sphere(metric) || is_geographic(), "EPSG:", epsg,
                 " is a projected coordinate system, and the map's coordinates are longitude and "
                 "latitude, as those of EPSG:4326 are");
}

std::int32_t MapReference::parse(std::string const& text) {
  constexpr std::string_view prefix = "EPSG:";
  std::int32_t code = 0;
  bool is_valid = text.size() > prefix.size();
  for (std::size_t k = 0; is_valid && k < prefix.size(); ++k)
    is_valid = text[k] == prefix[k] || text[k] == prefix[k] + ('a' - 'A');
  if (is_valid) {
    auto const [end, error] =
        std::from_chars(text.data() + prefix.size(), text.data() + text.size(), code);
    is_valid = error == std::errc() && end == text.data() + text.size() && code > 0 && code < 32767;
  }
  STRATA_REQUIRE(ValueError, is_valid, "'", text,
                 "' must be EPSG:N, N from 1 to 32766, for example EPSG:32631");
  return code;
}

void write_geotiff(std::string const& path, PredictionGrid const& grid, MapReference const& where,
                   std::vector<MapLayer> const& layers) {
  check_layers(grid, layers);
  where.check();
  double const bytes = 8.0 * static_cast<double>(grid.size()) * static_cast<double>(layers.size());
  constexpr double of_header = 1 << 24;
  STRATA_REQUIRE(ValueError,
                 bytes < static_cast<double>(four_gib) - of_header && layers.size() < 65536, path,
                 ": ", layers.size(), " bands of ", grid.nx, " x ", grid.ny,
                 " cells do not fit a TIFF file of 4 GiB; take a coarser grid, or .nc");
  // The header's length does not depend on the offsets in it.
  auto const length = tags_of(grid, where, layers, Strips(grid, layers.size(), 0)).header().size();
  std::string const header =
      tags_of(grid, where, layers, Strips(grid, layers.size(), length)).header();
  AtomicFile file(path);
  file.write(header.data(), header.size());
  for (auto const& layer : layers) write_numbers(file, layer.values, std::endian::little);
  file.finish();
}

void write_netcdf(std::string const& path, PredictionGrid const& grid, MapReference const& where,
                  std::vector<MapLayer> const& layers) {
  check_layers(grid, layers);
  where.check();
  STRATA_REQUIRE(ValueError, where.epsg == 0 || where.is_geographic(), path, ": EPSG:", where.epsg,
                 " is a projected coordinate system, which NetCDF maps do not name; take .tif");
  STRATA_REQUIRE(ValueError, 8 * static_cast<std::uint64_t>(grid.size()) < four_gib - 4, path,
                 ": a variable of ", grid.nx, " x ", grid.ny,
                 " cells has 4 GiB or more, which the classic format does not hold");
  std::string const header = header_of(grid, where, layers).bytes();
  AtomicFile file(path);
  file.write(header.data(), header.size());
  auto y = axis(grid.y, grid.dy, grid.ny);
  std::ranges::reverse(y);  // as the rows are
  write_numbers(file, y, std::endian::big);
  write_numbers(file, axis(grid.x, grid.dx, grid.nx), std::endian::big);
  if (where.is_geographic()) file.write("\0\0\0\0", 4);
  for (auto const& layer : layers) write_numbers(file, layer.values, std::endian::big);
  file.finish();
}

}  // namespace strata::geostat
