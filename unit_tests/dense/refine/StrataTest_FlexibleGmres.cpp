// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_SpdSystem.hpp"
#include <dense/refine/detail/Strata_CorrectionSolvers.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;

template <class Space>
class FlexibleGmresOn : public testing::Test {};
TYPED_TEST_SUITE(FlexibleGmresOn, Spaces, SpaceNames);

// As many steps as unknowns at a condition of 1e12: a basis that is orthogonal to rounding leaves a
// backward error of rounding (Drkosova, Greenbaum, Rozloznik and Strakos). One pass of Gram-Schmidt
// loses it with the square of the condition.
template <class Exec>
void keeps_its_basis_orthogonal() {
  Exec const exec;
  std::size_t const n = 40, columns = 3;
  PlainMatrix const A = with_spectrum(geometric_spectrum(n, 1e12)),
                    R = random_numbers(n, columns, 7);
  using Gmres = dense::detail::FlexibleGmres<Exec>;
  using Block = typename Gmres::Block;
  RefinementOperators<Exec> operators;
  auto const device = OnDevice<Exec>::copy(A);
  operators.apply = [&](Block const& X, Block const& Y) { reference_product(exec, device, X, Y); };
  operators.precondition = [](Block const&) {};
  Gmres gmres(exec, static_cast<std::int64_t>(n), operators, 2, static_cast<std::int64_t>(n));
  Block const right = OnDevice<Exec>::copy(R), D = OnDevice<Exec>::copy(PlainMatrix(n, columns));
  std::vector<dense::detail::Correction> wanted(columns);
  for (auto& column : wanted) column.budget = static_cast<std::int64_t>(n);
  gmres.solve(right, D, wanted);
  PlainMatrix const found = OnDevice<Exec>::read(D);
  for (std::size_t c = 0; c < columns; ++c) {
    long double residual = 0, size = 0, of_r = 0;
    for (std::size_t i = 0; i < n; ++i) {
      long double r = R(i, c);
      for (std::size_t k = 0; k < n; ++k) r -= static_cast<long double>(A(i, k)) * found(k, c);
      residual += r * r;
      size += static_cast<long double>(found(i, c)) * found(i, c);
      of_r += static_cast<long double>(R(i, c)) * R(i, c);
    }
    auto const error =
        static_cast<double>(std::sqrt(residual) / (std::sqrt(size) + std::sqrt(of_r)));
    EXPECT_LE(error, 10 * static_cast<double>(n) * 0x1p-52) << c;  // ||A|| = 1
  }
}
TYPED_TEST(FlexibleGmresOn, KeepsItsBasisOrthogonal) { keeps_its_basis_orthogonal<TypeParam>(); }

}  // namespace
