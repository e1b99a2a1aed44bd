// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/indefinite/detail/Strata_PivotedLdlt.hpp>

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/indefinite/vendor/Strata_VendorSytrf.hpp>

namespace strata::dense::detail {

namespace {

// The entry of largest magnitude of a column or a row, and where.
struct Largest {
  double value = 0;
  std::int64_t index = 0;
};

// Bunch and Kaufman's elimination by one team.
struct EliminatePivoted {
  double* a;
  std::int64_t n, ld;
  std::int64_t* pivots;
  double* w;  // 2 n numbers: rows of D^-1 A21^T
  std::int64_t* first_zero;

  KOKKOS_FUNCTION double& at(std::int64_t i, std::int64_t j) const { return a[i + j * ld]; }
  KOKKOS_FUNCTION double magnitude(std::int64_t i, std::int64_t j) const {
    return Kokkos::abs(i >= j ? at(i, j) : at(j, i));
  }
  // Of the entries (i, j) of the symmetric matrix, begin <= i < n, without i = j.
  template <class Member>
  KOKKOS_FUNCTION Largest largest(Member const& team, std::int64_t begin, std::int64_t j) const {
    using Location = Kokkos::MaxLoc<double, std::int64_t>;
    typename Location::value_type found{};
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, begin, n),
        [&](std::int64_t i, typename Location::value_type& most) {
          double const v = i == j ? -1 : magnitude(i, j);
          if (v > most.val || (v == most.val && i < most.loc)) most.val = v, most.loc = i;
        },
        Location(found));
    return {found.val, found.loc};
  }
  struct Choice {
    std::int64_t row;
    int order;
  };
  template <class Member>
  KOKKOS_FUNCTION Choice choose(Member const& team, std::int64_t k) const {
    double const alpha = 0.6403882032022076;  // (1 + sqrt 17) / 8
    double const diagonal = magnitude(k, k);
    if (k + 1 == n) return {k, 1};
    Largest const below = largest(team, k + 1, k);
    if (!(diagonal < alpha * below.value)) return {k, 1};
    double const other = largest(team, k, below.index).value;
    if (diagonal * other >= alpha * below.value * below.value) return {k, 1};
    if (magnitude(below.index, below.index) >= alpha * other) return {below.index, 1};
    return {below.index, 2};
  }
  // Rows and columns kk and p of the trailing matrix, kk < p.
  template <class Member>
  KOKKOS_FUNCTION void exchange(Member const& team, std::int64_t k, std::int64_t kk,
                                std::int64_t p) const {
    if (kk == p) return;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, kk, n), [&](std::int64_t i) {
      if (i > p)
        Kokkos::kokkos_swap(at(i, kk), at(i, p));
      else if (i > kk && i < p)
        Kokkos::kokkos_swap(at(i, kk), at(p, i));
      else if (i == kk)
        Kokkos::kokkos_swap(at(kk, kk), at(p, p));
    });
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      if (kk != k) Kokkos::kokkos_swap(at(kk, k), at(p, k));
    });
    team.team_barrier();
  }
  template <class Member>
  KOKKOS_FUNCTION void eliminate_one(Member const& team, std::int64_t k) const {
    double const d = at(k, k);
    if (d == 0 || !Kokkos::isfinite(d)) {
      Kokkos::single(Kokkos::PerTeam(team), [&] {
        if (*first_zero == 0) *first_zero = k + 1;
      });
      return;
    }
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, k + 1, n),
                         [&](std::int64_t i) { w[i] = at(i, k) / d; });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, k + 1, n), [&](std::int64_t j) {
      for (std::int64_t i = j; i < n; ++i) at(i, j) -= at(i, k) * w[j];
    });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, k + 1, n),
                         [&](std::int64_t i) { at(i, k) = w[i]; });
    team.team_barrier();
  }
  // [w_i0 w_i1] = [a_ik a_i,k+1] D^-1 for D = [a b; b c], scaled by b
  template <class Member>
  KOKKOS_FUNCTION void eliminate_two(Member const& team, std::int64_t k) const {
    double const b = at(k + 1, k), a11 = at(k, k) / b, a22 = at(k + 1, k + 1) / b;
    double const t = 1 / (a11 * a22 - 1) / b;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, k + 2, n), [&](std::int64_t i) {
      w[i] = t * (a22 * at(i, k) - at(i, k + 1));
      w[n + i] = t * (a11 * at(i, k + 1) - at(i, k));
    });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, k + 2, n), [&](std::int64_t j) {
      for (std::int64_t i = j; i < n; ++i) at(i, j) -= at(i, k) * w[j] + at(i, k + 1) * w[n + j];
    });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, k + 2, n), [&](std::int64_t i) {
      at(i, k) = w[i];
      at(i, k + 1) = w[n + i];
    });
    team.team_barrier();
  }
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    for (std::int64_t k = 0; k < n;) {
      Choice const choice = choose(team, k);
      team.team_barrier();
      exchange(team, k, k + choice.order - 1, choice.row);
      Kokkos::single(Kokkos::PerTeam(team), [&] {
        pivots[k] = choice.order == 1 ? choice.row + 1 : -(choice.row + 1);
        if (choice.order == 2) pivots[k + 1] = pivots[k];
      });
      choice.order == 1 ? eliminate_one(team, k) : eliminate_two(team, k);
      k += choice.order;
    }
  }
};

