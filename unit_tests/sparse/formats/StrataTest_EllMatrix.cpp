// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Sparse.hpp"
#include <core/Strata_Errors.hpp>
#include <sparse/formats/Strata_EllKernels.hpp>
#include <sparse/formats/Strata_SlicedEllAssembly.hpp>

#include <KokkosSparse_CrsMatrix.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

// Every kernel against lists of rows on the host, for slices that are full, begun and empty.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t sizes[] = {0, 1, 31, 32, 33, 257};
constexpr int widths[] = {1, 2, 27, 200};
constexpr EllStorage storages[] = {EllStorage::Slab, EllStorage::Sliced};
constexpr Columns columns[] = {Columns::Shared, Columns::Narrow, Columns::Wide};

/// Rows of up to five entries at distances that neighbours share; n = 257 has slices that don't.
struct BandRows {
  std::int64_t cols;

  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Emit const& emit) const {
    for (std::int64_t const distance : {-40, -1, 0, 1, 40}) {
      std::int64_t const column = row + distance;
      bool const skipped = row % 5 == 2 && distance == 1;
      if (column >= 0 && column < cols && !skipped)
        emit(column, distance == 0 ? 8 + static_cast<double>(row % 3) / 2
                                   : -1 - static_cast<double>(distance) / 64);
    }
  }
};

/// check(A) with the matrix in each form that it can have.
template <class Value, class Exec, class Source, class Check>
void in_each_form(Exec const& exec, std::int64_t rows, std::int64_t cols, Source const& source,
                  Check const& check) {
  for (auto const storage : storages) {
    SCOPED_TRACE(storage == EllStorage::Slab ? "slab" : "sliced");
    check(make_ell_matrix<Value, std::int32_t>(exec, rows, cols, source, storage));
  }
  for (auto const least : columns) {
    SCOPED_TRACE(testing::Message() << "columns " << static_cast<int>(least));
    check(converted<Value>(exec, make_sliced_ell_matrix(exec, rows, cols, source, least)));
  }
}

/// |actual - sum| <= (terms + 2) u sum |.|
template <class Scalar>
void expect_sum(double actual, double sum, double magnitude, std::size_t terms) {
  double const u = traits(precision_of<Scalar>).unit_roundoff;
  EXPECT_LE(std::abs(actual - sum), static_cast<double>(terms + 2) * u * magnitude + 1e-300);
}

template <class Scalar, class Exec, class Matrix, class Source>
void expect_products(Exec const& exec, Matrix const& A, Source const& source) {
  std::int64_t const n = A.rows();
  auto const rows = listed(n, source);
  auto const x = random_vector(n + 5, 2), b = random_vector(n, 3);
  auto const device_x = to_device<Scalar>(exec, x), device_b = to_device<Scalar>(exec, b);
  auto const y =
      to_device<Scalar>(exec, std::vector<double>(static_cast<std::size_t>(n), not_a_number));
  auto const r = to_device<Scalar>(exec, b);
  RowRange const range{n / 5, n - n / 7};
  multiply(exec, A, device_x, y, range);
  residual(exec, A, r, device_x, r, range);
  auto const product = to_host(exec, y), rest = to_host(exec, r);
  for (std::int64_t i = 0; i < n; ++i) {
    auto const at = static_cast<std::size_t>(i);
    if (i < range.begin || i >= range.end) {
      EXPECT_TRUE(std::isnan(product[at]));
      EXPECT_EQ(rest[at], b[at]);
      continue;
    }
    double sum = 0, magnitude = 0;
    for (auto const& [column, value] : rows[at]) {
      sum += value * x[static_cast<std::size_t>(column)];
      magnitude += std::abs(value * x[static_cast<std::size_t>(column)]);
    }
    expect_sum<Scalar>(product[at], sum, magnitude, rows[at].size());
    expect_sum<Scalar>(rest[at], b[at] - sum, magnitude + std::abs(b[at]), rows[at].size() + 1);
  }
}

