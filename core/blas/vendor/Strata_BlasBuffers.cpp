// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/Strata_BlasBuffers.hpp>

#include <core/Strata_Errors.hpp>
#include <core/detail/Strata_Symbol.hpp>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <mutex>
#include <vector>

namespace strata {

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
// The bytes of a buffer come from OpenBLAS' memory.c on 64-bit processors. A thread of the system
// also has a stack and an arena of malloc.
constexpr std::size_t buffer_bytes = 128 * mebibyte, thread_bytes = buffer_bytes + 72 * mebibyte;

std::mutex mutex;  // of what follows
int reserved = 0;  // buffers that OpenBLAS has for threads that call it

std::optional<std::size_t> limit_of_address_space() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::size_t>(limit.rlim_cur);
}

// Whether the system would give so many bytes of it now.
bool can_map(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED && munmap(memory, bytes) == 0;
}

int reserved_buffers() {
  std::lock_guard const lock(mutex);
  return reserved;
}

}  // namespace

std::optional<std::size_t> address_space_left() {
  auto const limit = limit_of_address_space();
  if (!limit) return std::nullopt;
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return *limit - std::min(*limit, pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
}

int blas_threads_that_fit(int wanted) {
  auto const left = address_space_left();
  if (!left) return wanted;
  auto const fit = reserved_buffers() +
                   static_cast<int>(std::min<std::size_t>(*left / 4 / thread_bytes, 1 << 20));
  return std::min(wanted, std::max(1, fit));
}

std::size_t blas_buffer_bytes(int threads) {
  if (!limit_of_address_space()) return 0;
  return static_cast<std::size_t>(std::max(0, threads - reserved_buffers())) * thread_bytes;
}

// The library keeps what it has once taken, and gives it to the next that asks.
void reserve_blas_buffers(int threads) {
  auto const limit = limit_of_address_space();
  auto* const take = detail::symbol<void*(int)>("blas_memory_alloc");
  auto* const give = detail::symbol<void(void*)>("blas_memory_free");
  std::lock_guard const lock(mutex);
  if (!limit || threads <= reserved || !take || !give) return;
  std::vector<void*> buffers;
  bool fits = true;
  for (int k = 0; k < threads && fits; ++k) {
    fits = can_map(buffer_bytes + mebibyte);
    if (fits) buffers.push_back(take(0));
  }
  for (void* const buffer : buffers) give(buffer);
  reserved = std::max(reserved, static_cast<int>(buffers.size()));
  STRATA_REQUIRE(MemoryError, fits, "the BLAS takes ", buffer_bytes,
                 " bytes of address space for each thread that calls it, here ", threads,
                 "; the limit (ulimit -v) of ", *limit, " bytes leaves ",
                 address_space_left().value_or(0), " beside ", buffers.size(), " buffers");
}

}  // namespace strata
