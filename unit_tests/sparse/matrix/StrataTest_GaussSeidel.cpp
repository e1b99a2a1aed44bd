// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Sparse.hpp"
#include <sparse/formats/Strata_SlicedEllAssembly.hpp>
#include <sparse/matrix/Strata_GaussSeidel.hpp>
#include <sparse/matrix/Strata_StencilProblem.hpp>
#include <sparse/matrix/Strata_SweepOrder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

// Colourings and sweeps against sequential loops over lists of rows.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

template <class Exec>
using Matrix = EllMatrix<double, std::int32_t, typename Exec::memory_space>;

constexpr ColouringMethod methods[] = {ColouringMethod::JonesPlassmannLuby, ColouringMethod::Greedy,
                                       ColouringMethod::Levels};

/// Neighbours of each row in A + A', the row itself left out.
std::vector<std::vector<std::int64_t>> neighbours(RowList const& rows) {
  auto const n = static_cast<std::int64_t>(rows.size());
  std::vector<std::vector<std::int64_t>> graph(rows.size());
  for (std::int64_t i = 0; i < n; ++i)
    for (auto const& [j, value] : rows[static_cast<std::size_t>(i)])
      if (j != i && j < n) {
        graph[static_cast<std::size_t>(i)].push_back(j);
        graph[static_cast<std::size_t>(j)].push_back(i);
      }
  return graph;
}

template <class Exec>
Colouring<typename Exec::memory_space> coloured(Exec const& exec, Matrix<Exec> const& A,
                                                ColouringMethod method, std::uint64_t seed = 0) {
  if (has_symmetric_pattern(exec, A)) return colour_rows(exec, A, method, seed);
  return colour_rows(exec, symmetric_pattern(exec, A), method, seed);
}

template <class Exec>
SweepOrder<typename Exec::memory_space> ordered(Exec const& exec, Matrix<Exec> const& A,
                                                ColouringMethod method) {
  auto const colouring = coloured(exec, A, method);
  std::vector<int> order = alternating_order(colouring.count);
  if (method == ColouringMethod::Levels) std::sort(order.begin(), order.end());
  if (has_symmetric_pattern(exec, A)) return make_sweep_order(exec, A, colouring, order);
  return make_sweep_order(exec, symmetric_pattern(exec, A), colouring, order);
}

/// The sequential algorithms: rows in order, smallest colour free (or wavefront).
std::vector<double> sequential_colours(RowList const& rows, bool levels) {
  auto const graph = neighbours(rows);
  std::vector<double> colour(rows.size(), -1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<bool> used(rows.size() + 1);
    double level = 0;
    for (auto const j : graph[i]) {
      double const theirs = colour[static_cast<std::size_t>(j)];
      if (theirs < 0) continue;
      used[static_cast<std::size_t>(theirs)] = true;
      level = std::max(level, theirs + 1);
    }
    colour[i] =
        levels ? level
               : static_cast<double>(std::find(used.begin(), used.end(), false) - used.begin());
  }
  return colour;
}

template <class Exec, class Source>
void expect_colourings(std::int64_t n, Source const& source) {
  Exec const exec;
  auto const A = make_ell_matrix<double, std::int32_t>(exec, n, n, source);
  auto const rows = listed(n, source);
  auto const graph = neighbours(rows);
  for (auto const method : methods) {
    auto const colouring = coloured(exec, A, method, 5);
    auto const colour = to_host(exec, colouring.colour);
    for (std::size_t i = 0; i < colour.size(); ++i)
      for (auto const j : graph[i]) EXPECT_NE(colour[i], colour[static_cast<std::size_t>(j)]);
    double const most = colour.empty() ? -1 : *std::max_element(colour.begin(), colour.end());
    EXPECT_EQ(most, colouring.count - 1);
    if (method == ColouringMethod::JonesPlassmannLuby)
      EXPECT_EQ(colour, to_host(exec, coloured(exec, A, method, 5).colour));
    else
      EXPECT_EQ(colour, sequential_colours(rows, method == ColouringMethod::Levels));
  }
}

/// x after a sweep over the rows in the order of `sequence`.
std::vector<double> swept(RowList const& rows, std::vector<double> const& sequence,
                          std::vector<double> const& r, std::vector<double> x) {
  for (double const row : sequence) {
    auto const i = static_cast<std::size_t>(row);
    double sum = r[i], diagonal = 0;
    for (auto const& [j, value] : rows[i])
      if (j == static_cast<std::int64_t>(i))
        diagonal += value;
      else
        sum -= value * x[static_cast<std::size_t>(j)];
    x[i] = sum / diagonal;
  }
  return x;
}

std::vector<double> gathered(std::vector<double> const& x, std::vector<double> const& index) {
  std::vector<double> result(index.size());
  for (std::size_t i = 0; i < index.size(); ++i) result[i] = x[static_cast<std::size_t>(index[i])];
  return result;
}

