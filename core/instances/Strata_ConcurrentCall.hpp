// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_CONCURRENT_CALL_HPP
#define STRATA_CONCURRENT_CALL_HPP

namespace strata {

/// One thread's work with Strata, or with the device otherwise, beside other threads' work. A
/// device can't capture a graph (`Replay`) while another thread uses it. Each of several threads
/// holds such an object while it works. A graph is captured only while there is no other object.
/// The C and Python interfaces do so in every call.
///
/// Sync   waits for a capture of another thread, a few milliseconds. One thread may hold several.
class ConcurrentCall {
 public:
  ConcurrentCall() noexcept;
  ~ConcurrentCall();
  ConcurrentCall(ConcurrentCall const&) = delete;
  ConcurrentCall& operator=(ConcurrentCall const&) = delete;
};

/// Whether this process was forked while another thread of its parent held a ConcurrentCall. Nobody
/// will ever give back here what that thread had: locks and half of a result.
[[nodiscard]] bool is_forked_amid_calls() noexcept;

/// The right to capture: not `granted` while another thread holds a ConcurrentCall or this right.
class CaptureRight {
 public:
  CaptureRight() noexcept;
  ~CaptureRight();
  CaptureRight(CaptureRight const&) = delete;
  CaptureRight& operator=(CaptureRight const&) = delete;

  /// Whether this thread may capture.
  bool granted() const { return granted_; }

 private:
  bool granted_;
};

}  // namespace strata

#endif
