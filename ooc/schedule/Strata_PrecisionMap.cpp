// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/schedule/Strata_PrecisionMap.hpp>

#include <core/Strata_Errors.hpp>
#include <dense/tree/Strata_BlockTree.hpp>

#include <zlib.h>

#include <algorithm>
#include <cmath>

namespace strata::ooc {

namespace {

constexpr std::array ranked = {Precision::fp64, Precision::fp32, Precision::fp16,
                               Precision::fp8_e4m3};

// The two largest of the estimates of one column, so that a tile finds the largest of the others.
struct TwoLargest {
  double first = 0, second = 0;
  std::int64_t row = -1;

  void see(std::int64_t i, double value) {
    if (value > first) {
      second = first;
      first = value;
      row = i;
    } else if (value > second) {
      second = value;
    }
  }
  double without(std::int64_t i) const { return i == row ? second : first; }
};

// Sets the layers in the diagonal block of tile rows [begin, begin + count): the block below its
// first half, then both halves.
void set_layers(PrecisionMap& map, dense::LayerList const& layers, std::int64_t begin,
                std::int64_t count, std::size_t depth) {
  if (count < 2) return;
  std::int64_t const half = dense::half_of_leaves(count, 1);
  for (std::int64_t j = begin; j < begin + half; ++j)
    for (std::int64_t i = begin + half; i < begin + count; ++i)
      map.set(i, j, layers.at_depth(depth));
  set_layers(map, layers, begin, half, depth + 1);
  set_layers(map, layers, begin + half, count - half, depth + 1);
}

}  // namespace

int precision_rank(Precision precision) {
  bool const is_split = precision == Precision::fp16_split;
  auto const found = std::ranges::find(ranked, is_split ? Precision::fp32 : precision);
  STRATA_REQUIRE(ValueError, found != ranked.end(), "a tile is in fp64, fp32, fp16_split, fp16 or ",
                 "fp8_e4m3, not in ", traits(precision).name);
  return static_cast<int>(found - ranked.begin());
}

void PrecisionRule::check() const {
  STRATA_REQUIRE(ValueError, accuracy >= 0 && accuracy < 1, "precision rule: the accuracy is ",
                 accuracy, ", must be in [0, 1)");
  STRATA_REQUIRE(ValueError, !precisions.empty() && precisions.front() == Precision::fp64,
                 "precision rule: the first precision must be fp64");
  STRATA_REQUIRE(ValueError, accuracy == 0 || layers.empty(), "precision rule: an accuracy of ",
                 accuracy, " and layers, must be one of them");
  for (Precision const layer : layers) (void)precision_rank(layer);
  for (std::size_t k = 1; k < precisions.size(); ++k)
    STRATA_REQUIRE(ValueError, precision_rank(precisions[k]) > precision_rank(precisions[k - 1]),
                   "precision rule: ", traits(precisions[k]).name, " does not follow ",
                   traits(precisions[k - 1]).name, " from high to low");
}

double TileNorms::frobenius() const {
  double sum = 0;
  for (std::int64_t j = 0; j < tiles; ++j)
    for (std::int64_t i = j; i < tiles; ++i)
      sum += (i == j ? 1 : 2) * squares[tile_number(i, j, tiles)];
  return std::sqrt(sum);
}

PrecisionMap::PrecisionMap(std::int64_t tiles, Precision precision) : tiles_(tiles) {
  STRATA_REQUIRE(ShapeError, tiles >= 0, "precision map: ", tiles, " tile rows");
  (void)precision_rank(precision);
  map_.assign(tile_count(tiles), precision);
  for (std::int64_t i = 0; i < tiles; ++i) map_[tile_number(i, i, tiles)] = Precision::fp64;
}

void PrecisionMap::set(std::int64_t i, std::int64_t j, Precision precision) {
  STRATA_REQUIRE(ValueError, i != j || precision == Precision::fp64, "precision map: tile ", i,
                 ", ", j, " is on the diagonal, which is fp64, not ", traits(precision).name);
  (void)precision_rank(precision);
  map_[tile_number(i, j, tiles_)] = precision;
}

bool PrecisionMap::holds(Precision precision) const {
  return std::ranges::find(map_, precision) != map_.end();
}

bool PrecisionMap::is_mixed() const {
  return std::ranges::any_of(map_, [](Precision p) { return p != Precision::fp64; });
}

std::array<std::int64_t, 4> PrecisionMap::histogram() const {
  std::array<std::int64_t, 4> count{};
  for (Precision const precision : map_)
    ++count[static_cast<std::size_t>(precision_rank(precision))];
  return count;
}

std::uint32_t PrecisionMap::hash() const {
  std::string bytes;
  for (Precision const precision : map_)
    bytes.push_back(
        static_cast<char>((is_product_format(precision) ? 'a' : '0') + precision_rank(precision)));
  auto const* const data = reinterpret_cast<unsigned char const*>(bytes.data());
  return static_cast<std::uint32_t>(crc32_z(0, data, bytes.size()));
}

std::string PrecisionMap::to_text() const {
  std::string text;
  for (std::int64_t i = 0; i < tiles_; ++i) {
    for (std::int64_t j = 0; j <= i; ++j)
      text += "DSHQ"[static_cast<std::size_t>(precision_rank(at(i, j)))];
    text += '\n';
  }
  return text;
}

std::string PrecisionMap::to_ppm(int scale) const {
  STRATA_REQUIRE(ValueError, scale >= 1, "precision map: ", scale, " pixels a tile");
  constexpr std::array<std::array<unsigned char, 3>, 4> colours = {
      {{178, 24, 43}, {244, 165, 130}, {146, 197, 222}, {33, 102, 172}}};
  std::int64_t const side = tiles_ * scale;
  std::string image = "P6\n" + std::to_string(side) + ' ' + std::to_string(side) + "\n255\n";
  for (std::int64_t y = 0; y < side; ++y) {
    for (std::int64_t x = 0; x < side; ++x) {
      std::int64_t const i = y / scale, j = x / scale;
      for (std::size_t c = 0; c < 3; ++c)
        image +=
            i < j
                ? '\xff'
                : static_cast<char>(colours[static_cast<std::size_t>(precision_rank(at(i, j)))][c]);
    }
  }
  return image;
}

PrecisionMap precision_map(TileNorms const& norms, PrecisionRule const& rule) {
  rule.check();
  std::int64_t const tiles = norms.tiles;
  STRATA_REQUIRE(ShapeError,
                 norms.squares.size() == tile_count(tiles) &&
                     norms.traces.size() == static_cast<std::size_t>(tiles),
                 "precision map: ", norms.squares.size(), " norms and ", norms.traces.size(),
                 " traces of ", tiles, " tile rows");
  PrecisionMap map(tiles);
  if (!rule.layers.empty()) set_layers(map, dense::LayerList(rule.layers), 0, tiles, 0);
  if (rule.accuracy == 0) return map;
  double const allowed = rule.accuracy * norms.frobenius() / static_cast<double>(tiles);
  auto const norm = [&](std::int64_t i, std::int64_t k) {
    return std::sqrt(norms.squares[tile_number(i, k, tiles)]);
  };
  auto const estimate = [&](std::int64_t i, std::int64_t k) {
    return std::min(norm(i, k), std::sqrt(norms.traces[static_cast<std::size_t>(i)]));
  };
  for (std::int64_t k = 0; k < tiles; ++k) {
    TwoLargest largest;
    for (std::int64_t i = k + 1; i < tiles; ++i) largest.see(i, estimate(i, k));
    for (std::int64_t i = k + 1; i < tiles; ++i) {
      double worst = norm(i, k);
      if (rule.operand_rule) worst = std::max(worst, estimate(i, k) * largest.without(i));
      for (Precision const precision : rule.precisions)
        if (worst * traits(precision).unit_roundoff <= allowed) map.set(i, k, precision);
    }
  }
  return map;
}

}  // namespace strata::ooc
