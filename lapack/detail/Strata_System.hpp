// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LAPACK_SYSTEM_HPP
#define STRATA_LAPACK_SYSTEM_HPP

#include <lapack/detail/Strata_Report.hpp>

#include <array>
#include <atomic>
#include <string>

namespace strata::lapack::detail {

/// The width of a caller's integers.
enum class Width { Int32, Int64 };

/// The system's LAPACK, whose functions are looked up at their first use.
///
/// Each function comes from the library that the object was made with. Else it is the next one of
/// that name after this library in the process' order, else it comes from liblapack.so.3.
class SystemLapack {
 public:
  /// library   its path; empty: search.
  explicit SystemLapack(std::string library);

  /// Null if there is none; `missing` says where it was looked for.
  void* find(Routine routine, Width width);
  static std::string missing(Routine routine, Width width);

 private:
  struct Function {
    std::atomic<void*> address{nullptr};
    std::atomic<bool> searched{false};
  };
  std::string library_;
  std::array<std::array<Function, routine_names.size()>, 2> functions_;
};

/// The function that errors of arguments go to: the program's own XERBLA if it has one.
void* find_in_process(char const* name);

}  // namespace strata::lapack::detail

#endif
