// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Factors whose products are made of integers: their error entry by entry, in long double.
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_Dense.hpp"
#include <core/Strata_MatrixRef.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/detail/Strata_Ladder.hpp>
#include <dense/recursion/Strata_TreePotrf.hpp>
#include <dense/recursion/Strata_TreeSyrk.hpp>
#include <dense/recursion/Strata_TreeTrsm.hpp>
#include <dense/recursion/detail/Strata_IntegerPotrf.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace strata::test {
namespace {

using namespace strata::dense;

constexpr double u = 0x1p-53;

// 2^-b, below fp64's roundoff too.
double theta_of(int moduli) {
  constexpr double beyond[] = {4.0e-17, 2.8e-18, 2.0e-19};
  return moduli < 14 ? traits(integer_precision(moduli)).unit_roundoff : beyond[moduli - 14];
}

HostMatrix symmetric(HostMatrix const& A) {
  for (std::size_t j = 0; j < A.extent(1); ++j)
    for (std::size_t i = 0; i < j; ++i) A(i, j) = A(j, i);
  return A;
}

HostMatrix generated(MatrixKind kind, std::int64_t n, double condition) {
  GeneratorOptions options;
  options.condition = condition;
  return symmetric(generate(kind, n, options));
}

// Matern of nu = 1/2 at random points of the unit square.
HostMatrix covariance(std::int64_t n, double range) {
  HostMatrix const x = random_matrix(n, 2, 11), A("strata::test::covariance", n, n);
  auto const at = [&](std::int64_t i, std::int64_t j) {
    return std::exp(-std::hypot(x(i, 0) - x(j, 0), x(i, 1) - x(j, 1)) / (2 * range));
  };
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) A(i, j) = at(i, j);
  return A;
}

// D A D with d_i from 1e-120 to 1e120, which no row's relative error feels.
HostMatrix scaled(HostMatrix const& A, double decades) {
  auto const n = static_cast<double>(A.extent(0));
  auto const d = [&](std::size_t i) {
    return std::pow(10, decades * (2 * static_cast<double>((i * 37) % A.extent(0)) / n - 1));
  };
  HostMatrix const B("strata::test::scaled", A.extent(0), A.extent(1));
  for (std::size_t j = 0; j < A.extent(1); ++j)
    for (std::size_t i = 0; i < A.extent(0); ++i) B(i, j) = d(i) * A(i, j) * d(j);
  return B;
}

// The last rows are almost those before.
HostMatrix twins(HostMatrix const& A, double difference) {
  std::size_t const n = A.extent(0), half = n / 2;
  for (std::size_t i = 0; i < half; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      std::size_t const of = j < half ? j : j - half;
      double const same = A(std::max(i, of), std::min(i, of));
      A(i + half, j) = A(j, i + half) = same + (of == i && j >= half ? difference : 0);
    }
  return A;
}

struct Named {
  std::string name;
  HostMatrix A;
};

std::vector<Named> hard_matrices(std::int64_t n) {
  return {{"geometric 1e2", generated(MatrixKind::Geometric, n, 1e2)},
          {"geometric 1e6", generated(MatrixKind::Geometric, n, 1e6)},
          {"Matern, weak", covariance(n, 0.03)},
          {"Matern, strong", covariance(n, 0.3)},
          {"bad scales", scaled(generated(MatrixKind::Geometric, n, 1e4), 75)},
          {"twins", twins(generated(MatrixKind::Geometric, n, 10), 1e-3)}};
}

template <class Space>
struct Factored {
  BlockTree<LayerList, Space> tree;
  LeafBlas<Space> blas{Space()};
  HostMatrix L;
  std::int64_t order = -1;

