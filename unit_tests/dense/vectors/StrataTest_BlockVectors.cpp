// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Allocations.hpp"
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_SpdSystem.hpp"
#include <dense/log_determinant/detail/Strata_Probes.hpp>
#include <dense/vectors/detail/Strata_BlockVectors.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

// Every kernel against loops on the host, for rows below, at and above the chunk of a team.

namespace {

using namespace strata::test;
using strata::dense::detail::BlockVectors;
using strata::dense::detail::Chunk;
using strata::dense::detail::Moments;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t sizes[] = {
    1, 7, Chunk::least - 1, Chunk::least, Chunk::least + 1, Chunk::teams* Chunk::least + 5};

/// Three columns of data in the memory of Exec; the second coefficient is 0.
template <class Exec>
struct Fixture {
  using Kernels = BlockVectors<Exec>;
  using Device = OnDevice<Exec>;

  std::size_t n;
  PlainMatrix X = random_numbers(n, 3, 1), Y = random_numbers(n, 3, 2), Z = random_numbers(n, 3, 3);
  std::vector<double> s{2, 0, -0.75}, t{0.5, 3, 0};
  Kernels kernels{Exec(), static_cast<std::int64_t>(n), 3, 4};

  /// The same with NaN where a coefficient of 0 says that nothing is read.
  static PlainMatrix poisoned(PlainMatrix A, std::size_t column) {
    for (std::size_t i = 0; i < A.rows; ++i) A(i, column) = not_a_number;
    return A;
  }
};

void expect_equal(PlainMatrix const& actual, PlainMatrix const& expected) {
  ASSERT_EQ(actual.data.size(), expected.data.size());
  for (std::size_t k = 0; k < actual.data.size(); ++k)
    ASSERT_NEAR(actual.data[k], expected.data[k], 1e-14 * (1 + std::abs(expected.data[k]))) << k;
}

void expect_close(double actual, double expected, std::size_t n) {
  EXPECT_NEAR(actual, expected, 1e-15 * static_cast<double>(n + 10) * (1 + std::abs(expected)));
}

/// A new matrix with entries f(i, c).
template <class Function>
PlainMatrix each(std::size_t rows, std::size_t cols, Function const& f) {
  PlainMatrix A(rows, cols);
  for (std::size_t c = 0; c < cols; ++c)
    for (std::size_t i = 0; i < rows; ++i) A(i, c) = f(i, c);
  return A;
}

/// The sum over the rows of f(i).
template <class Function>
double sum(std::size_t rows, Function const& f) {
  double total = 0;
  for (std::size_t i = 0; i < rows; ++i) total += f(i);
  return total;
}

template <class Function>
double largest(std::size_t rows, Function const& f) {
  double value = 0;
  for (std::size_t i = 0; i < rows; ++i) value = std::max(value, std::abs(f(i)));
  return value;
}

template <class Exec>
class BlockVectorKernels : public testing::Test {};
TYPED_TEST_SUITE(BlockVectorKernels, Spaces, SpaceNames);

template <class Exec>
void scale_and_add_follow_the_formulas(std::size_t n) {
  Fixture<Exec> f{n};
  using Device = OnDevice<Exec>;
  auto const X = Device::copy(f.poisoned(f.X, 1)), Y = Device::copy(f.Y, 3), Z = Device::copy(f.Z);
  f.kernels.scale(f.s, X, Y);
  expect_equal(Device::read(Y), each(n, 3, [&](auto i, auto c) { return f.s[c] * f.X(i, c); }));
  f.kernels.scale({1, 0, 2}, {0, 0, 4}, X, X, Y);
  expect_equal(Device::read(X), each(n, 3, [&](auto i, auto c) {
                 return c == 1 ? 0 : (c == 0 ? 1 : 2) * f.X(i, c);
               }));
  expect_equal(Device::read(Y),
               each(n, 3, [&](auto i, auto c) { return c == 2 ? 4 * f.X(i, c) : 0; }));
  f.kernels.correct(f.s, Device::copy(f.poisoned(f.Y, 1)), {1, 1, 1}, {}, Z);
  expect_equal(Device::read(Z),
               each(n, 3, [&](auto i, auto c) { return f.Z(i, c) + f.s[c] * f.Y(i, c); }));
  f.kernels.fill(Z, 5);
  expect_equal(Device::read(Z), each(n, 3, [](auto, auto) { return 5.0; }));
}
TYPED_TEST(BlockVectorKernels, ScaleAndAddFollowTheFormulas) {
  for (std::size_t const n : sizes) scale_and_add_follow_the_formulas<TypeParam>(n);
}

template <class Exec>
void reductions_follow_the_formulas(std::size_t n) {
  Fixture<Exec> f{n};
  using Device = OnDevice<Exec>;
  auto const norms = f.kernels.norms(f.s, Device::copy(f.X));
  ASSERT_EQ(norms.size(), 3u);
  for (std::size_t c = 0; c < 3; ++c) {
    auto const scaled = [&](std::size_t i) { return f.s[c] * f.X(i, c); };
    expect_close(norms[c].sum[0], sum(n, [&](auto i) { return scaled(i) * scaled(i); }), n);
    EXPECT_EQ(norms[c].max[0], largest(n, scaled));
  }
}
TYPED_TEST(BlockVectorKernels, ReductionsFollowTheFormulas) {
  for (std::size_t const n : sizes) reductions_follow_the_formulas<TypeParam>(n);
}

/// Powers of two, as a scaling of n rows.
template <class Exec>
auto powers_of_two(std::size_t n) {
  PlainMatrix const d =
      each(n, 1, [](auto i, auto) { return std::ldexp(1.0, static_cast<int>(i % 7) - 3); });
  return typename BlockVectors<Exec>::Scaling(
      Kokkos::subview(OnDevice<Exec>::copy(d), Kokkos::ALL, 0));
}

// A step of three columns, of which the second is idle and the third starts anew, with and without
// d.
template <class Exec>
void conjugate_step_follows_the_formulas(std::size_t n, bool is_scaled) {
  Fixture<Exec> f{n};
  using Device = OnDevice<Exec>;
  typename BlockVectors<Exec>::Scaling d;
  if (is_scaled) d = powers_of_two<Exec>(n);
  auto const d_of = [&](std::size_t i) {
    return is_scaled ? std::ldexp(1.0, static_cast<int>(i % 7) - 3) : 1;
  };
  PlainMatrix const r = random_numbers(n, 3, 5), q = random_numbers(n, 3, 6);
  auto const R = Device::copy(r), Z = Device::copy(f.poisoned(f.Z, 1)),
             P = Device::copy(f.poisoned(f.X, 2)), V = Device::copy(f.Y), D = Device::copy(f.Y);
  std::vector<double> const s{2, 0, 0.5}, t{-4, 0, 0};
  f.kernels.see_products(R, Device::copy(q), Z);
  f.kernels.direction(s, Z, t, P, d, V);
  auto const qz = [&](std::size_t c) {
    return sum(n, [&](auto i) { return q(i, c) * f.Z(i, c); });
  };
  PlainMatrix const p = each(n, 3, [&](auto i, auto c) {
    double const old = c == 0 ? s[c] * qz(c) / t[c] * f.X(i, c) : 0;
    return c == 1 ? 0 : s[c] * f.Z(i, c) + old;
  });
  double const bound = 1e-14 * static_cast<double>(n + 10);
  PlainMatrix const found_p = Device::read(P), found_v = Device::read(V);
  for (std::size_t k = 0; k < p.data.size(); ++k) {
    ASSERT_NEAR(found_p.data[k], p.data[k], bound) << k;
    ASSERT_EQ(found_v.data[k], is_scaled ? d_of(k % n) * found_p.data[k] : f.Y.data[k]) << k;
  }
  // Q = d Q as if A were 2, or -2 in the third column
  auto const sign = [](std::size_t c) { return c == 2 ? -2 : 2; };
  auto const Q =
      Device::copy(each(n, 3, [&](auto i, auto c) { return sign(c) * found_p(i, c) / d_of(i); }));
  f.kernels.see_curvature(P, d, Q);
  auto const steps = f.kernels.advance(s, P, Q, D, R);
  ASSERT_EQ(steps.size(), 3u);
  PlainMatrix const left = Device::read(R), x = Device::read(D);
  for (std::size_t c = 0; c < 3; ++c) {
    double const rz = steps[c].products.sum[0], curvature = steps[c].curvature.sum[0];
    if (c != 1) {
      EXPECT_NEAR(rz, sum(n, [&](auto i) { return r(i, c) * f.Z(i, c); }), bound);
      EXPECT_NEAR(steps[c].products.sum[1], qz(c), bound);
    }
    EXPECT_NEAR(curvature, sum(n, [&](auto i) { return sign(c) * found_p(i, c) * found_p(i, c); }),
                bound * (1 + std::abs(curvature)));
    double const step = c == 0 && rz > 0 ? s[c] * rz / curvature : 0;
    for (std::size_t i = 0; i < n; ++i) {
      double const by = step * found_p(i, c);
      EXPECT_NEAR(x(i, c), f.Y(i, c) + by, 1e-14 * (1 + std::abs(by)));
      EXPECT_NEAR(left(i, c), r(i, c) - 2 * by, 1e-14 * (1 + std::abs(by)));
    }
    expect_close(steps[c].residual.sum[0], sum(n, [&](auto i) { return left(i, c) * left(i, c); }),
                 n);
    EXPECT_EQ(steps[c].residual.max[0], largest(n, [&](auto i) { return left(i, c); }));
  }
}
TYPED_TEST(BlockVectorKernels, ConjugateStepFollowsTheFormulas) {
  for (std::size_t const n : sizes)
    for (bool const is_scaled : {false, true})
      conjugate_step_follows_the_formulas<TypeParam>(n, is_scaled);
}

TYPED_TEST(BlockVectorKernels, StepLengthsAreZeroWhereNothingIsPositive) {
  using strata::dense::detail::step_length;
  constexpr double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(step_length(3, 2), 1.5);
  for (double const value : {0.0, -1.0, not_a_number, infinite, -infinite}) {
    EXPECT_EQ(step_length(value, 1), 0) << value;
    EXPECT_EQ(step_length(1, value), 0) << value;
  }
}

template <class Exec>
void residual_and_lists_follow_the_formulas(std::size_t n) {
  Fixture<Exec> f{n};
  using Device = OnDevice<Exec>;
  PlainMatrix const whole = random_numbers(n, 5, 9);
  auto const B = Device::copy(whole), W = Device::copy(f.X), R = Device::copy(f.Y);
  std::vector<std::int64_t> const list{0, 2, 4};
  auto const index = f.kernels.indices(list);
  auto const plain = f.kernels.residual(f.t, B, index, W, R, {}, 1);
  std::vector<Moments> moments;
  for (auto const& both : plain) {
    moments.push_back(both.refined);
    EXPECT_EQ(both.given.sum[0], both.refined.sum[0]);
    EXPECT_EQ(both.given.max[1], both.refined.max[1]);
  }
  PlainMatrix const r =
      each(n, 3, [&](auto i, auto c) { return f.t[c] * whole(i, list[c]) - f.Y(i, c); });
  expect_equal(Device::read(R), r);
  for (std::size_t c = 0; c < 3; ++c) {
    expect_close(moments[c].sum[0], sum(n, [&](auto i) { return std::abs(r(i, c)); }), n);
    expect_close(moments[c].max[0], largest(n, [&](auto i) { return r(i, c); }), n);
    expect_close(moments[c].sum[1], sum(n, [&](auto i) { return std::abs(f.X(i, c)); }), n);
    expect_close(moments[c].max[1], largest(n, [&](auto i) { return f.X(i, c); }), n);
  }
  f.kernels.scatter(f.s, W, B, index);
  PlainMatrix scattered = whole;
  for (std::size_t i = 0; i < n; ++i) {
    scattered(i, 0) = 2 * f.X(i, 0);
    scattered(i, 4) = -0.75 * f.X(i, 2);
  }
  expect_equal(Device::read(B), scattered);
  f.kernels.gather({1, 2, 4}, B, index, W);
  expect_equal(Device::read(W),
               each(n, 3, [&](auto i, auto c) { return (1 << c) * scattered(i, list[c]); }));
  f.kernels.compact(f.kernels.indices({1, 3, 4}), B);
  PlainMatrix compacted = scattered;
  for (std::size_t i = 0; i < n; ++i) {
    compacted(i, 0) = scattered(i, 1);
    compacted(i, 1) = scattered(i, 3);
    compacted(i, 2) = scattered(i, 4);
  }
  expect_equal(Device::read(B), compacted);
}
TYPED_TEST(BlockVectorKernels, ResidualAndListsFollowTheFormulas) {
  for (std::size_t const n : sizes) residual_and_lists_follow_the_formulas<TypeParam>(n);
}

// r and w as they are, and as u r / d and d w / u.
template <class Exec>
void moments_of_both_systems_follow_the_formulas(std::size_t n) {
  Fixture<Exec> f{n};
  using Device = OnDevice<Exec>;
  double const u = 0.25;
  Kokkos::View<double*, Exec> const scaling("strata::test::d", n);
  auto const mirror = Kokkos::create_mirror_view(scaling);
  for (std::size_t i = 0; i < n; ++i) mirror(i) = std::ldexp(1.0, static_cast<int>(i % 7) - 3);
  Kokkos::deep_copy(scaling, mirror);
  auto const d = [](std::size_t i) { return std::ldexp(1.0, static_cast<int>(i % 7) - 3); };
  auto const B = Device::copy(f.Z), W = Device::copy(f.X), R = Device::copy(f.Y);
  f.kernels.measure({}, scaling, u, B);
  auto const sizes_of_b = f.kernels.magnitudes(3);
  auto const both = f.kernels.residual(f.t, B, {}, W, R, scaling, u);  // of the first columns
  PlainMatrix const r = Device::read(R);
  for (std::size_t c = 0; c < 3; ++c) {
    auto const b_of = [&](auto i) { return f.Z(i, c); };
    auto const r_of = [&](auto i) { return r(i, c) * u / d(i); };
    auto const w_of = [&](auto i) { return f.X(i, c) * d(i) / u; };
    EXPECT_NEAR(r(0, c), f.t[c] * f.Z(0, c) - f.Y(0, c), 0x1p-50);
    EXPECT_EQ(sizes_of_b[c].refined.max[0], largest(n, b_of));
    EXPECT_EQ(sizes_of_b[c].given.max[0], largest(n, [&](auto i) { return b_of(i) * u / d(i); }));
    EXPECT_EQ(sizes_of_b[c].given.max[1],
              std::ldexp(sizes_of_b[c].given.max[0], f.kernels.lift_exponent));
    EXPECT_EQ(both[c].refined.max[0], largest(n, [&](auto i) { return r(i, c); }));
    EXPECT_EQ(both[c].refined.max[1], largest(n, [&](auto i) { return f.X(i, c); }));
    EXPECT_EQ(both[c].given.max[0], largest(n, r_of));
    EXPECT_EQ(both[c].given.max[1], largest(n, w_of));
    expect_close(both[c].given.sum[0], sum(n, [&](auto i) { return std::abs(r_of(i)); }), n);
    expect_close(both[c].given.sum[1], sum(n, [&](auto i) { return std::abs(w_of(i)); }), n);
  }
}
TYPED_TEST(BlockVectorKernels, MomentsOfBothSystemsFollowTheFormulas) {
  for (std::size_t const n : sizes) moments_of_both_systems_follow_the_formulas<TypeParam>(n);
}

TYPED_TEST(BlockVectorKernels, ExponentsAreThoseOfFrexp) {
  for (double const value :
       {1.0, -0.75, 3e300, 1e-300, 0x1p-1000, 0x1p999, 5e-324, -2.5e-310, 1e308}) {
    int exponent = 0;
    std::frexp(value, &exponent);
    exponent = std::clamp(exponent, -1000, 1000);
    EXPECT_EQ(strata::dense::detail::exponent_of(value), exponent) << value;
    EXPECT_EQ(strata::dense::detail::normaliser(value), std::ldexp(1.0, -exponent)) << value;
  }
  for (double const value : {0.0, -0.0, not_a_number, std::numeric_limits<double>::infinity()})
    EXPECT_EQ(strata::dense::detail::normaliser(value), 1) << value;
}

// From right-hand sides in rows, of which one is tiny and one is 0, to the residual of x = m D^-1
// b, as if M^-1 were m.
template <class Exec>
void first_solve_follows_the_formulas(std::size_t n, double wrong) {
  Fixture<Exec> f{n};
  using Device = OnDevice<Exec>;
  using strata::dense::detail::FirstScale;
  double const norm = 3, m = 2;
  PlainMatrix G = f.Z, scaling(n, 1);
  for (std::size_t i = 0; i < n; ++i) {
    scaling(i, 0) = std::ldexp(1.0, static_cast<int>(i % 7) - 3);
    G(i, 1) *= 1e-250;
    G(i, 2) = 0;
  }
  G(n - 1, 1) = wrong;
  Kokkos::View<double const*, typename Exec::memory_space> const d =
      Kokkos::subview(Device::copy(scaling), Kokkos::ALL, 0);
  PlainMatrix by_rows(3, n);
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t i = 0; i < n; ++i) by_rows(c, i) = G(i, c);
  auto const given = Device::copy(by_rows), found = Device::copy(PlainMatrix(3, n));
  auto const rows = static_cast<std::int64_t>(n);
  auto const B = Device::copy(f.X), D = Device::copy(f.X), W = Device::copy(f.X),
             R = Device::copy(f.Y);
  f.kernels.measure({given.data(), rows, 3, 3, 1}, d, 1, B);
  f.kernels.start(B, norm, D);
  PlainMatrix const unit = Device::read(D);
  f.kernels.scale({m, m, m}, D, D);
  f.kernels.correct_first(D, d, W, true);
  PlainMatrix const w = Device::read(W), dw = Device::read(D);
  auto const moments = f.kernels.residual_first(B, f.kernels.indices({0, 1, 2}), W, R, d, 1, true,
                                                {found.data(), rows, 3, 3, 1});
  auto const sizes_of_b = f.kernels.magnitudes(3);
  PlainMatrix const b = Device::read(B), x = Device::read(found), r = Device::read(R);
  bool const is_right = std::isfinite(wrong);
  for (std::size_t c = 0; c < 3; ++c) {
    FirstScale const first(sizes_of_b[c].refined.max[0], norm);
    bool const live = c == 0 || (c == 1 && is_right);
    EXPECT_EQ(first.failed, c == 1 && !is_right);
    EXPECT_EQ(sizes_of_b[c].refined.max[1], c == 1 && !is_right ? 2 : 0);
    if (live) {
      EXPECT_GE(largest(n, [&](auto i) { return unit(i, c); }), 0.5);
      EXPECT_LT(largest(n, [&](auto i) { return unit(i, c); }), 1);
      EXPECT_EQ(moments[c].given.max[1], largest(n, [&](auto i) { return dw(i, c); }));
    }
    for (std::size_t i = 0; i < n; ++i) {
      double const s = live ? std::ldexp(1.0, -first.exponent) : 0, d_i = scaling(i, 0);
      if (live || c == 2) {
        EXPECT_EQ(b(i, c), d_i * G(i, c));
      }
      EXPECT_EQ(w(i, c), live ? m * s * b(i, c) : 0);
      EXPECT_EQ(dw(i, c), d_i * w(i, c));
      if (live) {
        EXPECT_EQ(r(i, c), s * b(i, c) - d_i * f.Y(i, c));
      }
      EXPECT_EQ(x(c, i), is_right && live ? m * d_i * d_i * G(i, c)
                                          : 0);  // with something wrong nothing is written
    }
  }
}
TYPED_TEST(BlockVectorKernels, FirstSolveFollowsTheFormulas) {
  for (std::size_t const n : sizes) {
    first_solve_follows_the_formulas<TypeParam>(n, 1e-250);
    first_solve_follows_the_formulas<TypeParam>(n, not_a_number);
  }
}

