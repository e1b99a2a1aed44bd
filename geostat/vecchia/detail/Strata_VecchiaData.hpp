// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VECCHIA_DATA_HPP
#define STRATA_VECCHIA_DATA_HPP

#include <geostat/model/Strata_Trend.hpp>
#include <geostat/vecchia/detail/Strata_VecchiaKernel.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <vector>

namespace strata::geostat::detail {

/// Observations and their blocks, where kernels read them.
template <class MemorySpace>
struct VecchiaData {
  Locations locations;
  Trend trend;
  bool needs_nugget = false;  ///< true if two locations coincide, and not all have known errors
  /// Coefficients of the basis that were taken from the values before.
  std::vector<double> taken;
  std::int64_t largest = 0, pairs = 0;  ///< members of the largest block; pairs in all blocks
  BlockViews<MemorySpace> blocks;
  Points<MemorySpace> points;                 ///< locations without directions
  Kokkos::View<double*, MemorySpace> errors;  ///< known variances; none: empty
  Kokkos::View<double**, Kokkos::LayoutLeft, MemorySpace> columns;  ///< [y Q], y less Q `taken`
};

}  // namespace strata::geostat::detail

#endif
