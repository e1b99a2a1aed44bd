// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_PLOT_HPP
#define STRATA_APPS_PLOT_HPP

#include <apps/shared/Strata_Exit.hpp>

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace strata::apps {

/// What the user asked `strata plot` for.
struct PlotOptions {
  std::vector<std::string> files;
  std::string kind, output;  ///< empty: what the files hold; a list of what they hold
};

/// Add the options of `strata plot` to its sub-command; parsing writes to `options`.
void add_plot_options(CLI::App& command, PlotOptions& options);

/// `strata plot`: Python runs the script that is installed with the program, and says how that
/// ended.
///
/// Throws   UsageError; Error if there is no script or no Python 3.8 or later.
Exit plot(PlotOptions const& options);

}  // namespace strata::apps

#endif
