// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_SCHEDULE_PRECISION_MAP_HPP
#define STRATA_OOC_SCHEDULE_PRECISION_MAP_HPP

#include <core/Strata_Precision.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace strata::ooc {

/// Number of the tile (i, j), i >= j, in a lower triangle that is stored by columns of tiles.
constexpr std::size_t tile_number(std::int64_t i, std::int64_t j, std::int64_t tiles) {
  return static_cast<std::size_t>(j * tiles - j * (j - 1) / 2 + (i - j));
}
/// Tiles of a lower triangle of `tiles` tile rows.
constexpr std::size_t tile_count(std::int64_t tiles) {
  return static_cast<std::size_t>(tiles * (tiles + 1) / 2);
}

/// Bytes that the numbers of a tile take, rounded up to where its scale lies.
constexpr std::size_t number_bytes(Precision precision, std::int64_t rows, std::int64_t cols) {
  constexpr std::size_t alignment = 256;
  auto const bytes = static_cast<std::size_t>(rows * cols) * traits(precision).bytes;
  return (bytes + alignment - 1) / alignment * alignment;
}
/// Bytes of a stored tile: its numbers, then a block of its own for scale, squared norm and largest
/// magnitude.
constexpr std::size_t tile_bytes(Precision precision, std::int64_t rows, std::int64_t cols) {
  return number_bytes(precision, rows, cols) + 256;
}
/// Bytes of a stored tile that carry something, which a copy takes.
constexpr std::size_t tile_copy_bytes(Precision precision, std::int64_t rows, std::int64_t cols) {
  return number_bytes(precision, rows, cols) + 3 * sizeof(double);
}

/// How precisions are chosen.
struct PrecisionRule {
  /// eps: the matrix is perturbed by at most eps ||A||_F. 0: every tile in the first precision.
  double accuracy = 0;
  /// The precisions that the rule may use, from the highest to the lowest: fp64, fp32 or
  /// fp16_split, fp16, fp8_e4m3. The first is fp64 or one of int8x6 to int8x16, whose tiles are
  /// stored as fp64 and multiplied as integers modulo S numbers. With an accuracy above 0 S is the
  /// least that it needs, up to the one that is asked for. fp16_split is stored as fp32, and
  /// multiplied on matrix units.
  std::vector<Precision> precisions = {Precision::fp64, Precision::fp32, Precision::fp16,
                                       Precision::fp8_e4m3};
  /// Bound the products that a tile is an operand of as well, not only the tile.
  bool operand_rule = true;
  /// Take fewer moduli for tiles whose sums are foretold to be small, which changes no bit.
  bool fewer_moduli = true;
  /// In place of an accuracy and the precisions: layers, as `dense::LayerList` has them. Tile rows
  /// are halved, and the halves again, until they are single rows. At some depth a tile's row and
  /// column come to be in different halves. A tile below the diagonal has the layer of this depth.
  /// Any of fp64, fp32, fp16_split, fp16, fp8_e4m3, and one of int8x6 to int8x16.
  std::vector<Precision> layers{};

  /// Whether tiles may have other precisions than fp64.
  bool may_mix() const {
    return accuracy > 0 || !layers.empty() || moduli_of(precisions.front()) > 0;
  }
  /// Whether tiles may be stored in less than fp64.
  bool may_round() const;
  /// The part of the accuracy that integers may take, and that low tiles may take: the whole, or
  /// half each where the precisions are of both.
  double accuracy_each() const;
  /// Throws   ValueError if accuracy is not in [0, 1), the precisions are not as said, a layer is
  ///          of another precision, layers differ in their moduli, or there are layers and an
  ///          accuracy.
  void check() const;
};

/// Norms of the tiles of a symmetric matrix, by `tile_number`.
struct TileNorms {
  std::int64_t tiles = 0;       ///< tile rows
  std::vector<double> squares;  ///< ||A_ij||_F^2
  std::vector<double> traces;   ///< traces of the diagonal tiles
  /// ||A||_F of the whole matrix.
  double frobenius() const;
};

/// The storage precision of each tile of a lower triangle.
class PrecisionMap {
 public:
  /// All tiles in one precision, but the diagonal ones in fp64.
  explicit PrecisionMap(std::int64_t tiles = 0, Precision precision = Precision::fp64);

