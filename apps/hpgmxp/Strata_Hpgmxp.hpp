// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_HPGMXP_HPP
#define STRATA_APPS_HPGMXP_HPP

#include <apps/hpgmxp/Strata_HpgmxpOptions.hpp>
#include <apps/shared/Strata_Exit.hpp>

namespace strata::apps {

/// Run the HPG-MxP benchmark and report it on rank 0: table, JSON, the public codes' report.
///
/// Result   NotConverged if the validation failed. An error that all ranks know of is reported by rank 0.
/// Throws   UsageError and what the library throws, on one rank.
Exit hpgmxp(HpgmxpRequest const& request);

}  // namespace strata::apps

#endif
