// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_FILES_HPP
#define STRATA_APPS_FILES_HPP

namespace CLI {
class App;
}

namespace strata::apps {

/// Refuse results in a file that the command reads, the description of raw numbers among them, and --save-config in
/// another result's: before anything is read. A file of --config may be that of --save-config.
///
/// Throws   UsageError that names both options.
void check_files(CLI::App const& program);

}  // namespace strata::apps

#endif
