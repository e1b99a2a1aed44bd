// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_HARD_MATRICES_HPP
#define STRATATEST_HARD_MATRICES_HPP

#include "StrataTest_SparseSystem.hpp"
#include <core/problems/Strata_Random.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace strata::test {

/// A matrix that is made entry by entry, in any order; entries in one place are added up.
class EntryMap {
 public:
  explicit EntryMap(std::int64_t n) : rows_(static_cast<std::size_t>(n)) {}
  void add(std::int64_t i, std::int64_t j, double a) { rows_[static_cast<std::size_t>(i)][j] += a; }
  std::map<std::int64_t, double>& row(std::int64_t i) { return rows_[static_cast<std::size_t>(i)]; }
  HostRows rows() const {
    HostRows whole;
    for (auto const& row : rows_) {
      for (auto const& [j, a] : row) whole.add(j, a);
      whole.end_row();
    }
    return whole;
  }

 private:
  std::vector<std::map<std::int64_t, double>> rows_;
};

/// f(i, j) for each point of an m x m grid and each of its neighbours on it.
template <class Function>
void for_each_coupling(std::int64_t m, Function const& f) {
  for (std::int64_t y = 0; y < m; ++y)
    for (std::int64_t x = 0; x < m; ++x) {
      std::int64_t const i = x + m * y;
      if (x > 0) f(i, i - 1);
      if (x + 1 < m) f(i, i + 1);
      if (y > 0) f(i, i - m);
      if (y + 1 < m) f(i, i + m);
    }
}

/// 4 u_i - sum of neighbours - shift u_i on an m x m grid, fixed outside.
inline EntryMap poisson_map(std::int64_t m, double shift = 0) {
  EntryMap A(m * m);
  for (std::int64_t i = 0; i < m * m; ++i) A.add(i, i, 4 - shift);
  for_each_coupling(m, [&](std::int64_t i, std::int64_t j) { A.add(i, j, -1); });
  return A;
}

/// Linear elements for Poisson on an m x m grid. Its points crowd at one corner and lie anywhere in
/// their cells, which makes slivers. Values are fixed at the far sides.
inline HostRows slivers(std::int64_t m, double power) {
  std::int64_t const side = m + 1;
  EntryMap A(m * m);
  auto const place = [&](std::int64_t cell, std::uint64_t number) {
    double const moved = 0.9 * (uniform(7, number) - 0.5);
    return std::pow((static_cast<double>(cell + 1) + moved) / static_cast<double>(side), power);
  };
  auto const couple = [&](std::array<std::int64_t, 3> const& corner) {
    std::array<double, 3> x{}, y{};
    for (std::size_t c = 0; c < 3; ++c) {
      auto const number = static_cast<std::uint64_t>(2 * corner[c]);
      x[c] = place(corner[c] % side, number);
      y[c] = place(corner[c] / side, number + 1);
    }
    double const twice = (x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0]);
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t b = 0; b < 3; ++b) {
        std::size_t const a1 = (a + 1) % 3, a2 = (a + 2) % 3, b1 = (b + 1) % 3, b2 = (b + 2) % 3;
        double const of_y = (y[a1] - y[a2]) * (y[b1] - y[b2]),
                     of_x = (x[a2] - x[a1]) * (x[b2] - x[b1]);
        auto const i = corner[a], j = corner[b];
        if (std::max({i % side, i / side, j % side, j / side}) < m)
          A.add(i % side + m * (i / side), j % side + m * (j / side),
                (of_y + of_x) / (2 * std::abs(twice)));
      }
  };
  for (std::int64_t k = 0; k < m * side; ++k) {
    if (k % side == m) continue;
    couple({k, k + 1, k + side});
    couple({k + 1, k + side + 1, k + side});
  }
  return A.rows();
}

/// Flow along both axes with diffusion eps by upwind differences on an m x m grid.
inline HostRows upwind(std::int64_t m, double eps) {
  EntryMap A(m * m);
  double const diffusion = eps * static_cast<double>(m * m), flow = static_cast<double>(m);
  for (std::int64_t i = 0; i < m * m; ++i) A.add(i, i, 4 * diffusion + 2 * flow);
  for_each_coupling(m, [&](std::int64_t i, std::int64_t j) {
    A.add(i, j, j < i ? -diffusion - flow : -diffusion);
  });
  return A.rows();
}

/// The same by central differences, which cells of a large Peclet number make skew.
inline HostRows central(std::int64_t m, double eps) {
  EntryMap A(m * m);
  double const diffusion = eps * static_cast<double>(m * m), flow = 0.5 * static_cast<double>(m);
  for (std::int64_t i = 0; i < m * m; ++i) A.add(i, i, 4 * diffusion);
  for_each_coupling(m, [&](std::int64_t i, std::int64_t j) {
    A.add(i, j, j < i ? -diffusion - flow : -diffusion + flow);
  });
  return A.rows();
}

