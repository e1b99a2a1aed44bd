// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MATERN_TABLE_HPP
#define STRATA_MATERN_TABLE_HPP

#include <geostat/model/detail/Strata_BesselK.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace strata::geostat::detail {

/// The place of q = x^2 in a table: its panel, and where in the panel, from -1 to 1.
struct TablePlace {
  std::int64_t panel;
  double t;
};

/// e^x M(x) for the Matern correlation M of one order, and its derivatives, by polynomials in q =
/// x^2 on hosts.
///
/// But for q = 0 these are analytic in q and vary as powers do, so that eighths of octaves are
/// panels for a polynomial of degree 9 each. The function is analytic in an ellipse of rho = 34
/// about a panel, and 34^-10 is 5e-16. The panel and the place in it are bits of q: neither
/// logarithm nor power nor Bessel function is left for an entry, but e^-x. Larger orders, of which
/// e^x M(x) grows like x^nu, would take finer panels.
///
/// Memory   27 kB, with derivatives 108 kB.
/// Error    of BesselK and MaternGradient: 1e-13 relative of M, and of the derivatives as stated
///          there (tested).
/// Source   Trefethen, Approximation Theory and Approximation Practice, 2013, theorem 8.2.
class MaternTable {
 public:
  static constexpr double largest_order = 10;
  static constexpr int terms = 10;  ///< terms of each polynomial
  static constexpr double nearest = 0x1p-12,
                          farthest = 512;  ///< x it is for: nearest <= x < farthest

  /// On the host, in 0.5 ms, with derivatives 1.5 ms. Throws ValueError unless nu is in (0, 10].
  explicit MaternTable(double nu, bool with_derivatives = false);
  MaternTable(MaternTable const&) = delete;
  MaternTable& operator=(MaternTable const&) = delete;

  /// Whether x is one that it is for.
  KOKKOS_FUNCTION static bool holds(double x) { return x >= nearest && x < farthest; }
  /// The place of q, nearest^2 <= q < farthest^2.
  KOKKOS_FUNCTION static TablePlace place(double q) {
    auto const bits = Kokkos::bit_cast<std::uint64_t>(q);
    std::uint64_t const inside = (bits << panel_bits & mantissa) | one;
    return {static_cast<std::int64_t>(bits >> (52 - panel_bits)) - first_panel,
            2 * Kokkos::bit_cast<double>(inside) - 3};
  }
  /// e^x M(x) there.
  KOKKOS_FUNCTION double at(TablePlace const& place) const {
    return polynomial(values_ + place.panel * terms, place.t);
  }

  /// M(x), for any x >= 0.
  KOKKOS_FUNCTION double operator()(double x) const {
    if (!holds(x)) return bessel_.matern(x);
    return Kokkos::min(1.0, at(place(x * x)) * Kokkos::exp(-x));
  }
  /// M(x) and its derivatives, for any x >= 0, of a table that has them.
  KOKKOS_FUNCTION MaternTerms derivatives(double x) const {
    if (!holds(x)) return gradient_(x);
    TablePlace const place = MaternTable::place(x * x);
    double const decay = Kokkos::exp(-x), *const two = derivatives_ + 2 * place.panel * terms;
    return {Kokkos::min(1.0, at(place) * decay), Kokkos::max(0.0, polynomial(two, place.t) * decay),
            polynomial(two + terms, place.t) * decay};
  }
  /// What it is made from.
  BesselK const& bessel() const { return bessel_; }

 private:
  static constexpr int panel_bits = 3, first_exponent = -24, octaves = 42;
  static constexpr std::int64_t first_panel = (1023 + first_exponent) << panel_bits,
                                panels = octaves << panel_bits;
  static constexpr std::uint64_t mantissa = (std::uint64_t{1} << 52) - 1,
                                 one = std::uint64_t{1023} << 52;

  KOKKOS_FUNCTION static double polynomial(double const* c, double t) {
    double sum = c[terms - 1];
    for (int k = terms - 2; k >= 0; --k) sum = sum * t + c[k];
    return sum;
  }

  BesselK bessel_;
  MaternGradient gradient_;
  std::vector<double> numbers_;
  double *values_, *derivatives_;  // in `numbers_`, panel by panel; of -x M' behind dM/dnu
};

/// From so many pairs of places on a table pays.
inline constexpr std::int64_t pairs_for_a_table = 30'000;

/// A table of nu, where memory is the host's, the pairs pay for it and nu is not too large, else
/// none.
template <class MemorySpace>
std::shared_ptr<MaternTable const> table_for(double nu, std::int64_t pairs, bool with_derivatives) {
  bool const pays = pairs >= pairs_for_a_table && nu <= MaternTable::largest_order;
  if (!std::is_same_v<MemorySpace, Kokkos::HostSpace> || !pays) return nullptr;
  return std::make_shared<MaternTable const>(nu, with_derivatives);
}

}  // namespace strata::geostat::detail

#endif
