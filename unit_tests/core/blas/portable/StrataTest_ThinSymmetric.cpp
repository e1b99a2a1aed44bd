// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_LeafBlas.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "core/blas/StrataTest_FiberTeam.hpp"
#include <core/blas/basics/Strata_SymmetricTiles.hpp>
#include <core/blas/portable/detail/Strata_ThinSymmetric.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace strata::test {
namespace {

// NaN outside the triangle that is read, and in what beta = 0 must not look at.
template <class Space>
void check(Precision precision, std::int64_t n, std::int64_t cols, Uplo uplo, double alpha,
           double beta, std::int64_t tile_cols = 0) {
  HostMatrix const values = reference::random(n, n, 1);
  StoredMatrix<Space> const A(
      reference::generate(n, n,
                          [&](auto i, auto j) {
                            return reference::in_triangle(uplo, i, j) ? values(i, j) : nan_value;
                          }),
      precision, 1);
  StoredMatrix<Space> const B(reference::random(n, cols, 2), precision, 2);
  HostMatrix const old = reference::random(n, cols, 3);
  StoredMatrix<Space> const C(
      beta == 0 ? reference::generate(n, cols, [](auto, auto) { return nan_value; }) : old,
      precision, 3);
  auto const a = reference::symmetric(uplo, A.read()), b = B.read(), c = C.read();
  auto const magnitude = reference::gemm(std::abs(alpha), reference::abs(a), reference::abs(b),
                                         std::abs(beta), reference::abs(c));
  Space const exec;
  strata::detail::Workspace<Space> workspace(exec);
  bool const done = strata::detail::thin_symmetric(exec, workspace, uplo, alpha, A.ref(), B.ref(),
                                                   beta, C.ref(), tile_cols);
  ASSERT_EQ(done, !strata::runs_on_host<Space>);
  if (!done) return;
  EXPECT_TRUE(is_close(C.read(), reference::gemm(alpha, a, b, beta, c), magnitude,
                       {n, precision, precision}));
  EXPECT_TRUE(C.padding_is_untouched());
}

template <class Space>
void refuses_other_symmetric_operands() {
  Space const exec;
  strata::detail::Workspace<Space> workspace(exec);
  StoredMatrix<Space> const A(reference::random(9, 9, 1), fp64),
      B(reference::random(9, 3, 1), fp64), b(reference::random(9, 1, 1), fp32),
      c(reference::random(9, 1, 1), fp64), scaled(reference::random(9, 9, 1), fp64, 0, 2);
  auto const thin = [&](auto const& a, auto const& x, auto const& y) {
    return strata::detail::thin_symmetric(exec, workspace, Uplo::Lower, 1, a.ref(), x.ref(), 0,
                                          y.ref());
  };
  EXPECT_FALSE(thin(A, B, B));
  EXPECT_FALSE(thin(A, b, c));
  EXPECT_FALSE(thin(scaled, c, c));
}

template <class Space>
class ThinSymmetric : public testing::Test {};
TYPED_TEST_SUITE(ThinSymmetric, Spaces, SpaceNames);

/// The largest difference, in n u of the sum of magnitudes, of the tiles' sums on the host from a
/// x, with threads in any order.
double tiles_error(std::int64_t n, bool is_lower, std::int64_t cols) {
  strata::Tiling const tiling(n, is_lower, cols);
  HostMatrix const values = reference::random(n, n + 1, 1);
  std::int64_t const ld = n + 3;
  std::vector<double> a(static_cast<std::size_t>(ld * n), nan_value), x;
  for (std::int64_t i = 0; i < n; ++i) x.push_back(values(i, n));
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      if (is_lower ? i >= j : i <= j) a[static_cast<std::size_t>(i + j * ld)] = values(i, j);
  std::vector<double> of_rows(static_cast<std::size_t>(n * tiling.across), nan_value),
      of_cols(static_cast<std::size_t>(n * tiling.down), nan_value);
  using Kernel = strata::SymmetricTiles<double, strata::ProductTerms<double>>;
  Kernel const kernel{tiling, a.data(), ld, {x.data(), of_rows.data(), of_cols.data(), n}};
  FiberTeam team(strata::Tiling::threads, Kernel::scratch_bytes(cols), static_cast<unsigned>(n));
  for (std::int64_t league = 0; league < tiling.down * tiling.across; ++league)
    EXPECT_TRUE(team.run(static_cast<int>(league), kernel));
  double worst = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0, exact = 0, size = 0;
    auto const across = tiling.of_row(i / strata::Tiling::rows), down = tiling.of_col(i / cols);
    for (auto k = across.first; k < across.second; ++k)
      sum += of_rows[static_cast<std::size_t>(i + k * n)];
    for (auto k = down.first; k < down.second; ++k)
      sum += of_cols[static_cast<std::size_t>(i + k * n)];
    for (std::int64_t j = 0; j < n; ++j) {
      double const term =
          ((is_lower ? i >= j : i <= j) ? values(i, j) : values(j, i)) * values(j, n);
      exact += term, size += std::abs(term);
    }
    double const error = std::abs(sum - exact) / (static_cast<double>(n) * 0x1p-53 * size);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

TYPED_TEST(ThinSymmetric, TilesOfADeviceFollowTheFormulas) {
  if constexpr (!strata::runs_on_host<TypeParam>)
    GTEST_SKIP() << "runs there in the other test";
  else
    for (bool const is_lower : {true, false})
      for (std::int64_t const n : {1, 17, 511, 513})
        for (std::int64_t const cols : {40, 128})
          EXPECT_LE(tiles_error(n, is_lower, cols), 1) << n << " " << cols << " " << is_lower;
}

// Orders around those of a tile of 512 rows; all widths.
TYPED_TEST(ThinSymmetric, EqualsTheReferenceForBothTriangles) {
  for (Uplo const uplo : both_uplos) {
    for (std::int64_t const n : {1, 15, 16, 17, 511, 1023, 1024, 1025, 1153, 2820}) {
      SCOPED_TRACE(testing::Message() << uplo << ", n = " << n);
      check<TypeParam>(fp64, n, 1, uplo, 1, 0);
      check<TypeParam>(fp64, n, 2, uplo, -0.5, 2);
    }
    check<TypeParam>(fp32, 2049, 1, uplo, -1, 1);
    for (std::int64_t const cols : {8, 16, 24, 120, 128})
      for (std::int64_t const n : {100, 1300, 2049}) check<TypeParam>(fp64, n, 1, uplo, 1, 1, cols);
  }
}
TYPED_TEST(ThinSymmetric, RefusesOtherOperands) { refuses_other_symmetric_operands<TypeParam>(); }

}  // namespace
}  // namespace strata::test
