// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The parts of products of integers against integers of 128 bits.
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Reference.hpp"
#include "StrataTest_Spaces.hpp"
#include "StrataTest_StoredMatrix.hpp"
#include <core/integers/Strata_IntegerBlas.hpp>
#include <core/integers/detail/Strata_IntegerProbe.hpp>
#include <core/integers/detail/Strata_Moduli.hpp>
#include <core/integers/detail/Strata_ResidueKernels.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace strata::test {
namespace {

__extension__ typedef __int128 Int128;
using strata::detail::moduli;

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double most_integer = 0x1.fffffffffffffp62;  // 2^63 - 1024

int modulus_of(int s) { return moduli[static_cast<std::size_t>(s)]; }

Int128 product_of(int count) {
  Int128 product = 1;
  for (int s = 0; s < count; ++s) product *= modulus_of(s);
  return product;
}

Int128 modulo(Int128 x, Int128 p) { return (x % p + p) % p; }

/// Bytes or sums in a space's memory, with a copy on the host.
template <class Space, class T>
struct Numbers {
  using Device = Kokkos::View<T*, typename Space::memory_space>;
  explicit Numbers(std::int64_t count, T value = T())
      : device("strata::test::numbers", static_cast<std::size_t>(count)),
        host(Kokkos::create_mirror(device)) {
    Kokkos::deep_copy(host, value);
    to_device();
  }
  void to_device() {
    Kokkos::deep_copy(Space(), device, host);
    Space().fence("strata::test::numbers");
  }
  void to_host() {
    Kokkos::deep_copy(Space(), host, device);
    Space().fence("strata::test::numbers");
  }
  T& operator[](std::int64_t i) { return host(static_cast<std::size_t>(i)); }
  Device device;
  typename Device::host_mirror_type host;
};

double integer_at(std::int64_t i, std::int64_t k) {
  constexpr double special[] = {0,       1,          -1,           0.5,          -0.5,
                                1.5,     2.5,        127,          128,          -128,
                                -129,    255,        0x1p31,       0x1p31 - 1,   -0x1p31,
                                0x1p52,  0x1p52 + 1, -0x1p53 - 2,  0x1p62,       0x1p62 - 512,
                                -0x1p62, 4097.25,    most_integer, -most_integer};
  std::int64_t const at = i * 31 + k;
  if (at < 24) return special[at];
  std::mt19937_64 engine(static_cast<std::uint64_t>(at));
  return static_cast<double>(static_cast<std::int64_t>(engine()) >> (engine() % 63));
}

// The remainder in -(p - 1) / 2 to p / 2, or for 256 from -128 on.
bool is_remainder(std::int8_t found, Int128 z, int p) {
  return modulo(static_cast<Int128>(found) - z, p) == 0 && 2 * found <= p - 1 && 2 * found >= -p;
}

template <class Space>
void check_residues(Op op, std::int64_t rows, std::int64_t depth, int count) {
  auto const A = reference::generate(rows, depth, integer_at);
  StoredMatrix<Space> const stored(reference::apply(op, A), Precision::fp64, 3);
  IntegerBlas<Space> blas{Space()};
  std::int64_t const ld = IntegerBlas<Space>::padded(depth) + 16, plane = ld * (rows + 1);
  Numbers<Space, RowUnit> units(rows, RowUnit{1, 1});
  Numbers<Space, std::int8_t> bytes(plane * count + 16, 77);
  blas.residues(stored.ref(), op, units.device.data(),
                {bytes.device.data(), rows, depth, ld, plane, count});
  bytes.to_host();
  for (int s = 0; s < count; ++s)
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t k = 0; k < ld; ++k) {
        std::int8_t const found = bytes[s * plane + i * ld + k];
        bool const right =
            k < depth
                ? is_remainder(found, static_cast<Int128>(std::nearbyint(A(i, k))), modulus_of(s))
                : found == (k < IntegerBlas<Space>::padded(depth) ? 0 : 77);
        ASSERT_TRUE(right) << "modulus " << modulus_of(s) << ", " << i << ", " << k << ": "
                           << int{found};
      }
}

