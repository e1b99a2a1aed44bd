// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/instances/Strata_ConcurrentCall.hpp>

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace strata {
namespace {

constexpr std::int64_t capturing = std::int64_t{1} << 62;
std::atomic<std::int64_t> calls{0};  // threads that hold a call, plus `capturing`
thread_local std::int64_t held = 0;  // by this thread
std::atomic<bool> forked_amid{false};

// In a child, which has no other thread.
void forget_others() noexcept {
  std::int64_t const mine = held > 0 ? 1 : 0;
  if (calls.exchange(mine) != mine) forked_amid = true;
}
[[maybe_unused]] int const watched = pthread_atfork(nullptr, nullptr, forget_others);

}  // namespace

ConcurrentCall::ConcurrentCall() noexcept {
  if (held++ > 0) return;
  auto seen = calls.load();
  while (true) {
    if (seen >= capturing) {
      calls.wait(seen);
      seen = calls.load();
    } else if (calls.compare_exchange_weak(seen, seen + 1)) {
      return;
    }
  }
}
ConcurrentCall::~ConcurrentCall() {
  if (--held == 0) --calls;
}

bool is_forked_amid_calls() noexcept { return forked_amid; }

CaptureRight::CaptureRight() noexcept {
  std::int64_t mine = held > 0 ? 1 : 0;
  granted_ = calls.compare_exchange_strong(mine, mine + capturing);
}
CaptureRight::~CaptureRight() {
  if (!granted_) return;
  calls -= capturing;
  calls.notify_all();
}

}  // namespace strata
