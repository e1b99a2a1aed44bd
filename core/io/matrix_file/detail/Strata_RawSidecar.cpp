// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/matrix_file/detail/Strata_RawSidecar.hpp>

#include <core/Strata_Errors.hpp>
#include <core/io/files/Strata_ByteSource.hpp>
#include <core/io/files/detail/Strata_LineReader.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <string_view>

namespace strata::detail {

namespace {

using Json = nlohmann::json;

Json parse(std::string const& path) {
  constexpr std::uint64_t longest = 1 << 16;
  FileSource file(path);
  STRATA_REQUIRE(IoError, file.size_limit() <= longest, path, ": a sidecar of ", file.size_limit(),
                 " bytes; the limit is ", longest);
  std::string text(file.size_limit(), '\0');
  text.resize(file.read(text.data(), text.size()));
  Json const json = Json::parse(text, nullptr, false);
  STRATA_REQUIRE(IoError, json.is_object(), path, ": not a JSON object");
  constexpr std::array<std::string_view, 6> known = {"dtype", "n",      "ld",
                                                     "order", "endian", "crc32"};
  for (auto const& [key, value] : json.items())
    STRATA_REQUIRE(IoError, std::find(known.begin(), known.end(), key) != known.end(), path,
                   ": unknown key ", excerpt(key));
  return json;
}

std::int64_t size_at(std::string const& path, Json const& json, char const* key,
                     std::int64_t least) {
  constexpr std::int64_t most = std::int64_t(1) << 31;  // their product and bytes fit 64 bits
  STRATA_REQUIRE(IoError, json.contains(key) && json[key].is_number_integer(), path, ": '", key,
                 "' must be there, an integer");
  bool const big = json[key].is_number_unsigned() &&
                   json[key].get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  std::int64_t const value = big ? most + 1 : json[key].get<std::int64_t>();
  STRATA_REQUIRE(IoError, value >= least && value <= most, path, ": '", key, "' is ",
                 json[key].dump(), ", must be from ", least, " to ", most);
  return value;
}

// Whether the key is the second of two words; the first where it is left out and may be.
bool is_second(std::string const& path, Json const& json, char const* key, char const* first,
               char const* second, bool optional) {
  if (optional && !json.contains(key)) return false;
  bool const text = json.contains(key) && json[key].is_string();
  std::string const word = text ? json[key].get<std::string>() : "";
  STRATA_REQUIRE(IoError, word == first || word == second, path, ": '", key, "' must be \"", first,
                 "\" or \"", second, "\"");
  return word == second;
}

std::uint32_t checksum(std::string const& path, Json const& json) {
  std::string const text = json.is_string() ? json.get<std::string>() : "";
  std::uint32_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  STRATA_REQUIRE(IoError, text.size() == 8 && error == std::errc() && end == text.data() + 8, path,
                 ": 'crc32' must be a string of 8 hexadecimal digits");
  return value;
}

}  // namespace

RawSidecar read_raw_sidecar(std::string const& path) {
  Json const json = parse(path);
  RawSidecar sidecar;
  sidecar.single = is_second(path, json, "dtype", "float64", "float32", false);
  sidecar.n = size_at(path, json, "n", 0);
  sidecar.ld = json.contains("ld") ? size_at(path, json, "ld", std::max<std::int64_t>(1, sidecar.n))
                                   : std::max<std::int64_t>(1, sidecar.n);
  sidecar.by_rows = is_second(path, json, "order", "column", "row", true);
  sidecar.little_endian = !is_second(path, json, "endian", "little", "big", true);
  if (json.contains("crc32")) sidecar.crc32 = checksum(path, json["crc32"]);
  return sidecar;
}

}  // namespace strata::detail