// Columns of W, each by one team.
struct SolvePivoted {
  double const* a;
  std::int64_t n, ld;
  std::int64_t const* pivots;
  double* columns;
  std::int64_t cols, stride;

  // x = D^-1 L^-1 P^T x. What a step has divided no later one reads.
  template <class Member>
  KOKKOS_FUNCTION void forward(Member const& team, double* x) const {
    for (std::int64_t k = 0; k < n;) {
      bool const single = pivots[k] > 0;
      std::int64_t const kk = single ? k : k + 1, p = (single ? pivots[k] : -pivots[k]) - 1;
      Kokkos::single(Kokkos::PerTeam(team), [&] {
        if (p != kk) Kokkos::kokkos_swap(x[kk], x[p]);
      });
      team.team_barrier();
      double const first = x[k], second = single ? 0 : x[k + 1];
      double const *l = a + k * ld, *l2 = single ? l : l + ld;
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, kk + 1, n),
                           [&](std::int64_t i) { x[i] -= l[i] * first + l2[i] * second; });
      team.team_barrier();
      Kokkos::single(Kokkos::PerTeam(team), [&] { divide(x, k, single); });
      k = kk + 1;
    }
    team.team_barrier();
  }
  // One pivot, [a b; b c] scaled by b where it is of order two.
  KOKKOS_FUNCTION void divide(double* x, std::int64_t k, bool single) const {
    double const* const d = a + k * (ld + 1);
    if (single) {
      x[k] /= d[0];
      return;
    }
    double const b = d[1], p = d[0] / b, q = d[ld + 1] / b, t = p * q - 1;
    double const y = x[k] / b, z = x[k + 1] / b;
    x[k] = (q * y - z) / t;
    x[k + 1] = (p * z - y) / t;
  }
  template <class Member>
  KOKKOS_FUNCTION double product(Member const& team, std::int64_t column, std::int64_t begin,
                                 double const* x) const {
    double sum = 0;
    double const* const l = a + column * ld;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, begin, n),
        [&](std::int64_t i, double& s) { s += l[i] * x[i]; }, sum);
    return sum;
  }
  template <class Member>
  KOKKOS_FUNCTION void backward(Member const& team, double* x) const {
    for (std::int64_t k = n - 1; k >= 0;) {
      bool const single = pivots[k] > 0;
      std::int64_t const first = single ? k : k - 1, p = (single ? pivots[k] : -pivots[k]) - 1;
      double const one = product(team, k, k + 1, x),
                   other = single ? 0 : product(team, first, k + 1, x);
      team.team_barrier();
      Kokkos::single(Kokkos::PerTeam(team), [&] {
        x[k] -= one;
        if (!single) x[first] -= other;
        if (p != k) Kokkos::kokkos_swap(x[k], x[p]);
      });
      team.team_barrier();
      k = first - 1;
    }
  }
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    for (std::int64_t j = team.league_rank(); j < cols; j += team.league_size()) {
      double* const x = columns + j * stride;
      forward(team, x);
      backward(team, x);
    }
  }
};

}  // namespace

