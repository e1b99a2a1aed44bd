// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_AT_KOKKOS_END_HPP
#define STRATA_AT_KOKKOS_END_HPP

#include <functional>

namespace strata {

/// Calls `release` before Kokkos ends, whoever ends it, if the object still lives then: Views and
/// instances must be gone by that time. If there are several such objects, the last one made comes
/// first. `release` makes no other one.
class AtKokkosEnd {
 public:
  /// Sets `release`, from now on. Throws MemoryError.
  explicit AtKokkosEnd(std::function<void()> release);
  ~AtKokkosEnd();
  AtKokkosEnd(AtKokkosEnd const&) = delete;
  AtKokkosEnd& operator=(AtKokkosEnd const&) = delete;

 private:
  friend struct AtKokkosEndList;
  std::function<void()> release_;
  AtKokkosEnd *before_ = nullptr, *after_ = nullptr;  // in the list of those that live
};

}  // namespace strata

#endif
