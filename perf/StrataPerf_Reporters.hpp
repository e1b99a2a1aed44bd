// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATAPERF_REPORTERS_HPP
#define STRATAPERF_REPORTERS_HPP

#include <benchmark/benchmark.h>

#include <memory>
#include <string>

namespace strata::perf {

/// What Google Benchmark was asked for, as it takes these options away from the program.
struct Formats {
  std::string screen;  ///< --benchmark_format
  std::string file;    ///< --benchmark_out_format

  Formats(int argc, char const* const* argv);
};

/// Google Benchmark's reporter of the screen. On a console errors are 2.0e-16, not 195.375a; in CSV
/// all rows have all columns, and come at the end, as Google Benchmark wants the columns first.
std::unique_ptr<benchmark::BenchmarkReporter> screen_reporter(Formats const& formats);
/// The same for --benchmark_out; null: Google Benchmark's own.
std::unique_ptr<benchmark::BenchmarkReporter> file_reporter(Formats const& formats);

}  // namespace strata::perf

#endif
