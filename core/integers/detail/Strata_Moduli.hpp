// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_MODULI_HPP
#define STRATA_DETAIL_MODULI_HPP

#include <core/Strata_Precision.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace strata::detail {

/// What integers are taken modulo of; the first S of them for S moduli.
inline constexpr std::array<int, most_moduli> moduli = {256, 255, 253, 251, 247, 241, 239, 233,
                                                        229, 227, 223, 217, 211, 199, 197, 193};

constexpr bool are_pairwise_coprime() {
  for (std::size_t i = 0; i < moduli.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (std::gcd(moduli[i], moduli[j]) != 1) return false;
  return true;
}
static_assert(are_pairwise_coprime(), "the Chinese remainder theorem asks for it");

/// A number of 0 to 2^126 - 1, as six digits of 21 bits.
class WideNumber {
 public:
  constexpr explicit WideNumber(std::int64_t x) : digits_{x} {}

  constexpr WideNumber times(std::int64_t factor) const {
    WideNumber result(0);
    std::int64_t carry = 0;
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      carry += digits_[i] * factor;
      result.digits_[i] = carry & mask;
      carry >>= bits;
    }
    return result;
  }
  constexpr WideNumber over(std::int64_t divisor) const {
    WideNumber result(0);
    std::int64_t rest = 0;
    for (std::size_t i = digits_.size(); i-- > 0;) {
      rest = (rest << bits) + digits_[i];
      result.digits_[i] = rest / divisor;
      rest %= divisor;
    }
    return result;
  }
  constexpr std::int64_t modulo(std::int64_t divisor) const {
    return minus(over(divisor).times(divisor)).digits_[0];
  }
  constexpr WideNumber minus(WideNumber const& other) const {
    WideNumber result(0);
    std::int64_t carry = 0;
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      carry += digits_[i] - other.digits_[i];
      result.digits_[i] = carry & mask;
      carry >>= bits;
    }
    return result;
  }
  constexpr bool is_less(WideNumber const& other) const {
    for (std::size_t i = digits_.size(); i-- > 0;)
      if (digits_[i] != other.digits_[i]) return digits_[i] < other.digits_[i];
    return false;
  }
  /// The number as a sum of three, multiples of 1, 2^42 and 2^84, all but the last at most 2^41 of
  /// these in magnitude.
  constexpr std::array<double, 3> parts() const {
    std::array<double, 3> result{};
    std::int64_t carry = 0;
    double unit = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      std::int64_t part = digits_[2 * i] + (digits_[2 * i + 1] << bits) + carry;
      carry = i < 2 && part > half_part ? 1 : 0;
      part -= carry * 2 * half_part;
      result[i] = static_cast<double>(part) * unit;
      unit *= 0x1p42;
    }
    return result;
  }

 private:
  static constexpr int bits = 21;
  static constexpr std::int64_t mask = (std::int64_t{1} << bits) - 1;
  static constexpr std::int64_t half_part = std::int64_t{1} << 41;
  std::array<std::int64_t, 6> digits_;
};

/// One modulus p, for kernels that take integers modulo p and back. Remainders are -h to p - 1 - h
/// with h = p / 2 rounded down.
struct Modulus {
  std::int32_t p, h;
  /// 2^32 / p rounded up: its product with t < 2^24 has t / p rounded down as its upper 32 bits
  std::uint32_t reciprocal;
  std::uint32_t low, high;  ///< 256^j modulo p, in bytes with signs, j = 0 to 3 and 4 to 7
  /// makes a sum of bytes times these positive, and its remainder that of the number plus h
  std::int32_t offset;
  std::int32_t fold;         ///< 2^16 modulo p, at most p / 2 in magnitude
  std::int32_t fold_offset;  ///< a multiple of p, plus h, above 2^15 |fold|
  /// parts of the number that is 1 modulo p and 0 modulo the others, between -P / 2 and P / 2
  double weights[3];
};

/// The first S moduli and their product P.
struct Moduli {
  int count = 0;
  double product[3] = {};  ///< parts of P
  double reciprocal = 0;   ///< 1 / P
  double half = 0;         ///< P / 2
  Modulus of[most_moduli] = {};
};

constexpr std::int64_t symmetric(std::int64_t x, std::int64_t p) {
  std::int64_t const r = (x % p + p) % p;
  return r > p / 2 ? r - p : r;
}

