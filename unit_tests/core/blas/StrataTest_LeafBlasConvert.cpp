// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// convert between all pairs of types, against the types' own conversions.
#include "StrataTest_LeafBlas.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"

#include <gtest/gtest.h>

namespace strata::test {
namespace {

// Numbers of all magnitudes, so that some are subnormal and some overflow in each type, and the
// specials.
HostMatrix wide_range(std::int64_t m, std::int64_t n) {
  auto const mantissa = reference::random(m, n, 1), exponent = reference::random(m, n, 2);
  return reference::generate(m, n, [&](auto i, auto j) {
    if (i == 0 && j == 0) return nan_value;
    if (i == 1 && j == 0) return -std::numeric_limits<double>::infinity();
    if (i == 2 && j == 0) return -0.0;
    double const range = (i + j) % 3 == 0 ? 140 : (i + j) % 3 == 1 ? 20 : 6;
    return std::ldexp(mantissa(i, j), static_cast<int>(range * exponent(i, j)));
  });
}

double round_to(Precision precision, double value) {
  return with_type(precision, [&]<class T>(std::type_identity<T>) {
    return static_cast<double>(static_cast<T>(value));
  });
}

bool same(double x, double y) {
  return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
}

template <class Space>
void check_convert(LeafBlas<Space>& blas, Op op, Precision from, Precision to, std::int64_t m,
                   std::int64_t n, std::optional<int> from_scale = {},
                   std::optional<int> to_scale = {}) {
  SCOPED_TRACE(testing::Message() << op << ' ' << from << " -> " << to << ' ' << m << " x " << n
                                  << " scaled " << from_scale.value_or(0) << ", "
                                  << to_scale.value_or(0));
  StoredMatrix<Space> const source(wide_range(m, n), from, 3, from_scale);
  bool const normal = op == Op::NoTrans;
  StoredMatrix<Space> const target(reference::random(normal ? m : n, normal ? n : m, 4), to, 2,
                                   to_scale);
  blas.convert(op, source.ref(), target.ref());
  auto const expected = reference::apply(op, source.read()), actual = target.read();
  double const divisor = std::ldexp(1.0, to_scale.value_or(0));
  for (std::int64_t j = 0; j < reference::cols(expected); ++j)
    for (std::int64_t i = 0; i < reference::rows(expected); ++i)
      ASSERT_TRUE(same(actual(i, j), round_to(to, expected(i, j) / divisor) * divisor))
          << i << ", " << j << ": " << expected(i, j) << " became " << actual(i, j);
  EXPECT_TRUE(target.padding_is_untouched());
}

template <class Space>
void converts_between_all_types() {
  LeafBlas<Space> blas{Space()};
  for (Precision const from : all_precisions)
    for (Precision const to : all_precisions)
      for (Op const op : both_ops) {
        check_convert(blas, op, from, to, 33, 41);
        check_convert(blas, op, from, to, 33, 41, 4, -3);
        check_convert(blas, op, from, to, 33, 41, {}, 130);
        check_convert(blas, op, from, to, 33, 41, -100, 100);
      }
}

template <class Space>
void converts_all_shapes() {
  LeafBlas<Space> blas{Space()};
  for (Op const op : both_ops)
    for (std::int64_t const m : {0, 1, 7, 16, 33, 65, 129})
      for (std::int64_t const n : {0, 1, 7, 16, 33, 65, 129})
        check_convert(blas, op, fp64, fp16, m, n);
  check_convert(blas, Op::NoTrans, fp32, bf16, 20001, 2);
}

template <class Space>
class LeafBlasConvert : public testing::Test {};
TYPED_TEST_SUITE(LeafBlasConvert, Spaces, SpaceNames);

TYPED_TEST(LeafBlasConvert, RoundsOnceBetweenAllTypes) { converts_between_all_types<TypeParam>(); }
TYPED_TEST(LeafBlasConvert, CopiesAllShapes) { converts_all_shapes<TypeParam>(); }

}  // namespace
}  // namespace strata::test
