// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/plot/Strata_Plot.hpp>

#include <apps/shared/Strata_Exit.hpp>
#include <apps/shared/Strata_Options.hpp>
#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Text.hpp>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace strata::apps {

namespace {

constexpr char const* remedy =
    ": install it (Debian: apt install python3-matplotlib), or name a Python in STRATA_PYTHON";

// What a program writes to one of its streams, kept in a nameless file until it has ended.
class Kept {
 public:
  Kept() : file_(std::tmpfile(), &std::fclose) {
    STRATA_REQUIRE(IoError, file_, "no temporary file: ", std::strerror(errno));
  }
  int descriptor() const { return fileno(file_.get()); }
  std::string text() const {
    STRATA_REQUIRE(IoError, std::fseek(file_.get(), 0, SEEK_SET) == 0,
                   "a temporary file: ", std::strerror(errno));
    std::string found;
    for (int c = std::fgetc(file_.get()); c != EOF; c = std::fgetc(file_.get()))
      found += static_cast<char>(c);
    return found;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

// A program that has ended.
struct Ended {
  int code = 0;
  std::string output, errors;
};

// Start a program and wait for its end.
Ended run(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (auto& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  Kept const output, errors;
  posix_spawn_file_actions_t streams;
  posix_spawn_file_actions_init(&streams);
  posix_spawn_file_actions_adddup2(&streams, output.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&streams, errors.descriptor(), STDERR_FILENO);
  pid_t child = 0;
  int const failed =
      posix_spawnp(&child, arguments[0], &streams, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&streams);
  STRATA_REQUIRE(Error, failed == 0, "pictures need Python 3 with Matplotlib, and ", command[0],
                 " can't be started (", std::strerror(failed), ')', remedy);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    STRATA_REQUIRE(Error, errno == EINTR, command[0], ": ", std::strerror(errno));
  STRATA_REQUIRE(Error, WIFEXITED(status), command[0], " was ended by signal ", WTERMSIG(status));
  return {WEXITSTATUS(status), output.text(), errors.text()};
}

// Any program can be named; only a Python can say so.
void require_python(std::string const& python) {
  constexpr int right = 33;
  int const code =
      run({python, "-S", "-c",
           words("import sys; sys.exit(", right, " if sys.version_info >= (3, 8) else 1)")})
          .code;
  STRATA_REQUIRE(Error, code == right, "pictures need Python 3.8 or later with Matplotlib, and ",
                 python, " is none (it ends with ", code, ')', remedy);
}

}  // namespace

void add_plot_options(CLI::App& command, PlotOptions& options) {
  OptionGroup group(command, "The picture");
  group
      .add("files", options.files, "FILE",
           "reports (--json) and traces (--trace) of strata's commands, CSV files of predictions, "
           "of observations or of a variogram, results of Google Benchmark")
      ->required()
      ->check(CLI::ExistingFile.description(""));
  group.add("--output", options.output, "FILE.png|.svg|.html",
            "in the format that the name ends in; a page holds all pictures that there are "
            "[list them]");
  group
      .add("--kind", options.kind, "convergence|layers|map|trace|variogram|kriging|compare",
           "[what the files hold]")
      ->check(CLI::IsMember(
                  {"convergence", "layers", "map", "trace", "variogram", "kriging", "compare"})
                  .description(""));
}

Exit plot(PlotOptions const& options) {
  auto const& output = options.output;
  require(output.empty() || output.ends_with(".png") || output.ends_with(".svg") ||
              output.ends_with(".html"),
          "--output: ", output, ": give a name that ends in .png, .svg or .html");
  require(options.kind.empty() || !output.empty(), "--kind needs --output");
  check_writable({{"--output", output}});
  auto const script = std::filesystem::read_symlink("/proc/self/exe").parent_path() /
                      STRATA_SHARE_FOLDER "/strata_plot.py";
  STRATA_REQUIRE(IoError, std::filesystem::exists(script), script.string(),
                 " is not there: it is installed with the program");
  char const* const named = std::getenv("STRATA_PYTHON");
  std::string const python = named != nullptr && *named != '\0' ? named : "python3";
  std::vector<std::string> words = {python, "-B", script.string()};
  if (!output.empty()) words.insert(words.end(), {"--output=" + output});
  if (!options.kind.empty()) words.insert(words.end(), {"--kind=" + options.kind});
  words.emplace_back("--");
  words.insert(words.end(), options.files.begin(), options.files.end());
  require_python(python);
  Progress progress;
  progress.phase(output.empty() ? "reading" : "drawing " + output);
  auto const ended = run(std::move(words));
  progress.clear();
  std::cout << ended.output << std::flush;
  std::cerr << ended.errors;
  return static_cast<Exit>(ended.code);
}

}  // namespace strata::apps
