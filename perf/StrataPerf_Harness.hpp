// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATAPERF_HARNESS_HPP
#define STRATAPERF_HARNESS_HPP

#include <core/Strata_Precision.hpp>
#include <dense/tree/Strata_Layers.hpp>

#include <Kokkos_Core.hpp>

#include <StrataPerf_Matrices.hpp>
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata::perf {

/// The parts, one after the other.
template <class... Part>
std::string text(Part const&... part) {
  std::ostringstream out;
  (out << ... << part);
  return out.str();
}

/// What to measure: the program's own options. Defaults depend on the backend.
struct Settings {
  std::vector<std::int64_t> n;     ///< orders of the matrices
  std::vector<std::int64_t> k;     ///< inner extents of GEMM
  std::vector<std::int64_t> leaf;  ///< orders of the leaf operations
  std::vector<std::int64_t> grid;  ///< points a side of the sparse kernels' cubes
  std::vector<std::int64_t> nrhs = {1, 1024};
  std::vector<dense::LayerList> layers;  ///< layers of the tree operations
  std::int64_t leaf_size = 0;            ///< leaf size of the trees; 0: chosen by the library
  std::int64_t gemm_n;                   ///< m = n of GEMM; fractions are relative to its rate
  /// bytes of the copy; fractions of bandwidth are relative to it
  std::size_t copy_bytes;
  /// measure the processor's time, not the clock's; on hosts alone
  bool processor_time = false;
  std::vector<std::string> matrices = {"geometric"};  ///< matrices of the solves; also "dominant"
  double condition = 1e4;                             ///< condition number of "geometric"
  std::vector<std::int64_t> batch_n = {16, 32, 64, 128, 256, 512};  ///< orders in a batch
  std::vector<std::int64_t> batch_nrhs = {0, 1};  ///< right-hand sides there; 0: a factor alone
  std::size_t batch_bytes;  ///< bytes of a batch in fp64, which has at most 100000 systems

  Settings();
};

/// The settings, set before anything is registered.
Settings& settings();

/// Seconds since it was made: by the clock, or of the processor, where other programs keep a host
/// busy.
class Watch {
 public:
  Watch() : start_(now()) {}
  double seconds() const { return now() - start_; }

 private:
  static double now();
  double start_;
};

/// A benchmark while it runs: takes the time, and counts what is to be reported beside it.
class Run {
 public:
  Run(benchmark::State& state, std::string name);

  Exec const& exec() const { return exec_; }
  std::string const& name() const { return name_; }

  /// Time `work`, fenced before and after; `prepare` makes its input anew each time and is not
  /// timed. The first run of a benchmark is preceded by one that warms up.
  template <class Prepare, class Work>
  void measure(Prepare const& prepare, Work const& work) {
    if (is_first("warm up")) {
      prepare();
      work();
    }
    double sum = 0;
    for (auto _ : state_) {
      (void)_;
      prepare();
      exec_.fence("strata::perf::prepared");
      Watch const watch;
      work();
      exec_.fence("strata::perf::done");
      double const seconds = watch.seconds();
      state_.SetIterationTime(seconds);
      sum += seconds;
    }
    seconds_ = sum / static_cast<double>(state_.iterations());
  }
  /// The mean of the last measurement.
  double seconds() const { return seconds_; }

  void count(std::string const& counter, double value) { state_.counters[counter] = value; }
  /// The same for what is expensive to find: found when a benchmark runs first, then remembered.
  double count_once(std::string const& counter, std::function<double()> const& value);
  /// flop_per_s, and fraction_of_gemm: of the rate of GEMM with operands of `dominant` here, now.
  void count_flops(std::int64_t flops, Precision dominant);
  /// byte_per_s, and fraction_of_copy: of the bandwidth of a copy in the same run.
  void count_bytes(std::int64_t bytes);
  /// peak_bytes: the most that was allocated in the space's memory at a time since the benchmark
  /// began, its own matrices excepted. Workspace that earlier benchmarks left does not count.
  void count_memory();
  /// The error, found once; one that is not below `limit` fails the program, but is reported.
  void count_error(std::string const& counter, double limit, std::function<double()> const& error);
  /// This was the vendor's call for `problem`.
  void is_vendor(std::string const& problem);
  /// ratio_to_vendor: its median time by this one, if the vendor's call has run.
  void count_ratio(std::string const& problem);

 private:
  bool is_first(std::string const& what) const;

  benchmark::State& state_;
  std::string name_;
  Exec exec_;
  double seconds_ = 0;
  std::int64_t allocated_before_;
};

/// Add the benchmark "module/algorithm/<backend>/<rest>"; an exception of `body` is its error.
void add(std::string_view algorithm, std::string const& rest,
         std::function<void(Run&)> const& body);

/// Make one of these in each source; `register_all` is called when the settings are known.
struct Suite {
  explicit Suite(void (*register_all)());
};

/// Registers all suites; what they share ends with it, before Kokkos does.
class Session {
 public:
  Session();
  ~Session();
  Session(Session const&) = delete;
  Session& operator=(Session const&) = delete;
  /// Benchmarks that threw, or whose error was above its limit.
  int errors() const;
  /// Benchmarks that had to leave out ratio_to_vendor.
  int without_vendor() const;
};

/// Flops per second of C -= A B^T, A and B of `precision`, C of its accumulator, extents gemm_n,
/// sustained for a tenth of a second. The rate is measured when it is first asked for.
double gemm_rate(Precision precision);
/// Bytes per second, read and written, of a copy of `copy_bytes` in the space's memory; the same.
double copy_bandwidth();

/// The BLAS of the default instance by this path, made once: handles and workspace stay warm from
/// one repetition to the next.
LeafBlas<Exec>& shared_blas(BlasPath path = BlasPath::Automatic);

/// Whether this build has a library of BLAS and LAPACK for the execution space.
bool has_vendor();

/// "fp16x5,fp32" for fp16,fp16,fp16,fp16,fp16,fp32.
std::string short_name(dense::LayerList const& layers);

/// What an unrefined result may be wrong by: rounding to `layers` once, and sums of length `n`.
double error_limit(dense::LayerList const& layers, std::int64_t n);

}  // namespace strata::perf

#endif
