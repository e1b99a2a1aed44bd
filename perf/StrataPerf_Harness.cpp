// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <StrataPerf_Harness.hpp>

#include <core/Strata_Backends.hpp>
#include <core/blas/Strata_FlopCount.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <map>
#include <set>
#include <sstream>

namespace strata::perf {

namespace {

constexpr double sustained_seconds = 0.1;

// What outlives the runs of one benchmark; Google Benchmark calls each several times.
struct Memory {
  std::set<std::string> seen;
  std::map<std::string, double> found;                        // name + counter
  std::map<std::string, std::vector<double>> vendor_seconds;  // by problem
  std::map<Precision, double> gemm_rates;
  std::map<BlasPath, LeafBlas<Exec>> blas;
  double copy_bandwidth = 0;
  std::set<std::string> without_vendor;  // names
  int errors = 0;
};
Memory& memory() {
  static Memory all;
  return all;
}
std::vector<void (*)()>& suites() {
  static std::vector<void (*)()> all;
  return all;
}

// Bytes of the Views in the space's memory that are not the benchmarks' own, as Kokkos tells tools.
std::atomic<std::int64_t> allocated{0}, most_allocated{0};

bool counts(Kokkos::Tools::SpaceHandle const& space, char const* label) {
  std::string_view const name = space.name, own = Exec::memory_space::name();
  bool const is_device =
      name.starts_with(own) && (name == own || name.substr(own.size()) == "Pool");
  return is_device && !std::string_view(label).starts_with("strata::perf::");
}
void on_allocate(Kokkos::Tools::SpaceHandle space, char const* label, void const*,
                 std::uint64_t bytes) {
  if (!counts(space, label)) return;
  auto const now = allocated += static_cast<std::int64_t>(bytes);
  most_allocated = std::max(most_allocated.load(), now);
}
void on_deallocate(Kokkos::Tools::SpaceHandle space, char const* label, void const*,
                   std::uint64_t bytes) {
  if (counts(space, label)) allocated -= static_cast<std::int64_t>(bytes);
}

// Seconds of one `work`, after one to warm up, repeated until it is sustained.
double sustained(Exec const& exec, std::function<void()> const& work) {
  work();
  exec.fence("strata::perf::warm");
  Watch const watch;
  int count = 0;
  do {
    work();
    exec.fence("strata::perf::rate");
    ++count;
  } while (watch.seconds() < sustained_seconds || count < 3);
  return watch.seconds() / count;
}

}  // namespace

double Watch::now() {
  if (settings().processor_time)
    return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Suite::Suite(void (*register_all)()) { suites().push_back(register_all); }

Run::Run(benchmark::State& state, std::string name)
    : state_(state), name_(std::move(name)), allocated_before_(allocated) {
  most_allocated = allocated_before_;
}

void Run::count_memory() {
  count_once("peak_bytes", [&] { return static_cast<double>(most_allocated - allocated_before_); });
}

bool Run::is_first(std::string const& what) const {
  return memory().seen.insert(name_ + '\n' + what).second;
}

double Run::count_once(std::string const& counter, std::function<double()> const& value) {
  auto& found = memory().found;
  std::string const key = name_ + '\n' + counter;
  auto position = found.find(key);
  if (position == found.end()) position = found.emplace(key, value()).first;
  count(counter, position->second);
  return position->second;
}

void Run::count_flops(std::int64_t flops, Precision dominant) {
  double const rate = static_cast<double>(flops) / seconds_;
  count("flop_per_s", rate);
  count("fraction_of_gemm", rate / gemm_rate(dominant));
}

void Run::count_bytes(std::int64_t bytes) {
  double const rate = static_cast<double>(bytes) / seconds_;
  count("byte_per_s", rate);
  count("fraction_of_copy", rate / copy_bandwidth());
}

void Run::count_error(std::string const& counter, double limit,
                      std::function<double()> const& error) {
  double const found = count_once(counter, error);
  if (found <= limit) return;
  char text[96];
  std::snprintf(text, sizeof text, "WRONG: %s %.1e, at most %.1e", counter.c_str(), found, limit);
  state_.SetLabel(text);
  if (is_first("wrong " + counter)) ++memory().errors;
}

void Run::is_vendor(std::string const& problem) {
  memory().vendor_seconds[problem].push_back(seconds_);
}

void Run::count_ratio(std::string const& problem) {
  auto const position = memory().vendor_seconds.find(problem);
  if (position == memory().vendor_seconds.end()) {
    memory().without_vendor.insert(name_);
    return;
  }
  auto samples = position->second;
  auto const median = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), median, samples.end());
  count("ratio_to_vendor", *median / seconds_);
}

