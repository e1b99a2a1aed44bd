// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MATERN_KERNEL_HPP
#define STRATA_MATERN_KERNEL_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <core/Strata_HostMatrix.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace strata {

struct MaternCovariance;
struct Locations;

/// How two locations' distance is measured.
enum class Metric : std::uint8_t {
  Euclidean,    ///< sqrt(dx^2 + dy^2), in the unit of x and y
  GreatCircle,  ///< kilometres on a sphere; x is the longitude, y the latitude, both in degrees
};

namespace detail {

inline constexpr double earth_radius_km = 6371.0088;  // mean radius (2a + b)/3 of WGS 84, IUGG
inline constexpr double radians_per_degree = 0.017453292519943295769;

inline bool has_closed_form(double nu) { return nu == 0.5 || nu == 1.5 || nu == 2.5; }

// 2^(1-nu) / Gamma(nu) x^nu K_nu(x) for nu = 1/2, 3/2, 5/2.
KOKKOS_INLINE_FUNCTION double matern_closed_form(double nu, double x) {
  double const polynomial = nu == 0.5 ? 1.0 : nu == 1.5 ? 1.0 + x : 1.0 + x + x * x / 3;
  return x > 800 ? 0.0 : polynomial * Kokkos::exp(-x);  // avoids inf * 0
}

KOKKOS_INLINE_FUNCTION double distance(Metric metric, double x1, double y1, double x2, double y2) {
  if (metric == Metric::Euclidean)
    return Kokkos::sqrt((x2 - x1) * (x2 - x1) + (y2 - y1) * (y2 - y1));
  // Haversine: well conditioned for small distances.
  double const half = radians_per_degree / 2;
  double const dlat = Kokkos::sin(half * (y2 - y1)), dlon = Kokkos::sin(half * (x2 - x1));
  double const cosines =
      Kokkos::cos(radians_per_degree * y1) * Kokkos::cos(radians_per_degree * y2);
  double const squared = dlat * dlat + cosines * (dlon * dlon);
  return 2 * earth_radius_km * Kokkos::asin(Kokkos::sqrt(Kokkos::min(1.0, squared)));
}

template <class MatrixView>
struct ClosedFormFill {
  using Scalar = typename MatrixView::non_const_value_type;
  using Coordinates = Kokkos::View<double const*, typename MatrixView::memory_space>;
  double sigma2, range, nu, nugget;
  Metric metric;
  bool full;
  Coordinates x, y;
  MatrixView A;

  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t j) const {
    if (i < j && !full) return;
    // Larger index first, so that the two triangles agree to the last bit.
    std::int64_t const p = Kokkos::max(i, j), q = Kokkos::min(i, j);
    double const h = distance(metric, x(p), y(p), x(q), y(q));
    A(i, j) =
        static_cast<Scalar>(sigma2 * matern_closed_form(nu, h / range) + (i == j ? nugget : 0.0));
  }
};

template <class MemorySpace, class ExecutionSpace>
auto copy_of(ExecutionSpace const& exec, std::vector<double> const& values, char const* label) {
  Kokkos::View<double const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const
      host(values.data(), values.size());
  Kokkos::View<double*, MemorySpace> const copy(
      Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, std::string(label)), values.size());
  Kokkos::deep_copy(exec, copy, host);
  return copy;
}

template <class ExecutionSpace, class Covariance, class Points, class MatrixView>
void fill_closed_form(ExecutionSpace const& exec, Covariance const& c, Points const& points,
                      MatrixView const& A, bool full) {
  using MemorySpace = typename MatrixView::memory_space;
  std::int64_t const n = points.size();
  ClosedFormFill<MatrixView> const fill{
      c.sigma2,
      c.range,
      c.nu,
      c.nugget,
      points.metric,
      full,
      copy_of<MemorySpace>(exec, points.x, "strata::fill_covariance::x"),
      copy_of<MemorySpace>(exec, points.y, "strata::fill_covariance::y"),
      A};
  using Policy =
      Kokkos::MDRangePolicy<ExecutionSpace, Kokkos::Rank<2>, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("strata::fill_covariance::closed_form", Policy(exec, {0, 0}, {n, n}), fill);
  exec.fence("strata::fill_covariance::done");  // the copies of x and y die here
}

/// panel(i, k) = A(i, first + k) for i >= first + k, by all host threads.
void covariance_panel(MaternCovariance const& covariance, Locations const& locations,
                      std::int64_t first, std::int64_t cols, HostMatrix const& panel);

template <class PanelView, class MatrixView>
struct PanelScatter {
  using Scalar = typename MatrixView::non_const_value_type;
  std::int64_t first;
  bool full;
  PanelView panel;
  MatrixView A;

  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t k) const {
    std::int64_t const j = first + k;
    if (i < j) return;
    A(i, j) = static_cast<Scalar>(panel(i, k));
    if (full) A(j, i) = A(i, j);
  }
};

template <class ExecutionSpace, class Covariance, class Points, class MatrixView>
void fill_by_panels(ExecutionSpace const& exec, Covariance const& covariance, Points const& points,
                    MatrixView const& A, bool full,
                    std::int64_t panel_numbers = std::int64_t{1} << 23) {
  using MemorySpace = typename MatrixView::memory_space;
  using Panel = Kokkos::View<double**, Kokkos::LayoutLeft, MemorySpace>;
  using Policy =
      Kokkos::MDRangePolicy<ExecutionSpace, Kokkos::Rank<2>, Kokkos::IndexType<std::int64_t>>;
  std::int64_t const n = points.size();
  if (n == 0) return;
  std::int64_t const width = std::clamp<std::int64_t>(panel_numbers / n, 1, n);
  HostMatrix const host = allocate_host_matrix("strata::fill_covariance::host_panel", n, width);
  Panel const panel(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing,
                                       std::string("strata::fill_covariance::panel")),
                    n, width);
  for (std::int64_t first = 0; first < n; first += width) {
    std::int64_t const cols = std::min(width, n - first);
    covariance_panel(covariance, points, first, cols, host);
    Kokkos::deep_copy(exec, panel, host);
    Kokkos::parallel_for("strata::fill_covariance::scatter", Policy(exec, {first, 0}, {n, cols}),
                         PanelScatter<Panel, MatrixView>{first, full, panel, A});
    exec.fence("strata::fill_covariance::panel");  // the host panel is used again
  }
}

}  // namespace detail
}  // namespace strata

#endif