template <class ExecutionSpace>
void load_scaled(ExecutionSpace const& exec, SymmetricLines const& A,
                 Kokkos::View<int const*, typename ExecutionSpace::memory_space> const& exponents,
                 MatrixRef<typename ExecutionSpace::memory_space> const& M) {
  double* const m = M.template as<double>();
  std::int64_t const ld = M.ld;
  for_each_element(
      "strata::dense::ldlt::load", exec, A.n, A.n, KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        if (i >= j) m[i + j * ld] = times_power(A(i, j), exponents(i) + exponents(j));
      });
}

template <class ExecutionSpace>
std::int64_t pivoted_ldlt(ExecutionSpace const& exec,
                          MatrixRef<typename ExecutionSpace::memory_space> const& M,
                          Pivots<typename ExecutionSpace::memory_space> const& pivots) {
  if (M.rows == 0) return 0;
  std::int64_t info = 0;
  return vendor::sytrf(exec, M, pivots, info) ? info : pivoted_ldlt_of_team(exec, M, pivots);
}

template <class ExecutionSpace>
std::int64_t pivoted_ldlt_of_team(ExecutionSpace const& exec,
                                  MatrixRef<typename ExecutionSpace::memory_space> const& M,
                                  Pivots<typename ExecutionSpace::memory_space> const& pivots) {
  using Memory = typename ExecutionSpace::memory_space;
  std::int64_t info = 0;
  auto const room = strata::allocate<Kokkos::View<double*, Memory>>(
      exec, "strata::dense::ldlt::rows", 2 * M.rows);
  auto const zero =
      strata::allocate_zeros<Kokkos::View<std::int64_t, Memory>>(exec, "strata::dense::ldlt::zero");
  launch_teams("strata::dense::ldlt::pivoted", exec, 1, 0,
               EliminatePivoted{M.template as<double>(), M.rows, M.ld, pivots.data(), room.data(),
                                zero.data()});
  Kokkos::deep_copy(exec, info, zero);
  exec.fence("strata::dense::ldlt::pivoted: read the status");
  return info;
}

template <class ExecutionSpace>
void pivoted_solve(ExecutionSpace const& exec,
                   ConstMatrixRef<typename ExecutionSpace::memory_space> const& M,
                   Pivots<typename ExecutionSpace::memory_space> const& pivots,
                   MatrixRef<typename ExecutionSpace::memory_space> const& W) {
  launch_teams("strata::dense::ldlt::pivoted_solve", exec, W.cols, 0,
               SolvePivoted{M.template as<double>(), M.rows, M.ld, pivots.data(),
                            W.template as<double>(), W.cols, W.ld});
}

#define STRATA_INSTANTIATE(Exec)                                                                \
  template void load_scaled(Exec const&, SymmetricLines const&,                                 \
                            Kokkos::View<int const*, Exec::memory_space> const&,                \
                            MatrixRef<Exec::memory_space> const&);                              \
  template std::int64_t pivoted_ldlt(Exec const&, MatrixRef<Exec::memory_space> const&,         \
                                     Pivots<Exec::memory_space> const&);                        \
  template std::int64_t pivoted_ldlt_of_team(Exec const&, MatrixRef<Exec::memory_space> const&, \
                                             Pivots<Exec::memory_space> const&);                \
  template void pivoted_solve(Exec const&, ConstMatrixRef<Exec::memory_space> const&,           \
                              Pivots<Exec::memory_space> const&,                                \
                              MatrixRef<Exec::memory_space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
