// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/completion/Strata_Completion.hpp>
#include <apps/help/Strata_Help.hpp>
#include <apps/hpgmxp/Strata_Hpgmxp.hpp>
#include <apps/info/Strata_Info.hpp>
#include <apps/mle/Strata_Mle.hpp>
#include <apps/plot/Strata_Plot.hpp>
#include <apps/shared/Strata_ConfigFile.hpp>
#include <apps/shared/Strata_Ending.hpp>
#include <apps/shared/Strata_Exit.hpp>
#include <apps/shared/Strata_Files.hpp>
#include <apps/shared/Strata_Ranks.hpp>
#include <apps/shared/Strata_RunFacts.hpp>
#include <apps/shared/Strata_SameOnRanks.hpp>
#include <apps/shared/Strata_Terminal.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <apps/shared/Strata_Unexpected.hpp>
#include <apps/solve/Strata_Solve.hpp>
#include <core/Strata_Config.hpp>
#include <core/blas/Strata_BlasBuffers.hpp>

#include <Kokkos_Core.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace apps = strata::apps;
using apps::Exit;

constexpr char const* tolerances =
    "--tolerance of strata solve, dense: backward error ||b - A x|| / (||A|| ||x|| + ||b||).\n"
    "--tolerance of strata solve, sparse, and hpgmxp: relative residual ||b - A x|| / ||b||.\n"
    "--tolerance of strata mle: relative change of each parameter.\n";
constexpr char const* footer =
    "Exit codes: 0 solved, 1 failed, 2 usage or bad input, 3 not positive definite, or singular, 4 "
    "not converged, 5 ended by a signal.\n"
    "Kokkos' own arguments (--kokkos-...) may stand anywhere; `strata --kokkos-help info` lists "
    "them.";

struct Arguments {
  apps::SolveOptions solve;
  apps::MleOptions mle;
  apps::HpgmxpRequest hpgmxp;
  apps::PlotOptions plot;
  std::string shell;
  apps::InfoOptions info;
};

void describe(CLI::App& app, Arguments& arguments) {
  app.name("strata");
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", "strata " STRATA_VERSION_STRING);
  app.footer(footer);
  app.formatter(std::make_shared<apps::HelpFormatter>(
      "  strata solve --generate geometric --n 2000 --layers fp16,fp32\n"
      "  strata mle --locations apps/data/stations.csv --fix nu=0.5\n"));
  auto const add = [&](char const* command, char const* help, char const* examples,
                       std::vector<std::string> const& first = {}) -> CLI::App& {
    bool const has_tolerance = std::ranges::find(first, "tolerance") != first.end();
    CLI::App& added = *app.add_subcommand(command, help)->group("Commands");
    added.footer(std::string(has_tolerance ? tolerances : "") + footer);
    added.formatter(std::make_shared<apps::HelpFormatter>(examples, first));
    apps::add_config_options(added);
    return added;
  };
  apps::add_solve_options(
      add("solve", "Solve a dense symmetric or a sparse system to fp64 accuracy",
          "  strata solve --matrix A.mtx --rhs b.npy --output x.npy\n"
          "  strata solve --generate geometric --n 2000 --layers fp16,fp32 --compare\n",
          {"help", "matrix", "generate", "n", "rhs", "symmetric", "layers", "tolerance",
           "log-determinant", "output", "json", "out-of-core", "block-size"}),
      arguments.solve);
  apps::add_mle_options(
      add("mle", "Fit a Matern covariance to observations by maximum likelihood; kriging",
          "  strata mle --locations apps/data/stations.csv --fix nu=0.5 --json fit.json\n"
          "  strata mle --locations field.csv --theta 1,0.1,0.5,0.01 --predict new.csv --output "
          "kriged.csv\n",
          {"help", "locations", "theta", "predict", "evaluate", "fix", "tolerance", "output",
           "json"}),
      arguments.mle);
  apps::add_hpgmxp_options(
      add("hpgmxp", "The HPG-MxP benchmark: multigrid-preconditioned GMRES in mixed precision",
          "  strata hpgmxp --nx 32 --rt 1\n"
          "  mpirun -np 4 strata hpgmxp --nx 128 --rt 1800 --json report.json\n",
          {"help", "nx", "rt", "run-type", "tolerance", "free", "json", "report"}),
      arguments.hpgmxp);
  apps::add_plot_options(
      add("plot", "Draw what reports hold: convergence, layers, maps, traces, variograms, kriging",
          "  strata plot report.json --output report.html\n"
          "  strata plot fp16.json fp32.json --kind convergence --output both.png\n"),
      arguments.plot);
  apps::add_completion_options(
      add("completion", "Write what makes a shell complete strata's options",
          "  eval \"$(strata completion bash)\"\n"
          "  strata completion fish | source\n"),
      arguments.shell);
  apps::add_info_options(add("info", "Versions, backends, devices, memory, matrix units",
                             "  strata info\n"
                             "  strata info --json\n"),
                         arguments.info);
}

