// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Sparse.hpp"
#include <sparse/matrix/Strata_HostRows.hpp>
#include <sparse/matrix/Strata_ModelProblems.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

// A matrix that is made beside an older one, whose pattern it may take.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

HostRows model_rows_of(ModelProblem problem) {
  ModelSize const size{7, 6, 5};
  return make_model(problem, size, 0, model_rows(problem, size));
}

HostRows scattered_rows(std::int64_t n) {
  HostRows rows;
  for (std::int64_t i = 0; i < n; ++i) {
    std::vector<std::int64_t> columns{i, (7 * i + 3) % n, (31 * i + 11) % n};
    if (i % 5 == 0) columns.push_back((i * i + 1) % n);
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    for (auto const j : columns) rows.add(j, 1 + uniform(4, i, j));
    rows.end_row();
  }
  return rows;
}

std::pair<std::size_t, std::size_t> ends(HostRows const& rows, std::int64_t i) {
  auto const row = static_cast<std::size_t>(i);
  return {static_cast<std::size_t>(rows.begin[row]), static_cast<std::size_t>(rows.begin[row + 1])};
}

HostRows with_other_values(HostRows rows) {
  for (std::size_t k = 0; k < rows.value.size(); ++k)
    rows.value[k] = 2 * uniform(9, static_cast<std::int64_t>(k), 0) - 1;
  return rows;
}

// Each row's entries from the last one to the first.
HostRows backwards(HostRows rows) {
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    auto const [first, end] = ends(rows, i);
    auto const at = [](auto& numbers, std::size_t k) {
      return numbers.begin() + static_cast<std::ptrdiff_t>(k);
    };
    std::reverse(at(rows.column, first), at(rows.column, end));
    std::reverse(at(rows.value, first), at(rows.value, end));
  }
  return rows;
}

template <class Exec>
void const* slices_of(DistributedMatrix<Exec> const& A) {
  return std::visit([](auto const& stored) -> void const* { return stored.arrays().slices.data(); },
                    A.stored());
}

// Each row's first entry twice, one beside the other.
HostRows doubled(HostRows const& rows) {
  HostRows result;
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    auto const [first, end] = ends(rows, i);
    result.add(rows.column[first], 0.75);
    for (auto k = first; k < end; ++k) result.add(rows.column[k], rows.value[k]);
    result.end_row();
  }
  return result;
}

// Each row's entries from its middle and from its begin, in turns.
HostRows woven(HostRows const& rows) {
  HostRows result;
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    auto const [first, end] = ends(rows, i);
    auto const half = (end - first) / 2;
    for (std::size_t k = 0; k < end - first; ++k) {
      auto const at = first + (k % 2 == 0 ? half : 0) + k / 2;
      result.add(rows.column[at], rows.value[at]);
    }
    result.end_row();
  }
  return result;
}

// The sum of what follows each other in one column.
HostRows summed(HostRows const& rows) {
  HostRows result;
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    auto const [first, end] = ends(rows, i);
    for (auto k = first; k < end; ++k)
      if (k > first && rows.column[k] == rows.column[k - 1])
        result.value.back() += rows.value[k];
      else
        result.add(rows.column[k], rows.value[k]);
    result.end_row();
  }
  return result;
}

// A full first row, listed in an order that jumps, and the diagonal.
HostRows arrow(std::int64_t n, std::int64_t step) {
  HostRows rows;
  for (std::int64_t k = 0; k < n; ++k) rows.add(k * step % n, uniform(6, k * step % n, 0));
  rows.end_row();
  for (std::int64_t i = 1; i < n; ++i) {
    rows.add(i, 2);
    rows.end_row();
  }
  return rows;
}

template <class Exec>
void expect_same_rows(DistributedMatrix<Exec> const& A, HostRows const& expected) {
  Exec const exec;
  auto const fresh = summed(rows_of(exec, make_matrix(exec, Communicator(), expected)));
  auto const found = summed(rows_of(exec, A));
  EXPECT_EQ(found.begin, fresh.begin);
  EXPECT_EQ(found.column, fresh.column);
  EXPECT_EQ(found.value, fresh.value);
}

template <class Exec>
void expect_shared(HostRows const& rows) {
  Exec const exec;
  auto const old = make_matrix(exec, Communicator(), rows);
  auto const others = with_other_values(rows);
  for (auto const& other : {others, backwards(others), woven(others)}) {
    auto const A = make_matrix(exec, old, other);
    EXPECT_EQ(slices_of(A), slices_of(old));
    EXPECT_EQ(A.entries(), other.entries());
    expect_same_rows(A, other);
  }
  expect_same_rows(old, rows);
}

