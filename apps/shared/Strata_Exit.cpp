// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Exit.hpp>

#include <unistd.h>

#include <filesystem>

namespace strata::apps {

void check_writable(std::string const& option, std::string const& path) {
  namespace fs = std::filesystem;
  if (path.empty()) return;
  std::error_code error;
  auto const folder =
      fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  STRATA_REQUIRE(apps::UsageError, !fs::is_directory(path, error), option, ": ", path,
                 " is a folder");
  STRATA_REQUIRE(apps::UsageError, fs::is_directory(folder, error), option, ": ", folder.string(),
                 " is no folder");
  bool const exists = fs::exists(path, error);
  bool const device = exists && !fs::is_regular_file(path, error);
  STRATA_REQUIRE(apps::UsageError, access(device ? path.c_str() : folder.c_str(), W_OK) == 0,
                 option, ": ", device ? path : folder.string(), " is not writable");
}

}  // namespace strata::apps
