// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LAPACK_SETTINGS_HPP
#define STRATA_LAPACK_SETTINGS_HPP

#include <lapack/detail/Strata_System.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace strata::lapack::detail {

/// What STRATA_LAPACK and strata_lapack_configure say; see strata.h.
struct Settings {
  std::optional<std::int64_t> threshold;  ///< none: what pays for the routine
  std::string layers;                     ///< layers as strata_options takes them; empty: automatic
  std::int64_t leaf = 0;
  bool trace = false;
  std::string lapack;  ///< path; empty: search
  /// library that `lapack` names; null in settings that are not in force
  SystemLapack* system = nullptr;

  bool operator==(Settings const&) const = default;
};

/// A text that is no setting.
struct SettingsError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// `base` with what `text` changes, "threshold=512,layers=fp32".
///
/// Throws   SettingsError with the item, and the names there are.
Settings parse_settings(std::string_view text, Settings base);

/// The settings in force. The environment at the first call gives them. If it is not understood,
/// they are the defaults, and a sentence on stderr says so. They never change nor move.
Settings const& settings();

/// Sets the settings in force, from now on.
void use_settings(Settings const& settings);

}  // namespace strata::lapack::detail

#endif
