// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The part of strata.h that is about the drop-in.
#include <c/strata.h>

#include <cstdint>
#include <exception>
#include <lapack/detail/Strata_Library.hpp>
#include <lapack/detail/Strata_Report.hpp>
#include <lapack/detail/Strata_Settings.hpp>
#include <string>
#include <string_view>

using namespace strata::lapack::detail;

strata_status strata_lapack_configure(char const* text) {
  try {
    if (text == nullptr)
      return library().report_status(STRATA_INVALID_ARGUMENT,
                                     "STRATA_LAPACK: the text is a null pointer");
    Settings const next = parse_settings(text, *settings());
    use_settings(next);
    return library().report_status(STRATA_SUCCESS, nullptr);
  } catch (SettingsError const& error) {
    return library().report_status(STRATA_INVALID_ARGUMENT, error.what());
  } catch (std::exception const& error) {
    return library().report_status(STRATA_OUT_OF_MEMORY, error.what());
  }
}

strata_status strata_lapack_calls(char const* routine, int64_t* by_strata, int64_t* by_system) {
  std::string_view const name = routine == nullptr ? "" : routine;
  for (std::size_t k = 0; k < routine_names.size(); ++k) {
    if (name != routine_names[k]) continue;
    Calls const& found = calls(static_cast<Routine>(k));
    if (by_strata != nullptr) *by_strata = found.by_strata;
    if (by_system != nullptr) *by_system = found.by_system;
    return library().report_status(STRATA_SUCCESS, nullptr);
  }
  return library().report_status(
      STRATA_INVALID_ARGUMENT,
      "strata_lapack_calls: there are spotrf, dpotrf, spotrs, dpotrs, sposv, dposv and dsposv");
}
