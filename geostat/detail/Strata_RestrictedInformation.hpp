// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_RESTRICTED_INFORMATION_HPP
#define STRATA_RESTRICTED_INFORMATION_HPP

#include <geostat/Strata_Likelihood.hpp>
#include <geostat/detail/Strata_CovarianceGradient.hpp>
#include <geostat/model/detail/Strata_Derivatives.hpp>

namespace strata::geostat::detail {

/// What REML's information of the covariance's parameters has beside maximum likelihood's,
///   -trace(T' S_j S^-1 S_k T) + 1/2 trace(T' S_j T T' S_k T),   T as in Weights,
/// of those that are wanted; of the others 0.
///
/// Sync     fences `exec`.
/// Memory   (18 k + 2048) n numbers for k columns of the trend. Cost: n^2 evaluations of entries.
/// Source   Harville, J. Amer. Statist. Assoc. 72 (1977), doi:10.2307/2286796, section 4.
template <class ExecutionSpace>
OfEachTwo restricted_information(ExecutionSpace const& exec,
                                 CovarianceFactor<ExecutionSpace>& factor, Trend const& trend,
                                 Wanted const& wanted, ManySolves& solves);

}  // namespace strata::geostat::detail

#endif
