// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VECCHIA_KERNEL_HPP
#define STRATA_VECCHIA_KERNEL_HPP

#include <core/kokkos_ext/Strata_Team.hpp>
#include <geostat/Strata_Matern.hpp>
#include <geostat/vecchia/detail/Strata_PairCovariance.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace strata::geostat::detail {

/// Which column of them is what, for q columns of data.
struct ResponseColumns {
  int q;  ///< the values, and the columns of the trend
  /// derivatives are by so many; 6 with stretch and shear, 9 with a second structure, then axes
  int parameters = 4;

  static constexpr int log_variance = 0;  ///< variance of the response given those before it
  static constexpr int rounding = 1;      ///< what that may be off by
  /// Whitened data: less what is expected, in standard deviations.
  KOKKOS_FUNCTION int data(int p) const { return 2 + p; }
  /// Derivative of the logarithm of the variance by parameter j.
  KOKKOS_FUNCTION int slope(int j) const { return 2 + q + j; }
  /// z_p' u_j.
  KOKKOS_FUNCTION int product(int p, int j) const { return 2 + q + parameters + j * q + p; }
  /// Part of the information of parameters j <= k.
  KOKKOS_FUNCTION int information(int j, int k) const {
    return product(0, parameters) + k * (k + 1) / 2 + j;
  }
  KOKKOS_FUNCTION int size(bool derivatives) const {
    return derivatives ? information(0, parameters) : 2 + q;
  }
};

/// Lower triangular systems of a team, column by column, in its scratch memory.
template <class Member>
struct TeamTriangle {
  static constexpr bool on_host = runs_on_host<typename Member::execution_space>;

  Member const& member;
  double* L;
  int ld;

  KOKKOS_FUNCTION double& at(int i, int j) const { return L[i + j * ld]; }

  /// A = L L' in place, lower triangle; a pivot that is not positive becomes NaN, and all after it.
  KOKKOS_FUNCTION void factor(int n) const {
    for (int k = 0; k < n; ++k) {
      double const pivot = at(k, k), root = Kokkos::sqrt(pivot > 0 ? pivot : -1.0);
      member.team_barrier();
      double* const column = L + k * ld;
      team_for(member, n - k, [&](int i) { column[k + i] = i == 0 ? root : column[k + i] / root; });
      member.team_barrier();
      subtract(k, n);
      member.team_barrier();
    }
  }

  /// X = L^-1 X for columns of X, the leading n rows.
  KOKKOS_FUNCTION void forward(int n, double* X, int columns) const {
    for (int k = 0; k < n; ++k) {
      double const* const column = L + k * ld;
      team_for(member, columns, [&](int c) { X[k + c * ld] /= column[k]; });
      member.team_barrier();
      int const rest = n - k - 1;
      if constexpr (on_host) {
        for (int c = 0; c < columns; ++c) {
          double* const x = X + c * ld;
          double const top = x[k];
          for (int i = k + 1; i < n; ++i) x[i] -= column[i] * top;
        }
      } else {
        team_for(member, rest * columns, [&](int t) {
          int const i = k + 1 + t % rest, c = t / rest;
          X[i + c * ld] -= column[i] * X[k + c * ld];
        });
      }
      member.team_barrier();
    }
  }

  /// c = L^-T e_r, of the leading r + 1 rows.
  KOKKOS_FUNCTION void last_row(int r, double* c) const {
    team_for(member, r + 1, [&](int i) { c[i] = i == r ? 1.0 : 0.0; });
    member.team_barrier();
    for (int k = r; k >= 0; --k) {
      if constexpr (on_host) {
        double const* const column = L + k * ld;
        double sum = c[k];
        for (int i = k + 1; i <= r; ++i) sum -= column[i] * c[i];
        c[k] = sum / column[k];
      } else {
        Kokkos::single(Kokkos::PerTeam(member), [&]() { c[k] /= at(k, k); });
        member.team_barrier();
        team_for(member, k, [&](int i) { c[i] -= at(k, i) * c[k]; });
        member.team_barrier();
      }
    }
  }

 private:
  // Of the columns behind k what column k takes.
  KOKKOS_FUNCTION void subtract(int k, int n) const {
    double const* const from = L + k * ld;
    if constexpr (on_host) {
      for (int j = k + 1; j < n; ++j) {
        double* const to = L + j * ld;
        double const top = from[j];
        for (int i = j; i < n; ++i) to[i] -= from[i] * top;
      }
    } else {
      int const rest = n - k - 1;
      team_for(member, rest * rest, [&](int t) {
        int const i = k + 1 + t % rest, j = k + 1 + t / rest;
        if (i >= j) L[i + j * ld] -= from[i] * from[j];
      });
    }
  }
};

