// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include <sparse/matrix/Strata_ModelProblems.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

TEST(ModelProblems, HaveTheRowsTheySay) {
  for (auto const problem :
       {ModelProblem::Poisson7, ModelProblem::Poisson27, ModelProblem::Anisotropic,
        ModelProblem::Convection, ModelProblem::Elasticity, ModelProblem::Graph}) {
    SCOPED_TRACE(name_of(problem));
    ModelSize const size =
        problem == ModelProblem::Graph ? ModelSize{60, 1, 1} : ModelSize{4, 3, 2};
    std::int64_t const n = model_rows(problem, size);
    auto const whole = make_model(problem, size, 0, n), part = make_model(problem, size, 3, n);
    EXPECT_EQ(whole.rows(), n);
    EXPECT_EQ(part.rows(), n - 3);
    std::vector<double> dense(static_cast<std::size_t>(n * n), 0.0);
    for (std::int64_t i = 0; i < n; ++i)
      for (auto k = whole.begin[static_cast<std::size_t>(i)];
           k < whole.begin[static_cast<std::size_t>(i) + 1]; ++k)
        dense[static_cast<std::size_t>(i * n + whole.column[static_cast<std::size_t>(k)])] +=
            whole.value[static_cast<std::size_t>(k)];
    double apart = 0, smallest_sum = 1e9;
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        double const a = dense[static_cast<std::size_t>(i * n + j)];
        apart = std::max(apart, std::abs(a - dense[static_cast<std::size_t>(j * n + i)]));
        sum += a;
      }
      smallest_sum = std::min(smallest_sum, sum);
    }
    EXPECT_EQ(apart > 1e-12, problem == ModelProblem::Convection);
    if (problem != ModelProblem::Elasticity) {
      EXPECT_GT(smallest_sum, -1e-11);
    }
  }
  EXPECT_TRUE(throws_with<ShapeError>(
      "elasticity: 3 x 1 x 3", [] { (void)model_rows(ModelProblem::Elasticity, {3, 1, 3}); }));
  EXPECT_TRUE(throws_with<ShapeError>(
      "2^40", [] { (void)model_rows(ModelProblem::Poisson7, {1 << 20, 1 << 20, 1}); }));
}

}  // namespace
