// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_OPTION_TOOLS_HPP
#define STRATA_APPS_OPTION_TOOLS_HPP

#include <core/Strata_Errors.hpp>

#include <CLI/CLI.hpp>

#include <limits>
#include <string>

namespace strata::apps {

/// An option whose text the library parses: `target` = `parse`(text).
template <class Target, class Parse>
CLI::Option* add_parsed(CLI::App& command, std::string const& name, Target& target, Parse parse,
                        std::string const& help) {
  auto const store = [name, &target, parse](std::string const& text) {
    try {
      target = parse(text);
    } catch (Error const& error) {
      throw CLI::ValidationError(name, error.what());
    }
  };
  return command.add_option_function<std::string>(name, store, help);
}

/// Shown in messages, not in the help.
template <class Integer>
CLI::Validator at_least(Integer least) {
  return CLI::Range(least, std::numeric_limits<Integer>::max()).description("");
}

/// Refuse a path that a result could not be written to: found now rather than after an hour's work.
///
/// Throws   UsageError that names the option.
void check_writable(std::string const& option, std::string const& path);

}  // namespace strata::apps

#endif
