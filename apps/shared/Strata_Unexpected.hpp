// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_UNEXPECTED_HPP
#define STRATA_APPS_UNEXPECTED_HPP

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace strata::apps {

/// A sentence about the first word of a command line that the program did not expect there.
/// It says what may have been meant.
std::string unexpected(CLI::App& program, std::vector<std::string> const& words);

/// Says that the program has no command of this name, and which one may have been meant. Nothing if
/// it has the command.
std::string no_command(CLI::App const& program, std::string const& word);

/// "(strata solve --help lists the options)", of the command that was called.
std::string where_help_is(CLI::App const& program);

/// What an option is called that had another name, with or without its dashes; else the name
/// itself.
std::string todays_name(std::string const& name);
/// The words of a command line with today's names of options; a hint on standard error for each
/// that has changed.
std::vector<std::string> in_todays_names(std::vector<std::string> words);

}  // namespace strata::apps

#endif
