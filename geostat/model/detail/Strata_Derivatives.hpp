// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DERIVATIVES_HPP
#define STRATA_DERIVATIVES_HPP

#include <array>
#include <cstddef>

namespace strata::geostat::detail {

/// Derivatives by the ranges of coordinates other than x, at most.
inline constexpr int axis_count = 7;
/// What a covariance is differentiated by: its parameters, two directions' ways, a second
/// structure's parameters, and the ranges of coordinates other than x.
inline constexpr int derivative_count = 9 + axis_count;

/// Their numbers.
///
/// The stretch is kappa = -log ratio while the product of both axes' ranges stays. The shear is
/// twice the angle that the axes turn by, times kappa. Both have derivatives where there are no
/// directions, kappa = 0, too. `axis` + k is the logarithm of coordinate k + 1's range, in both
/// structures, while all others stay; x is coordinate 0. `range` moves all ranges together.
struct By {
  static constexpr std::size_t sigma2 = 0, range = 1, nu = 2, nugget = 3, stretch = 4, shear = 5,
                               sigma2_2 = 6, range_2 = 7, nu_2 = 8, axis = 9;
};

/// A number of each.
using OfEach = std::array<double, derivative_count>;
/// Those that are wanted.
using Wanted = std::array<bool, derivative_count>;
/// A number of each two.
using OfEachTwo = std::array<OfEach, derivative_count>;

}  // namespace strata::geostat::detail

#endif
