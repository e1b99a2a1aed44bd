// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Progress.hpp>

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace strata::apps {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto period = std::chrono::milliseconds(250);
constexpr auto silence = std::chrono::milliseconds(500);

bool can_rewrite_a_line() {
  char const* const term = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

bool may_use_colour() {
  char const* const no_color = std::getenv("NO_COLOR");
  return no_color == nullptr || *no_color == '\0';
}

}  // namespace

// A thread rewrites the line, so that it advances while the solver works.
class Progress::Line {
 public:
  Line() : writer_([this](std::stop_token const& stop) { run(stop); }) {}
  ~Line() {
    writer_.request_stop();
    writer_.join();
    erase();
  }
  void phase(std::string text) {
    std::lock_guard const lock(mutex_);
    text_ = std::move(text);
    phase_start_ = Clock::now();
  }
  void clear() {
    std::lock_guard const lock(mutex_);
    text_.clear();
    erase();
  }

 private:
  void run(std::stop_token const& stop) {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, stop, period, [&] { return stop.stop_requested(); })) write();
  }
  void write() {
    auto const now = Clock::now();
    if (text_.empty() || now - start_ < silence) return;
    std::chrono::duration<double> const phase = now - phase_start_, total = now - start_;
    std::printf("\r\033[K%s%s%s  %.1f s  (%.1f s in all)", bold_, text_.c_str(), plain_,
                phase.count(), total.count());
    std::fflush(stdout);
    shown_ = true;
  }
  void erase() {
    if (!std::exchange(shown_, false)) return;
    std::fputs("\r\033[K", stdout);
    std::fflush(stdout);
  }

  char const* const bold_ = may_use_colour() ? "\033[1m" : "";
  char const* const plain_ = may_use_colour() ? "\033[0m" : "";
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::string text_;
  bool shown_ = false;
  Clock::time_point const start_ = Clock::now();
  Clock::time_point phase_start_ = start_;
  std::jthread writer_;  // last: it uses the others
};

Progress::Progress(bool shown)
    : line_(shown && can_rewrite_a_line() ? std::make_unique<Line>() : nullptr) {}
Progress::~Progress() = default;

void Progress::phase(std::string text) {
  if (line_) line_->phase(std::move(text));
}

void Progress::clear() {
  if (line_) line_->clear();
}

}  // namespace strata::apps