/// Sweeps of `permuted`, the matrix of `rows` in `order`, in each direction.
template <class Exec, class Permuted, class Order>
void expect_sweeps(Exec const& exec, RowList const& rows, Order const& order,
                   Permuted const& permuted) {
  auto const n = static_cast<std::int64_t>(rows.size());
  auto const sequence = to_host(exec, order.old_row), position = to_host(exec, order.new_row);
  std::vector<double> const back(sequence.rbegin(), sequence.rend());
  auto const r = random_vector(n, 3), start = random_vector(n, 4);
  std::vector<double> const zero(r.size());
  for (auto const sweep : {Sweep::Forward, Sweep::Backward, Sweep::Symmetric})
    for (auto const guess : {Guess::Given, Guess::Zero}) {
      auto expected = guess == Guess::Given ? start : zero;
      if (sweep != Sweep::Backward) expected = swept(rows, sequence, r, expected);
      if (sweep != Sweep::Forward) expected = swept(rows, back, r, expected);
      std::vector<double> const nothing(r.size(), std::numeric_limits<double>::quiet_NaN());
      auto const x =
          to_device<double>(exec, guess == Guess::Given ? gathered(start, sequence) : nothing);
      gauss_seidel(exec, permuted, order.blocks, to_device<double>(exec, gathered(r, sequence)), x,
                   sweep, guess);
      auto const actual = gathered(to_host(exec, x), position);
      for (std::size_t i = 0; i < actual.size(); ++i)
        ASSERT_NEAR(actual[i], expected[i], 1e-13) << i;
    }
}

template <class Exec, class Source>
void expect_sweeps(std::int64_t n, Source const& source, ColouringMethod method) {
  Exec const exec;
  auto const A = make_ell_matrix<double, std::int32_t>(exec, n, n, source);
  auto const order = ordered(exec, A, method);
  EXPECT_EQ(order.free_rows, n);
  EXPECT_EQ(order.blocks.size(), static_cast<std::size_t>(order.colours));
  PermutedRows<Matrix<Exec>> const permuted{A, order.old_row, order.new_row};
  auto const rows = listed(n, source);
  expect_sweeps(exec, rows, order, make_ell_matrix<double, std::int32_t>(exec, n, n, permuted));
  for (auto const least : {Columns::Shared, Columns::Narrow, Columns::Wide})
    expect_sweeps(exec, rows, order, make_sliced_ell_matrix(exec, n, n, permuted, least));
}

/// From zero a forward sweep is, to the bit, a full one of zeros, which is compared with the
/// sequential loop; what x holds before it, here NaN, doesn't count.
template <class Exec, class Value, class Scalar, class Source>
void expect_zeros_left_out(std::int64_t n, Source const& source, ColouringMethod method) {
  Exec const exec;
  auto const A = make_ell_matrix<double, std::int32_t>(exec, n, n, source);
  auto const order = ordered(exec, A, method);
  PermutedRows<Matrix<Exec>> const permuted{A, order.old_row, order.new_row};
  auto const r = to_device<Scalar>(exec, random_vector(n, 3));
  std::vector<double> const zeros(static_cast<std::size_t>(n)),
      nothing(zeros.size(), std::numeric_limits<double>::quiet_NaN());
  for (auto const least : {Columns::Shared, Columns::Narrow, Columns::Wide}) {
    auto const wide = make_sliced_ell_matrix(exec, n, n, permuted, least);
    auto const stored = wide.with_values(to_device<Value>(
        exec, to_host(exec, Kokkos::View<double const*, typename Exec::memory_space>(
                                wide.values(), wide.stored()))));
    auto const x = to_device<Scalar>(exec, zeros), y = to_device<Scalar>(exec, nothing);
    gauss_seidel(exec, stored, order.blocks, r, x, Sweep::Forward, Guess::Given);
    gauss_seidel(exec, stored, order.blocks, r, y, Sweep::Forward, Guess::Zero);
    EXPECT_EQ(to_host(exec, x), to_host(exec, y)) << name_of(method) << ", n = " << n;
  }
}

template <class Exec, class Value, class Scalar>
void expect_zeros_left_out() {
  for (auto const method : methods) {
    for (std::int64_t const n : {0, 1, 31, 32, 33, 300})
      expect_zeros_left_out<Exec, Value, Scalar>(n, RandomRows{n, 12}, method);
    // lines of whole slices, of parts of one, and of more than one
    for (std::int64_t const nx : {64, 13, 67})
      expect_zeros_left_out<Exec, Value, Scalar>(nx * 6 * 5, StencilProblem{nx, 6, 5}, method);
  }
}

