// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_ConfigFile.hpp>

#include <apps/shared/Strata_Exit.hpp>
#include <core/io/Strata_TextFile.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>

namespace strata::apps {

namespace {

using Words = std::vector<std::string>;

// The last that was given to --config, as a word of its own or behind "=".
std::string config_path(Words const& words) {
  constexpr std::string_view name = "--config";
  std::string path;
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
                  "options from this file, as name = value; those given here go before"),
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
  if (path.empty() || command == commands.end()) return words;
  require(!std::filesystem::is_directory(path), "--config: ", path, " is a folder");
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigBase().from_file(path);
  } catch (CLI::Error const& error) {
    throw UsageError("--config: " + std::string(error.what()));
  }
  Words result = words;
  for (auto const& item : items) {
    bool const is_section = item.name == "++" || item.name == "--";
    bool const is_own = item.parents.empty() || item.parents == Words{(*command)->get_name()};
    bool const is_others = item.parents.size() == 1 && named(item.parents[0]) != commands.end();
    if (is_section || (!is_own && is_others)) continue;
    auto* option = (*command)->get_option_no_throw("--" + item.name);
    if (option == nullptr) option = (*command)->get_option_no_throw(item.name);
    require(is_own && option != nullptr && option->get_configurable(), "--config: ", path, ": ",
            item.fullname(), " is no option of strata ", (*command)->get_name());
    bool const is_empty = std::ranges::all_of(item.inputs, &std::string::empty);
    require(!is_empty, "--config: ", path, ": ", item.fullname(), " has no value");
    if (!is_given(words, *option)) append(result, *option, item);
  }
  return result;
}

void save_config(CLI::App const& program) {
  auto const commands = program.get_subcommands();
  auto const* const option =
      commands.empty() ? nullptr : commands.front()->get_option_no_throw("--save-config");
  if (option == nullptr || option->empty()) return;
  auto const path = option->as<std::string>();
  check_writable({{"--save-config", path}});
  write_text_file(path, "# strata " + commands.front()->get_name() + " --config " + path + '\n' +
                            commands.front()->config_to_str());
}

}  // namespace strata::apps