template <class Exec>
void basis_products_follow_the_formulas(std::size_t n) {
  Fixture<Exec> f{n};
  using Device = OnDevice<Exec>;
  std::vector<PlainMatrix> v;
  auto const V = f.kernels.allocate("strata::test::V", 3, 4);
  for (unsigned k = 0; k < 4; ++k) {
    v.push_back(random_numbers(n, 3, 20 + k));
    Device::write(Kokkos::subview(V, Kokkos::ALL, Kokkos::ALL, k), v[k]);
  }
  for (std::int64_t const steps : {1, 3, 4}) {
    auto const W = Device::copy(f.X);
    auto const h = f.kernels.project(V, steps, W);
    std::vector<double> y(h);
    y[0] = 0;
    f.kernels.combine(-1, V, steps, y, W);
    PlainMatrix expected = f.X;
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t k = 0; k < static_cast<std::size_t>(steps); ++k) {
        std::size_t const position = k + c * static_cast<std::size_t>(steps);
        expect_close(h[position], sum(n, [&](auto i) { return v[k](i, c) * f.X(i, c); }), n);
        for (std::size_t i = 0; i < n; ++i) expected(i, c) -= y[position] * v[k](i, c);
      }
    PlainMatrix const actual = Device::read(W);
    for (std::size_t k = 0; k < actual.data.size(); ++k)
      ASSERT_NEAR(actual.data[k], expected.data[k], 1e-11);
  }
}
TYPED_TEST(BlockVectorKernels, BasisProductsFollowTheFormulas) {
  for (std::size_t const n : sizes) basis_products_follow_the_formulas<TypeParam>(n);
}