// `strata help solve` is `strata solve --help`, and `--help all` lists every option.
void parse(CLI::App& app, std::vector<std::string> words) {
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    bool const has_command = !words.empty() && words.front() != "all";
    words.insert(words.begin() + (has_command ? 1 : 0), "--help");
  }
  if (words.size() > 1 && words.back() == "all" && words[words.size() - 2] == "--help") {
    words.pop_back();
    apps::show_all_in_help();
  }
  if (!words.empty() && !words.front().starts_with('-')) {  // CLI11 would not tell beside --help
    auto const wrong = apps::no_command(app, words.front());
    if (!wrong.empty()) throw apps::UsageError(wrong + ' ' + apps::where_help_is(app));
  }
  words = apps::with_config(app, apps::in_todays_names(std::move(words)));
  auto const in_order = words;
  std::ranges::reverse(words);  // as CLI11 wants it
  try {
    app.parse(std::move(words));
  } catch (CLI::ExtrasError const&) {
    throw apps::UsageError(apps::unexpected(app, in_order) + ' ' + apps::where_help_is(app));
  }
  apps::check_files(app);
}

int fail(Exit exit, std::string_view message) {
  if (apps::has_ended()) exit = Exit::Ended;
  std::cerr << apps::error_line(apps::one_line(message));
  return static_cast<int>(exit);
}

void finish_output() {
  std::cout.flush();
  if (!std::cout) throw strata::IoError("the standard output can't be written");
}

Exit run_command(CLI::App const& app, Arguments const& arguments, std::vector<char*>& kokkos) {
  int count = static_cast<int>(kokkos.size()) - 1;
  Kokkos::ScopeGuard const guard(count, kokkos.data());
  if (!app.got_subcommand("info")) apps::as_usage([] { strata::reserve_blas_buffers(1); });
  Exit const exit = app.got_subcommand("info")     ? apps::info(arguments.info)
                    : app.got_subcommand("mle")    ? apps::mle(arguments.mle)
                    : app.got_subcommand("hpgmxp") ? apps::hpgmxp(arguments.hpgmxp)
                                                   : apps::solve(arguments.solve);
  finish_output();
  return exit;
}

// What a run was asked for is written once it came to its end: one that fails leaves an older file
// as it is.
template <class Run>
Exit saved(CLI::App const& app, Run const& run) {
  apps::check_save_config(app);
  Exit const exit = run();
  if (exit != Exit::Usage && exit != Exit::Failed && exit != Exit::Ended) apps::save_config(app);
  return exit;
}

Exit draw(Arguments const& arguments) {
  Exit const exit = apps::plot(arguments.plot);
  finish_output();
  return exit;
}

Exit complete(CLI::App& app, Arguments const& arguments) {
  apps::write_completion(std::cout, app, arguments.shell);
  finish_output();
  return Exit::Solved;
}

Exit run(CLI::App& app, Arguments& arguments, std::vector<char*>& kokkos) {
  if (app.got_subcommand("plot")) return saved(app, [&] { return draw(arguments); });
  if (app.got_subcommand("completion")) return saved(app, [&] { return complete(app, arguments); });
  apps::look_at_file(arguments.solve);
  bool const in_memory = app.got_subcommand("solve") && !apps::is_sparse(arguments.solve) &&
                         !arguments.solve.out_of_core;
  auto const command = [&] { return run_command(app, arguments, kokkos); };
  // Others of several may be in tiles, or sparse, by mistake.
  if (app.got_subcommand("info") || (in_memory && !apps::is_one_of_several()))
    return saved(app, command);
  std::optional<apps::EndSignals> signals;  // before MPI, whose start may take seconds
  if (!in_memory) signals.emplace();
  apps::MpiSession const mpi;
  try {
    auto const comm = apps::all_ranks();
    Exit const same = apps::on_ranks(comm, [&] {
      apps::require_same_on_ranks(comm, app);
      return Exit::Solved;
    });
    if (same != Exit::Solved) return same;
    return comm.rank() == 0 || in_memory ? saved(app, command) : command();
  } catch (std::exception const& error) {
    if (mpi.ranks() > 1) apps::end_all_ranks(error.what());  // which wait for this one
    throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
  apps::begin_run(argc, argv);
  // Kokkos takes its arguments, CLI11 the others; no device is touched before those are right.
  std::vector<char*> words(argv, argv + argc), kokkos(words.begin(), words.begin() + 1);
  auto const own_end = std::stable_partition(words.begin() + 1, words.end(), [](char const* word) {
    return !std::string_view(word).starts_with("--kokkos-");
  });
  kokkos.insert(kokkos.end(), own_end, words.end());
  kokkos.push_back(nullptr);
  CLI::App app("Mixed-precision solvers in layers");
  Arguments arguments;
  try {
    describe(app, arguments);
    parse(app, {words.begin() + 1, own_end});
    if (app.get_subcommands().empty()) {
      std::cerr << app.help();
      return static_cast<int>(Exit::Usage);
    }
    return static_cast<int>(run(app, arguments, kokkos));
  } catch (CLI::Success const& request) {  // --help, --version
    return app.exit(request);
  } catch (CLI::ParseError const& error) {
    return fail(Exit::Usage, apps::words(error.what(), ' ', apps::where_help_is(app)));
  } catch (apps::UsageError const& error) {
    return fail(Exit::Usage, error.what());
  } catch (std::exception const& error) {
    return fail(Exit::Failed, error.what());
  }
}
