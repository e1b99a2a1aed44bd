// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SCHEMAS_HPP
#define STRATA_APPS_SCHEMAS_HPP

#include <string>
#include <vector>

namespace strata::apps {

/// Names of the program's JSON documents, "solve", ..., as of the files in apps/schema.
std::vector<std::string> schema_names();

/// The JSON schema of a document, made from the tables of fields; apps/schema has it as a file.
std::string schema_text(std::string const& name);

}  // namespace strata::apps

#endif
