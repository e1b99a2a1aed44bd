// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SYNTHETIC_FIELD_HPP
#define STRATA_SYNTHETIC_FIELD_HPP

#include <geostat/Strata_CovarianceFactor.hpp>
#include <geostat/Strata_Matern.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace strata::geostat {

/// Observations of a Gaussian field with zero mean: y = L z for the covariance matrix S = L L^T,
/// the nugget's errors included, and seeded independent standard normal numbers z. `on_progress`
/// hears what part of S is there, at last 1, before it is factored.
///
/// Sync     fences `exec`.
/// Memory   8 n^2 bytes where `exec` works.
/// Throws   what `check_covariance` throws; ValueError with the order of the leading minor of S
///          that is not positive; MemoryError with the bytes that can't be had.
template <class ExecutionSpace>
[[nodiscard]] std::vector<double> synthetic_field(
    ExecutionSpace const& exec, MaternCovariance const& covariance, Locations const& locations,
    std::uint64_t seed = 1, std::function<void(double)> const& on_progress = {});

/// The same of a covariance matrix that is factored in tiles, all in fp64, at its locations. Each
/// tile is multiplied on the host by the rank that has it.
///
/// Result   with the bits of one rank on any number of them, for tiles of the same size. The field
///          above differs from it in its last digits.
/// Memory   3 n numbers on the host.
/// Throws   ValueError if the factor is whole or has tiles below fp64, and as above; MemoryError.
///          What one rank throws all throw.
template <class ExecutionSpace>
[[nodiscard]] std::vector<double> synthetic_field(CovarianceFactor<ExecutionSpace> const& factor,
                                                  std::uint64_t seed = 1);

}  // namespace strata::geostat

#endif