template <class Value, class Scalar, class Exec>
void expect_products(std::int64_t n, int widest) {
  Exec const exec;
  auto const check = [&](auto const& source) {
    in_each_form<Value>(exec, n, n + 5, source,
                        [&](auto const& A) { expect_products<Scalar>(exec, A, source); });
  };
  check(RandomRows{n + 5, widest});
  if (widest == widths[0]) check(BandRows{n + 5});
}

template <class Scalar, class Exec, class Matrix, class Source>
void expect_relaxed(Exec const& exec, Matrix const& A, Source const& source, Guess guess) {
  std::int64_t const n = A.rows();
  auto const rows = listed(n, source);
  auto const rhs = random_vector(n, 3);
  RowRange const range{n / 3, n};  // the rows are adjacent, but the test reads the old x only
  auto before = random_vector(n, 2);
  if (guess == Guess::Zero)  // what was not swept must not be read
    for (std::int64_t i = range.begin; i < n; ++i)
      before[static_cast<std::size_t>(i)] = not_a_number;
  if (guess == Guess::Cleared) std::fill(before.begin() + range.begin, before.end(), 0.0);
  for (std::int64_t i = range.begin; i < n; ++i) {
    auto const x = to_device<Scalar>(exec, before), r = to_device<Scalar>(exec, rhs);
    relax(exec, A, r, x, {i, i + 1}, guess);
    double sum = rhs[static_cast<std::size_t>(i)], diagonal = 0, magnitude = std::abs(sum);
    for (auto const& [column, value] : rows[static_cast<std::size_t>(i)]) {
      if (column == i) diagonal += value;
      if (column == i || (guess == Guess::Zero && column >= i)) continue;
      double const old = before[static_cast<std::size_t>(column)];
      if (guess == Guess::Zero && std::isnan(old)) {
        diagonal = not_a_number;  // an earlier row of this range: only ranges of one row are right
        break;
      }
      sum -= value * old;
      magnitude += std::abs(value * old);
    }
    auto const after = to_host(exec, x);
    if (std::isnan(diagonal)) continue;
    expect_sum<Scalar>(after[static_cast<std::size_t>(i)], sum / diagonal, magnitude / diagonal,
                       44);
    for (std::int64_t j = 0; j < range.begin; ++j)
      EXPECT_EQ(after[static_cast<std::size_t>(j)], before[static_cast<std::size_t>(j)]);
  }
}

template <class Exec, class Matrix>
void expect_restricted(Exec const& exec, Matrix const& A, bool reordered) {
  std::int64_t const n = A.rows(), coarse = 21;
  auto const x = to_device<double>(exec, random_vector(n, 2)),
             b = to_device<double>(exec, random_vector(n, 3));
  auto const all = to_device<double>(exec, random_vector(n, 4)),
             some = to_device<double>(exec, std::vector<double>(coarse));
  std::vector<double> chosen(coarse), backward(coarse);
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    chosen[c] = static_cast<double>((c * 37) % n);
    backward[c] = static_cast<double>(coarse - 1 - c);
  }
  Injection<typename Exec::memory_space> injection{to_device<std::int32_t>(exec, chosen), {}, 0};
  if (reordered) injection.order = to_device<std::int32_t>(exec, backward);
  residual(exec, A, b, x, all, {0, n});
  restrict_residual(exec, A, injection, b, x, some, {0, 5});
  auto const begun = to_host(exec, some);
  for (std::size_t c = 0; c < chosen.size(); ++c)
    EXPECT_EQ(begun[c] != 0, reordered ? c >= coarse - 5 : c < 5) << c;
  restrict_residual(exec, A, injection, b, x, some, {5, coarse});
  auto const fine = to_host(exec, all), result = to_host(exec, some);
  for (std::size_t c = 0; c < chosen.size(); ++c)
    EXPECT_NEAR(result[c], fine[static_cast<std::size_t>(chosen[c])], 1e-12);
}

