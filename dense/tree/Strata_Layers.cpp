// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/tree/Strata_Layers.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace strata::dense {

namespace {

std::string_view trimmed(std::string_view text) {
  auto const begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// Where the x of "fp16x5" or the last of "int8x9x5" is: behind a name; none in "int8x9", which is
// one.
std::size_t repeating_x(std::string_view part) {
  if (is_name<Precision>(part)) return std::string_view::npos;
  std::size_t const first = part.find_first_of("xX");
  for (std::size_t x = first; x != std::string_view::npos; x = part.find_first_of("xX", x + 1))
    if (is_name<Precision>(part.substr(0, x))) return x;
  return first;
}

// "5" of "fp16x5".
std::size_t repetitions(std::string_view part, std::size_t x) {
  if (x == std::string_view::npos) return 1;
  std::size_t count = 0;
  auto const* const end = part.data() + part.size();
  auto const [rest, status] = std::from_chars(part.data() + x + 1, end, count);
  STRATA_REQUIRE(
      ValueError, status == std::errc() && rest == end && count >= 1 && count <= LayerList::most,
      "layers: '", part, "': the x must be followed by a number of 1 to ", LayerList::most);
  return count;
}

}  // namespace

LayerList::LayerList(std::span<Precision const> layers) : size_(layers.size()) {
  STRATA_REQUIRE(ValueError, size_ > 0 && size_ <= most, "layers: there are ", size_,
                 ", must be 1 to ", most);
  std::ranges::copy(layers, layers_.begin());
}

LayerList LayerList::parse(std::string_view text) {
  std::vector<Precision> layers;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t const end = std::min(text.find(',', begin), text.size());
    auto const part = trimmed(text.substr(begin, end - begin));
    auto const x = repeating_x(part);
    layers.insert(layers.end(), repetitions(part, x), from_name<Precision>(part.substr(0, x)));
    begin = end + 1;
  }
  return LayerList(layers);
}

namespace {
Precision promoted(Precision precision) {
  switch (precision) {
    case Precision::fp8_e4m3:
    case Precision::fp8_e5m2:
    case Precision::fp8_e4m3fnuz:
    case Precision::fp8_e5m2fnuz:
      return Precision::fp16;
    case Precision::fp16:
    case Precision::bf16:
    case Precision::tf32:
      return Precision::fp32;
    case Precision::int8x6:
    case Precision::int8x7:
    case Precision::int8x8:
      return Precision::int8x11;
    case Precision::int8x9:
    case Precision::int8x10:
    case Precision::int8x11:
    case Precision::int8x12:
      return Precision::int8x14;
    default:
      return Precision::fp64;
  }
}
}  // namespace

LayerList LayerList::promoted() const {
  LayerList next(*this);
  for (std::size_t k = 0; k < size_; ++k) next.layers_[k] = dense::promoted(layers_[k]);
  return next;
}

double LayerList::unit_roundoff() const {
  double largest = 0;
  for (Precision const layer : *this) largest = std::max(largest, traits(layer).unit_roundoff);
  return largest;
}

bool LayerList::is_fp64() const {
  return std::all_of(begin(), end(), [](Precision layer) { return layer == Precision::fp64; });
}

bool LayerList::is_as_fp64() const {
  return std::all_of(begin(), end(), [](Precision layer) {
    return storage(layer) == Precision::fp64 &&
           traits(layer).unit_roundoff <= traits(Precision::fp64).unit_roundoff;
  });
}

std::string LayerList::name() const {
  std::string text;
  for (Precision const layer : *this)
    text.append(text.empty() ? "" : ",").append(traits(layer).name);
  return text;
}

std::vector<LayerList> const& studied_layer_lists() {
  using enum Precision;
  static std::vector<LayerList> const lists = {
      {fp64},
      {fp32},
      {fp16},
      {fp32, fp64},
      {fp32, fp32, fp32, fp64},
      {fp16, fp32, fp64},
      {fp16, fp32},
      {fp16, fp16, fp32},
      {fp16, fp16, fp16, fp32},
      {fp16, fp16, fp16, fp16, fp32},
      {fp16, fp16, fp16, fp16, fp16, fp32},
      {fp16, fp16, fp16, fp16, fp16, fp16, fp16, fp32},
      {bf16, bf16, bf16, fp32},
      {fp8_e4m3, fp16, fp16, fp32},
      {fp8_e4m3, fp8_e4m3, fp16, fp32},
      {fp8_e5m2, fp16, fp16, fp32},
      {tf32, tf32, tf32, fp32},
      {fp16_split},
      {fp16, fp16_split, fp32},
      {int8x7},
      {int8x8},
      {int8x9},
      {int8x10},
      {int8x11},
      {int8x12},
      {int8x13},
      {int8x14},
      {int8x15},
      {int8x16},
  };
  return lists;
}

}  // namespace strata::dense
