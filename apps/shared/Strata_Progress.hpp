// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_PROGRESS_HPP
#define STRATA_APPS_PROGRESS_HPP

#include <functional>
#include <memory>
#include <string>

namespace strata::apps {

/// One line on the terminal that says what is being done and for how long; rewritten in place.
///
/// It appears once the program has run for half a second and is gone when the Progress is. Nothing
/// is written unless standard error is a terminal that can rewrite a line.
class Progress {
 public:
  /// Not `shown`: of a rank that does not report.
  explicit Progress(bool shown = true);
  ~Progress();
  Progress(Progress const&) = delete;
  Progress& operator=(Progress const&) = delete;

  /// `done`, for what is told of its progress by a function; empty if nothing is shown.
  std::function<void(double)> listener();

  /// From now on the program does this.
  void phase(std::string text);
  /// This part of the phase's work is done, 0 to 1: after a second the line has the time left. Less
  /// than before: it begins anew. Any thread may call it.
  void done(double part);
  /// So many seconds are left, or at most. Any thread may call it.
  void left(double seconds, bool at_most = false);
  /// Take the line away, before something else is printed.
  void clear();
  /// `print` writes to stderr in the place of the line, which comes back below it: the phase goes
  /// on.
  void aside(std::function<void()> const& print);

 private:
  struct Line;
  std::unique_ptr<Line> line_;  // none: nothing is shown
};

/// Returns a function that is called after each step with an error, which falls from step to step
/// until it is `target`. It tells `progress` how far that is, as if each step took as many digits
/// off.
std::function<void(double)> falls_to(double target, Progress& progress);

}  // namespace strata::apps

#endif