// 1.25 2^-1074 is no number of fp64: the iterate is the one whose d (t w) is.
template <class Exec>
void corrections_are_rounded_as_what_leaves() {
  using Device = OnDevice<Exec>;
  BlockVectors<Exec> kernels(Exec(), 2, 3);
  PlainMatrix d(2, 1), D(2, 3);
  d(0, 0) = 0x1p-500, d(1, 0) = 0x1p500;
  for (std::size_t c = 0; c < 3; ++c) D(0, c) = D(1, c) = 1.25;
  auto const W = Device::copy(PlainMatrix(2, 3));
  Kokkos::View<double const*, typename Exec::memory_space> const scaling =
      Kokkos::subview(Device::copy(d), Kokkos::ALL, 0);
  kernels.correct({1, 1, 0}, Device::copy(D), {0x1p-574, 0x1p900, 0x1p-574}, scaling, W);
  PlainMatrix const found = Device::read(W);
  EXPECT_EQ(found(0, 0), 1);     // 1.25 2^-1074
  EXPECT_EQ(found(1, 0), 1.25);  // 1.25 2^-74
  EXPECT_EQ(found(0, 1), 1.25);
  EXPECT_EQ(found(1, 1), 1.25);  // d (t w) overflows
  EXPECT_EQ(found(0, 2), 0);
  kernels.correct({1, 1, 1}, Device::copy(D), {0x1p-1000, 0x1p-1074, 1}, {}, W);
  EXPECT_EQ(Device::read(W)(0, 0), 2.25);
  EXPECT_EQ(Device::read(W)(0, 1), 2);  // 2.5 to even
}
TYPED_TEST(BlockVectorKernels, CorrectionsAreRoundedAsWhatLeaves) {
  corrections_are_rounded_as_what_leaves<TypeParam>();
}

