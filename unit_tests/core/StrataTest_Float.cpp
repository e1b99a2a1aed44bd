// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include <core/Strata_Float.hpp>
#include <core/Strata_Precision.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace strata;

// The slow reference: the value of a pattern from the definition of the format.
template <class T>
double value_of(unsigned bits) {
  using F = typename T::Format;
  int const total = F::exponent_bits + F::mantissa_bits;
  bool const negative = (bits >> total) & 1u;
  int const exponent = static_cast<int>(bits >> F::mantissa_bits) & ((1 << F::exponent_bits) - 1);
  int const mantissa = static_cast<int>(bits) & ((1 << F::mantissa_bits) - 1);
  double const nan = std::numeric_limits<double>::quiet_NaN();
  bool const top = exponent == (1 << F::exponent_bits) - 1;
  if (F::specials == Specials::Ieee && top)
    return mantissa ? nan : (negative ? -INFINITY : INFINITY);
  if (F::specials == Specials::Finite && top && mantissa == (1 << F::mantissa_bits) - 1) return nan;
  if (F::specials == Specials::Fnuz && negative && exponent == 0 && mantissa == 0) return nan;
  double const magnitude = exponent == 0 ? std::ldexp(mantissa, 1 - F::bias - F::mantissa_bits)
                                         : std::ldexp((1 << F::mantissa_bits) + mantissa,
                                                      exponent - F::bias - F::mantissa_bits);
  return negative ? -magnitude : magnitude;
}

template <class T>
constexpr unsigned patterns = 1u << (8 * sizeof(T));

template <class T>
T from_pattern(unsigned bits) {
  return T::from_bits(static_cast<typename T::Bits>(bits));
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

template <class T>
class SmallFloatFormat : public testing::Test {};
using Formats = testing::Types<fp16, bf16, fp8_e4m3, fp8_e5m2, fp8_e4m3fnuz, fp8_e5m2fnuz>;
struct FormatNames {
  template <class T>
  static std::string GetName(int) {
    return std::string(traits(precision_of<T>).name);
  }
};
TYPED_TEST_SUITE(SmallFloatFormat, Formats, FormatNames);

TYPED_TEST(SmallFloatFormat, WidensEveryPatternExactly) {
  for (unsigned bits = 0; bits < patterns<TypeParam>; ++bits) {
    ASSERT_TRUE(same(static_cast<double>(from_pattern<TypeParam>(bits)), value_of<TypeParam>(bits)))
        << bits;
    ASSERT_TRUE(same(static_cast<float>(from_pattern<TypeParam>(bits)), value_of<TypeParam>(bits)))
        << bits;
  }
}

TYPED_TEST(SmallFloatFormat, NarrowsEveryPatternBackToItself) {
  for (unsigned bits = 0; bits < patterns<TypeParam>; ++bits) {
    double const value = value_of<TypeParam>(bits);
    if (std::isnan(value)) continue;
    ASSERT_EQ(TypeParam(value).bits(), bits);
    ASSERT_EQ(TypeParam(static_cast<float>(value)).bits(), bits);
  }
}

// Between neighbours: just below, at and just above the midpoint, in double and in float.
TYPED_TEST(SmallFloatFormat, RoundsToNearestTiesToEven) {
  double const largest = traits(precision_of<TypeParam>).max_finite;
  for (unsigned bits = 0; value_of<TypeParam>(bits) < largest; ++bits) {
    double const low = value_of<TypeParam>(bits), high = value_of<TypeParam>(bits + 1);
    double const middle = low + (high - low) / 2;
    for (double const sign : {1.0, -1.0}) {
      auto const rounds_to = [&](double value, unsigned expected) {
        bool const zero =
            sign < 0 && TypeParam::Format::specials == Specials::Fnuz && expected == 0;
        unsigned const wanted = zero || sign > 0 ? expected : expected + patterns<TypeParam> / 2;
        EXPECT_EQ(TypeParam(sign * value).bits(), wanted) << value;
        if (static_cast<double>(static_cast<float>(value)) == value) {
          EXPECT_EQ(TypeParam(static_cast<float>(sign * value)).bits(), wanted) << value;
        }
      };
      rounds_to(middle, bits % 2 == 0 ? bits : bits + 1);
      rounds_to(std::nextafter(middle, 0), bits);
      rounds_to(std::nextafter(middle, INFINITY), bits + 1);
    }
    if (testing::Test::HasFailure()) FAIL() << "at pattern " << bits;
  }
}

TYPED_TEST(SmallFloatFormat, OverflowsWithoutSaturating) {
  double const largest = traits(precision_of<TypeParam>).max_finite;
  auto const ulp =
      largest * 2 * traits(precision_of<TypeParam>).unit_roundoff;  // within a factor of two
  EXPECT_EQ(static_cast<double>(TypeParam(largest)), largest);
  for (double const value : {largest + ulp, 1e300, static_cast<double>(INFINITY)}) {
    double const result = static_cast<double>(TypeParam(value));
    double const negative = static_cast<double>(TypeParam(-value));
    if (TypeParam::Format::specials == Specials::Ieee) {
      EXPECT_EQ(result, INFINITY);
      EXPECT_EQ(negative, -INFINITY);
    } else {
      EXPECT_TRUE(std::isnan(result));
      EXPECT_TRUE(std::isnan(negative));
    }
    EXPECT_TRUE(std::isnan(static_cast<double>(TypeParam(std::nan("")))));
    EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(std::nanf("")))));
  }
}

