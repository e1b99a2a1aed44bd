// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_CONFIG_FILE_HPP
#define STRATA_APPS_CONFIG_FILE_HPP

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace strata::apps {

/// Add --config and --save-config to a command.
void add_config_options(CLI::App& command);

/// The words of the command line, after the program's name, with the options that the file of
/// --config has behind them, but for those that are there.
///
/// Throws   UsageError for a file that can't be read, or that has a key that is no option of the
///          command.
std::vector<std::string> with_config(CLI::App& program, std::vector<std::string> words);

/// Refuse a file of --save-config that can't be written, before the run.
///
/// Throws   UsageError.
void check_save_config(CLI::App const& program);

/// Write the options that were given to the file of --save-config, if there is one: after the run,
/// so that one that fails leaves an older file as it is.
///
/// Throws   IoError if it can't be written there.
void save_config(CLI::App const& program);

}  // namespace strata::apps

#endif
