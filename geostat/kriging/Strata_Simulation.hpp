// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SIMULATION_HPP
#define STRATA_SIMULATION_HPP

#include <core/io/Strata_HostMatrix.hpp>
#include <geostat/Strata_Likelihood.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace strata::geostat {

/// How many fields are drawn, and how.
struct SimulationOptions {
  std::int64_t count = 1;  ///< fields
  std::uint64_t seed = 1;  ///< seed of the normal numbers, which every backend draws alike
  /// The trend's columns at the new locations, as of `PredictionOptions`.
  std::vector<std::vector<double>> trend_columns = {};
  NuggetIs nugget = NuggetIs::Error;  ///< what it is there: a variation is in the fields
  std::size_t max_bytes = physical_memory_bytes();  ///< refuse more than this
};

/// Fields that agree with the observations.
struct Simulation {
  HostMatrix fields;  ///< a row for each location, a column for each field
  /// Variance that was added to each location as the covariance matrix had no factor without, in
  /// parts of sigma2; else 0.
  double ridge = 0;
};

/// Draws of the field without noise at new locations, given the observations (conditional
/// simulation), exact by a factor:
///   mean + L_c g,   L_c L_c' = C_00 - V' V + D (F' S^-1 F)^-1 D',
/// with mean, V and D as in `predict`, so that the trend's uncertainty is in it, and g independent
/// normal numbers.
///
/// Shape    as for `predict`.
/// Result   see Simulation. The matrix may be not positive definite to rounding, as for smooth
///          fields, and for locations that repeat or are observations'. Then the least of 1e-12,
///          1e-10 and 1e-8 of sigma2 that mends the matrix is added.
/// Sync     fences `exec`.
/// Memory   8 (N^2 + N (n + 2 count)) bytes for N locations. Cost: N^3/3 + N^2 (n + 2 count) flops.
/// Throws   MemoryError if that is more than `max_bytes`; ValueError for no field, or a factor with
///          tiles below fp64; Error where no ridge mends it; what `predict` throws.
/// Source   Chiles and Delfiner, Geostatistics, 2012, section 7.3.
template <class ExecutionSpace>
[[nodiscard]] Simulation simulate(ExecutionSpace const& exec,
                                  CovarianceFactor<ExecutionSpace>& factor,
                                  std::span<double const> values, Locations const& new_locations,
                                  Trend const& trend = Mean::Constant,
                                  SimulationOptions const& options = {});

namespace detail {

/// A normal number of a field at a place, by Box and Muller, the same on every backend.
double normal_number(std::uint64_t seed, std::int64_t place, std::int64_t field);

}  // namespace detail

}  // namespace strata::geostat

#endif