TYPED_TEST(SmallFloatFormat, TraitsAreThoseOfTheFormat) {
  using F = typename TypeParam::Format;
  PrecisionTraits const t = traits(precision_of<TypeParam>);
  double largest = 0, normal = INFINITY;
  for (unsigned bits = 0; bits < patterns<TypeParam> / 2; ++bits) {
    double const value = value_of<TypeParam>(bits);
    if (std::isfinite(value)) largest = std::max(largest, value);
    if ((bits >> F::mantissa_bits) > 0 && value > 0) normal = std::min(normal, value);
  }
  EXPECT_EQ(t.max_finite, largest);
  EXPECT_EQ(t.min_normal, normal);
  EXPECT_EQ(t.unit_roundoff, std::ldexp(1.0, -F::mantissa_bits - 1));
  EXPECT_EQ(t.bytes, sizeof(TypeParam));
}

TEST(SmallFloat, RoundsADoubleOnceNotThroughFloat) {
  // 1 + 2^-11 + 2^-40: the float nearest to it is the fp16 midpoint, a tie that would go down.
  EXPECT_EQ(static_cast<double>(fp16(1 + 0x1p-11 + 0x1p-40)), 1 + 0x1p-10);
  EXPECT_EQ(static_cast<double>(fp16(static_cast<float>(1 + 0x1p-11 + 0x1p-40))), 1);
  EXPECT_EQ(static_cast<double>(bf16(0x1p-134 + 0x1p-180)), 0x1p-133);  // above half a subnormal
  EXPECT_EQ(static_cast<double>(bf16(0x1p-134)), 0);
}

// The device gives the host's bits for every pattern and for hard doubles.
template <class Space, class T>
void compare_with_device() {
  std::vector<double> values;
  for (unsigned bits = 0; bits < patterns<T>; ++bits) values.push_back(value_of<T>(bits));
  for (std::size_t i = 0, end = values.size(); i < end; ++i)
    for (double const factor : {1 + 0x1p-12, 1 + 0x1p-9, 1 - 0x1p-53, 1.0625, 0.97, 1e-5, 1e5})
      values.push_back(values[i] * factor);
  Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const host(
      values.data(), values.size());
  Space const exec;
  Kokkos::View<double*, Space> const input("strata::test::input", values.size());
  Kokkos::View<T*, Space> const narrow("strata::test::narrow", values.size());
  Kokkos::View<T*, Space> const narrow_float("strata::test::narrow_float", values.size());
  Kokkos::View<double*, Space> const wide("strata::test::wide", values.size());
  Kokkos::deep_copy(exec, input, host);
  Kokkos::parallel_for(
      "strata::test::float", Kokkos::RangePolicy<Space>(exec, 0, values.size()),
      KOKKOS_LAMBDA(std::size_t i) {
        narrow(i) = T(input(i));
        narrow_float(i) = T(static_cast<float>(input(i)));
        wide(i) = static_cast<double>(narrow(i));
      });
  auto const narrow_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), narrow);
  auto const narrow_float_host =
      Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), narrow_float);
  auto const wide_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), wide);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_TRUE(same(static_cast<double>(narrow_host(i)), static_cast<double>(T(values[i]))))
        << values[i];
    ASSERT_TRUE(same(static_cast<double>(narrow_float_host(i)),
                     static_cast<double>(T(static_cast<float>(values[i])))))
        << values[i];
    ASSERT_TRUE(same(wide_host(i), static_cast<double>(narrow_host(i)))) << values[i];
  }
}

template <class Space>
class FloatOnDevice : public testing::Test {};
TYPED_TEST_SUITE(FloatOnDevice, strata::test::Spaces, strata::test::SpaceNames);

TYPED_TEST(FloatOnDevice, ConvertsAsOnTheHost) {
  compare_with_device<TypeParam, fp16>();
  compare_with_device<TypeParam, bf16>();
  compare_with_device<TypeParam, fp8_e4m3>();
  compare_with_device<TypeParam, fp8_e5m2>();
  compare_with_device<TypeParam, fp8_e4m3fnuz>();
  compare_with_device<TypeParam, fp8_e5m2fnuz>();
}

TEST(Precision, NamesAreReadBack) {
  for (Precision const precision : all_precisions)
    EXPECT_EQ(from_name<Precision>(traits(precision).name), precision);
}

TEST(Precision, UnknownNameListsTheValidOnes) {
  try {
    (void)from_name<Precision>("half");
    FAIL();
  } catch (ValueError const& error) {
    EXPECT_STREQ(
        error.what(),
        "no precision 'half'; there are fp64, fp32, fp16, bf16, fp8_e4m3, fp8_e5m2, fp8_e4m3fnuz, "
        "fp8_e5m2fnuz, tf32, fp16_split, int8x6, int8x7, int8x8, int8x9, int8x10, int8x11, "
        "int8x12, "
        "int8x13, int8x14, int8x15, int8x16");
  }
}

}  // namespace
