// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_RANK_FOLDERS_HPP
#define STRATATEST_RANK_FOLDERS_HPP

#include "sparse/StrataTest_Ranks.hpp"
#include <ooc/tiles/detail/Strata_Checkpoint.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace strata::test {

/// The host of each rank, by its number.
using Hosts = std::vector<int>;

/// One folder of all ranks, or one on each of the hosts that they play; empty.
class Folders {
 public:
  explicit Folders(Hosts hosts = Hosts(static_cast<std::size_t>(test_ranks().size()), 0))
      : hosts_(std::move(hosts)) {
    double number = static_cast<double>(::getpid());
    comm_.broadcast({&number, 1}, 0);
    root_ = std::filesystem::temp_directory_path() /
            ("strata_ranks_" + std::to_string(static_cast<long>(number)));
    clear();
  }
  Folders(Folders const&) = delete;
  Folders& operator=(Folders const&) = delete;
  ~Folders() { clear(); }

  std::string of_host(int host) const { return root_ / ("host_" + std::to_string(host)); }
  std::string of(int rank) const { return of_host(hosts_[static_cast<std::size_t>(rank)]); }
  std::string own() const { return of(comm_.rank()); }
  bool is_on(int host, int rank) const { return hosts_[static_cast<std::size_t>(rank)] == host; }

  /// What the first rank does while the others wait.
  template <class Change>
  void change(Change const& made) const {
    comm_.barrier();
    if (comm_.rank() == 0) made();
    comm_.barrier();
  }
  void clear() const {
    change([&] { std::filesystem::remove_all(root_); });
  }
  /// Files of all folders whose names end so, in order.
  std::vector<std::filesystem::path> files(std::string const& ending) const {
    std::vector<std::filesystem::path> found;
    if (std::filesystem::exists(root_))
      for (auto const& entry : std::filesystem::recursive_directory_iterator(root_))
        if (entry.path().string().ends_with(ending)) found.push_back(entry.path());
    std::ranges::sort(found);
    return found;
  }
  /// The columns, from the first on, that would be whole if all files were in one folder.
  std::int64_t whole_columns(std::int64_t tiles) const {
    std::set<ooc::detail::ColumnPart> parts;
    for (int const host : std::set<int>(hosts_.begin(), hosts_.end()))
      if (std::filesystem::exists(of_host(host)))
        parts.merge(ooc::detail::parts_in(of_host(host), tiles));
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> count;  // of column and parts
    for (auto const& part : parts) ++count[{part.column, part.parts}];
    std::int64_t columns = 0;
    for (auto const& [key, files] : count)
      if (key.first == columns && files == std::min(key.second, tiles - columns)) ++columns;
    return columns;
  }

 private:
  Communicator comm_ = test_ranks();
  Hosts hosts_;
  std::filesystem::path root_;
};

}  // namespace strata::test

#endif
