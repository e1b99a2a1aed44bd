// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/info/Strata_Version.hpp>

#include <CLI/CLI.hpp>
#include <StrataPerf_Harness.hpp>
#include <StrataPerf_Reporters.hpp>

#include <cstdio>

namespace strata::perf {

namespace {

constexpr bool on_device =
    !Kokkos::SpaceAccessibility<Kokkos::HostSpace, Exec::memory_space>::accessible;
}  // namespace

Settings::Settings()
    : n(on_device ? std::vector<std::int64_t>{4096, 8192, 16384, 32768}
                  : std::vector<std::int64_t>{512, 1024, 2048}),
      k(on_device ? std::vector<std::int64_t>{256, 512, 1024, 2048, 4096, 8192, 16384}
                  : std::vector<std::int64_t>{256, 1024}),
      leaf(on_device ? std::vector<std::int64_t>{256, 512, 1024, 2048}
                     : std::vector<std::int64_t>{64, 256}),
      grid(on_device ? std::vector<std::int64_t>{128, 256} : std::vector<std::int64_t>{64}),
      layers(dense::studied_layer_lists()),
      gemm_n(on_device ? 16384 : 1024),
      copy_bytes(on_device ? std::size_t(4) << 30 : std::size_t(64) << 20),
      batch_bytes(on_device ? 2000000000 : 32000000) {}

Settings& settings() {
  static Settings all;
  return all;
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
  app.add_option("--grid", s.grid, "points a side of the sparse cubes")->delimiter(',');
  app.add_option("--nrhs", s.nrhs, "right-hand sides of the solves")->delimiter(',');
  app.add_option("--batch-n", s.batch_n, "orders of the systems of a batch")->delimiter(',');
  app.add_option("--batch-nrhs", s.batch_nrhs, "right-hand sides in a batch; 0: a factor alone")
      ->delimiter(',');
  app.add_option("--batch-bytes", s.batch_bytes, "of a batch in fp64")->capture_default_str();
  app.add_option("--layers", layers, "layer lists such as fp16x5,fp32; several arguments");
  app.add_option("--leaf-size", s.leaf_size, "of the trees; 0: chosen")->capture_default_str();
  app.add_option("--gemm-n", s.gemm_n, "m = n of GEMM")->capture_default_str();
  app.add_option("--copy-bytes", s.copy_bytes, "of the copy")->capture_default_str();
  app.add_flag("--processor-time", s.processor_time, "instead of the clock's; of a host alone");
  app.add_option("--matrix", s.matrices, "of the solves: geometric, dominant")->delimiter(',');
  app.add_option("--condition", s.condition, "of geometric")->capture_default_str();
}

int run(int argc, char** argv, Formats const& formats) {
  CLI::App app("Benchmarks of Strata; --benchmark_... options are Google Benchmark's");
  app.set_help_flag("--options", "these options (--help: Google Benchmark's)");
  std::vector<std::string> layers;
  add_options(app, settings(), layers);
  CLI11_PARSE(app, argc, argv);
  if (!layers.empty()) settings().layers.clear();
  for (auto const& text : layers) settings().layers.push_back(dense::LayerList::parse(text));
  describe();
  Session const session;
  auto const screen = screen_reporter(formats), file = file_reporter(formats);
  std::size_t const matched = benchmark::RunSpecifiedBenchmarks(screen.get(), file.get());
  benchmark::Shutdown();
  if (matched == 0) std::fprintf(stderr, "no benchmark ran\n");
  if (int const count = session.without_vendor(); count > 0)
    std::fprintf(
        stderr,
        "%d benchmarks have no ratio_to_vendor: the vendor's call for their problem did not "
        "run before them (the filter leaves it out, or the build has no such library)\n",
        count);
  if (session.errors() > 0) std::fprintf(stderr, "%d benchmarks failed\n", session.errors());
  return matched == 0 || session.errors() > 0;
}

}  // namespace

}  // namespace strata::perf

int main(int argc, char** argv) {
  strata::perf::Formats const formats(argc, argv);
  benchmark::Initialize(&argc, argv);
  Kokkos::ScopeGuard const kokkos(argc, argv);
  try {
    return strata::perf::run(argc, argv, formats);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
