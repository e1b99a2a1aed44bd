// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The thresholds of builds for hosts and for GPUs, whichever this one is for;
// StrataTest_Threshold.py has them in force.
#include <lapack/detail/Strata_Threshold.hpp>

#include <gtest/gtest.h>

namespace strata::test {
namespace {

TEST(LapackThreshold, IsThatOfThePages) {
  using lapack::detail::default_threshold, lapack::detail::Target;
  EXPECT_EQ(default_threshold(Target::Hosts), 512);
  EXPECT_EQ(default_threshold(Target::Gpus), 1024);
}

}  // namespace
}  // namespace strata::test
