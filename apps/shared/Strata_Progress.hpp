// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_PROGRESS_HPP
#define STRATA_APPS_PROGRESS_HPP

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace strata::apps {

/// One line on the terminal that says what is being done and for how long; rewritten in place.
///
/// It appears once the program has run for half a second and is gone when the Progress is. Nothing is
/// written unless standard output is a terminal that can rewrite a line (TERM is not "dumb"). The phase
/// is bold unless NO_COLOR is set.
class Progress {
 public:
  /// Not `shown`: of a rank that does not report.
  explicit Progress(bool shown = true);
  ~Progress();
  Progress(Progress const&) = delete;
  Progress& operator=(Progress const&) = delete;

  /// From now on the program does this.
  void phase(std::string text);
  /// Take the line away, before something else is printed.
  void clear();

 private:
  class Line;
  std::unique_ptr<Line> line_;
};

/// Seconds of wall time.
class Stopwatch {
 public:
  /// Since the last lap, or since this was made.
  double lap() {
    auto const now = Clock::now();
    return std::chrono::duration<double>(now - std::exchange(start_, now)).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace strata::apps

#endif
