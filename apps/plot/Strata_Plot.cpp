// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/plot/Strata_Plot.hpp>

#include <apps/shared/Strata_Exit.hpp>
#include <apps/shared/Strata_Options.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace strata::apps {

void add_plot_options(CLI::App& command, PlotOptions& options) {
  OptionGroup group(command, "The picture");
  group
      .add("files", options.files, "FILE...",
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

void plot(PlotOptions const& options) {
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
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(python.c_str(), arguments.data());
  throw Error("pictures need Python 3 with Matplotlib, and " + python + " can't be started (" +
              std::strerror(errno) +
              "): install them (Debian: apt install python3-matplotlib), or name a Python in "
              "STRATA_PYTHON");
}

}  // namespace strata::apps