/// The numbers of the responses of each block. With S = L L' of the members up to response r they
/// come of z = L^-1 [y Q], c = L^-T e_r and u_j = L^-1 S_j c. Since S c = l_rr e_r, sigma2 and the
/// nugget need no entries of S_j. With known error variances E and a second structure's S_2, S - E
/// - S_2 is what these two make.
///
/// Source   Guinness, Stat. Comput. 31 (2021), doi:10.1007/s11222-021-09999-1.
template <class Exec, bool derivatives>
struct VecchiaKernel {
  using Space = typename Exec::memory_space;
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Triangle = TeamTriangle<Member>;

  PairCovariance<Space, derivatives> covariance;
  BlockViews<Space> blocks;
  Points<Space> points;
  Kokkos::View<double*, Space> errors;                     // known variances, if any
  Kokkos::View<double**, Kokkos::LayoutLeft, Space> data;  // [y Q]
  bool by_nu, by_directions, has_second, by_nu_2;
  int axes;   // by the ranges of so many coordinates
  int ld;     // members of the largest block
  int level;  // of the scratch memory
  ResponseRows<Space> rows;

  /// A team's memory: L, above its diagonal derivatives by the range; squares of the other
  /// derivatives; the data, and vectors; on hosts coordinates.
  KOKKOS_FUNCTION std::size_t scratch_bytes() const {
    auto const n = static_cast<std::size_t>(ld);
    std::size_t const squares = derivatives ? 1 + static_cast<std::size_t>(squares_count()) : 1,
                      vectors = data.extent(1) + static_cast<std::size_t>(2 + count());
    return 8 * (n * n * squares + n * vectors) + 64;
  }

  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const q = static_cast<int>(data.extent(1));
    std::int64_t const first = blocks.offsets(member.league_rank());
    int const n = static_cast<int>(blocks.offsets(member.league_rank() + 1) - first);
    auto* scratch =
        static_cast<double*>(member.team_scratch(level).get_shmem(scratch_bytes() - 64));
    Triangle const L{member, scratch, ld};
    int const size = ld * ld;
    double* const stretch = scratch + size * (by_nu ? 2 : 1);
    double* const second = stretch + (by_directions ? 2 * size : 0);
    Squares const by{scratch + size, stretch, second,
                     second + size * ((has_second ? 2 : 0) + (by_nu_2 ? 1 : 0)), size};
    double* const z = scratch + size * (derivatives ? 1 + squares_count() : 1);
    double* const vectors = z + ld * q;
    fill(L, by, vectors, first, n);
    team_for(member, n * q,
             [&](int t) { z[t % n + t / n * ld] = data(blocks.members(first + t % n), t / n); });
    member.team_barrier();
    L.factor(n);
    L.forward(n, z, q);
    for (std::int64_t k = blocks.response_offsets(member.league_rank());
         k < blocks.response_offsets(member.league_rank() + 1); ++k) {
      int const r = blocks.responses(k);
      std::int64_t const row = blocks.members(first + r);
      tell(L, z, r, row, q);
      if constexpr (derivatives) differentiate(L, by, z, vectors, first, r, q);
      member.team_barrier();
    }
  }

 private:
  // Derivatives above the diagonal, only where they are wanted.
  struct Squares {
    double *nu, *stretch, *second, *axis;
    int size;
    KOKKOS_FUNCTION double* shear() const { return stretch + size; }
    KOKKOS_FUNCTION double* range_2() const { return second + size; }
    KOKKOS_FUNCTION double* nu_2() const { return second + 2 * size; }
  };
  // How many there are.
  KOKKOS_FUNCTION int squares_count() const {
    return (by_nu ? 1 : 0) + (by_directions ? 2 : 0) + (has_second ? 2 : 0) + (by_nu_2 ? 1 : 0) +
           axes;
  }
  // How many derivatives have vectors.
  KOKKOS_FUNCTION int count() const {
    return axes > 0 ? static_cast<int>(By::axis) + axes : has_second ? 9 : 6;
  }

  KOKKOS_FUNCTION void fill(Triangle const& L, Squares const& by, double* vectors,
                            std::int64_t first, int n) const {
    if constexpr (!derivatives && Triangle::on_host)
      if (covariance.has_columns()) return fill_columns(L, vectors, first, n);
    if constexpr (Triangle::on_host) {
      for (int j = 0; j < n; ++j)
        for (int i = j; i < n; ++i) fill_entry(L, by, first, i, j);
    } else {
      team_for(L.member, n * n, [&](int t) {
        if (t % n >= t / n) fill_entry(L, by, first, t % n, t / n);
      });
    }
  }

  KOKKOS_FUNCTION double error_of(std::int64_t location) const {
    return errors.extent(0) > 0 ? errors(location) : 0.0;
  }
  KOKKOS_FUNCTION double variance_of(std::int64_t location) const {
    return covariance.field() + covariance.nugget() + error_of(location);
  }

  KOKKOS_FUNCTION void fill_entry(Triangle const& L, Squares const& by, std::int64_t first, int i,
                                  int j) const {
    auto const row = blocks.members(first + i), column = blocks.members(first + j);
    if (i == j) {
      L.at(i, i) = variance_of(row);
      return;
    }
    auto const& first_one = covariance.terms().first();
    double const h = covariance.distance_of(points(row), points(column));
    MaternTerms const m = first_one(h);
    double sum = first_one.sigma2 * m.value;
    int const at = j + i * ld;
    double by_log_range = m.by_log_range;
    if (has_second) {
      auto const& second = covariance.terms().second();
      MaternTerms const m2 = second(h);
      sum += second.sigma2 * m2.value;
      if constexpr (derivatives) {
        by.second[at] = m2.value, by.range_2()[at] = m2.by_log_range;
        if (by_nu_2) by.nu_2()[at] = m2.by_nu;
        by_log_range += second.sigma2 / first_one.sigma2 * m2.by_log_range;
      }
    }
    L.at(i, j) = sum;
    if constexpr (derivatives) {
      L.at(j, i) = m.by_log_range;
      if (by_nu) by.nu[at] = m.by_nu;
      for (int k = 0; k < axes; ++k)
        by.axis[at + k * by.size] = by_log_range * part_along(k, points(row), points(column), h);
      if (!by_directions) return;
      auto const turned = covariance.by_directions(by_log_range, points(row), points(column));
      by.stretch[at] = turned.stretch, by.shear()[at] = turned.shear;
    }
  }

  // On a host, in vectors.
  KOKKOS_FUNCTION void fill_columns(Triangle const& L, double* coordinates, std::int64_t first,
                                    int n) const {
    double *const x = coordinates, *const y = x + ld;
    for (int i = 0; i < n; ++i) {
      Location const& place = points(blocks.members(first + i));
      x[i] = place.x, y[i] = place.y;
    }
    for (int j = 0; j < n; ++j) {
      covariance.column({x[j], y[j], 0}, x + j, y + j, n - j, &L.at(j, j));
      L.at(j, j) = variance_of(blocks.members(first + j));
    }
  }

  // What a likelihood needs of a response. Entries of S have an error of an ulp, which the weights
  // of the conditional mean carry to its variance.
  KOKKOS_FUNCTION void tell(Triangle const& L, double const* z, int r, std::int64_t row,
                            int q) const {
    ResponseColumns const columns{q};
    team_for(L.member, q + 2, [&](int p) {
      double const root = L.at(r, r);
      if (p == 0) rows(row, ResponseColumns::log_variance) = 2 * Kokkos::log(root);
      if (p == 1)
        rows(row, ResponseColumns::rounding) = 0x1p-52 * (r + 1) * variance_of(row) / (root * root);
      if (p > 1) rows(row, columns.data(p - 2)) = z[r + (p - 2) * ld];
    });
  }

  // y = T c for a symmetric T whose strict upper triangle is there and whose diagonal is 0.
  KOKKOS_FUNCTION void multiply(Triangle const& L, double const* T, double const* c, double scale,
                                double* y, int n) const {
    if constexpr (Triangle::on_host) {
      for (int i = 0; i < n; ++i) y[i] = 0;
      for (int k = 1; k < n; ++k) {
        double const* const column = T + k * ld;
        double const ck = scale * c[k];
        double sum = 0;
        for (int i = 0; i < k; ++i) {
          y[i] += column[i] * ck;
          sum += column[i] * c[i];
        }
        y[k] += scale * sum;
      }
    } else {
      team_for(L.member, n, [&](int i) {
        double sum = 0;
        for (int k = 0; k < i; ++k) sum += T[k + i * ld] * c[k];
        for (int k = i + 1; k < n; ++k) sum += T[i + k * ld] * c[k];
        y[i] = scale * sum;
      });
    }
  }

  // S_j c for each parameter j, but for sigma2's E c.
  KOKKOS_FUNCTION void multiply_all(Triangle const& L, Squares const& by, double const* c,
                                    double* u, std::int64_t first, int n) const {
    auto const& one = covariance.terms().first();
    multiply(L, L.L, c, one.sigma2 / one.range, u + ld, n);
    if (by_nu) multiply(L, by.nu, c, one.sigma2, u + 2 * ld, n);
    if (by_directions) {
      multiply(L, by.stretch, c, one.sigma2, u + 4 * ld, n);
      multiply(L, by.shear(), c, one.sigma2, u + 5 * ld, n);
    }
    if (has_second) multiply_second(L, by, c, u + 6 * ld, n);
    for (int k = 0; k < axes; ++k)
      multiply(L, by.axis + k * by.size, c, one.sigma2, u + (static_cast<int>(By::axis) + k) * ld,
               n);
    L.member.team_barrier();
    team_for(L.member, n, [&](int i) {
      u[i] = error_of(blocks.members(first + i)) * c[i];
      if (!by_nu) u[i + 2 * ld] = 0;
      u[i + 3 * ld] = c[i];
      if (!by_directions && (has_second || axes > 0)) u[i + 4 * ld] = u[i + 5 * ld] = 0;
      if (!has_second && axes > 0) u[i + 6 * ld] = u[i + 7 * ld] = u[i + 8 * ld] = 0;
      if (!has_second) return;
      u[i + 6 * ld] += c[i];  // the diagonal of its correlations
      if (!by_nu_2) u[i + 8 * ld] = 0;
    });
    L.member.team_barrier();
  }
  KOKKOS_FUNCTION void multiply_second(Triangle const& L, Squares const& by, double const* c,
                                       double* u, int n) const {
    auto const& second = covariance.terms().second();
    multiply(L, by.second, c, 1, u, n);
    multiply(L, by.range_2(), c, second.sigma2 / second.range, u + ld, n);
    if (by_nu_2) multiply(L, by.nu_2(), c, second.sigma2, u + 2 * ld, n);
  }

  // u_j = L^-1 S_j c, and their products with z and each other.
  KOKKOS_FUNCTION void differentiate(Triangle const& L, Squares const& by, double const* z,
                                     double* vectors, std::int64_t first, int r, int q) const {
    int const n = r + 1, count = axes > 0 || has_second ? this->count() : by_directions ? 6 : 4;
    std::int64_t const row = blocks.members(first + r);
    double *const c = vectors, *const u = vectors + ld;  // u: a column for each parameter
    double const sigma2 = covariance.terms().first().sigma2, nugget = covariance.nugget(),
                 of_second = has_second ? covariance.terms().second().sigma2 : 0;
    L.last_row(r, c);
    L.member.team_barrier();
    multiply_all(L, by, c, u, first, n);
    int const begin = errors.extent(0) > 0 ? 0 : 1;  // without errors u_0 is 0
    L.forward(n, u + begin * ld, count - begin);
    team_for(L.member, n, [&](int i) {
      double rest = (i == r ? 1.0 : 0.0) - nugget * u[i + 3 * ld] - u[i];
      if (has_second) rest -= of_second * u[i + 6 * ld];
      u[i] = rest / sigma2;
    });
    L.member.team_barrier();
    ResponseColumns const columns{q, count};
    team_for(L.member, count * (q + 1) + count * (count + 1) / 2, [&](int t) {
      if (t < count) {
        rows(row, columns.slope(t)) = u[r + t * ld];
      } else if (t < count * (q + 1)) {
        int const p = (t - count) % q, j = (t - count) / q;
        rows(row, columns.product(p, j)) = dot(z + p * ld, u + j * ld, n);
      } else {
        int j = t - count * (q + 1), k = 0;
        while (j > k) j -= ++k;
        rows(row, columns.information(j, k)) =
            dot(u + j * ld, u + k * ld, n) - u[r + j * ld] * u[r + k * ld] / 2;
      }
    });
  }

  KOKKOS_FUNCTION static double dot(double const* a, double const* b, int n) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
  }
};

}  // namespace strata::geostat::detail

#endif
