// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_SYMBOL_HPP
#define STRATA_DETAIL_SYMBOL_HPP

#include <dlfcn.h>

namespace strata::detail {

/// The function of this name in what the process has loaded, whatever that is; nullptr if there is
/// none.
template <class Function>
Function* symbol(char const* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace strata::detail

#endif
