// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_HELP_HPP
#define STRATA_APPS_HELP_HPP

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace strata::apps {

/// From now on --help lists every option.
void show_all_in_help();

/// The help of a command: two examples at its head, groups of options with one empty line between
/// them, lines that are no longer than the terminal is wide. Which option needs or excludes which
/// is not said.
class HelpFormatter : public CLI::Formatter {
 public:
  /// `first`: the options that most users need, which --help lists; --help all has the rest. None:
  /// all.
  explicit HelpFormatter(std::string examples, std::vector<std::string> first = {});

  std::string make_help(CLI::App const* app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_usage(CLI::App const* app, std::string name) const override;
  std::string make_group(std::string group, bool is_positional,
                         std::vector<CLI::Option const*> options) const override;
  std::string make_option(CLI::Option const* option, bool is_positional) const override;
  std::string make_option_opts(CLI::Option const* option) const override;
  std::string make_option_usage(CLI::Option const* option) const override;
  std::string make_subcommand(CLI::App const* command) const override;
  std::string make_footer(CLI::App const* app) const override;

 private:
  bool is_shown(CLI::Option const& option) const;

  std::string examples_;
  std::vector<std::string> first_;
};

}  // namespace strata::apps

#endif