/// Number j of the constants of one modulus: sum over the bytes b_j of z + 2^63, of b_j 256^j
/// modulo p, with b_j - 128 for b_j.
constexpr Modulus modulus(std::int64_t p, WideNumber const& product) {
  Modulus m{};
  m.p = static_cast<std::int32_t>(p);
  m.h = static_cast<std::int32_t>(p / 2);
  m.reciprocal = static_cast<std::uint32_t>(((std::int64_t{1} << 32) + p - 1) / p);
  std::int64_t power = 1, rest = m.h;
  for (int j = 0; j < 8; ++j) {
    std::int64_t const byte = symmetric(power, p);
    (j < 4 ? m.low : m.high) |= (static_cast<std::uint32_t>(byte) & 0xffu) << (8 * (j % 4));
    rest += 128 * power;              // that b_j - 128 lacks
    if (j == 7) rest -= 128 * power;  // 2^63
    power = power * 256 % p;
  }
  std::int64_t const least = std::int64_t{1} << 18, least_fold = std::int64_t{1} << 23;
  m.offset = static_cast<std::int32_t>(least + ((rest - least) % p + p) % p);
  m.fold = static_cast<std::int32_t>(symmetric(65536, p));
  m.fold_offset = static_cast<std::int32_t>(least_fold + ((m.h - least_fold) % p + p) % p);

  WideNumber const others = product.over(p);
  std::int64_t inverse = 1;
  while (others.modulo(p) * inverse % p != 1) ++inverse;
  WideNumber const weight = others.times(inverse), negative = product.minus(weight);
  bool const is_negative = negative.is_less(weight);
  auto const parts = (is_negative ? negative : weight).parts();
  for (std::size_t i = 0; i < 3; ++i) m.weights[i] = is_negative ? -parts[i] : parts[i];
  return m;
}

constexpr Moduli first_moduli(int count) {
  Moduli result;
  result.count = count;
  WideNumber product(1);
  for (int s = 0; s < count; ++s) product = product.times(moduli[static_cast<std::size_t>(s)]);
  auto const parts = product.parts();
  for (std::size_t i = 0; i < 3; ++i) result.product[i] = parts[i];
  double const rounded = parts[2] + (parts[1] + parts[0]);
  result.reciprocal = 1 / rounded;
  result.half = rounded / 2;
  for (int s = 0; s < count; ++s)
    result.of[s] = modulus(moduli[static_cast<std::size_t>(s)], product);
  return result;
}

/// The same, made once.
inline Moduli const& moduli_table(int count) {
  static auto const tables = [] {
    std::array<Moduli, most_moduli + 1> made{};
    for (int s = least_moduli; s <= most_moduli; ++s)
      made[static_cast<std::size_t>(s)] = first_moduli(s);
    return made;
  }();
  return tables[static_cast<std::size_t>(count)];
}

/// How large a row's norm may be in its rounding units, so that sums of products of two such rows
/// keep off P / 2 by a part of 2^-10 (`IntegerBlas`).
inline double largest_norm(Moduli const& m) { return std::sqrt(m.half) * (1 - 0x1p-9); }

/// The same of the sum of squares of the integers that a row is rounded to.
inline double largest_squares(Moduli const& m) { return m.half * (1 - 0x1p-10); }

/// The remainder of t, 0 <= t < 2^24, less h.
KOKKOS_FORCEINLINE_FUNCTION std::int32_t remainder(std::uint32_t t, Modulus const& m) {
  auto const quotient =
      static_cast<std::uint32_t>((static_cast<std::uint64_t>(t) * m.reciprocal) >> 32);
  return static_cast<std::int32_t>(t - quotient * static_cast<std::uint32_t>(m.p)) - m.h;
}

/// The remainder of any sum.
KOKKOS_FORCEINLINE_FUNCTION std::int32_t remainder_of_sum(std::int32_t sum, Modulus const& m) {
  std::int32_t const t = (sum >> 16) * m.fold + (sum & 0xffff) + m.fold_offset;
  return remainder(static_cast<std::uint32_t>(t), m);
}

/// An unevaluated sum of two numbers.
struct TwoNumbers {
  double high, low;
};

/// a + b without rounding.
KOKKOS_FORCEINLINE_FUNCTION TwoNumbers two_sum(double a, double b) {
  double const sum = a + b, of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

/// The integer X, |X| < P / 2, whose remainder modulo number s is remainder(s).
///
/// Sums of weights in three parts, and what of them is a multiple of P, are integers below 2^53 in
/// the part's unit. No sum or product is rounded, so that fused and separate operations give the
/// same bits. Only the last part's rest below 2^-106 is rounded.
template <class Remainder>
KOKKOS_FORCEINLINE_FUNCTION TwoNumbers chinese_remainder(Moduli const& m,
                                                         Remainder const& remainder) {
  double t0 = 0, t1 = 0, t2 = 0;
  for (int s = 0; s < m.count; ++s) {
    auto const r = static_cast<double>(remainder(s));
    t0 += r * m.of[s].weights[0];
    t1 += r * m.of[s].weights[1];
    t2 += r * m.of[s].weights[2];
  }
  double const q = Kokkos::nearbyint(((t2 + t1) + t0) * m.reciprocal);
  t0 -= q * m.product[0];
  t1 -= q * m.product[1];
  t2 -= q * m.product[2];
  TwoNumbers const upper = two_sum(t2, t1), lower = two_sum(upper.low, t0);
  TwoNumbers const all = two_sum(upper.high, lower.high);
  return two_sum(all.high, all.low + lower.low);
}

}  // namespace strata::detail

#endif
