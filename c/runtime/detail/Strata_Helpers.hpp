// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_HELPERS_HPP
#define STRATA_C_HELPERS_HPP

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <vector>

namespace strata::c::detail {

/// Threads that help the caller with some milliseconds of work. A helper that begins when the work
/// is done does nothing, and nobody waits for it. Where all processors are busy, say with the
/// threads of a BLAS that look for work, a helper may begin as late as that.
class Helpers {
 public:
  /// work(k) by the caller for k = 0, and by helpers that begin in time for k = 1, ... below
  /// `count`. Returns when all that began have ended; the caller's share must go on until nothing
  /// is left.
  ///
  /// Throws   what work throws, the caller's first.
  template <class Work>
  void run(int count, Work const& work) {
    std::erase_if(late_, [](std::future<void> const& one) {
      return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    late_.reserve(late_.size() +
                  static_cast<std::size_t>(count));  // nothing throws while helpers are there
    auto const gate = std::make_shared<Gate>();
    for (int k = 1; k < count; ++k) try {
        late_.push_back(std::async(std::launch::async, [gate, &work, k] {
          if (!gate->enter()) return;  // where `work` is gone
          gate->leave(outcome(work, k));
        }));
      } catch (std::exception const&) {  // the system has no thread left: who is there does it all
        break;
      }
    auto const mine = outcome(work, 0);
    auto const theirs = gate->close();
    if (mine) std::rethrow_exception(mine);
    if (theirs) std::rethrow_exception(theirs);
  }

 private:
  template <class Work>
  static std::exception_ptr outcome(Work const& work, int k) {
    try {
      work(k);
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  class Gate {
   public:
    bool enter() {
      std::lock_guard const lock(mutex_);
      if (!is_closed_) ++inside_;
      return !is_closed_;
    }
    void leave(std::exception_ptr const& failure) {
      std::lock_guard const lock(mutex_);
      if (failure && !failure_) failure_ = failure;
      --inside_;
      has_left_.notify_one();
    }
    /// Nobody enters any more, and all have left; what the first of them failed with.
    std::exception_ptr close() {
      std::unique_lock lock(mutex_);
      is_closed_ = true;
      has_left_.wait(lock, [&] { return inside_ == 0; });
      return failure_;
    }

   private:
    std::mutex mutex_;
    std::condition_variable has_left_;
    int inside_ = 0;
    bool is_closed_ = false;
    std::exception_ptr failure_;
  };

  std::vector<std::future<void>> late_;  // their destructors wait
};

}  // namespace strata::c::detail

#endif