  Factored(HostMatrix const& A, LayerList const& layers, std::int64_t leaf,
           LeafSolve solve = LeafSolve::Automatic, std::int64_t groups = 0,
           std::int64_t most_rows = 8192)
      : tree(Space(), static_cast<std::int64_t>(A.extent(0)), layers, leaf, with(solve)),
        L("strata::test::L", A.extent(0), A.extent(1)) {
    auto const device = on_device<Space>(A, 3);
    tree.load(Space(), Uplo::Lower, matrix_ref(device));
    Kokkos::View<std::int64_t, typename Space::memory_space> const info("strata::test::info");
    if (groups > 0)
      dense::detail::IntegerPotrf<Space>(blas, tree, info, {}, {}, groups, most_rows)();
    else
      tree_potrf(blas, tree, info);
    tree.store(Space(), Uplo::Lower, matrix_ref(device));
    Kokkos::fence("strata::test::factored");
    Kokkos::deep_copy(order, info);
    Kokkos::deep_copy(L, on_host(device));
  }

 private:
  static BlockTreeOptions with(LeafSolve solve) {
    BlockTreeOptions options;
    options.leaf_solve = solve;
    return options;
  }
};

struct Errors {
  double rms = 0;       ///< root mean square of |A - L L^T|_ij / sqrt(a_ii a_jj)
  double of_bound = 0;  ///< largest part of the bound
};

// Of the bound that IntegerPotrf states, with a leaf of w columns.
Errors errors_of(HostMatrix const& A, HostMatrix const& L, double theta, double w) {
  std::size_t const n = A.extent(0);
  double const root = std::sqrt(static_cast<double>(n)),
               first = root * theta * (1 + root * theta / 4);
  Errors found;
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = j; i < n; ++i) {
      long double sum = -static_cast<long double>(A(i, j));
      double magnitude = 0;
      for (std::size_t k = 0; k <= j; ++k) {
        sum += static_cast<long double>(L(i, k)) * L(j, k);
        magnitude += std::abs(L(i, k) * L(j, k));
      }
      auto const error = static_cast<double>(std::abs(sum));
      double const size = std::sqrt(A(i, i)) * std::sqrt(A(j, j));
      found.rms += error / size * (error / size);
      found.of_bound = std::max(found.of_bound, error / (first * size + (w + 3) * u * magnitude));
    }
  found.rms = std::sqrt(2 * found.rms / (static_cast<double>(n) * static_cast<double>(n)));
  return found;
}

// Errors are as random roundings make them, 0.41 theta sqrt(a_ii a_jj) at most.
template <class Space>
void errors_are_as_foretold() {
  std::int64_t const n = 200, leaf = 40;
  for (auto const& [name, A] : hard_matrices(n))
    for (int moduli = least_moduli; moduli <= most_moduli; ++moduli) {
      Factored<Space> const found(A, {integer_precision(moduli)}, leaf, LeafSolve::Substitution);
      if (moduli == least_moduli && found.order != 0) continue;  // too ill-conditioned for it
      ASSERT_EQ(found.order, 0) << name << ", " << moduli;
      double const theta = theta_of(moduli);
      auto const [rms, of_bound] = errors_of(A, found.L, theta, static_cast<double>(leaf));
      EXPECT_LE(of_bound, 1) << name << ", " << moduli;
      EXPECT_LE(rms, 0.41 * theta + 2 * u) << name << ", " << moduli;
      if (moduli <= 10 && name == "geometric 1e2") {
        EXPECT_GE(rms, 0.23 / 4 * theta) << moduli;
      }
    }
}

// By inverses of 256 columns, leaves that are no multiple of 16, and orders beside those of whole
// leaves.
template <class Space>
void every_order_is_factored() {
  for (std::int64_t const n : {0, 1, 29, 30, 31, 61, 95, 330})
    for (LeafSolve const solve : {LeafSolve::Substitution, LeafSolve::Inverse})
      for (std::int64_t const leaf : {30, 300}) {
        auto const A = n == 0 ? HostMatrix("strata::test::empty", 0, 0)
                              : generated(MatrixKind::Geometric, n, 10);
        if (n == 0) continue;
        Factored<Space> const found(A, {Precision::int8x14}, leaf, solve);
        ASSERT_EQ(found.order, 0) << n;
        EXPECT_LE(errors_of(A, found.L, theta_of(14), static_cast<double>(leaf)).of_bound, 4)
            << n << ", " << leaf;
      }
}

