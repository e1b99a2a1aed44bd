// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LAPACK_SYSTEM_HPP
#define STRATA_LAPACK_SYSTEM_HPP

#include <atomic>
#include <string>

namespace strata::lapack::detail {

/// A function of the system's LAPACK, looked up at its first use.
///
/// It is that of the library that the setting `lapack` names, else the next of that name after this
/// library in the process' order, else that of liblapack.so.3.
class SystemFunction {
 public:
  explicit constexpr SystemFunction(char const* name) : name_(name) {}

  /// Null if there is none; `missing` says where it was looked for.
  template <class Function>
  Function* get() {
    return reinterpret_cast<Function*>(address());
  }
  char const* name() const { return name_; }
  std::string missing() const;

 private:
  void* address();

  char const* name_;
  std::atomic<void*> address_{nullptr};
  std::atomic<bool> searched_{false};
};

/// The function that errors of arguments go to: the program's own XERBLA if it has one.
void* find_in_process(char const* name);

}  // namespace strata::lapack::detail

#endif
