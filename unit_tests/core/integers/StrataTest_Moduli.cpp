// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The constants of products of integers, by integers of 128 bits.
#include <core/integers/detail/Strata_Moduli.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace strata::test {
namespace {

__extension__ typedef __int128 WideInteger;
using strata::detail::moduli;

int modulus_number(int s) { return moduli[static_cast<std::size_t>(s)]; }

WideInteger product_of_moduli(int count) {
  WideInteger product = 1;
  for (int s = 0; s < count; ++s) product *= modulus_number(s);
  return product;
}

WideInteger whole(double const (&parts)[3]) {
  return static_cast<WideInteger>(parts[0]) + static_cast<WideInteger>(parts[1]) +
         static_cast<WideInteger>(parts[2]);
}

WideInteger floored_remainder(WideInteger x, WideInteger p) { return (x % p + p) % p; }

TEST(Moduli, WeightsAreThoseOfTheChineseRemainderTheorem) {
  for (int count = least_moduli; count <= most_moduli; ++count) {
    strata::detail::Moduli const& m = strata::detail::moduli_table(count);
    WideInteger const product = product_of_moduli(count);
    EXPECT_TRUE(whole(m.product) == product) << count;
    for (int s = 0; s < count; ++s) {
      WideInteger const weight = whole(m.of[s].weights);
      EXPECT_TRUE(2 * weight <= product && 2 * weight >= -product) << count << ", " << s;
      for (int other = 0; other < count; ++other)
        EXPECT_TRUE(floored_remainder(weight, modulus_number(other)) == (other == s ? 1 : 0))
            << count << ", " << s;
      EXPECT_LE(std::abs(m.of[s].weights[0]), 0x1p41);
      EXPECT_LE(std::abs(m.of[s].weights[1]), 0x1p83);
    }
  }
}

// A format's roundoff is the largest part of a row's norm that its unit can be, or fp64's if that
// is larger.
TEST(Moduli, RoundoffIsTheLargestUnitOfARow) {
  for (int count = least_moduli; count <= most_moduli; ++count) {
    double const theta =
        17.0 / 16 / strata::detail::largest_norm(strata::detail::moduli_table(count));
    double const roundoff = traits(integer_precision(count)).unit_roundoff;
    EXPECT_GE(roundoff, 0.98 * theta) << count;
    EXPECT_LE(roundoff, std::max(1.05 * theta, 0x1p-53)) << count;
  }
}

}  // namespace
}  // namespace strata::test
