// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/instances/Strata_AtKokkosEnd.hpp>

#include <core/Strata_Errors.hpp>

#include <Kokkos_Core.hpp>

#include <pthread.h>

#include <mutex>
#include <utility>

namespace strata {

// They are linked, so that a list needs no memory. Its lock is held while the process forks. Else a
// child could find the lock taken by a thread that the child does not have.
struct AtKokkosEndList {
  std::mutex changing;
  AtKokkosEnd* first = nullptr;

  AtKokkosEndList() {
    Kokkos::push_finalize_hook([] { the().release_all(); });
    STRATA_REQUIRE(MemoryError,
                   pthread_atfork([] { the().changing.lock(); }, [] { the().changing.unlock(); },
                                  [] { the().changing.unlock(); }) == 0,
                   "pthread_atfork has no memory");
  }
  static AtKokkosEndList& the() {
    static AtKokkosEndList& one = *new AtKokkosEndList;  // static destructors may need it
    return one;
  }
  void release_all() {
    std::lock_guard const lock(changing);
    for (AtKokkosEnd* one = first; one != nullptr; one = one->after_) one->release_();
  }
  void add(AtKokkosEnd& one) {
    std::lock_guard const lock(changing);
    one.after_ = first;
    if (first != nullptr) first->before_ = &one;
    first = &one;
  }
  void remove(AtKokkosEnd& one) {
    std::lock_guard const lock(changing);
    (one.before_ == nullptr ? first : one.before_->after_) = one.after_;
    if (one.after_ != nullptr) one.after_->before_ = one.before_;
  }
};

AtKokkosEnd::AtKokkosEnd(std::function<void()> release) : release_(std::move(release)) {
  AtKokkosEndList::the().add(*this);
}
AtKokkosEnd::~AtKokkosEnd() { AtKokkosEndList::the().remove(*this); }

}  // namespace strata
