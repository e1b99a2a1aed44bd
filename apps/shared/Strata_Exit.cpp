// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Exit.hpp>

#include <apps/shared/Strata_Text.hpp>
#include <core/blas/Strata_BlasBuffers.hpp>
#include <core/info/Strata_Version.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace strata::apps {

namespace {

namespace fs = std::filesystem;

void check_writable(std::string const& option, std::string const& path) {
  std::error_code error;
  auto const folder =
      fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  require(!fs::is_directory(path, error), option, ": ", path, " is a folder");
  require(fs::is_directory(folder, error), option, ": ", folder.string(), " is no folder");
  bool const exists = fs::exists(path, error);
  bool const device = exists && !fs::is_regular_file(path, error);
  require(access(device ? path.c_str() : folder.c_str(), W_OK) == 0, option, ": ",
          device ? path : folder.string(), " is not writable");
}

}  // namespace

bool are_one_file(std::string const& a, std::string const& b) {
  std::error_code error;
  bool const is_device = fs::exists(a, error) && !fs::is_regular_file(a, error);
  return !is_device && fs::weakly_canonical(fs::absolute(a, error), error) ==
                           fs::weakly_canonical(fs::absolute(b, error), error);
}

void check_writable(std::vector<Output> const& outputs) {
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    bool const is_standard_output = output->option == "--json" && output->path == "-";
    if (output->path.empty() || is_standard_output) continue;
    check_writable(output->option, output->path);
    for (auto before = outputs.begin(); before != output; ++before)
      require(before->path.empty() || !are_one_file(before->path, output->path), output->option,
              ": ", output->path, " is what ", before->option, " writes, too");
  }
}

// By errno's text, which is all that is left where another rank has had the error.
bool is_of_machine(Error const& error) {
  std::string const text = error.what();
  return std::ranges::any_of(std::array{ENOSPC, EDQUOT, EIO}, [&](int code) {
    return text.find(std::generic_category().message(code)) != std::string::npos;
  });
}

MemoryLimit memory_limit(std::size_t max_memory) {
  if (max_memory > 0) return {max_memory, "--max-memory allows"};
  return {available_memory_bytes(), address_space_left()
                                        ? "available, by the limit on address space too, are"
                                        : "available are"};
}

void require_memory(MemoryLimit const& limit, double bytes, std::string const& what,
                    std::string const& detail) {
  auto const allowed = static_cast<double>(limit.bytes);
  STRATA_REQUIRE(MemoryError, bytes <= allowed, what, ' ', in_bytes(bytes), detail, "; ",
                 limit.reason, ' ', in_bytes(allowed));
}

}  // namespace strata::apps