template <class Space>
void remainders_are_exact() {
  for (Op const op : {Op::NoTrans, Op::Trans})
    for (std::int64_t const rows : {1, 31, 33})
      for (std::int64_t const depth : {1, 15, 16, 17, 127, 128, 129, 300})
        check_residues<Space>(op, rows, depth, most_moduli);
  for (int count = least_moduli; count < most_moduli; ++count)
    check_residues<Space>(Op::NoTrans, 32, 40, count);
}

// Squares are added up call by call; the first row beyond the bound is told, also if it is not
// finite.
template <class Space>
void rows_beyond_the_bound_are_told() {
  for (double const last : {0x1p29, nan_value, infinity, -infinity}) {
    std::int64_t const rows = 40, depth = 3;
    auto const A = reference::generate(rows, depth, [&](auto i, auto k) {
      return i == 17 && k == 1 ? last : i == 30 ? 0x1p30 : 5;
    });
    StoredMatrix<Space> const stored(A, Precision::fp64);
    IntegerBlas<Space> blas{Space()};
    Numbers<Space, RowUnit> units(rows, RowUnit{1, 1});
    Numbers<Space, double> squares(rows);
    Numbers<Space, std::int64_t> info(1);
    Numbers<Space, std::int8_t> bytes(least_moduli * 64 * 16);
    ResiduePlanes<typename Space::memory_space> const planes{
        bytes.device.data(), rows, depth, 16, 64 * 16, least_moduli};
    RowCheck const check{squares.device.data(), info.device.data(), 100};
    auto const some = stored.ref().block(0, 0, 17, depth);
    blas.residues(some, Op::NoTrans, units.device.data(), planes.row_block(0, 17), check);
    info.to_host(), squares.to_host();
    EXPECT_EQ(info[0], 0);
    EXPECT_EQ(squares[3], 75);
    blas.residues(some, Op::NoTrans, units.device.data(), planes.row_block(0, 17), check);
    squares.to_host();
    EXPECT_EQ(squares[3], 150);
    blas.residues(stored.ref(), Op::NoTrans, units.device.data(), planes, check);
    info.to_host();
    EXPECT_EQ(info[0], 118) << last;
  }
}

// X = z modulo P in sums that are other numbers with its remainders: rounded once, whatever its
// size.
template <class Space>
void sums_become_the_nearest_number() {
  std::mt19937_64 engine(5);
  for (int count = least_moduli; count <= most_moduli; ++count) {
    Int128 const product = product_of(count), limit = product / 2 - product / 2048;
    std::vector<Int128> numbers = {0, 1, -1, limit, -limit, 1000003, -product / 3};
    for (int t = 0; t < 200; ++t) {
      auto const x = static_cast<Int128>(engine()) * static_cast<Int128>(engine() >> 2) % limit;
      numbers.push_back((t % 2 ? x : -x) >> (t % 90));
    }
    auto const n = static_cast<std::int64_t>(numbers.size());
    Numbers<Space, std::int32_t> sums(count * n);
    for (int s = 0; s < count; ++s)
      for (std::int64_t i = 0; i < n; ++i) {
        auto const r =
            static_cast<std::int64_t>(modulo(numbers[static_cast<std::size_t>(i)], modulus_of(s)));
        auto const most = static_cast<std::int64_t>((std::int64_t{1} << 31) / modulus_of(s) - 1);
        auto const turns = static_cast<std::int64_t>(engine() % (2 * most)) - most;
        sums[s * n + i] = static_cast<std::int32_t>(r + turns * modulus_of(s));
      }
    sums.to_device();
    ModularSums<typename Space::memory_space> const X{sums.device.data(), n, 1, n, n, count};
    Numbers<Space, RowUnit> rows(n, RowUnit{1, 1}), cols(1, RowUnit{0.25, 4});
    IntegerBlas<Space> blas{Space()};
    StoredMatrix<Space> const C(reference::generate(n, 1, [](auto, auto) { return nan_value; }),
                                Precision::fp64, 2);
    for (int reduced = 0; reduced < 2; ++reduced) {
      blas.combine(X, rows.device.data(), cols.device.data(), {-1}, C.ref());
      auto const found = C.read();
      for (std::int64_t i = 0; i < n; ++i)
        EXPECT_EQ(found(i, 0), -0.25 * static_cast<double>(numbers[static_cast<std::size_t>(i)]))
            << count << " moduli, number " << i;
      strata::detail::reduce_sums(Space(), X);
    }
    EXPECT_TRUE(C.padding_is_untouched());
  }
}

