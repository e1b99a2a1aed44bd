// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_FLOAT_HPP
#define STRATA_FLOAT_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace strata {

/// What the all-ones exponent of a small format means.
enum class Specials {
  Ieee,    ///< infinities and NaNs as in IEEE 754 (binary16, bfloat16, OCP E5M2)
  Finite,  ///< no infinity; only S.11..1.11..1 is NaN (OCP E4M3)
  Fnuz,    ///< no infinity, no negative zero; only the pattern of -0 is NaN (AMD MI300's FP8)
};

/// A binary floating-point format of 8 or 16 bits: sign, exponent, mantissa (without the hidden
/// bit).
template <int ExponentBits, int MantissaBits, int Bias, Specials Kind>
struct Format {
  static constexpr int exponent_bits = ExponentBits;  ///< bits of the exponent
  /// stored bits of the mantissa, without the hidden one
  static constexpr int mantissa_bits = MantissaBits;
  static constexpr int bias = Bias;           ///< what is added to an exponent before it is stored
  static constexpr Specials specials = Kind;  ///< what the all-ones exponent means
  /// An unsigned integer of the same size.
  using Bits =
      std::conditional_t<1 + ExponentBits + MantissaBits == 16, std::uint16_t, std::uint8_t>;
};

namespace detail {

/// The type whose conversions are instructions of the device, with the same bits; void if there is
/// none.
template <class Format>
struct DeviceFloat {
  using type = void;
};
template <>
struct DeviceFloat<Format<5, 10, 15, Specials::Ieee>> {
  using half = Kokkos::Experimental::half_t;
  using type = std::conditional_t<sizeof(half) == 2, half, void>;  // else it is a float
};
template <>
struct DeviceFloat<Format<8, 7, 127, Specials::Ieee>> {
  using bhalf = Kokkos::Experimental::bhalf_t;
  using type = std::conditional_t<sizeof(bhalf) == 2, bhalf, void>;
};

}  // namespace detail

/// A number stored in 8 or 16 bits. Storage and GEMM operand only: convert to fp32 or fp64 to
/// calculate.
///
/// Result   widening is exact; narrowing from float or double rounds once, to nearest, ties to
///          even, also into subnormals. Beyond the largest finite value it gives infinity, or NaN
///          where the format has no infinity; it never saturates, so that an overflow stays
///          visible. NaN stays NaN.
/// Source   IEEE 754-2019; OCP 8-bit Floating Point Specification (OFP8) 1.0, 2023; bfloat16, FNUZ:
///          Noune et al., 8-bit Numerical Formats for Deep Neural Networks, arXiv:2206.02915.
template <class FormatT>
class SmallFloat {
 public:
  /// The meaning of the bits.
  using Format = FormatT;
  /// An unsigned integer of the same size.
  using Bits = typename Format::Bits;

  SmallFloat() = default;
  /// Rounded once.
  KOKKOS_FUNCTION explicit SmallFloat(float value) : bits_(narrow(value)) {}
  /// Rounded once.
  KOKKOS_FUNCTION explicit SmallFloat(double value) : bits_(narrow(round_to_odd(value))) {}
  /// Exact.
  KOKKOS_FUNCTION explicit operator float() const { return widen(bits_); }
  /// Exact.
  KOKKOS_FUNCTION explicit operator double() const { return widen(bits_); }

  /// The number with these bits.
  KOKKOS_FUNCTION static SmallFloat from_bits(Bits bits) {
    SmallFloat result;
    result.bits_ = bits;
    return result;
  }
  /// The bits as they are stored.
  KOKKOS_FUNCTION Bits bits() const { return bits_; }

 private:
  static constexpr int exponent_bits = Format::exponent_bits, mantissa_bits = Format::mantissa_bits;
  static constexpr bool ieee = Format::specials == Specials::Ieee;
  static constexpr bool fnuz = Format::specials == Specials::Fnuz;
  static constexpr int total_bits = exponent_bits + mantissa_bits;  // without the sign
  static constexpr std::uint32_t sign_bit = 1u << total_bits;
  static constexpr std::uint32_t exponent_mask = ((1u << exponent_bits) - 1) << mantissa_bits;
  static constexpr std::uint32_t mantissa_mask = (1u << mantissa_bits) - 1;
  static constexpr std::uint32_t nan_bits = fnuz   ? sign_bit
                                            : ieee ? exponent_mask | (1u << (mantissa_bits - 1))
                                                   : exponent_mask | mantissa_mask;
  static constexpr std::uint32_t max_bits = ieee   ? exponent_mask - 1
                                            : fnuz ? exponent_mask | mantissa_mask
                                                   : (exponent_mask | mantissa_mask) - 1;

  KOKKOS_FUNCTION static std::uint32_t to_bits(float value) {
    return Kokkos::bit_cast<std::uint32_t>(value);
  }
  KOKKOS_FUNCTION static float to_float(std::uint32_t bits) {
    return Kokkos::bit_cast<float>(bits);
  }

  // A choice without a branch, so that loops over these functions are vectorised.
  KOKKOS_FUNCTION static std::uint32_t select(bool condition, std::uint32_t yes, std::uint32_t no) {
    std::uint32_t const mask = 0u - static_cast<std::uint32_t>(condition);
    return (yes & mask) | (no & ~mask);
  }

