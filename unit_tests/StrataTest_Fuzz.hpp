// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_FUZZ_HPP
#define STRATATEST_FUZZ_HPP

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>

// What all fuzzers share: the seed, the time, the replay of one case and the report. It needs the
// C++ and POSIX libraries alone, so that tests of the C functions can use it, too.
//
// A fuzzer draws one random case after the other until its seconds are over. Case k of seed S
// depends on S and k alone: `--seed S --case k` is the whole of what a finding needs to be seen
// again.
namespace strata::test {

/// A generator of the standard's kind (SplitMix64), with the draws that fuzzers want.
class FuzzRandom {
 public:
  using result_type = std::uint64_t;

  FuzzRandom(std::uint64_t seed, std::int64_t number)
      : state_(mixed(seed) + mixed(static_cast<std::uint64_t>(number) + golden)) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  result_type operator()() { return mixed(state_ += golden); }

  /// One of first, ..., last.
  std::int64_t integer(std::int64_t first, std::int64_t last) {
    return first +
           static_cast<std::int64_t>((*this)() % static_cast<std::uint64_t>(last - first + 1));
  }
  /// True once in `times`.
  bool once_in(std::int64_t times) { return integer(1, times) == 1; }
  bool coin() { return once_in(2); }
  /// Uniform in (low, high).
  double number(double low = -1, double high = 1) {
    return low + (high - low) * (static_cast<double>((*this)() >> 12) + 0.5) * 0x1p-52;
  }
  double normal() {
    return std::sqrt(-2 * std::log(number(0, 1))) * std::cos(6.283185307179586 * number(0, 1));
  }
  template <class Container>
  auto const& one_of(Container const& items) {
    return items[static_cast<std::size_t>(
        integer(0, static_cast<std::int64_t>(std::size(items)) - 1))];
  }
  template <class T, std::size_t n>
  T const& one_of(T const (&items)[n]) {
    return items[integer(0, n - 1)];
  }

 private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15ULL;
  static constexpr std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

/// One case: its random numbers, what is known of it, and what was found.
class FuzzCase {
 public:
  FuzzCase(std::uint64_t seed, std::int64_t number) : random(seed, number) {}

  FuzzRandom random;

  /// Add to the line that is printed beside a finding: describe("n ", n, " leaf ", leaf).
  template <class... Parts>
  void describe(Parts const&... parts) {
    (description_ << ... << parts) << ' ';
  }
  /// A property that must hold; the rest says what is so if it does not.
  template <class... Parts>
  bool expect(bool holds, Parts const&... parts) {
    if (!holds) (findings_ << ... << parts) << '\n';
    return holds;
  }

  std::string description() const { return description_.str(); }
  std::string findings() const { return findings_.str(); }

 private:
  std::ostringstream description_, findings_;
};

struct FuzzOptions {
  double seconds = 30;
  std::uint64_t seed = 0;
  std::optional<std::int64_t> only;  ///< the case to replay
};

/// The ranks of a fuzzer of several processes draw the same cases and stop together: what a number
/// is on the first rank. A fuzzer of one process needs none.
using FuzzAgreement = std::function<std::uint64_t(std::uint64_t)>;

namespace detail {

inline constexpr unsigned most_seconds_of_a_case = 300;
inline constexpr int most_findings = 20;

/// Says which case ran where the process dies, then leaves the signal to what would have had it, as
/// a sanitizer.
class DeathWatch {
 public:
  DeathWatch() {
    struct sigaction action = {};
    action.sa_handler = [](int signal) { say_last_words(signal); };
    for (std::size_t k = 0; k < count; ++k) sigaction(signals[k], &action, &before[k]);
  }
  ~DeathWatch() {
    for (std::size_t k = 0; k < count; ++k) sigaction(signals[k], &before[k], nullptr);
  }
  DeathWatch(DeathWatch const&) = delete;
  DeathWatch& operator=(DeathWatch const&) = delete;

  static inline char words[512];

 private:
  static constexpr int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM};
  static constexpr std::size_t count = std::size(signals);
  static inline struct sigaction before[count];

