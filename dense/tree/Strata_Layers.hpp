// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LAYERS_HPP
#define STRATA_LAYERS_HPP

#include <core/Strata_Ladder.hpp>
#include <core/Strata_Precision.hpp>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace strata::dense {

/// How a block is brought into the range of its storage type.
enum class BlockScaling {
  TwoWay,    ///< a power of two scales it up or down
  DownOnly,  ///< only blocks that would overflow, as paper A does
  None,      ///< not at all
};

/// The precisions of a block tree by depth. The off-diagonal block at depth d has the d-th one.
/// Deeper blocks have the last one, and so have the diagonal leaves (paper A, section III-C and
/// figure 2).
class LayerList {
 public:
  /// The most that a list may have.
  static constexpr std::size_t most = 32;

  /// Throws   ValueError if there is no layer or more than `most`.
  LayerList(std::initializer_list<Precision> layers) : LayerList(std::span(layers)) {}
  /// Throws   ValueError if there is no layer or more than `most`.
  explicit LayerList(std::span<Precision const> layers);

  /// Read "fp16,fp16,fp32", outermost layer first, or shorter "fp16x2,fp32", "int8x9x2,fp64"; in
  /// upper or lower case, with or without blanks.
  ///
  /// Throws   ValueError that names the wrong layer and lists the valid names, or the wrong number.
  static LayerList parse(std::string_view text);

  /// The precision of the off-diagonal block at `depth` (0 is the largest block).
  Precision at_depth(std::size_t depth) const { return layers_[depth < size_ ? depth : size_ - 1]; }
  /// The precision of the diagonal leaves.
  Precision leaf() const { return layers_[size_ - 1]; }
  /// How many there are.
  std::size_t size() const { return size_; }
  /// The outermost.
  auto begin() const { return layers_.begin(); }
  /// Behind the last.
  auto end() const { return begin() + static_cast<std::ptrdiff_t>(size_); }

  /// The layer list one step more accurate: fp8 becomes fp16, and fp16, bf16 and tf32 become fp32.
  /// fp32 and fp16_split, whose products are almost as accurate, become fp64. int8x6 to int8x8
  /// become int8x11, int8x9 to int8x12 become int8x14, and int8x13 and later ones fp64.
  LayerList promoted() const;
  /// The largest unit roundoff of all layers.
  double unit_roundoff() const;
  /// True if every layer is fp64.
  bool is_fp64() const;
  /// True if every layer is fp64 or as accurate: int8x14 to int8x16.
  bool is_as_fp64() const;
  /// As `parse` reads it.
  std::string name() const;

  /// The same layers.
  friend bool operator==(LayerList const&, LayerList const&) = default;

 private:
  std::array<Precision, most> layers_{};  // those behind the last are all the same
  std::size_t size_ = 0;
};

/// A type that numbers are stored in: double, float, strata::fp16, strata::bf16, strata::fp8_e4m3,
/// ...
template <class T>
concept StorageType = requires { strata::detail::PrecisionOf<std::remove_cv_t<T>>::value; };

/// The typed form: `Layers<fp16, fp16, fp16, fp32>`; tf32, fp16_split and int8x6 to int8x16 are no
/// types.
template <class... T>
struct Layers {
  static_assert(sizeof...(T) > 0, "Layers needs at least one type");
  static_assert((StorageType<T> && ...),
                "Layers: each type must be double, float, strata::fp16, strata::bf16 or one of "
                "strata::fp8_...");
  /// The same at run time.
  static LayerList list() {
    if constexpr ((StorageType<T> && ...))
      return {precision_of<T>...};
    else
      return LayerList(std::span<Precision const>());
  }
};

/// The precision that a block stored as `precision` is accumulated in: fp64 for what is stored so,
/// else fp32.
constexpr Precision accumulator(Precision precision) {
  return storage(precision) == Precision::fp64 ? Precision::fp64 : Precision::fp32;
}

/// The one whose roundings are larger; of two whose are as large one of products rather than fp64.
inline Precision coarser(Precision a, Precision b) {
  double const of_a = traits(a).unit_roundoff, of_b = traits(b).unit_roundoff;
  return of_a > of_b || (of_a == of_b && b == Precision::fp64) ? a : b;
}

/// The layer lists of paper A's figures 4 to 9, in their order, then this library's sets with bf16,
/// fp8, tf32, fp16_split and products of integers.
std::vector<LayerList> const& studied_layer_lists();

/// One factorisation that was tried. The first has the layers and the shift that were asked for. On
/// a breakdown a shift of 2, 8, 32 and 128 unit roundoffs of the lowest layer follows. Then each
/// layer is promoted, again without and with shifts, until all are fp64. There, and where the
/// roundoff is fp64's, there is no shift.
struct CholeskyAttempt : FactorAttempt {
  LayerList layers{Precision::fp64};  ///< layers that were tried
  double shift = 0;                   ///< shift that was tried
};

}  // namespace strata::dense

#endif
