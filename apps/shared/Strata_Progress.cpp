// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Progress.hpp>

#include <apps/shared/Strata_Terminal.hpp>
#include <apps/shared/Strata_Text.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace strata::apps {

namespace {

using Clock = std::chrono::steady_clock;
using WallSeconds = std::chrono::duration<double>;
constexpr auto period = std::chrono::milliseconds(250);
constexpr auto silence = std::chrono::milliseconds(500);
constexpr auto stale = std::chrono::seconds(1);

std::string in_time(double seconds) {
  seconds = std::max(seconds, 0.0);
  if (seconds < 100) return text("%.0f s", seconds);
  if (seconds < 6000) return text("%.0f min", seconds / 60);
  return text("%.1f h", seconds / 3600);
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
    end_.reset();
    phase_start_ = work_start_ = Clock::now();
    part_ = 0;
  }
  void done(double part) {
    std::lock_guard const lock(mutex_);
    auto const now = Clock::now();
    if (part < part_) work_start_ = now;
    part_ = part;
    WallSeconds const worked = now - work_start_;
    if (part > 0 && worked.count() >= 1)
      expect(now, worked.count() * (1 - std::min(part, 1.0)) / part, false);
  }
  void left(double seconds, bool at_most) {
    std::lock_guard const lock(mutex_);
    expect(Clock::now(), seconds, at_most);
  }
  void clear() {
    std::lock_guard const lock(mutex_);
    text_.clear();
    erase();
  }
  void aside(std::function<void()> const& print) {
    std::lock_guard const lock(mutex_);
    erase();
    print();
  }

 private:
  void run(std::stop_token const& stop) {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, stop, period, [&] { return stop.stop_requested(); })) write();
  }
  void expect(Clock::time_point now, double seconds, bool at_most) {
    end_ = now + std::chrono::duration_cast<Clock::duration>(WallSeconds(seconds));
    at_most_ = at_most;
  }
  void write() {
    auto const now = Clock::now();
    if (text_.empty() || now - start_ < silence) return;
    WallSeconds const phase = now - phase_start_, total = now - start_;
    std::string line = text("%s  %.1f s of %.1f s", text_.c_str(), phase.count(), total.count());
    if (end_ && now - *end_ < stale)  // what is late was no forecast
      line += ", " + std::string(at_most_ ? "< " : "") + in_time(WallSeconds(*end_ - now).count()) +
              " left";
    std::fputs(("\r\033[K" + line).c_str(), stderr);
    shown_ = true;
  }
  void erase() {
    if (!std::exchange(shown_, false)) return;
    std::fputs("\r\033[K", stderr);
  }

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::string text_;
  std::optional<Clock::time_point> end_;  // of the phase, or the run, as it is expected
  bool at_most_ = false;
  bool shown_ = false;
  Clock::time_point const start_ = Clock::now();
  Clock::time_point phase_start_ = start_;
  Clock::time_point work_start_ = start_;  // of what `part_` is a part of
  double part_ = 0;                        // that is done
  std::jthread writer_;                    // last: it uses the others
};

Progress::Progress(bool shown)
    : line_(shown && has_terminal() ? std::make_unique<Line>() : nullptr) {}
Progress::~Progress() = default;

void Progress::phase(std::string text) {
  if (line_) line_->phase(std::move(text));
}

void Progress::done(double part) {
  if (line_) line_->done(part);
}

std::function<void(double)> Progress::listener() {
  if (!line_) return {};
  return [this](double part) { done(part); };
}

void Progress::left(double seconds, bool at_most) {
  if (line_) line_->left(seconds, at_most);
}

void Progress::clear() {
  if (line_) line_->clear();
}

void Progress::aside(std::function<void()> const& print) {
  if (line_)
    line_->aside(print);
  else
    print();
}

std::function<void(double)> falls_to(double target, Progress& progress) {
  return [target, &progress, first = 0.0](double error) mutable {
    if (first == 0) first = error;
    if (error < first && target < first)
      progress.done(std::log(first / error) / std::log(first / target));
  };
}

}  // namespace strata::apps
