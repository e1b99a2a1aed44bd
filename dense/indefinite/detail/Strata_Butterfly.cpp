// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/indefinite/detail/Strata_Butterfly.hpp>

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/problems/Strata_Random.hpp>

#include <cmath>

namespace strata::dense::detail {

namespace {

// The butterfly's numbers of rows i, i + q, i + 2 q and i + 3 q.
struct Fours {
  double inner[4], outer[4];

  KOKKOS_FUNCTION Fours(double const* r, std::int64_t i, std::int64_t q) {
    for (int a = 0; a < 4; ++a) {
      inner[a] = r[i + a * q];
      outer[a] = r[4 * q + i + a * q];
    }
  }
  // x = U^T x, of four numbers `stride` apart
  KOKKOS_FUNCTION void transposed(double* x, int stride) const {
    double const x0 = x[0], x1 = x[stride], x2 = x[2 * stride], x3 = x[3 * stride];
    double const t0 = inner[0] * (x0 + x1), t1 = inner[1] * (x0 - x1);
    double const t2 = inner[2] * (x2 + x3), t3 = inner[3] * (x2 - x3);
    x[0] = 0.5 * (outer[0] * (t0 + t2));
    x[stride] = 0.5 * (outer[1] * (t1 + t3));
    x[2 * stride] = 0.5 * (outer[2] * (t0 - t2));
    x[3 * stride] = 0.5 * (outer[3] * (t1 - t3));
  }
  // x = U x
  KOKKOS_FUNCTION void direct(double* x) const {
    double const y0 = outer[0] * x[0], y1 = outer[1] * x[1], y2 = outer[2] * x[2],
                 y3 = outer[3] * x[3];
    double const t0 = inner[0] * (y0 + y2), t1 = inner[1] * (y1 + y3);
    double const t2 = inner[2] * (y0 - y2), t3 = inner[3] * (y1 - y3);
    x[0] = 0.5 * (t0 + t1);
    x[1] = 0.5 * (t0 - t1);
    x[2] = 0.5 * (t2 + t3);
    x[3] = 0.5 * (t2 - t3);
  }
};

// M = U^T H U by groups of 16 entries, H(i, j) = A(i, j) 2^(p_i + p_j); those of the groups
// (i, j) and (j, i) are the same.
template <class T>
struct LoadTiles {
  static constexpr int side = 32;  // groups of a tile

  SymmetricLines A;
  int const* p;
  double const* r;
  std::int64_t q, down;
  T* m;
  std::int64_t ld;

  KOKKOS_FUNCTION double entry(std::int64_t i, std::int64_t j) const {
    if (i >= A.n || j >= A.n) return i == j ? 1 : 0;
    return times_power(A(i, j), p[i] + p[j]);
  }
  // One group, i >= j; its largest magnitude.
  KOKKOS_FUNCTION double group(std::int64_t i, std::int64_t j) const {
    double x[16];
    for (int b = 0; b < 4; ++b)
      for (int a = 0; a < 4; ++a) x[a + 4 * b] = entry(i + a * q, j + b * q);
    Fours const rows(r, i, q), cols(r, j, q);
    for (int b = 0; b < 4; ++b) rows.transposed(x + 4 * b, 1);
    for (int a = 0; a < 4; ++a) cols.transposed(x + a, 4);
    double most = 0;
    for (int b = 0; b < 4; ++b)
      for (int a = 0; a < 4; ++a) {
        std::int64_t const row = i + a * q, col = j + b * q;
        double const v = x[a + 4 * b];
        m[row >= col ? row + col * ld : col + row * ld] = static_cast<T>(v);
        most = Kokkos::abs(v) > most ? Kokkos::abs(v) : most;
      }
    return most;
  }
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team, double& largest) const {
    std::int64_t const tile_row = team.league_rank() % down, tile_col = team.league_rank() / down;
    if (tile_row < tile_col) return;
    std::int64_t const i0 = tile_row * side, j0 = tile_col * side;
    double most = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(team, side * side),
        [&](int t, double& found) {
          std::int64_t const i = i0 + t % side, j = j0 + t / side;
          if (i >= q || j > i) return;
          double const v = group(i, j);
          found = v > found ? v : found;
        },
        Kokkos::Max<double>(most));
    Kokkos::single(Kokkos::PerTeam(team), [&] { largest = most > largest ? most : largest; });
  }
};

