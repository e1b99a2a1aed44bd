// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_MLE_HPP
#define STRATA_APPS_MLE_HPP

#include <apps/mle/Strata_MleOptions.hpp>
#include <apps/shared/Strata_Exit.hpp>

namespace strata::apps {

/// `strata mle`: read observations and fit, evaluate or predict, or make a synthetic field; write the files asked
/// for, print the report.
///
/// Throws   UsageError for input that can't be used; Error for everything else that fails.
Exit mle(MleOptions const& options);

}  // namespace strata::apps

#endif