/// Poisson with values that penalties of that size fix on one side.
inline HostRows penalties(std::int64_t m, double size) {
  auto A = poisson_map(m);
  for (std::int64_t i = 0; i < m; ++i) A.add(i, i, size);
  return A.rows();
}

/// The square of Poisson's matrix: a plate by finite differences.
inline HostRows plate(std::int64_t m) {
  auto P = poisson_map(m);
  EntryMap A(m * m);
  for (std::int64_t i = 0; i < m * m; ++i)
    for (auto const& [k, a] : P.row(i))
      for (auto const& [j, b] : P.row(k)) A.add(i, j, a * b);
  return A.rows();
}

/// Couplings between 1 and `ratio` on a graded grid: cells that shrink towards a corner.
inline HostRows graded(std::int64_t m, double ratio) {
  EntryMap A(m * m);
  auto const size = [&](std::int64_t k) {
    return std::pow(ratio, -static_cast<double>(k) / static_cast<double>(m - 1));
  };
  auto const couple = [&](std::int64_t i, std::int64_t j, double a) {
    A.add(i, j, -a), A.add(j, i, -a), A.add(i, i, a), A.add(j, j, a);
  };
  for (std::int64_t y = 0; y < m; ++y)
    for (std::int64_t x = 0; x < m; ++x) {
      std::int64_t const i = x + m * y;
      if (x + 1 < m) couple(i, i + 1, size(y) / size(x));
      if (y + 1 < m) couple(i, i + m, size(x) / size(y));
      if (x == 0) A.add(i, i, size(y) / size(x));
    }
  return A.rows();
}

/// Poisson with rows in units between 10^-8 and 10^8: not symmetric.
inline HostRows in_other_units(std::int64_t m) {
  auto A = poisson_map(m);
  for (std::int64_t i = 0; i < m * m; ++i)
    for (auto& [j, a] : A.row(i)) a *= std::pow(10.0, static_cast<double>(i * 7 % 17) - 8);
  return A.rows();
}

/// A saddle point [P B'; B d] with one constraint for each pair of neighbours in a row of the grid.
inline HostRows saddle_point(std::int64_t m, double d) {
  auto const P = poisson_map(m);
  std::int64_t const n = m * m, constraints = n / 2;
  EntryMap A(n + constraints);
  auto copy = P;
  for (std::int64_t i = 0; i < n; ++i)
    for (auto const& [j, a] : copy.row(i)) A.add(i, j, a);
  for (std::int64_t k = 0; k < constraints; ++k) {
    for (std::int64_t const i : {2 * k, 2 * k + 1}) {
      double const b = i % 2 == 0 ? 1 : -0.5;
      A.add(i, n + k, b), A.add(n + k, i, b);
    }
    if (d != 0) A.add(n + k, n + k, d);
  }
  return A.rows();
}

/// Ones in each row and a shift of columns by k: no diagonal at all.
inline HostRows cyclic_shift(std::int64_t n, std::int64_t k) {
  EntryMap A(n);
  for (std::int64_t i = 0; i < n; ++i) A.add(i, (i + k) % n, 1 + 0.1 * static_cast<double>(i % 7));
  return A.rows();
}

/// Poisson with one row and one column that couple all unknowns.
inline HostRows dense_cross(std::int64_t m) {
  auto A = poisson_map(m);
  for (std::int64_t i = 1; i < m * m; ++i) A.add(0, i, -0.01), A.add(i, 0, -0.01);
  A.add(0, 0, 0.02 * static_cast<double>(m * m));
  return A.rows();
}

/// The names and rows of matrices that one method alone does not solve all of. `scale`: 1 for
/// tests.
inline std::vector<std::pair<std::string, HostRows>> hard_matrices(std::int64_t scale = 1) {
  std::int64_t const m = 40 * scale;
  return {{"upwind 1e-4", upwind(m, 1e-4)},
          {"upwind 1e-3", upwind(2 * m, 1e-3)},
          {"central 1e-4", central(m, 1e-4)},
          {"central 1e-2", central(m, 1e-2)},
          {"penalties 1e12", penalties(m, 1e12)},
          {"plate", plate(m)},
          {"graded 1e3", graded(m, 1e3)},
          {"graded 1e6", graded(m, 1e6)},
          {"other units", in_other_units(m)},
          {"indefinite", poisson_map(m, 0.5).rows()},
          {"negative definite", times(poisson_map(m).rows(), -1)},
          {"saddle point", saddle_point(m, 0)},
          {"saddle point -1e-8", saddle_point(m, -1e-8)},
          {"cyclic shift", cyclic_shift(1500, 37)},
          {"cyclic shift small", cyclic_shift(200, 7)},
          {"dense cross", dense_cross(m)}};
}

}  // namespace strata::test

#endif
