// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// strata_each.h: many systems of different orders in one call.
#include <c/StrataTest_Systems.hpp>

#include <gtest/gtest.h>
#include <strata_each.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace strata::test {
namespace {

// What the C function takes, of systems that stay where they are.
template <class T>
struct Lists {
  explicit Lists(std::vector<System<T>> const& all) : systems(all), infos(all.size(), -7) {
    logarithms.assign(all.size(), -7);
    for (auto& s : systems) {
      orders.push_back(s.n);
      columns.push_back(s.nrhs);
      leading.push_back(s.ld);
      A.push_back(s.A.data());
      X.push_back(s.B);
    }
    for (auto& x : X) B.push_back(x.data());
  }

  strata_status solve(char uplo, bool with_logarithms = true) {
    auto const count = static_cast<std::int64_t>(systems.size());
    double* const logs = with_logarithms ? logarithms.data() : nullptr;
    if constexpr (std::is_same_v<T, double>)
      return strata_dposv_each(uplo, count, orders.data(), columns.data(), A.data(), leading.data(),
                               B.data(), leading.data(), logs, infos.data());
    else
      return strata_sposv_each(uplo, count, orders.data(), columns.data(), A.data(), leading.data(),
                               B.data(), leading.data(), logs, infos.data());
  }

  std::vector<System<T>> systems;
  std::vector<std::int64_t> infos, orders, columns, leading;
  std::vector<double> logarithms;
  std::vector<std::vector<T>> X;
  std::vector<T const*> A;
  std::vector<T*> B;
};

template <class T>
std::vector<System<T>> of_many_orders(char uplo) {
  std::vector<System<T>> all;
  for (std::int64_t const n : {0, 1, 33, 2, 64, 65, 34, 33, 130, 35, 300, 33, 7})
    all.emplace_back(uplo, n, n % 3 == 0 ? 2 : 1);
  return all;
}

// log det A of an unblocked factorisation.
template <class T>
double log_determinant(System<T> const& s) {
  auto const n = static_cast<std::size_t>(s.n);
  std::vector<double> L(n * n);
  double sum = 0;
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = j; i < n; ++i) {
      double a = s.symmetric(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
      for (std::size_t k = 0; k < j; ++k) a -= L[i + k * n] * L[j + k * n];
      L[i + j * n] = i == j ? std::sqrt(a) : a / L[j + j * n];
      if (i == j) sum += std::log(a);
    }
  return sum;
}

template <class T>
void solves_each(char uplo, double roundoff) {
  Lists<T> lists(of_many_orders<T>(uplo));
  ASSERT_EQ(lists.solve(uplo), STRATA_SUCCESS) << strata_message();
  for (std::size_t k = 0; k < lists.systems.size(); ++k) {
    System<T> const& s = lists.systems[k];
    double const n = static_cast<double>(s.n);
    EXPECT_EQ(lists.infos[k], 0);
    EXPECT_LE(s.backward_error(lists.X[k]), (10 + n) * roundoff) << k;
    EXPECT_TRUE(s.rest_is_untouched(lists.X[k], false));
    EXPECT_NEAR(lists.logarithms[k], log_determinant(s), (1 + n * n) * 20 * roundoff) << k;
  }
}

TEST(CEach, SolvesSystemsOfManyOrders) {
  for (char const uplo : {'L', 'U', 'l', 'u'}) {
    solves_each<double>(uplo, 0x1p-53);
    solves_each<float>(uplo, 0x1p-24);
  }
}

TEST(CEach, NamesTheSystemsWithoutAFactorAndSolvesTheOthers) {
  auto systems = of_many_orders<double>('L');
  systems[4].A[systems[4].at(50, 50)] = -1;
  systems[8].A[systems[8].at(0, 0)] = systems[8].nan;
  Lists<double> lists(systems);
  ASSERT_EQ(lists.solve('L'), STRATA_NOT_POSITIVE_DEFINITE);
  EXPECT_TRUE(holds(strata_message(),
                    "2 of 13 systems are not positive definite, or hold a NaN: in system 4, "
                    "counted from 0, the leading minor of order 51 is not positive"));
  for (std::size_t k = 0; k < systems.size(); ++k) {
    bool const fails = k == 4 || k == 8;
    EXPECT_EQ(lists.infos[k], k == 4 ? 51 : k == 8 ? 1 : 0);
    EXPECT_EQ(std::isnan(lists.logarithms[k]), fails);
    EXPECT_EQ(same(lists.X[k], systems[k].B), fails || systems[k].n == 0) << k;
  }
}

TEST(CEach, NeedsNoLogarithmsAndNoRightHandSides) {
  Lists<double> lists(of_many_orders<double>('U'));
  ASSERT_EQ(lists.solve('U', false), STRATA_SUCCESS) << strata_message();
  EXPECT_EQ(lists.logarithms[3], -7);
  EXPECT_LE(lists.systems[10].backward_error(lists.X[10]), 310 * 0x1p-53);
  lists.columns.assign(lists.columns.size(), 0);
  lists.B.assign(lists.B.size(), nullptr);
  ASSERT_EQ(lists.solve('U'), STRATA_SUCCESS) << strata_message();
  EXPECT_NEAR(lists.logarithms[3], log_determinant(lists.systems[3]), 1e-14);
  EXPECT_EQ(strata_dposv_each('L', 0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                              nullptr),
            STRATA_SUCCESS);
}

TEST(CEach, RefusesWrongArgumentsBeforeItWrites) {
  Lists<double> lists(of_many_orders<double>('L'));
  auto const refuses = [&](char const* text, auto const& wrong) {
    Lists<double> lists(of_many_orders<double>('L'));
    wrong(lists);
    EXPECT_EQ(lists.solve('L'), STRATA_INVALID_ARGUMENT);
    EXPECT_TRUE(holds(strata_message(), text));
    EXPECT_TRUE(same(lists.X[2], lists.systems[2].B));
    EXPECT_EQ(lists.infos[2], -7);
  };
  refuses("n[5] is -1, must be >= 0", [](auto& l) { l.orders[5] = -1; });
  refuses("nrhs[3] is -2", [](auto& l) { l.columns[3] = -2; });
  refuses("A[10]", [](auto& l) { l.A[10] = nullptr; });
  refuses("B[10]", [](auto& l) { l.B[10] = nullptr; });
  refuses("A[8]", [](auto& l) { l.leading[8] = 129; });
  EXPECT_EQ(lists.solve('X'), STRATA_INVALID_ARGUMENT);
  EXPECT_TRUE(holds(strata_message(), "uplo is 'X', must be 'L' or 'U'"));
  std::int64_t const one = 1;
  double const* const A = lists.A[1];
  double* const B = lists.B[1];
  EXPECT_EQ(strata_dposv_each('L', 1, &one, &one, &A, &one, &B, &one, nullptr, nullptr),
            STRATA_INVALID_ARGUMENT);
  EXPECT_TRUE(holds(strata_message(), "info is a null pointer"));
  EXPECT_EQ(strata_dposv_each('L', 1, nullptr, &one, &A, &one, &B, &one, nullptr, nullptr),
            STRATA_INVALID_ARGUMENT);
  EXPECT_TRUE(holds(strata_message(), "n is a null pointer"));
}

}  // namespace
}  // namespace strata::test
