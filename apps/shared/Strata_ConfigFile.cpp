// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_ConfigFile.hpp>

#include <apps/shared/Strata_Exit.hpp>
#include <apps/shared/Strata_Unexpected.hpp>
#include <core/io/files/Strata_TextFile.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

namespace strata::apps {

namespace {

using Words = std::vector<std::string>;

// The last that was given to --config, as a word of its own or behind "=".
std::optional<std::string> config_path(Words const& words) {
  constexpr std::string_view name = "--config";
  std::optional<std::string> path;
  for (std::size_t k = 0; k < words.size(); ++k)
    if (words[k] == name && k + 1 < words.size())
      path = words[k + 1];
    else if (words[k].starts_with("--config="))
      path = words[k].substr(name.size() + 1);
  return path;
}

bool is_given(Words const& words, CLI::Option const& option) {
  return std::ranges::any_of(words, [&](std::string const& word) {
    return word.starts_with("--") && option.check_lname(word.substr(2, word.find('=') - 2));
  });
}

// What is wrong with binary files is said by where they are, not by their bytes.
std::vector<CLI::ConfigItem> read_config(std::string const& path) {
  require(!path.empty(), "--config: the name of the file is empty");
  require(!std::filesystem::is_directory(path), "--config: ", path, " is a folder");
  std::ifstream file(path, std::ios::binary);
  require(file.is_open(), "--config: ", path, " can't be read; is it there?");
  std::string const content((std::istreambuf_iterator<char>(file)), {});
  auto const is_binary = [](unsigned char byte) {
    return byte < ' ' &&
           std::string_view("\t\n\r\f").find(static_cast<char>(byte)) == std::string_view::npos;
  };
  auto const found = std::ranges::find_if(content, is_binary);
  require(found == content.end(), "--config: ", path, " is no text: byte ",
          found - content.begin() + 1, " is ",
          found == content.end() ? 0 : static_cast<int>(*found),
          "; what --save-config writes is name = value, a line each");
  std::istringstream stream(content);
  try {
    return CLI::ConfigBase().from_config(stream);
  } catch (CLI::Error const& error) {
    throw UsageError("--config: " + path + ": " + error.what());
  }
}

// The option of the command that was called, if it was given.
CLI::Option const* given(CLI::App const& program, std::string const& name) {
  auto const commands = program.get_subcommands();
  auto const* const option =
      commands.empty() ? nullptr : commands.front()->get_option_no_throw(name);
  return option == nullptr || option->empty() ? nullptr : option;
}

// As they would stand on the command line.
void append(Words& words, CLI::Option const& option, CLI::ConfigItem const& item) {
  bool const is_flag = option.get_items_expected_max() == 0;
  std::string const name =
      option.get_lnames().empty() ? "" : "--" + option.get_lnames().front() + '=';
  if (option.get_items_expected_max() <= 1)  // "fp16,fp32" without quotes is one text, too
    words.push_back(name + CLI::detail::join(item.inputs, ","));
  else
    for (auto const& input : item.inputs) words.push_back(name + input);
  if (is_flag && words.back() == name + "false") words.pop_back();
}

}  // namespace

void add_config_options(CLI::App& command) {
  for (auto const& [name, help] :
       {std::pair("--config",
                  "options from this file, as name = value; the command line overrides them"),
        std::pair("--save-config", "write the options of this run to a file for --config")})
    command.add_option(name, help)->type_name("FILE")->group("Options")->configurable(false);
}

Words with_config(CLI::App& program, Words words) {
  auto const path = config_path(words);
  auto const commands = program.get_subcommands([](CLI::App*) { return true; });
  auto const named = [&](std::string const& name) {
    return std::ranges::find(commands, name, [](CLI::App* app) { return app->get_name(); });
  };
  auto const command = words.empty() ? commands.end() : named(words.front());
  if (!path || command == commands.end()) return words;
  auto const items = read_config(*path);
  Words result = words;
  for (auto const& item : items) {
    bool const is_section = item.name == "++" || item.name == "--";
    bool const is_own = item.parents.empty() || item.parents == Words{(*command)->get_name()};
    bool const is_others = item.parents.size() == 1 && named(item.parents[0]) != commands.end();
    if (is_section || (!is_own && is_others)) continue;
    auto* option = (*command)->get_option_no_throw("--" + todays_name(item.name));
    if (option == nullptr) option = (*command)->get_option_no_throw(item.name);
    require(is_own && option != nullptr && option->get_configurable(), "--config: ", *path, ": ",
            item.fullname(), " is no option of strata ", (*command)->get_name());
    bool const is_empty = std::ranges::all_of(item.inputs, &std::string::empty);
    require(!is_empty, "--config: ", *path, ": ", item.fullname(), " has no value");
    if (!is_given(words, *option)) append(result, *option, item);
  }
  return result;
}

void check_save_config(CLI::App const& program) {
  auto const* const option = given(program, "--save-config");
  if (option == nullptr) return;
  auto const path = option->as<std::string>();
  require(!path.empty(), "--save-config: the name of the file is empty");
  check_writable({{"--save-config", path}});
}

void save_config(CLI::App const& program) {
  auto const* const option = given(program, "--save-config");
  if (option == nullptr) return;
  auto const path = option->as<std::string>();
  auto const& command = *program.get_subcommands().front();
  write_text_file(path, "# strata " + command.get_name() + " --config " + path + '\n' +
                            command.config_to_str());
}

}  // namespace strata::apps