// fp64_int8: at most twice the error of fp64's own factor.
template <class Space>
void is_as_accurate_as_fp64() {
  std::int64_t const n = 320, leaf = 64;
  EXPECT_EQ(LayerList::parse("fp64_int8"), LayerList{Precision::int8x14});
  std::vector<Named> matrices = {{"geometric 1e12", generated(MatrixKind::Geometric, n, 1e12)},
                                 {"Matern, strong", covariance(n, 0.5)},
                                 {"geometric 1e2", generated(MatrixKind::Geometric, n, 1e2)},
                                 {"bad scales", scaled(covariance(n, 0.1), 60)}};
  for (auto const& [name, A] : matrices) {
    Factored<Space> const integers(A, LayerList::parse("fp64_int8"), leaf),
        plain(A, {Precision::fp64}, leaf);
    ASSERT_EQ(plain.order, 0) << name;
    ASSERT_EQ(integers.order, 0) << name;
    double const w = static_cast<double>(leaf);
    EXPECT_LE(errors_of(A, integers.L, 0, w).rms, 2 * errors_of(A, plain.L, 0, w).rms) << name;
  }
}

template <class Space>
void bits_are_the_same_for_every_cut() {
  std::int64_t const n = 333, leaf = 24;
  auto const A = covariance(n, 0.1);
  for (int const moduli : {7, 14}) {
    LayerList const layers{integer_precision(moduli)};
    Factored<Space> const whole(A, layers, leaf, LeafSolve::Substitution, 1);
    ASSERT_EQ(whole.order, 0);
    for (auto const& [groups, rows] : {std::pair<std::int64_t, std::int64_t>(2, 8192),
                                       {3, 50},
                                       {5, 16},
                                       {14, 8192},
                                       {100, 100}}) {
      Factored<Space> const cut(A, layers, leaf, LeafSolve::Substitution, groups, rows);
      EXPECT_EQ(largest_difference(cut.L, whole.L), 0) << groups << ", " << rows;
    }
  }
}

// The integers of a row that is too long would be taken for others modulo P, and may leave a
// positive pivot.
template <class Space>
void what_is_not_definite_is_told() {
  std::int64_t const n = 150, leaf = 32;
  for (int const moduli : {6, 7, 14, 16})
    for (auto const& [order, row] :
         {std::pair<std::int64_t, std::size_t>(n, 40), {n, 75}, {129, 128}})
      for (double const factor :
           {100.0, 1e4,
            3e7}) {  // the last row of 129 has a leaf of its own, whose pivot may be anything
        auto const A = generated(MatrixKind::Geometric, order, 10);
        A(row, 3) = factor * std::sqrt(A(row, row) * A(3, 3));
        Factored<Space> const found(A, {integer_precision(moduli)}, leaf);
        EXPECT_GT(found.order, 0) << moduli << ", " << row << ", " << factor;
        EXPECT_LE(found.order, static_cast<std::int64_t>(row) + 1);
      }
  for (double const bad : {nan_value, std::numeric_limits<double>::infinity(), -1.0})
    for (std::size_t const row : {0, 40, 149}) {
      auto const A = generated(MatrixKind::Geometric, n, 10);
      A(row, row) = bad;
      Factored<Space> const found(A, {Precision::int8x9}, leaf);
      EXPECT_GT(found.order, 0) << bad << ", " << row;
      EXPECT_LE(found.order, static_cast<std::int64_t>(row) + 1) << bad;
    }
  auto const A = generated(MatrixKind::Geometric, n, 10);
  A(100, 7) = nan_value;
  EXPECT_EQ((Factored<Space>(A, {Precision::int8x9}, leaf).order), 101);
}

