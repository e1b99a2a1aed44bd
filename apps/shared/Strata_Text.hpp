// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_TEXT_HPP
#define STRATA_APPS_TEXT_HPP

#include <string>
#include <string_view>

namespace strata::apps {

/// What printf would print.
[[gnu::format(printf, 1, 2)]] std::string text(char const* format, ...);

/// "640 bytes", "1.5 MB", "137 GB": three digits, powers of 1000.
std::string in_bytes(double bytes);

/// `message` on one line and without control characters, which might come from a file.
std::string one_line(std::string_view message);

}  // namespace strata::apps

#endif
