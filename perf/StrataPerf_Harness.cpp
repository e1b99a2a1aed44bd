// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <CLI/CLI.hpp>
#include <StrataPerf_Harness.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <core/Strata_Config.hpp>
#include <core/Strata_FlopCount.hpp>
#include <core/Strata_Version.hpp>
#include <cstdio>
#include <map>
#include <set>
#include <sstream>

namespace strata::perf {

namespace {

constexpr bool on_device =
    !Kokkos::SpaceAccessibility<Kokkos::HostSpace, Exec::memory_space>::accessible;
constexpr double sustained_seconds = 0.1;

// What outlives the runs of one benchmark; Google Benchmark calls each several times.
struct Memory {
  std::set<std::string> seen;
  std::map<std::string, double> found;                        // name + counter
  std::map<std::string, std::vector<double>> vendor_seconds;  // by problem
  std::map<Precision, double> gemm_rates;
  std::map<BlasPath, LeafBlas<Exec>> blas;
  double copy_bandwidth = 0;
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

// Seconds of one `work`, after one to warm up, repeated until it is sustained.
double sustained(Exec const& exec, std::function<void()> const& work) {
  work();
  exec.fence("strata::perf::warm");
  Kokkos::Timer const timer;
  int count = 0;
  do {
    work();
    exec.fence("strata::perf::rate");
    ++count;
  } while (timer.seconds() < sustained_seconds || count < 3);
  return timer.seconds() / count;
}

}  // namespace

Settings::Settings()
    : n(on_device ? std::vector<std::int64_t>{4096, 8192, 16384, 32768}
                  : std::vector<std::int64_t>{512, 1024, 2048}),
      k(on_device ? std::vector<std::int64_t>{256, 512, 1024, 2048, 4096, 8192, 16384}
                  : std::vector<std::int64_t>{256, 1024}),
      leaf(on_device ? std::vector<std::int64_t>{256, 512, 1024, 2048}
                     : std::vector<std::int64_t>{64, 256}),
      layers(dense::studied_layer_lists()),
      gemm_n(on_device ? 16384 : 1024),
      copy_bytes(on_device ? std::size_t(4) << 30 : std::size_t(64) << 20) {}

Settings& settings() {
  static Settings all;
  return all;
}

Suite::Suite(void (*register_all)()) { suites().push_back(register_all); }

bool Run::is_first(std::string const& what) const {
  return memory().seen.insert(name_ + '\n' + what).second;
}

double Run::count_once(std::string const& counter, std::function<double()> const& value) {
  auto& found = memory().found;
  std::string const key = name_ + '\n' + counter;
  auto place = found.find(key);
  if (place == found.end()) place = found.emplace(key, value()).first;
  count(counter, place->second);
  return place->second;
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
  auto const place = memory().vendor_seconds.find(problem);
  if (place == memory().vendor_seconds.end()) return;
  auto samples = place->second;
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
#if defined(KOKKOS_ENABLE_CUDA)
#if defined(STRATA_ENABLE_TPL_CUBLAS) && defined(STRATA_ENABLE_TPL_CUSOLVER)
  return true;
#endif
#elif defined(KOKKOS_ENABLE_HIP)
#if defined(STRATA_ENABLE_TPL_ROCBLAS) && defined(STRATA_ENABLE_TPL_ROCSOLVER)
  return true;
#endif
#elif defined(STRATA_ENABLE_TPL_LAPACK)
  return true;
#endif
  return false;
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

dense::LayerList layers_from_short_name(std::string_view text) {
  std::vector<Precision> layers;
  std::istringstream parts{std::string(text)};
  for (std::string part; std::getline(parts, part, ',');) {
    auto const x = part.find('x');
    std::size_t count = 1;
    if (x != std::string::npos) {
      auto const [end, status] =
          std::from_chars(part.data() + x + 1, part.data() + part.size(), count);
      STRATA_REQUIRE(ValueError, status == std::errc() && end == part.data() + part.size(),
                     "layers '", part, "': a number must follow the x");
    }
    layers.insert(layers.end(), count, precision_from_name(part.substr(0, x)));
  }
  return dense::LayerList(std::move(layers));
}

double error_limit(dense::LayerList const& layers, std::int64_t n) {
  double const sums = traits(dense::accumulator(layers.leaf())).unit_roundoff;
  return 4 * layers.unit_roundoff() + 16 * std::sqrt(static_cast<double>(n)) * sums;
}

namespace {

// The machine and the build, in the "context" of the JSON.
void describe() {
  auto const built = configuration();
  auto const machine = devices();
  benchmark::AddCustomContext("strata_version", built.version);
  benchmark::AddCustomContext("strata_commit", built.commit);
  benchmark::AddCustomContext("compiler", built.compiler);
  benchmark::AddCustomContext("build_type", built.build_type);
  benchmark::AddCustomContext("kokkos", built.kokkos);
  benchmark::AddCustomContext("execution_space", Exec::name());
  benchmark::AddCustomContext("concurrency", std::to_string(Exec().concurrency()));
  benchmark::AddCustomContext("host", machine.host.model);
  if (on_device && !machine.accelerators.empty())
    benchmark::AddCustomContext("device", machine.accelerators.front().name);
  for (auto const& library : built.libraries)
    benchmark::AddCustomContext(library.name, library.version);
}

void add_options(CLI::App& app, Settings& s, std::vector<std::string>& layers) {
  app.add_option("--n", s.n, "orders of the matrices")->delimiter(',');
  app.add_option("--k", s.k, "inner extents of GEMM")->delimiter(',');
  app.add_option("--leaf", s.leaf, "orders of the leaf operations")->delimiter(',');
  app.add_option("--nrhs", s.nrhs, "right-hand sides of the solves")->delimiter(',');
  app.add_option("--layers", layers, "layer lists such as fp16x5,fp32; several arguments");
  app.add_option("--leaf-size", s.leaf_size, "of the trees; 0: chosen")->capture_default_str();
  app.add_option("--gemm-n", s.gemm_n, "m = n of GEMM")->capture_default_str();
  app.add_option("--copy-bytes", s.copy_bytes, "of the copy")->capture_default_str();
  app.add_option("--matrix", s.matrices, "of the solves: geometric, dominant")->delimiter(',');
  app.add_option("--condition", s.condition, "of geometric")->capture_default_str();
}

// Ends the libraries before Kokkos ends.
struct ReleaseBlas {
  ~ReleaseBlas() { memory().blas.clear(); }
};

int run_all(int argc, char** argv) {
  ReleaseBlas const release;
  CLI::App app("Benchmarks of Strata; --benchmark_... options are those of Google Benchmark");
  app.set_help_flag("--options", "these options (--help: those of Google Benchmark)");
  std::vector<std::string> layers;
  add_options(app, settings(), layers);
  CLI11_PARSE(app, argc, argv);
  if (!layers.empty()) settings().layers.clear();
  for (auto const& text : layers) settings().layers.push_back(layers_from_short_name(text));
  for (auto const register_all : suites()) register_all();
  describe();
  std::size_t const matched = benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  if (matched == 0) std::fprintf(stderr, "no benchmark ran\n");
  if (memory().errors > 0) std::fprintf(stderr, "%d benchmarks failed\n", memory().errors);
  return matched == 0 || memory().errors > 0;
}

}  // namespace

}  // namespace strata::perf

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  Kokkos::ScopeGuard const kokkos(argc, argv);
  try {
    return strata::perf::run_all(argc, argv);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
