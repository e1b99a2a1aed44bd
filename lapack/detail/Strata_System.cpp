// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <lapack/detail/Strata_System.hpp>

#include <dlfcn.h>

#include <string_view>
#include <utility>

namespace strata::lapack::detail {

namespace {

constexpr char const* libraries[] = {"liblapack.so.3", "libopenblas.so.0", "liblapack.so"};
constexpr char const* libraries_64[] = {"liblapack64.so.3", "libopenblas64.so.0", "liblapack64.so"};

bool is_own(void* address) {
  static int marker;
  Dl_info found{}, own{};
  return dladdr(address, &found) != 0 && dladdr(&marker, &own) != 0 &&
         found.dli_fbase == own.dli_fbase;
}

void* look_in(char const* library, char const* name) {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  void* const address = handle == nullptr ? nullptr : dlsym(handle, name);
  return address != nullptr && is_own(address) ? nullptr : address;
}

template <std::size_t count>
void* look_in_all(char const* const (&names)[count], char const* name) {
  for (char const* const library : names)
    if (void* const address = look_in(library, name)) return address;
  return nullptr;
}

bool is_64(std::string_view name) { return name.ends_with("_64_"); }

std::string symbol_of(Routine routine, Width width) {
  return std::string(routine_names[static_cast<std::size_t>(routine)]) +
         (width == Width::Int64 ? "_64_" : "_");
}

}  // namespace

SystemLapack::SystemLapack(std::string library) : library_(std::move(library)) {}

void* SystemLapack::find(Routine routine, Width width) {
  Function& function =
      functions_[static_cast<std::size_t>(width)][static_cast<std::size_t>(routine)];
  if (function.searched) return function.address;
  std::string const symbol = symbol_of(routine, width);
  char const* const name = symbol.c_str();
  void* found = library_.empty() ? nullptr : look_in(library_.c_str(), name);
  if (found == nullptr && !library_.empty())
    say("no " + symbol + " in " + library_ + ": looking elsewhere");
  if (found == nullptr) found = dlsym(RTLD_NEXT, name);
  if (found == nullptr)
    found = is_64(name) ? look_in_all(libraries_64, name) : look_in_all(libraries, name);
  function.address = found;
  function.searched = true;
  return found;
}

std::string SystemLapack::missing(Routine routine, Width width) {
  std::string text = "no " + symbol_of(routine, width) + " in the process, nor in a library";
  char const* separator = " ";
  for (char const* const library : width == Width::Int64 ? libraries_64 : libraries) {
    text += separator + std::string(library);
    separator = ", ";
  }
  return text + "; the setting lapack=PATH in STRATA_LAPACK names one";
}

void* find_in_process(char const* name) {
  if (void* const found = dlsym(RTLD_DEFAULT, name)) return found;
  return is_64(name) ? look_in_all(libraries_64, name) : look_in_all(libraries, name);
}

}  // namespace strata::lapack::detail
