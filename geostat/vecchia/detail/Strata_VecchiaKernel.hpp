// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VECCHIA_KERNEL_HPP
#define STRATA_VECCHIA_KERNEL_HPP

#include <core/kokkos_ext/Strata_Team.hpp>
#include <geostat/Strata_Matern.hpp>
#include <geostat/detail/Strata_MaternColumns.hpp>
#include <geostat/detail/Strata_MaternKernel.hpp>
#include <geostat/model/detail/Strata_MaternTable.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace strata::geostat::detail {

/// A Matern covariance of pairs of places, where kernels evaluate it, and its derivatives by range
/// and nu, where these are wanted. On hosts with many pairs a table of nu serves.
template <class MemorySpace, bool derivatives>
class PairCovariance {
 public:
  PairCovariance(MaternCovariance const& c, Metric metric, std::int64_t pairs, bool by_nu)
      : sigma2_(c.sigma2),
        range_(c.range),
        nu_(c.nu),
        nugget_(c.nugget),
        closed_(has_closed_form(c.nu) && !by_nu),
        metric_(metric),
        terms_(unless_closed<Terms>(closed_, c.nu)) {
    if (!closed_) table_ = table_for<MemorySpace>(c.nu, pairs, derivatives);
    table_on_host_ = table_.get();
    if constexpr (!derivatives && std::is_same_v<MemorySpace, Kokkos::HostSpace>)
      if ((closed_ || table_) && metric == Metric::Euclidean) column_ = matern_column();
  }

  KOKKOS_FUNCTION double sigma2() const { return sigma2_; }
  KOKKOS_FUNCTION double range() const { return range_; }
  KOKKOS_FUNCTION double nugget() const { return nugget_; }

  /// Correlation and its derivatives; these are any numbers where they are not wanted.
  KOKKOS_FUNCTION MaternTerms operator()(Location const& a, Location const& b) const {
    double const x = distance(metric_, a, b) / range_;
    if (closed_) return matern_closed_terms(nu_, x);
    if constexpr (std::is_same_v<MemorySpace, Kokkos::HostSpace>) {
      if (table_on_host_ && derivatives) return table_on_host_->derivatives(x);
      if (table_on_host_) return {(*table_on_host_)(x), 0, 0};
    }
    if constexpr (derivatives)
      return terms_(x);
    else
      return {terms_.matern(x), 0, 0};
  }

  /// Whether columns are evaluated in vectors.
  KOKKOS_FUNCTION bool has_columns() const { return column_ != nullptr; }
  /// C[i] = covariance of a place and place i of n, without the nugget; on hosts.
  KOKKOS_FUNCTION void column(Location const& from, double const* x, double const* y,
                              std::int64_t n, double* C) const {
    KOKKOS_IF_ON_HOST((column_({sigma2_, range_, nu_, table_on_host_}, from, x, y, n, C);))
  }

 private:
  using Terms = std::conditional_t<derivatives, MaternGradient, BesselK>;
  double sigma2_, range_, nu_, nugget_;
  bool closed_;
  Metric metric_;
  Terms terms_;
  std::shared_ptr<MaternTable const> table_;  // on hosts, if any
  MaternTable const* table_on_host_ = nullptr;
  MaternColumn* column_ = nullptr;
};

/// Blocks where kernels read them: see ConditioningBlocks.
template <class MemorySpace>
struct BlockViews {
  Kokkos::View<std::int64_t*, MemorySpace> offsets, response_offsets;
  Kokkos::View<std::int32_t*, MemorySpace> members, responses;
};

/// Numbers of each response, n rows by columns.
template <class MemorySpace>
using ResponseRows = Kokkos::View<double**, Kokkos::LayoutLeft, MemorySpace>;

/// Which column of them is what, for q columns of data.
struct ResponseColumns {
  int q;  ///< the values, and the columns of the trend

  static constexpr int log_variance = 0;  ///< column of the response's variance given the members
                                          ///< before
  static constexpr int rounding = 1;      ///< what that may be off by
  /// Whitened data: less what is expected, in standard deviations.
  KOKKOS_FUNCTION int data(int p) const { return 2 + p; }
  /// Derivative of the logarithm of the variance by parameter j.
  KOKKOS_FUNCTION int slope(int j) const { return 2 + q + j; }
  /// z_p' u_j.
  KOKKOS_FUNCTION int product(int p, int j) const { return 6 + q + j * q + p; }
  /// Part of the information of parameters j <= k.
  KOKKOS_FUNCTION int information(int j, int k) const { return 6 + 5 * q + k * (k + 1) / 2 + j; }
  KOKKOS_FUNCTION int size(bool derivatives) const { return derivatives ? 16 + 5 * q : 2 + q; }
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
/// are z = L^-1 [y Q], c = L^-T e_r and u_j = L^-1 S_j c. S c = l_rr e_r spares the entries of S_j
/// for sigma2 and the nugget.
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
  Kokkos::View<double**, Kokkos::LayoutLeft, Space> data;  // [y Q]
  bool by_nu;
  int ld;     // members of the largest block
  int level;  // of the scratch memory
  ResponseRows<Space> rows;

