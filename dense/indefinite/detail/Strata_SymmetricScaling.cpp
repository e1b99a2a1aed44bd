// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/indefinite/detail/Strata_SymmetricScaling.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/refine/Strata_Condition.hpp>

#include <algorithm>
#include <cmath>

namespace strata::dense::detail {

namespace {

constexpr int no_exponent = -100000;  // of a zero
constexpr int largest_power = 1000;

// The exponent of a magnitude, 2^e <= |a| < 2^(e+1); of what is not finite 1024.
KOKKOS_INLINE_FUNCTION int binary_exponent(double a) {
  auto const bits = Kokkos::bit_cast<std::uint64_t>(a);
  int const biased = static_cast<int>(bits >> 52) & 0x7ff;
  if (biased > 0) return biased - 1023;
  if ((bits << 1) == 0) return no_exponent;
  return (static_cast<int>(Kokkos::bit_cast<std::uint64_t>(a * 0x1p64) >> 52) & 0x7ff) - 1023 - 64;
}

// Teams that pass over lines, each with sums of its own.
template <class ExecutionSpace>
std::int64_t teams_of(ExecutionSpace const& exec, std::int64_t n) {
  std::int64_t const teams = runs_on_host<ExecutionSpace> ? exec.concurrency() : 128;
  return std::clamp<std::int64_t>(teams, 1, std::max<std::int64_t>(1, n / 64));
}

// found(i, t) = max over team t's lines of the exponents of row i of D A D
template <class ExecutionSpace, class Exponents, class Found>
void largest_exponents(ExecutionSpace const& exec, SymmetricLines const& A, Exponents const& p,
                       Found const& found) {
  auto const teams = static_cast<std::int64_t>(found.extent(1));
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  Kokkos::parallel_for(
      "strata::dense::scale_symmetric::exponents",
      Policy(exec, static_cast<int>(teams), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        std::int64_t const t = team.league_rank();
        for (std::int64_t l = t; l < A.n; l += teams) {
          double const* const a = A.line(l);
          int const of_line = p(l);
          int own = no_exponent;
          Kokkos::parallel_reduce(
              Kokkos::TeamVectorRange(team, A.begin(l), A.end(l)),
              [&](std::int64_t k, int& most) {
                int const e = binary_exponent(a[k]) + of_line + p(k);
                if (e > found(k, t)) found(k, t) = e;
                if (e > most) most = e;
              },
              Kokkos::Max<int>(own));
          Kokkos::single(Kokkos::PerTeam(team), [&] {
            if (own > found(l, t)) found(l, t) = own;
          });
          team.team_barrier();
        }
      });
}

// What rows' exponents were before a sweep.
struct Swept {
  int farthest = 0;  // largest magnitude
  int largest = 0;
};

// p_i -= half of the row's exponent.
template <class ExecutionSpace, class Exponents, class Found>
Swept scale_once(ExecutionSpace const& exec, Exponents const& p, Found const& found) {
  Swept swept;
  Kokkos::parallel_reduce(
      "strata::dense::scale_symmetric::scale",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, p.extent_int(0)),
      KOKKOS_LAMBDA(int i, int& most, int& largest) {
        int e = no_exponent;
        for (int t = 0; t < found.extent_int(1); ++t) {
          e = found(i, t) > e ? found(i, t) : e;
          found(i, t) = no_exponent;
        }
        if (e < no_exponent / 2) return;
        int const away = e < 0 ? -e : e;
        most = away > most ? away : most;
        largest = e > largest ? e : largest;
        if (away <= 1) return;
        int const q = p(i) - e / 2;
        p(i) = q > largest_power ? largest_power : q < -largest_power ? -largest_power : q;
      },
      Kokkos::Max<int>(swept.farthest), Kokkos::Max<int>(swept.largest));
  exec.fence("strata::dense::scale_symmetric::scale");
  return swept;
}

// sums(i, t, 0) and (i, t, 1): of team t's lines, the magnitudes of row i of A and of D A D
template <class ExecutionSpace, class Exponents, class Sums>
void sum_rows(ExecutionSpace const& exec, SymmetricLines const& A, Exponents const& p,
              Sums const& sums) {
  auto const teams = static_cast<std::int64_t>(sums.extent(1));
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  Kokkos::parallel_for(
      "strata::dense::scale_symmetric::sums", Policy(exec, static_cast<int>(teams), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        std::int64_t const t = team.league_rank();
        for (std::int64_t l = t; l < A.n; l += teams) {
          double const* const a = A.line(l);
          int const of_line = p(l);
          double given = 0, scaled = 0;
          Kokkos::parallel_reduce(
              Kokkos::TeamVectorRange(team, A.begin(l), A.end(l)),
              [&](std::int64_t k, double& sum) {
                double const magnitude = Kokkos::abs(a[k]);
                if (k != l) sums(k, t, 0) += magnitude;
                sum += magnitude;
              },
              given);
          Kokkos::parallel_reduce(
              Kokkos::TeamVectorRange(team, A.begin(l), A.end(l)),
              [&](std::int64_t k, double& sum) {
                double const magnitude = times_power(Kokkos::abs(a[k]), of_line + p(k));
                if (k != l) sums(k, t, 1) += magnitude;
                sum += magnitude;
              },
              scaled);
          team.team_barrier();
          Kokkos::single(Kokkos::PerTeam(team), [&] {
            sums(l, t, 0) += given;
            sums(l, t, 1) += scaled;
          });
          team.team_barrier();
        }
      });
}

template <class ExecutionSpace, class Sums>
double largest_sum(ExecutionSpace const& exec, Sums const& sums, int which) {
  double largest = 0;
  Kokkos::parallel_reduce(
      "strata::dense::scale_symmetric::norm",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, sums.extent_int(0)),
      KOKKOS_LAMBDA(int i, double& most) {
        double sum = 0;
        for (int t = 0; t < sums.extent_int(1); ++t) sum += sums(i, t, which);
        if (!(sum <= most))
          most = Kokkos::isfinite(sum) ? sum : Kokkos::Experimental::infinity_v<double>;
      },
      Kokkos::Max<double>(largest));
  return largest;
}

