// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TILES_DETAIL_PROGRESS_HPP
#define STRATA_OOC_TILES_DETAIL_PROGRESS_HPP

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

namespace strata::ooc::detail {

/// Thrown in a stream's thread to leave it, once another has failed; caught where it started.
struct Stopped {};

/// Which tiles are final, and where, and how far the others are; and whether all is to stop.
///
/// The paper's table of flags; its threads wait busily, these sleep, so that there may be more of
/// them than cores.
template <class Mark>
class Progress {
 public:
  explicit Progress(std::size_t tiles) : updates_(tiles), marks_(tiles) {}

  /// The tile is final in host memory once `mark` is reached.
  void set(std::size_t tile, Mark const& mark) { set(tile, all, mark); }
  bool is_final(std::size_t tile) const { return updates(tile) == all; }
  /// The tile has its first `updates` once `mark` is reached.
  void set(std::size_t tile, std::int32_t updates, Mark const& mark) {
    marks_[tile] = mark;
    {
      std::lock_guard const lock(mutex_);
      updates_[tile].store(updates, std::memory_order_release);
    }
    changed_.notify_all();
  }
  std::int32_t updates(std::size_t tile) const {
    return updates_[tile].load(std::memory_order_acquire);
  }

  /// The caller waits until the tile is final, or has so many updates; its mark.
  ///
  /// Throws   Stopped.
  Mark const& wait(std::size_t tile, std::int32_t updates = all) {
    auto const is_there = [&] { return this->updates(tile) >= updates; };
    if (!is_there() && !stopped()) {
      ++waiting_;
      if (on_wait_) on_wait_();
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return is_there() || stopped(); });
      --waiting_;
    }
    if (stopped()) throw Stopped();
    return marks_[tile];
  }

  /// The mark of a tile as far as it is; nothing if nothing was done to it.
  Mark const& mark(std::size_t tile) const { return marks_[tile]; }

  /// Whether a caller of `wait` waits, and what is called when one begins to.
  bool is_awaited() const { return waiting_.load() > 0; }
  void on_wait(std::function<void()> tell) { on_wait_ = std::move(tell); }

  /// What else waits, to be woken by `stop`.
  void on_stop(std::function<void()> wake) { wake_.push_back(std::move(wake)); }
  bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  /// End all threads, with the first error that is told.
  void stop(std::exception_ptr const& error = nullptr) {
    {
      std::lock_guard const lock(mutex_);
      if (error && !error_) error_ = error;
      stopped_.store(true, std::memory_order_release);
    }
    changed_.notify_all();
    for (auto const& wake : wake_) wake();
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  static constexpr std::int32_t all = std::numeric_limits<std::int32_t>::max();

  std::vector<std::atomic<std::int32_t>> updates_;  // of each tile
  std::vector<Mark> marks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> stopped_{false};
  std::exception_ptr error_;
  std::vector<std::function<void()>> wake_;
  std::atomic<int> waiting_{0};
  std::function<void()> on_wait_;
};

}  // namespace strata::ooc::detail

#endif