// More coefficients than the arena holds at once: the host's copies must not be overwritten in
// flight.
template <class Exec>
void many_uploads_keep_their_order() {
  std::size_t const n = 100;
  Fixture<Exec> f{n};
  auto const X = OnDevice<Exec>::copy(f.X), Y = OnDevice<Exec>::copy(PlainMatrix(n, 3));
  for (int k = 1; k <= 200; ++k)
    f.kernels.correct({k * 1.0, k * 2.0, k * 3.0}, X, {1, 1, 1}, {}, Y);
  expect_equal(OnDevice<Exec>::read(Y), each(n, 3, [&](auto i, auto c) {
                 return 20100.0 * static_cast<double>(c + 1) * f.X(i, c);
               }));
}
TYPED_TEST(BlockVectorKernels, ManyUploadsKeepTheirOrder) {
  many_uploads_keep_their_order<TypeParam>();
}

// Its own blocks, sums and coefficients: with the numbers of products with many vectors.
template <class Exec>
void takes_one_allocation_a_memory() {
  constexpr bool is_host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible;
  std::string const label = "strata::dense::refine::vectors";
  std::multiset<std::string> expected{label};
  if (!is_host) expected.insert(label + "_on_host");
  std::size_t const n = 100;
  auto const X = OnDevice<Exec>::copy(random_numbers(n, 3, 1));
  Allocations const allocations;
  BlockVectors<Exec> kernels(Exec(), static_cast<std::int64_t>(n), 3, 4, 2);
  auto const A = kernels.block(0, 3), B = kernels.block(1, 3), first = kernels.block(1, 2);
  kernels.scale({2, 3, 4}, X, A);
  kernels.scale({5, 6, 7}, X, B);
  (void)kernels.norms({1, 1, 1}, A);
  std::multiset<std::string> own;
  for (auto const& name : Allocations::labels())
    if (name.starts_with("strata::")) own.insert(name);
  EXPECT_EQ(own, expected);
  EXPECT_EQ(first.extent(0), n);
  EXPECT_EQ(first.extent(1), 2u);
  PlainMatrix const x = OnDevice<Exec>::read(X);
  expect_equal(OnDevice<Exec>::read(A),
               each(n, 3, [&](auto i, auto c) { return (2.0 + c) * x(i, c); }));
  expect_equal(OnDevice<Exec>::read(first),
               each(n, 2, [&](auto i, auto c) { return (5.0 + c) * x(i, c); }));
}
TYPED_TEST(BlockVectorKernels, TakeOneAllocationAMemory) {
  takes_one_allocation_a_memory<TypeParam>();
}

