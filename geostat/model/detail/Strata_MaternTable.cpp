// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/model/detail/Strata_MaternTable.hpp>

#include <core/Strata_Errors.hpp>

#include <array>
#include <cmath>
#include <numbers>

namespace strata::geostat::detail {

namespace {

constexpr int terms = MaternTable::terms;
using Row = std::array<long double, terms>;

// A polynomial's coefficients from its values at the zeros of Chebyshev's polynomial of degree
// `terms`.
struct Interpolation {
  Row nodes{};
  std::array<Row, terms> of{};  // of[k][j]: what the value at node j adds to the coefficient of t^k

  Interpolation() {
    constexpr long double pi = std::numbers::pi_v<long double>;
    std::array<Row, terms> T{};  // T[m][k]: the coefficient of t^k in Chebyshev's polynomial m
    T[0][0] = T[1][1] = 1;
    for (int m = 2; m < terms; ++m)
      for (int k = 0; k < terms; ++k) T[m][k] = (k > 0 ? 2 * T[m - 1][k - 1] : 0) - T[m - 2][k];
    for (int j = 0; j < terms; ++j) {
      long double const angle = pi * (j + 0.5L) / terms;
      nodes[j] = std::cos(angle);
      for (int m = 0; m < terms; ++m)
        for (int k = 0; k <= m; ++k)
          of[k][j] += (m == 0 ? 1 : 2) * std::cos(m * angle) / terms * T[m][k];
    }
  }

  void store(std::array<double, terms> const& values, double* coefficients) const {
    for (int k = 0; k < terms; ++k) {
      long double sum = 0;
      for (int j = 0; j < terms; ++j) sum += of[k][j] * values[j];
      coefficients[k] = static_cast<double>(sum);
    }
  }
};

Interpolation const& interpolation() {
  static Interpolation const it;
  return it;
}

}  // namespace

MaternTable::MaternTable(double nu, bool with_derivatives)
    : bessel_(nu),
      gradient_(with_derivatives ? MaternGradient(nu) : MaternGradient(BesselK::OrderAlone{nu})),
      numbers_((with_derivatives ? 3 : 1) * panels * terms),
      values_(numbers_.data()),
      derivatives_(with_derivatives ? values_ + panels * terms : nullptr) {
  STRATA_REQUIRE(ValueError, nu <= largest_order, "MaternTable: the order nu is ", nu,
                 ", must be at most ", largest_order);
  auto const& through = interpolation();
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    auto const begin = Kokkos::bit_cast<double>(static_cast<std::uint64_t>(panel + first_panel)
                                                << (52 - panel_bits)),
               end = Kokkos::bit_cast<double>(static_cast<std::uint64_t>(panel + first_panel + 1)
                                              << (52 - panel_bits));
    std::array<std::array<double, terms>, 3> values{};
    for (std::size_t j = 0; j < terms; ++j) {
      long double const q = (begin + end + (end - begin) * through.nodes[j]) / 2;
      auto const x = static_cast<double>(std::sqrt(q));
      if (!with_derivatives) {
        values[0][j] = bessel_.scaled_matern(x);
        continue;
      }
      MaternTerms const m = gradient_.scaled(x);
      values[0][j] = m.value, values[1][j] = m.by_log_range, values[2][j] = m.by_nu;
    }
    through.store(values[0], &values_[panel * terms]);
    if (!with_derivatives) continue;
    through.store(values[1], &derivatives_[2 * panel * terms]);
    through.store(values[2], &derivatives_[(2 * panel + 1) * terms]);
  }
}

}  // namespace strata::geostat::detail