// alpha X + beta C, rounded once where no product is: by long double.
template <class Space>
void sums_are_added_to_what_there_is() {
  std::int64_t const n = 9;
  Numbers<Space, std::int32_t> sums(most_moduli * n * n);
  for (int s = 0; s < most_moduli; ++s)
    for (std::int64_t t = 0; t < n * n; ++t) sums[s * n * n + t] = static_cast<int>(t * t - 900);
  sums.to_device();
  ModularSums<typename Space::memory_space> const X{sums.device.data(), n, n, n, n * n,
                                                    most_moduli};
  Numbers<Space, RowUnit> rows(n, RowUnit{19 * 0x1p-7, 0}), cols(n, RowUnit{31 * 0x1p3, 0});
  IntegerBlas<Space> blas{Space()};
  auto const old = reference::random(n, n, 3);
  for (double const alpha : {1.0, -1.0, 0.3})
    for (double const beta : {1.0, -1.0, -2.0})
      for (Triangle const part : {Triangle::Both, Triangle::Lower, Triangle::Upper}) {
        StoredMatrix<Space> const C(old, Precision::fp64);
        blas.combine(X, rows.device.data(), cols.device.data(),
                     {alpha, beta, nullptr, nullptr, part}, C.ref());
        auto const found = C.read();
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = 0; i < n; ++i) {
            std::int64_t const t = i + j * n;
            bool const written =
                part == Triangle::Both || (part == Triangle::Lower ? i >= j : i <= j);
            auto const sum = static_cast<long double>(t * t - 900) * (19 * 0x1p-7L) *
                                 (31 * 0x1p3L) * static_cast<long double>(alpha) +
                             static_cast<long double>(beta) * static_cast<long double>(old(i, j));
            auto const right = static_cast<double>(sum);
            EXPECT_LE(std::abs(found(i, j) - (written ? right : old(i, j))),
                      alpha == 0.3 && written ? 0x1p-52 * std::abs(right) : 0)
                << alpha << ", " << beta << ", " << i << ", " << j;
          }
      }
}

template <class Space>
struct Operands {
  using Planes = ResiduePlanes<typename Space::memory_space>;
  Operands(std::int64_t rows, std::int64_t depth, int count)
      : bytes(count * rows * depth),
        planes{bytes.device.data(), rows, depth, depth, rows * depth, count} {}
  Numbers<Space, std::int8_t> bytes;
  Planes planes;
};

// Deeper than int32 holds, where all bytes are as large as can be; both by the library and by this
// library's kernel.
template <class Space>
void sums_of_any_depth_are_exact() {
  constexpr std::int64_t n = 16, k = 131072 + 64;
  for (bool const library : {true, false})
    for (int const value : {-128, 127}) {
      IntegerBlas<Space> blas(Space(), library);
      Operands<Space> A(n, k, least_moduli);
      Kokkos::deep_copy(A.bytes.host, static_cast<std::int8_t>(value));
      A.bytes.to_device();
      Numbers<Space, std::int32_t> sums(least_moduli * n * n);
      ModularSums<typename Space::memory_space> C{sums.device.data(), n, n, n, n * n, least_moduli};
      constexpr std::int64_t cut = 130816;
      auto const first = A.planes.depth_block(0, cut), rest = A.planes.depth_block(cut, k - cut);
      blas.multiply(first, first, C, false);
      blas.multiply(rest, rest, C, true);
      EXPECT_EQ(C.depth, k - cut);
      sums.to_host();
      for (int s = 0; s < least_moduli; ++s)
        for (std::int64_t t = 0; t < n * n; ++t)
          ASSERT_TRUE(modulo(sums[s * n * n + t] - Int128(k) * value * value, modulus_of(s)) == 0)
              << value << ", modulus " << modulus_of(s) << ", " << t;
    }
}

