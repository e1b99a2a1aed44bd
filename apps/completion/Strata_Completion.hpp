// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_COMPLETION_HPP
#define STRATA_APPS_COMPLETION_HPP

#include <iosfwd>
#include <string>

namespace CLI {
class App;
}

namespace strata::apps {

/// Add the argument of `strata completion` to its sub-command; parsing writes to `shell`.
void add_completion_options(CLI::App& command, std::string& shell);

/// Write what makes bash, zsh or fish complete the program's commands, their options and the words
/// that these take.
void write_completion(std::ostream& out, CLI::App& program, std::string const& shell);

}  // namespace strata::apps

#endif
