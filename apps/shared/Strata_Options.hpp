// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_OPTIONS_HPP
#define STRATA_APPS_OPTIONS_HPP

#include <core/Strata_EnumNames.hpp>
#include <core/Strata_Errors.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace strata::apps {

/// Words that an option takes and that its type does not name, "a|b|c", for completion: any text
/// passes the check.
inline CLI::Validator suggested(std::string words) {
  return CLI::Validator([](std::string&) { return std::string(); }, "", std::move(words));
}

/// "a|b|c" of an enum's names.
template <NamedEnum Enum>
std::string alternatives() {
  std::string list;
  for (auto const value : enum_values<Enum>)
    list += (list.empty() ? "" : "|") + std::string(name_of(value));
  return list;
}

/// Options of a command under one heading of its help. `type` is what stands for the value there;
/// "": nothing.
class OptionGroup {
 public:
  OptionGroup(CLI::App& command, std::string heading)
      : command_(command), heading_(std::move(heading)) {}

  CLI::Option* flag(std::string const& name, bool& target, std::string const& help) {
    return command_.add_flag(name, target, help)->group(heading_);
  }
  template <class Target>
  CLI::Option* add(std::string const& name, Target& target, std::string const& type,
                   std::string const& help) {
    return command_.add_option(name, target, help)->type_name(type)->group(heading_);
  }
  /// An integer, `least` or more.
  template <class Integer>
  CLI::Option* count(std::string const& name, Integer& target, std::string const& type,
                     std::string const& help, Integer least = 1) {
    auto const range = CLI::Range(least, std::numeric_limits<Integer>::max());
    return add(name, target, type, help)->check(CLI::Validator(range).description(""));
  }
  /// Adds an option whose default the help shows.
  template <class Target>
  CLI::Option* with_default(std::string const& name, Target& target, std::string const& help) {
    return command_.add_option(name, target, help)->capture_default_str()->group(heading_);
  }
  /// One of the words, in any case, which the help lists with the default.
  CLI::Option* one_of(std::string const& name, std::string& target, std::string const& help,
                      std::vector<std::string> const& words) {
    std::string type;
    for (auto const& word : words) type += (type.empty() ? "" : "|") + word;
    return with_default(name, target, help)
        ->transform(CLI::IsMember(words, CLI::ignore_case).description(""))
        ->type_name(type);
  }
  /// A number of bytes, as 8GB.
  CLI::Option* bytes(std::string const& name, std::size_t& target, std::string const& help) {
    return add(name, target, "BYTES", help)->transform(CLI::AsSizeValue(true).description(""));
  }
  /// An option whose text `use` takes.
  CLI::Option* function(std::string const& name, std::function<void(std::string const&)> const& use,
                        std::string const& type, std::string const& help) {
    return command_.add_option_function(name, use, help)->type_name(type)->group(heading_);
  }
  /// An option whose text the library understands: `target` = `parse`(text).
  template <class Target, class Parse>
  CLI::Option* parsed(std::string const& name, Target& target, std::string const& type, Parse parse,
                      std::string const& help) {
    auto const store = [name, &target, parse](std::string const& text) {
      try {
        target = parse(text);
      } catch (Error const& error) {
        throw CLI::ValidationError(name, error.what());
      }
    };
    return function(name, store, type, help);
  }

  /// One of an enum's names, which the help lists; the library says what is wrong with others.
  template <NamedEnum Enum>
  CLI::Option* named(std::string const& name, Enum& target, std::string const& help) {
    return parsed(name, target, alternatives<Enum>(), from_name<Enum>, help);
  }

 private:
  CLI::App& command_;
  std::string heading_;
};

}  // namespace strata::apps

#endif