// The ladder's report, the solve to fp64's backward error, and the log-determinant within both
// bars.
template <class Space>
void solves_and_log_determinants_are_those_of_fp64() {
  std::int64_t const n = 300;
  for (double const condition : {1e2, 1e4, 1e8}) {
    auto const A = generated(MatrixKind::Geometric, n, condition);
    auto const device = on_device<Space>(A);
    auto plain = cholesky(Space(), device, LayerList{Precision::fp64});
    auto const exact = plain.log_determinant(Space());
    auto const L = on_device<Space>(A);
    plain.copy_factor(Space(), matrix_ref(L));
    Kokkos::fence("strata::test::factor");
    auto const l = on_host(L);
    double sum = 0;
    for (std::size_t i = 0; i < l.extent(0); ++i) sum += std::abs(2 * std::log(l(i, i)));
    for (int const moduli : {8, 9, 11, 14}) {
      auto factor = cholesky(Space(), device, LayerList{integer_precision(moduli)});
      ASSERT_TRUE(factor.info().ok());
      EXPECT_EQ(factor.report().layers, LayerList{integer_precision(moduli)}) << condition;
      auto const found = factor.log_determinant(Space());
      EXPECT_LE(std::abs(found.value - exact.value), found.error() + exact.error())
          << condition << ", " << moduli;
      if (moduli == 14 && condition <= 1e4) {
        EXPECT_LE(std::abs(found.value - exact.value), 1e-13 * sum) << condition;
      }
    }
  }
}

// Another list than one of integers alone goes by the recursion, whose products measure their rows.
template <class Space>
void mixed_lists_are_factored() {
  auto const A = generated(MatrixKind::Geometric, 260, 100);
  for (auto const* const text : {"int8x9,fp64", "int8x8,int8x14", "fp32,int8x9", "int8x9,fp32"})
    for (LeafSolve const solve : {LeafSolve::Substitution, LeafSolve::Inverse}) {
      auto const layers = LayerList::parse(text);
      Factored<Space> const found(A, layers, 40, solve);
      ASSERT_EQ(found.order, 0) << text;
      EXPECT_LE(factor_error(A, found.L), 10 * layers.unit_roundoff()) << text;
    }
}

// SYRK and TRSM of trees: an error of the format, neither more nor that of fp64.
template <class Space>
void products_of_trees_have_the_formats_error() {
  std::int64_t const n = 130, k = 70, m = 20;
  LayerList const layers{Precision::int8x9};
  double const theta = theta_of(9);
  LeafBlas<Space> blas{Space()};
  auto const A = random_matrix(n, k, 1), old = random_matrix(n, n, 2);
  auto const a = on_device<Space>(A), c = on_device<Space>(old);
  tree_syrk(blas, layers, 32, Uplo::Lower, Op::NoTrans, -1, matrix_ref(a), 1, matrix_ref(c));
  Kokkos::fence("strata::test::syrk");
  auto const C = on_host(c);
  double largest = 0;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) {
      long double sum = old(i, j);
      for (std::int64_t p = 0; p < k && i >= j; ++p)
        sum -= static_cast<long double>(A(i, p)) * A(j, p);
      largest = std::max(largest, static_cast<double>(std::abs(C(i, j) - sum)));
    }
  EXPECT_LE(largest, std::sqrt(k) * theta * k);  // rows have norms of about sqrt(k / 3)
  EXPECT_GE(largest, theta);

  auto const T = random_triangle(n, 3), B = random_matrix(n, m, 4);
  BlockTree<LayerList, Space> tree(Space(), n, layers, 32);
  auto const t = on_device<Space>(T), x = on_device<Space>(B);
  tree.load(Space(), Uplo::Lower, matrix_ref(t));
  tree.quantise_all(blas);
  tree_trsm(blas, Side::Left, Op::NoTrans, Diag::NonUnit, 1, tree, matrix_ref(x),
            Products::Layered);
  Kokkos::fence("strata::test::trsm");
  auto const X = on_host(x);
  largest = 0;
  for (std::int64_t j = 0; j < m; ++j)
    for (std::int64_t i = 0; i < n; ++i) {
      long double sum = -B(i, j);
      for (std::int64_t p = 0; p <= i; ++p) sum += static_cast<long double>(T(i, p)) * X(p, j);
      largest = std::max(largest, static_cast<double>(std::abs(sum)));
    }
  EXPECT_LE(largest, 10 * theta);
  EXPECT_GE(largest, theta / 1000);
}

