// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PYTHON_WORK_HPP
#define STRATA_PYTHON_WORK_HPP

#include <c/runtime/Strata_Runtime.hpp>
#include <core/Strata_Stopwatch.hpp>

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>

namespace strata::python::detail {

namespace nb = nanobind;

/// The GIL for a thread that may not have it; not `held` once Python ends, which would end the
/// thread instead, in the middle of C++.
class Gil {
 public:
  Gil();
  ~Gil();
  Gil(Gil const&) = delete;
  Gil& operator=(Gil const&) = delete;

  bool held() const { return held_; }

 private:
  bool held_;
  PyGILState_STATE state_{};
};

/// The GIL is free for others meanwhile. A thread that comes back once Python ends sleeps until the
/// process does.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(WithoutGil const&) = delete;
  WithoutGil& operator=(WithoutGil const&) = delete;

 private:
  PyThreadState* state_;
};

/// Python's objects and arrays that work needs. The last thread that has them lets them
/// go.
class Kept {
 public:
  template <class... Object>
  explicit Kept(Object const&... objects)
      : objects_(new std::tuple<Object...>(objects...), [](std::tuple<Object...>* all) {
          Gil const gil;
          if (gil.held()) delete all;  // else nobody needs them any more
        }) {}

 private:
  std::shared_ptr<void> objects_;
};

/// Counts a thread that works until it goes.
class Running {
 public:
  Running() noexcept;
  ~Running();
  Running(Running const&) = delete;
  Running& operator=(Running const&) = delete;
};

/// Before Python ends: until all such threads have gone. Throws what a signal's handler raises.
void end_work();
/// In a forked process, which does not have them.
void forget_work();

/// Seconds that f() of this thread's last `run` took, without what Python adds:
/// perf/python/call_overhead.py.
double& seconds_of_work() noexcept;

/// Puts the seconds of its life there.
class Clock {
 public:
  explicit Clock(double& seconds) : seconds_(seconds) {}
  ~Clock() { seconds_ = watch_.seconds(); }
  Clock(Clock const&) = delete;
  Clock& operator=(Clock const&) = delete;

 private:
  double& seconds_;
  Stopwatch watch_;
};

/// A call from Python, as the work that is done for it knows it.
class Call {
 public:
  enum class Thread : bool { Caller, Own };  ///< the thread that works

  explicit Call(Thread thread) : is_apart_(thread == Thread::Own) {}
  Call(Call const&) = delete;
  Call& operator=(Call const&) = delete;

  /// Nobody waits for the work any more.
  void leave() { is_left_ = true; }

  /// Whether somebody waits; on the caller's thread, which is here to hear them, signals are
  /// handled.
  ///
  /// Throws   Error if not; what a signal's handler raises: KeyboardInterrupt.
  void require_wanted() const;

  void const* object = nullptr;  ///< object whose turn it has

 private:
  bool is_apart_;
  std::atomic<bool> is_left_ = false;
};

/// The GIL while the work of a call runs a function of Python's.
class Callback {
 public:
  /// Throws   Error once Python ends.
  explicit Callback(Call const& call);
  ~Callback();
  Callback(Callback const&) = delete;
  Callback& operator=(Callback const&) = delete;

  /// Throws   Error where this thread runs a function that the object's work calls, and would wait
  ///          for itself.
  static void require_not_of(void const* object);

 private:
  Gil gil_;
  void const* before_;
};

/// f(call) on a thread of its own, and its result.
template <class Function>
class Job {
 public:
  using Result = std::invoke_result_t<Function&, Call&>;

  explicit Job(Function f) : f_(std::move(f)) {}

  void work(Call& call) noexcept {
    try {
      c::Caller const caller;
      Clock const clock(seconds_);
      result_.emplace((*f_)(call));
    } catch (...) {
      error_ = std::current_exception();
    }
    f_.reset();
    std::lock_guard const lock(changing_);
    done_ = true;
    changed_.notify_all();
  }
  void work() noexcept { work(call_); }
  void leave() { call_.leave(); }
  bool wait(std::chrono::milliseconds time) {
    std::unique_lock lock(changing_);
    return changed_.wait_for(lock, time, [this] { return done_; });
  }
  Result take() {
    seconds_of_work() = seconds_;
    if (error_) std::rethrow_exception(error_);
    return std::move(*result_);
  }

 private:
  Call call_{Call::Thread::Own};
  std::optional<Function> f_;
  std::optional<Result> result_;
  std::exception_ptr error_;
  double seconds_ = 0;
  std::mutex changing_;
  std::condition_variable changed_;
  bool done_ = false;
};

/// Work that may take so long that somebody presses Ctrl-C, a tenth of a second: a thread for it
/// costs nothing beside.
inline constexpr double long_flops = 5e8;
/// Flops of an answer that an object has at hand.
inline constexpr double no_flops = 0;

/// f(call) without the GIL, with Kokkos. If f takes long, a signal's handler can end the wait. Then
/// f goes on on its own thread, to its end or until it asks whether it is wanted, and its result is
/// dropped. So f holds all that it needs, by value.
///
/// Throws   NotReady; what f throws; what the handler raises: KeyboardInterrupt.
template <class Function>
auto run(double flops, Function f) -> std::invoke_result_t<Function&, Call&> {
  Call here(Call::Thread::Caller);
  if (flops < long_flops) {
    WithoutGil const released;
    c::Caller const caller;
    Clock const clock(seconds_of_work());
    return f(here);
  }
  auto const job = std::make_shared<Job<Function>>(std::move(f));
  WithoutGil const released;
  try {
    std::thread([counted = std::make_unique<Running>(), mine = job]() mutable {
      mine->work();
      mine.reset();  // all that it held is gone before the thread counts as gone
    }).detach();
  } catch (std::system_error const&) {
    job->work(here);  // there is no thread to be had
  }
  try {
    while (!job->wait(std::chrono::milliseconds(50))) here.require_wanted();
  } catch (...) {
    job->leave();
    throw;
  }
  return job->take();
}

}  // namespace strata::python::detail

#endif
