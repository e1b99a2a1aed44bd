// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/info/detail/Strata_HostInfo.hpp>

#include <core/blas/Strata_BlasBuffers.hpp>
#include <core/io/Strata_HostMatrix.hpp>
#include <core/kokkos_ext/detail/Strata_HostThreads.hpp>

#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace strata::detail {

namespace {

std::optional<std::size_t> number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_of("0123456789"), text.size()));
  std::size_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end != text.data() ? std::optional(value) : std::nullopt;
}

// What follows `key` on the line of `path` that begins with it.
std::optional<std::string> field(std::string const& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (std::string_view(line).starts_with(key)) return line.substr(key.size());
  return std::nullopt;
}

std::optional<std::size_t> number_in(std::string const& path, std::string_view key = "") {
  auto const text = field(path, key);
  return text ? number(*text) : std::nullopt;
}

// What the control group `folder` leaves: its limit less its use, of which the page cache that the
// system would give up does not count.
std::optional<std::size_t> left_of_group(std::string const& folder) {
  auto const limit = number_in(folder + "/memory.max");  // "max" means none
  auto const used = number_in(folder + "/memory.current");
  if (!limit || !used) return std::nullopt;
  auto const cache = number_in(folder + "/memory.stat", "inactive_file ").value_or(0);
  return *limit - std::min(*limit, *used - std::min(*used, cache));
}

std::string model() {
  constexpr std::string_view blank_or_colon = " \t:";
  for (std::string_view const key : {"model name", "Model", "cpu"})
    if (auto const text = field("/proc/cpuinfo", key)) {
      auto const begin = text->find_first_not_of(blank_or_colon);
      if (begin != std::string::npos) return text->substr(begin);
    }
  utsname name{};
  return uname(&name) == 0 ? name.machine : "unknown";
}

}  // namespace

std::size_t available_memory_bytes(std::string const& root) {
  std::size_t available = physical_memory_bytes();
  if (auto const kilobytes = number_in(root + "/proc/meminfo", "MemAvailable:"))
    available = std::min(available, *kilobytes * 1024);
  if (auto const left = address_space_left())
    available =
        std::min(available,
                 *left - std::min(*left, blas_buffer_bytes(blas_threads_that_fit(host_threads()))));
  // Version 2 of control groups: the line "0::/a/b"; a limit may be set on any ancestor.
  std::string group = field(root + "/proc/self/cgroup", "0::").value_or("/");
  while (true) {
    if (auto const left = left_of_group(root + "/sys/fs/cgroup" + group))
      available = std::min(available, *left);
    if (group.size() <= 1) return available;
    group.resize(std::max<std::size_t>(1, group.rfind('/')));
  }
}

#if defined(__x86_64__)
std::vector<std::string> matrix_units() {
  struct Registers {
    unsigned a = 0, b = 0, c = 0, d = 0;
  };
  auto const cpuid = [](unsigned leaf, unsigned subleaf) {
    Registers r;
    if (!__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d)) r = {};
    return r;
  };
  unsigned enabled = 0;  // state that the system saves: the lower half of XCR0
  if (cpuid(1, 0).c >> 27 & 1) __asm__ volatile("xgetbv" : "=a"(enabled) : "c"(0) : "edx");
  bool const avx512 = (enabled & 0xe6) == 0xe6, amx = (enabled & 0x60000) == 0x60000;
  Registers const seven = cpuid(7, 0);
  Registers const more = seven.a >= 1 ? cpuid(7, 1) : Registers();
  std::vector<std::string> units;
  for (auto const& [name, present] : {std::pair("amx_bf16", amx && (seven.d >> 22 & 1)),
                                      std::pair("amx_int8", amx && (seven.d >> 25 & 1)),
                                      std::pair("amx_fp16", amx && (more.a >> 21 & 1)),
                                      std::pair("avx512_bf16", avx512 && (more.a >> 5 & 1)),
                                      std::pair("avx512_fp16", avx512 && (seven.d >> 23 & 1))})
    if (present) units.emplace_back(name);
  return units;
}
#elif defined(__aarch64__) && defined(__linux__)
std::vector<std::string> matrix_units() {
  unsigned long const first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  std::vector<std::string> units;
  // Bits of the kernel's arm64 ABI, which older headers do not name.
  for (auto const& [name, present] :
       {std::pair("sme", second >> 23 & 1), std::pair("sve_bf16", second >> 12 & 1),
        std::pair("neon_bf16", second >> 14 & 1), std::pair("neon_fp16", first >> 10 & 1)})
    if (present) units.emplace_back(name);
  return units;
}
#else
std::vector<std::string> matrix_units() { return {}; }
#endif

Host host() {
  return {model(), host_threads(), physical_memory_bytes(), available_memory_bytes(),
          matrix_units()};
}

}  // namespace strata::detail
