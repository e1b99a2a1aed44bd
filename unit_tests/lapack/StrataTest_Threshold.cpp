// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The thresholds of builds for hosts and for GPUs, whichever this one is for; StrataTest_Threshold.py has them in force.
#include <lapack/detail/Strata_Threshold.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace strata::test {
namespace {

TEST(LapackThreshold, IsThatOfThePagesForEachRoutine) {
  using lapack::detail::default_threshold, lapack::detail::routine_names;
  using lapack::detail::Routine, lapack::detail::Target;
  for (std::size_t k = 0; k < routine_names.size(); ++k) {
    auto const routine = static_cast<Routine>(k);
    EXPECT_EQ(default_threshold(Target::Hosts, routine), 512) << routine_names[k];
    EXPECT_EQ(default_threshold(Target::Gpus, routine), routine == Routine::Dsposv ? 2048 : 4096)
        << routine_names[k];
  }
}

}  // namespace
}  // namespace strata::test
