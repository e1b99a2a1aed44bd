// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Unexpected.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

namespace strata::apps {

namespace {

using Words = std::vector<std::string>;

// Letters to insert, delete or change (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t const change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// The nearest of the names if it is near enough for a slip, or begins with the word; else nothing.
std::string nearest(std::string const& word, Words const& names) {
  std::string best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (auto const& name : names) {
    bool const begins = word.size() >= 3 && name.starts_with(word);
    std::size_t const d = begins ? 1 : distance(word, name);
    if (d < least) best = name, least = d;
  }
  return best;
}

Words names_of_options(CLI::App const& command) {
  Words names;
  for (auto const* const option : command.get_options())
    for (auto const& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

Words names_of_commands(CLI::App const& program) {
  Words names;
  for (auto const* const command : program.get_subcommands([](CLI::App const*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

// The option that a file's name without one may be meant for: the first that takes a file to read.
std::string option_of_files(CLI::App const& command) {
  for (auto const* const option : command.get_options())
    if (option->get_configurable() && option->get_type_name().find('.') != std::string::npos &&
        !option->get_lnames().empty())
      return "--" + option->get_lnames().front();
  return {};
}

std::string meant(std::string const& name) {
  return name.empty() ? "" : "; did you mean " + name + '?';
}

}  // namespace

std::string where_help_is(CLI::App const& program) {
  auto const called = program.get_subcommands();
  return called.empty()
             ? std::string("(strata --help lists the commands)")
             : "(strata " + called.front()->get_name() + " --help all lists the options)";
}

std::string todays_name(std::string const& name) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"leaf", "leaf-size"}, {"log-det", "log-determinant-from"}};
  std::string const dashes = name.starts_with("--") ? "--" : "";
  for (auto const& [before, now] : names)
    if (name == dashes + std::string(before)) return dashes + std::string(now);
  return name;
}

std::vector<std::string> in_todays_names(std::vector<std::string> words) {
  for (auto& word : words) {
    if (!word.starts_with("--")) continue;
    auto const end = std::min(word.find('='), word.size());
    std::string const before = word.substr(0, end), now = todays_name(before);
    if (now == before) continue;
    std::cerr << "strata: " << before << " is now called " << now
              << "; the old name works until 0.4\n";
    word = now + word.substr(end);
  }
  return words;
}

std::string no_command(CLI::App const& program, std::string const& word) {
  auto const names = names_of_commands(program);
  return std::ranges::find(names, word) != names.end()
             ? ""
             : "there is no command " + word + meant(nearest(word, names));
}

std::string unexpected(CLI::App& program, Words const& words) {
  auto const left = program.remaining(true);
  auto const found = std::ranges::find_if(
      words, [&](std::string const& word) { return std::ranges::find(left, word) != left.end(); });
  std::string const word = found == words.end() ? left.front() : *found;
  std::string const name = word.substr(0, word.find('='));
  auto const called = program.get_subcommands();
  if (called.empty() && word.starts_with("--"))
    return word + " comes before a command; give the command first, as strata solve " + word;
  if (called.empty()) return no_command(program, word);
  CLI::App const& command = *called.front();
  if (word.starts_with("-"))
    return "strata " + command.get_name() + " has no option " + name +
           meant(nearest(name, names_of_options(command)));
  std::string const option = option_of_files(command);
  bool const is_file = std::filesystem::exists(word) && !option.empty();
  return word + " is no option of strata " + command.get_name() +
         meant(is_file ? option + ' ' + word : "");
}

}  // namespace strata::apps