  /// Tile rows.
  std::int64_t tiles() const { return tiles_; }
  /// The precision of tile (i, j), i >= j.
  Precision at(std::int64_t i, std::int64_t j) const { return map_[tile_number(i, j, tiles_)]; }
  /// Throws   ValueError for a diagonal tile in anything but fp64.
  void set(std::int64_t i, std::int64_t j, Precision precision);
  /// Whether there is a tile in `precision`.
  bool holds(Precision precision) const;
  /// Whether there is a tile below fp64: in anything but fp64 and int8x14 to int8x16.
  bool is_mixed() const;
  /// S of the units that rows are rounded to where they are multiplied as integers: the most that a
  /// tile was ever set to; 0: none is. A tile with fewer moduli has the same integers.
  int moduli() const { return moduli_; }
  /// Tiles in fp64 or int8x6 to int8x16, fp32 or fp16_split, fp16 and fp8_e4m3.
  std::array<std::int64_t, 4> histogram() const;
  /// Tiles in int8x6, int8x7, ..., int8x16.
  std::array<std::int64_t, most_moduli - least_moduli + 1> moduli_histogram() const;
  /// A number that differs for different maps, the same on every machine.
  std::uint32_t hash() const;

  /// The triangle as lines of letters: 64 -> 'D', 32 -> 'S', 16 -> 'H', 8 -> 'Q'; 6 to 16 moduli
  /// 'a' to 'k'.
  std::string to_text() const;
  /// The triangle as a portable pixmap (PPM, binary), `scale` x `scale` pixels a tile. Tiles of
  /// integers are the paler the fewer moduli they have.
  ///
  /// Throws   ValueError if scale < 1.
  std::string to_ppm(int scale = 8) const;

  /// The same precisions.
  bool operator==(PrecisionMap const&) const = default;

 private:
  std::int64_t tiles_;
  std::vector<Precision> map_;
  int moduli_ = 0;
};

/// Position of a precision in histograms and pictures: fp64 and int8x6 to int8x16 0, fp32 and
/// fp16_split 1, fp16 2, fp8_e4m3 3.
///
/// Throws   ValueError for another precision.
int precision_rank(Precision precision);

/// The lowest precision of each tile that perturbs the matrix by no more than the rule allows, or
/// the rule's layers.
///
/// Integers and low tiles have half of eps each where the rule's precisions are of both: below, eps
/// is `PrecisionRule::accuracy_each`.
///
/// Tile (i, k) may be rounded to unit roundoff u if Nt ||A_ik||_F <= (eps / u) ||A||_F. The operand
/// rule also asks for Nt b_ik max_m b_mk u <= eps ||A||_F over the other rows m > k. Here b_ik
/// estimates ||L_ik||_F: it is the lesser of ||A_ik||_F, which L_ik exceeds by fill-in only, and
/// trace(A_ii)^(1/2), which L_ik cannot exceed. Diagonal tiles stay in fp64.
///
/// The error E that integers put in entry (i, j) of the sums has a standard deviation of 0.41
/// theta_S (a_ii a_jj)^(1/2) at most (`IntegerBlas`), whatever norms tiles have. So ||E||_F is
/// expected below theta_S trace(A) / 2. An accuracy takes the least S for which theta_S trace(A) is
/// at most eps ||A||_F. The sum of products of tile (i, j) is at most P / 2 times the sum over k of
/// r_ik r_jk. Here r_ik estimates the largest row of L_ik in units of a whole row's bound: 2^8 b_ik
/// / trace(A_ii)^(1/2), at most 1. So few moduli serve a small tile for the same integers. A
/// factorisation checks that they did.
///
/// Shape    norms of the matrix that is factored (equilibrated: `TileMatrix`).
/// Throws   ShapeError if the norms are not of a triangle; what `PrecisionRule::check` throws.
/// Source   Ren et al. (paper B), section IV-C; Higham and Mary, Acta Numerica 31 (2022), section
///          14; deviation: the operand rule, and the fixed diagonal. Layers: Carrica et al. (paper
///          A), section III-C; deviation: leaves, the diagonal tiles, are in fp64.
PrecisionMap precision_map(TileNorms const& norms, PrecisionRule const& rule);

}  // namespace strata::ooc

#endif
