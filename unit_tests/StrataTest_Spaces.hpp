// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_SPACES_HPP
#define STRATATEST_SPACES_HPP

#include <core/kokkos_ext/Strata_Instantiate.hpp>

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>
#include <tuple>

namespace strata::test {

namespace detail {
template <class Tuple>
struct TypesOf;
template <class... Space>
struct TypesOf<std::tuple<Space...>> {
  using type = testing::Types<Space...>;
};
}  // namespace detail

/// Every enabled execution space, for TYPED_TEST_SUITE(Suite, Spaces, SpaceNames).
#define STRATATEST_TUPLE(Space) std::tuple<Space>(),
using Spaces = detail::TypesOf<decltype(std::tuple_cat(
    STRATA_FOR_EACH_EXECUTION_SPACE(STRATATEST_TUPLE) std::tuple<>()))>::type;
#undef STRATATEST_TUPLE

/// Names a suite's instance `<Space>_`, which the ctest filters of `strata_add_test` rely on.
struct SpaceNames {
  template <class Space>
  static std::string GetName(int) {
    return std::string(Space::name()) + "_";
  }
};

/// How many instances a space can be partitioned in: one of OpenMP needs a thread of its own, or
/// Kokkos aborts; those of Serial share the thread that calls.
template <class Space>
int most_instances() {
  if (Space::name() == std::string_view("Serial")) return std::numeric_limits<int>::max();
  return Space().concurrency();
}

/// Skips the test, or what is left of a function of it, where a space has no `count` instances.
#define STRATATEST_NEEDS_INSTANCES(Space, count)                                         \
  if (int const most = strata::test::most_instances<Space>(); most < (count))            \
  GTEST_SKIP() << "Instances of " << Space::name() << " need a thread each, " << (count) \
               << " of them; there are " << most

}  // namespace strata::test

#endif
