// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The part of strata.h that is about the drop-in.
#include <c/strata.h>
#include <lapack/detail/Strata_Library.hpp>
#include <lapack/detail/Strata_Report.hpp>
#include <lapack/detail/Strata_Settings.hpp>

#include <cstdint>
#include <exception>
#include <new>
#include <string_view>

using namespace strata::lapack::detail;

namespace {

// For strata_message(), which only a process that has loaded libstrata_c can call.
strata_status keep(strata_status status, char const* message) noexcept {
  try {
    Library const* const loaded = library_if_loaded();
    return loaded == nullptr ? status : loaded->report_status(status, message);
  } catch (std::exception const&) {
    return status;  // alone, then
  }
}

}  // namespace

strata_status strata_lapack_configure(char const* text) {
  try {
    if (text == nullptr)
      return keep(STRATA_INVALID_ARGUMENT, "STRATA_LAPACK: the text is a null pointer");
    use_settings(parse_settings(text, settings()));
    return keep(STRATA_SUCCESS, nullptr);
  } catch (SettingsError const& error) {
    return keep(STRATA_INVALID_ARGUMENT, error.what());
  } catch (std::bad_alloc const& error) {
    return keep(STRATA_OUT_OF_MEMORY, error.what());
  } catch (
      std::exception const& error) {  // the layers' names are in libstrata_c, and it is not there
    return keep(STRATA_NOT_READY, error.what());
  }
}

strata_status strata_lapack_calls(char const* routine, int64_t* by_strata, int64_t* by_system) {
  std::string_view const name = routine == nullptr ? "" : routine;
  for (std::size_t k = 0; k < routine_names.size(); ++k) {
    if (name != routine_names[k]) continue;
    if (by_strata != nullptr) *by_strata = calls(static_cast<Routine>(k), Doer::Strata);
    if (by_system != nullptr) *by_system = calls(static_cast<Routine>(k), Doer::System);
    return keep(STRATA_SUCCESS, nullptr);
  }
  return keep(STRATA_INVALID_ARGUMENT,
              "strata_lapack_calls: there are spotrf, dpotrf, spotrs, dpotrs, sposv, dposv and "
              "dsposv");
}
