// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_MATCHERS_HPP
#define STRATATEST_MATCHERS_HPP

#include <core/Strata_Precision.hpp>
#include <core/io/Strata_HostMatrix.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace strata::test {

/// How large an error the sums of an operation may make.
struct ErrorBound {
  std::int64_t terms;     ///< terms of each sum
  Precision accumulator;  ///< precision in which the sums are made
  Precision result;       ///< precision to which the sums are rounded
  double unit = 0;        ///< error of a matrix unit's own sums, relative to their magnitude
};

/// The factor of all bounds: |actual - expected| <= c ((terms + 4) u_accumulator + u_result)
/// magnitude, where `magnitude` is the same formula with absolute values. Two of the terms are
/// alpha's and beta's.
inline constexpr double bound_factor = 2;

/// Each element with in_part(i, j) of `actual` is `expected` to the bound; NaN fails.
template <class InPart>
testing::AssertionResult is_close(HostMatrix const& actual, HostMatrix const& expected,
                                  HostMatrix const& magnitude, ErrorBound const& bound,
                                  InPart const& in_part) {
  if (actual.extent(0) != expected.extent(0) || actual.extent(1) != expected.extent(1))
    return testing::AssertionFailure() << "extents differ";
  auto const result = traits(bound.result);
  double const relative = bound_factor * (static_cast<double>(bound.terms + 4) *
                                              traits(bound.accumulator).unit_roundoff +
                                          bound.unit + result.unit_roundoff);
  double const least = result.min_normal * result.unit_roundoff;  // half of the smallest subnormal
  for (std::size_t j = 0; j < actual.extent(1); ++j) {
    for (std::size_t i = 0; i < actual.extent(0); ++i) {
      if (!in_part(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j))) continue;
      double const error = std::abs(actual(i, j) - expected(i, j));
      if (!(error <= relative * magnitude(i, j) + 2 * least))
        return testing::AssertionFailure()
               << "element (" << i << ", " << j << ") is " << actual(i, j) << ", not "
               << expected(i, j) << "; error " << error << " exceeds " << relative << " x "
               << magnitude(i, j);
    }
  }
  return testing::AssertionSuccess();
}

inline testing::AssertionResult is_close(HostMatrix const& actual, HostMatrix const& expected,
                                         HostMatrix const& magnitude, ErrorBound const& bound) {
  return is_close(actual, expected, magnitude, bound, [](auto, auto) { return true; });
}

/// Each element with in_part(i, j) still is the NaN that it was.
template <class InPart>
testing::AssertionResult is_nan(HostMatrix const& A, InPart const& in_part) {
  for (std::int64_t j = 0; j < static_cast<std::int64_t>(A.extent(1)); ++j)
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(A.extent(0)); ++i)
      if (in_part(i, j) && !std::isnan(A(i, j)))
        return testing::AssertionFailure()
               << "element (" << i << ", " << j << ") was overwritten by " << A(i, j);
  return testing::AssertionSuccess();
}

/// The text of the exception of type E that `action` throws; empty (and a failure) without one.
template <class E, class Action>
std::string message_of(Action const& action) {
  try {
    action();
  } catch (E const& error) {
    return error.what();
  } catch (std::exception const& error) {
    ADD_FAILURE() << "another exception: " << error.what();
    return {};
  }
  ADD_FAILURE() << "no exception";
  return {};
}

/// `statement()` throws an `Exception` whose text contains `part`.
template <class Exception, class Statement>
testing::AssertionResult throws_with(std::string_view part, Statement const& statement) {
  try {
    statement();
  } catch (Exception const& exception) {
    if (std::string_view(exception.what()).find(part) != std::string_view::npos)
      return testing::AssertionSuccess();
    return testing::AssertionFailure() << "the text is: " << exception.what();
  }
  return testing::AssertionFailure() << "nothing was thrown";
}

}  // namespace strata::test

#endif
