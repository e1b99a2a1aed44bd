// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <lapack/detail/Strata_Library.hpp>

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace strata::lapack::detail {

namespace {

template <class Function>
void find(void* handle, char const* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(handle, name));
  if (function == nullptr)
    throw std::runtime_error(std::string(STRATA_C_LIBRARY) + " has no " + name);
}

Library load() {
  void* const handle = dlopen(STRATA_C_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    char const* const reason = dlerror();
    throw std::runtime_error(reason == nullptr ? "can't load " STRATA_C_LIBRARY : reason);
  }
  Library found;
  find(handle, "strata_spotrf", found.spotrf);
  find(handle, "strata_dpotrf", found.dpotrf);
  find(handle, "strata_spotrs", found.spotrs);
  find(handle, "strata_dpotrs", found.dpotrs);
  find(handle, "strata_sposv", found.sposv);
  find(handle, "strata_dposv", found.dposv);
  find(handle, "strata_dsposv", found.dsposv);
  find(handle, "strata_is_device_pointer", found.is_device_pointer);
  find(handle, "strata_check_options", found.check_options);
  find(handle, "strata_report_status", found.report_status);
  find(handle, "strata_message", found.message);
  return found;
}

}  // namespace

Library const& library() {
  static Library const loaded = load();
  return loaded;
}

Library const* library_if_loaded() {
  void* const handle = dlopen(STRATA_C_LIBRARY, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  (void)dlclose(handle);
  return &library();
}

}  // namespace strata::lapack::detail