template <class Space>
void products_are_exact() {
  std::mt19937 engine(7);
  for (bool const library : {true, false})
    for (auto const [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1},
                                 {5, 3, 17},
                                 {33, 18, 130},
                                 {130, 64, 64},
                                 {4, 129, 1000}}) {
      std::int64_t const ldk = IntegerBlas<Space>::padded(k), mp = IntegerBlas<Space>::padded(m),
                         np = IntegerBlas<Space>::padded(n);
      constexpr int count = 7;
      Operands<Space> A(mp, ldk, count), B(np, ldk, count);
      for (auto* operand : {&A, &B})
        for (std::int64_t t = 0; t < static_cast<std::int64_t>(operand->bytes.host.size()); ++t)
          operand->bytes[t] = t % ldk < k ? static_cast<std::int8_t>(engine()) : std::int8_t(0);
      A.bytes.to_device(), B.bytes.to_device();
      Numbers<Space, std::int32_t> sums(count * mp * np);
      ModularSums<typename Space::memory_space> C{sums.device.data(), m, n, mp, mp * np, count};
      auto a = A.planes.row_block(0, m), b = B.planes.row_block(0, n);
      a.depth = b.depth = k;
      IntegerBlas<Space> blas(Space(), library);
      blas.multiply(a, b, C, false);
      blas.multiply(a, b, C, true);
      sums.to_host();
      for (int s = 0; s < count; ++s)
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = 0; i < m; ++i) {
            std::int64_t sum = 0;
            for (std::int64_t p = 0; p < k; ++p)
              sum += A.bytes[(s * mp + i) * ldk + p] * B.bytes[(s * np + j) * ldk + p];
            ASSERT_EQ(sums[s * mp * np + i + j * mp], 2 * sum) << m << " x " << n << " x " << k;
          }
    }
}

// The unit is the least of five bits that keeps the integers' norm in its bound, by the largest
// squares of 2^-15.
template <class Space>
void units_are_tight() {
  for (int const count : {6, 9, 14, 16}) {
    std::int64_t const rows = 30, depth = 200;
    auto const random = reference::random(rows, depth, 4);
    auto const A = reference::generate(rows, depth, [&](auto i, auto k) {
      if (i == 7) return 0.0;
      if (i == 8) return k == 60 ? nan_value : 1.0;
      return std::ldexp(random(i, k), static_cast<int>((i - 15) * 68 - (i == 0 ? 40 : 0)));
    });
    double const most = strata::detail::largest_norm(strata::detail::moduli_table(count));
    for (Op const op : {Op::NoTrans, Op::Trans}) {
      StoredMatrix<Space> const stored(reference::apply(op, A), Precision::fp64, 1);
      Numbers<Space, RowUnit> units(rows);
      IntegerBlas<Space> blas{Space()};
      blas.measure_units(stored.ref(), op, count, units.device.data());
      units.to_host();
      for (std::int64_t i = 0; i < rows; ++i) {
        long double sum = 0;
        for (std::int64_t k = 0; k < depth; ++k) sum += static_cast<long double>(A(i, k)) * A(i, k);
        double const unit = units[i].unit;
        if (i == 8) {
          EXPECT_TRUE(std::isnan(unit));
          continue;
        }
        long double const norm = std::sqrt(sum), integers = norm / unit;
        EXPECT_LE(integers, most * (1 + 1e-15)) << i;
        EXPECT_EQ(units[i].reciprocal, 1 / unit);
        int exponent = 0;
        double const digits = 32 * std::frexp(unit, &exponent);
        EXPECT_EQ(digits, std::floor(digits)) << "of five bits";
        if (unit > 0x1p-1000) {
          EXPECT_GE(integers * 1.0625L * (1 + 2e-3L), most) << i;
        }
      }
    }
  }
}

