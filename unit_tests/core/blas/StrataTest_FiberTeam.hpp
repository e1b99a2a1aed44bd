// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_FIBER_TEAM_HPP
#define STRATATEST_FIBER_TEAM_HPP

#include <Kokkos_Core.hpp>

#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <random>
#include <vector>

namespace strata::test {

/// A device's team on the host: its threads run one after the other from barrier to barrier, each
/// time in another order. A kernel that lacks a barrier then gives results that depend on `seed`.
class FiberTeam {
 public:
  /// What a kernel takes as the team's member.
  struct Member {
    FiberTeam* team;
    int rank, league;

    KOKKOS_FUNCTION int team_rank() const { return rank; }
    KOKKOS_FUNCTION int league_rank() const { return league; }
    KOKKOS_FUNCTION void team_barrier() const { KOKKOS_IF_ON_HOST((team->wait(rank);)) }
    KOKKOS_FUNCTION Member const& team_scratch(int) const { return *this; }
    KOKKOS_FUNCTION void* get_shmem_aligned(std::size_t, std::size_t alignment) const {
      KOKKOS_IF_ON_HOST((return team->scratch(alignment);))
      KOKKOS_IF_ON_DEVICE((static_cast<void>(alignment); return nullptr;))
    }
  };

  FiberTeam(int threads, std::size_t scratch_bytes, unsigned seed)
      : fibers_(static_cast<std::size_t>(threads)), scratch_(scratch_bytes), random_(seed) {}

  /// kernel(member) for each thread. Returns whether all threads came to the same barriers.
  template <class Kernel>
  bool run(int league, Kernel const& kernel) {
    body_ = [](void const* function, Member const& member) {
      (*static_cast<Kernel const*>(function))(member);
    };
    function_ = &kernel;
    std::fill(scratch_.begin(), scratch_.end(), std::byte{0xff});  // NaN
    std::vector<std::size_t> order;
    for (std::size_t rank = 0; rank < fibers_.size(); ++rank) {
      start(rank, league);
      order.push_back(rank);
    }
    while (true) {
      std::shuffle(order.begin(), order.end(), random_);
      for (std::size_t const rank : order) swapcontext(&main_, &fibers_[rank].context);
      auto const done = std::count_if(fibers_.begin(), fibers_.end(),
                                      [](Fiber const& fiber) { return fiber.done; });
      if (done == static_cast<std::ptrdiff_t>(fibers_.size())) return true;
      if (done > 0) return false;
    }
  }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{1} << 16;
  struct Fiber {
    ucontext_t context;
    std::vector<char> stack;
    Member member;
    bool done = false;
  };

  void start(std::size_t rank, int league) {
    Fiber& fiber = fibers_[rank];
    fiber.stack.resize(stack_bytes);
    fiber.member = {this, static_cast<int>(rank), league};
    fiber.done = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = &main_;
    auto const address = reinterpret_cast<std::uintptr_t>(&fiber);  // in two, for arguments are int
    makecontext(&fiber.context, reinterpret_cast<void (*)()>(enter), 2,
                static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
  }
  static void enter(unsigned high, unsigned low) {
    auto* const fiber = reinterpret_cast<Fiber*>((std::uintptr_t{high} << 32) | low);
    FiberTeam const& team = *fiber->member.team;
    team.body_(team.function_, fiber->member);
    fiber->done = true;
  }
  void* scratch(std::size_t alignment) {
    void* place = scratch_.data();
    std::size_t room = scratch_.size();
    return std::align(alignment, 1, place, room);
  }
  void wait(int rank) { swapcontext(&fibers_[static_cast<std::size_t>(rank)].context, &main_); }

  std::vector<Fiber> fibers_;
  std::vector<std::byte> scratch_;
  std::mt19937 random_;
  ucontext_t main_{};
  void (*body_)(void const*, Member const&) = nullptr;
  void const* function_ = nullptr;
};

}  // namespace strata::test

#endif
