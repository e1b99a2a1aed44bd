// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_INFO_JSON_HPP
#define STRATA_APPS_INFO_JSON_HPP

#include <nlohmann/json.hpp>

namespace strata::apps {

/// Versions, backends and devices: what `strata info --json` prints, and every report holds as `configuration`.
nlohmann::ordered_json configuration_json();

}  // namespace strata::apps

#endif
