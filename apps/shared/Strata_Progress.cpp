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
struct Progress::Line {
  ~Line() {
    writer.request_stop();
    writer.join();
    erase();
  }
  void run(std::stop_token const& stop) {
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, stop, period, [&] { return stop.stop_requested(); })) write();
  }
  void expect(Clock::time_point now, double seconds, bool is_most) {
    end = now + std::chrono::duration_cast<Clock::duration>(WallSeconds(seconds));
    at_most = is_most;
  }
  void write() {
    auto const now = Clock::now();
    if (text.empty() || now - start < silence) return;
    WallSeconds const phase = now - phase_start, total = now - start;
    std::string line =
        apps::text("%s  %.1f s of %.1f s", text.c_str(), phase.count(), total.count());
    if (end && now - *end < stale)  // what is late was no forecast
      line += ", " + std::string(at_most ? "< " : "") + in_time(WallSeconds(*end - now).count()) +
              " left";
    std::fputs(("\r\033[K" + line).c_str(), stderr);
    shown = true;
  }
  void erase() {
    if (std::exchange(shown, false)) std::fputs("\r\033[K", stderr);
  }

  std::mutex mutex;
  std::condition_variable_any wake;
  std::string text;
  std::optional<Clock::time_point> end;  // of the phase, or the run, as it is expected
  bool at_most = false;
  bool shown = false;
  Clock::time_point const start = Clock::now();
  Clock::time_point phase_start = start;
  Clock::time_point work_start = start;  // of what `part` is a part of
  double part = 0;                       // that is done
  std::jthread writer{
      [this](std::stop_token const& stop) { run(stop); }};  // last: it uses the others
};

Progress::Progress(bool shown)
    : line_(shown && has_terminal() ? std::make_unique<Line>() : nullptr) {}
Progress::~Progress() = default;

std::function<void(double)> Progress::listener() {
  if (!line_) return {};
  return [this](double part) { done(part); };
}

void Progress::phase(std::string text) {
  if (!line_) return;
  std::lock_guard const lock(line_->mutex);
  line_->text = std::move(text);
  line_->end.reset();
  line_->phase_start = line_->work_start = Clock::now();
  line_->part = 0;
}

void Progress::done(double part) {
  if (!line_) return;
  std::lock_guard const lock(line_->mutex);
  auto const now = Clock::now();
  if (part < line_->part) line_->work_start = now;
  line_->part = part;
  WallSeconds const worked = now - line_->work_start;
  if (part > 0 && worked.count() >= 1)
    line_->expect(now, worked.count() * (1 - std::min(part, 1.0)) / part, false);
}

void Progress::left(double seconds, bool at_most) {
  if (!line_) return;
  std::lock_guard const lock(line_->mutex);
  line_->expect(Clock::now(), seconds, at_most);
}

void Progress::clear() {
  if (!line_) return;
  std::lock_guard const lock(line_->mutex);
  line_->text.clear();
  line_->erase();
}

void Progress::aside(std::function<void()> const& print) {
  if (!line_) return print();
  std::lock_guard const lock(line_->mutex);
  line_->erase();
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
