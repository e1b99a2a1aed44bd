// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MILESTONES_HPP
#define STRATA_MILESTONES_HPP

#include <core/kokkos_ext/Strata_Team.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>

namespace strata::vendor {

/// As strata::Milestones; defined in `vendor/`, for the GPU that Kokkos has.
template <class Exec>
class Milestones {
 public:
  Milestones();
  ~Milestones();
  Milestones(Milestones const&) = delete;
  Milestones& operator=(Milestones const&) = delete;

  void set(Exec const& exec);
  std::size_t reached() const;
  void await(std::size_t count) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata::vendor

namespace strata {

/// Points in the work that is enqueued on an instance. The instance reaches them in the order in
/// which they were set, and they tell a host how far a device is. A host's instance has reached a
/// point as soon as it is set.
template <class Exec>
class Milestones {
 public:
  /// One more, behind what is enqueued on `exec` so far.
  ///
  /// Sync     the caller does not wait, nor does the device for anything. Throws VendorError.
  void set(Exec const& exec) {
    if constexpr (runs_on_host<Exec>)
      ++points_;
    else
      points_.set(exec);
  }
  /// How many were reached. Does not wait. Throws VendorError.
  std::size_t reached() const {
    if constexpr (runs_on_host<Exec>)
      return points_;
    else
      return points_.reached();
  }
  /// Wait until so many were reached; all of them were set. Throws VendorError.
  void await(std::size_t count) const {
    if constexpr (!runs_on_host<Exec>) points_.await(count);
  }

 private:
  std::conditional_t<runs_on_host<Exec>, std::size_t, vendor::Milestones<Exec>> points_{};
};

}  // namespace strata

#endif