void add(std::string_view algorithm, std::string const& rest,
         std::function<void(Run&)> const& body) {
  std::string const name = std::string(algorithm) + '/' + Exec::name() + '/' + rest;
  auto const run = [name, body](benchmark::State& state) {
    try {
      Run one(state, name);
      body(one);
    } catch (std::exception const& error) {
      ++memory().errors;
      state.SkipWithError(error.what());
    }
  };
  benchmark::RegisterBenchmark(name.c_str(), run)->UseManualTime()->Unit(benchmark::kMillisecond);
}

double gemm_rate(Precision precision) {
  auto& rate = memory().gemm_rates[precision];
  if (rate > 0) return rate;
  Exec const exec;
  std::int64_t const n = settings().gemm_n;
  OwnedMatrix const A(exec, n, n, precision), B(exec, n, n, precision),
      C(exec, n, n, dense::accumulator(precision));
  fill_uniform(exec, A.ref(), -1, 1);
  fill_uniform(exec, B.ref(), -1, 2);
  fill_zero(exec, C.ref());
  LeafBlas<Exec> blas(exec);
  double const seconds =
      sustained(exec, [&] { blas.gemm(Op::NoTrans, Op::Trans, -1, A.ref(), B.ref(), 1, C.ref()); });
  return rate = static_cast<double>(gemm_flops(n, n, n)) / seconds;
}

double copy_bandwidth() {
  double& bandwidth = memory().copy_bandwidth;
  if (bandwidth > 0) return bandwidth;
  Exec const exec;
  std::size_t const bytes = settings().copy_bytes;
  Kokkos::View<std::byte*, Exec::memory_space> const from(
      Kokkos::view_alloc(exec, "strata::perf::from"), bytes),
      to(Kokkos::view_alloc(exec, "strata::perf::to"), bytes);
  double const seconds = sustained(exec, [&] { Kokkos::deep_copy(exec, to, from); });
  return bandwidth = 2 * static_cast<double>(bytes) / seconds;
}

LeafBlas<Exec>& shared_blas(BlasPath path) {
  return memory().blas.try_emplace(path, Exec(), path).first->second;
}

bool has_vendor() {
  return vendor_libraries<Exec>.products && vendor_libraries<Exec>.factorisation;
}

std::string short_name(dense::LayerList const& layers) {
  std::string text;
  for (auto layer = layers.begin(); layer != layers.end();) {
    auto const next = std::find_if(layer, layers.end(), [&](Precision p) { return p != *layer; });
    text += (text.empty() ? "" : ",") + std::string(traits(*layer).name);
    if (next - layer > 1) text += 'x' + std::to_string(next - layer);
    layer = next;
  }
  return text;
}

double error_limit(dense::LayerList const& layers, std::int64_t n) {
  double const sums = traits(dense::accumulator(layers.leaf())).unit_roundoff;
  double const root = std::sqrt(static_cast<double>(n));
  bool const by_integers = moduli_of(*layers.begin()) > 0;  // an error by rows' norms
  return (by_integers ? root : 4) * layers.unit_roundoff() + 16 * root * sums;
}

Session::Session() {
  Kokkos::Tools::Experimental::set_allocate_data_callback(on_allocate);
  Kokkos::Tools::Experimental::set_deallocate_data_callback(on_deallocate);
  for (auto const register_all : suites()) register_all();
}
Session::~Session() { memory().blas.clear(); }
int Session::errors() const { return memory().errors; }
int Session::without_vendor() const { return static_cast<int>(memory().without_vendor.size()); }

}  // namespace strata::perf