  using Device = typename detail::DeviceFloat<Format>::type;

  KOKKOS_FUNCTION static float widen(Bits stored) {
    KOKKOS_IF_ON_DEVICE(
        (if constexpr (exponent_bits < 8 && !std::is_void_v<Device>) return static_cast<float>(
             Kokkos::bit_cast<Device>(stored));
         else return widen_bits(stored);))
    KOKKOS_IF_ON_HOST((return widen_bits(stored);))
  }

  KOKKOS_FUNCTION static Bits narrow(float value) {
    KOKKOS_IF_ON_DEVICE((if constexpr (!std::is_void_v<Device>) {
      auto const bits = Kokkos::bit_cast<Bits>(static_cast<Device>(value));
      std::uint32_t const nan = (to_bits(value) >> 31 << total_bits) | nan_bits;
      return value == value ? bits : static_cast<Bits>(nan);
    } else return narrow_bits(value);))
    KOKKOS_IF_ON_HOST((return narrow_bits(value);))
  }

  // Exact: the mantissa is moved to a float's position, and an exact multiplication rebases the
  // exponent. This turns a small format's subnormals into normal floats.
  KOKKOS_FUNCTION static float widen_bits(Bits stored) {
    std::uint32_t const bits = stored, magnitude = bits & (sign_bit - 1);
    std::uint32_t const sign = (bits & sign_bit) << (31 - total_bits);
    if constexpr (exponent_bits == 8) return to_float(bits << (23 - mantissa_bits));
    bool const special = ieee   ? magnitude >= exponent_mask
                         : fnuz ? bits == nan_bits
                                : magnitude == nan_bits;
    float const rebase = to_float(static_cast<std::uint32_t>(127 + 127 - Format::bias) << 23);
    float const scaled = to_float(magnitude << (23 - mantissa_bits)) * rebase;
    std::uint32_t const special_bits =
        select(ieee && magnitude == exponent_mask, 0x7f800000u, 0x7fc00000u);
    return to_float(select(special, special_bits, to_bits(scaled)) | (fnuz && special ? 0 : sign));
  }

  KOKKOS_FUNCTION static Bits narrow_bits(float value) {
    std::uint32_t const bits = to_bits(value), magnitude = bits & 0x7fffffffu;
    std::uint32_t const sign = (bits >> 31) << total_bits;
    constexpr int shift = 23 - mantissa_bits;
    constexpr std::uint32_t smallest_normal = static_cast<std::uint32_t>(128 - Format::bias) << 23;
    constexpr std::uint32_t rebase = static_cast<std::uint32_t>(127 - Format::bias) << 23;
    std::uint32_t const half = (1u << (shift - 1)) - 1 + ((magnitude >> shift) & 1u);
    std::uint32_t rounded = (magnitude + half - rebase) >> shift;
    if constexpr (exponent_bits < 8) {
      // The unit of `aligner`'s last place is the format's smallest subnormal: the sum rounds
      // there.
      constexpr std::uint32_t aligner = static_cast<std::uint32_t>(128 - Format::bias + shift)
                                        << 23;
      std::uint32_t const subnormal = to_bits(to_float(magnitude) + to_float(aligner)) - aligner;
      rounded = select(magnitude < smallest_normal, subnormal, rounded);
    }
    rounded = select(rounded > max_bits, ieee ? exponent_mask : nan_bits, rounded);
    rounded = select(magnitude > 0x7f800000u, nan_bits, rounded);
    bool const unsigned_result = fnuz && (rounded == 0 || rounded == nan_bits);
    return static_cast<Bits>(rounded | (unsigned_result ? 0 : sign));
  }

  // Rounds a double to float so that inexact results are odd. A float has at least two bits more
  // than the small format. So rounding the result again equals one rounding of the double (Boldo &
  // Melquiond, 2008).
  KOKKOS_FUNCTION static float round_to_odd(double value) {
    float const nearest = static_cast<float>(value);
    double const back = nearest;
    auto const inexact = static_cast<std::uint32_t>(back != value) & (value == value);
    auto const away = static_cast<std::uint32_t>(Kokkos::abs(back) > Kokkos::abs(value));
    return to_float((to_bits(nearest) - (inexact & away)) | inexact);
  }

  Bits bits_;
};

/// IEEE binary64.
using fp64 = double;
/// IEEE binary32.
using fp32 = float;
/// IEEE binary16.
using fp16 = SmallFloat<Format<5, 10, 15, Specials::Ieee>>;
using bf16 = SmallFloat<Format<8, 7, 127, Specials::Ieee>>;  ///< bfloat16.
/// FP8 of OCP, 4 bits of exponent, without infinities.
using fp8_e4m3 = SmallFloat<Format<4, 3, 7, Specials::Finite>>;
/// FP8 of OCP, 5 bits of exponent.
using fp8_e5m2 = SmallFloat<Format<5, 2, 15, Specials::Ieee>>;
/// FP8 of AMD's MI300, 4 bits of exponent.
using fp8_e4m3fnuz = SmallFloat<Format<4, 3, 8, Specials::Fnuz>>;
/// FP8 of AMD's MI300, 5 bits of exponent.
using fp8_e5m2fnuz = SmallFloat<Format<5, 2, 16, Specials::Fnuz>>;

}  // namespace strata

#endif
