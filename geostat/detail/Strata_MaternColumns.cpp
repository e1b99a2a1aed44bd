// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/detail/Strata_MaternColumns.hpp>

#include <core/kokkos_ext/Strata_HostVectors.hpp>
#include <geostat/model/detail/Strata_Correlation.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

// Its loops are what compilers make vectors of, if they may take it that roots set no errno
// (CMakeLists.txt).

namespace strata::geostat::detail {

namespace {

constexpr std::int64_t chunk = 256, step = 8;  // as many as the widest vector has
constexpr double farthest = 700;               // e^-x is a normal number up to here

// e^-x, 0 <= x <= 700: -x = k log 2 + r, |r| <= log(2) / 2, and Taylor's series of e^r - 1, whose
// rest is below 2^-57. An own one, since libm's takes one number at a time and libmvec is GCC's and
// glibc's alone.
STRATA_INLINE double decay(double x) {
  constexpr double round = 0x1.8p52;  // the sum's low bits are the integer
  double const sum = round - x * 1.4426950408889634074, k = sum - round;
  double const r = (-x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
  double p = r * (1.0 / 6227020800) + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  std::uint64_t const exponent = std::bit_cast<std::uint64_t>(sum) + 1023;
  double const power = std::bit_cast<double>(exponent << 52);
  return power + power * (r + r * r * p);
}

double far_from(ColumnCovariance const& c, double h) {
  return is_matern(c.family) ? matern_closed_form(c.nu, h) : plain_terms(c.family, c.nu, h).value;
}

// Padded to whole vectors, so that no entry is evaluated in another way than its neighbours.
template <class Near>
STRATA_INLINE void run(ColumnCovariance const& c, Location const& from, double const* x,
                       double const* y, std::int64_t n, double* C, double farthest,
                       Near const& correlation) {
  double dx[chunk], dy[chunk], h[chunk], value[chunk];
  for (std::int64_t first = 0; first < n; first += chunk) {
    std::int64_t const count = std::min(chunk, n - first),
                       padded = (count + step - 1) / step * step;
    for (std::int64_t i = padded - step; i < padded; ++i) dx[i] = dy[i] = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      dx[i] = from.x - x[first + i];
      dy[i] = from.y - y[first + i];
    }
    for (std::int64_t i = 0; i < padded; ++i) {
      h[i] = std::sqrt(dx[i] * dx[i] + dy[i] * dy[i]) / c.range;
      double const near = h[i] < farthest ? h[i] : farthest;
      value[i] = c.sigma2 * correlation(near);
    }
    bool all_near = true;
    for (std::int64_t i = 0; i < count; ++i) all_near &= h[i] < farthest;
    if (!all_near)
      for (std::int64_t i = 0; i < count; ++i)
        if (!(h[i] < farthest)) value[i] = c.sigma2 * far_from(c, h[i]);
    if (c.is_added)
      for (std::int64_t i = 0; i < count; ++i) C[first + i] += value[i];
    else
      std::copy_n(value, count, C + first);
  }
}

// By a table: what is one vector loop above is two here, and between them the polynomials, whose
// coefficients lie apart.
STRATA_INLINE void look_up(ColumnCovariance const& c, Location const& from, double const* x,
                           double const* y, std::int64_t n, double* C) {
  constexpr double nearest = MaternTable::nearest, farthest = 511;
  double h[chunk], near[chunk], fall[chunk], held[chunk], inside[chunk];
  std::int64_t panel[chunk];
  for (std::int64_t first = 0; first < n; first += chunk) {
    std::int64_t const count = std::min(chunk, n - first),
                       padded = (count + step - 1) / step * step;
    for (std::int64_t i = padded - step; i < padded; ++i) h[i] = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      double const dx = from.x - x[first + i], dy = from.y - y[first + i];
      h[i] = std::sqrt(dx * dx + dy * dy) / c.range;
    }
    // Two bounds in one loop are no vectors of GCC's.
    for (std::int64_t i = 0; i < padded; ++i) near[i] = h[i] > nearest ? h[i] : nearest;
    for (std::int64_t i = 0; i < padded; ++i) {
      double const x = near[i] < farthest ? near[i] : farthest;
      fall[i] = decay(x);
      TablePlace const place = MaternTable::place(x * x);
      panel[i] = place.panel, inside[i] = place.t;
    }
    for (std::int64_t i = 0; i < padded; ++i) held[i] = c.table->at({panel[i], inside[i]});
    bool all_held = true;
    for (std::int64_t i = 0; i < count; ++i) all_held &= h[i] >= nearest && h[i] < farthest;
    for (std::int64_t i = 0; i < padded; ++i) {
      double const value = held[i] * fall[i];
      held[i] = c.sigma2 * (value < 1 ? value : 1);
    }
    for (std::int64_t i = 0; !all_held && i < count; ++i)
      if (!(h[i] >= nearest && h[i] < farthest))
        held[i] = c.sigma2 * c.table->bessel().matern(h[i]);
    if (c.is_added)
      for (std::int64_t i = 0; i < count; ++i) C[first + i] += held[i];
    else
      std::copy_n(held, count, C + first);
  }
}

STRATA_INLINE void run(ColumnCovariance const& c, Location const& from, double const* x,
                       double const* y, std::int64_t n, double* C) {
  if (c.table) return look_up(c, from, x, y, n, C);
  if (c.family == Family::Gaussian)
    return run(c, from, x, y, n, C, 26, [](double h) { return decay(h * h); });
  if (c.family == Family::Spherical)
    return run(c, from, x, y, n, C, 1, [](double h) { return (1 - h) * (1 - h) * (1 + h / 2); });
  if (c.nu == 0.5) return run(c, from, x, y, n, C, farthest, [](double h) { return decay(h); });
  if (c.nu == 1.5)
    return run(c, from, x, y, n, C, farthest, [](double h) { return (1 + h) * decay(h); });
  run(c, from, x, y, n, C, farthest, [](double h) { return (1 + h + h * h / 3) * decay(h); });
}

void run_16(ColumnCovariance const& c, Location const& from, double const* x, double const* y,
            std::int64_t n, double* C) {
  run(c, from, x, y, n, C);
}
STRATA_VECTORS_OF_32 void run_32(ColumnCovariance const& c, Location const& from, double const* x,
                                 double const* y, std::int64_t n, double* C) {
  run(c, from, x, y, n, C);
}
STRATA_VECTORS_OF_64 void run_64(ColumnCovariance const& c, Location const& from, double const* x,
                                 double const* y, std::int64_t n, double* C) {
  run(c, from, x, y, n, C);
}

}  // namespace

MaternColumn* matern_column(int most_bytes) {
  return of_vectors(host_vector_bytes(most_bytes), run_16, run_32, run_64);
}

}  // namespace strata::geostat::detail
