// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <c/runtime/vendor/Strata_Staging.hpp>

#include <c/runtime/detail/Strata_Helpers.hpp>
#include <core/Strata_Backends.hpp>
#include <core/info/Strata_Version.hpp>
#include <core/instances/Strata_FenceAtEnd.hpp>
#include <core/instances/Strata_Lent.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <iterator>
#include <vector>

namespace strata::c::vendor {

namespace {

using runtime::Exec;

constexpr std::size_t slot_bytes = std::size_t{1} << 21;
constexpr int most_threads = 8;

/// Pinned memory for one piece, and when it may be used again.
struct Slot {
  using Bytes = Kokkos::View<std::byte*, PinnedSpace>;

  Bytes memory = allocate_on_host<Bytes>("strata::c::staging", slot_bytes);
  runtime::Event copied{STRATA_RUNTIME(EventDisableTiming)};
};

/// What one copy at a time is made with: two slots for each thread.
struct Crew {
  std::deque<Slot> slots;
  detail::Helpers helpers;  // last: late ones end before the slots do

  /// For how many threads there are slots: as many as asked for, or fewer where there is no memory
  /// for more.
  int need(int threads) {
    while (std::ssize(slots) < 2 * threads) try {
        slots.emplace_back();
      } catch (MemoryError const&) {
        if (slots.size() < 2) throw;
        break;
      }
    return std::min(threads, static_cast<int>(slots.size() / 2));
  }
};

/// One copy, of which several threads take pieces.
struct Transfer {
  Exec const& exec;
  Way way;
  HostMatrices const& host;
  std::byte* device;
  std::vector<Rectangle> const pieces =
      rectangles(host.part, host.shape, static_cast<std::int64_t>(slot_bytes / host.number));
  std::atomic<std::size_t> next = 0;

  Rectangle const* take() {
    std::size_t const k = next++;
    return k < pieces.size() ? &pieces[k] : nullptr;
  }

  void enqueue(Rectangle const& piece, Slot const& slot) const {
    auto const bytes = [&](std::int64_t numbers) {
      return static_cast<std::size_t>(numbers) * host.number;
    };
    std::byte* const there = device + bytes(piece.row + piece.col * host.shape.rows);
    // Whole columns are one, as a runtime has a limit for their distance, and may copy short ones
    // slowly.
    bool const is_whole = piece.rows == host.shape.rows || piece.cols == 1;
    std::size_t const width = bytes(is_whole ? piece.rows * piece.cols : piece.rows),
                      column = is_whole ? width : bytes(host.shape.rows);
    std::size_t const cols = is_whole ? 1 : static_cast<std::size_t>(piece.cols);
    if (way == Way::ToDevice)
      STRATA_RUNTIME_CALL(Memcpy2DAsync, there, column, slot.memory.data(), width, width, cols,
                          STRATA_RUNTIME(MemcpyHostToDevice), runtime::stream_of(exec));
    else
      STRATA_RUNTIME_CALL(Memcpy2DAsync, slot.memory.data(), width, there, column, width, cols,
                          STRATA_RUNTIME(MemcpyDeviceToHost), runtime::stream_of(exec));
    STRATA_RUNTIME_CALL(EventRecord, slot.copied, runtime::stream_of(exec));
  }

  /// What one thread does, with two slots in turns: while the bus is at work on one piece the
  /// thread is on another.
  void run(Slot* const slots[2]) {
    runtime::select(exec);
    Rectangle const* under_way[2] = {};
    for (int turn = 0;; turn ^= 1) {
      Slot const& slot = *slots[turn];
      Rectangle const*& piece = under_way[turn];
      if (piece != nullptr) STRATA_RUNTIME_CALL(EventSynchronize, slot.copied);
      if (piece != nullptr && way == Way::ToHost) host.unpack(*piece, slot.memory.data());
      piece = take();
      if (piece == nullptr && under_way[turn ^ 1] == nullptr) return;
      if (piece == nullptr) continue;
      if (way == Way::ToDevice) host.pack(*piece, slot.memory.data());
      enqueue(*piece, slot);
    }
  }
};

}  // namespace

void copy(Exec const& exec, Way way, HostMatrices const& host, std::byte* device) {
  Transfer transfer{exec, way, host, device};
  runtime::Selected const selected(runtime::device_of(exec));
  Lent<Crew> const crew(runtime::device_of(exec));
  auto const pieces =
      static_cast<int>(std::min<std::size_t>(transfer.pieces.size(), 2 * most_threads));
  int const threads = crew->need(std::clamp((pieces + 1) / 2, 1, std::max(available_cores(), 1)));
  if (pieces == 0) return;
  if (way == Way::ToHost) exec.fence("strata::c::copy: what is copied is there");
  try {
    crew->helpers.run(threads, [&](int k) {
      auto const first = static_cast<std::size_t>(2 * k);
      Slot* const two[2] = {&crew->slots[first], &crew->slots[first + 1]};
      transfer.run(two);
    });
  } catch (...) {  // nobody may be at work on what is left
    strata::detail::fence_at_end(exec, "strata::c::copy: it has failed");
    throw;
  }
}

}  // namespace strata::c::vendor
