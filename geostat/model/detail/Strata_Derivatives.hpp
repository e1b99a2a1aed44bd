// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DERIVATIVES_HPP
#define STRATA_DERIVATIVES_HPP

#include <array>
#include <cstddef>

namespace strata::geostat::detail {

/// What a covariance is differentiated by: its parameters, two directions' ways, and a second
/// structure's parameters.
inline constexpr int derivative_count = 9;

/// Their numbers.
///
/// The stretch is kappa = -log ratio while the product of both axes' ranges stays. The shear is
/// twice the angle that the axes turn by, times kappa. Both have derivatives where there are no
/// directions, kappa = 0, too.
struct By {
  static constexpr std::size_t sigma2 = 0, range = 1, nu = 2, nugget = 3, stretch = 4, shear = 5,
                               sigma2_2 = 6, range_2 = 7, nu_2 = 8;
};

/// A number of each.
using Nine = std::array<double, derivative_count>;
/// Those that are wanted.
using Wanted = std::array<bool, derivative_count>;
/// A number of each two.
using NineByNine = std::array<Nine, derivative_count>;

}  // namespace strata::geostat::detail

#endif
