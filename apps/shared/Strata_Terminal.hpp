// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_TERMINAL_HPP
#define STRATA_APPS_TERMINAL_HPP

#include <apps/shared/Strata_Text.hpp>

#include <string>

namespace strata::apps {

/// Whether standard error is a terminal that understands escapes (TERM is not "dumb").
bool has_terminal();

/// Columns of the terminal that standard output is; of COLUMNS, or 80, where it is none.
int terminal_width();

/// "strata: ..." in red, or "strata: warning: ..." in yellow, for standard error; plain where that
/// is no terminal, or where NO_COLOR is set. Nothing else that the program prints has a colour.
std::string error_line(std::string const& message);
std::string warning_line(std::string const& message);

}  // namespace strata::apps

#endif
