// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Files.hpp>

#include <apps/shared/Strata_Exit.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace strata::apps {

bool names_files(CLI::Option const& option) {
  auto const& type = option.get_type_name();  // FILE, A.npy|.mtx, OUT.csv
  return type.find("FILE") != std::string::npos || type.find('.') != std::string::npos;
}

bool is_result(CLI::Option const& option) {
  constexpr std::array<std::string_view, 6> results{"--output", "--json",        "--trace",
                                                    "--report", "--save-config", "--vtk"};
  return std::ranges::find(results, option.get_name()) != results.end();
}

namespace {

void require_other_file(CLI::Option const& result, CLI::Option const& other) {
  std::string const path = result.results().back();
  bool const is_standard_output = result.get_name() == "--json" && path == "-";
  if (path.empty() || is_standard_output) return;
  for (auto const& read : other.results()) {
    bool const is_raw = read.ends_with(".bin");
    require(!are_one_file(read, path) && !(is_raw && are_one_file(read + ".json", path)),
            result.get_name(), ": ", path, " is the file of ", other.get_name(), ", too",
            is_result(other) ? "" : ": the run would overwrite what it reads");
  }
}

}  // namespace

void check_files(CLI::App const& program) {
  auto const commands = program.get_subcommands();
  if (commands.empty()) return;
  auto const given = commands.front()->get_options(
      [](CLI::Option const* each) { return !each->empty() && names_files(*each); });
  for (auto const* const result : given)
    for (auto const* const other : given) {
      bool const saves = result->get_name() == "--save-config";
      bool const updates = saves && other->get_name() == "--config";
      bool const both_are_results = is_result(*other) && !saves;  // which check_writable compares
      if (!is_result(*result) || other == result || updates || both_are_results) continue;
      require_other_file(*result, *other);
    }
}

}  // namespace strata::apps
