// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <c/runtime/Strata_Runtime.hpp>

#include <c/runtime/detail/Strata_LoadedObjects.hpp>
#include <core/info/Strata_Version.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

namespace strata::c {

namespace {

std::mutex starting;  // held while Kokkos starts or ends
std::atomic<std::int64_t> users{0}, resting{0};
std::atomic<bool> ending{false};  // no new users from here on
bool started_here = false;        // guarded by `starting`
std::atomic<pid_t> process{0};    // that Kokkos was first seen ready in

// Threads and devices of Kokkos do not survive a fork; plain loops do.
constexpr bool survives_fork =
#ifdef KOKKOS_ENABLE_SERIAL
    std::is_same_v<Exec, Kokkos::Serial>;
#else
    false;
#endif
// A device's runtime ends before the program's static objects do.
constexpr bool survives_main = Kokkos::SpaceAccessibility<Kokkos::HostSpace, Memory>::accessible;

// A User counts itself before it looks at `ending`, which is set before users are counted here: one
// of the two sees the other.
bool end_unless_used() {
  ending = true;
  bool const mine = started_here && process == getpid() && Kokkos::is_initialized();
  if (mine && users == 0) Kokkos::finalize();
  return users == 0;
}

// A device's Kokkos, with what is left of the handles. Another thread's call is waited for, for a
// second: without Python's work, which has ended, there are short ones alone.
[[maybe_unused]] void end_device() {
  ending = true;
  for (int milliseconds = 0; users > resting && milliseconds < 1000; ++milliseconds)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (users == resting && Kokkos::is_initialized()) Kokkos::finalize();
  if (Kokkos::is_finalized()) ending = false;  // as Kokkos itself knows
}

// In a forked child, which can't end its parent's Kokkos. A static object of Kokkos writes that
// nobody has ended it, unless it has no scratch memory.
template <class Space>
void forget_scratch() {
  if constexpr (requires { Space().impl_internal_space_instance()->m_scratchSpace = nullptr; }) {
    auto& of_kokkos = *Space().impl_internal_space_instance();
    of_kokkos.m_scratchSpace = nullptr;
    of_kokkos.m_scratchFlags = nullptr;
    if constexpr (requires { of_kokkos.m_scratchUnified = nullptr; })
      of_kokkos.m_scratchUnified = nullptr;
  }
}

template <class Space>
void end_at_exit() {
  std::unique_lock const lock(starting, std::try_to_lock);
  if (!lock.owns_lock()) return;
  if constexpr (survives_main) {
    if (!end_unless_used()) ending = false;  // static objects may go on
  } else if (process == getpid()) {
    end_device();
  } else if (Kokkos::is_initialized()) {  // else there are no instances to ask
    forget_scratch<Space>();
  }
}

void start_now() {
  STRATA_REQUIRE(c::NotReady, !Kokkos::is_finalized(),
                 "Kokkos was ended in this process and can't be started again");
  Kokkos::initialize(Kokkos::InitializationSettings().set_disable_warnings(true));
  started_here = true;
  (void)std::atexit(end_at_exit<Exec>);  // after what Kokkos has loaded: it ends before that does
}

// A program that uses Kokkos itself will start it, which it could not after us.
void require_no_other_owner() {
  if (Kokkos::is_initialized() || Kokkos::is_finalized()) return;
  std::string const other = detail::other_object_that_needs("libkokkoscore.so");
  STRATA_REQUIRE(c::NotReady, other.empty(), other,
                 " uses Kokkos and has not started it: call Kokkos::initialize or "
                 "strata_initialize first");
}

}  // namespace

std::string configuration_line() {
  auto const found = configuration();
  std::string line = "Strata " + found.version + " (" + found.commit + "), " + found.compiler +
                     " " + found.build_type + ", Kokkos " + found.kokkos;
  for (auto const& backend : found.backends) line += " " + backend;
  for (auto const& library : found.libraries) line += ", " + library.name + " " + library.version;
  return line;
}

std::string not_positive_definite_text(std::int64_t order) {
  return strata::detail::message("the leading minor of order ", order,
                                 " is not positive: A is not positive definite, or not symmetric, "
                                 "or holds a NaN");
}

bool is_allocation_failure(std::exception const& error) {
  return std::string_view(error.what()).find("failed to allocate") != std::string_view::npos;
}

void start_kokkos() {
  STRATA_REQUIRE(c::NotReady, !is_forked_amid_calls(), "process ", getpid(),
                 " was forked while another thread was in a call: Strata can't be used here");
  ConcurrentCall const call;  // which a fork sees
  if (!Kokkos::is_initialized()) {
    std::lock_guard const lock(starting);
    if (!Kokkos::is_initialized()) start_now();
  }
  pid_t unset = 0;
  pid_t const here = getpid();
  if (process.compare_exchange_strong(unset, here) || survives_fork) return;
  STRATA_REQUIRE(c::NotReady, unset == here, "process ", here, " was forked from ", unset,
                 ", which had started Kokkos' ", Exec::name(), ": it can't be used here");
}

void stop_kokkos() {
  std::lock_guard const lock(starting);
  bool const ended = end_unless_used();
  ending = false;  // Kokkos itself knows whether it was ended
  STRATA_REQUIRE(c::NotReady, ended, "finalize: ", users.load(),
                 " factors or calls are alive; destroy them first");
}

bool kokkos_is_usable() noexcept {
  return !is_forked_amid_calls() && Kokkos::is_initialized() &&
         (survives_fork || process == getpid());
}

User::User() {
  ++users;
  try {
    STRATA_REQUIRE(c::NotReady, !ending, "Kokkos is being ended");
    require_no_other_owner();
    start_kokkos();
  } catch (...) {
    --users;
    throw;
  }
}
User::~User() { --users; }

Resting::Resting() noexcept { ++resting; }
Resting::~Resting() { --resting; }

Instance new_instance() { return own_instance(Exec()); }

}  // namespace strata::c
