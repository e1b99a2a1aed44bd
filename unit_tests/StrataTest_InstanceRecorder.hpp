// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_INSTANCE_RECORDER_HPP
#define STRATATEST_INSTANCE_RECORDER_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace strata::test {

/// While it lives, collects what does not run on one instance of an execution space. These are
/// kernels on other instances of the same space, and fences of all instances (which Kokkos issues
/// in calls that were given none). An instance that the library made for itself on the same device
/// (`LeafBlas::urgent`) is none of the caller's, and no offence; the default instance always is.
///
/// Of backends whose instances Kokkos does not tell apart (Serial, OpenMP) only the fences are
/// seen.
class InstanceRecorder {
 public:
  template <class ExecutionSpace>
  explicit InstanceRecorder(ExecutionSpace const& exec)
      : saved_(Kokkos::Tools::Experimental::get_callbacks()) {
    expected_ = Kokkos::Tools::Experimental::device_id(exec);
    default_ = Kokkos::Tools::Experimental::device_id(ExecutionSpace());
    offences_.clear();
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(kernel);
    Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(kernel);
    Kokkos::Tools::Experimental::set_begin_parallel_scan_callback(kernel);
    Kokkos::Tools::Experimental::set_begin_fence_callback(fence);
  }
  ~InstanceRecorder() { Kokkos::Tools::Experimental::set_callbacks(saved_); }
  InstanceRecorder(InstanceRecorder const&) = delete;
  InstanceRecorder& operator=(InstanceRecorder const&) = delete;

  /// The labels of what was seen so far.
  std::vector<std::string> const& offences() const { return offences_; }

 private:
  // A device number holds the space's type, the device and, in the low 17 bits, the instance;
  // instance 0 of a fence means all of them.
  static void kernel(char const* label, std::uint32_t device, std::uint64_t* /*id*/) {
    constexpr int below_type = 24;
    constexpr std::uint32_t below_device = 17;
    bool const same_type = device >> below_type == expected_ >> below_type;
    bool const own = device >> below_device == expected_ >> below_device && device != default_;
    if (same_type && device != expected_ && !own)
      offences_.emplace_back(std::string("kernel on another instance: ") + label);
  }
  static void fence(char const* label, std::uint32_t device, std::uint64_t* /*id*/) {
    std::string const text = label;  // Kokkos fences before it frees, and for a tool that listens
    bool const own = text.find("deallocate") != std::string::npos ||
                     text.find("Profile Tool Fence") != std::string::npos;
    if ((device & 0x1ffffu) == 0 && !own)
      offences_.emplace_back(std::string("fence of all instances: ") + label);
  }

  inline static std::uint32_t expected_ = 0, default_ = 0;
  inline static std::vector<std::string> offences_;
  Kokkos::Tools::Experimental::EventSet saved_;
};

}  // namespace strata::test

#endif
