// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VECCHIA_VALIDATION_HPP
#define STRATA_VECCHIA_VALIDATION_HPP

#include <geostat/kriging/Strata_CrossValidation.hpp>
#include <geostat/vecchia/Strata_Vecchia.hpp>

#include <cstdint>
#include <functional>
#include <span>

namespace strata::geostat {

/// How observations are left out.
struct LocalValidationOptions {
  std::int64_t neighbours = 60;  ///< others that each is predicted from, 1 to 1000
  /// A number for each observation: equal numbers are left out together; none: each alone.
  std::span<std::int64_t const> folds = {};
  VecchiaOptions approximation = {};             ///< approximation of each fold
  std::function<void(double)> on_progress = {};  ///< hears what part is done
};

/// Leave observations out and predict each from the nearest of the others, without a refit, and the
/// trend's coefficients anew each time.
///
/// With one observation i left out, its residual r and variance s^2 about the trend's best b become
///   (r - f' b) / (1 - g),   s^2 / (1 - g),   g = f' (Q' S^-1 Q)^-1 f / s^2,
/// f being its row of the basis less what its neighbours tell. A fold takes an approximation of all
/// others. With all of them as neighbours it is `cross_validate`.
///
/// Shape    folds: n numbers, or none.
/// Result   as of `cross_validate`; no residual where the others do not tell the trend.
/// Sync     fences `exec`.
/// Cost     a prediction of n places; each fold a likelihood with its order and neighbours more.
/// Throws   ShapeError if there are neither n folds nor none; ValueError if the neighbours are not
///          1 to 1000; what `Vecchia::log_likelihood` throws.
/// Source   Dubrule, Math. Geol. 15 (1983), doi:10.1007/BF01033232.
template <class ExecutionSpace>
[[nodiscard]] CrossValidation cross_validate(ExecutionSpace const& exec,
                                             Vecchia<ExecutionSpace> const& approximation,
                                             MaternCovariance const& covariance,
                                             std::span<double const> values,
                                             LocalValidationOptions const& options = {});

}  // namespace strata::geostat

#endif