  /// Bytes for a team: S above L's diagonal with its derivatives by the range, the derivatives by
  /// nu, the data, and five vectors; on hosts coordinates.
  KOKKOS_FUNCTION static std::size_t scratch_bytes(int ld, int q, bool by_nu) {
    auto const n = static_cast<std::size_t>(ld);
    std::size_t const squares = derivatives && by_nu ? 2 : 1;
    return 8 * (n * n * squares + n * static_cast<std::size_t>(q) + 8 * n) + 64;
  }

  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const q = static_cast<int>(data.extent(1));
    std::int64_t const first = blocks.offsets(member.league_rank());
    int const n = static_cast<int>(blocks.offsets(member.league_rank() + 1) - first);
    auto* scratch = static_cast<double*>(
        member.team_scratch(level).get_shmem(scratch_bytes(ld, q, by_nu) - 64));
    Triangle const L{member, scratch, ld};
    double* const by_nus = scratch + ld * ld;  // only if they are wanted
    double* const z = by_nus + (derivatives && by_nu ? ld * ld : 0);
    double* const vectors = z + ld * q;
    fill(L, by_nus, vectors, first, n);
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
      if constexpr (derivatives) differentiate(L, by_nus, z, vectors, r, row, q);
      member.team_barrier();
    }
  }

 private:
  KOKKOS_FUNCTION void fill(Triangle const& L, double* by_nus, double* vectors, std::int64_t first,
                            int n) const {
    if constexpr (!derivatives && Triangle::on_host)
      if (covariance.has_columns()) return fill_columns(L, vectors, first, n);
    if constexpr (Triangle::on_host) {
      for (int j = 0; j < n; ++j)
        for (int i = j; i < n; ++i) fill_entry(L, by_nus, first, i, j);
    } else {
      team_for(L.member, n * n, [&](int t) {
        if (t % n >= t / n) fill_entry(L, by_nus, first, t % n, t / n);
      });
    }
  }

  KOKKOS_FUNCTION void fill_entry(Triangle const& L, double* by_nus, std::int64_t first, int i,
                                  int j) const {
    double const sigma2 = covariance.sigma2();
    if (i == j) {
      L.at(i, i) = sigma2 + covariance.nugget();
      return;
    }
    MaternTerms const m =
        covariance(points(blocks.members(first + i)), points(blocks.members(first + j)));
    L.at(i, j) = sigma2 * m.value;
    if constexpr (derivatives) {
      L.at(j, i) = m.by_log_range;
      if (by_nu) by_nus[j + i * ld] = m.by_nu;
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
      L.at(j, j) = covariance.sigma2() + covariance.nugget();
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
        rows(row, ResponseColumns::rounding) =
            0x1p-52 * (r + 1) * (covariance.sigma2() + covariance.nugget()) / (root * root);
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

  // u_j = L^-1 S_j c, and their products with z and each other.
  KOKKOS_FUNCTION void differentiate(Triangle const& L, double const* by_nus, double const* z,
                                     double* vectors, int r, std::int64_t row, int q) const {
    int const n = r + 1;
    double *const c = vectors, *const u = vectors + ld;  // u: four columns
    double const sigma2 = covariance.sigma2(), nugget = covariance.nugget();
    L.last_row(r, c);
    L.member.team_barrier();
    multiply(L, L.L, c, sigma2 / covariance.range(), u + ld, n);
    if (by_nu)
      multiply(L, by_nus, c, sigma2, u + 2 * ld, n);
    else
      team_for(L.member, n, [&](int i) { u[i + 2 * ld] = 0; });
    team_for(L.member, n, [&](int i) { u[i + 3 * ld] = c[i]; });
    L.member.team_barrier();
    L.forward(n, u + ld, 3);
    team_for(L.member, n,
             [&](int i) { u[i] = ((i == r ? 1.0 : 0.0) - nugget * u[i + 3 * ld]) / sigma2; });
    L.member.team_barrier();
    ResponseColumns const columns{q};
    team_for(L.member, 4 * (q + 1) + 10, [&](int t) {
      if (t < 4) {
        rows(row, columns.slope(t)) = u[r + t * ld];
      } else if (t < 4 * (q + 1)) {
        int const p = (t - 4) % q, j = (t - 4) / q;
        rows(row, columns.product(p, j)) = dot(z + p * ld, u + j * ld, n);
      } else {
        int j = t - 4 * (q + 1), k = 0;
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
