// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PRECISION_HPP
#define STRATA_PRECISION_HPP

#include <core/Strata_EnumNames.hpp>
#include <core/Strata_Errors.hpp>
#include <core/Strata_Float.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

namespace strata {

/// The storage types, and the formats that fp32 and fp64 numbers are multiplied in, as a run-time
/// tag. Files know them by number; `unit_roundoff` compares precisions.
enum class Precision : std::uint8_t {
  fp64,          ///< IEEE binary64
  fp32,          ///< IEEE binary32
  fp16,          ///< IEEE binary16
  bf16,          ///< bfloat16
  fp8_e4m3,      ///< OCP's, 4 bits of exponent
  fp8_e5m2,      ///< OCP's, 5 bits of exponent
  fp8_e4m3fnuz,  ///< AMD MI300's, 4 bits of exponent
  fp8_e5m2fnuz,  ///< AMD MI300's, 5 bits of exponent
  tf32,          ///< stored as fp32; products round it to 11 bits, with fp32's range
  fp16_split,    ///< stored as fp32; products take it as the sum of two fp16 numbers, 22 bits
  int8x6,        ///< stored as fp64; products are made of integers modulo 6 numbers, 23 bits
  int8x7,        ///< modulo 7: 27 bits
  int8x8,        ///< modulo 8: 31 bits
  int8x9,        ///< modulo 9: 35 bits
  int8x10,       ///< modulo 10: 39 bits
  int8x11,       ///< modulo 11: 43 bits
  int8x12,       ///< modulo 12: 47 bits
  int8x13,       ///< modulo 13: 51 bits
  int8x14,       ///< modulo 14: fp64's 53 bits; also called fp64_int8
  int8x15,       ///< modulo 15: as 14, of rows whose numbers differ more in size
  int8x16,       ///< modulo 16: the same
};

/// The fewest and the most numbers that products of integers are made modulo of.
inline constexpr int least_moduli = 6, most_moduli = 16;

/// How many numbers the products of a precision are made modulo of; 0 for all but int8x6 to
/// int8x16.
KOKKOS_FORCEINLINE_FUNCTION constexpr int moduli_of(Precision precision) {
  int const above = static_cast<int>(precision) - static_cast<int>(Precision::int8x6);
  return above < 0 ? 0 : above + least_moduli;
}

/// The precision of products modulo so many numbers, 6 to 16.
constexpr Precision integer_precision(int moduli) {
  return static_cast<Precision>(static_cast<int>(Precision::int8x6) + moduli - least_moduli);
}

/// What a kernel or a scale needs to know of a precision.
struct PrecisionTraits {
  std::string_view name;  ///< name as users write it: "fp64", "fp8_e4m3", ...
  std::size_t bytes;      ///< bytes of one number
  /// largest relative error of rounding to nearest; for tf32 and fp16_split as an operand of a
  /// product. For int8x6 to int8x16 a row's rounding unit relative to the row's norm, but never
  /// less than fp64's
  double unit_roundoff;
  double max_finite;  ///< largest finite number
  double min_normal;  ///< smallest positive normal number
};

namespace detail {
/// 2^-b with b = (log2 P - 1) / 2 - 0.09, of the product P of so many moduli (`IntegerBlas`).
constexpr PrecisionTraits integer_traits(Precision precision) {
  constexpr std::string_view names[] = {"int8x6",  "int8x7",  "int8x8",  "int8x9",
                                        "int8x10", "int8x11", "int8x12", "int8x13",
                                        "int8x14", "int8x15", "int8x16"};
  constexpr double units[] = {9.6e-8,  6.2e-9,  4.1e-10, 2.7e-11, 1.8e-12, 1.2e-13,
                              8.1e-15, 5.6e-16, 0x1p-53, 0x1p-53, 0x1p-53};
  auto const at = static_cast<std::size_t>(moduli_of(precision) - least_moduli);
  return {names[at], 8, units[at], 0x1.fffffffffffffp1023, 0x1p-1022};
}
}  // namespace detail

/// Traits of `precision`.
constexpr PrecisionTraits traits(Precision precision) {
  switch (precision) {
    case Precision::fp64:
      return {"fp64", 8, 0x1p-53, 0x1.fffffffffffffp1023, 0x1p-1022};
    case Precision::fp32:
      return {"fp32", 4, 0x1p-24, 0x1.fffffep127, 0x1p-126};
    case Precision::fp16:
      return {"fp16", 2, 0x1p-11, 65504, 0x1p-14};
    case Precision::bf16:
      return {"bf16", 2, 0x1p-8, 0x1.fep127, 0x1p-126};
    case Precision::fp8_e4m3:
      return {"fp8_e4m3", 1, 0x1p-4, 448, 0x1p-6};
    case Precision::fp8_e5m2:
      return {"fp8_e5m2", 1, 0x1p-3, 57344, 0x1p-14};
    case Precision::fp8_e4m3fnuz:
      return {"fp8_e4m3fnuz", 1, 0x1p-4, 240, 0x1p-7};
    case Precision::fp8_e5m2fnuz:
      return {"fp8_e5m2fnuz", 1, 0x1p-3, 57344, 0x1p-15};
    case Precision::tf32:
      return {"tf32", 4, 0x1p-11, 0x1.fffffep127, 0x1p-126};
    case Precision::fp16_split:
      return {"fp16_split", 4, 0x1p-22, 0x1.fffffep127, 0x1p-126};
    default:
      return detail::integer_traits(precision);
  }
}

/// All of them, for tests and tables.
inline constexpr Precision all_precisions[] = {
    Precision::fp64,     Precision::fp32,       Precision::fp16,         Precision::bf16,
    Precision::fp8_e4m3, Precision::fp8_e5m2,   Precision::fp8_e4m3fnuz, Precision::fp8_e5m2fnuz,
    Precision::tf32,     Precision::fp16_split, Precision::int8x6,       Precision::int8x7,
    Precision::int8x8,   Precision::int8x9,     Precision::int8x10,      Precision::int8x11,
    Precision::int8x12,  Precision::int8x13,    Precision::int8x14,      Precision::int8x15,
    Precision::int8x16};

/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(Precision) {
  EnumNames<Precision, std::size(all_precisions)> table{"precision", {}, {}};
  for (std::size_t i = 0; i < table.values.size(); ++i) {
    table.values[i] = all_precisions[i];
    table.names[i] = traits(all_precisions[i]).name;
  }
  return table;
}

/// Names that `from_name` knows beside the table's.
constexpr auto aliases_of(Precision) {
  return enum_names<Precision>("precision", {{Precision::int8x14, "fp64_int8"}});
}

/// The storage type of numbers in `precision`.
KOKKOS_FORCEINLINE_FUNCTION constexpr Precision storage(Precision precision) {
  if (moduli_of(precision) > 0) return Precision::fp64;
  bool const is_format = precision == Precision::tf32 || precision == Precision::fp16_split;
  return is_format ? Precision::fp32 : precision;
}

/// Whether products alone know it (tf32, fp16_split, int8x6 to int8x16): all else takes the numbers
/// as they are stored.
constexpr bool is_product_format(Precision precision) { return storage(precision) != precision; }

namespace detail {
template <class T>
struct PrecisionOf;
template <>
struct PrecisionOf<fp64> {
  static constexpr Precision value = Precision::fp64;
};
template <>
struct PrecisionOf<fp32> {
  static constexpr Precision value = Precision::fp32;
};
template <>
struct PrecisionOf<fp16> {
  static constexpr Precision value = Precision::fp16;
};
template <>
struct PrecisionOf<bf16> {
  static constexpr Precision value = Precision::bf16;
};
template <>
struct PrecisionOf<fp8_e4m3> {
  static constexpr Precision value = Precision::fp8_e4m3;
};
template <>
struct PrecisionOf<fp8_e5m2> {
  static constexpr Precision value = Precision::fp8_e5m2;
};
template <>
struct PrecisionOf<fp8_e4m3fnuz> {
  static constexpr Precision value = Precision::fp8_e4m3fnuz;
};
template <>
struct PrecisionOf<fp8_e5m2fnuz> {
  static constexpr Precision value = Precision::fp8_e5m2fnuz;
};
}  // namespace detail

/// The tag of a storage type: `precision_of<float> == Precision::fp32`.
template <class T>
inline constexpr Precision precision_of = detail::PrecisionOf<std::remove_cv_t<T>>::value;

/// True for numbers stored in a type that arithmetic is done in (fp32, fp64); the others are
/// storage and GEMM operands.
constexpr bool is_arithmetic(Precision precision) {
  return storage(precision) == Precision::fp64 || storage(precision) == Precision::fp32;
}

/// Call `f(std::type_identity<T>{})` with the type T that numbers of a run-time `precision` are
/// stored in.
template <class Function>
decltype(auto) with_type(Precision precision, Function&& f) {
  switch (precision) {
    case Precision::fp64:
      return f(std::type_identity<fp64>{});
    case Precision::fp32:
    case Precision::tf32:
    case Precision::fp16_split:
      return f(std::type_identity<fp32>{});
    case Precision::fp16:
      return f(std::type_identity<fp16>{});
    case Precision::bf16:
      return f(std::type_identity<bf16>{});
    case Precision::fp8_e4m3:
      return f(std::type_identity<fp8_e4m3>{});
    case Precision::fp8_e5m2:
      return f(std::type_identity<fp8_e5m2>{});
    case Precision::fp8_e4m3fnuz:
      return f(std::type_identity<fp8_e4m3fnuz>{});
    case Precision::fp8_e5m2fnuz:
      return f(std::type_identity<fp8_e5m2fnuz>{});
    default:  // products of integers
      return f(std::type_identity<fp64>{});
  }
}

/// The same for the two arithmetic types.
///
/// Throws   ValueError for a storage-only type.
template <class Function>
decltype(auto) with_arithmetic_type(Precision precision, Function&& f) {
  STRATA_REQUIRE(ValueError, is_arithmetic(precision), traits(precision).name,
                 " is a storage type; arithmetic is done in fp32 or fp64");
  if (storage(precision) == Precision::fp64) return f(std::type_identity<fp64>{});
  return f(std::type_identity<fp32>{});
}

}  // namespace strata

#endif
