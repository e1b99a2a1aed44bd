// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_SAMELIKELIHOOD_HPP
#define STRATATEST_SAMELIKELIHOOD_HPP

#include <geostat/Strata_Likelihood.hpp>

#include <gtest/gtest.h>

namespace strata::test {

/// To the last bit.
inline void expect_same(geostat::Likelihood const& a, geostat::Likelihood const& b) {
  EXPECT_EQ(a.info, b.info);
  EXPECT_EQ(a.log_likelihood, b.log_likelihood);
  EXPECT_EQ(a.log_det, b.log_det);
  EXPECT_EQ(a.log_det_error, b.log_det_error);
  EXPECT_EQ(a.quadratic_form, b.quadratic_form);
  EXPECT_EQ(a.quadratic_form_error, b.quadratic_form_error);
  EXPECT_EQ(a.mean, b.mean);
  EXPECT_EQ(a.factor.tiles, b.factor.tiles);
  EXPECT_EQ(a.factor.rung, b.factor.rung);
}

}  // namespace strata::test

#endif