TYPED_TEST(BlockVectorKernels, SayThatThereIsNoMemory) {
  auto const count = fail_each_allocation([](FailingAllocations const& failing) {
    try {
      BlockVectors<TypeParam> const kernels(TypeParam(), 100, 3, 1, 5);
    } catch (strata::MemoryError const& error) {
      EXPECT_TRUE(failing.failed());
      EXPECT_NE(std::string(error.what()).find("refine::vectors"), std::string::npos);
    }
  });
  EXPECT_GE(count, 1);
}

// What a kernel or a copy still uses is not given back.
template <class Exec>
void waits_before_its_end() {
  static int waits;
  auto const saved = Kokkos::Tools::Experimental::get_callbacks();
  Kokkos::Tools::Experimental::set_begin_fence_callback(
      [](char const* name, std::uint32_t, std::uint64_t*) {
        waits += std::string(name) == "strata::dense::refine::release";
      });
  auto const waits_after = [](auto const& work) {
    waits = 0;
    {
      Fixture<Exec> f{100};
      work(f.kernels, OnDevice<Exec>::copy(f.X));
    }
    return waits;
  };
  std::vector<double> const s{1, 2, 3};
  EXPECT_EQ(waits_after([&](auto&, auto const&) {}), 0);
  EXPECT_EQ(waits_after([&](auto& kernels, auto const& X) { (void)kernels.norms(s, X); }), 0);
  EXPECT_EQ(waits_after([&](auto& kernels, auto const& X) { kernels.scale(s, X, X); }), 1);
  EXPECT_EQ(waits_after([&](auto& kernels, auto const& X) { kernels.measure({}, {}, 1, X); }), 1);
  Kokkos::Tools::Experimental::set_callbacks(saved);
}
TYPED_TEST(BlockVectorKernels, WaitBeforeTheirEnd) { waits_before_its_end<TypeParam>(); }

