// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_FILES_HPP
#define STRATA_APPS_FILES_HPP

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace strata::apps {

/// Refuse results in a file that the command reads, the description of raw numbers among them, and
/// --save-config in another result's: before anything is read. --config and --save-config may name
/// one file.
///
/// Throws   UsageError that names both options.
void check_files(CLI::App const& program);

/// Whether an option takes files, to read or to write.
bool names_files(CLI::Option const& option);
/// Whether what it names is written.
bool is_result(CLI::Option const& option);

}  // namespace strata::apps

#endif