template <class Space>
class IntegerPotrfOn : public testing::Test {};
TYPED_TEST_SUITE(IntegerPotrfOn, Spaces, SpaceNames);

TYPED_TEST(IntegerPotrfOn, ErrorsAreAsForetold) { errors_are_as_foretold<TypeParam>(); }
TYPED_TEST(IntegerPotrfOn, EveryOrderIsFactored) { every_order_is_factored<TypeParam>(); }
TYPED_TEST(IntegerPotrfOn, IsAsAccurateAsDoublePrecision) { is_as_accurate_as_fp64<TypeParam>(); }
TYPED_TEST(IntegerPotrfOn, BitsAreTheSameForEveryCut) {
  bits_are_the_same_for_every_cut<TypeParam>();
}
TYPED_TEST(IntegerPotrfOn, WhatIsNotDefiniteIsTold) { what_is_not_definite_is_told<TypeParam>(); }
TYPED_TEST(IntegerPotrfOn, SolvesAndLogDeterminantsAreThoseOfDoublePrecision) {
  solves_and_log_determinants_are_those_of_fp64<TypeParam>();
}
TYPED_TEST(IntegerPotrfOn, ProductsOfTreesHaveTheFormatsError) {
  products_of_trees_have_the_formats_error<TypeParam>();
}
TYPED_TEST(IntegerPotrfOn, MixedListsAreFactored) { mixed_lists_are_factored<TypeParam>(); }

// By theta sqrt(n) <= 0.007 p; rungs that would send it on are left out.
TYPED_TEST(IntegerPotrfOn, IntegersGetTheModuliThatAForetoldPivotAsksFor) {
  namespace detail = strata::dense::detail;
  EXPECT_EQ(detail::moduli_for(16384, 1e-1), 7);
  EXPECT_EQ(detail::moduli_for(16384, 1e-6), 9);
  EXPECT_EQ(detail::moduli_for(16384, 1e-7), 10);
  EXPECT_EQ(detail::moduli_for(16384, 1e-12), 0);
  double const least = detail::pivot_of_integers(16384, Precision::int8x10);
  EXPECT_EQ(detail::moduli_for(16384, least), 10);
  EXPECT_EQ(detail::moduli_for(16384, 0.99 * least), 11);
  EXPECT_EQ(detail::moduli_for(16384, std::numeric_limits<double>::quiet_NaN()), 0);
  LayerList const fp64{Precision::fp64}, integers{Precision::int8x9};
  std::vector<detail::Step> steps{{Rung::AsAsked, LayerList{Precision::fp16, Precision::fp32}, 0},
                                  {Rung::HigherLayers, integers, 0},
                                  {Rung::Fp64, fp64, 0}};
  EXPECT_EQ(detail::rung_for<TypeParam>(16384, steps, 1, 1e-7), 1u);
  EXPECT_EQ(steps[1].layers, LayerList{Precision::int8x10});
  EXPECT_EQ(detail::rung_for<TypeParam>(16384, steps, 1, 1e-13), 2u);
  EXPECT_EQ(detail::rung_for<TypeParam>(16384, steps, 2, 1), 2u)
      << "the last one is tried in any case";
}

}  // namespace
}  // namespace strata::test