template <class Exec>
void expect_rows_of_crs() {
  using Matrix = KokkosSparse::CrsMatrix<double, int, Exec, void, std::int64_t>;
  Exec const exec;
  std::int64_t const n = 70;
  auto const rows = listed(n, RandomRows{n, 60});
  std::vector<double> map{0}, entries, values;
  for (auto const& row : rows) {
    for (auto const& [column, value] : row) {
      entries.push_back(static_cast<double>(column));
      values.push_back(value);
    }
    map.push_back(static_cast<double>(entries.size()));
  }
  Matrix const crs("strata::test::crs", static_cast<int>(n), static_cast<int>(n),
                   static_cast<std::int64_t>(values.size()), to_device<double>(exec, values),
                   to_device<std::int64_t>(exec, map), to_device<int>(exec, entries));
  auto const A = make_ell_matrix<double, std::int32_t>(exec, n, n, CrsRows<Matrix>{crs});
  EXPECT_EQ(A.entries(), static_cast<std::int64_t>(values.size()));
  auto const x = random_vector(n, 5);
  auto const y = to_device<double>(exec, std::vector<double>(x.size()));
  multiply(exec, A, to_device<double>(exec, x), y, {0, n});
  auto const product = to_host(exec, y);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double sum = 0;
    for (auto const& [column, value] : rows[i]) sum += value * x[static_cast<std::size_t>(column)];
    EXPECT_NEAR(product[i], sum, 1e-11);
  }
}

template <class Exec>
void expect_exactness_told() {
  Exec const exec;
  std::int64_t const n = 40;
  RandomRows const eighths{n, 60};
  auto const A = make_ell_matrix<double, std::int32_t>(exec, n, n, eighths);
  EXPECT_TRUE(is_exact_in(exec, A, Precision::fp16));
  EXPECT_FALSE(is_exact_in(exec, A, Precision::bf16));  // 4 length + 1/2 needs more than 8 bits
  EXPECT_FALSE(is_exact_in(exec, A, Precision::fp8_e4m3));
  auto const narrow = converted<fp16>(exec, A);
  EXPECT_TRUE(is_exact_in(exec, narrow, Precision::fp32));
  auto const x = to_device<double>(exec, random_vector(n, 6));
  auto const y = to_device<double>(exec, random_vector(n, 7)),
             z = to_device<double>(exec, random_vector(n, 8));
  multiply(exec, A, x, y, {0, n});
  multiply(exec, narrow, x, z, {0, n});
  EXPECT_EQ(to_host(exec, y), to_host(exec, z));
}

struct WideRow {
  double value;
  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Emit const& emit) const {
    emit(row, value);
    if (row == 3) emit(10, value);
  }
};

template <class Exec>
void expect_refusals() {
  Exec const exec;
  auto const make = [&](std::int64_t rows, std::int64_t cols) {
    (void)make_ell_matrix<double, std::int16_t>(exec, rows, cols, WideRow{1});
  };
  EXPECT_TRUE(throws_with<ShapeError>("-1 x 5", [&] { make(-1, 5); }));
  EXPECT_TRUE(throws_with<ShapeError>("32768 columns", [&] { make(1, 32768); }));
  EXPECT_TRUE(throws_with<ValueError>("1 entries have a column outside", [&] { make(5, 10); }));
  EXPECT_FALSE(is_exact_in(exec,
                           make_ell_matrix<double, std::int32_t>(exec, 1, 1, WideRow{not_a_number}),
                           Precision::fp64));
  EXPECT_FALSE(is_exact_in(exec,
                           make_ell_matrix<double, std::int32_t>(exec, 1, 1, WideRow{1e300 * 1e10}),
                           Precision::fp64));
}

template <class Space>
struct EllMatrixTest : testing::Test {};
TYPED_TEST_SUITE(EllMatrixTest, Spaces, SpaceNames);