template <class ExecutionSpace, class T>
double load_tiles(ExecutionSpace const& exec, LoadTiles<T> kernel) {
  double largest = 0;
  kernel.down = (kernel.q + LoadTiles<T>::side - 1) / LoadTiles<T>::side;
  if (kernel.down == 0) return 0;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  Kokkos::parallel_reduce(
      "strata::dense::butterfly::load",
      Policy(exec, static_cast<int>(kernel.down * kernel.down), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team, double& found) {
        kernel(team, found);
      },
      Kokkos::Max<double>(largest));
  return largest;
}

template <class T, class ExecutionSpace, class Block>
void mix_transposed(ExecutionSpace const& exec, double const* r, std::int64_t n, std::int64_t q,
                    Block const& V, T* w, std::int64_t ld) {
  for_each_element(
      "strata::dense::butterfly::apply_transposed", exec, q, static_cast<std::int64_t>(V.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t c) {
        double x[4];
        for (int a = 0; a < 4; ++a) x[a] = i + a * q < n ? V(i + a * q, c) : 0;
        Fours(r, i, q).transposed(x, 1);
        for (int a = 0; a < 4; ++a) w[i + a * q + c * ld] = static_cast<T>(x[a]);
      });
}

template <class T, class ExecutionSpace, class Block>
void mix(ExecutionSpace const& exec, double const* r, std::int64_t n, std::int64_t q, T const* w,
         std::int64_t ld, Block const& V) {
  for_each_element(
      "strata::dense::butterfly::apply", exec, q, static_cast<std::int64_t>(V.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t c) {
        double x[4];
        for (int a = 0; a < 4; ++a) x[a] = w[i + a * q + c * ld];
        Fours(r, i, q).direct(x);
        for (int a = 0; a < 4; ++a)
          if (i + a * q < n) V(i + a * q, c) = x[a];
      });
}

template <class ExecutionSpace, class Numbers>
void draw(ExecutionSpace const& exec, Numbers const& r) {
  constexpr std::uint64_t seed = 2012;
  for_each_element(
      "strata::dense::butterfly::draw", exec, static_cast<std::int64_t>(r.extent(0)), 2,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t level) {
        r(i, level) = Kokkos::exp(
            (uniform(seed, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(level)) -
             0.5) /
            10);
      });
}

}  // namespace

template <class ExecutionSpace>
Butterfly<ExecutionSpace>::Butterfly(ExecutionSpace const& exec, std::int64_t n)
    : n_(n),
      quarter_((n + 3) / 4),
      r_(strata::allocate<decltype(r_)>(exec, "strata::dense::butterfly::r", 4 * quarter_)) {
  draw(exec, r_);
}

template <class ExecutionSpace>
double Butterfly<ExecutionSpace>::load(ExecutionSpace const& exec, SymmetricLines const& A,
                                       Kokkos::View<int const*, memory_space> const& exponents,
                                       MatrixRef<memory_space> const& M) const {
  int const* const p = exponents.data();
  double const* const r = r_.data();
  return M.precision == Precision::fp64
             ? load_tiles(exec,
                          LoadTiles<double>{A, p, r, quarter_, 0, M.template as<double>(), M.ld})
             : load_tiles(exec,
                          LoadTiles<float>{A, p, r, quarter_, 0, M.template as<float>(), M.ld});
}

template <class ExecutionSpace>
void Butterfly<ExecutionSpace>::apply_transposed(ExecutionSpace const& exec, Block const& V,
                                                 MatrixRef<memory_space> const& W) const {
  if (W.precision == Precision::fp64)
    mix_transposed(exec, r_.data(), n_, quarter_, V, W.template as<double>(), W.ld);
  else
    mix_transposed(exec, r_.data(), n_, quarter_, V, W.template as<float>(), W.ld);
}

template <class ExecutionSpace>
void Butterfly<ExecutionSpace>::apply(ExecutionSpace const& exec,
                                      ConstMatrixRef<memory_space> const& W, Block const& V) const {
  if (W.precision == Precision::fp64)
    mix(exec, r_.data(), n_, quarter_, W.template as<double>(), W.ld, V);
  else
    mix(exec, r_.data(), n_, quarter_, W.template as<float>(), W.ld, V);
}

template <class ExecutionSpace>
double Butterfly<ExecutionSpace>::log_determinant(ExecutionSpace const& exec) const {
  auto const host = on_host(exec, r_);
  long double sum = 0;
  for (std::size_t i = 0; i < host.extent(0); ++i)
    sum += std::log(static_cast<long double>(host(i, 0))) +
           std::log(static_cast<long double>(host(i, 1)));
  return static_cast<double>(sum);
}

#define STRATA_INSTANTIATE(Exec) template class Butterfly<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