template <class Space>
void inexact_products_are_found_out() {
  using Planes = ResiduePlanes<typename Space::memory_space>;
  using Sums = ModularSums<typename Space::memory_space>;
  auto const exact = [](Planes const& A, Planes const& B, Sums const& C, bool accumulate) {
    strata::detail::multiply_residues(Space(), A, B, C, accumulate);
  };
  EXPECT_TRUE(strata::detail::is_exact_on_device(Space(), exact));
  EXPECT_TRUE(IntegerBlas<Space>{Space()}.is_exact());
  auto const forgets = [&](Planes const& A, Planes const& B, Sums const& C, bool) {
    exact(A, B, C, false);
  };
  auto const lacks_a_term = [&](Planes const& A, Planes const& B, Sums const& C, bool accumulate) {
    Planes a = A, b = B;
    if (!accumulate) a.depth = b.depth = A.depth - 1;
    exact(a, b, C, accumulate);
  };
  EXPECT_FALSE(strata::detail::is_exact_on_device(Space(), forgets));
  EXPECT_FALSE(strata::detail::is_exact_on_device(Space(), lacks_a_term));
}

template <class Space>
void mistakes_are_told() {
  IntegerBlas<Space> blas{Space()};
  StoredMatrix<Space> const A(reference::random(4, 4, 1), Precision::fp64);
  Operands<Space> planes(16, 16, least_moduli);
  Numbers<Space, RowUnit> units(4);
  for (int const count : {5, 17})
    EXPECT_TRUE(throws_with<ValueError>(
        "must be 6 to 16", [&] { blas.bound_units(A.ref(), count, units.device.data()); }));
  EXPECT_TRUE(throws_with<ShapeError>("A is 4 x 4, the planes 16 x 16", [&] {
    blas.residues(A.ref(), Op::NoTrans, units.device.data(), planes.planes);
  }));
  ModularSums<typename Space::memory_space> C{nullptr, 4, 4, 16, 256, least_moduli};
  EXPECT_TRUE(throws_with<ShapeError>(
      "A is 16 x 16 of 6 moduli", [&] { blas.multiply(planes.planes, planes.planes, C, false); }));
}

template <class Space>
class IntegerBlasOn : public testing::Test {};
TYPED_TEST_SUITE(IntegerBlasOn, Spaces, SpaceNames);

TYPED_TEST(IntegerBlasOn, RemaindersAreExact) { remainders_are_exact<TypeParam>(); }
TYPED_TEST(IntegerBlasOn, RowsBeyondTheBoundAreTold) {
  rows_beyond_the_bound_are_told<TypeParam>();
}
TYPED_TEST(IntegerBlasOn, SumsBecomeTheNearestNumber) {
  sums_become_the_nearest_number<TypeParam>();
}
TYPED_TEST(IntegerBlasOn, SumsAreAddedToWhatThereIs) {
  sums_are_added_to_what_there_is<TypeParam>();
}
TYPED_TEST(IntegerBlasOn, SumsOfAnyDepthAreExact) { sums_of_any_depth_are_exact<TypeParam>(); }
TYPED_TEST(IntegerBlasOn, ProductsAreExact) { products_are_exact<TypeParam>(); }
TYPED_TEST(IntegerBlasOn, UnitsAreTight) { units_are_tight<TypeParam>(); }
TYPED_TEST(IntegerBlasOn, InexactProductsAreFoundOut) {
  inexact_products_are_found_out<TypeParam>();
}
TYPED_TEST(IntegerBlasOn, MistakesAreTold) { mistakes_are_told<TypeParam>(); }

}  // namespace
}  // namespace strata::test
