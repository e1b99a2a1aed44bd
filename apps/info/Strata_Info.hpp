// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_INFO_HPP
#define STRATA_APPS_INFO_HPP

#include <apps/shared/Strata_Exit.hpp>

namespace strata::apps {

/// `strata info`: print versions, backends, devices, memory and matrix units, as a table or as JSON.
///
/// Throws   VendorError if the GPUs' runtime fails.
Exit info(bool as_json);

}  // namespace strata::apps

#endif
