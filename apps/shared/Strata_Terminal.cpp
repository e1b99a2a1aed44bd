// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Terminal.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace strata::apps {

namespace {

std::string in_colour(char const* colour, std::string const& line) {
  char const* const no_color = std::getenv("NO_COLOR");
  bool const is_plain = !has_terminal() || (no_color != nullptr && *no_color != '\0');
  return is_plain ? line + '\n' : words("\033[", colour, 'm', line, "\033[0m\n");
}

}  // namespace

bool has_terminal() {
  char const* const term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

int terminal_width() {
  constexpr int least = 40, usual = 80;
  winsize size{};
  if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::max<int>(least, size.ws_col);
  char const* const columns = std::getenv("COLUMNS");  // NOLINT(concurrency-mt-unsafe)
  int const asked = columns != nullptr ? std::atoi(columns) : 0;
  return asked > 0 ? std::max(least, asked) : usual;
}

std::string error_line(std::string const& message) { return in_colour("31", "strata: " + message); }
std::string warning_line(std::string const& message) {
  return in_colour("33", "strata: warning: " + message);
}

}  // namespace strata::apps
