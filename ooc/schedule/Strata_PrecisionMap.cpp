// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/schedule/Strata_PrecisionMap.hpp>

#include <core/Strata_Errors.hpp>
#include <core/integers/Strata_IntegerBlas.hpp>
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
  bool const is_split = precision == Precision::fp16_split, is_integer = moduli_of(precision) > 0;
  auto const found = std::ranges::find(ranked, is_split     ? Precision::fp32
                                               : is_integer ? Precision::fp64
                                                            : precision);
  STRATA_REQUIRE(ValueError, found != ranked.end(), "a tile is in fp64, int8x6 to int8x16, fp32, ",
                 "fp16_split, fp16 or fp8_e4m3, not in ", traits(precision).name);
  return static_cast<int>(found - ranked.begin());
}

void PrecisionRule::check() const {
  STRATA_REQUIRE(ValueError, accuracy >= 0 && accuracy < 1, "precision rule: the accuracy is ",
                 accuracy, ", must be in [0, 1)");
  STRATA_REQUIRE(ValueError,
                 !precisions.empty() &&
                     (precisions.front() == Precision::fp64 || moduli_of(precisions.front()) > 0),
                 "precision rule: the first precision must be fp64, or one of int8x6 to int8x16");
  STRATA_REQUIRE(ValueError, accuracy == 0 || layers.empty(), "precision rule: an accuracy of ",
                 accuracy, " and layers, must be one of them");
  int moduli = 0;
  for (Precision const layer : layers) {
    (void)precision_rank(layer);
    if (moduli_of(layer) == 0) continue;
    STRATA_REQUIRE(ValueError, moduli == 0 || moduli == moduli_of(layer),
                   "precision rule: layers of ", moduli, " and of ", moduli_of(layer),
                   " moduli, whose rows have different units; take one of them");
    moduli = moduli_of(layer);
  }
  for (std::size_t k = 1; k < precisions.size(); ++k)
    STRATA_REQUIRE(ValueError, precision_rank(precisions[k]) > precision_rank(precisions[k - 1]),
                   "precision rule: ", traits(precisions[k]).name, " does not follow ",
                   traits(precisions[k - 1]).name, " from high to low");
}

bool PrecisionRule::may_round() const {
  auto const is_wide = [](Precision p) { return storage(p) == Precision::fp64; };
  return layers.empty() ? accuracy > 0 && !std::ranges::all_of(precisions, is_wide)
                        : !std::ranges::all_of(layers, is_wide);
}

double PrecisionRule::accuracy_each() const {
  return moduli_of(precisions.front()) > 0 && precisions.size() > 1 ? accuracy / 2 : accuracy;
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
  if (tiles > 1) moduli_ = moduli_of(precision);
  for (std::int64_t i = 0; i < tiles; ++i) map_[tile_number(i, i, tiles)] = Precision::fp64;
}

void PrecisionMap::set(std::int64_t i, std::int64_t j, Precision precision) {
  STRATA_REQUIRE(ValueError, i != j || precision == Precision::fp64, "precision map: tile ", i,
                 ", ", j, " is on the diagonal, which is fp64, not ", traits(precision).name);
  (void)precision_rank(precision);
  map_[tile_number(i, j, tiles_)] = precision;
  moduli_ = std::max(moduli_, moduli_of(precision));
}

bool PrecisionMap::holds(Precision precision) const {
  return std::ranges::find(map_, precision) != map_.end();
}

bool PrecisionMap::is_mixed() const {
  constexpr int as_fp64 = moduli_of(Precision::int8x14);
  return (moduli_ > 0 && moduli_ < as_fp64) ||
         std::ranges::any_of(map_, [](Precision p) { return storage(p) != Precision::fp64; });
}

std::array<std::int64_t, 4> PrecisionMap::histogram() const {
  std::array<std::int64_t, 4> count{};
  for (Precision const precision : map_)
    ++count[static_cast<std::size_t>(precision_rank(precision))];
  return count;
}

std::array<std::int64_t, most_moduli - least_moduli + 1> PrecisionMap::moduli_histogram() const {
  std::array<std::int64_t, most_moduli - least_moduli + 1> count{};
  for (Precision const precision : map_)
    if (int const moduli = moduli_of(precision); moduli > 0)
      ++count[static_cast<std::size_t>(moduli - least_moduli)];
  return count;
}

std::uint32_t PrecisionMap::hash() const {
  std::string bytes;
  for (Precision const precision : map_)
    bytes.push_back(static_cast<char>(moduli_of(precision) > 0
                                          ? 'A' + moduli_  // the integers are the same with fewer
                                          : (is_product_format(precision) ? 'a' : '0') +
                                                precision_rank(precision)));
  auto const* const data = reinterpret_cast<unsigned char const*>(bytes.data());
  return static_cast<std::uint32_t>(crc32_z(0, data, bytes.size()));
}

std::string PrecisionMap::to_text() const {
  std::string text;
  for (std::int64_t i = 0; i < tiles_; ++i) {
    for (std::int64_t j = 0; j <= i; ++j)
      text += moduli_of(at(i, j)) > 0 ? static_cast<char>('a' + moduli_of(at(i, j)) - least_moduli)
                                      : "DSHQ"[static_cast<std::size_t>(precision_rank(at(i, j)))];
    text += '\n';
  }
  return text;
}