TYPED_TEST(EllMatrixTest, MultipliesAnyWidthInAnyStorage) {
  for (auto const n : sizes)
    for (int const widest : widths) {
      SCOPED_TRACE(testing::Message() << "n " << n << ", width " << widest);
      expect_products<double, double, TypeParam>(n, widest);
      expect_products<float, float, TypeParam>(n, widest);
      expect_products<fp16, double, TypeParam>(n, widest);
      expect_products<fp16, float, TypeParam>(n, widest);
    }
}
TYPED_TEST(EllMatrixTest, RelaxesRowsWithTheirOwnDiagonal) {
  TypeParam const exec;
  std::int64_t const n = 67;
  auto const check = [&](auto const& source) {
    for (auto const guess : {Guess::Given, Guess::Zero, Guess::Cleared})
      in_each_form<fp16>(exec, n, n, source, [&](auto const& A) {
        expect_relaxed<double>(exec, A, source, guess);
        expect_relaxed<float>(exec, A, source, guess);
      });
  };
  check(RandomRows{n, 40});
  check(BandRows{n});
}
TYPED_TEST(EllMatrixTest, RestrictsTheResidualAtChosenRows) {
  TypeParam const exec;
  for (bool const reordered : {false, true}) {
    auto const check = [&](auto const& A) { expect_restricted(exec, A, reordered); };
    in_each_form<fp64>(exec, 100, 100, RandomRows{100, 30}, check);
    in_each_form<fp64>(exec, 100, 100, BandRows{100}, check);
  }
}
TYPED_TEST(EllMatrixTest, IsBuiltFromACrsMatrix) { expect_rows_of_crs<TypeParam>(); }
TYPED_TEST(EllMatrixTest, KnowsWhichPrecisionLosesNothing) { expect_exactness_told<TypeParam>(); }
TYPED_TEST(EllMatrixTest, RefusesWhatDoesNotFit) { expect_refusals<TypeParam>(); }

TYPED_TEST(EllMatrixTest, SlicedPaddingEndsAtTheSlice) {
  TypeParam const exec;
  auto const slab =
      make_ell_matrix<double, std::int32_t>(exec, 64, 64, WideRow{1}, EllStorage::Slab);
  auto const sliced = make_ell_matrix<double, std::int32_t>(exec, 64, 64, WideRow{1});
  EXPECT_EQ(slab.stored(), 128);
  EXPECT_EQ(sliced.stored(), 96);
  EXPECT_EQ(sliced.entries(), 65);
}

// Kinds of the slices of a matrix, and entries() and column_bytes() of it.
template <class Exec, class Matrix>
std::vector<Columns> kinds(Exec const& exec, Matrix const& A) {
  auto const slices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), A.arrays().slices);
  exec.fence("strata::test::kinds");
  std::vector<Columns> result;
  for (std::size_t k = 0; k < slices.extent(0); ++k)
    result.push_back(static_cast<Columns>(slices(k).kind));
  return result;
}

/// One far entry in row 40, and one row that is twice as long as the others.
struct MixedRows {
  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Emit const& emit) const {
    emit(row, 2.0);
    if (row == 40) emit(99999, 1.0);
    if (row == 70)
      for (int k = 1; k < 9; ++k) emit(row - 3 * k, 1.0);
  }
};

