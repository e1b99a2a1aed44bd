// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_SPACES_HPP
#define STRATATEST_SPACES_HPP

#include <core/kokkos_ext/Strata_Instantiate.hpp>

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>

#include <string>
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

}  // namespace strata::test

#endif
