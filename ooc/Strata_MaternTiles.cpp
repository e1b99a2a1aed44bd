// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/detail/Strata_Instantiate.hpp>
#include <memory>
#include <ooc/Strata_MaternTiles.hpp>

namespace strata::ooc {

namespace {

template <class Exec>
using Coordinates = Kokkos::View<double*, typename Exec::memory_space>;

template <class Exec>
void fill_closed_form(Exec const& exec, MaternCovariance const& c, Metric metric,
                      Coordinates<Exec> const& x, Coordinates<Exec> const& y, std::int64_t row,
                      std::int64_t col, TileView<Exec> const& tile) {
  strata::detail::for_each_element(
      "strata::ooc::matern_tiles::closed_form", exec, static_cast<std::int64_t>(tile.extent(0)),
      static_cast<std::int64_t>(tile.extent(1)), KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        std::int64_t const p = Kokkos::max(row + i, col + j), q = Kokkos::min(row + i, col + j);
        double const h = strata::detail::distance(metric, x(p), y(p), x(q), y(q));
        tile(i, j) = c.sigma2 * strata::detail::matern_closed_form(c.nu, h / c.range) +
                     (p == q ? c.nugget : 0.0);
      });
}

template <class Exec>
void fill_on_host(Exec const& exec, MaternCovariance const& c, Locations const& locations,
                  std::int64_t row, std::int64_t col, TileView<Exec> const& tile) {
  Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace> const HostTile(
      Kokkos::view_alloc(Kokkos::WithoutInitializing, "strata::ooc::matern_tiles::HostTile"),
      tile.extent(0), tile.extent(1));
  for (std::size_t j = 0; j < tile.extent(1); ++j)
    for (std::size_t i = 0; i < tile.extent(0); ++i) {
      std::int64_t const p = row + static_cast<std::int64_t>(i),
                         q = col + static_cast<std::int64_t>(j);
      HostTile(i, j) =
          c(locations.distance(std::max(p, q), std::min(p, q))) + (p == q ? c.nugget : 0.0);
    }
  Kokkos::deep_copy(exec, tile, HostTile);
  exec.fence("strata::ooc::matern_tiles::copied");
}

}  // namespace

template <class Exec>
TileGenerator<Exec> matern_tiles(Exec const& exec, MaternCovariance const& covariance,
                                 Locations const& locations) {
  check_covariance(covariance, locations);
  if (!strata::detail::has_closed_form(covariance.nu)) {
    auto const points = std::make_shared<Locations const>(locations);
    return [covariance, points](Exec const& instance, std::int64_t row, std::int64_t col,
                                TileView<Exec> const& tile) {
      fill_on_host(instance, covariance, *points, row, col, tile);
    };
  }
  using Space = typename Exec::memory_space;
  auto const x = strata::detail::copy_of<Space>(exec, locations.x, "strata::ooc::matern_tiles::x");
  auto const y = strata::detail::copy_of<Space>(exec, locations.y, "strata::ooc::matern_tiles::y");
  exec.fence("strata::ooc::matern_tiles::locations");
  Metric const metric = locations.metric;
  return [covariance, metric, x, y](Exec const& instance, std::int64_t row, std::int64_t col,
                                    TileView<Exec> const& tile) {
    fill_closed_form<Exec>(instance, covariance, metric, x, y, row, col, tile);
  };
}

#define STRATA_INSTANTIATE(Exec)                                                        \
  template TileGenerator<Exec> matern_tiles<Exec>(Exec const&, MaternCovariance const&, \
                                                  Locations const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