template <class Exec>
void nan_stays_in_its_column() {
  std::size_t const n = Chunk::least + 3;
  for (std::size_t const row : {std::size_t(0), std::size_t(Chunk::least), n - 1}) {
    Fixture<Exec> f{n};
    f.X(row, 1) = not_a_number;
    auto const norms = f.kernels.norms({1, 1, 1}, OnDevice<Exec>::copy(f.X));
    EXPECT_TRUE(std::isnan(norms[1].max[0]));
    EXPECT_TRUE(std::isnan(norms[1].sum[0]));
    EXPECT_TRUE(
        std::isfinite(norms[0].sum[0] + norms[2].sum[0] + norms[0].max[0] + norms[2].max[0]));
  }
}
TYPED_TEST(BlockVectorKernels, NanStaysInItsColumn) { nan_stays_in_its_column<TypeParam>(); }

template <class Exec>
void probes_are_what_they_say() {
  std::size_t const n = 5000;
  Fixture<Exec> f{n};
  auto const A = OnDevice<Exec>::copy(f.X);
  strata::dense::detail::unit_vectors(Exec(), 2, A);
  expect_equal(OnDevice<Exec>::read(A),
               each(n, 3, [](auto i, auto c) { return i == c ? 2.0 : 0.0; }));
  strata::dense::detail::random_signs(Exec(), 7, 0.5, A);
  PlainMatrix const signs = OnDevice<Exec>::read(A);
  for (double const value : signs.data) ASSERT_EQ(std::abs(value), 0.5);
  // A fair coin's mean of n throws is within 5 / sqrt(n); so are products of columns and of
  // neighbours.
  double const bound = 5 * std::sqrt(static_cast<double>(n)) / 4;
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_LE(std::abs(sum(n, [&](auto i) { return signs(i, c) / 2; })), bound);
    EXPECT_LE(std::abs(sum(n, [&](auto i) { return signs(i, c) * signs(i, (c + 1) % 3); })), bound);
    EXPECT_LE(std::abs(sum(n - 1, [&](auto i) { return signs(i, c) * signs(i + 1, c); })), bound);
  }
  strata::dense::detail::random_signs(Exec(), 8, 0.5, A);
  EXPECT_NE(OnDevice<Exec>::read(A).data, signs.data);
}
TYPED_TEST(BlockVectorKernels, ProbesAreWhatTheySay) { probes_are_what_they_say<TypeParam>(); }

