// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/completion/Strata_Completion.hpp>

#include <apps/shared/Strata_Options.hpp>

#include <algorithm>
#include <ostream>
#include <regex>
#include <vector>

namespace strata::apps {

namespace {

std::vector<CLI::App*> commands_of(CLI::App& program) {
  return program.get_subcommands([](CLI::App*) { return true; });
}

// --name of those that have one.
std::vector<CLI::Option*> options_of(CLI::App& command) {
  return command.get_options([](CLI::Option* option) { return !option->get_lnames().empty(); });
}

bool takes_files(CLI::App& command) {
  auto const options = command.get_options();
  return std::ranges::any_of(options, [](auto const* option) {
    return option->get_positional() && option->get_type_name().starts_with("FILE");
  });
}

bool takes_value(CLI::Option const& option) { return option.get_items_expected_max() > 0; }

// The lower-case words among the alternatives that its type and its checks name, as "LIST|auto" or
// "{auto,fp64}".
std::string words_of(CLI::Option& option) {
  static std::regex const alternative("(^|[|:{,])([a-z][a-z0-9_-]*)(?=$|[|},])");
  std::string text = option.get_type_name(), words;
  try {
    text += '|' + option.get_validator("")->get_name();  // `suggested`
  } catch (CLI::OptionNotFound const&) {                 // it has no check
  }
  for (std::sregex_iterator found(text.begin(), text.end(), alternative), end; found != end;
       ++found)
    words += (words.empty() ? "" : " ") + found->str(2);
  return words;
}

std::string replaced(std::string text, std::string const& pattern, std::string const& by) {
  return std::regex_replace(text, std::regex(pattern), by);
}
// Between single quotes of a shell.
std::string quoted(std::string const& text) { return '\'' + replaced(text, "'", "'\\''") + '\''; }

void write_bash(std::ostream& out, CLI::App& program) {
  std::string names;
  for (auto* const command : commands_of(program)) names += command->get_name() + ' ';
  out << "_strata() {\n  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words\n"
         "  ((COMP_CWORD == 1)) && command=\n"
         "  case \"$command ${COMP_WORDS[COMP_CWORD - 1]}\" in\n";
  for (auto* const command : commands_of(program))
    for (auto* const option : options_of(*command))
      if (takes_value(*option))
        for (auto const& name : option->get_lnames())
          out << "    '" << command->get_name() << " --" << name
              << "') words=" << quoted(words_of(*option)) << " ;;\n";
  out << "    *) case $command in\n      '') words='" << names << "--help --version' ;;\n";
  for (auto* const command : commands_of(program)) {
    std::string all;
    for (auto* const option : options_of(*command))
      for (auto const& name : option->get_lnames()) all += " --" + name;
    for (auto* const option : command->get_options())
      if (option->get_positional()) all = words_of(*option) + all;
    out << "      " << command->get_name() << ") "
        << (takes_files(*command) ? "[[ $word == -* ]] && " : "") << "words=" << quoted(all)
        << " ;;\n";
  }
  out << "    esac ;;\n  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n"
         "complete -o default -F _strata strata\n";
}

void write_zsh(std::ostream& out, CLI::App& program) {
  auto const plain = [](std::string const& text) {
    return replaced(text, "([\\[\\]:\\\\])", "\\$1");
  };
  out << "_strata() {\n  local -a commands=(\n";
  for (auto* const command : commands_of(program))
    out << "    " << quoted(command->get_name() + ':' + plain(command->get_description())) << '\n';
  out << "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  fi\n"
         "  local command=$words[2]\n  shift words\n  ((CURRENT--))\n  case $command in\n";
  for (auto* const command : commands_of(program)) {
    out << "    " << command->get_name() << ") _arguments";
    for (auto* const option : options_of(*command))
      for (auto const& name : option->get_lnames()) {
        std::string const words = words_of(*option);
        std::string const value = words.empty() ? ":value:_files" : ":value:(" + words + ')';
        out << " \\\n      "
            << quoted("--" + name + '[' + plain(option->get_description()) + ']' +
                      (takes_value(*option) ? value : ""));
      }
    for (auto* const option : command->get_options())
      if (option->get_positional())
        out << " \\\n      "
            << quoted(takes_files(*command) ? "*:file:_files"
                                            : ":word:(" + words_of(*option) + ')');
    out << " ;;\n";
  }
  out << "  esac\n}\ncompdef _strata strata\n";
}

void write_fish(std::ostream& out, CLI::App& program) {
  auto const quote = [](std::string const& text) {
    return '\'' + replaced(text, "(['\\\\])", "\\$1") + '\'';
  };
  for (auto* const command : commands_of(program)) {
    out << "complete -c strata -f -n __fish_use_subcommand -a " << command->get_name() << " -d "
        << quote(command->get_description()) << '\n';
    std::string const here =
        "complete -c strata -n '__fish_seen_subcommand_from " + command->get_name() + '\'';
    for (auto* const option : options_of(*command))
      for (auto const& name : option->get_lnames()) {
        std::string const words = words_of(*option);
        out << here << " -l " << name
            << (!takes_value(*option) ? ""
                : words.empty()       ? " -r -F"
                                      : " -x -a " + quote(words))
            << " -d " << quote(option->get_description()) << '\n';
      }
    for (auto* const option : command->get_options())
      if (option->get_positional() && !takes_files(*command))
        out << here << " -f -a " << quote(words_of(*option)) << '\n';
  }
}

}  // namespace

void add_completion_options(CLI::App& command, std::string& shell) {
  OptionGroup(command, "The shell")
      .add("shell", shell, "bash|zsh|fish", "write what makes this shell complete strata's options")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
}

void write_completion(std::ostream& out, CLI::App& program, std::string const& shell) {
  shell == "bash"  ? write_bash(out, program)
  : shell == "zsh" ? write_zsh(out, program)
                   : write_fish(out, program);
}

}  // namespace strata::apps
