// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VECCHIA_SIMULATION_HPP
#define STRATA_VECCHIA_SIMULATION_HPP

#include <core/io/Strata_HostMatrix.hpp>
#include <geostat/kriging/Strata_Simulation.hpp>
#include <geostat/vecchia/Strata_Vecchia.hpp>

#include <cstdint>
#include <vector>

namespace strata::geostat {

/// How many fields are drawn, and from how many neighbours.
struct LocalSimulationOptions {
  std::int64_t neighbours = 60;  ///< neighbours of each new location, 1 to 1000
  std::int64_t count = 1;        ///< fields
  std::uint64_t seed = 1;        ///< seed of the normal numbers
  /// The trend's columns at the new locations, as of `PredictionOptions`.
  std::vector<std::vector<double>> trend_columns = {};
  NuggetIs nugget = NuggetIs::Error;  ///< what it is there: a variation is in the fields
};

/// Draws of the field without noise at new locations, given the observations. Each new location, in
/// maximin order, is drawn given its nearest neighbours among all observations and the new
/// locations before it; the trend's coefficients are drawn first. With all of them as neighbours
/// the fields have the exact distribution.
///
/// Shape    any number of new locations, of the same metric.
/// Result   as of `simulate`, with other normal numbers: what a ridge adds is the most that a
///          location took.
/// Sync     fences `exec`; works on the host, by all its threads.
/// Memory   12 m + 8 count bytes a location for m neighbours. Cost: m^3 / 3 flops and m^2 / 2
///          entries a location, and 2 m flops a field.
/// Throws   ValueError if the neighbours are not 1 to 1000, or for no field; Error where no ridge
///          mends a matrix; what `predict` by neighbours throws.
/// Source   Vecchia, J. R. Stat. Soc. B 50 (1988), doi:10.1111/j.2517-6161.1988.tb01729.x;
///          Katzfuss, Guinness, Gong and Zilber, J. Agric. Biol. Environ. Stat. 25 (2020),
///          doi:10.1007/s13253-020-00401-7.
template <class ExecutionSpace>
[[nodiscard]] Simulation simulate(ExecutionSpace const& exec,
                                  Vecchia<ExecutionSpace> const& approximation,
                                  MaternCovariance const& covariance,
                                  Locations const& new_locations,
                                  LocalSimulationOptions const& options = {});

namespace detail {

/// The fields for given normal numbers: a row for each coefficient of the trend, then one for each
/// new location.
template <class ExecutionSpace>
Simulation simulate_from(ExecutionSpace const& exec, Vecchia<ExecutionSpace> const& approximation,
                         MaternCovariance const& covariance, Locations const& new_locations,
                         LocalSimulationOptions const& options, HostMatrix const& normal);

}  // namespace detail

}  // namespace strata::geostat

#endif