// The last entry of a row in another column, one entry fewer, and a row fewer.
template <class Exec>
void expect_anew(HostRows const& rows) {
  Exec const exec;
  auto const old = make_matrix(exec, Communicator(), rows);
  auto moved = rows, fewer = rows, shorter = rows;
  auto const last = moved.column.size() - 1;
  moved.column[last] = 0;
  fewer.column.pop_back();
  fewer.value.pop_back();
  --fewer.begin.back();
  shorter.begin.pop_back();
  auto const kept = static_cast<std::size_t>(shorter.begin.back());
  shorter.column.resize(kept);
  shorter.value.resize(kept);
  for (auto& column : shorter.column) column = std::min(column, shorter.rows() - 1);
  for (auto const& other : {moved, fewer, shorter}) {
    auto const A = make_matrix(exec, old, other);
    EXPECT_NE(slices_of(A), slices_of(old));
    EXPECT_EQ(A.entries(), other.entries());
    expect_same_rows(A, other);
  }
}

// In the order of a sweep columns have numbers of their own.
template <class Exec>
void expect_sweeps_anew() {
  Exec const exec;
  auto const rows = model_rows_of(ModelProblem::Poisson7), other = with_other_values(rows);
  MatrixOptions sweep;
  sweep.order = RowOrder::Sweep;
  auto const old = make_matrix(exec, Communicator(), rows, sweep);
  auto const A = make_matrix(exec, old, other, sweep);
  EXPECT_FALSE(A.order().is_natural);
  expect_same_rows(A, other);
  auto const natural = make_matrix(exec, Communicator(), rows);
  auto const swept = make_matrix(exec, natural, other, sweep);
  EXPECT_FALSE(swept.order().is_natural);
  expect_same_rows(swept, other);
  auto const narrow = make_matrix(exec, Communicator(), rows).stored_in(exec, Precision::fp32);
  auto const wide = make_matrix(exec, narrow, other);
  EXPECT_EQ(wide.precision(), Precision::fp64);
  expect_same_rows(wide, other);
}

template <class Space>
struct MatrixBeside : testing::Test {};
TYPED_TEST_SUITE(MatrixBeside, Spaces, SpaceNames);

TYPED_TEST(MatrixBeside, SharesThePatternWhereEachEntryHasAPlace) {
  for (auto const problem : {ModelProblem::Poisson7, ModelProblem::Elasticity})
    expect_shared<TypeParam>(model_rows_of(problem));
  expect_shared<TypeParam>(scattered_rows(211));
  expect_shared<TypeParam>(scattered_rows(70001));
  expect_shared<TypeParam>(HostRows());
  expect_shared<TypeParam>(doubled(scattered_rows(211)));
}

TYPED_TEST(MatrixBeside, IsMadeAnewWhereALongRowTakesTooManySteps) {
  TypeParam const exec;
  auto const rows = arrow(3000, 1), jumping = arrow(3000, 1291);
  auto const old = make_matrix(exec, Communicator(), rows);
  auto const A = make_matrix(exec, old, jumping), B = make_matrix(exec, old, backwards(rows));
  EXPECT_NE(slices_of(A), slices_of(old));
  EXPECT_EQ(slices_of(B), slices_of(old));
  expect_same_rows(A, rows);
  expect_same_rows(B, rows);
}

TYPED_TEST(MatrixBeside, IsMadeAnewForAnotherPattern) {
  expect_anew<TypeParam>(model_rows_of(ModelProblem::Poisson27));
  expect_anew<TypeParam>(scattered_rows(211));
}

TYPED_TEST(MatrixBeside, IsMadeAnewBesideAnotherOrderOrPrecision) {
  expect_sweeps_anew<TypeParam>();
}

TYPED_TEST(MatrixBeside, RefusesAColumnOutside) {
  TypeParam const exec;
  for (auto const& rows : {model_rows_of(ModelProblem::Poisson7), scattered_rows(100)}) {
    auto const old = make_matrix(exec, Communicator(), rows);
    for (auto const place : {std::size_t{3}, rows.column.size() - 1})
      for (auto const outside : {std::int64_t{-1}, rows.rows()}) {
        auto other = rows;
        other.column[place] = outside;
        EXPECT_THROW((void)make_matrix(exec, old, other), ValueError);
      }
  }
}

TYPED_TEST(MatrixBeside, RefusesAnEmptyMatrix) {
  TypeParam const exec;
  DistributedMatrix<TypeParam> const none;
  EXPECT_THROW((void)none.comm(), ValueError);
  EXPECT_THROW((void)make_matrix(exec, none, scattered_rows(9)), ValueError);
}

}  // namespace
