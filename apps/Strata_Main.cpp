// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/hpgmxp/Strata_Hpgmxp.hpp>
#include <apps/info/Strata_Info.hpp>
#include <apps/mle/Strata_Mle.hpp>
#include <apps/shared/Strata_Exit.hpp>
#include <apps/shared/Strata_Ranks.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <apps/solve/Strata_Solve.hpp>
#include <core/Strata_Config.hpp>

#include <Kokkos_Core.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <optional>
#include <string_view>
#include <vector>

namespace {

namespace apps = strata::apps;
using apps::Exit;

constexpr char const* footer =
    "Exit status: 0 solved, 1 failed, 2 usage or bad input, 3 not positive definite, 4 not "
    "converged.\n"
    "Kokkos' own arguments (--kokkos-...) may stand anywhere; `strata --kokkos-help info` lists "
    "them.";

struct Arguments {
  apps::SolveOptions solve;
  apps::MleOptions mle;
  apps::HpgmxpRequest hpgmxp;
  bool info_as_json = false;
};

void describe(CLI::App& app, Arguments& arguments) {
  app.name("strata");
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", "strata " STRATA_VERSION_STRING);
  app.footer(footer);
  auto const add = [&](char const* command, char const* help) -> CLI::App& {
    return *app.add_subcommand(command, help)->footer(footer);
  };
  apps::add_solve_options(
      add("solve", "Solve a dense symmetric positive definite or a sparse system to fp64 accuracy"),
      arguments.solve);
  apps::add_mle_options(
      add("mle", "Fit a Matern covariance to observations by maximum likelihood; kriging"),
      arguments.mle);
  apps::add_hpgmxp_options(
      add("hpgmxp", "The HPG-MxP benchmark: multigrid-preconditioned GMRES in mixed precision"),
      arguments.hpgmxp);
  app.add_subcommand("info", "Versions, backends, devices, memory, matrix units")
      ->add_flag("--json", arguments.info_as_json, "for machines");
}

int fail(Exit exit, std::string_view message) {
  std::cerr << "strata: " << apps::one_line(message) << '\n';
  return static_cast<int>(exit);
}

Exit run_command(CLI::App const& app, Arguments const& arguments, std::vector<char*>& kokkos) {
  int count = static_cast<int>(kokkos.size()) - 1;
  Kokkos::ScopeGuard const guard(count, kokkos.data());
  Exit const exit = app.got_subcommand("info")     ? apps::info(arguments.info_as_json)
                    : app.got_subcommand("mle")    ? apps::mle(arguments.mle)
                    : app.got_subcommand("hpgmxp") ? apps::hpgmxp(arguments.hpgmxp)
                                                   : apps::solve(arguments.solve);
  std::cout.flush();
  if (!std::cout) throw strata::IoError("the standard output can't be written");
  return exit;
}

Exit run(CLI::App const& app, Arguments& arguments, std::vector<char*>& kokkos) {
  apps::look_at_file(arguments.solve);
  bool const alone = app.got_subcommand("info") ||
                     (app.got_subcommand("solve") && !apps::is_sparse(arguments.solve) &&
                      !arguments.solve.out_of_core);
  if (alone) return run_command(app, arguments, kokkos);
  apps::MpiSession const mpi;
  try {
    return run_command(app, arguments, kokkos);
  } catch (std::exception const& error) {
    if (mpi.ranks() > 1) apps::end_all_ranks(error.what());  // which wait for this one
    throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
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
    app.parse(static_cast<int>(own_end - words.begin()), words.data());
    if (app.get_subcommands().empty())
      return fail(Exit::Usage, "give a command, solve, mle, hpgmxp or info (see strata --help)");
    return static_cast<int>(run(app, arguments, kokkos));
  } catch (CLI::Success const& request) {  // --help, --version
    return app.exit(request);
  } catch (CLI::ParseError const& error) {
    return fail(Exit::Usage, std::string(error.what()) + " (strata --help lists the options)");
  } catch (apps::UsageError const& error) {
    return fail(Exit::Usage, error.what());
  } catch (std::exception const& error) {
    return fail(Exit::Failed, error.what());
  }
}
