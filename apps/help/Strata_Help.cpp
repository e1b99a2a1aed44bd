// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/help/Strata_Help.hpp>

#include <apps/shared/Strata_Terminal.hpp>
#include <apps/shared/Strata_Text.hpp>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string_view>
#include <utility>

namespace strata::apps {

namespace {

bool shows_all = false;

// Words in lines of the terminal's width, all but the first of which begin with `margin` blanks;
// `column` is where the first one goes on.
std::string wrapped(std::string const& text, std::size_t column, std::size_t margin) {
  std::size_t const width = static_cast<std::size_t>(terminal_width());
  std::string out;
  std::istringstream stream(text);
  bool begins = true;
  for (std::string word; stream >> word; begins = false) {
    if (!begins && column + 1 + word.size() > width) {
      out += '\n' + std::string(margin, ' ');
      column = margin;
    } else if (!begins) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out + '\n';
}

// What an option or a command is called, and what it does from a column on.
std::string row(std::string const& name, std::string const& text) {
  constexpr std::size_t column = 26;
  std::string const left = "  " + name;
  if (text.empty()) return left + '\n';
  if (left.size() + 2 > column)
    return left + '\n' + std::string(column, ' ') + wrapped(text, column, column);
  return left + std::string(column - left.size(), ' ') + wrapped(text, column, column);
}

}  // namespace

void show_all_in_help() { shows_all = true; }

HelpFormatter::HelpFormatter(std::string examples, std::vector<std::string> first)
    : examples_(std::move(examples)), first_(std::move(first)) {
  label("SUBCOMMAND", "COMMAND");
}

bool HelpFormatter::is_shown(CLI::Option const& option) const {
  if (shows_all || first_.empty() || option.get_positional()) return true;
  return std::ranges::any_of(first_, [&](auto const& name) { return option.check_lname(name); });
}

std::string HelpFormatter::make_help(CLI::App const* app, std::string name,
                                     CLI::AppFormatMode mode) const {
  auto text = CLI::Formatter::make_help(app, std::move(name), mode);
  while (text.find("\n\n\n") != std::string::npos)
    text = CLI::detail::find_and_replace(text, "\n\n\n", "\n\n");
  return text;
}

std::string HelpFormatter::make_usage(CLI::App const* app, std::string name) const {
  return CLI::Formatter::make_usage(app, std::move(name)) + "\nExamples:\n" + examples_;
}

std::string HelpFormatter::make_group(std::string group, bool is_positional,
                                      std::vector<CLI::Option const*> options) const {
  std::erase_if(options, [&](auto const* option) { return !is_shown(*option); });
  if (options.empty()) return "";
  std::string text = '\n' + wrapped(group + ':', 0, 2);
  for (auto const* option : options) text += make_option(option, is_positional);
  return text;
}

std::string HelpFormatter::make_option(CLI::Option const* option, bool is_positional) const {
  return row(make_option_name(option, is_positional) + make_option_opts(option),
             make_option_desc(option));
}

std::string HelpFormatter::make_option_opts(CLI::Option const* option) const {
  auto text = CLI::Formatter::make_option_opts(option);
  for (auto const* const relation : {" Needs:", " Excludes:"})
    text.resize(std::min(text.find(relation), text.size()));
  text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

// The text of an option stands for all that a positional is.
std::string HelpFormatter::make_option_usage(CLI::Option const* option) const {
  auto const& words = option->get_option_text();
  return words.empty() ? CLI::Formatter::make_option_usage(option) : '[' + words + ']';
}

std::string HelpFormatter::make_subcommand(CLI::App const* command) const {
  return row(command->get_name(), command->get_description());
}

std::string HelpFormatter::make_footer(CLI::App const* app) const {
  auto const options = app->get_options([](auto const*) { return true; });
  auto const hidden =
      std::ranges::count_if(options, [&](auto const* option) { return !is_shown(*option); });
  std::string text = "\n";
  if (hidden > 0)
    text +=
        wrapped(words("strata ", app->get_name(), " --help all: ", hidden, " more options."), 0, 0);
  std::istringstream lines(app->get_footer());
  for (std::string line; std::getline(lines, line);) text += wrapped(line, 0, 0);
  return text;
}

}  // namespace strata::apps