TYPED_TEST(EllMatrixTest, StoresColumnsInTheFewestBytesThatHoldThem) {
  TypeParam const exec;
  auto const A = make_sliced_ell_matrix(exec, 100, 100000, MixedRows{});
  EXPECT_EQ(kinds(exec, A),
            (std::vector{Columns::Shared, Columns::Wide, Columns::Shared, Columns::Shared}));
  EXPECT_EQ(A.entries(), 109);
  EXPECT_EQ(A.stored(), 32 * (1 + 2 + 9 + 1));
  auto const narrow = make_sliced_ell_matrix(exec, 100, 100000, MixedRows{}, Columns::Narrow);
  EXPECT_EQ(kinds(exec, narrow),
            (std::vector{Columns::Narrow, Columns::Wide, Columns::Narrow, Columns::Narrow}));
  EXPECT_EQ(narrow.column_bytes(), 4 * 32 + 32 * (2 + 2 * 4 + 9 * 2 + 2));
  auto const wide = make_sliced_ell_matrix(exec, 100, 100000, MixedRows{}, Columns::Wide);
  EXPECT_EQ(kinds(exec, wide), std::vector(4, Columns::Wide));
  EXPECT_LT(A.column_bytes(), narrow.column_bytes());
  EXPECT_LT(narrow.column_bytes(), wide.column_bytes());
  auto const random = make_sliced_ell_matrix(exec, 64, 64, RandomRows{64, 20});
  EXPECT_EQ(kinds(exec, random), std::vector(2, Columns::Narrow));
}

// Entries up to the diagonal that do not come before the position that their slice says.
template <class Exec, class Matrix>
int out_of_order(Exec const& exec, Matrix const& A) {
  int count = 0;
  Kokkos::parallel_reduce(
      "strata::test::out_of_order", Kokkos::RangePolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int64_t i, int& sum) {
        auto const row = A.row(i);
        for (int k = A.slice(i / Matrix::slice_rows).lower; k < row.width; ++k)
          sum += A.column(i, k) <= i && A.values()[row.first + k * row.stride] != 0;
      },
      count);
  return count;
}

TYPED_TEST(EllMatrixTest, EntriesUpToTheDiagonalComeFirst) {
  TypeParam const exec;
  for (auto const least : columns) {
    EXPECT_EQ(out_of_order(exec, make_sliced_ell_matrix(exec, 257, 262, BandRows{262}, least)), 0);
    EXPECT_EQ(out_of_order(exec, make_sliced_ell_matrix(exec, 67, 67, RandomRows{67, 40}, least)),
              0);
    auto const A = make_sliced_ell_matrix(exec, 320, 320, BandRows{320}, least);
    auto const slices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), A.arrays().slices);
    exec.fence("strata::test::slices");
    EXPECT_EQ(slices(3).lower, 3) << "of five distances three are up to 0";
    EXPECT_EQ(slices(3).width, 5u);
  }
}

/// 64 rows, of which those from 48 on have entries of the halo, at distances that all of a slice
/// could share.
struct HaloRows {
  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Emit const& emit) const {
    emit(row, 2.0);
    if (row >= 48) emit(row + 17, 1.0);
    if (row == 63) emit(64, 1.0);
  }
};

TYPED_TEST(EllMatrixTest, RowsWithoutAHaloReadNone) {
  TypeParam const exec;
  std::vector<double> values(81, 1), nothing(64, not_a_number);
  for (std::size_t halo = 64; halo < values.size(); ++halo) values[halo] = not_a_number;
  auto const x = to_device<double>(exec, values);
  for (auto const least : columns) {
    auto const y = to_device<double>(exec, nothing);
    multiply(exec, make_sliced_ell_matrix(exec, 64, 81, HaloRows{}, least), x, y, {0, 48});
    auto const product = to_host(exec, y);
    for (std::size_t i = 0; i < 48; ++i) EXPECT_EQ(product[i], 2) << i;
  }
}

TYPED_TEST(EllMatrixTest, SlicedRefusesWhatDoesNotFit) {
  TypeParam const exec;
  EXPECT_TRUE(throws_with<ShapeError>(
      "-1 x 5", [&] { (void)make_sliced_ell_matrix(exec, -1, 5, WideRow{1}); }));
  EXPECT_TRUE(throws_with<ShapeError>("2147483648 columns", [&] {
    (void)make_sliced_ell_matrix(exec, 1, std::int64_t{1} << 31, WideRow{1});
  }));
  EXPECT_TRUE(throws_with<ValueError>("1 entries have a column outside", [&] {
    (void)make_sliced_ell_matrix(exec, 5, 10, WideRow{1});
  }));
}

}  // namespace