// --- the host's part
// ------------------------------------------------------------------------------

TEST(Chunk, EachRowIsInOne) {
  for (std::int64_t const n :
       {1, 511, 512, 513, 8192, 8193, 65536, 65537, 262144, 262145, 1000000}) {
    std::int64_t const chunks = Chunk::count(n);
    std::int64_t next = 0;
    for (std::int64_t rank = 3 * chunks; rank < 4 * chunks; ++rank) {  // of column 3
      Chunk const chunk(rank, chunks, n);
      EXPECT_EQ(chunk.column, 3);
      ASSERT_EQ(chunk.first, next) << n;
      ASSERT_GT(chunk.last, chunk.first) << n;
      EXPECT_LE(chunk.last - chunk.first, std::int64_t{Chunk::most});
      next = chunk.last;
    }
    EXPECT_EQ(next, n);
    EXPECT_LE(chunks,
              n <= Chunk::teams * Chunk::most ? std::int64_t{Chunk::teams} : n / Chunk::most + 1);
  }
}

TEST(Moments, KeepNaNWhateverTheOrder) {
  for (bool const first : {true, false}) {
    Moments m;
    for (double const value : {first ? not_a_number : 1.0, -3.0, first ? 1.0 : not_a_number})
      m.see(0, value);
    EXPECT_TRUE(std::isnan(m.max[0]));
    Moments finite, both;
    finite.see(0, 8);
    both += first ? m : finite;
    both += first ? finite : m;
    EXPECT_TRUE(std::isnan(both.max[0]));
  }
}

}  // namespace
