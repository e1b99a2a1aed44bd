// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <lapack/detail/Strata_DeviceDriver.hpp>

#include <link.h>

#include <atomic>
#include <cstddef>
#include <string_view>

namespace strata::lapack::detail {

namespace {

constexpr std::string_view driver = STRATA_LAPACK_DEVICE_DRIVER;  // empty: a build for hosts

std::atomic<bool> is_there{false};
std::atomic<unsigned long long> looked_at{0};  // libraries ever loaded when it was not there

int look(dl_phdr_info* info, std::size_t, void* loaded) {
  auto& count = *static_cast<unsigned long long*>(loaded);
  count = info->dlpi_adds;
  if (count == looked_at) return 1;
  std::string_view const path = info->dlpi_name;
  if (!path.substr(path.rfind('/') + 1).starts_with(driver)) return 0;
  is_there = true;
  return 1;
}

}  // namespace

bool has_device_driver() {
  if (driver.empty()) return false;
  if (is_there) return true;
  unsigned long long loaded = 0;
  if (dl_iterate_phdr(look, &loaded) == 0) looked_at = loaded;
  return is_there;
}

}  // namespace strata::lapack::detail
