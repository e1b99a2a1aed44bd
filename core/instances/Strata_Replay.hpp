// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_REPLAY_HPP
#define STRATA_REPLAY_HPP

#include <core/Strata_Errors.hpp>
#include <core/instances/Strata_ConcurrentCall.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <Kokkos_Core.hpp>

#include <exception>
#include <memory>

// What Kokkos' graphs, whose nodes are given one by one, don't do: replay work of any code.
namespace strata::vendor {

// Defined in `vendor/`, for the GPU that Kokkos has. What is captured belongs to `exec`'s device.
template <class Exec>
void begin_capture(Exec const& exec);
template <class Exec>
std::shared_ptr<void> end_capture(Exec const& exec);
template <class Exec>
void replay(Exec const& exec, void* captured);
template <class Exec>
bool is_captured(Exec const& exec);

}  // namespace strata::vendor

namespace strata {

/// Whether what `exec` is given now is captured for a replay: it must neither allocate nor fence.
template <class Exec>
bool is_captured([[maybe_unused]] Exec const& exec) {
  if constexpr (runs_on_host<Exec>)
    return false;
  else
    return vendor::is_captured(exec);
}

/// Work that is enqueued again and again: the same kernels with the same arguments. From the third
/// time on, a device gets it as one graph. This spares the host the launches and the device the
/// gaps. The work just runs, without a graph, where a Kokkos tool or a `Recorder` watches, which
/// may fence and wants to see each kernel. It also just runs if another thread holds a
/// `ConcurrentCall` when it would be captured.
template <class Exec>
class Replay {
 public:
  /// Whether `run` may replay rather than just run: on a device, where nothing watches now.
  static bool is_possible() { return !runs_on_host<Exec> && !is_watched(); }

  /// Enqueue `work`. The first time it just runs, and loads its kernels; the second time it is
  /// captured.
  ///
  /// From the second time on, `work` must enqueue the same kernels, without a fence. It enqueues
  /// them on `exec`, or on instances that wait for `exec` first and for which `exec` waits in the
  /// end (`enqueue_wait`). Whatever the kernels refer to must live as long as this object is run,
  /// and what sends messages as long as this object.
  /// Throws   VendorError; what `work` throws.
  template <class Work>
  void run(Exec const& exec, Work const& work) {
    if constexpr (runs_on_host<Exec>) {
      work();
    } else {
      if (is_watched()) return work();
      if (!captured_) {
        if (!has_run_) {
          work();
          has_run_ = true;  // what it failed for, as memory, is not asked for in a capture, either
          return;
        }
        CaptureRight const right;
        if (!right.granted()) return work();
        capture(exec, work);
      }
      vendor::replay(exec, captured_.get());
    }
  }

 private:
  static bool is_watched() {
    auto const tool = Kokkos::Tools::Experimental::get_callbacks();
    return Recorder::current() || tool.begin_parallel_for || tool.begin_parallel_reduce ||
           tool.begin_parallel_scan || tool.begin_deep_copy || tool.begin_fence || tool.push_region;
  }
  template <class Work>
  void capture(Exec const& exec, Work const& work) {
    vendor::begin_capture(exec);
    try {
      work();
    } catch (...) {
      auto const error = std::current_exception();
      try {
        (void)vendor::end_capture(exec);
      } catch (VendorError const&) {  // instances that `exec` doesn't wait for yet
        std::rethrow_exception(error);
      }
      throw;
    }
    captured_ = vendor::end_capture(exec);
  }

  bool has_run_ = false;
  std::shared_ptr<void> captured_;
};

}  // namespace strata

#endif
