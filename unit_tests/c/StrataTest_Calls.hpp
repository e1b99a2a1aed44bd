// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TEST_CALLS_HPP
#define STRATA_TEST_CALLS_HPP

#include <gtest/gtest.h>
#include <strata.h>

#include <string>

namespace strata::test {

/// The calls of strata.h that are there for each type.
struct SingleCalls {
  using Scalar = float;
  static constexpr auto potrf = strata_spotrf;
  static constexpr auto potrs = strata_spotrs;
  static constexpr auto posv = strata_sposv;
  static constexpr auto potrf_batched = strata_spotrf_batched;
  static constexpr auto potrs_batched = strata_spotrs_batched;
  static constexpr auto posv_batched = strata_sposv_batched;
  static constexpr auto log_determinants = strata_slog_determinants_batched;
  static constexpr auto backward_errors = strata_sbackward_errors_batched;
};
struct DoubleCalls {
  using Scalar = double;
  static constexpr auto potrf = strata_dpotrf;
  static constexpr auto potrs = strata_dpotrs;
  static constexpr auto posv = strata_dposv;
  static constexpr auto potrf_batched = strata_dpotrf_batched;
  static constexpr auto potrs_batched = strata_dpotrs_batched;
  static constexpr auto posv_batched = strata_dposv_batched;
  static constexpr auto log_determinants = strata_dlog_determinants_batched;
  static constexpr auto backward_errors = strata_dbackward_errors_batched;
};
using CallTypes = testing::Types<SingleCalls, DoubleCalls>;

struct CallNames {
  template <class T>
  static std::string GetName(int) {
    return sizeof(typename T::Scalar) == 8 ? "double" : "float";
  }
};

}  // namespace strata::test

#endif
