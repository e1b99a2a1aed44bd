// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TEAM_DETAIL_JOB_THREAD_HPP
#define STRATA_OOC_TEAM_DETAIL_JOB_THREAD_HPP

#include <core/Strata_Errors.hpp>

#include <unistd.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace strata::ooc::detail {

/// Starts a thread. If the system has none left, throws MemoryError that says what limits their
/// number.
template <class Function>
std::thread started(Function&& run) {
  try {
    return std::thread(std::forward<Function>(run));
  } catch (std::system_error const& error) {
    throw MemoryError("no thread could be started: " + error.code().message() +
                      "; address space (ulimit -v) and processes (ulimit -u) limit them");
  }
}

/// A thread that does one job after another, and sleeps between them.
///
/// A process that was forked has none of its parent's threads: there the first job starts one anew.
class JobThread {
 public:
  JobThread() = default;
  ~JobThread() {
    if (is_here()) {
      state_->tell([](State& state) { state.ends = true; });
      state_->thread.join();
    } else {
      abandon();
    }
  }
  JobThread(JobThread const&) = delete;
  JobThread& operator=(JobThread const&) = delete;

  /// Whether there is a thread, of this process.
  bool is_here() const { return state_ && state_->process == ::getpid(); }

  /// Begin a job, which must not throw; the one before has ended.
  ///
  /// Throws   MemoryError if the system has no thread: then nothing was begun.
  void start(std::function<void()> job) {
    if (!is_here()) {
      abandon();
      auto state = std::make_unique<State>();
      state->thread = started([&state = *state] { state.run(); });
      state_ = std::move(state);
    }
    state_->tell([&](State& state) { state.job = std::move(job); });
  }

  /// Waits until the job has ended.
  void wait() {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [this] { return !state_->job; });
  }

 private:
  struct State {
    template <class Change>
    void tell(Change const& change) {
      {
        std::lock_guard const lock(mutex);
        change(*this);
      }
      changed.notify_all();
    }
    void run() {
      std::unique_lock lock(mutex);
      while (true) {
        changed.wait(lock, [this] { return job || ends; });
        if (!job) return;
        lock.unlock();
        job();
        lock.lock();
        job = nullptr;
        changed.notify_all();
      }
    }

    std::mutex mutex;
    std::condition_variable changed;
    std::function<void()> job;
    bool ends = false;
    pid_t process = ::getpid();
    std::thread thread;
  };

  // Nothing can be taken down of a thread that is not in this process.
  void abandon() { (void)state_.release(); }

  std::unique_ptr<State> state_;
};

}  // namespace strata::ooc::detail

#endif