std::string PrecisionMap::to_ppm(int scale) const {
  STRATA_REQUIRE(ValueError, scale >= 1, "precision map: ", scale, " pixels a tile");
  using Colour = std::array<unsigned char, 3>;
  constexpr std::array<Colour, 4> colours = {
      {{178, 24, 43}, {244, 165, 130}, {146, 197, 222}, {33, 102, 172}}};
  auto const colour_of = [&](Precision precision) -> Colour {
    if (int const moduli = moduli_of(precision); moduli > 0) {
      auto const pale = static_cast<unsigned char>(15 * (most_moduli - moduli));
      return {static_cast<unsigned char>(90 + pale), pale, static_cast<unsigned char>(90 + pale)};
    }
    return colours[static_cast<std::size_t>(precision_rank(precision))];
  };
  std::int64_t const side = tiles_ * scale;
  std::string image = "P6\n" + std::to_string(side) + ' ' + std::to_string(side) + "\n255\n";
  for (std::int64_t y = 0; y < side; ++y) {
    for (std::int64_t x = 0; x < side; ++x) {
      std::int64_t const i = y / scale, j = x / scale;
      for (std::size_t c = 0; c < 3; ++c)
        image += i < j ? '\xff' : static_cast<char>(colour_of(at(i, j))[c]);
    }
  }
  return image;
}

namespace {

// ||A_ik||_F, and the same or what L_ik cannot exceed.
struct Estimates {
  TileNorms const& norms;
  double trace(std::int64_t i) const { return norms.traces[static_cast<std::size_t>(i)]; }
  double norm(std::int64_t i, std::int64_t k) const {
    return std::sqrt(norms.squares[tile_number(i, k, norms.tiles)]);
  }
  double factor(std::int64_t i, std::int64_t k) const {
    return std::min(norm(i, k), std::sqrt(trace(i)));
  }
};

// Integers with the least moduli that the accuracy needs.
Precision first_precision(TileNorms const& norms, PrecisionRule const& rule) {
  Precision const first = rule.precisions.front();
  if (moduli_of(first) == 0 || rule.accuracy == 0 || !rule.layers.empty()) return first;
  double trace = 0;
  for (double const part : norms.traces) trace += part;
  double const allowed = rule.accuracy_each() * norms.frobenius();
  int moduli = least_moduli;
  while (moduli < moduli_of(first) &&
         !(traits(integer_precision(moduli)).unit_roundoff * trace <= allowed))
    ++moduli;
  return integer_precision(moduli);
}

// The least moduli with which the sums of tile (i, j) are still told apart, as far as the norms
// foretell. Half of the range is left.
void take_fewer_moduli(PrecisionMap& map, Estimates const& of) {
  constexpr double spread = 256;  // of a tile's rows, and of what fills in
  std::int64_t const tiles = map.tiles();
  std::vector<double> ratio(tile_count(tiles), 1);  // of the largest row of L_ik and its bound
  for (std::int64_t k = 0; k < tiles; ++k)
    for (std::int64_t i = k + 1; i < tiles; ++i)
      if (of.trace(i) > 0)
        ratio[tile_number(i, k, tiles)] =
            std::min(1.0, spread * of.factor(i, k) / std::sqrt(of.trace(i)));
  for (std::int64_t j = 0; j < tiles; ++j)
    for (std::int64_t i = j + 1; i < tiles; ++i) {
      if (moduli_of(map.at(i, j)) == 0) continue;
      double sum = 0;
      for (std::int64_t k = 0; k < j; ++k)
        sum += ratio[tile_number(i, k, tiles)] * ratio[tile_number(j, k, tiles)];
      double const needed = 2 * sum * largest_integer_sum(map.moduli());
      int moduli = least_moduli;
      while (moduli < map.moduli() && needed > largest_integer_sum(moduli)) ++moduli;
      map.set(i, j, integer_precision(moduli));
    }
}

// The lowest precision of each tile that the accuracy allows.
void round_tiles(PrecisionMap& map, Estimates const& of, PrecisionRule const& rule) {
  std::int64_t const tiles = map.tiles();
  double const allowed = rule.accuracy_each() * of.norms.frobenius() / static_cast<double>(tiles);
  for (std::int64_t k = 0; k < tiles; ++k) {
    TwoLargest largest;
    for (std::int64_t i = k + 1; i < tiles; ++i) largest.see(i, of.factor(i, k));
    for (std::int64_t i = k + 1; i < tiles; ++i) {
      double worst = of.norm(i, k);
      if (rule.operand_rule) worst = std::max(worst, of.factor(i, k) * largest.without(i));
      for (std::size_t p = 1; p < rule.precisions.size(); ++p)
        if (worst * traits(rule.precisions[p]).unit_roundoff <= allowed)
          map.set(i, k, rule.precisions[p]);
    }
  }
}

}  // namespace

PrecisionMap precision_map(TileNorms const& norms, PrecisionRule const& rule) {
  rule.check();
  std::int64_t const tiles = norms.tiles;
  STRATA_REQUIRE(ShapeError,
                 norms.squares.size() == tile_count(tiles) &&
                     norms.traces.size() == static_cast<std::size_t>(tiles),
                 "precision map: ", norms.squares.size(), " norms and ", norms.traces.size(),
                 " traces of ", tiles, " tile rows");
  Estimates const of{norms};
  PrecisionMap map(tiles, first_precision(norms, rule));
  if (!rule.layers.empty()) {
    map = PrecisionMap(tiles);
    set_layers(map, dense::LayerList(rule.layers), 0, tiles, 0);
  }
  if (rule.accuracy > 0) round_tiles(map, of, rule);
  if (map.moduli() > 0 && rule.fewer_moduli) take_fewer_moduli(map, of);
  return map;
}

}  // namespace strata::ooc
