// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_CHILD_HPP
#define STRATATEST_CHILD_HPP

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

namespace strata::test {

/// Run f() in a forked process; the text that it returns, or what became of the process. One that
/// hangs is ended.
template <class Function>
std::string in_child(Function const& f) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  pid_t const child = fork();
  if (child == 0) {
    alarm(60);
    std::string const text = f();
    (void)!write(ends[1], text.data(), text.size());
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 256> buffer;
  for (ssize_t got = 0; (got = read(ends[0], buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    return "the child was ended by signal " + std::to_string(WTERMSIG(status));
  return status == 0 ? text : "the child ended with status " + std::to_string(status);
}

}  // namespace strata::test

#endif