template <class Exec>
void expect_lexicographic() {
  Exec const exec;
  StencilProblem const box{9, 7, 5};
  auto const A = make_ell_matrix<double, std::int32_t>(exec, box.rows(), box.rows(), box);
  auto const order = ordered(exec, A, ColouringMethod::Levels);
  auto const rows = listed(box.rows(), box);
  auto const sequence = to_host(exec, order.old_row), position = to_host(exec, order.new_row);
  std::vector<double> in_order(static_cast<std::size_t>(box.rows()));
  std::iota(in_order.begin(), in_order.end(), 0.0);
  auto const r = random_vector(box.rows(), 3);
  auto const permuted = make_ell_matrix<double, std::int32_t>(
      exec, box.rows(), box.rows(), PermutedRows<Matrix<Exec>>{A, order.old_row, order.new_row});
  auto const x = to_device<double>(exec, r);
  gauss_seidel(exec, permuted, order.blocks, to_device<double>(exec, gathered(r, sequence)), x,
               Sweep::Forward, Guess::Zero);
  auto const expected = swept(rows, in_order, r, std::vector<double>(r.size()));
  auto const actual = gathered(to_host(exec, x), position);
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-15);
}

template <class Exec>
void expect_parities(StencilProblem const& box) {
  Exec const exec;
  auto const A = make_ell_matrix<double, std::int32_t>(exec, box.rows(), box.rows(), box);
  auto const colouring = colour_rows(exec, A, ColouringMethod::Greedy);
  EXPECT_EQ(colouring.count, 8);
  auto const colour = to_host(exec, colouring.colour);
  for (std::int64_t i = 0; i < box.rows(); ++i) {
    auto const x = i % box.nx, y = i / box.nx % box.ny, z = i / (box.nx * box.ny);
    EXPECT_EQ(colour[static_cast<std::size_t>(i)],
              static_cast<double>(x % 2 + 2 * (y % 2) + 4 * (z % 2)));
  }
  auto const order = make_sweep_order(exec, A, colouring, {7, 0, 6, 1, 5, 2, 4, 3});
  EXPECT_EQ(order.blocks[1].size(), (box.nx + 1) / 2 * ((box.ny + 1) / 2) * ((box.nz + 1) / 2));
}

template <class Exec>
void expect_order_refused() {
  Exec const exec;
  StencilProblem const box{4, 4, 4};
  auto const A = make_ell_matrix<double, std::int32_t>(exec, 64, 64, box);
  auto const colouring = colour_rows(exec, A, ColouringMethod::Greedy);
  for (std::vector<int> const& order :
       {std::vector<int>{0, 1}, {0, 1, 2, 3, 4, 5, 6, 6}, {1, 2, 3, 4, 5, 6, 7, 8}})
    EXPECT_TRUE(throws_with<ValueError>("permutation of the 8 colours", [&] {
      (void)make_sweep_order(exec, A, colouring, order);
    }));
}

template <class Space>
struct GaussSeidel : testing::Test {};
TYPED_TEST_SUITE(GaussSeidel, Spaces, SpaceNames);

TYPED_TEST(GaussSeidel, ColoursDifferBetweenNeighboursOfAnyMatrix) {
  for (std::int64_t const n : {0, 1, 2, 100, 500})
    for (int const widest : {1, 3, 30, 200}) expect_colourings<TypeParam>(n, RandomRows{n, widest});
  expect_colourings<TypeParam>(7 * 5 * 6, StencilProblem{7, 5, 6});
}
TYPED_TEST(GaussSeidel, GreedyColoursOfAStencilAreTheParities) {
  expect_parities<TypeParam>({13, 13, 13});
  expect_parities<TypeParam>({8, 6, 4});
}
TYPED_TEST(GaussSeidel, SweepsAsTheSequentialLoop) {
  for (auto const method : methods) {
    expect_sweeps<TypeParam>(0, RandomRows{0, 1}, method);
    expect_sweeps<TypeParam>(300, RandomRows{300, 12}, method);
    expect_sweeps<TypeParam>(300, RandomRows{300, 200}, method);
    expect_sweeps<TypeParam>(13 * 13 * 13, StencilProblem{13, 13, 13}, method);
  }
}
TYPED_TEST(GaussSeidel, FromZeroIsAFullSweepOfZeros) {
  expect_zeros_left_out<TypeParam, fp64, fp64>();
  expect_zeros_left_out<TypeParam, fp32, fp32>();
  expect_zeros_left_out<TypeParam, bf16, fp32>();
  expect_zeros_left_out<TypeParam, fp16, fp64>();
}
TYPED_TEST(GaussSeidel, LevelsAreTheLexicographicSweep) { expect_lexicographic<TypeParam>(); }
TYPED_TEST(GaussSeidel, RefusesAnOrderThatIsNoPermutation) { expect_order_refused<TypeParam>(); }

TEST(AlternatingOrder, SweepsTheInjectedColourSecond) {
  EXPECT_EQ(alternating_order(8), (std::vector<int>{7, 0, 6, 1, 5, 2, 4, 3}));
  EXPECT_EQ(alternating_order(3), (std::vector<int>{2, 0, 1}));
  EXPECT_TRUE(alternating_order(0).empty());
}

}  // namespace