  static void say(char const* text) {
    std::size_t length = 0;
    while (text[length] != '\0') ++length;
    (void)!write(STDERR_FILENO, text, length);
  }
  static void say_last_words(int signal) {
    say(signal == SIGALRM ? "a case ran too long: " : "the process died: ");
    say(words);
    for (std::size_t k = 0; k < count; ++k) sigaction(signals[k], &before[k], nullptr);
    if (signal == SIGALRM) (void)std::raise(signal);  // others come again as this one returns
  }
};

inline FuzzOptions fuzz_options(int argc, char** argv) {
  FuzzOptions options;
  options.seed = std::random_device()();
  auto const usage = [&](char const* what, char const* argument) {
    std::fprintf(stderr, "%s: %s%s\nusage: %s [--seconds N] [--seed N] [--case N]\n", argv[0], what,
                 argument, argv[0]);
    std::exit(2);
  };
  for (int i = 1; i < argc; i += 2) {
    std::string const name = argv[i];
    if (i + 1 == argc) usage("no value for ", argv[i]);
    char* end = nullptr;
    if (name == "--seconds")
      options.seconds = std::strtod(argv[i + 1], &end);
    else if (name == "--seed")
      options.seed = std::strtoull(argv[i + 1], &end, 10);
    else if (name == "--case")
      options.only = std::strtoll(argv[i + 1], &end, 10);
    else
      usage("no option ", argv[i]);
    if (end == argv[i + 1] || *end != '\0') usage("not a number: ", argv[i + 1]);
  }
  return options;
}

/// Run one case; what it found, or nothing.
template <class Body>
std::string run_case(FuzzCase& one, Body const& body) {
  try {
    body(one);
  } catch (std::exception const& error) {
    one.expect(false, "an exception escaped: ", error.what());
  }
  return one.findings();
}

}  // namespace detail

/// Runs body(FuzzCase&) on case after case until the seconds are over, or on the one that is asked
/// for. Exit status 1 if a case found something or let an exception escape.
///
/// Prints   the seed at the start; with each finding the case's description and how to replay it,
///          also where the process dies or a case takes more than five minutes; at the end the
///          number of cases. It stops after 20 cases with findings.
template <class Body>
int fuzz(int argc, char** argv, Body const& body, FuzzAgreement const& agree = {}) {
  using Clock = std::chrono::steady_clock;
  auto const agreed = [&](std::uint64_t value) { return agree ? agree(value) : value; };
  FuzzOptions options = detail::fuzz_options(argc, argv);
  options.seed = agreed(options.seed);
  auto const seed = static_cast<unsigned long long>(options.seed);
  std::printf("%s: seed %llu, %g s\n", argv[0], seed, options.seconds);
  std::fflush(stdout);
  detail::DeathWatch const watch;
  auto const begin = Clock::now();
  auto const elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  int findings = 0;
  long long number = options.only.value_or(0), cases = 0;
  do {
    std::snprintf(detail::DeathWatch::words, sizeof detail::DeathWatch::words,
                  "replay by %s --seed %llu --case %lld\n", argv[0], seed, number);
    alarm(options.only ? 0 : detail::most_seconds_of_a_case);
    FuzzCase one(options.seed, number);
    std::string const found = detail::run_case(one, body);
    if (!found.empty())
      std::printf("FOUND %s      in %s\n      %s", found.c_str(), one.description().c_str(),
                  detail::DeathWatch::words);
    else if (options.only)
      std::printf("nothing found in %s\n", one.description().c_str());
    std::fflush(stdout);
    findings += found.empty() ? 0 : 1;
    ++cases, ++number;
  } while (
      agreed(!options.only && elapsed() < options.seconds && findings < detail::most_findings));
  alarm(0);
  std::printf("%s: seed %llu, %lld cases, %d with findings, %.0f s\n", argv[0], seed, cases,
              findings, elapsed());
  return findings == 0 ? 0 : 1;
}

}  // namespace strata::test

#endif
