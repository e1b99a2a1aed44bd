// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_FENCE_AT_END_HPP
#define STRATA_FENCE_AT_END_HPP

#include <string>

namespace strata::detail {

/// `exec.fence(label)` for destructors, which must not throw; whether it went well.
///
/// Error    what the fence throws is dropped: a device that has failed says so again at its next
///          call.
template <class Exec>
bool fence_at_end(Exec const& exec, char const* label) noexcept {
  try {
    exec.fence(std::string(label));
  } catch (...) {
    return false;  // from a destructor it would end the program
  }
  return true;
}

}  // namespace strata::detail

#endif
