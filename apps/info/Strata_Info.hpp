// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_INFO_HPP
#define STRATA_APPS_INFO_HPP

#include <apps/shared/Strata_Exit.hpp>

#include <string>

namespace CLI {
class App;
}

namespace strata::apps {

/// What the user asked `strata info` for.
struct InfoOptions {
  bool as_json = false;  ///< The document in place of the table.
  std::string schema;    ///< Name of a document whose JSON schema is wanted; empty: none.
};

/// Add the options of `strata info` to its sub-command; parsing writes to `options`.
void add_info_options(CLI::App& command, InfoOptions& options);

/// `strata info`: print versions, backends, devices, memory and matrix units, as a table or as
/// JSON; or the JSON schema of a document.
///
/// Throws   VendorError if the GPUs' runtime fails.
Exit info(InfoOptions const& options);

}  // namespace strata::apps

#endif
