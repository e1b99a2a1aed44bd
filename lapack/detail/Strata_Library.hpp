// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LAPACK_LIBRARY_HPP
#define STRATA_LAPACK_LIBRARY_HPP

#include <c/strata.h>

namespace strata::lapack::detail {

/// The functions of libstrata_c that the drop-in calls.
///
/// They are loaded at the first need and kept to themselves. The dependencies of a preloaded
/// library come before the program's, so that our BLAS would replace the program's. Every program
/// that the first one starts would load them, too.
struct Library {
  decltype(&strata_spotrf) spotrf = nullptr;
  decltype(&strata_dpotrf) dpotrf = nullptr;
  decltype(&strata_spotrs) spotrs = nullptr;
  decltype(&strata_dpotrs) dpotrs = nullptr;
  decltype(&strata_sposv) sposv = nullptr;
  decltype(&strata_dposv) dposv = nullptr;
  decltype(&strata_dsposv) dsposv = nullptr;
  decltype(&strata_is_device_pointer) is_device_pointer = nullptr;
  decltype(&strata_check_options) check_options = nullptr;
  decltype(&strata_report_status) report_status = nullptr;
  decltype(&strata_message) message = nullptr;
};

/// Throws   std::runtime_error that says why the library can't be loaded.
Library const& library();

/// The same if the process has it already, else null: nothing is loaded.
Library const* library_if_loaded();

}  // namespace strata::lapack::detail

#endif
