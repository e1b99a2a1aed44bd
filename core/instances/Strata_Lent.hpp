// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LENT_HPP
#define STRATA_LENT_HPP

#include <core/instances/Strata_AtKokkosEnd.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace strata {

/// A T that is lent to one owner at a time. On a device, to make an instance, or a library's handle
/// and its workspace, costs more than to factor a small matrix. So an owner gets a T that an
/// earlier owner on the same device has left, or else a new one.
///
/// Before it is returned, the owner must have finished all work on it and removed every reference
/// to its own data.
///
/// Memory   `most` of each T and device are kept until Kokkos ends. One whose owner ends by an
///          exception is not.
template <class T>
class Lent {
 public:
  static constexpr std::size_t most = 4;  ///< objects that are kept for a device, at most

  /// One that was left, or T(arguments...), which throws what it throws.
  template <class... Argument>
  explicit Lent(int device, Argument const&... arguments)
      : device_(device), exceptions_(std::uncaught_exceptions()), thing_(Left::the().take(device)) {
    if (!thing_) thing_ = std::make_unique<T>(arguments...);
  }
  ~Lent() {
    if (std::uncaught_exceptions() == exceptions_) Left::the().leave(device_, std::move(thing_));
  }
  Lent(Lent const&) = delete;
  Lent& operator=(Lent const&) = delete;

  /// The thing.
  T& operator*() const { return *thing_; }
  /// The members of the thing.
  T* operator->() const { return thing_.get(); }

  /// Nobody gets it any more: the work on it may not have ended well.
  void forsake() { ++exceptions_; }

 private:
  // A thread that finds the lock taken goes without: so a child can't wait for a thread that a fork
  // has left behind.
  class Left {
   public:
    static Left& the() {
      static Left& one = *new Left;  // static destructors may need it
      return one;
    }
    std::unique_ptr<T> take(int device) {
      std::unique_lock const lock(changing_, std::try_to_lock);
      if (!lock.owns_lock()) return nullptr;
      auto const found =
          std::ranges::find_if(idle_, [&](Idle const& one) { return one.device == device; });
      if (found == idle_.end()) return nullptr;
      auto thing = std::move(found->thing);
      idle_.erase(found);
      return thing;
    }
    void leave(int device, std::unique_ptr<T> thing) noexcept {
      std::unique_lock const lock(changing_, std::try_to_lock);
      if (!lock.owns_lock() || has_ended_ || idle_.size() == idle_.capacity()) return;
      auto const kept =
          std::ranges::count_if(idle_, [&](Idle const& one) { return one.device == device; });
      if (static_cast<std::size_t>(kept) < most) idle_.push_back({device, std::move(thing)});
    }

   private:
    struct Idle {
      int device;
      std::unique_ptr<T> thing;
    };
    Left() { idle_.reserve(devices * most); }
    void end() {
      has_ended_ = true;
      std::vector<Idle> gone;
      std::unique_lock const lock(changing_, std::try_to_lock);
      if (lock.owns_lock()) gone.swap(idle_);
    }

    static constexpr std::size_t devices = 16;
    std::mutex changing_;
    std::vector<Idle> idle_;
    std::atomic<bool> has_ended_ = false;
    AtKokkosEnd at_end_{[this] { end(); }};
  };

  int device_, exceptions_;
  std::unique_ptr<T> thing_;
};

}  // namespace strata

#endif
