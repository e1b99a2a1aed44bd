// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// This runs before the libraries that are linked in begin. OpenBLAS starts its threads then, each
// with a buffer. It tries for ever to get a buffer that a limit on address space does not leave.
#if defined(__ELF__) && defined(__linux__)

#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20, first_bytes = 129 * mebibyte,
                      next_bytes = 138 * mebibyte,  // with the stack of a thread
    own_bytes = 64 * mebibyte;                      // of what begins before main, too

int cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// std::getenv finds nothing here, since the C library begins later.
int number_in(char const* const* environment, std::string_view name) {
  for (; *environment != nullptr; ++environment) {
    std::string_view const entry(*environment);
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('='))
      return std::atoi(*environment + name.size() + 1);  // NOLINT(cert-err34-c)
  }
  return 0;
}

// As the library reads them: the first that is a number holds.
int threads_of_blas(char const* const* environment) {
  for (auto const* const variable : {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"})
    if (int const threads = number_in(environment, variable); threads > 0)
      return std::min(threads, cores());
  return cores();
}

bool can_map(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED && munmap(memory, bytes) == 0;
}

void check_address_space(int, char**, char** environment) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      !dlsym(RTLD_DEFAULT, "blas_memory_alloc"))
    return;
  auto const threads = static_cast<std::size_t>(threads_of_blas(environment));
  std::size_t const needed = own_bytes + first_bytes + (threads - 1) * next_bytes;
  if (can_map(needed)) return;
  char text[256];
  int const length = std::snprintf(
      text, sizeof text,
      "strata: the limit on address space (ulimit -v) of %zu kB leaves less than the %zu kB that "
      "the program takes to begin with %zu threads of OpenBLAS; OPENBLAS_NUM_THREADS=1 takes %zu "
      "kB\n",
      static_cast<std::size_t>(limit.rlim_cur) / 1024, needed / 1024, threads,
      (own_bytes + first_bytes) / 1024);
  if (write(STDERR_FILENO, text, static_cast<std::size_t>(length)) != length) _exit(1);
  _exit(2);  // no destructor: nothing was constructed
}

}  // namespace

[[gnu::section(".preinit_array"),
  gnu::used]] void (*const strata_check_address_space)(int, char**, char**) = check_address_space;

#endif