// Of the triangle as it was given, column by column of the lower one; n n where there is none.
template <class ExecutionSpace>
std::int64_t first_non_finite_entry(ExecutionSpace const& exec, SymmetricLines const& A) {
  std::int64_t first = A.n * A.n;
  Kokkos::parallel_reduce(
      "strata::dense::scale_symmetric::non_finite",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, A.n),
      KOKKOS_LAMBDA(std::int64_t j, std::int64_t& found) {
        for (std::int64_t i = j; i < A.n; ++i)
          if (!Kokkos::isfinite(A(i, j)) && i + j * A.n < found) found = i + j * A.n;
      },
      Kokkos::Min<std::int64_t>(first));
  return first;
}

template <class ExecutionSpace>
void require_finite(ExecutionSpace const& exec, SymmetricLines const& A, double norm) {
  if (std::isfinite(norm)) return;
  std::int64_t const first = first_non_finite_entry(exec, A);
  if (first < A.n * A.n) throw NonFiniteEntry(first % A.n, first / A.n);
  throw ValueError("symmetric_factor: the sum of a row of A overflows");
}

template <class ExecutionSpace, class Scaling>
void write_scaling(ExecutionSpace const& exec, Scaling& s) {
  auto const p = s.exponents;
  auto const d = s.d;
  Kokkos::parallel_for(
      "strata::dense::scale_symmetric::write",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, p.extent_int(0)),
      KOKKOS_LAMBDA(int i) { d(i) = two_to(p(i)); });
  auto const host = on_host(exec, p);
  for (int i = 0; i < p.extent_int(0); ++i) {
    s.smallest = std::min(s.smallest, host(i));
    s.largest = std::max(s.largest, host(i));
    s.sum_of_exponents += host(i);
  }
}

}  // namespace

template <class ExecutionSpace>
SymmetricScaling<typename ExecutionSpace::memory_space> scale_symmetric(ExecutionSpace const& exec,
                                                                        SymmetricLines const& A) {
  using Memory = typename ExecutionSpace::memory_space;
  constexpr int most_sweeps = 20;
  SymmetricScaling<Memory> s;
  if (A.n == 0) return s;
  std::int64_t const teams = teams_of(exec, A.n);
  s.exponents = strata::allocate_zeros<Kokkos::View<int*, Memory>>(
      exec, "strata::dense::scale_symmetric::exponents", A.n);
  s.d = strata::allocate<Kokkos::View<double*, Memory>>(exec, "strata::dense::scale_symmetric::d",
                                                        A.n);
  auto const sums = strata::allocate_zeros<Kokkos::View<double** [2], Kokkos::LayoutLeft, Memory>>(
      exec, "strata::dense::scale_symmetric::sums", A.n, teams);
  auto const found = strata::allocate<Kokkos::View<int**, Kokkos::LayoutLeft, Memory>>(
      exec, "strata::dense::scale_symmetric::found", A.n, teams);
  Kokkos::deep_copy(exec, found, no_exponent);
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    largest_exponents(exec, A, s.exponents, found);
    Swept const swept = scale_once(exec, s.exponents, found);
    if (sweep == 0 && swept.largest >= 1024)
      require_finite(exec, A, Kokkos::Experimental::infinity_v<double>);
    if (swept.farthest <= 1) break;
  }
  sum_rows(exec, A, s.exponents, sums);
  s.norm = largest_sum(exec, sums, 0);
  require_finite(exec, A, s.norm);
  s.scaled_norm = largest_sum(exec, sums, 1);
  write_scaling(exec, s);
  return s;
}

#define STRATA_INSTANTIATE(Exec) \
  template SymmetricScaling<Exec::memory_space> scale_symmetric(Exec const&, SymmetricLines const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
